/**
 * What the adapters of hooks have in common: a payload names its session and its event, and each event means something.
 * What it means, each agent's own folder says.
 */

import type { AgentEvent, Call, Environment, Heard, Parse } from './events.ts'
import { type Fields, fieldsOf, text } from './payload.ts'

export interface Dialect {
  /** The fields that have the session, and the name of the event. */
  readonly session: string
  readonly event: string
  readonly heard: (fields: Fields, session: string, env: Environment) => Heard
  readonly events: Readonly<Record<string, (heard: Heard, fields: Fields) => AgentEvent | undefined>>
}

/** Without a session, or for an event that nobody knows: nothing. Where the payload names its event, the payload is right. */
export function parserOf(dialect: Dialect): Parse {
  return (event, payload, env = {}) => {
    const fields = fieldsOf(payload)
    const session = text(fields, dialect.session)
    const name = text(fields, dialect.event) ?? event ?? ''
    const meaning = Object.hasOwn(dialect.events, name) ? dialect.events[name] : undefined
    if (session === undefined || meaning === undefined) return []
    const told = meaning(dialect.heard(fields, session, env), fields)
    return told === undefined ? [] : [told]
  }
}

// ---- the words of events -----------------------------------------------------------------------------------------------

type Of<Kind extends AgentEvent['kind']> = Extract<AgentEvent, { readonly kind: Kind }>

export function sessionBegan(heard: Heard, how: Of<'session-began'>['how']): AgentEvent {
  return { ...heard, kind: 'session-began', how }
}

export function stepBegan(heard: Heard, call: Call): AgentEvent {
  return { ...heard, kind: 'step-began', call }
}

export function stepEnded(heard: Heard, call: Call, outcome: Of<'step-ended'>['outcome']): AgentEvent {
  return { ...heard, kind: 'step-ended', call, outcome }
}

export function turnEnded(
  heard: Heard,
  outcome: Of<'turn-ended'>['outcome'],
  stillRunning: readonly string[] = [],
): AgentEvent {
  return { ...heard, kind: 'turn-ended', outcome, stillRunning }
}

export function sessionEnded(heard: Heard, fields: Fields): AgentEvent {
  return { ...heard, kind: 'session-ended', reason: text(fields, 'reason') ?? 'unknown' }
}

/** The events about a subagent name it; one that does not says nothing. */
export function subagent(
  heard: Heard,
  kind: 'subagent-began' | 'subagent-ended',
  fields: Fields,
): AgentEvent | undefined {
  const of = text(fields, 'agent_id')
  const type = text(fields, 'agent_type')
  return of === undefined ? undefined : { ...heard, kind, of, ...(type === undefined ? {} : { type }) }
}

/** Most agents have these words for how a session began. */
export function howBegan(source: string | undefined): Of<'session-began'>['how'] {
  switch (source) {
    case 'startup':
      return 'new'
    case 'resume':
      return 'resumed'
    case 'fork':
      return 'forked'
    case 'compact':
      return 'compacted'
    case 'clear':
      return 'cleared'
    default:
      return 'unknown'
  }
}

// ---- the words of tools ------------------------------------------------------------------------------------------------

/** An agent's tools by what they do. A tool that is not among them may do anything. */
export interface Tools {
  readonly edit: readonly string[]
  readonly shell: readonly string[]
  readonly subagent: readonly string[]
  readonly read: readonly string[]
  /** How the names of tools of MCP servers begin. */
  readonly mcp?: string
}

export function doesOf(tool: string, tools: Tools): Call['does'] {
  for (const does of ['edit', 'shell', 'subagent', 'read'] as const)
    if (tools[does].includes(tool)) return does
  return tools.mcp !== undefined && tool.startsWith(tools.mcp) ? 'mcp' : 'unknown'
}
