/** What an agent can tell us, in our words. Each adapter turns its agent's payloads into these, and nothing else. */

export const agentNames = [
  'claude-code',
  'codex',
  'opencode',
  'gemini-cli',
  'cursor',
  'copilot-cli',
  'cline',
] as const

export type AgentName = (typeof agentNames)[number]

/** Who tells us: the hooks of an agent, or our proxy between an editor and an agent that speaks ACP. */
export type Teller = AgentName | 'acp'

/** What a person may type for an agent. */
export const agentAliases: Readonly<Record<string, AgentName>> = {
  claude: 'claude-code',
  gemini: 'gemini-cli',
  copilot: 'copilot-cli',
}

export function findAgent(typed: string): AgentName | undefined {
  const name = agentAliases[typed] ?? typed
  return agentNames.find((one) => one === name)
}

export function findTeller(typed: string): Teller | undefined {
  return typed === 'acp' ? typed : findAgent(typed)
}

/** Ids are the agent's own. What the agent does not say is absent, never made up here. */
export interface Heard {
  /** Who called; not who was installed. */
  readonly agent: Teller
  /** What the agent behind a proxy calls itself. */
  readonly called?: string
  /** The process of the proxy that heard it. Hooks of the same session may tell the same once more. */
  readonly proxy?: number
  /** The conversation, also inside a subagent. */
  readonly session: string
  /** Absent: the main agent. */
  readonly subagent?: string
  readonly turn?: string
  readonly cwd: string
  /** The project folder, where the agent says it: `cwd` follows every `cd`. */
  readonly root?: string
  /** The agent's process, where it can be known. */
  readonly pid?: number
}

/** `machine`: the agent prompts itself, because a background task has ended. `us`: our own notice. Neither begins a turn. */
export type Prompter = 'user' | 'parent-agent' | 'machine' | 'us'

export interface NamedPath {
  /** Absolute, or relative to `cwd`; text. */
  readonly path: string
  readonly op?: 'create' | 'modify' | 'delete' | 'move'
  /** Where it was before, for a move. */
  readonly from?: string
}

/** What an edit tool did to a file: in single places, or the whole. Only for telling two at work apart; it is never kept. */
export interface Wrote {
  readonly path: string
  readonly places?: readonly { readonly was: string; readonly is: string }[]
  readonly whole?: string
}

export interface Call {
  readonly id?: string
  readonly tool: string
  readonly does: 'edit' | 'shell' | 'mcp' | 'subagent' | 'read' | 'unknown'
  /** Exactly what the tool says it touches, also ignored files and files outside the workspace. */
  readonly paths: readonly NamedPath[]
  readonly command?: string
  /** The tool may have written before it was announced: what is there now is no state from before it. */
  readonly hasBegun?: boolean
  readonly wrote?: readonly Wrote[]
  /** Tells two calls apart where the agent gives no ids: the tool's input, hashed. */
  readonly likeness?: string
}

export type AgentEvent = Heard &
  (
    | {
        readonly kind: 'session-began'
        readonly how: 'new' | 'resumed' | 'forked' | 'compacted' | 'cleared' | 'unknown'
      }
    | {
        readonly kind: 'prompted'
        readonly by: Prompter
        readonly prompt: string
        readonly message?: string
        /** The call whose end a machine's prompt tells of. */
        readonly about?: string
      }
    | { readonly kind: 'step-began'; readonly call: Call }
    | {
        readonly kind: 'step-ended'
        readonly call: Call
        readonly outcome: 'ok' | 'failed' | 'launched' | 'unknown'
      }
    | {
        readonly kind: 'subagent-began' | 'subagent-ended'
        readonly of: string
        readonly type?: string
      }
    | {
        readonly kind: 'turn-ended'
        readonly outcome: 'ok' | 'interrupted' | 'failed'
        readonly stillRunning: readonly string[]
      }
    | { readonly kind: 'moved' }
    /** The agent's own revert, where it announces it. `undone`: the revert itself was taken back. */
    | { readonly kind: 'own-undo'; readonly to?: string; readonly undone: boolean }
    | { readonly kind: 'session-ended'; readonly reason: string }
  )

export type EventKind = AgentEvent['kind']
export type EventOf<Kind extends EventKind> = Extract<AgentEvent, { readonly kind: Kind }>

/** The few variables of the hook's process that say something about the agent. Never all of them: they hold keys. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Pure: one payload in, what it means out. Nothing for us: an empty list. */
export type Parse = (event: string | undefined, payload: unknown, env: Environment) => readonly AgentEvent[]

/** What goes to the agent's ears: one text on stdout; an empty one is always right. */
export type Answer = (event: AgentEvent | undefined, notice: string | undefined) => string
