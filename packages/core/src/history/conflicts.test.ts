import { expect, test } from 'vitest'
import { textOfBytes } from '../errors.ts'
import { IndexDb } from '../log/index-db.ts'
import { workspace } from '../testing/workspace.ts'
import { joinAbs, type RelPath, type SessionId } from '../values.ts'
import { openWorkspace } from '../workspace.ts'
import type { OnConflict } from './enact.ts'
import { patchOfTurn } from './views.ts'

test('[H252] a conflict names the later turn that stands on what would be taken out', async () => {
  await using w = await workspace({ 'a.txt': '1\n2\n3\n4\n5\n' })
  const { turn } = await w.turn('first', { 'a.txt': '1\nTWO\n3\n4\n5\n' })
  const later = await w.turn('second', { 'a.txt': '1\nTWO again\n3\n4\n5\n' })
  const outcome = await w.workspace.rollback({ session: w.session, selection: { turns: [turn] } })
  expect(outcome).toMatchObject({
    kind: 'conflicts',
    conflicts: [
      { path: 'a.txt', ours: 'TWO again', theirs: '2', later: [{ turn: later.turn, actor: 'test-agent' }] },
    ],
  })
  expect(outcome.conflicts[0]?.message).toContain(later.turn)
})

test('[H252] the user is named as such, and each overlapping block is shown', async () => {
  await using w = await workspace({ 'a.txt': '1\n2\n3\n4\n5\n6\n7\n8\n9\n' })
  await w.turn('both', { 'a.txt': '1\nB\n3\n4\n5\n6\n7\nH\n9\n' })
  w.userWrites({ 'a.txt': '1\nmine\n3\n4\n5\n6\n7\nmine too\n9\n' })
  const outcome = await w.undo()
  expect(outcome.conflicts).toMatchObject([
    { ours: 'mine\n…\nmine too', theirs: '2\n…\n8', later: [{ actor: 'user' }] },
  ])
})

test('[H253] a plan comes with the diff that it would make to the files', async () => {
  await using w = await workspace({ 'a.txt': '1\n2\n3\n' })
  await w.turn('edit', { 'a.txt': '1\nTWO\n3\n', 'new.txt': 'n\n' })
  w.userWrites({ 'a.txt': '1\nTWO\n3\nmine\n' })
  const { patch } = await w.undo({ dryRun: true })
  expect(patch).toContain('-TWO\n+2\n 3\n mine\n')
  expect(patch).toContain('deleted file mode 100644')
})

test('[H360] [P3] each file of a conflict gets what was chosen for it', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n', 'd.txt': 'd\n' })
  await w.turn('shout', { 'a.txt': 'A\n', 'b.txt': 'B\n', 'c.txt': 'C\n', 'd.txt': 'D\n' })
  w.userWrites({ 'a.txt': 'A mine\n', 'b.txt': 'B mine\n', 'c.txt': 'C mine\n' })
  const choices = new Map([
    ['a.txt', 'keep'],
    ['b.txt', 'overwrite'],
    ['c.txt', 'markers'],
  ] as [RelPath, OnConflict][])
  const open = await w.undo({ choices: new Map([...choices].slice(0, 2)) })
  expect(open.kind).toBe('conflicts')
  expect((await w.files())['d.txt']).toBe('D\n')

  expect((await w.undo({ choices })).kind).toBe('done')
  const { 'c.txt': marked, ...files } = await w.files()
  expect(files).toEqual({ 'a.txt': 'A mine\n', 'b.txt': 'b\n', 'd.txt': 'd\n' })
  expect(String(marked)).toMatch(/^<{7} .*\nC mine\n={7}\nc\n>{7} /)
})

test('[H360] a rollback takes choices, too, beside one for all others', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  const { turn } = await w.turn('shout', { 'a.txt': 'A\n', 'b.txt': 'B\n' })
  w.userWrites({ 'a.txt': 'A mine\n', 'b.txt': 'B mine\n' })
  const choices = new Map([['a.txt', 'keep']] as [RelPath, OnConflict][])
  await w.workspace.rollback({
    session: w.session,
    selection: { turns: [turn] },
    onConflict: 'overwrite',
    choices,
  })
  expect(await w.files()).toEqual({ 'a.txt': 'A mine\n', 'b.txt': 'b\n' })
})

test('[H361] a conflict comes with base, ours and theirs where somebody asks for them', async () => {
  await using w = await workspace({ 'a.txt': '1\n2\n3\n' })
  await w.turn('edit', { 'a.txt': '1\nTWO\n3\n' })
  w.userWrites({ 'a.txt': '1\nmine\n3\n' })
  const { conflicts } = await w.undo({ sides: true })
  const versions = { base: '1\nTWO\n3\n', ours: '1\nmine\n3\n', theirs: '1\n2\n3\n' }
  expect(conflicts.map((conflict) => conflict.versions)).toEqual([versions])
  expect((await w.undo()).conflicts[0]).not.toHaveProperty('versions')
})

test('[H364] [P7] a file in conflict gets the text that somebody made of both sides, and the move can be taken back', async () => {
  await using w = await workspace({ 'a.txt': '1\n2\n3\n', 'b.txt': 'b\n' })
  const { turn } = await w.turn('edit', { 'a.txt': '1\nTWO\n3\n', 'b.txt': 'B\n' })
  w.userWrites({ 'a.txt': '1\nTWO, mine\n3\n' })
  const results = { 'a.txt': '1\n2, mine\n3\n', 'b.txt': 'not asked for\n' }
  const session = w.workspace.session(w.session, { agent: 'test-agent' })

  expect(await session.undo({ results })).toMatchObject({ kind: 'done', reverted: [turn] })
  expect(await w.files()).toEqual({ 'a.txt': '1\n2, mine\n3\n', 'b.txt': 'b\n' })
  expect(await session.redo()).toMatchObject({ kind: 'done' })
  expect(await w.files()).toEqual({ 'a.txt': '1\nTWO, mine\n3\n', 'b.txt': 'B\n' })
})

test('[H364] a file that is gone on one side comes back with that text', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  await w.turn('add', { 'new.txt': 'one\n' })
  w.userWrites({ 'new.txt': 'one\nmine\n' })
  const session = w.workspace.session(w.session, { agent: 'test-agent' })
  expect((await session.undo()).kind).toBe('conflicts')
  expect((await session.undo({ results: { 'new.txt': 'mine\n' } })).kind).toBe('done')
  expect(await w.files()).toEqual({ 'a.txt': 'a\n', 'new.txt': 'mine\n' })
})

test('[H362] a diff without spaces has the lines that say something else', async () => {
  await using w = await workspace({ 'a.txt': 'one\ntwo\n' })
  const { turn } = await w.turn('indent', { 'a.txt': '  one\ntwo!\n' })
  const patch = async (ignoreWhitespace: boolean) =>
    String(await patchOfTurn(w.workspace.engine, turn, { ignoreWhitespace })).match(/^[-+][^-+].*$/gm)
  expect(await patch(false)).toEqual(['-one', '-two', '+  one', '+two!'])
  expect(await patch(true)).toEqual(['-two', '+two!'])
})

test('[H363] the turns of a session are read anew after every write, also by another process and after one that failed', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  await w.turn('first', { 'a.txt': 'b\n' })
  const { index } = w.workspace
  const ids = () => index.turns(w.session).map(({ id }) => id)
  expect(ids()).toHaveLength(1)
  expect(index.turns(w.session)).toBe(index.turns(w.session))
  await w.turn('second', { 'a.txt': 'c\n' })
  expect(ids()).toHaveLength(2)
  const failing = () =>
    index.atomically(() => {
      index.clear()
      expect(ids()).toEqual([])
      throw new Error('no')
    })
  expect(failing).toThrow('no')
  expect(ids()).toHaveLength(2)
  await using another = await openWorkspace(textOfBytes(w.workspace.root), { env: w.env, explicit: true })
  await another.beginTurn({ session: w.session, agent: 'another' })
  expect(ids()).toHaveLength(3)
})

test('[H363] turns that are read only as far as they are new are those that a fresh index has', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  const path = joinAbs(w.workspace.engine.folders.folder, 'index.db')
  const check = () => {
    using fresh = IndexDb.open(path)
    expect(w.workspace.index.turns(w.session)).toEqual(fresh.turns(w.session))
  }
  const moves: readonly (() => Promise<unknown>)[] = [
    () => w.turn('first', { 'a.txt': '1\n' }),
    () => w.turn('second', { 'a.txt': '2\n', 'b.txt': '2\n' }),
    () => w.workspace.accept({ session: w.session, selection: {} }),
    () => w.undo(),
    () => w.turn('beside', { 'b.txt': '3\n' }),
    () => w.workspace.beginTurn({ session: w.session, agent: 'left open' }),
    () => w.turn('after it', { 'b.txt': '4\n' }),
    () => w.workspace.cleanup(w.session),
    () => w.turn('on', { 'a.txt': '5\n' }),
    () => w.workspace.doctor({ repair: true }),
    () => w.turn('and on', { 'a.txt': '6\n' }),
    () => w.workspace.beginTurn({ session: 'another' as SessionId, agent: 'another' }),
    () => w.workspace.gc({ keepSessions: 1 }),
    () => w.turn('anew', { 'a.txt': '8\n' }),
  ]
  for (const move of moves) {
    await move()
    check()
  }
  expect(w.workspace.index.turns(w.session)).toHaveLength(1)
})
