import { chmodSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Fixture, linkTo, workspace } from '../testing/workspace.ts'
import type { OpId, RelPath, SessionId, TurnId } from '../values.ts'
import type { HunkSelection } from './choose.ts'
import type { Hunk } from './pending.ts'
import type { Decided, DecideWish } from './standing.ts'

const lines = (...texts: readonly string[]): string => texts.map((text) => `${text}\n`).join('')
const ten = lines('1', '2', '3', '4', '5', '6', '7', '8', '9', '10')
const at = (path: string): RelPath => path as RelPath

function edited(text: string, changes: Readonly<Record<string, string>>): string {
  return text.replace(/^.*$/gm, (line) => changes[line] ?? line)
}

async function hunks(w: Fixture, session: SessionId = w.session): Promise<readonly Hunk[]> {
  return (await w.workspace.review(session)).files.flatMap((file) => file.hunks)
}

/** Every hunk in words: kind, path, what it takes out and puts in. */
async function pending(w: Fixture, session: SessionId = w.session): Promise<readonly string[]> {
  const { files } = await w.workspace.review(session)
  return files.flatMap(({ old = [], fresh = [], hunks }) =>
    hunks.map(({ kind, path, edit, contested, from }) => {
      const text =
        edit === undefined
          ? ''
          : ` ${old.slice(edit.start, edit.end).join('')}>${fresh.slice(edit.from, edit.to).join('')}`
      return `${kind} ${from === undefined ? '' : `${from} `}${path}${text.replaceAll('\n', '·')}${contested ? ' (contested)' : ''}`
    }),
  )
}

function accept(w: Fixture, selection: HunkSelection = {}, more: Partial<DecideWish> = {}): Promise<Decided> {
  return w.workspace.accept({ session: w.session, selection, ...more })
}

function reject(w: Fixture, selection: HunkSelection = {}, more: Partial<DecideWish> = {}): Promise<Decided> {
  return w.workspace.reject({ session: w.session, selection, ...more })
}

function propose(w: Fixture, turn: TurnId, path: string, text: string | null, group?: string) {
  const content = text === null ? null : Buffer.from(text)
  return w.workspace.propose({ turn, path: at(path), content, ...(group === undefined ? {} : { group }) })
}

const idOf = (found: readonly Hunk[], nth: number): string => found[nth]?.id ?? 'none'

test('[R150] [scenario J1] two distant edits are two hunks, and accepting one leaves the disk as it is', async () => {
  await using w = await workspace({ 'a.txt': ten })
  await w.turn('Shout', { 'a.txt': edited(ten, { 2: 'TWO', 9: 'NINE' }) })
  expect(await pending(w)).toEqual(['text a.txt 2·>TWO·', 'text a.txt 9·>NINE·'])

  const decided = await accept(w, { hunks: [idOf(await hunks(w), 0)] })

  expect(decided).toMatchObject({ kind: 'done', pending: 1, files: [] })
  expect(await pending(w)).toEqual(['text a.txt 9·>NINE·'])
  expect(w.files()).toEqual({ 'a.txt': edited(ten, { 2: 'TWO', 9: 'NINE' }) })
})

test('[R151] [scenario J2] rejecting one hunk puts back that block, and the others keep their ids', async () => {
  await using w = await workspace({ 'a.txt': ten })
  await w.turn('Shout', { 'a.txt': edited(ten, { 1: 'ONE', 5: 'FIVE', 10: 'TEN' }) })
  const before = await hunks(w)

  await reject(w, { hunks: [idOf(before, 0)] })

  expect(w.files()).toEqual({ 'a.txt': edited(ten, { 5: 'FIVE', 10: 'TEN' }) })
  expect((await hunks(w)).map(({ id }) => id)).toEqual([idOf(before, 1), idOf(before, 2)])
  await reject(w, { hunks: [idOf(before, 2)] })
  expect(w.files()).toEqual({ 'a.txt': edited(ten, { 5: 'FIVE' }) })
})

test('[R152] [scenario J3] [P3] what the user edits elsewhere is no hunk, and stays when all is rejected', async () => {
  await using w = await workspace({ 'a.txt': ten })
  await w.turn('Shout', { 'a.txt': edited(ten, { 5: 'FIVE' }) })
  w.userWrites({ 'a.txt': edited(ten, { 1: 'mine', 5: 'FIVE' }) })
  expect(await pending(w)).toEqual(['text a.txt 5·>FIVE·'])

  await reject(w)

  expect(w.files()).toEqual({ 'a.txt': edited(ten, { 1: 'mine' }) })
  expect(await pending(w)).toEqual([])
})

test('[R153] [scenario J4] [P3] a hunk that the user typed into is contested: rejecting it changes nothing', async () => {
  await using w = await workspace({ 'a.txt': ten })
  await w.turn('Shout', { 'a.txt': edited(ten, { 5: 'FIVE' }) })
  const typed = edited(ten, { 5: 'FIVE and mine' })
  w.userWrites({ 'a.txt': typed })
  expect(await pending(w)).toEqual(['text a.txt 5·>FIVE and mine· (contested)'])

  const refused = await reject(w)

  expect(refused).toMatchObject({
    kind: 'conflicts',
    ops: [],
    conflicts: [{ path: 'a.txt', kind: 'content' }],
  })
  expect(w.files()).toEqual({ 'a.txt': typed })
  await accept(w)
  expect(await pending(w)).toEqual([])
  expect(w.files()).toEqual({ 'a.txt': typed })
})

test('[R154] [P3] what the user adds right behind a hunk, or between two, is kept when they are rejected', async () => {
  await using w = await workspace({ 'a.txt': ten })
  const agents = ten.replace('5\n', lines('five', 'and a half')).replace('7\n', lines('seven'))
  await w.turn('Add', { 'a.txt': agents })
  w.userWrites({
    'a.txt': agents.replace('and a half\n', lines('and a half', 'mine')).replace('6\n', 'SIX\n'),
  })

  const decided = await reject(w)

  expect(decided).toMatchObject({ kind: 'done', conflicts: [] })
  expect(w.files()).toEqual({ 'a.txt': ten.replace('5\n', lines('5', 'mine')).replace('6\n', 'SIX\n') })
})

test('[R155] a contested hunk is kept, overwritten or marked, as it is asked for', async () => {
  for (const [onConflict, text] of [
    ['keep', edited(ten, { 5: 'FIVE and mine' })],
    ['overwrite', edited(ten, {})],
    [
      'markers',
      ten.replace('5\n', lines('<<<<<<< yours', 'FIVE and mine', '=======', '5', '>>>>>>> without the hunk')),
    ],
  ] as const) {
    await using w = await workspace({ 'a.txt': ten })
    await w.turn('Shout', { 'a.txt': edited(ten, { 1: 'ONE', 5: 'FIVE' }) })
    w.userWrites({ 'a.txt': edited(ten, { 1: 'ONE', 5: 'FIVE and mine' }) })

    const decided = await reject(w, {}, { onConflict })

    expect(decided).toMatchObject({ kind: 'done', conflicts: [{ path: 'a.txt' }] })
    expect(w.files()).toEqual({ 'a.txt': text })
  }
})

test('[R222] [P7] a contested hunk is rejected with a text made of both sides; the other hunk stays, and it can be taken back', async () => {
  await using w = await workspace({ 'a.txt': ten })
  await w.turn('Shout', { 'a.txt': edited(ten, { 1: 'ONE', 5: 'FIVE' }) })
  const typed = edited(ten, { 1: 'ONE', 5: 'FIVE and mine' })
  w.userWrites({ 'a.txt': typed })
  const before = await hunks(w)
  const selection = { hunks: [idOf(before, 1)] }

  const refused = await reject(w, selection, { sides: true })
  expect(refused.conflicts.map(({ versions }) => versions)).toEqual([
    { base: edited(ten, { 1: 'ONE', 5: 'FIVE' }), ours: typed, theirs: edited(ten, { 1: 'ONE' }) },
  ])
  expect((await reject(w, selection)).conflicts[0]).not.toHaveProperty('versions')

  const result = edited(ten, { 1: 'ONE', 5: '5 and mine' })
  const results = new Map([['a.txt' as RelPath, Buffer.from(result)]])
  const decided = await reject(w, selection, { results })
  expect(decided).toMatchObject({ kind: 'done', conflicts: [] })
  expect(w.files()).toEqual({ 'a.txt': result })
  expect((await hunks(w)).map(({ id }) => id)).toEqual([idOf(before, 0)])

  await reject(w)
  expect(w.files()).toEqual({ 'a.txt': edited(ten, { 5: '5 and mine' }) })
  await w.rollback({ ops: decided.ops })
  expect(w.files()).toEqual({ 'a.txt': edited(ten, { 5: 'FIVE and mine' }) })
})

test('[R223] each contested file has a choice of its own, and one that is left open stops everything', async () => {
  const names = ['keep.txt', 'old.txt', 'both.txt', 'open.txt'] as const
  const all = (text: string) => Object.fromEntries(names.map((name) => [name, text]))
  await using w = await workspace(all(ten))
  await w.turn('Shout', all(edited(ten, { 5: 'FIVE' })))
  const typed = edited(ten, { 5: 'FIVE and mine' })
  w.userWrites(all(typed))
  const choices = new Map([
    ['keep.txt', 'keep'],
    ['old.txt', 'overwrite'],
    ['both.txt', 'markers'],
  ] as const) as unknown as ReadonlyMap<RelPath, 'keep' | 'overwrite' | 'markers' | 'abort'>
  const open = await reject(w, {}, { choices })
  expect(open.kind).toBe('conflicts')
  expect(open.conflicts).toHaveLength(4)
  expect(w.files()).toEqual(all(typed))
  const decided = await reject(w, {}, { choices, onConflict: 'keep' })
  expect(decided).toMatchObject({ kind: 'done' })
  const { 'both.txt': both, ...rest } = w.files()
  expect(rest).toEqual({ 'keep.txt': typed, 'open.txt': typed, 'old.txt': ten })
  expect(both).toContain('<<<<<<< yours')
  await w.rollback({ ops: decided.ops })
  expect(w.files()).toEqual(all(typed))
})

test('[R156] [scenario J5] a hunk whose text has changed is refused by its old id', async () => {
  await using w = await workspace({ 'a.txt': ten })
  await w.turn('Shout', { 'a.txt': edited(ten, { 5: 'FIVE' }) })
  const stale = idOf(await hunks(w), 0)
  await w.turn('Louder', { 'a.txt': edited(ten, { 5: 'FIVE!' }) })

  await expect(reject(w, { hunks: [stale] })).rejects.toMatchObject({ code: 'hunk-gone' })
  await expect(accept(w, { hunks: [stale] })).rejects.toMatchObject({ code: 'hunk-gone' })
  expect(w.files()).toEqual({ 'a.txt': edited(ten, { 5: 'FIVE!' }) })
})

test('[R157] [scenario J6] the same change at two places has two ids, and rejecting one leaves the other', async () => {
  const text = lines('x', 'a', 'b', 'c', 'd', 'x', 'e')
  await using w = await workspace({ 'a.txt': text })
  await w.turn('Twice', { 'a.txt': text.replaceAll('x', 'y') })
  const [first, second] = (await hunks(w)).map(({ id }) => id)
  expect(first).not.toBe(second)

  await reject(w, { hunks: [second ?? ''] })

  expect(w.files()).toEqual({ 'a.txt': lines('y', 'a', 'b', 'c', 'd', 'x', 'e') })
  expect((await hunks(w)).map(({ id }) => id)).toEqual([first])
  await expect(reject(w, { hunks: [second ?? ''] })).rejects.toMatchObject({ code: 'hunk-gone' })
})

test('[R158] [scenario J7] what was accepted stays when everything is rejected', async () => {
  await using w = await workspace({ 'a.txt': ten })
  await w.turn('Shout', { 'a.txt': edited(ten, { 2: 'TWO', 9: 'NINE' }), 'new.txt': 'n\n' })
  await accept(w, { hunks: [idOf(await hunks(w), 0)] })

  await reject(w)

  expect(w.files()).toEqual({ 'a.txt': edited(ten, { 2: 'TWO' }) })
})

test('[R159] [P7] [scenario J8] an acceptance and a rejection can be taken back: pending again, by the same ids', async () => {
  await using w = await workspace({ 'a.txt': ten })
  await w.turn('Shout', { 'a.txt': edited(ten, { 2: 'TWO', 9: 'NINE' }) })
  const before = await hunks(w)
  const accepted = await accept(w, { hunks: [idOf(before, 0)] })

  await w.rollback({ ops: accepted.ops })
  expect(await hunks(w)).toEqual(before)

  const rejected = await reject(w, { hunks: [idOf(before, 1)] })
  expect(w.files()).toEqual({ 'a.txt': edited(ten, { 2: 'TWO' }) })
  await w.rollback({ ops: rejected.ops })
  expect(w.files()).toEqual({ 'a.txt': edited(ten, { 2: 'TWO', 9: 'NINE' }) })
  expect(await hunks(w)).toEqual(before)
})

test('[R160] [P7] taking back an acceptance can be taken back, too', async () => {
  await using w = await workspace({ 'a.txt': ten })
  await w.turn('Shout', { 'a.txt': edited(ten, { 2: 'TWO' }) })
  const accepted = await accept(w)
  const back = await w.rollback({ ops: accepted.ops })
  expect(await pending(w)).toHaveLength(1)

  await w.rollback({ ops: [back.op as OpId] })

  expect(await pending(w)).toEqual([])
})

test('[R161] [P3] [scenario J9] created, deleted, accepted and edited again: rejecting gives what was accepted', async () => {
  await using w = await workspace({ 'old.txt': 'old\n', keep: 'k' })
  await w.turn('Mix', { 'new.txt': 'new\n', 'old.txt': null })
  expect(await pending(w)).toEqual(['create new.txt', 'delete old.txt'])
  await reject(w)
  expect(w.files()).toEqual({ 'old.txt': 'old\n', keep: 'k' })

  await w.turn('Again', { 'new.txt': 'new\n' })
  await accept(w)
  await w.turn('More', { 'new.txt': 'new\nmore\n' })
  await reject(w)
  expect(w.files()).toEqual({ 'new.txt': 'new\n', 'old.txt': 'old\n', keep: 'k' })

  await w.turn('Third', { 'third.txt': 'agent\n' })
  w.userWrites({ 'third.txt': 'agent\nmine\n' })
  const refused = await reject(w)
  expect(refused.kind).toBe('conflicts')
  expect(w.files()['third.txt']).toBe('agent\nmine\n')
})

test('[R162] [scenario J10] a rewritten file has hunks only where it really differs', async () => {
  await using w = await workspace({ 'a.txt': ten })
  await w.turn('Rewrite', () => {
    rmSync(w.pathOf('a.txt'))
    w.userWrites({ 'a.txt': edited(ten, { 4: 'FOUR' }) })
  })
  expect(await pending(w)).toEqual(['text a.txt 4·>FOUR·'])
})

test('[R163] [scenario J11] a binary, a mode, a link and a pure rename are one item each', async () => {
  await using w = await workspace({
    'b.bin': new Uint8Array([0, 1, 2]),
    run: '#!/bin/sh\n',
    old: ten,
    l: linkTo('a'),
  })
  const before = w.files({ modes: true })
  await w.turn('All', () => {
    w.userWrites({ 'b.bin': new Uint8Array([0, 9]), l: linkTo('b') })
    chmodSync(w.pathOf('run'), 0o755)
    renameSync(w.pathOf('old'), w.pathOf('new'))
  })
  const after = w.files({ modes: true })
  expect(await pending(w)).toEqual(['binary b.bin', 'link l', 'rename old new', 'mode run'])

  for (const path of ['b.bin', 'l', 'new', 'run']) {
    const decided = await reject(w, { paths: [at(path)] })
    expect(decided).toMatchObject({ kind: 'done', hunks: [{ path }] })
  }
  expect(w.files({ modes: true })).toEqual(before)
  await w.redo().catch(() => {})
  await w.turn('Again', () => {
    w.userWrites({ 'b.bin': new Uint8Array([0, 9]), l: linkTo('b') })
    chmodSync(w.pathOf('run'), 0o755)
    renameSync(w.pathOf('old'), w.pathOf('new'))
  })
  for (const path of ['b.bin', 'l', 'new', 'run']) await accept(w, { paths: [at(path)] })
  expect(await pending(w)).toEqual([])
  expect(w.files({ modes: true })).toEqual(after)
})

test('[R164] [scenario J12] whitespace, line endings and a lost final newline show as hunks', async () => {
  await using w = await workspace({ s: ten, c: ten, n: ten })
  await w.turn('Small', { s: edited(ten, { 3: '3 ' }), c: ten.replace('5\n', '5\r\n'), n: ten.slice(0, -1) })
  expect(await pending(w)).toEqual(['text c 5·>5\r·', 'text n 10·>10', 'text s 3·>3 ·'])
  await reject(w)
  expect(w.files()).toEqual({ s: ten, c: ten, n: ten })
})

test('[R165] [scenario J13] a turn, a file: only what was asked for is rejected', async () => {
  await using w = await workspace({ a: ten, b: ten, c: ten })
  const first = await w.turn('One', { a: edited(ten, { 1: 'ONE' }), c: edited(ten, { 1: 'ONE' }) })
  await w.turn('Two', { b: edited(ten, { 2: 'TWO' }), c: edited(ten, { 1: 'ONE', 8: 'EIGHT' }) })

  await reject(w, { turns: [first.turn] })
  expect(w.files()).toEqual({ a: ten, b: edited(ten, { 2: 'TWO' }), c: edited(ten, { 8: 'EIGHT' }) })
  await reject(w, { paths: [at('b')] })
  expect(w.files()).toEqual({ a: ten, b: ten, c: edited(ten, { 8: 'EIGHT' }) })
})

test('[R166] rejecting everything of a turn is what undoing it is, also where another turn went on in its block', async () => {
  const start = { a: ten, gone: 'g\n' }
  await using w = await workspace(start)
  const first = lines('1', '2', 'x', 'y', 'z', '3', '4', '5', '6', '7', '8', '9', '10')
  const one = await w.turn('One', { a: first, new: 'n\n', gone: null })
  await w.turn('Two', { a: first.replace('y\n', 'y\nw\n') })
  const undone = await w.rollback({ turns: [one.turn] }, { dryRun: true, onConflict: 'keep' })
  expect(undone.kind).toBe('planned')

  await expect(reject(w, { turns: [one.turn] })).rejects.toMatchObject({ code: 'conflicts' })
  expect(w.files()).toEqual({ a: first.replace('y\n', 'y\nw\n'), new: 'n\n' })

  await reject(w)
  expect(w.files()).toEqual(start)
})

test('[R167] [P11] [scenario J14] accepting in one session leaves what is pending in another', async () => {
  await using w = await workspace({ a: ten, b: ten })
  await w.turn('One', { a: edited(ten, { 1: 'ONE' }) })
  const first = w.session
  w.inSession('agent-2')
  await w.turn('Two', { b: edited(ten, { 2: 'TWO' }), a: edited(ten, { 1: 'ONE', 9: 'NINE' }) })
  const other = await hunks(w, first)
  expect(await pending(w, first)).toEqual(['text a 1·>ONE·'])
  expect(await pending(w)).toEqual(['text a 9·>NINE·', 'text b 2·>TWO·'])

  await accept(w)

  expect(await hunks(w, first)).toEqual(other)
  await w.workspace.reject({ session: first, selection: {} })
  expect(w.files()).toEqual({ a: edited(ten, { 9: 'NINE' }), b: edited(ten, { 2: 'TWO' }) })
})

test('[R168] [scenario J15] after a restart, and with the index gone, the same hunks have the same ids', async () => {
  await using w = await workspace({ a: lines('x', 'a', 'b', 'c', 'x', 'd'), b: ten })
  await w.turn('Twice', { a: lines('y', 'a', 'b', 'c', 'y', 'd'), b: edited(ten, { 2: 'TWO', 7: 'SEVEN' }) })
  await accept(w, { hunks: [idOf(await hunks(w), 2)] })
  w.userWrites({ b: edited(ten, { 2: 'TWO', 7: 'SEVEN', 10: 'mine' }) })
  const before = await hunks(w)
  expect(before).toHaveLength(3)

  await w.reopen()
  expect(await hunks(w)).toEqual(before)
  const { folder } = w.workspace.engine.folders
  await w.close()
  for (const name of ['index.db', 'index.db-wal', 'index.db-shm']) rmSync(join(folder, name), { force: true })
  await w.open()
  expect(await hunks(w)).toEqual(before)
})

test('[R169] [scenario J16] undo takes the hunks with it, redo makes them pending again', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('One', { a: edited(ten, { 1: 'ONE', 9: 'NINE' }) })
  const before = await hunks(w)
  await w.undo()
  expect(await pending(w)).toEqual([])
  await w.redo()
  expect(await hunks(w)).toEqual(before)

  await accept(w, { hunks: [idOf(before, 0)] })
  await w.undo()
  expect(await pending(w)).toEqual([])
  expect(w.files()).toEqual({ a: ten })
  await w.redo()
  expect(await pending(w)).toEqual(['text a 9·>NINE·'])
  w.userWrites({ a: edited(ten, { 1: 'ONE' }) })
  expect(await pending(w)).toEqual([])
})

test('[R170] [scenario J17] a proposal is pending and not on disk; accepted it is written, rejected it leaves no trace', async () => {
  await using w = await workspace({ a: ten })
  const turn = await w.beginTurn('Offer')
  await propose(w, turn, 'a', edited(ten, { 1: 'ONE', 9: 'NINE' }))
  await propose(w, turn, 'deep/new', 'n\n')
  await w.workspace.endTurn(turn)
  expect(w.files()).toEqual({ a: ten })
  expect(await pending(w)).toEqual(['text a 1·>ONE·', 'text a 9·>NINE·', 'create deep/new'])

  await reject(w, { paths: [at('deep/new')] })
  expect(w.files()).toEqual({ a: ten })
  await accept(w, { hunks: [idOf(await hunks(w), 0)] })
  expect(w.files()).toEqual({ a: edited(ten, { 1: 'ONE' }) })
  expect(await pending(w)).toEqual(['text a 9·>NINE·'])
  await w.reopen()
  expect(await pending(w)).toEqual(['text a 9·>NINE·'])
  await accept(w)
  expect(w.files()).toEqual({ a: edited(ten, { 1: 'ONE', 9: 'NINE' }) })
  expect(await pending(w)).toEqual([])
})

test('[R171] [P3] [scenario J18] a proposal goes over newer edits elsewhere, and stops at the same lines', async () => {
  await using w = await workspace({ a: ten })
  const turn = await w.beginTurn('Offer')
  await propose(w, turn, 'a', edited(ten, { 5: 'FIVE' }))
  await w.workspace.endTurn(turn)
  w.userWrites({ a: edited(ten, { 1: 'mine' }) })
  await accept(w)
  expect(w.files()).toEqual({ a: edited(ten, { 1: 'mine', 5: 'FIVE' }) })

  const second = await w.beginTurn('Again')
  await propose(w, second, 'a', edited(ten, { 1: 'mine', 5: 'SIX' }))
  await w.workspace.endTurn(second)
  const typed = edited(ten, { 1: 'mine', 5: 'my own five' })
  w.userWrites({ a: typed })
  expect(await accept(w)).toMatchObject({ kind: 'conflicts', conflicts: [{ path: 'a' }] })
  expect(w.files()).toEqual({ a: typed })
})

test('[R172] [P2] [scenario J19] a group of proposals with one in conflict: none is written', async () => {
  await using w = await workspace({ a: ten, b: ten, c: ten })
  const turn = await w.beginTurn('Offer')
  for (const path of ['a', 'b', 'c']) await propose(w, turn, path, edited(ten, { 5: 'FIVE' }), 'all')
  await w.workspace.endTurn(turn)
  w.userWrites({ b: edited(ten, { 5: 'mine' }) })

  expect((await accept(w, { groups: ['all'] })).kind).toBe('conflicts')
  expect(w.files()).toEqual({ a: ten, b: edited(ten, { 5: 'mine' }), c: ten })

  w.userWrites({ b: ten })
  expect((await accept(w, { groups: ['all'] })).kind).toBe('done')
  expect(w.files()).toEqual(Object.fromEntries(['a', 'b', 'c'].map((p) => [p, edited(ten, { 5: 'FIVE' })])))
})

test('[R173] proposals to one file stack, whether the agent counts the earlier ones in or not', async () => {
  await using w = await workspace({ a: ten })
  const turn = await w.beginTurn('Offer')
  await propose(w, turn, 'a', edited(ten, { 1: 'ONE' }))
  await propose(w, turn, 'a', edited(ten, { 1: 'ONE', 5: 'FIVE' }))
  await propose(w, turn, 'a', edited(ten, { 9: 'NINE' }))
  await w.workspace.endTurn(turn)
  expect(await pending(w)).toEqual(['text a 1·>ONE·', 'text a 5·>FIVE·', 'text a 9·>NINE·'])
  await accept(w)
  expect(w.files()).toEqual({ a: edited(ten, { 1: 'ONE', 5: 'FIVE', 9: 'NINE' }) })
})

test('[R174] undo of a turn takes out what was accepted of its proposals, and clears the rest; redo brings both back', async () => {
  await using w = await workspace({ a: ten })
  const turn = await w.beginTurn('Offer')
  await propose(w, turn, 'a', edited(ten, { 1: 'ONE', 9: 'NINE' }))
  await w.workspace.endTurn(turn)
  await accept(w, { hunks: [idOf(await hunks(w), 0)] })

  await w.undo()
  expect(w.files()).toEqual({ a: ten })
  expect(await pending(w)).toEqual([])
  await w.redo()
  expect(w.files()).toEqual({ a: edited(ten, { 1: 'ONE' }) })
  expect(await pending(w)).toEqual(['text a 9·>NINE·'])
})

test('[R175] [P7] an accepted proposal can be taken back: off the disk, and pending again', async () => {
  await using w = await workspace({ a: ten })
  const turn = await w.beginTurn('Offer')
  const { op } = await propose(w, turn, 'a', edited(ten, { 1: 'ONE' }))
  await w.workspace.endTurn(turn)
  const decided = await accept(w)
  await w.rollback({ ops: decided.ops })
  expect(w.files()).toEqual({ a: ten })
  expect(await pending(w)).toEqual(['text a 1·>ONE·'])

  await w.rollback({ ops: [op] })
  expect(await pending(w)).toEqual([])
})

test('[R176] some lines of a hunk can be accepted or rejected', async () => {
  await using w = await workspace({ a: lines('k', 'l') })
  await w.turn('Add', { a: lines('k', 'one', 'two', 'three', 'l') })
  const [id] = (await hunks(w)).map((hunk) => hunk.id)

  await reject(w, { hunks: [`${id}:2`] })
  expect(w.files()).toEqual({ a: lines('k', 'one', 'three', 'l') })
  await accept(w, { hunks: [`${idOf(await hunks(w), 0)}:1`] })
  expect(await pending(w)).toEqual(['text a >three·'])
  await expect(accept(w, { hunks: [`${idOf(await hunks(w), 0)}:9`] })).rejects.toMatchObject({
    code: 'bad-usage',
  })
})

test('[R177] content that the user commits counts as accepted, block by block; what the agent commits does not', async () => {
  await using w = await workspace({ a: ten, b: ten }, { git: true })
  w.git('add', '.')
  w.git('commit', '-qm', 'first')
  await w.turn('Shout', { a: edited(ten, { 1: 'ONE', 9: 'NINE' }), b: edited(ten, { 2: 'TWO' }), c: 'c\n' })
  expect(await pending(w)).toHaveLength(4)

  const now = w.files()
  w.userWrites({ a: edited(ten, { 1: 'ONE' }) })
  w.git('add', 'a', 'c')
  w.userWrites({ a: now.a ?? '' })
  w.git('commit', '-qm', 'half')
  expect(await pending(w)).toEqual(['text a 9·>NINE·', 'text b 2·>TWO·'])

  await w.turn('Commit', () => {
    w.git('commit', '-qam', 'the agent')
  })
  expect(await pending(w)).toEqual(['text a 9·>NINE·', 'text b 2·>TWO·'])
})

test('[R178] a rejection carries a comment, for the agent to read', async () => {
  await using w = await workspace({ a: ten })
  const { turn } = await w.turn('Shout', { a: edited(ten, { 5: 'FIVE' }) })
  const [id] = (await hunks(w)).map((hunk) => hunk.id)
  const decided = await reject(w, {}, { comment: 'Not so loud.' })
  expect((await w.workspace.review(w.session)).rejections).toMatchObject([
    { hunk: id, path: 'a', comment: 'Not so loud.', removed: '5\n', added: 'FIVE\n', turns: [turn] },
  ])
  await w.rollback({ ops: decided.ops })
  expect((await w.workspace.review(w.session)).rejections).toEqual([])
})

test('[R179] hunks go along when the user renames the file', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Shout', { a: edited(ten, { 5: 'FIVE' }) })
  renameSync(w.pathOf('a'), w.pathOf('b'))
  expect(await pending(w)).toEqual(['text b 5·>FIVE·'])
  await reject(w)
  expect(w.files()).toEqual({ b: ten })
})

test('[R180] a file that the agent renamed and edited has a rename and hunks, each to decide alone', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Move', () => {
    renameSync(w.pathOf('a'), w.pathOf('b'))
    w.userWrites({ b: edited(ten, { 5: 'FIVE' }) })
  })
  expect(await pending(w)).toEqual(['rename a b', 'text b 5·>FIVE·'])
  w.userWrites({ b: edited(ten, { 1: 'mine', 5: 'FIVE' }) })
  expect(await pending(w)).toEqual(['rename a b', 'text b 5·>FIVE·'])

  await reject(w, { hunks: [idOf(await hunks(w), 0)] })
  expect(w.files()).toEqual({ a: edited(ten, { 1: 'mine', 5: 'FIVE' }) })
  expect(await pending(w)).toEqual(['text a 5·>FIVE·'])
})

test('[R181] a folder goes with the created file that is rejected, unless it was there before', async () => {
  await using w = await workspace({ 'kept/x': null, a: ten })
  w.userWrites({ 'there/x': 'x' })
  rmSync(w.pathOf('there/x'))
  await w.workspace.capture()
  await w.turn('Make', { 'there/new': 'n', 'fresh/new': 'n' })
  await reject(w)
  expect(w.files()).toMatchObject({ there: '/', a: ten })
  expect(w.files()).not.toHaveProperty('fresh')
})

test('[R182] a dry run says what would be done, and does nothing', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Shout', { a: edited(ten, { 5: 'FIVE' }) })
  const planned = await reject(w, {}, { dryRun: true })
  expect(planned).toMatchObject({
    kind: 'planned',
    ops: [],
    pending: 0,
    files: [{ path: 'a', action: 'write' }],
  })
  expect(planned.patch).toContain('-FIVE')
  expect(w.files()).toEqual({ a: edited(ten, { 5: 'FIVE' }) })
  expect(await accept(w, {}, { dryRun: true })).toMatchObject({ kind: 'planned', ops: [] })
  expect(await pending(w)).toHaveLength(1)
})

test('[R183] with nothing pending, and with a selection that fits nothing, the answer is a plain one', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Nothing', {})
  expect(await pending(w)).toEqual([])
  await expect(accept(w)).rejects.toMatchObject({ code: 'nothing-to-review' })
  await expect(reject(w, { hunks: ['nope'] })).rejects.toMatchObject({ code: 'hunk-gone' })
})
