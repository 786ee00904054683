import { renameSync } from 'node:fs'
import { expect, test } from 'vitest'
import { failureOf } from '../testing/honest.ts'
import { emptyFolder, type Fixture, withMode, workspace } from '../testing/workspace.ts'
import type { ChangeId, OpId, RelPath, StepId, TurnId } from '../values.ts'

const paths = (...names: string[]) => names as RelPath[]

/** Seven lines, the three named ones far enough apart to merge. */
const text = (first: string, middle: string, last: string) =>
  [first, 'b', 'c', middle, 'e', 'f', last, ''].join('\n')

const add = async (w: Fixture, n: number) => (await w.turn(`Prompt ${n}`, { [`${n}.txt`]: `${n}\n` })).turn

const headOf = (w: Fixture) => w.workspace.index.findSession(w.session)?.head.turn

test('[H50] [E1] one turn out of five goes back; the head stays', async () => {
  await using w = await workspace({})
  const turns: TurnId[] = []
  for (const n of [1, 2, 3, 4, 5]) turns.push(await add(w, n))
  const outcome = await w.rollback({ turns: turns.slice(2, 3) })
  expect(w.files()).toEqual({ '1.txt': '1\n', '2.txt': '2\n', '4.txt': '4\n', '5.txt': '5\n' })
  expect(outcome).toMatchObject({ head: turns[4], reverted: [] })
  expect(headOf(w)).toBe(turns[4])
})

test('[H50] [E2] of three turns in one file the middle one goes out, the others stay', async () => {
  await using w = await workspace({ 'a.txt': text('a', 'd', 'g') })
  await w.turn('One', { 'a.txt': text('A', 'd', 'g') })
  const two = await w.turn('Two', { 'a.txt': text('A', 'D', 'g') })
  await w.turn('Three', { 'a.txt': text('A', 'D', 'G') })
  const outcome = await w.rollback({ turns: [two.turn] })
  expect(w.files()).toEqual({ 'a.txt': text('A', 'd', 'G') })
  expect(outcome.files).toEqual([{ path: 'a.txt', action: 'write', merged: true }])
})

test('[H51] [E3] lines that a later turn wrote again: the earlier turn alone is refused, both together go', async () => {
  await using w = await workspace({ 'a.txt': text('a', 'd', 'g'), 'b.txt': 'b\n' })
  const two = await w.turn('Two', { 'a.txt': text('a', 'two', 'g'), 'b.txt': 'B\n' })
  const three = await w.turn('Three', { 'a.txt': text('a', 'three', 'g') })
  const before = w.files()
  const refused = await w.rollback({ turns: [two.turn] })
  expect(refused).toMatchObject({ kind: 'conflicts', conflicts: [{ path: 'a.txt', kind: 'content' }] })
  expect(w.files()).toEqual(before)
  expect(await w.rollback({ turns: [two.turn, three.turn] })).toMatchObject({ kind: 'done', conflicts: [] })
  expect(w.files()).toEqual({ 'a.txt': text('a', 'd', 'g'), 'b.txt': 'b\n' })
})

test('[H51] [E4] a file that one turn made and a later one edited: the first alone is refused, both together go', async () => {
  await using w = await workspace({})
  const two = await w.turn('Make', { 'a.txt': text('a', 'd', 'g') })
  const three = await w.turn('Edit', { 'a.txt': text('A', 'd', 'g') })
  expect((await w.rollback({ turns: [two.turn] })).kind).toBe('conflicts')
  expect(w.files()).toEqual({ 'a.txt': text('A', 'd', 'g') })
  await w.rollback({ turns: [three.turn, two.turn] })
  expect(w.files()).toEqual({})
})

test('[H51] [E5] a rename goes back under the edit that a later turn made at the new name', async () => {
  const long = (first: string) => text(first, 'd', 'g').repeat(3)
  await using w = await workspace({ 'old.txt': long('a') })
  const two = await w.turn('Rename', () => renameSync(w.pathOf('old.txt'), w.pathOf('new.txt')))
  await w.turn('Edit', { 'new.txt': text('A', 'd', 'g') + text('a', 'd', 'g').repeat(2) })
  await w.rollback({ turns: [two.turn] })
  expect(w.files()).toEqual({ 'old.txt': text('A', 'd', 'g') + text('a', 'd', 'g').repeat(2) })
})

test('[H52] [E6] one step of a turn, and one change of a step', async () => {
  await using w = await workspace({})
  const turn = await w.beginTurn('Three steps')
  await w.step(turn, { '1.txt': '1\n' })
  const second = await w.step(turn, { '2.txt': '2\n' })
  const third = await w.step(turn, { '3.txt': '3\n', '4.txt': '4\n', 'five/5.txt': '5\n' })
  await w.workspace.endTurn(turn)
  await w.rollback({ steps: [second[0]?.step as StepId] })
  expect(w.files()).toEqual({ '1.txt': '1\n', '3.txt': '3\n', '4.txt': '4\n', 'five/5.txt': '5\n' })
  await w.rollback({ changes: third.filter(({ path }) => path === '4.txt').map(({ id }) => id) })
  expect(w.files()).toEqual({ '1.txt': '1\n', '3.txt': '3\n', 'five/5.txt': '5\n' })
  // What is out is not taken out twice, and the rest of the step still goes with its turn.
  await w.rollback({ turns: [turn] })
  expect(w.files()).toEqual({})
})

test('[H52] one change that is a folder, or a mode, goes alone', async () => {
  await using w = await workspace({ 'run.sh': withMode('#!/bin/sh\n', 0o644) })
  const { changes } = await w.turn('Mix', {
    folder: emptyFolder,
    'file.txt': 'f\n',
    'run.sh': withMode('#!/bin/sh\n', 0o755),
  })
  const idOf = (path: string) =>
    changes.filter((change) => change.path === path).map(({ id }) => id as ChangeId)
  expect(changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    'add file.txt',
    'add folder',
    'mode run.sh',
  ])
  await w.rollback({ changes: idOf('folder') })
  expect(w.files({ modes: true })).toEqual({ 'file.txt': '644 f\n', 'run.sh': '755 #!/bin/sh\n' })
  await w.rollback({ changes: idOf('run.sh') })
  expect(w.files({ modes: true })).toEqual({ 'file.txt': '644 f\n', 'run.sh': '644 #!/bin/sh\n' })
  await w.undo()
  expect(w.files({ modes: true })).toEqual({ 'run.sh': '644 #!/bin/sh\n' })
  await w.redo()
  expect(w.files({ modes: true })).toEqual({ 'file.txt': '644 f\n', 'run.sh': '644 #!/bin/sh\n' })
})

test('[H52] [E7] the agent’s lines of one file go, the user’s stay, and no other file is touched', async () => {
  await using w = await workspace({ 'f.txt': text('a', 'd', 'g'), 'g.txt': 'g\n' })
  await w.turn('One', { 'f.txt': text('A', 'd', 'g'), 'g.txt': 'G\n' })
  w.userWrites({ 'f.txt': text('A', 'mine', 'g') })
  await w.turn('Two', { 'f.txt': text('A', 'mine', 'G') })
  await w.rollback({ paths: paths('f.txt') })
  expect(w.files()).toEqual({ 'f.txt': text('a', 'mine', 'g'), 'g.txt': 'G\n' })
})

test('[H52] [E8] only what the subagent did', async () => {
  await using w = await workspace({})
  const turn = await w.beginTurn('With a helper')
  await w.step(turn, { 'main.txt': 'm\n' })
  await w.step(turn, { 'sub.txt': 's\n' }, { agentId: 'sub-1' })
  await w.step(turn, { 'sub2.txt': 's\n' }, { agentId: 'sub-2' })
  await w.workspace.endTurn(turn)
  await w.rollback({ agentIds: ['sub-1'] })
  expect(w.files()).toEqual({ 'main.txt': 'm\n', 'sub2.txt': 's\n' })
  expect(await failureOf(w.rollback({ agentIds: ['sub'] }))).toBe('nothing-to-roll-back')
})

test('[H52] only what one agent did, in the session in force', async () => {
  await using w = await workspace({})
  const turn = await w.beginTurn('Other agent', { agent: 'other-agent' })
  await w.step(turn, { 'other.txt': 'o\n' })
  await w.workspace.endTurn(turn)
  await add(w, 1)
  w.inSession('agent-2')
  await add(w, 2)
  w.inSession('agent-1')
  await w.rollback({ agents: ['test-agent'] })
  expect(w.files()).toEqual({ 'other.txt': 'o\n', '2.txt': '2\n' })
})

test('[H52] [E9] only what came after a moment', async () => {
  let clock = Date.parse('2026-01-01T12:00:00Z')
  const now = () => {
    clock += 10
    return clock
  }
  await using w = await workspace({}, { now })
  await add(w, 1)
  clock += 3_600_000
  const moment = clock
  await add(w, 2)
  await add(w, 3)
  await w.rollback({ afterMs: moment })
  expect(w.files()).toEqual({ '1.txt': '1\n' })
})

test('[H52] [E10] kinds of selectors narrow each other, repeats of one kind add up', async () => {
  await using w = await workspace({})
  const one = await w.turn('One', { 'f.txt': '1\n', 'g.txt': '1\n', 'dir/h.txt': '1\n' })
  const two = await w.turn('Two', { 'i.txt': '2\n', 'dir/j.txt': '2\n', 'directory.txt': '2\n' })
  await w.rollback({ turns: [one.turn], paths: paths('f.txt', 'i.txt') })
  expect(Object.keys(w.files())).toEqual(['dir/h.txt', 'dir/j.txt', 'directory.txt', 'g.txt', 'i.txt'])
  await w.rollback({ paths: paths('g.txt', 'i.txt') })
  expect(Object.keys(w.files())).toEqual(['dir/h.txt', 'dir/j.txt', 'directory.txt'])
  await w.rollback({ paths: paths('dir') })
  expect(Object.keys(w.files())).toEqual(['directory.txt'])
  expect(await failureOf(w.rollback({ turns: [one.turn], paths: paths('directory.txt') }))).toBe(
    'nothing-to-roll-back',
  )
  expect((await w.rollback({ turns: [two.turn] })).files.map(({ path }) => path)).toEqual(['directory.txt'])
})

test('[H53] [E11] a selection that matches nothing is said, and nothing changes', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  await add(w, 1)
  w.userWrites({ 'mine.txt': 'm\n' })
  await w.workspace.capture()
  for (const selection of [
    { paths: paths('none.txt') },
    { paths: paths('mine.txt') },
    { paths: paths('a.txt') },
    { turns: ['tnone' as TurnId] },
    { changes: ['cnone' as ChangeId] },
    { agents: ['user'] },
  ])
    expect(await failureOf(w.rollback(selection))).toBe('nothing-to-roll-back')
  expect(w.files()).toEqual({ '1.txt': '1\n', 'a.txt': 'a\n', 'mine.txt': 'm\n' })
})

test('[H54] [E12] a rollback is rolled back to the identical tree', async () => {
  await using w = await workspace({
    'a.txt': text('a', 'd', 'g'),
    'old.txt': 'old\n'.repeat(9),
    e: emptyFolder,
  })
  const one = await w.turn('One', { 'a.txt': text('A', 'd', 'g'), 'x/new.txt': 'n\n', 'e/f.txt': 'f\n' })
  await w.turn('Two', { 'a.txt': text('A', 'D', 'g'), 'old.txt': null, 'name.txt': 'old\n'.repeat(9) })
  w.userWrites({ 'a.txt': text('A', 'D', 'mine') })
  const before = w.files({ modes: true })
  for (const selection of [{ turns: [one.turn] }, { paths: paths('a.txt') }, { agents: ['test-agent'] }]) {
    const { op } = await w.rollback(selection)
    expect(w.files({ modes: true })).not.toEqual(before)
    await w.rollback({ ops: [op as OpId] })
    expect(w.files({ modes: true })).toEqual(before)
  }
  await w.undo({ turns: 2 })
  expect(w.files()).toEqual({ 'a.txt': text('a', 'd', 'mine'), 'old.txt': 'old\n'.repeat(9), e: '/' })
})

test('[H54] [E13] an undo, a redo and a restore are rolled back together with the head, and that again', async () => {
  await using w = await workspace({ 'a.txt': 'v0\n' })
  const one = await w.turn('One', { 'a.txt': 'v1\n' })
  const two = await w.turn('Two', { 'a.txt': 'v2\n' })
  const undone = await w.undo({ turns: 2 })
  const back = await w.rollback({ ops: [undone.op as OpId] })
  expect([w.files()['a.txt'], headOf(w), back.head]).toEqual(['v2\n', two.turn, two.turn])
  const out = await w.rollback({ ops: [back.op as OpId] })
  expect([w.files()['a.txt'], headOf(w)]).toEqual(['v0\n', null])
  await w.rollback({ ops: [out.op as OpId] })
  expect([w.files()['a.txt'], headOf(w)]).toEqual(['v2\n', two.turn])
  // Each turn can still be moved alone.
  await w.undo()
  expect([w.files()['a.txt'], headOf(w)]).toEqual(['v1\n', one.turn])
  const redone = await w.redo()
  await w.rollback({ ops: [redone.op as OpId] })
  expect([w.files()['a.txt'], headOf(w)]).toEqual(['v1\n', one.turn])
  const restored = await w.restore(one.turn)
  await w.rollback({ ops: [restored.op as OpId] })
  expect([w.files()['a.txt'], headOf(w)]).toEqual(['v1\n', one.turn])
  expect((await w.redo()).redone).toEqual([two.turn])
})

test('[H54] the head that has moved since stays where it is', async () => {
  await using w = await workspace({ 'a.txt': 'v0\n' })
  const one = await w.turn('One', { 'a.txt': 'v1\n' })
  const undone = await w.undo()
  const two = await w.turn('Two', { 'b.txt': 'b\n' })
  const back = await w.rollback({ ops: [undone.op as OpId] })
  expect(w.files()).toEqual({ 'a.txt': 'v1\n', 'b.txt': 'b\n' })
  expect([headOf(w), back.head]).toEqual([two.turn, two.turn])
  // And taken out again, the turn can still be had from its own branch.
  await w.rollback({ ops: [back.op as OpId] })
  expect(w.files()).toEqual({ 'a.txt': 'v0\n', 'b.txt': 'b\n' })
  await w.restore(one.turn, 'after')
  expect(w.files()).toEqual({ 'a.txt': 'v1\n' })
})

test('[H54] an undo of a turn that was cleaned up since comes back without a head', async () => {
  await using w = await workspace({ 'a.txt': 'v0\n' })
  const one = await w.turn('One', { 'a.txt': 'v1\n' })
  await w.turn('Two', { 'a.txt': 'v2\n' })
  const undone = await w.undo()
  await w.workspace.cleanup(w.session)
  await w.rollback({ ops: [undone.op as OpId] })
  expect([w.files()['a.txt'], headOf(w)]).toEqual(['v2\n', one.turn])
  const three = await w.turn('Three', { 'b.txt': 'b\n' })
  expect((await w.undo()).reverted).toEqual([three.turn])
})

test('[H55] [E14] what was rolled back is not taken out twice, neither by undo nor by a second rollback', async () => {
  await using w = await workspace({ 'a.txt': text('a', 'd', 'g') })
  await w.turn('One', { 'a.txt': text('A', 'd', 'g'), '1.txt': '1\n' })
  const two = await w.turn('Two', { 'a.txt': text('A', 'D', 'g'), '2.txt': '2\n' })
  const three = await w.turn('Three', { 'a.txt': text('A', 'D', 'G') })
  await w.rollback({ turns: [two.turn] })
  // The user writes the same text again by himself: now it is his.
  w.userWrites({ '2.txt': '2\n' })
  await w.workspace.capture()
  expect(await failureOf(w.rollback({ turns: [two.turn] }))).toBe('nothing-to-roll-back')
  expect((await w.undo({ turns: 3 })).reverted).toContain(two.turn)
  expect(w.files()).toEqual({ 'a.txt': text('a', 'd', 'g'), '2.txt': '2\n' })
  // Coming back, the turn that was rolled back stays out.
  await w.redo({ all: true })
  expect(headOf(w)).toBe(three.turn)
  expect(w.files()).toEqual({ 'a.txt': text('A', 'd', 'G'), '1.txt': '1\n', '2.txt': '2\n' })
})

test('[H55] a file rolled back out of a turn stays out through undo and redo of that turn', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  const { turn } = await w.turn('Both', { 'a.txt': 'A\n', 'b.txt': 'B\n' })
  const rolled = await w.rollback({ paths: paths('a.txt') })
  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  await w.redo()
  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'b.txt': 'B\n' })
  await w.rollback({ ops: [rolled.op as OpId] })
  expect(w.files()).toEqual({ 'a.txt': 'A\n', 'b.txt': 'B\n' })
  expect((await w.rollback({ turns: [turn] })).files).toHaveLength(2)
})

test('[H56] the user’s own edit is reached by its operation, or its change, alone', async () => {
  await using w = await workspace({ 'a.txt': text('a', 'd', 'g') })
  w.userWrites({ 'a.txt': text('mine', 'd', 'g'), 'm.txt': 'm\n' })
  const { changes } = await w.workspace.capture()
  await w.turn('One', { 'a.txt': text('mine', 'd', 'G') })
  const ofFile = changes.filter(({ path }) => path === 'a.txt')
  await w.rollback({ changes: ofFile.map(({ id }) => id) })
  expect(w.files()).toEqual({ 'a.txt': text('a', 'd', 'G'), 'm.txt': 'm\n' })
  await w.rollback({ ops: [ofFile[0]?.op as OpId] })
  expect(w.files()).toEqual({ 'a.txt': text('a', 'd', 'G') })
  expect(await failureOf(w.rollback({ ops: [ofFile[0]?.op as OpId] }))).toBe('nothing-to-roll-back')
})

test('[H56] a turn of another session is reached by its id; a file selector is not', async () => {
  await using w = await workspace({ 'f.txt': text('a', 'd', 'g') })
  const one = await w.turn('One', { 'f.txt': text('A', 'd', 'g') })
  w.inSession('agent-2')
  await w.turn('Two', { 'f.txt': text('A', 'd', 'G') })
  await w.rollback({ paths: paths('f.txt') })
  expect(w.files()).toEqual({ 'f.txt': text('A', 'd', 'g') })
  await w.rollback({ turns: [one.turn] })
  expect(w.files()).toEqual({ 'f.txt': text('a', 'd', 'g') })
})

test('[H57] what a turn that is still open has changed is captured first, and can be rolled back', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  const turn = await w.beginTurn('No steps')
  w.userWrites({ 'a.txt': 'A\n', 'b.txt': 'B\n' })
  await w.rollback({ paths: paths('a.txt') })
  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'b.txt': 'B\n' })
  w.userWrites({ 'c.txt': 'c\n' })
  expect((await w.workspace.endTurn(turn)).changes.map(({ path }) => path)).toEqual([
    'a.txt',
    'b.txt',
    'c.txt',
  ])
  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
})

test('[H58] several operations at once go back, moves among them', async () => {
  await using w = await workspace({ 'a.txt': 'v0\n', 'b.txt': 'b0\n' })
  w.userWrites({ 'b.txt': 'b1\n' })
  const user = (await w.workspace.capture()).changes[0]?.op as OpId
  await w.turn('One', { 'a.txt': 'v1\n' })
  const undone = (await w.undo()).op as OpId
  await w.rollback({ ops: [user, undone] })
  expect(w.files()).toEqual({ 'a.txt': 'v1\n', 'b.txt': 'b0\n' })
})
