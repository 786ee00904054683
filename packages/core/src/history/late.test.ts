import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Fixture } from '../testing/workspace.ts'
import type { RelPath } from '../values.ts'
import { workspaceAt } from '../workspace.ts'

test('[H290] a turn that is told late owns what changed since the last operation', async () => {
  await using w = new Fixture()
  w.userWrites({ 'a.txt': 'one\n' })
  const workspace = await w.open()
  await workspace.capture()
  w.userWrites({ 'a.txt': 'two\n', 'new.txt': 'n\n' })
  const { session } = w
  const { turn } = await workspace.beginTurn({ session, agent: 'late', late: true })
  const { changes } = await workspace.endTurn(turn)
  expect(changes.map(({ path, actor, certainty }) => [path, actor, certainty])).toEqual([
    ['a.txt', 'late', 'inferred'],
    ['new.txt', 'late', 'inferred'],
  ])
  await workspace.undo({ session })
  expect(w.files()).toEqual({ 'a.txt': 'one\n' })
})

test('[H290] a step that is told late owns what it names, inferred, and nothing else; the first look of all is a baseline', async () => {
  await using w = new Fixture()
  w.userWrites({ 'a.txt': 'one\n' })
  const workspace = await w.open()
  const { session } = w
  const { turn } = await workspace.beginTurn({ session, agent: 'late', late: true })
  w.userWrites({ 'a.txt': 'two\n', 'mine.txt': 'm\n' })
  const wish = { turn, tool: 'edit', paths: ['a.txt' as RelPath], late: true }
  const { step } = await workspace.beginStep(wish)
  const changes = await workspace.endStep(step)
  expect(changes.map(({ path, actor, certainty }) => [path, actor, certainty])).toEqual([
    ['a.txt', 'late', 'inferred'],
  ])
  await workspace.endTurn(turn)
  expect(workspace.index.changesOfTurn(turn).map(({ path }) => path)).toEqual(['a.txt'])
})

test('[H291] to ask where a folder belongs makes nothing, and to ask whether it has changed records nothing', async () => {
  await using w = new Fixture()
  w.userWrites({ 'sub/a.txt': 'one\n' })
  const { env } = w
  expect(workspaceAt(w.dir, { env })).toEqual({ root: expect.stringMatching(/project$/), known: false })
  expect(existsSync(join(w.base, 'store'))).toBe(false)
  const workspace = await w.open()
  await workspace.capture()
  expect(workspaceAt(w.pathOf('sub'), { env })).toEqual({ root: workspace.root, known: true })
  const seq = workspace.index.lastSeq()
  expect(await workspace.hasChanged()).toBe(false)
  w.userWrites({ 'sub/a.txt': 'two\n' })
  expect(await workspace.hasChanged()).toBe(true)
  expect(workspace.index.lastSeq()).toBe(seq)
  const { changes } = await workspace.capture()
  expect(changes).toMatchObject([{ path: 'sub/a.txt', actor: 'user' }])
})
