/** Retention: which sessions go, and what is left when they have gone. */

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refOf } from '../log/log.ts'
import { deleteRef } from '../store/refs.ts'
import { type Fixture, workspace } from '../testing/workspace.ts'
import type { RelPath, SessionId } from '../values.ts'
import { rangesOf } from './retention.ts'

const dayMs = 86_400_000

/** A clock that counts, and can be set. */
function clock(): { now: () => number; ms: number } {
  const it = {
    ms: Date.parse('2026-01-01T10:00:00Z'),
    now: () => {
      it.ms += 1000
      return it.ms
    },
  }
  return it
}

/** One turn in each session, each in a file of its own. */
async function sessions(w: Fixture, ...names: readonly string[]): Promise<void> {
  for (const name of names) await w.inSession(name).turn(`work of ${name}`, { [`${name}.txt`]: `${name}\n` })
}

function known(w: Fixture): readonly string[] {
  return w.workspace.index.sessions().map(({ id }) => id)
}

async function sound(w: Fixture): Promise<void> {
  expect(await w.workspace.doctor()).toEqual([])
}

const quick = { honest: false } as const

test('[H180] [H188] [O2] by number: the oldest go, exactly as planned, and the plan itself drops nothing', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' }, quick)
  await sessions(w, 's1', 's2', 's3', 's4')
  const plan = await w.workspace.planGc({ keepSessions: 2 })
  expect(plan.sessions.map(({ facts, because }) => [facts.session, because])).toEqual([
    ['s1', 'number'],
    ['s2', 'number'],
  ])
  expect(known(w)).toEqual(['s4', 's3', 's2', 's1'])
  const { dropped } = await w.workspace.gc({ keepSessions: 2 })
  expect(dropped.map(({ facts }) => facts.session)).toEqual(['s1', 's2'])
  expect(known(w)).toEqual(['s4', 's3'])
  await sound(w)
  expect((await w.workspace.gc({ keepSessions: 2 })).dropped).toEqual([])
})

test('[H180] [O2] by age: what was last used longer ago goes', async () => {
  const time = clock()
  await using w = await workspace({}, { ...quick, now: time.now })
  await sessions(w, 's1', 's2')
  time.ms += 20 * dayMs
  await sessions(w, 's3')
  time.ms += 11 * dayMs
  await sessions(w, 's4')
  expect((await w.workspace.gc()).dropped.map(({ because }) => because)).toEqual(['age', 'age'])
  expect(known(w)).toEqual(['s4', 's3'])
  expect((await w.workspace.gc({ maxAgeMs: dayMs })).dropped.map(({ facts }) => facts.session)).toEqual([
    's3',
  ])
  await sound(w)
})

test('[H180] [S105] [O2] by size: the oldest go until the rest fits, and the disk is smaller for it', async () => {
  await using w = await workspace({}, quick)
  for (const name of ['s1', 's2', 's3', 's4'])
    await w.inSession(name).turn(name, { 'big.bin': randomBytes(400_000) })
  // Each session begins with what the one before it left, and keeps that, too.
  const limits = { maxBytes: 1_300_000 }
  const plan = await w.workspace.planGc(limits)
  expect(plan.sessions.map(({ facts, because }) => [facts.session, because])).toEqual([
    ['s1', 'size'],
    ['s2', 'size'],
  ])
  const { dropped, bytesAfter } = await w.workspace.gc(limits)
  expect(dropped.map(({ facts }) => facts.session)).toEqual(['s1', 's2'])
  expect(bytesAfter).toBeGreaterThan(1_200_000)
  expect(bytesAfter).toBeLessThanOrEqual(1_300_000)
  await sound(w)
})

test('[H181] [O4] pinned, running and last active sessions stay when everything else goes', async () => {
  await using w = await workspace({}, quick)
  await sessions(w, 'pinned', 'gone')
  const running = await w.inSession('running').beginTurn('still at it', { pid: process.pid })
  await sessions(w, 'last')
  await w.workspace.pin('pinned' as SessionId)
  const nothing = { keepSessions: 0, maxAgeMs: 0, maxBytes: 0 }
  expect((await w.workspace.gc(nothing)).dropped.map(({ facts }) => facts.session)).toEqual(['gone'])
  expect(known(w).toSorted()).toEqual(['last', 'pinned', 'running'])
  expect(
    w.workspace
      .sessionSizes()
      .filter(({ pinned }) => pinned)
      .map(({ session }) => session),
  ).toEqual(['pinned'])
  await w.workspace.unpin('pinned' as SessionId)
  await w.workspace.endTurn(running)
  expect((await w.workspace.gc(nothing)).dropped.map(({ facts }) => facts.session)).toEqual([
    'pinned',
    'last',
  ])
  await sound(w)
})

test('[H181] pinning an old session does not make it the one last active', async () => {
  await using w = await workspace({}, quick)
  await sessions(w, 's1', 's2')
  await w.workspace.pin('s1' as SessionId)
  expect(known(w)).toEqual(['s2', 's1'])
  await w.reopen()
  expect(w.workspace.sessionSizes().find(({ session }) => session === 's1')?.pinned).toBe(true)
})

test('[H182] [O3] kept sessions can be undone, redone and restored to their first turn, reverted turns included', async () => {
  await using w = await workspace({ 'a.txt': 'one\n' })
  await sessions(w, 'old')
  w.inSession('kept')
  const first = await w.turn('first', { 'a.txt': 'two\n', 'b.txt': 'b\n' })
  await w.turn('second', { 'a.txt': 'three\n' })
  await w.undo()
  await w.turn('another way', { 'c.txt': 'c\n' })
  await w.workspace.gc({ keepSessions: 1 })
  expect(known(w)).toEqual(['kept'])
  const end = w.files()

  await w.undo({ turns: 2 })
  expect(w.files()).toEqual({ 'a.txt': 'one\n', 'old.txt': 'old\n' })
  await w.redo({ all: true })
  expect(w.files()).toEqual(end)
  const reverted = w.workspace.index.turns(w.session).find(({ prompt }) => prompt === 'second')
  await w.restore(reverted?.id ?? first.turn, 'after')
  expect(w.files()['a.txt']).toBe('three\n')
  await w.restore(first.turn, 'before')
  expect(w.files()).toEqual({ 'a.txt': 'one\n', 'old.txt': 'old\n' })
  await sound(w)
})

test('[H183] [O5] undo in a dropped session changes nothing; its id can begin anew', async () => {
  await using w = await workspace({}, quick)
  await sessions(w, 's1', 's2')
  const turn = w.workspace.index.turns('s1' as SessionId)[0]?.id
  await w.workspace.gc({ keepSessions: 1 })
  const before = w.files()
  w.inSession('s1')
  await expect(w.undo()).rejects.toMatchObject({ code: 'nothing-to-undo' })
  if (turn !== undefined)
    await expect(w.rollback({ turns: [turn] })).rejects.toMatchObject({ code: 'nothing-to-roll-back' })
  expect(w.files()).toEqual(before)
  await w.turn('again', { 's1.txt': 'new\n' })
  await w.undo()
  expect(w.files()).toEqual(before)
  await sound(w)
})

test('[H184] nothing old becomes the user’s when the newest operation goes, and no number is given twice', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' }, quick)
  await sessions(w, 's1', 's2', 's3')
  const highest = w.workspace.index.lastSeq()
  await w.workspace.pin('s1' as SessionId)
  // The last active session is not dropped by gc; a second process may have been quicker, so drop it by hand.
  const { dropOld, planRetention } = await import('./retention.ts')
  const { engine } = w.workspace
  await engine.lock.exclusive(async (lock) => {
    const plan = planRetention(engine, { keepSessions: 0, maxAgeMs: dayMs, maxBytes: 1 }, { size: false })
    const last = w.workspace.sessionSizes().filter(({ session }) => session === 's3')
    const all = [...plan.sessions, ...last.map((facts) => ({ facts, because: 'number' as const }))]
    dropOld(engine, { ...plan, sessions: all }, lock)
  })
  expect(known(w)).toEqual(['s1'])
  expect(w.workspace.index.lastSeq()).toBeGreaterThan(highest)
  expect((await w.workspace.capture()).changes).toEqual([])
  await w.reopen()
  await w.workspace.doctor({ repair: true })
  expect(w.workspace.index.lastSeq()).toBeGreaterThan(highest)
  expect((await w.workspace.capture()).changes).toEqual([])
  await sound(w)
})

test('[H185] the user’s own operations go with the sessions that came after them, and stay where none goes', async () => {
  const time = clock()
  await using w = await workspace({}, { ...quick, now: time.now })
  w.userWrites({ 'note.txt': 'v1\n' })
  await w.workspace.capture('before all')
  await sessions(w, 's1')
  w.userWrites({ 'note.txt': 'v2\n' })
  await w.workspace.capture('between')
  await sessions(w, 's2')
  w.userWrites({ 'note.txt': 'v3\n' })
  await w.workspace.capture('after')
  expect((await w.workspace.gc()).userOperations).toBe(0)
  const labels = () =>
    w.workspace.index
      .operations({})
      .flatMap(({ record }) =>
        record.kind === 'user-edit' && record.label !== undefined ? [record.label] : [],
      )
  expect(labels()).toEqual(['after', 'between', 'before all'])
  await w.workspace.gc({ keepSessions: 1 })
  expect(labels()).toEqual(['after', 'between'])
  await sound(w)
  time.ms += 31 * dayMs
  await sessions(w, 's3')
  await w.workspace.gc()
  expect(labels()).toEqual([])
  await sound(w)
})

test('[H186] what a dropped session rolled back of a kept one stays out', async () => {
  await using w = await workspace({ 'a.txt': 'one\n' }, quick)
  const kept = await w.inSession('kept').turn('change', { 'a.txt': 'two\n', 'b.txt': 'b\n' })
  await w.workspace.pin('kept' as SessionId)
  await sessions(w, 'other')
  await w.rollback({ turns: [kept.turn] })
  w.userWrites({ 'a.txt': 'mine\n' })
  await sessions(w, 'last')
  await w.workspace.gc({ keepSessions: 0 })
  expect(known(w)).toEqual(['last', 'kept'])
  await sound(w)
  await w.reopen()
  await w.workspace.doctor({ repair: true })
  w.inSession('kept')
  await w.undo()
  expect(w.files()).toMatchObject({ 'a.txt': 'mine\n' })
  await w.redo()
  expect(w.files()).toMatchObject({ 'a.txt': 'mine\n' })
  expect(w.files()).not.toHaveProperty('b.txt')
})

test('[H199] blame gives the lines of a dropped session to nobody else', async () => {
  await using w = await workspace({ 'a.txt': 'first\n' }, quick)
  const text = (...lines: readonly string[]) => ({ 'a.txt': `${['first', ...lines].join('\n')}\n` })
  await w.inSession('pinned').turn('one', text('pinned'))
  await w.workspace.pin('pinned' as SessionId)
  await w.inSession('dropped').turn('two', text('pinned', 'dropped'))
  await w.inSession('kept').turn('three', text('pinned', 'dropped', 'kept'))
  await w.inSession('dropped').turn('four', text('pinned', 'dropped', 'kept', 'dropped, too'))
  await sessions(w, 'last')
  await w.workspace.pin('kept' as SessionId)
  await w.workspace.gc({ keepSessions: 3 })
  expect(known(w)).toEqual(['last', 'kept', 'pinned'])
  const lines = await w.workspace.blame('a.txt' as RelPath)
  expect(lines.map(({ text, by, turn }) => [text, by, turn?.session])).toEqual([
    ['first', 'before', undefined],
    ['pinned', 'agent', 'pinned'],
    ['dropped', 'before', undefined],
    ['kept', 'agent', 'kept'],
    ['dropped, too', 'before', undefined],
  ])
})

test('[H187] cut between index and ref, a session is back as a whole, and the next gc drops it', async () => {
  await using w = await workspace({}, quick)
  await sessions(w, 's1', 's2')
  const { index } = w.workspace
  index.atomically(() => index.dropSession('s1' as SessionId, refOf('s1' as SessionId)))
  await w.reopen()
  expect(known(w)).toEqual(['s2', 's1'])
  await sound(w)
  await w.inSession('s1').undo()
  expect(w.files()).toEqual({ 's2.txt': 's2\n' })
  await sessions(w, 's3')
  await w.workspace.gc({ keepSessions: 1 })
  expect(known(w)).toEqual(['s3'])
  await sound(w)
})

test('[H187] a ref that is gone with its session in the index is still a lost ref', async () => {
  await using w = await workspace({}, quick)
  await sessions(w, 's1', 's2')
  deleteRef(w.workspace.engine.fs, w.workspace.engine.objects.folder, refOf('s1' as SessionId))
  await expect(w.workspace.gc({ keepSessions: 0 })).rejects.toMatchObject({ code: 'store-damaged' })
  expect(known(w)).toEqual(['s2', 's1'])
})

test('[H189] [O1] the same bytes in many files and turns are kept once, and count for the session that keeps them', async () => {
  await using w = await workspace({}, quick)
  const bytes = randomBytes(300_000)
  await w.inSession('s1').turn('first', { 'a.bin': bytes })
  const before = w.workspace.engine.objects.packs().reduce((sum, pack) => sum + pack.bytes, 0)
  for (const name of ['s2', 's3'])
    await w.inSession(name).turn(name, { [`${name}.bin`]: bytes, [`copy/${name}.bin`]: bytes })
  await w.inSession('s1').turn('own', { 'own.bin': randomBytes(200_000) })
  await w.inSession('s1').turn('gone again', { 'own.bin': null })
  await sessions(w, 's4')
  const after = w.workspace.engine.objects.packs().reduce((sum, pack) => sum + pack.bytes, 0)
  expect(after - before).toBeLessThan(240_000)
  const sizes = new Map(w.workspace.sessionSizes().map(({ session, bytes }) => [session as string, bytes]))
  expect([...sizes.keys()]).toEqual(['s4', 's1', 's3', 's2'])
  expect(sizes.get('s1')).toBeGreaterThan(200_000)
  expect(sizes.get('s1')).toBeLessThan(240_000)
  expect(sizes.get('s2')).toBeLessThan(20_000)
})

test('[H346] after a gc the index takes no more room than it needs', async () => {
  await using w = await workspace({}, quick)
  for (let at = 0; at < 20; at++)
    await w.inSession(`s${at}`).turn('talk '.repeat(2000), { 'a.txt': `${at}\n` })
  const index = join(w.workspace.engine.folders.folder, 'index.db')
  const bytes = () => [index, `${index}-wal`].reduce((sum, path) => sum + statSync(path).size, 0)
  const full = bytes()
  await w.workspace.gc({ keepSessions: 20 })
  const packed = bytes()
  expect(statSync(`${index}-wal`).size).toBe(0)
  expect(packed).toBeLessThan(full)
  await w.workspace.gc({ keepSessions: 1 })
  expect(bytes()).toBeLessThan(packed)
  expect(known(w)).toEqual(['s19'])
})

test('[H190] gc is due a day after the last one if anything happened', async () => {
  const time = clock()
  await using w = await workspace({}, { ...quick, now: time.now })
  await sessions(w, 's1')
  expect(w.workspace.isGcDue).toBe(false)
  time.ms += dayMs
  expect(w.workspace.isGcDue).toBe(true)
  await w.workspace.gc()
  expect(w.workspace.isGcDue).toBe(false)
  time.ms += 2 * dayMs
  expect(w.workspace.isGcDue).toBe(false)
  await sessions(w, 's2')
  expect(w.workspace.isGcDue).toBe(true)
})

test('[H184] dropped numbers are told in few ranges', () => {
  expect(rangesOf([5, 3, 4, 9], [{ from: 1, to: 2 }])).toEqual([
    { from: 1, to: 5 },
    { from: 9, to: 9 },
  ])
})

test('[H182] plain git finds every kept operation whole after a gc', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' }, quick)
  await sessions(w, 's1', 's2', 's3')
  await w.workspace.gc({ keepSessions: 2 })
  const repo = join(w.workspace.engine.folders.folder, 'objects.git')
  const out = execFileSync('git', ['--git-dir', repo, 'fsck', '--full', '--strict', '--no-dangling'], {
    env: w.env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  expect(out).not.toMatch(/missing|broken|error/)
})
