import { renameSync } from 'node:fs'
import { expect, test } from 'vitest'
import { failureOf } from '../testing/honest.ts'
import { withMode, workspace } from '../testing/workspace.ts'
import { turnViews } from './views.ts'

const text = (first: string, last: string) => [first, 'b', 'c', 'd', 'e', last, ''].join('\n')

test('[H31] [C1] redo brings add, edit, delete, rename and mode back, and no old name lingers', async () => {
  await using w = await workspace({
    'edit.txt': 'e\n',
    'gone.txt': 'gone\n',
    'old.txt': 'the same text\n'.repeat(9),
    'run.sh': withMode('#!/bin/sh\n', 0o644),
  })
  const before = w.files({ modes: true })
  await w.turn('Mix', () => {
    w.userWrites({
      'new/n.txt': 'n\n',
      'edit.txt': 'E\n',
      'gone.txt': null,
      'run.sh': withMode('#!/bin/sh\n', 0o755),
    })
    renameSync(w.pathOf('old.txt'), w.pathOf('name.txt'))
  })
  const after = w.files({ modes: true })

  for (let time = 0; time < 2; time += 1) {
    await w.undo()
    expect(w.files({ modes: true })).toEqual(before)
    await w.redo()
    expect(w.files({ modes: true })).toEqual(after)
  }
})

test('[H32] [C2] redo keeps what the user wrote elsewhere in the file after the undo', async () => {
  await using w = await workspace({ 'a.txt': text('a', 'f') })
  await w.turn('Edit', { 'a.txt': text('A', 'f') })
  await w.undo()
  w.userWrites({ 'a.txt': text('a', 'mine') })
  const outcome = await w.redo()
  expect(w.files()).toEqual({ 'a.txt': text('A', 'mine') })
  expect(outcome.files).toEqual([{ path: 'a.txt', action: 'write', merged: true }])
})

test('[H32] [C3] redo over the same line is refused, nothing changes, the head stays', async () => {
  await using w = await workspace({ 'a.txt': text('a', 'f'), 'b.txt': 'b\n' })
  const { turn } = await w.turn('Edit', { 'a.txt': text('A', 'f'), 'b.txt': 'B\n' })
  await w.undo()
  w.userWrites({ 'a.txt': text('mine', 'f') })
  const before = w.files()

  const outcome = await w.redo()

  expect(outcome).toMatchObject({ kind: 'conflicts', head: null, redone: [], files: [] })
  expect(outcome.conflicts).toMatchObject([{ path: 'a.txt', kind: 'content', ours: 'mine', theirs: 'A' }])
  expect(w.files()).toEqual(before)
  expect((await w.redo({ onConflict: 'overwrite' })).redone).toEqual([turn])
  expect(w.files()).toEqual({ 'a.txt': text('A', 'f'), 'b.txt': 'B\n' })
})

test('[H32] [C4] redo does not write over a file that the user put where the turn had added one', async () => {
  await using w = await workspace({})
  await w.turn('Add', { 'new.txt': 'agent\n' })
  await w.undo()
  w.userWrites({ 'new.txt': 'mine\n' })
  expect(await w.redo()).toMatchObject({
    kind: 'conflicts',
    conflicts: [{ path: 'new.txt', kind: 'add-add' }],
  })
  expect(w.files()).toEqual({ 'new.txt': 'mine\n' })
  w.userWrites({ 'new.txt': 'agent\n' })
  expect(await w.redo()).toMatchObject({ kind: 'done', files: [] })
  expect(w.files()).toEqual({ 'new.txt': 'agent\n' })
})

test('[H32] [C5] redo lands in the file that the user has renamed', async () => {
  await using w = await workspace({ 'a.txt': text('a', 'f').repeat(3) })
  await w.turn('Edit', { 'a.txt': text('A', 'f') + text('a', 'f').repeat(2) })
  await w.undo()
  renameSync(w.pathOf('a.txt'), w.pathOf('b.txt'))
  await w.redo()
  expect(w.files()).toEqual({ 'b.txt': text('A', 'f') + text('a', 'f').repeat(2) })
})

test('[H33] [C6] redo goes forward oldest first; all at once is one operation', async () => {
  await using w = await workspace({ 'a.txt': 'v0\n' })
  const one = await w.turn('One', { 'a.txt': 'v1\n' })
  const two = await w.turn('Two', { 'a.txt': 'v2\n' })
  await w.undo()
  await w.undo()
  expect((await w.redo()).redone).toEqual([one.turn])
  expect(w.files()).toEqual({ 'a.txt': 'v1\n' })
  expect((await w.redo()).redone).toEqual([two.turn])
  expect(w.files()).toEqual({ 'a.txt': 'v2\n' })

  await w.undo({ turns: 2 })
  const count = w.workspace.index.counts().operations
  expect((await w.redo({ all: true })).redone).toEqual([one.turn, two.turn])
  expect(w.files()).toEqual({ 'a.txt': 'v2\n' })
  expect(w.workspace.index.counts().operations).toBe(count + 1)
  // Undone together, they still come back one by one.
  await w.undo({ turns: 2 })
  await w.redo({ turns: 1 })
  expect(w.files()).toEqual({ 'a.txt': 'v1\n' })
})

test('[H34] [C7] with nothing undone, or after a new turn, there is nothing to redo; the undone turn stays in the tree', async () => {
  await using w = await workspace({ 'a.txt': 'v0\n' })
  const one = await w.turn('One', { 'a.txt': 'v1\n' })
  expect(await failureOf(w.redo())).toBe('nothing-to-redo')
  await w.undo()
  const two = await w.turn('Two', { 'b.txt': 'b\n' })
  expect(await failureOf(w.redo())).toBe('nothing-to-redo')
  const views = turnViews(w.workspace.engine, w.session)
  expect(views.map(({ turn, isReverted }) => [turn.id, isReverted])).toEqual([
    [one.turn, true],
    [two.turn, false],
  ])
})

test('[H34] [C8] redo follows the child last visited', async () => {
  await using w = await workspace({ 'a.txt': 'v0\n' })
  const one = await w.turn('One', { 'a.txt': 'v1\n' })
  await w.undo()
  const two = await w.turn('Two', { 'a.txt': 'v2\n' })
  await w.undo()
  expect((await w.redo()).redone).toEqual([two.turn])
  await w.restore(one.turn, 'after')
  await w.undo()
  expect((await w.redo()).redone).toEqual([one.turn])
  expect(w.files()).toEqual({ 'a.txt': 'v1\n' })
  await w.reopen()
  await w.undo()
  expect((await w.redo()).redone).toEqual([one.turn])
})

test('[H35] [C9] after an undo that kept one file, redo brings the others back and leaves that one', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  await w.turn('Edit', { 'a.txt': 'A\n', 'b.txt': 'B\n' })
  w.userWrites({ 'a.txt': 'mine\n' })
  await w.undo({ onConflict: 'keep' })
  expect(w.files()).toEqual({ 'a.txt': 'mine\n', 'b.txt': 'b\n' })

  const outcome = await w.redo()

  expect(outcome.files.map(({ path }) => path)).toEqual(['b.txt'])
  expect(w.files()).toEqual({ 'a.txt': 'mine\n', 'b.txt': 'B\n' })
})

test('[H35] after an undo that overwrote the user’s line, redo brings that line back, too', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  await w.turn('Edit', { 'a.txt': 'A\n' })
  w.userWrites({ 'a.txt': 'mine\n' })
  await w.undo({ onConflict: 'overwrite' })
  expect(w.files()).toEqual({ 'a.txt': 'a\n' })
  await w.redo()
  expect(w.files()).toEqual({ 'a.txt': 'mine\n' })
})

test('[H31] undo and redo of a turn over which another one lies go in and out in any rhythm', async () => {
  await using w = await workspace({ 'a.txt': text('a', 'f') })
  await w.turn('One', { 'a.txt': text('A', 'f'), 'one.txt': '1\n' })
  await w.turn('Two', { 'a.txt': text('A', 'F'), 'one.txt': null, 'two/2.txt': '2\n' })
  const states = [
    { 'a.txt': text('a', 'f') },
    { 'a.txt': text('A', 'f'), 'one.txt': '1\n' },
    { 'a.txt': text('A', 'F'), 'two/2.txt': '2\n' },
  ]
  let at = 2
  for (const step of [-1, 1, -1, -1, 1, 1, -2, 2, -2, 1, 1, -1]) {
    if (step < 0) await w.undo({ turns: -step })
    else await w.redo({ turns: step })
    at += step
    expect(w.files()).toEqual(states[at])
  }
})
