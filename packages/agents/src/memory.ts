/** What we remember of a conversation between two of its events: ids of ours for ids of the agent's. */

import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { StepId, TurnId } from '@unturn/core'
import { nameOfSession, privateFolder, readJson, replaceFile } from './desk.ts'
import type { AgentName } from './events.ts'
import { fieldsOf } from './payload.ts'

/** A step in one workspace. */
export interface OpenStep {
  readonly root: string
  readonly step: StepId
}

/** A file that an edit tool has just written: a formatter may write it once more. */
export interface Touched {
  readonly root: string
  readonly turn: TurnId
  readonly path: string
  readonly endedMs: number
  readonly tool: string
}

export interface TurnMemory {
  message?: string
  /** Further ids of the agent's that belong to the same turn. */
  also: string[]
  prompt?: string
  /** By workspace: the turn stands in each that it touched. */
  turns: Record<string, TurnId>
  ended: boolean
  /** By the agent's id of the call, or by our own name for it. */
  steps: Record<string, OpenStep[]>
  /** Calls so far, by tool and input, where the agent gives no ids. */
  counts: Record<string, number>
}

export interface Memory {
  readonly version: 1
  /** The first who spoke for this session. Another name for the same session is somebody who reads its settings. */
  readonly agent: AgentName
  readonly session: string
  /** The project; other workspaces may be touched from there. */
  home?: string
  /** Every workspace that this session has turns in. */
  roots: string[]
  turn?: TurnMemory
  /** By workspace: the last operation that the agent was told of. */
  told: Record<string, number>
  lastPrompt?: { readonly likeness: string; readonly atMs: number }
  lastOwnUndo?: string
  /** Subagents at work, where only the brackets of the call tell. */
  within: string[]
  touched: Touched[]
  /** Commands that the agent left running when the turn ended. */
  background: string[]
}

export function emptyMemory(agent: AgentName, session: string): Memory {
  return { version: 1, agent, session, roots: [], told: {}, within: [], touched: [], background: [] }
}

function pathOf(desk: string, session: string): string {
  return join(desk, 'sessions', `${nameOfSession(session)}.json`)
}

export function recall(desk: string, agent: AgentName, session: string): Memory {
  const stored = fieldsOf(readJson(pathOf(desk, session)))
  if (stored.version !== 1 || stored.session !== session) return emptyMemory(agent, session)
  return { ...emptyMemory(agent, session), ...(stored as Partial<Memory>) }
}

export function remember(desk: string, memory: Memory): void {
  privateFolder(desk, 'sessions')
  replaceFile(pathOf(desk, memory.session), `${JSON.stringify(memory)}\n`)
}

const keptDays = 90

/** Conversations that nobody has gone on with for long. What they did is in the history, and stays there. */
export function forgetOld(desk: string, nowMs: number): void {
  const folder = privateFolder(desk, 'sessions')
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const age = nowMs - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs)
    if (age > keptDays * 86_400_000) rmSync(path, { force: true })
  }
}
