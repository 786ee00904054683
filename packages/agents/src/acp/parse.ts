/** What our own proxy hands over: it has listened to the conversation, and tells it in our words already. */

import type { AgentEvent, Environment, EventKind } from '../events.ts'
import { type Fields, fieldsOf, list, text } from '../payload.ts'

const kinds: ReadonlySet<string> = new Set<EventKind>([
  'session-began',
  'prompted',
  'step-began',
  'step-ended',
  'turn-ended',
  'session-ended',
])

export function parse(
  _event: string | undefined,
  payload: unknown,
  _env: Environment = {},
): readonly AgentEvent[] {
  return list(fieldsOf(payload), 'events').map(fieldsOf).filter(isWhole) as unknown as readonly AgentEvent[]
}

function isWhole(fields: Fields): boolean {
  const isCall = fields.kind !== 'step-began' && fields.kind !== 'step-ended'
  return (
    fields.agent === 'acp' &&
    kinds.has(text(fields, 'kind') ?? '') &&
    text(fields, 'session') !== undefined &&
    text(fields, 'cwd') !== undefined &&
    (isCall || Array.isArray(fieldsOf(fields.call).paths))
  )
}
