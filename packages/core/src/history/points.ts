/**
 * A session's turns form a tree, and its head stands at a point of it.
 *
 *   t1 ─┬─ t2 ── t3        t1, t2, t3, undo twice, then a new prompt: t2 and t3 are hidden, not gone.
 *       └─ t4 (head)       Redo from t1 follows t4, last visited.
 *
 * A point is a turn with all its steps, or a turn up to one of its steps, or the beginning.
 */

import type { Point } from '../log/record.ts'
import type { Operation, StepRow, TurnRow } from '../log/rows.ts'
import type { SessionId, StepId, TurnId } from '../values.ts'
import type { Engine } from './engine.ts'

export interface TurnTree {
  readonly session: SessionId
  readonly head: Point
  /** In the order in which they began. */
  readonly turns: ReadonlyMap<TurnId, TurnRow>
}

export function readTurnTree(engine: Engine, session: SessionId): TurnTree {
  const turns = new Map(engine.log.index.turns(session).map((turn) => [turn.id, turn]))
  const head = engine.log.index.findSession(session)?.head ?? { turn: null }
  return { session, head: nearestExisting(engine, turns, head), turns }
}

// A head that names a turn or a step that was cleaned up stands nowhere: undo would find nothing, and the turns before
// it would count as reverted. It stands at the nearest one above that is still there.
function nearestExisting(engine: Engine, turns: TurnTree['turns'], head: Point): Point {
  const { index } = engine.log
  let at = head
  while (at.turn !== null && !turns.has(at.turn))
    at = index.findTurnEvenRemoved(at.turn)?.parent ?? { turn: null }
  return at.before !== undefined && index.findStep(at.before) === undefined ? { turn: at.turn } : at
}

/** The turns from the beginning to a point, oldest first; the last one may be cut short. */
export function pathTo(tree: TurnTree, point: Point): readonly Point[] {
  const path: Point[] = []
  for (let at = point; at.turn !== null; ) {
    path.push(at)
    at = tree.turns.get(at.turn)?.parent ?? { turn: null }
  }
  return path.reverse()
}

/** Whether a turn is on the way to the head. Looks at those since only: before it there may be ten thousand. */
export function isOnPath({ log }: Engine, turn: TurnRow): boolean {
  let at = log.index.findSession(turn.session)?.head.turn ?? null
  while (at !== null && at !== turn.id) {
    const later = log.index.findTurnEvenRemoved(at)
    if (later === undefined || later.beginSeq < turn.beginSeq) return false
    at = later.parent.turn
  }
  return at === turn.id
}

/** Turns that are not on the way to the head: undone, or left for another branch. */
export function revertedTurns(tree: TurnTree): readonly TurnRow[] {
  const onPath = new Set(pathTo(tree, tree.head).map((point) => point.turn))
  return [...tree.turns.values()].filter((turn) => !onPath.has(turn.id))
}

/** Where an undo of the last `count` turns leads; undefined when there is nothing to undo. */
export function pointBack(tree: TurnTree, count: number): Point | undefined {
  const path = pathTo(tree, tree.head)
  const first = path[Math.max(0, path.length - count)]
  return first === undefined || first.turn === null ? undefined : tree.turns.get(first.turn)?.parent
}

/** Where a redo of `count` turns leads; undefined when there is nothing to redo. */
export function pointForward(tree: TurnTree, count: number): Point | undefined {
  let at: Point | undefined
  for (let done = 0; done < count; done += 1) {
    const next = nextPoint(tree, at ?? tree.head)
    if (next === undefined) break
    at = next
  }
  return at
}

function nextPoint(tree: TurnTree, point: Point): Point | undefined {
  const candidates = [...tree.turns.values()].filter((turn) => samePoint(turn.parent, point))
  // Standing inside a turn, its own remaining steps are one way on; a branch that began here is another.
  const own = point.before === undefined || point.turn === null ? undefined : tree.turns.get(point.turn)
  if (own !== undefined) candidates.push(own)
  const last = candidates.sort((a, b) => a.visitedSeq - b.visitedSeq).at(-1)
  return last === undefined ? undefined : { turn: last.id }
}

export function samePoint(a: Point, b: Point): boolean {
  return a.turn === b.turn && a.before === b.before
}

/** The point just before, or just after, a step. */
export function pointAtStep(engine: Engine, turn: TurnRow, step: StepId, side: 'before' | 'after'): Point {
  const steps = engine.log.index.steps(turn.id)
  const at = steps.findIndex((one) => one.id === step) + (side === 'after' ? 1 : 0)
  if (at === 0) return turn.parent
  const next = steps[at]
  return next === undefined ? { turn: turn.id } : { turn: turn.id, before: next.id }
}

/** One turn's part of a way: the operations to take out, or to bring back. */
export interface Leg {
  readonly turn: TurnId
  readonly operations: readonly Operation[]
}

export interface Way {
  /** Newest turn first. */
  readonly out: readonly Leg[]
  /** Oldest turn first. */
  readonly in: readonly Leg[]
}

export function wayBetween(engine: Engine, tree: TurnTree, from: Point, to: Point): Way {
  const here = legsTo(engine, tree, from)
  const there = legsTo(engine, tree, to)
  return { out: without(here, there).reverse(), in: without(there, here) }
}

function legsTo(engine: Engine, tree: TurnTree, point: Point): readonly Leg[] {
  return pathTo(tree, point).flatMap((at) => (at.turn === null ? [] : [legOf(engine, at.turn, at.before)]))
}

function legOf(engine: Engine, turn: TurnId, before: StepId | undefined): Leg {
  const operations = engine.log.index.stepOperations(turn)
  if (before === undefined) return { turn, operations }
  const kept = stepsBefore(engine.log.index.steps(turn), before)
  return {
    turn,
    operations: operations.filter(({ record }) => record.kind === 'step' && kept.has(record.step)),
  }
}

function stepsBefore(steps: readonly StepRow[], before: StepId): ReadonlySet<StepId> {
  const at = steps.findIndex((step) => step.id === before)
  return new Set(steps.slice(0, at < 0 ? steps.length : at).map((step) => step.id))
}

/** Legs of `these`, less the operations that `those` have too. A turn with nothing left to move still counts as left. */
function without(these: readonly Leg[], those: readonly Leg[]): Leg[] {
  const others = new Map(those.map((leg) => [leg.turn, new Set(leg.operations.map(({ commit }) => commit))]))
  const legs: Leg[] = []
  for (const leg of these) {
    const shared = others.get(leg.turn)
    if (shared === undefined) legs.push(leg)
    else {
      const operations = leg.operations.filter(({ commit }) => !shared.has(commit))
      if (operations.length > 0) legs.push({ turn: leg.turn, operations })
    }
  }
  return legs
}
