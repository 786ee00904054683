import { expect, test } from 'vitest'
import type { Point } from '../log/record.ts'
import type { TurnRow } from '../log/rows.ts'
import type { SessionId, StepId, TurnId } from '../values.ts'
import { pathTo, pointBack, pointForward, revertedTurns, samePoint, type TurnTree } from './points.ts'

const at = (turn: string | null, before?: string): Point => ({
  turn: turn as TurnId | null,
  ...(before === undefined ? {} : { before: before as StepId }),
})

/** `[id, parent, last visited]`, in the order in which they began. */
function tree(head: Point, ...turns: readonly (readonly [string, Point, number])[]): TurnTree {
  const rows = turns.map(
    ([id, parent, visitedSeq], n): TurnRow => ({
      id: id as TurnId,
      session: 's' as SessionId,
      parent,
      agent: 'a',
      status: 'ok',
      beginSeq: n,
      beganMs: n,
      visitedSeq,
      commits: [],
    }),
  )
  return { session: 's' as SessionId, head, turns: new Map(rows.map((row) => [row.id, row])) }
}

//   t1 ─┬─ t2 ── t3
//       └─ t4 (head)
const branched = (head: Point) =>
  tree(head, ['t1', at(null), 1], ['t2', at('t1'), 2], ['t3', at('t2'), 3], ['t4', at('t1'), 4])

const ids = (points: readonly Point[]) => points.map(({ turn }) => turn)

test('[H4] [H42] the way to a point is its turns from the beginning; all others are reverted', () => {
  expect(ids(pathTo(branched(at('t4')), at('t3')))).toEqual(['t1', 't2', 't3'])
  expect(pathTo(branched(at(null)), at(null))).toEqual([])
  expect(revertedTurns(branched(at('t4'))).map(({ id }) => id)).toEqual(['t2', 't3'])
  expect(revertedTurns(branched(at(null)))).toHaveLength(4)
})

test('[H4] [H6] back by some turns, by more than there are, and from the beginning', () => {
  expect(pointBack(branched(at('t3')), 1)).toEqual(at('t2'))
  expect(pointBack(branched(at('t3')), 2)).toEqual(at('t1'))
  expect(pointBack(branched(at('t3')), 99)).toEqual(at(null))
  expect(pointBack(branched(at(null)), 1)).toBeUndefined()
})

test('[H33] [H34] forward follows the child last visited, as far as there is one', () => {
  expect(pointForward(branched(at('t1')), 1)).toEqual(at('t4'))
  expect(pointForward(branched(at(null)), 2)).toEqual(at('t4'))
  expect(pointForward(branched(at('t2')), Number.POSITIVE_INFINITY)).toEqual(at('t3'))
  expect(pointForward(branched(at('t3')), 1)).toBeUndefined()
})

test('[H41] inside a turn: back goes to before it, forward to its end or into a branch that began there', () => {
  const inside = (visited: number) =>
    tree(at('t1', 's2'), ['t0', at(null), 1], ['t1', at('t0'), visited], ['t2', at('t1', 's2'), 5])
  expect(pointBack(inside(2), 1)).toEqual(at('t0'))
  expect(pointForward(inside(2), 1)).toEqual(at('t2'))
  expect(pointForward(inside(9), 1)).toEqual(at('t1'))
  expect(samePoint(at('t1', 's2'), at('t1'))).toBe(false)
})
