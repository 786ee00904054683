/** Ids as people type them: any unique prefix, and `@` for the head turn, `@-1` for the one before. */

import { UnturnError } from '../errors.ts'
import type { ChangeId, OpId, SessionId, StepId, TurnId } from '../values.ts'
import type { Engine } from './engine.ts'
import { pathTo, readTurnTree } from './points.ts'
import { unknownId } from './recording.ts'

export function resolveTurn(engine: Engine, session: SessionId | undefined, typed: string): TurnId {
  const back = /^@(?:-(\d{1,9}))?$/.exec(typed)
  if (back === null) return unique(engine, 'turns', typed, 'turn') as TurnId
  const tree = session === undefined ? undefined : readTurnTree(engine, session)
  if (tree === undefined) throw unknownId(typed, 'turn')
  const path = pathTo(tree, tree.head)
  const turn = path.at(-1 - Number(back[1] ?? 0))?.turn
  if (turn === undefined || turn === null) throw noneSoFarBack(typed, path.length)
  return turn
}

/** People also ask for the head without having typed it: then the reason says more than the sign. */
function noneSoFarBack(typed: string, turns: number): UnturnError {
  const where =
    turns === 0
      ? 'The session stands before its first turn'
      : `The session stands behind ${turns} ${turns === 1 ? 'turn' : 'turns'}`
  return new UnturnError(
    'unknown-id',
    { id: typed },
    {
      message: `${where}: ${JSON.stringify(typed)} names none. Nothing was changed.`,
      hint: 'Run "unturn log --all" to see the turns and their ids, also those that are undone.',
    },
  )
}

export function resolveStep(engine: Engine, typed: string): StepId {
  const flying = engine.flights.list().filter((flight) => !flight.implicit && flight.step.startsWith(typed))
  const known = engine.log.index.idsWithPrefix('steps', typed)
  return oneOf([...new Set([...flying.map((flight) => flight.step), ...known])], typed, 'step') as StepId
}

export function resolveOperation(engine: Engine, typed: string): OpId {
  return unique(engine, 'ops', typed, 'operation') as OpId
}

export function resolveChange(engine: Engine, typed: string): ChangeId {
  return unique(engine, 'changes', typed, 'change') as ChangeId
}

export function resolveSession(engine: Engine, typed: string): SessionId {
  return unique(engine, 'sessions', typed, 'session') as SessionId
}

/** A turn, step, change or operation: their ids begin with t, s, c and o. */
export type Resolved =
  | { readonly kind: 'turn'; readonly id: TurnId }
  | { readonly kind: 'step'; readonly id: StepId }
  | { readonly kind: 'change'; readonly id: ChangeId }
  | { readonly kind: 'operation'; readonly id: OpId }

export function resolveAny(engine: Engine, session: SessionId | undefined, typed: string): Resolved {
  switch (typed[0]) {
    case '@':
    case 't':
      return { kind: 'turn', id: resolveTurn(engine, session, typed) }
    case 's':
      return { kind: 'step', id: resolveStep(engine, typed) }
    case 'c':
      return { kind: 'change', id: resolveChange(engine, typed) }
    case 'o':
      return { kind: 'operation', id: resolveOperation(engine, typed) }
    default:
      throw unknownId(typed, 'turn, step, change or operation')
  }
}

function unique(
  engine: Engine,
  table: 'turns' | 'ops' | 'changes' | 'sessions',
  typed: string,
  what: string,
): string {
  return oneOf(engine.log.index.idsWithPrefix(table, typed), typed, what)
}

function oneOf(candidates: readonly string[], typed: string, what: string): string {
  if (typed !== '' && candidates.includes(typed)) return typed
  const [first, second] = candidates
  if (first === undefined || typed === '') throw unknownId(typed, what)
  if (second === undefined) return first
  throw new UnturnError(
    'ambiguous-id',
    { id: typed, candidates },
    {
      message: `${JSON.stringify(typed)} could be any of ${candidates.join(', ')}. Nothing was changed.`,
      hint: 'Type more of the id.',
    },
  )
}
