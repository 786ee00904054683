/** What a test wants of an agent, in words that all of them share. Each agent has a driver that knows its own. */

import type { Files } from '../support.ts'
import type { ToolCall } from './model-server.ts'
import type { PinnedAgent } from './pinned.ts'
import type { Place } from './place.ts'

/** Something the model has the agent do. Paths are relative to the project unless they are absolute. */
export type Action =
  | { readonly do: 'write'; readonly path: string; readonly text: string }
  | { readonly do: 'read'; readonly path: string }
  | { readonly do: 'edit'; readonly path: string; readonly old: string; readonly new: string }
  | { readonly do: 'shell'; readonly command: string }
  /** A command that goes on when the tool has returned. */
  | { readonly do: 'background'; readonly command: string }
  | { readonly do: 'delegate'; readonly scene: string }
  /** What the user does meanwhile, right before the model's reply: no call is in flight then. */
  | { readonly do: 'user'; readonly files: Files }
  /** The subagent's last word, where the agent has a tool for it. */
  | { readonly do: 'report' }

export interface Prompt {
  readonly text: string
  /** The session to go on with; absent: a new one. */
  readonly session?: string
}

/** An agent at work. */
export interface Running {
  readonly pid: number
  /** Settled when the turn is over, however it ended. */
  readonly ended: Promise<Ended>
}

export interface Ended {
  readonly code: number | null
  readonly output: string
}

export interface Driver {
  readonly agent: PinnedAgent
  /** Writes what the agent wants to find in its home before it runs at all. Nothing about Unturn. */
  prepare(place: Place): void
  /** Variables for the agent's process: where the model is, and no calls home. */
  env(place: Place): Readonly<Record<string, string>>
  start(place: Place, prompt: Prompt): Running
  /** Undefined: the agent has no such tool. */
  callOf(action: Action, place: Place): ToolCall | undefined
}
