/** Cleanup: reverted turns leave the transcript for good. Their content goes with the session's retention. */

import type { Exclusive, SessionId, StepId, TurnId } from '../values.ts'
import type { Engine } from './engine.ts'
import { pathTo, readTurnTree, revertedTurns } from './points.ts'
import { appendNote } from './recording.ts'

export interface Cleaned {
  readonly turns: readonly TurnId[]
  /** Later steps of turns that the way to the head leaves half-way. */
  readonly steps: readonly StepId[]
}

export function cleanup(engine: Engine, session: SessionId, lock: Exclusive): Cleaned {
  const tree = readTurnTree(engine, session)
  const turns = revertedTurns(tree).map((turn) => turn.id)
  const steps = pathTo(tree, tree.head).flatMap(({ turn, before }) => stepsBeyond(engine, turn, before))
  if (turns.length === 0 && steps.length === 0) return { turns, steps }
  appendNote(engine, { kind: 'cleanup', session, turns, steps }, lock)
  return { turns, steps }
}

function stepsBeyond(engine: Engine, turn: TurnId | null, before: StepId | undefined): readonly StepId[] {
  if (turn === null || before === undefined) return []
  const steps = engine.log.index.steps(turn).map((step) => step.id)
  return steps.slice(steps.indexOf(before))
}
