/** What the model test has found, shrunk and told in a sentence. */

import { expect, test } from 'vitest'
import { emptyFolder, Fixture, workspace } from '../testing/workspace.ts'

const agents = 'the agent moves this file\n'.repeat(9)
const users = 'something else of the user\n'.repeat(9)

test('[H167] [P3] a file of the user at the new name is not lost when the renamed file stands at both names', async () => {
  await using w = await workspace({ 'old.txt': agents })
  await w.turn('Rename it', { 'old.txt': null, 'new.txt': agents })
  w.userWrites({ 'old.txt': agents, 'new.txt': users })

  expect(await w.undo()).toMatchObject({ kind: 'conflicts', conflicts: [{ path: 'new.txt' }] })
  expect(w.files()).toEqual({ 'old.txt': agents, 'new.txt': users })

  await w.undo({ onConflict: 'keep' })
  expect(w.files()).toEqual({ 'old.txt': agents, 'new.txt': users })
})

test('[H167] [P3] where nobody changed the renamed file, its being at both names already is no conflict', async () => {
  await using w = await workspace({ 'old.txt': agents })
  await w.turn('Rename it', { 'old.txt': null, 'new.txt': agents })
  w.userWrites({ 'old.txt': agents })

  expect(await w.undo()).toMatchObject({ kind: 'done' })
  expect(w.files()).toEqual({ 'old.txt': agents })
})

test('[H168] redo brings a turn back although an older redo of it was rolled back in between', async () => {
  await using w = await workspace({ 'a.txt': 'one\n' })
  await w.turn('Shout', { 'a.txt': 'ONE\n' })
  await w.undo()
  const { op } = await w.redo()
  await w.undo()
  if (op === undefined) throw new Error('the redo has no operation')
  await w.rollback({ ops: [op] })
  expect(w.files()).toEqual({ 'a.txt': 'one\n' })

  await w.redo()

  expect(w.files()).toEqual({ 'a.txt': 'ONE\n' })
})

test('[H169] [P3] an empty folder that the user makes again after an undo took it away is the user’s', async () => {
  await using w = await workspace({ 'a.txt': 'one\n' })
  await w.turn('Make a folder', { x: emptyFolder })
  await w.undo()
  w.userWrites({ x: emptyFolder })

  expect((await w.workspace.capture()).changes).toMatchObject([{ path: 'x', kind: 'add', actor: 'user' }])
})

test('[H169] an empty folder that the user removes after an undo brought it back is gone', async () => {
  await using w = await workspace({ 'a.txt': 'one\n', x: emptyFolder })
  await w.turn('Remove a folder', { x: null })
  await w.undo()
  w.userWrites({ x: null })

  expect((await w.workspace.capture()).changes).toMatchObject([{ path: 'x', kind: 'delete', actor: 'user' }])
})

test('[H173] another process trusts the stat cache of the one before, and reads no file again', async () => {
  await using w = new Fixture()
  w.userWrites({ 'a.txt': 'one\n', 'd/b.txt': 'two\n' })
  // A file as young as the cache itself proves nothing, and is read again in any case.
  await new Promise((resolve) => setTimeout(resolve, 2_100))
  await w.open()
  await w.workspace.capture()
  const totals = [0]
  await w.reopen({ onProgress: ({ what, total = 0 }) => totals.push(what === 'storing' ? total : 0) })
  await w.workspace.capture()

  expect(Math.max(...totals)).toBe(0)
})
