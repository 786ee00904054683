import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { linkTo, withMode, workspace } from '../testing/workspace.ts'
import type { OpId } from '../values.ts'

test('[H230] equal states have equal hashes, and permission bits count', async () => {
  await using w = await workspace({ 'a.txt': 'one\n' })
  const { snapshots } = w.workspace
  const first = await snapshots.track()
  expect(await snapshots.track()).toBe(first)
  chmodSync(w.pathOf('a.txt'), 0o600)
  const second = await snapshots.track()
  expect(second).not.toBe(first)
  expect(await snapshots.patch(first)).toEqual({ hash: first, files: ['a.txt'] })
  await snapshots.restore(first)
  expect(statSync(w.pathOf('a.txt')).mode & 0o777).toBe(0o644)
  expect(await snapshots.track()).toBe(first)
})

test('[H230] a patch lists what changed since, whoever did it', async () => {
  await using w = await workspace({ 'a.txt': '0\n', 'b.txt': '0\n', 'Grüße.txt': '0\n' })
  const { snapshots } = w.workspace
  const hash = await snapshots.track()
  await w.turn('Go', { 'a.txt': '1\n', 'new/c.txt': 'c' })
  w.userWrites({ 'Grüße.txt': null })
  expect(await snapshots.patch(hash)).toEqual({ hash, files: ['Grüße.txt', 'a.txt', 'new/c.txt'] })
})

test('[H231] revert puts the files of patches back, the oldest first named, and no others', async () => {
  await using w = await workspace({ 'a.txt': '0\n', 'b.txt': '0\n', 'keep.txt': '0\n' })
  const { snapshots } = w.workspace
  const zero = await snapshots.track()
  w.userWrites({ 'a.txt': '1\n', 'x/new.txt': 'n' })
  const first = await snapshots.patch(zero)
  const one = await snapshots.track()
  w.userWrites({ 'a.txt': '2\n', 'b.txt': '2\n', 'keep.txt': 'mine\n' })
  const second = { ...(await snapshots.patch(one)), files: ['a.txt', 'b.txt'] }
  const result = await snapshots.revert([first, second])
  expect(result).toMatchObject({
    kind: 'done',
    files: [{ path: 'a.txt' }, { path: 'b.txt' }, { path: 'x/new.txt', action: 'delete' }],
  })
  expect(w.files()).toEqual({ 'a.txt': '0\n', 'b.txt': '0\n', 'keep.txt': 'mine\n' })
  await w.workspace.rollback({ selection: { ops: [result.op as OpId] } })
  expect(w.files()).toEqual({ 'a.txt': '2\n', 'b.txt': '2\n', 'keep.txt': 'mine\n', 'x/new.txt': 'n' })
})

test('[H232] restore is exact, can be tried first, and can be taken back', async () => {
  const start = {
    'a.txt': '0\n',
    'run.sh': withMode('#!/bin/sh\n', 0o755),
    link: linkTo('a.txt'),
    'd/e/f.txt': 'f',
  }
  await using w = await workspace(start)
  const { snapshots } = w.workspace
  const before = w.files({ modes: true })
  const hash = await snapshots.track()
  w.userWrites({
    'a.txt': null,
    'run.sh': 'plain\n',
    link: linkTo('b.txt'),
    d: 'a file now',
    'new/x.txt': 'x',
  })
  chmodSync(w.pathOf('run.sh'), 0o600)
  mkdirSync(w.pathOf('empty'))
  const after = w.files({ modes: true })
  expect(await snapshots.restore(hash, { dryRun: true })).toMatchObject({ kind: 'planned' })
  expect(w.files({ modes: true })).toEqual(after)
  const result = await snapshots.restore(hash)
  expect(w.files({ modes: true })).toEqual(before)
  await w.workspace.rollback({ selection: { ops: [result.op as OpId] } })
  expect(w.files({ modes: true })).toEqual(after)
  expect(await snapshots.restore(await snapshots.track())).toMatchObject({ kind: 'done', files: [] })
})

test('[H233] what stood there uncaptured is not deleted when the snapshot comes back', async () => {
  await using w = await workspace(
    { '.gitignore': '*.log\n', 'secret.log': 'precious', 'a.txt': '0\n' },
    { git: true },
  )
  const { snapshots } = w.workspace
  const hash = await snapshots.track()
  w.userWrites({ '.gitignore': '', 'a.txt': '1\n' })
  const patch = await snapshots.patch(hash)
  expect(patch.files).toContain('secret.log')
  await snapshots.revert([patch])
  expect(w.files()).toEqual({ '.gitignore': '*.log\n', 'secret.log': 'precious', 'a.txt': '0\n' })
  w.userWrites({ '.gitignore': '', 'a.txt': '1\n' })
  await snapshots.restore(hash)
  expect(w.files()).toEqual({ '.gitignore': '*.log\n', 'secret.log': 'precious', 'a.txt': '0\n' })
})

test.each([
  'nonsense',
  `${'0'.repeat(40)}-${'0'.repeat(40)}`, // in no store
  '4b825dc642cb6eb9a060e54bf8d69288fbee4904', // a tree alone
])('[H234] an unknown hash %s is an error that changes nothing', async (hash) => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const { snapshots } = w.workspace
  for (const call of [
    () => snapshots.restore(hash),
    () => snapshots.patch(hash),
    () => snapshots.revert([{ hash, files: ['a.txt'] }]),
    () => snapshots.diff(hash),
  ])
    await expect(call()).rejects.toMatchObject({ code: 'unknown-id' })
  expect(w.files()).toEqual({ 'a.txt': '0\n' })
})

test('[H235] diffs as text, and with the whole of both sides', async () => {
  await using w = await workspace({ 'a.txt': 'one\n', 'gone.txt': 'g\n', 'pic.bin': Buffer.from([0, 1, 2]) })
  const { snapshots } = w.workspace
  const from = await snapshots.track()
  w.userWrites({
    'a.txt': 'two\n',
    'gone.txt': null,
    'new.txt': 'fresh\nfile\n',
    'pic.bin': Buffer.from([0, 1, 3]),
  })
  expect(await snapshots.diff(from)).toContain('-one\n+two\n')
  const to = await snapshots.track()
  expect(await snapshots.diffFull(from, to)).toEqual([
    {
      path: 'a.txt',
      status: 'modified',
      before: 'one\n',
      after: 'two\n',
      binary: false,
      additions: 1,
      deletions: 1,
    },
    {
      path: 'gone.txt',
      status: 'deleted',
      before: 'g\n',
      after: '',
      binary: false,
      additions: 0,
      deletions: 1,
    },
    {
      path: 'new.txt',
      status: 'added',
      before: '',
      after: 'fresh\nfile\n',
      binary: false,
      additions: 2,
      deletions: 0,
    },
    { path: 'pic.bin', status: 'modified', before: '', after: '', binary: true, additions: 0, deletions: 0 },
  ])
})

test('[H236] a snapshot outlives gc and the process', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const hash = await w.workspace.snapshots.track()
  for (const text of ['1', '2', '3']) {
    w.userWrites({ 'a.txt': text })
    await w.workspace.capture()
  }
  await w.workspace.snapshots.cleanup()
  await w.reopen()
  await w.workspace.snapshots.restore(hash)
  expect(w.files()).toEqual({ 'a.txt': '0\n' })
})

test('[H238] folders with names of the host’s choice are passed over, beside the well-known heavy ones', async () => {
  const files = { 'cache/x.txt': 'x', 'node_modules/y.js': 'y', 'src/z.ts': 'z' }
  await using w = await workspace(files, { ignoredDirNames: ['cache'] })
  const { skipped, untracked } = await w.workspace.snapshots.capture()
  expect(untracked).toEqual(['src/z.ts'])
  expect(skipped.map(({ path }) => path)).toEqual(['cache', 'node_modules'])
})

test('[H238] a new folder with too many entries is passed over, and one that was captured grows on', async () => {
  const many = (folder: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${folder}/${i}.txt`, `${i}`]))
  const files = { ...many('data', 5), ...many('logs', 3), ...many('kept', 5) }
  await using w = await workspace({ 'kept/tracked.txt': 't' }, { git: true, maxUntrackedDirEntries: 4 })
  w.git('add', '.')
  w.userWrites(files)
  const { snapshots } = w.workspace
  expect((await snapshots.capture()).skipped).toEqual([{ path: 'data', reason: 'ignored' }])
  w.userWrites(many('logs', 9))
  const hash = await snapshots.track()
  w.userWrites({ 'logs/8.txt': 'changed', 'data/9.txt': 'not seen' })
  expect((await snapshots.patch(hash)).files).toEqual(['logs/8.txt'])
  await snapshots.restore(hash)
  expect(w.files()).toMatchObject({ 'logs/8.txt': '8', 'data/9.txt': 'not seen' })
})

test('[H236] gc with a maximum age drops old sessions', async () => {
  let now = Date.parse('2026-01-01T00:00:00Z')
  await using w = await workspace({ 'a.txt': '0\n' }, { now: () => now })
  await w.turn('Old', { 'a.txt': '1\n', 'b.txt': 'only then' })
  const old = await w.workspace.snapshots.track()
  const day = 24 * 3600 * 1000
  now += 9 * day
  await w.inSession('new').turn('New', { 'a.txt': '2\n', 'b.txt': null })
  await w.workspace.snapshots.gc({ gcMaxAge: 10 * day })
  expect((await w.workspace.snapshots.restore(old, { dryRun: true })).kind).toBe('planned')
  await w.workspace.snapshots.gc({ gcMaxAge: 5 * day })
  expect(w.workspace.session('agent-1', { agent: 'x' }).turns()).toEqual([])
})

test('[H237] a capture names what git does not track and what was skipped; states are listed by turn', async () => {
  const options = { git: true, maxUntrackedFileSize: 10 }
  await using w = await workspace({ 'tracked.txt': 't\n', '.gitignore': '*.log\n', 'x.log': 'l' }, options)
  w.git('add', 'tracked.txt', '.gitignore')
  w.userWrites({ 'untracked.txt': 'u', 'big.txt': 'more than ten bytes' })
  const { snapshots } = w.workspace
  const capture = await snapshots.capture({ label: 'start' })
  expect(capture.untracked).toEqual(['untracked.txt'])
  expect(capture.skipped).toEqual([
    { path: 'big.txt', reason: 'too-large', size: 19 },
    { path: 'x.log', reason: 'ignored' },
  ])
  expect(capture).toMatchObject({ kind: 'user-edit', hash: await snapshots.track() })

  const { turn } = await w.turn('Go', { 'tracked.txt': '1\n' })
  const now = await snapshots.track()
  const listed = snapshots.list({ turn })
  expect(listed.map(({ hash }) => hash)).toEqual([now, capture.hash])
  expect(listed[0]).toMatchObject({ kind: 'step', session: 'agent-1', turn })
  expect(snapshots.list({ limit: 2 }).map(({ hash }) => hash)).toEqual([now, capture.hash])
  expect(snapshots.list({ session: 'none' })).toEqual([])
})
