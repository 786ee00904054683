import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { knownWorkspaces, workspaceId } from '../known-workspaces.ts'
import { workspace } from '../testing/workspace.ts'
import type { RelPath, Snapshot } from '../values.ts'
import { listFilesAt, listFolderAt, readFileAt, snapshotAt } from './past.ts'
import { turnViews } from './views.ts'

test('[H344] files and folders are read as any operation left them', async () => {
  await using w = await workspace({ 'a.txt': 'one\n', 'deep/er/d.txt': 'd\n' })
  symlinkSync('a.txt', w.pathOf('link'))
  mkdirSync(w.pathOf('bare/er'), { recursive: true })
  await w.workspace.capture()
  const { turn } = await w.turn('Work', () => {
    w.userWrites({ 'a.txt': 'two\n', deep: null, 'x.sh': 'x\n' })
    chmodSync(w.pathOf('x.sh'), 0o755)
  })
  const { engine } = w.workspace
  const at = (side: 'before' | 'after') => snapshotAt(engine, w.session, turn, side)
  const names = (snapshot: Snapshot, folder: string) =>
    listFolderAt(engine, snapshot, folder as RelPath)?.map(({ path, kind }) => `${kind} ${path}`)

  expect(names(at('before'), '')).toEqual(['file a.txt', 'folder bare', 'folder deep', 'link link'])
  expect(names(at('before'), 'deep')).toEqual(['folder deep/er'])
  expect(names(at('before'), 'deep/er')).toEqual(['file deep/er/d.txt'])
  expect(names(at('before'), 'bare')).toEqual(['folder bare/er'])
  expect(names(at('before'), 'bare/er')).toEqual([])
  expect(names(at('after'), 'deep')).toBeUndefined()
  expect(names(at('after'), 'a.txt')).toBeUndefined()
  expect(listFilesAt(engine, at('after'), { limit: 2 })).toMatchObject({ isComplete: false })
  expect(listFilesAt(engine, at('before'), { limit: 9, below: 'deep' as RelPath }).files).toHaveLength(1)

  const read = (snapshot: Snapshot, path: string) => readFileAt(engine, snapshot, path as RelPath)
  expect(read(at('before'), 'a.txt')?.bytes.toString()).toBe('one\n')
  expect(read(at('after'), 'a.txt')?.bytes.toString()).toBe('two\n')
  expect(read(at('after'), 'x.sh')?.perm).toBe(0o755)
  expect(read(at('after'), 'link')).toMatchObject({ kind: 'link', bytes: Buffer.from('a.txt') })
  expect(read(at('after'), 'deep/er/d.txt')).toBeUndefined()
  expect(read(at('before'), 'deep')).toBeUndefined()
  expect(snapshotAt(engine, w.session, 'now', 'after')).toEqual(at('after'))
})

test('[L140] operations are found by session, kind, time and number, counted', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  await w.turn('One', { 'a.txt': '1\n', 'b.txt': '1\n2\n' })
  w.userWrites({ 'mine.txt': 'm\n' })
  await w.workspace.capture()
  await w.inSession('other').turn('Two', { 'a.txt': '2\n' })
  const { index } = w.workspace
  const kinds = (filter: Parameters<typeof index.countedOperations>[0]) =>
    index.countedOperations(filter).map(({ operation }) => operation.record.kind)
  expect(kinds({})).toHaveLength(index.counts().operations)
  expect(kinds({ kinds: ['step'] })).toEqual(['step', 'step'])
  expect(kinds({ session: w.session })).toEqual(['turn-end', 'step', 'turn-begin'])
  expect(kinds({ session: w.session, own: true, kinds: ['user-edit', 'step'] })).toEqual([
    'step',
    'user-edit',
  ])
  const [, first] = index.countedOperations({ kinds: ['step'] })
  expect([first?.files, first?.additions, first?.deletions]).toEqual([2, 3, 1])
  const { seq, atMs } = first?.operation.record ?? { seq: 0, atMs: 0 }
  expect(kinds({ beforeSeq: seq })).toEqual(['turn-begin', 'baseline'])
  expect(kinds({ afterSeq: seq, limit: 1 })).toEqual(['turn-end'])
  expect(kinds({ sinceMs: atMs, untilMs: atMs })).toEqual(['step'])
})

test('[L141] changes are found by text, and from behind any change on', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  await w.turn('Paint it Red', { 'a.txt': '1\n', 'ünter.txt': 'u\n' }, 'make paint')
  await w.turn('Blue', { 'b.txt': '1\n', 'c.txt': '1\n' })
  const { index } = w.workspace
  const paths = (filter: Parameters<typeof index.findChanges>[0]) =>
    index.findChanges(filter).map(({ path }) => Buffer.from(path, 'latin1').toString('utf8'))
  expect(paths({ text: 'B.TX' })).toEqual(['b.txt'])
  expect(paths({ text: 'ünt' })).toEqual(['ünter.txt'])
  expect(paths({ text: 'it red' })).toEqual(['a.txt', 'ünter.txt'])
  expect(paths({ text: 'make p' })).toEqual(['a.txt', 'ünter.txt'])
  expect(paths({ text: '%' })).toEqual([])
  const all = index.findChanges({})
  for (const [at, behind] of all.entries())
    expect(index.findChanges({ behind }).map(({ id }) => id)).toEqual(all.slice(at + 1).map(({ id }) => id))
})

test('[L142] files and lines of each turn are what its changes say', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const one = await w.beginTurn('One')
  await w.step(one, { 'a.txt': '1\n', 'b.txt': '1\n2\n' })
  await w.step(one, { 'a.txt': '2\n' })
  await w.workspace.endTurn(one)
  await w.turn('Nothing', {})
  await w.turn('Three', { 'c.txt': 'c\n' })
  await w.undo()
  await w.turn('Four', { 'd.txt': 'd\n' })
  const views = turnViews(w.workspace.engine, w.session)
  expect(views.map(({ files, additions, deletions }) => [files, additions, deletions])).toEqual([
    [2, 4, 2],
    [0, 0, 0],
    [1, 1, 0],
    [1, 1, 0],
  ])
  expect(views.map(({ depth, isReverted, isHead }) => [depth, isReverted, isHead])).toEqual([
    [0, false, false],
    [1, false, false],
    [2, true, false],
    [2, false, true],
  ])
})

test('[L143] a workspace is known by its id, and a store that was moved is not', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const id = workspaceId(w.workspace.root, w.env)
  expect(knownWorkspaces(w.env)).toMatchObject([{ id, root: w.workspace.root }])
  expect(knownWorkspaces({ ...w.env, UNTURN_HOME: join(w.base, 'nowhere') })).toEqual([])
  await w.close()
  const stores = join(w.base, 'store', 'workspaces')
  renameSync(join(stores, id), join(stores, 'another-0123456789abcdef'))
  mkdirSync(join(stores, 'broken'))
  writeFileSync(join(stores, 'broken', 'workspace.json'), '{')
  expect(knownWorkspaces(w.env)).toEqual([])
  renameSync(join(stores, 'another-0123456789abcdef'), join(stores, id))
})
