/** Reviews beside everything else that happens: renames, kinds of files, turns in one block, decisions taken back. */

import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  accept,
  at,
  edited,
  hunks,
  ids,
  lines,
  offer,
  pending,
  propose,
  reject,
  ten,
  withoutIndex,
} from '../testing/reviewing.ts'
import { linkTo, withMode, workspace } from '../testing/workspace.ts'
import type { OpId, SessionId } from '../values.ts'
import { openWorkspace } from '../workspace.ts'

test('[R197] [P3] an acceptance or a rejection that is taken back leaves the hunk contested, as it was', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Shout', { a: edited(ten, { 2: 'TWO', 5: 'FIVE' }) })
  const typed = edited(ten, { 2: 'TWO', 5: 'FIVE and mine' })
  w.userWrites({ a: typed })
  const before = await hunks(w)
  expect(before.map(({ contested }) => contested)).toEqual([false, true])

  const accepted = await accept(w)
  await w.rollback({ ops: accepted.ops })
  expect(await hunks(w)).toEqual(before)
  expect((await reject(w)).kind).toBe('conflicts')

  const rejected = await reject(w, {}, { onConflict: 'overwrite' })
  expect(w.files()).toEqual({ a: ten })
  await w.rollback({ ops: rejected.ops })
  expect(w.files()).toEqual({ a: typed })
  expect(await hunks(w)).toEqual(before)
  expect((await reject(w)).kind).toBe('conflicts')
  await withoutIndex(w)
  expect(await hunks(w)).toEqual(before)
})

test('[R197] [P3] undo that overwrote, and redo: the hunk is contested as before', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Shout', { a: edited(ten, { 5: 'FIVE' }) })
  w.userWrites({ a: edited(ten, { 5: 'FIVE and mine' }) })
  const before = await hunks(w)
  await w.undo({ onConflict: 'overwrite' })
  expect(w.files()).toEqual({ a: ten })
  await w.redo()
  expect(w.files()).toEqual({ a: edited(ten, { 5: 'FIVE and mine' }) })
  expect(await hunks(w)).toEqual(before)
})

test('[R198] [P7] a decision about a rename that is taken back makes it a rename again', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Move', () => {
    renameSync(w.pathOf('a'), w.pathOf('b'))
    w.userWrites({ b: edited(ten, { 5: 'FIVE' }) })
  })
  const before = await hunks(w)
  const moved = w.files()
  for (const decide of [accept, reject])
    for (const selection of [{}, { hunks: [before[0]?.id ?? ''] }, { hunks: [before[1]?.id ?? ''] }]) {
      const decided = await decide(w, selection)
      await w.rollback({ ops: decided.ops })
      expect(w.files()).toEqual(moved)
      expect(await hunks(w)).toEqual(before)
    }
  await w.undo()
  await w.redo()
  expect(await hunks(w)).toEqual(before)
})

test('[R199] a file that is renamed again and again is one rename, from the name that was accepted', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('One', () => renameSync(w.pathOf('a'), w.pathOf('b')))
  await w.turn('Two', () => {
    renameSync(w.pathOf('b'), w.pathOf('c'))
    w.userWrites({ c: edited(ten, { 5: 'FIVE' }) })
  })
  expect(await pending(w)).toEqual(['rename a c', 'text c 5·>FIVE·'])
  renameSync(w.pathOf('c'), w.pathOf('d'))
  expect(await pending(w)).toEqual(['rename a d', 'text d 5·>FIVE·'])
  const [rename] = await ids(w)
  await accept(w, { hunks: [rename ?? ''] })
  await w.turn('Three', () => renameSync(w.pathOf('d'), w.pathOf('e')))
  expect(await pending(w)).toEqual(['rename d e', 'text e 5·>FIVE·'])
  await reject(w)
  expect(w.files()).toEqual({ d: ten })
  await w.turn('Four', () => renameSync(w.pathOf('d'), w.pathOf('f')))
  await w.turn('Five', () => renameSync(w.pathOf('f'), w.pathOf('d')))
  expect(await pending(w)).toEqual([])
})

test('[R200] [P3] with a new file under the old name, each file keeps what the user wrote into it', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Move', () => renameSync(w.pathOf('a'), w.pathOf('b')))
  await w.turn('New', { a: lines('something', 'else') })
  w.userWrites({ b: edited(ten, { 1: 'mine in b' }), a: lines('something', 'else', 'mine in a') })
  await pending(w)

  const rejected = await reject(w, {}, { onConflict: 'keep' })

  const all = Object.values(w.files()).join('')
  expect(all).toContain('mine in b')
  expect(all).toContain('mine in a')
  expect(rejected.conflicts.length).toBeGreaterThan(0)
  expect((await reject(w)).kind).toBe('conflicts')
})

test('[R200] the user deletes a file that the agent renamed: no hunk is left that does nothing', async () => {
  await using w = await workspace({ a: ten, k: 'k' })
  await w.turn('Move', () => renameSync(w.pathOf('a'), w.pathOf('b')))
  rmSync(w.pathOf('b'))
  expect(await pending(w)).toEqual([])
  expect(w.files()).toEqual({ k: 'k' })
})

test('[R201] [P3] a rename that is rejected takes along that the user has edited inside', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Move', () => {
    renameSync(w.pathOf('a'), w.pathOf('b'))
    w.userWrites({ b: edited(ten, { 5: 'FIVE' }) })
  })
  w.userWrites({ b: edited(ten, { 5: 'FIVE and mine' }) })
  const [rename] = await ids(w)
  await reject(w, { hunks: [rename ?? ''] })
  expect(await pending(w)).toEqual(['text a 5·>FIVE and mine· (contested)'])
  expect((await reject(w)).kind).toBe('conflicts')
  expect(w.files()).toEqual({ a: edited(ten, { 5: 'FIVE and mine' }) })
})

test('[R202] [P3] where the agent goes on inside what the user typed, the hunk stays contested', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Shout', { a: edited(ten, { 5: 'FIVE' }) })
  const typed = ten.replace('5\n', lines('mine 1', 'FIVE too', 'mine 2'))
  w.userWrites({ a: typed })
  await w.turn('More', { a: typed.replace('FIVE too', 'FIVE three') })
  expect(await pending(w)).toMatchObject([expect.stringContaining('(contested)')])
  expect((await reject(w)).kind).toBe('conflicts')
  // What is all the agent's again is no longer contested.
  await w.turn('All over', { a: edited(ten, { 5: 'FIVE four' }) })
  expect(await pending(w)).toEqual(['text a 5·>FIVE four·'])
})

test('[R203] a part of an id, or an id from another time, names no other hunk', async () => {
  const text = lines('x', 'a', 'b', 'c', 'd', 'x', 'e', 'f', 'g', 'h', 'x')
  await using w = await workspace({ a: text })
  await w.turn('Once', { a: text.replace('x', 'y') })
  const [lone = ''] = await ids(w)
  await w.turn('All', { a: text.replaceAll('x', 'y') })
  const [, second = '', third = ''] = await ids(w)
  await accept(w, { hunks: [second] })
  await accept(w, { hunks: [third] })
  expect(await ids(w)).toHaveLength(1)
  await expect(reject(w, { hunks: [lone] })).rejects.toMatchObject({ code: 'hunk-gone' })
  await expect(reject(w, { hunks: [second.slice(0, -1)] })).rejects.toMatchObject({ code: 'hunk-gone' })
  const [last = ''] = await ids(w)
  expect((await reject(w, { hunks: [last.slice(0, 7)] })).kind).toBe('done')
})

test('[R204] a turn that worked on a file which another one created is decided alone, or not at all', async () => {
  await using w = await workspace({ k: 'k' })
  const one = await w.turn('Create', { n: ten })
  const two = await w.turn('Edit', { n: edited(ten, { 5: 'FIVE' }) })

  await expect(reject(w, { turns: [one.turn] })).rejects.toMatchObject({ code: 'conflicts' })
  await expect(accept(w, { turns: [two.turn] })).rejects.toMatchObject({ code: 'conflicts' })
  expect(w.files()).toEqual({ k: 'k', n: edited(ten, { 5: 'FIVE' }) })

  await reject(w, { turns: [two.turn] })
  expect(w.files()).toEqual({ k: 'k', n: ten })
  expect(await pending(w)).toEqual(['create n'])
  const three = await w.turn('Again', { n: edited(ten, { 5: 'FIVE' }) })
  await accept(w, { turns: [one.turn] })
  expect(await pending(w)).toEqual(['text n 5·>FIVE·'])
  await reject(w, { turns: [three.turn] })
  expect(w.files()).toEqual({ k: 'k', n: ten })
})

test('[R204] accepting a turn whose lines another turn went on with accepts only its own', async () => {
  await using w = await workspace({ a: lines('k', 'l') })
  const one = await w.turn('One', { a: lines('k', 'x', 'y', 'z', 'l') })
  await w.turn('Two', { a: lines('k', 'x', 'y', 'w', 'z', 'l') })
  await accept(w, { turns: [one.turn] })
  expect(await pending(w)).toEqual(['text a >w·'])
})

test('[R204] a rename and a mode belong to the turn that made them', async () => {
  await using w = await workspace({ a: ten, m: ten })
  const one = await w.turn('One', () => {
    renameSync(w.pathOf('a'), w.pathOf('b'))
    chmodSync(w.pathOf('m'), 0o755)
  })
  const two = await w.turn('Two', { b: edited(ten, { 5: 'FIVE' }), m: edited(ten, { 5: 'FIVE' }) })
  await reject(w, { turns: [two.turn] })
  expect(await pending(w)).toEqual(['rename a b', 'mode m'])
  await accept(w, { turns: [one.turn] })
  expect(await pending(w)).toEqual([])
  expect(w.files()).toEqual({ b: ten, m: ten })
})

test('[R205] a turn is rejected on disk and among its proposals, and other turns keep their lines', async () => {
  await using w = await workspace({ a: lines('k', 'l'), b: ten })
  await w.turn('One', { a: lines('k', 'x', 'l') })
  const turn = await w.beginTurn('Two')
  await w.step(turn, { a: lines('k', 'x', 'y', 'l') })
  await propose(w, turn, 'b', edited(ten, { 5: 'FIVE' }))
  await w.workspace.endTurn(turn)
  expect(await pending(w)).toEqual(['text a >x·y·', 'text b 5·>FIVE·'])

  const decided = await reject(w, { turns: [turn] })

  expect(w.files()).toEqual({ a: lines('k', 'x', 'l'), b: ten })
  expect(await pending(w)).toEqual(['text a >x·'])
  await w.rollback({ ops: decided.ops })
  expect(w.files()).toEqual({ a: lines('k', 'x', 'y', 'l'), b: ten })
  expect(await pending(w)).toEqual(['text a >x·y·', 'text b 5·>FIVE·'])
})

test('[R206] hunks on disk and proposals for the same file are accepted together, and taken back together', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Shout', { a: edited(ten, { 1: 'ONE' }) })
  await offer(w, { a: edited(ten, { 1: 'ONE', 9: 'NINE' }) })
  const before = await hunks(w)
  expect(before).toHaveLength(2)

  const decided = await accept(w)

  expect(await pending(w)).toEqual([])
  expect(w.files()).toEqual({ a: edited(ten, { 1: 'ONE', 9: 'NINE' }) })
  await w.rollback({ ops: decided.ops })
  expect(w.files()).toEqual({ a: edited(ten, { 1: 'ONE' }) })
  expect(await hunks(w)).toEqual(before)
})

test('[R207] one file of a rejection that is taken back is pending again, not accepted', async () => {
  await using w = await workspace({ a: ten, b: ten })
  await w.turn('Shout', { a: edited(ten, { 1: 'ONE' }), b: edited(ten, { 2: 'TWO' }) })
  const before = await hunks(w)
  const rejected = await reject(w)
  await w.rollback({ ops: rejected.ops, paths: [at('a')] })
  expect(w.files()).toEqual({ a: edited(ten, { 1: 'ONE' }), b: ten })
  expect(await hunks(w)).toEqual(before.slice(0, 1))
})

test('[R208] [P4] a file that became a folder, or the other way round, comes back whole or not at all', async () => {
  for (const [start, then] of [
    [{ d: 'file\n' }, { 'd/x': 'x\n', 'd/y': 'y\n' }],
    [{ 'd/x': 'x\n', 'd/y': 'y\n' }, { d: 'file\n' }],
  ] as const) {
    await using w = await workspace({ ...start, k: 'k' })
    await w.turn('Swap', () => {
      rmSync(w.pathOf('d'), { recursive: true })
      if ('d/x' in then) mkdirSync(w.pathOf('d'))
      w.userWrites(then)
    })
    const before = await hunks(w)
    expect(before).toHaveLength(3)
    for (const { id } of before) {
      const rejected = await reject(w, { hunks: [id] })
      if (rejected.kind === 'conflicts') expect(w.files()).toEqual({ ...then, k: 'k' })
      else {
        await w.rollback({ ops: rejected.ops })
        expect(w.files()).toEqual({ ...then, k: 'k' })
      }
      expect(await hunks(w)).toEqual(before)
    }
    for (const { id } of before) {
      const accepted = await accept(w, { hunks: [id] })
      await w.rollback({ ops: accepted.ops })
      expect(await hunks(w)).toEqual(before)
    }
    await reject(w)
    expect(w.files()).toEqual({ ...start, k: 'k' })
    expect(await pending(w)).toEqual([])
  }
})

test('[R209] permission bits, links, empty files, odd names and bytes are decided like any other change', async () => {
  const start = {
    p: withMode('p\n', 0o644),
    l: linkTo('p'),
    f: 'text\n',
    e: '',
    full: 'full\n',
    bytes: Buffer.from('caf\xe9\nzwei\n', 'latin1'),
    crlf: 'one\r\ntwo\r\n',
  }
  await using w = await workspace(start)
  const before = w.files({ modes: true })
  await w.turn('All', () => {
    chmodSync(w.pathOf('p'), 0o600)
    w.userWrites({ l: 'was a link\n', f: linkTo('p'), e: 'no longer\n', full: '' })
    w.userWrites({ bytes: Buffer.from('caf\xe9\nZWEI\xff\n', 'latin1'), crlf: 'one\ntwo\r\n' })
    w.userWrites({ new: '' })
  })
  const after = w.files({ modes: true })
  expect(await pending(w)).toEqual([
    'text bytes zwei·>ZWEI\xff·',
    'text crlf one\r·>one·',
    'text e >no longer·',
    'type f',
    'text full full·>',
    'type l',
    'create new',
    'mode p',
  ])
  const all = await ids(w)
  for (const id of all) {
    const rejected = await reject(w, { hunks: [id] })
    expect(rejected.kind).toBe('done')
    await w.rollback({ ops: rejected.ops })
    expect(w.files({ modes: true })).toEqual(after)
    expect(await ids(w)).toEqual(all)
  }
  await reject(w)
  expect(w.files({ modes: true })).toEqual(before)
})

test('[R210] a deleted and recreated file has hunks only where it differs from what was accepted', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Shout', { a: edited(ten, { 2: 'TWO', 9: 'NINE' }) })
  await accept(w, { hunks: [(await ids(w))[0] ?? ''] })
  await w.turn('Delete', { a: null })
  expect(await pending(w)).toEqual(['delete a'])
  await w.turn('Create', { a: edited(ten, { 2: 'TWO', 7: 'SEVEN' }) })
  expect(await pending(w)).toEqual(['text a 7·>SEVEN·'])
  await reject(w)
  expect(w.files()).toEqual({ a: edited(ten, { 2: 'TWO' }) })
})

test('[R211] a last line without its ending, rejected or accepted in part, becomes part of no other line', async () => {
  await using w = await workspace({ a: 'one\ntwo' })
  await w.turn('More', { a: 'one\nzwei\ndrei' })
  const [id = ''] = await ids(w)
  await reject(w, { hunks: [`${id}:3`] })
  expect(w.files()).toEqual({ a: 'one\nzwei\n' })
  const [rest = ''] = await ids(w)
  const accepted = await accept(w, { hunks: [`${rest}:2`] })
  const { files } = await w.workspace.review(w.session)
  expect(files[0]?.old?.join('')).toMatch(/^one\n(two\nzwei|zwei\ntwo)\n?$/)
  await w.rollback({ ops: accepted.ops })
  expect(await ids(w)).toEqual([rest])
  await reject(w)
  expect(w.files()).toEqual({ a: 'one\ntwo' })
})

test('[R212] restoring exactly, cleaning up and rolling back beside accepted hunks leave the rest of the review right', async () => {
  await using w = await workspace({ a: ten, b: ten })
  const one = await w.turn('One', { a: edited(ten, { 1: 'ONE', 9: 'NINE' }) })
  await accept(w, { hunks: [(await ids(w))[0] ?? ''] })
  await w.turn('Two', { a: edited(ten, { 1: 'ONE', 5: 'FIVE', 9: 'NINE' }), b: edited(ten, { 2: 'TWO' }) })
  w.userWrites({ b: edited(ten, { 2: 'TWO', 9: 'mine' }) })

  const restored = await w.restore(one.turn, 'after', { exact: true })
  expect(w.files()).toEqual({ a: edited(ten, { 1: 'ONE', 9: 'NINE' }), b: ten })
  expect(await pending(w)).toEqual(['text a 9·>NINE·'])
  await w.rollback({ ops: [restored.op as OpId] })
  expect(await pending(w)).toEqual(['text a 5·>FIVE·', 'text a 9·>NINE·', 'text b 2·>TWO·'])

  await w.undo()
  await w.workspace.cleanup(w.session)
  expect(await pending(w)).toEqual(['text a 9·>NINE·'])
  await w.rollback({ turns: [one.turn] })
  expect(w.files()).toEqual({ a: ten, b: edited(ten, { 9: 'mine' }) })
  expect(await pending(w)).toEqual([])
})

test('[R209] [P6] a name that is not UTF-8 is reviewed, decided and remembered like any other', {
  skip: process.platform !== 'linux',
}, async () => {
  await using w = await workspace({ k: 'k' }, { honest: false })
  const name = Buffer.concat([Buffer.from(`${w.dir}/`), Buffer.from([0x6e, 0xff, 0x2e, 0x74])])
  const path = at('n\xff.t')
  writeFileSync(name, ten)
  await w.workspace.capture()
  await w.turn('Shout', () => writeFileSync(name, edited(ten, { 2: 'TWO', 9: 'NINE' })))
  expect(await pending(w)).toEqual([`text ${path} 2·>TWO·`, `text ${path} 9·>NINE·`])
  const [first = '', second = ''] = await ids(w)
  await accept(w, { hunks: [first] })
  const turn = await w.beginTurn('Offer')
  await propose(w, turn, path, edited(ten, { 2: 'TWO', 5: 'FIVE', 9: 'NINE' }))
  await w.workspace.endTurn(turn)
  await withoutIndex(w)
  expect(await pending(w)).toHaveLength(2)
  await reject(w, { hunks: [second] }, { comment: 'no' })
  expect((await w.workspace.review(w.session)).rejections).toMatchObject([{ path }])
  await accept(w, { paths: [path] })
  expect(readFileSync(name, 'utf8')).toBe(edited(ten, { 2: 'TWO', 5: 'FIVE' }))
})

test('[R218] what is only proposed counts as pending', async () => {
  await using w = await workspace({ a: ten })
  await offer(w, { a: edited(ten, { 1: 'ONE', 9: 'NINE' }) })
  expect(await w.workspace.countPending(w.session)).toBe(2)
})

test('[R219] while another process captures and records, a decision is about what it was made for, or is refused', async () => {
  await using w = await workspace({ a: ten, b: ten }, { honest: false })
  await w.turn('Shout', { a: edited(ten, { 2: 'TWO', 9: 'NINE' }) })
  const [first = '', second = ''] = await ids(w)
  const other = await openWorkspace(w.dir, { explicit: true, env: w.env })
  await using _ = other
  const session = 'other' as SessionId
  const { turn } = await other.beginTurn({ session, agent: 'x', prompt: 'p' })
  for (let round = 0; round < 3; round += 1) {
    const { step } = await other.beginStep({ turn, tool: 'edit', paths: [at('b')] })
    w.userWrites({ b: edited(ten, { 5: `round ${round}` }) })
    const [ended] = await Promise.allSettled([
      other.endStep(step),
      other.capture(),
      round === 0 ? accept(w, { hunks: [first] }) : hunks(w),
      other.review(session),
    ])
    expect(ended?.status).toBe('fulfilled')
  }
  await other.endTurn(turn)
  expect(await ids(w)).toEqual([second])
  await Promise.all([reject(w, { hunks: [second] }), other.capture()])
  expect(w.files()).toEqual({ a: edited(ten, { 2: 'TWO' }), b: edited(ten, { 5: 'round 2' }) })
  expect(await pending(w)).toEqual([])
  expect(await pending(w, session)).toEqual(['text b 5·>round 2·'])
  expect(await w.workspace.doctor()).toEqual([])
})

test('[R220] a file of 50,000 lines with hundreds of hunks is reviewed and decided hunk by hunk', async () => {
  const big = Array.from({ length: 50_000 }, (_, line) => `line ${line}\n`)
  await using w = await workspace({ big: big.join('') }, { honest: false })
  const changed = big.map((line, i) => (i % 100 === 50 ? `agent ${i}\n` : line))
  await w.turn('Much', { big: changed.join('') })
  const timed = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    const began = performance.now()
    const result = await work()
    console.log(`50,000 lines, 500 hunks: ${what} ${Math.round(performance.now() - began)} ms`)
    return result
  }
  const found = await timed('review', () => ids(w))
  expect(found).toHaveLength(500)
  await timed('accept one', () => accept(w, { hunks: [found[10] ?? ''] }))
  await timed('reject one', () => reject(w, { hunks: [found[20] ?? ''] }))
  await w.turn('More', { big: [...(w.files().big?.split(/(?<=\n)/) ?? []), 'the end\n'].join('') })
  const left = await timed('review of two turns', () => ids(w))
  expect(left).toEqual([...found.filter((_, i) => i !== 10 && i !== 20), left.at(-1)])
  const rejected = await timed('reject all', () => reject(w))
  expect(w.files().big).toBe(big.with(1050, 'agent 1050\n').join(''))
  await timed('take back', () => w.rollback({ ops: rejected.ops }))
  expect(await ids(w)).toEqual(left)
})

test('[R224] [P2] proposals of several turns, accepted at once, are a step of each: both stand, and each can be taken back alone', async () => {
  await using w = await workspace({ a: ten, b: ten, gone: 'g\n' })
  const first = await w.beginTurn('Offer')
  await propose(w, first, 'a', edited(ten, { 2: 'TWO' }))
  await propose(w, first, 'gone', null)
  await w.workspace.endTurn(first)
  const second = await w.beginTurn('Offer more')
  await propose(w, second, 'a', edited(ten, { 2: 'TWO', 9: 'NINE' }))
  await propose(w, second, 'b', edited(ten, { 1: 'ONE' }))
  await w.workspace.endTurn(second)
  const open = await ids(w)

  const { ops, pending: left } = await accept(w)
  expect([ops.length, left]).toEqual([2, 0])
  const both = { a: edited(ten, { 2: 'TWO', 9: 'NINE' }), b: edited(ten, { 1: 'ONE' }) }
  expect(w.files()).toEqual(both)
  const steps = ops.map((op) => w.workspace.index.findOperation(op)?.record)
  expect(steps).toMatchObject([
    { kind: 'step', turn: first, paths: ['a', 'gone'], reviewed: true },
    { kind: 'step', turn: second, paths: ['a', 'b'], reviewed: true },
  ])

  await w.workspace.rollback({ session: w.session, selection: { ops: [ops[0] as OpId] } })
  expect(w.files()).toEqual({ ...both, a: edited(ten, { 9: 'NINE' }), gone: 'g\n' })
  await w.workspace.rollback({ session: w.session, selection: { ops: [ops[1] as OpId] } })
  expect(w.files()).toEqual({ a: ten, b: ten, gone: 'g\n' })
  expect(await ids(w)).toEqual(open)

  expect((await accept(w)).ops).toHaveLength(2)
  await w.workspace.undo({ session: w.session })
  expect(w.files()).toEqual({ a: edited(ten, { 2: 'TWO' }), b: ten })
  await w.workspace.redo({ session: w.session })
  expect(w.files()).toEqual(both)
  expect(await w.workspace.doctor()).toEqual([])
})
