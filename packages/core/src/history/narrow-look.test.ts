/**
 * Undo, redo and restore look only at the paths on their way, as long as that is enough. Each test here is something
 * that such a look could miss. The fixture also makes a dry run before each move, and both must agree.
 */

import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failureOf } from '../testing/honest.ts'
import { unprivilegedFixture, withoutRoot } from '../testing/unprivileged.ts'
import { emptyFolder, type Fixture, linkTo, withMode, workspace } from '../testing/workspace.ts'
import type { OpId, RelPath } from '../values.ts'

const lines = (...words: string[]) => words.map((word) => `${word}${'\n'.repeat(20)}`).join('')

/** Everything in the log since the last turn ended, oldest first. */
const sinceTurn = (w: Fixture): readonly string[] => {
  const kinds = w.workspace.index
    .operations()
    .toSorted((a, b) => a.record.seq - b.record.seq)
    .map(({ record }) => record.kind)
  return kinds.slice(kinds.lastIndexOf('turn-end') + 1)
}

const usersPaths = (w: Fixture): readonly string[] =>
  w.workspace.index
    .operations()
    .filter(({ record }) => record.kind === 'user-edit')
    .flatMap(({ record }) => w.workspace.index.changesOfOperation(record.seq))
    .map(({ kind, path }) => `${kind} ${path}`)
    .sort()

const turnOfManyKinds = {
  'a.txt': lines('A'),
  'made.txt': 'made\n',
  'gone.txt': null,
  run: withMode('run\n', 0o755),
  link: linkTo('a.txt'),
}

const oldKinds = { 'a.txt': lines('a'), 'gone.txt': 'gone\n', run: 'run\n', link: linkTo('b.txt') }

test('[H300] undo, redo and restore leave what the user changed elsewhere to the next capture', async () => {
  await using w = await workspace({ ...oldKinds, 'b.txt': 'b\n' })
  const before = w.files({ modes: true })
  const { turn } = await w.turn('Many kinds', turnOfManyKinds)
  const after = w.files({ modes: true })
  w.userWrites({ 'mine.txt': 'mine\n' })

  await w.undo()
  expect(w.files({ modes: true })).toEqual({ ...before, 'mine.txt': expect.stringContaining('mine') })
  await w.redo()
  await w.restore(turn)
  await w.restore(turn, 'after')

  expect(w.files({ modes: true })).toEqual({ ...after, 'mine.txt': expect.stringContaining('mine') })
  expect(sinceTurn(w)).toEqual(['undo', 'redo', 'restore', 'restore'])
  expect((await w.workspace.capture()).changes).toMatchObject([
    { path: 'mine.txt', kind: 'add', actor: 'user' },
  ])
})

test('[H300] another process takes in what the user changed elsewhere as well', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  await w.turn('Shout', { 'a.txt': 'A\n' })
  w.userWrites({ 'b.txt': 'mine\n' })
  await w.reopen()
  await w.undo()
  await w.reopen()

  expect((await w.workspace.capture()).changes).toMatchObject([{ path: 'b.txt', actor: 'user' }])
})

test.each([
  ['names its path', { paths: ['a.txt'] }],
  ['names nothing', {}],
])(
  '[H301] [P3] what the user changed before an undo is his also when a step that %s comes next',
  async (_, how) => {
    await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': lines('b', 'c') })
    await w.turn('Shout', { 'a.txt': 'A\n' })
    w.userWrites({ 'b.txt': lines('mine', 'c') })
    await w.undo()
    const turn = await w.beginTurn('Again')
    await w.step(turn, { 'a.txt': 'AA\n' }, how)
    await w.workspace.endTurn(turn)

    const { files } = await w.undo()

    expect(files.map(({ path }) => path)).toEqual(['a.txt'])
    expect(w.files()).toEqual({ 'a.txt': 'a\n', 'b.txt': lines('mine', 'c') })
    expect(usersPaths(w)).toEqual(['modify b.txt'])
  },
)

test('[H301] [P3] two undos in a row: the second sees what the user changed before the first', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': lines('b', 'c', 'd') })
  await w.turn('One', { 'b.txt': lines('B', 'c', 'd') })
  await w.turn('Two', { 'a.txt': 'A\n' })
  w.userWrites({ 'b.txt': lines('B', 'c', 'mine') })

  await w.undo()
  await w.undo()

  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'b.txt': lines('b', 'c', 'mine') })
})

test('[H302] [P3] a touched file that the user renamed is one rename in the log, and undo follows it', async () => {
  await using w = await workspace({ 'a.txt': lines('a', 'b', 'c') })
  await w.turn('Shout', { 'a.txt': lines('A', 'b', 'c') })
  renameSync(w.pathOf('a.txt'), w.pathOf('z.txt'))

  await w.undo()

  expect(w.files()).toEqual({ 'z.txt': lines('a', 'b', 'c') })
  expect(sinceTurn(w)).toEqual(['user-edit', 'undo'])
  expect(usersPaths(w)).toEqual(['rename z.txt'])
})

test('[H302] [P3] a file that the turn made and the user renamed is not taken for gone', async () => {
  await using w = await workspace({ 'b.txt': 'b\n' })
  await w.turn('Make', { 'a.txt': lines('a', 'b', 'c') })
  renameSync(w.pathOf('a.txt'), w.pathOf('mine.txt'))

  const { kind } = await w.undo()

  expect({ kind, files: Object.keys(w.files()) }).toEqual({
    kind: 'conflicts',
    files: ['b.txt', 'mine.txt'],
  })
  expect(usersPaths(w)).toEqual(['rename mine.txt'])
})

test('[H302] [P3] a touched file whose folder the user renamed is followed', async () => {
  await using w = await workspace({ 'd/a.txt': lines('a', 'b', 'c'), 'd/b.txt': 'b\n' })
  await w.turn('Shout', { 'd/a.txt': lines('A', 'b', 'c') })
  renameSync(w.pathOf('d'), w.pathOf('e'))

  await w.undo()

  expect(w.files()).toEqual({ 'e/a.txt': lines('a', 'b', 'c'), 'e/b.txt': 'b\n' })
})

test('[H302] [P3] a file that was followed to a new name is looked at there', async () => {
  await using w = await workspace({ 'a.txt': lines('a', 'b', 'c') })
  await w.turn('Shout', { 'a.txt': lines('A', 'b', 'c') })
  renameSync(w.pathOf('a.txt'), w.pathOf('z.txt'))
  await w.workspace.capture()
  w.userWrites({ 'z.txt': lines('A', 'b', 'mine') })

  await w.undo()
  expect(w.files()).toEqual({ 'z.txt': lines('a', 'b', 'mine') })
  w.userWrites({ 'z.txt': lines('a', 'b', 'newer') })
  await w.redo()
  expect(w.files()).toEqual({ 'z.txt': lines('A', 'b', 'newer') })
})

test.each([
  ['edited elsewhere', lines('A', 'b', 'mine')],
  ['made executable', withMode(lines('A', 'b', 'c'), 0o755)],
  ['made private', withMode(lines('A', 'b', 'c'), 0o600)],
])('[H302] [P3] a touched file that the user %s keeps that', async (_, mine) => {
  await using w = await workspace({ 'a.txt': lines('a', 'b', 'c'), 'b.txt': 'b\n' })
  await w.turn('Shout', { 'a.txt': lines('A', 'b', 'c') })
  w.userWrites({ 'a.txt': mine, 'b.txt': 'mine\n' })
  const mode = w.files({ modes: true })['a.txt']?.slice(0, 4)
  const last = w.files()['a.txt']?.trim().split('\n').at(-1)

  await w.undo()

  expect(w.files({ modes: true })['a.txt']).toMatch(new RegExp(`^${mode}a\n[^]*${last}\n+$`))
  expect(usersPaths(w)).toEqual([expect.stringContaining('a.txt'), 'modify b.txt'])
})

test.each([
  ['a link', linkTo('b.txt')],
  ['an empty folder', emptyFolder],
  ['nothing', null],
])('[H302] [P3] a touched file that the user replaced with %s is not overwritten', async (_, mine) => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  await w.turn('Shout', { 'a.txt': 'A\n' })
  w.userWrites({ 'a.txt': mine })
  const mines = w.files()

  const { conflicts } = await w.undo()

  expect(conflicts).toHaveLength(1)
  expect(w.files()).toEqual(mines)
})

test('[H302] [P4] a named pipe where a touched file was is not taken for that file', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  await w.turn('Shout', { 'a.txt': 'A\n' })
  w.userWrites({ 'a.txt': null })
  execFileSync('mkfifo', [w.pathOf('a.txt')])

  expect((await w.undo()).kind).toBe('conflicts')
  expect(w.files()).toEqual({ 'a.txt': 'special', 'b.txt': 'b\n' })
})

test('[H302] [P8] a touched file that may not be read is not taken for unchanged, nor written', async () => {
  using _ = withoutRoot()
  await using w = unprivilegedFixture()
  w.userWrites({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  await w.open()
  await w.workspace.capture()
  await w.turn('Shout', { 'a.txt': 'A\n' })
  w.userWrites({ 'a.txt': 'mine\n' })
  chmodSync(w.pathOf('a.txt'), 0)

  expect((await w.undo()).kind).toBe('conflicts')

  chmodSync(w.pathOf('a.txt'), 0o644)
  expect(w.files()).toEqual({ 'a.txt': 'mine\n', 'b.txt': 'b\n' })
})

test.each([
  ['a file', {}],
  ['an ignored file', { '.gitignore': 'gone.txt\n' }],
])('[H303] [P3] [P4] %s of the user where one would come back is a conflict', async (_, rules) => {
  await using w = await workspace({ 'a.txt': 'a\n', 'gone.txt': 'gone\n' }, { git: true })
  w.userWrites(rules)
  await w.turn('Delete', { 'gone.txt': null })
  w.userWrites({ 'gone.txt': 'mine\n' })

  const { kind, conflicts } = await w.undo()
  expect({ kind, paths: conflicts.map(({ path }) => path) }).toEqual({
    kind: 'conflicts',
    paths: ['gone.txt'],
  })
  expect(w.files()['gone.txt']).toBe('mine\n')

  const { op } = await w.undo({ onConflict: 'overwrite' })
  expect(w.files()['gone.txt']).toBe('gone\n')
  await w.rollback({ ops: [op as OpId] })
  expect(w.files()['gone.txt']).toBe('mine\n')
})

test('[H303] [P3] the file that redo would bring back is not put over one that the user made', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', '.gitignore': '*.log\n' }, { git: true })
  await w.turn('Make', { 'new.txt': 'agent\n' })
  await w.undo()
  w.userWrites({ 'new.txt': 'mine\n' })

  expect((await w.redo()).kind).toBe('conflicts')
  expect(w.files()['new.txt']).toBe('mine\n')
})

test('[H304] a folder that the user removed is made again for the file that comes back', async () => {
  await using w = await workspace({ 'd/a.txt': 'a\n', 'd/b.txt': 'b\n', 'c.txt': 'c\n' })
  await w.turn('Delete one', { 'd/a.txt': null })
  rmSync(w.pathOf('d'), { recursive: true })

  await w.undo()

  expect(w.files()).toEqual({ 'd/a.txt': 'a\n', 'c.txt': 'c\n' })
  expect(usersPaths(w)).toEqual(['delete d/b.txt'])
})

test('[H304] [P3] nothing is written behind a link that the user put in place of a folder', async () => {
  await using w = await workspace({ 'd/a.txt': 'a\n', 'd/b.txt': 'b\n', 'c.txt': 'c\n' })
  const outside = join(w.base, 'outside')
  mkdirSync(outside)
  await w.turn('Delete one', { 'd/a.txt': null })
  rmSync(w.pathOf('d'), { recursive: true })
  symlinkSync(outside, w.pathOf('d'))

  const { kind } = await w.undo()

  expect(kind).toBe('conflicts')
  expect(w.files()).toEqual({ d: `-> ${outside}`, 'c.txt': 'c\n' })
})

test('[H304] [P3] a file that the user put in place of a folder stays', async () => {
  await using w = await workspace({ 'd/a.txt': 'a\n', 'd/b.txt': 'b\n', 'c.txt': 'c\n' })
  await w.turn('Delete one', { 'd/a.txt': null })
  w.userWrites({ d: 'mine\n' })

  await w.undo()

  expect(Object.values(w.files())).toContain('mine\n')
})

test('[H304] [P8] a workspace that is not there is said to be so', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n' }, { honest: false })
  await w.turn('Delete one', { 'a.txt': null })
  renameSync(w.dir, `${w.dir}-away`)

  expect(await failureOf(w.undo())).toBe('workspace-unreadable')

  renameSync(`${w.dir}-away`, w.dir)
  expect(w.files()).toEqual({ 'b.txt': 'b\n' })
})

test('[H305] a folder that the turn made goes although the user’s own file in it went unseen', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  await w.turn('Make', { 'd/new.txt': 'new\n' })
  w.userWrites({ 'd/mine.txt': 'mine\n' })
  await w.workspace.capture()
  w.userWrites({ 'd/mine.txt': null })

  await w.undo()

  expect(w.files()).toEqual({ 'a.txt': 'a\n' })
})

test('[H305] [P4] a folder that the turn made stays for the file that the user put into it', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  await w.turn('Make', { 'd/new.txt': 'new\n' })
  w.userWrites({ 'd/mine.txt': 'mine\n' })

  await w.undo()

  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'd/mine.txt': 'mine\n' })
})

test('[H306] exact looks at everything: what the user changed anywhere goes, and can be brought back', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  const { turn } = await w.turn('Shout', { 'a.txt': 'A\n' })
  w.userWrites({ 'b.txt': 'mine\n', 'new.txt': 'mine\n' })

  const { op } = await w.restore(turn, 'before', { exact: true })
  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  expect(sinceTurn(w)).toEqual(['user-edit', 'restore'])

  await w.rollback({ ops: [op as OpId] })
  expect(w.files()).toEqual({ 'a.txt': 'A\n', 'b.txt': 'mine\n', 'new.txt': 'mine\n' })
})

test('[H306] exact after an undo that did not look at everything takes the user’s older edits out, too', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  const { turn } = await w.turn('Shout', { 'a.txt': 'A\n' })
  w.userWrites({ 'b.txt': 'mine\n' })
  await w.undo()

  const { op } = await w.restore(turn, 'after', { exact: true })
  expect(w.files()).toEqual({ 'a.txt': 'A\n', 'b.txt': 'b\n' })
  await w.rollback({ ops: [op as OpId] })
  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'b.txt': 'mine\n' })
})

test('[H307] [P11] what another session’s step has written so far into a touched file is that session’s', async () => {
  await using w = await workspace({ 'a.txt': lines('a', 'b', 'c'), 'b.txt': 'b\n' })
  await w.turn('Shout', { 'a.txt': lines('A', 'b', 'c') })
  w.inSession('agent-2')
  const turn = await w.beginTurn('At work')
  const { step } = await w.workspace.beginStep({ turn, tool: 'shell', paths: [] })
  w.userWrites({ 'a.txt': lines('A', 'b', 'C'), 'b.txt': 'B\n' })

  w.inSession('agent-1')
  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': lines('a', 'b', 'C'), 'b.txt': 'B\n' })

  await w.workspace.endStep(step)
  await w.workspace.endTurn(turn)
  w.inSession('agent-2')
  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': lines('a', 'b', 'c'), 'b.txt': 'b\n' })
})

test('[H307] [P11] an undo beside another session’s step at other paths is no part of that step', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  await w.turn('Shout', { 'a.txt': 'A\n' })
  w.inSession('agent-2')
  const turn = await w.beginTurn('At work')
  const { step } = await w.workspace.beginStep({ turn, tool: 'shell', paths: [] })
  w.userWrites({ 'b.txt': 'B\n' })
  await w.workspace.undo({ session: 'agent-1' as typeof w.session })

  const changes = await w.workspace.endStep(step)
  await w.workspace.endTurn(turn)

  expect(changes.map(({ path }) => path)).toEqual(['b.txt'])
  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
})

test('[H308] a turn of more than 500 files is undone with a look at everything', async () => {
  const names = Array.from({ length: 501 }, (_, at) => `many-${at}.txt`)
  await using w = await workspace({ 'a.txt': 'a\n', 'keep.txt': 'k\n' }, { honest: false })
  await w.turn('Many', Object.fromEntries(names.map((name) => [name, `${name}\n`])))
  w.userWrites({ 'a.txt': 'mine\n' })

  await w.undo()

  expect(w.files()).toEqual({ 'a.txt': 'mine\n', 'keep.txt': 'k\n' })
  expect(sinceTurn(w)).toEqual(['user-edit', 'undo'])
})

test('[H308] a rollback of chosen changes that looks at them alone keeps to the same rules', async () => {
  await using w = await workspace({ 'a.txt': lines('a', 'b', 'c'), 'b.txt': 'b\n' })
  const { turn } = await w.turn('Shout', { 'a.txt': lines('A', 'b', 'c') })
  w.userWrites({ 'b.txt': 'mine\n' })
  const selection = { turns: [turn], files: ['a.txt' as RelPath] }

  const { op } = await w.rollback(selection, { look: 'selected' })
  expect(sinceTurn(w)).toEqual(['rollback'])
  await w.rollback({ ops: [op as OpId] })
  renameSync(w.pathOf('a.txt'), w.pathOf('z.txt'))
  await w.rollback(selection, { look: 'selected' })

  expect(w.files()).toEqual({ 'b.txt': 'mine\n', 'z.txt': lines('a', 'b', 'c') })
  expect(usersPaths(w)).toEqual(['modify b.txt', 'rename z.txt'])
})
