/** Packing: what is reachable stays, what is not goes, and nobody who is killed leaves a mess. */

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { UnturnError } from '../errors.ts'
import { faultFs, Killed } from '../testing/fault-fs.ts'
import { Fixture, workspace } from '../testing/workspace.ts'
import { type AbsPath, joinAbs } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'
import { openWorkspace } from '../workspace.ts'
import { dropOldPacks, type PackWish, packReachable } from './repack.ts'

const quick = { honest: false } as const

async function busy(options = {}): Promise<Fixture> {
  const w = await workspace({ 'a.txt': 'one\n' }, { ...quick, ...options })
  for (const name of ['s1', 's2', 's3'])
    await w.inSession(name).turn(name, { 'a.txt': `${name}\n`, [`${name}.bin`]: randomBytes(2_000) })
  return w
}

function packFolder(w: Fixture): string {
  return join(w.workspace.engine.folders.folder, 'objects.git/objects/pack')
}

/** Everything in the store's working folders that is no pack of ours or borrowed. */
function leftovers(w: Fixture): readonly string[] {
  const { folders } = w.workspace.engine
  const packs = readdirSync(packFolder(w))
  const strays = packs.filter((name) => {
    const [, pack] = /^(pack-[0-9a-f]{40})\.(?:pack|idx|keep)$/.exec(name) ?? []
    return pack === undefined || !packs.includes(`${pack}.pack`) || !packs.includes(`${pack}.idx`)
  })
  const list = (folder: AbsPath) => readdirSync(folder).map((name) => `${folder}/${name}`)
  const scratch = list(folders.scratch).filter((path) => !path.endsWith('/repack'))
  const repack = readdirSync(folders.scratch).includes('repack')
    ? list(joinAbs(folders.scratch, 'repack'))
    : []
  const inRepository = readdirSync(join(folders.folder, 'objects.git')).filter((name) =>
    name.startsWith('tmp'),
  )
  return [
    ...strays,
    ...scratch,
    ...repack,
    ...inRepository,
    ...list(folders.staging),
    ...list(folders.journal),
  ]
}

function wishOf(w: Fixture): PackWish {
  return { folder: joinAbs(w.workspace.engine.folders.scratch, 'repack'), roots: () => [] }
}

test('[S105] gc leaves one pack and no loose object, whose bytes are all that is left', async () => {
  await using w = await busy()
  const { objects, folders } = w.workspace.engine
  execFileSync('git', ['--git-dir', folders.objects, 'hash-object', '-w', '--stdin'], {
    env: w.env,
    input: 'nobody names this',
  })
  expect([objects.packs().length > 5, objects.looseCount()]).toEqual([true, 1])
  const { bytesBefore, bytesAfter } = await w.workspace.gc()
  expect([objects.packs().length, objects.looseCount(), leftovers(w)]).toEqual([1, 0, []])
  expect(bytesAfter).toBeLessThan(bytesBefore)
  expect(await w.workspace.doctor()).toEqual([])
  const again = await w.workspace.gc()
  expect([again.bytesBefore, again.bytesAfter]).toEqual([bytesAfter, bytesAfter])
})

test('[S101] an operation that came while git packed keeps all it leans on', async () => {
  await using w = await busy()
  const { engine } = w.workspace
  // Dropped, and so unreachable when git packs; the next operation uses the same bytes again.
  const bytes = randomBytes(5_000)
  await w.inSession('dropped').turn('once', { 'big.bin': bytes })
  await w.turn('gone', { 'big.bin': null })
  await w.inSession('s4').turn('other', { 'x.txt': 'x\n' })
  await engine.lock.exclusive(async (lock) =>
    engine.log.dropSession(w.workspace.index.sessions()[1]?.id ?? w.session, lock),
  )
  const packed = await packReachable(engine.objects, engine.git, wishOf(w))
  await w.turn('back', { 'big.bin': bytes, 'y.txt': 'y\n' })
  await engine.lock.exclusive((lock) => dropOldPacks(engine.objects, engine.git, packed, lock))
  const findings = await w.workspace.doctor()
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
  await w.undo()
  await w.redo()
  expect(w.files()['big.bin']).toBe(bytes.toString('latin1'))
})

test('[S102] a process that knew the old packs stores again what went with them', async () => {
  await using w = await busy()
  const bytes = randomBytes(5_000)
  await w.inSession('old').turn('once', { 'big.bin': bytes })
  await w.turn('gone', { 'big.bin': null })
  await w.inSession('new').turn('other', { 'x.txt': 'x\n' })
  {
    await using other = await openWorkspace(w.dir, { explicit: true, env: w.env })
    await other.gc({ keepSessions: 1 })
  }
  await w.turn('back', { 'big.bin': bytes })
  expect(await w.workspace.doctor()).toEqual([])
  await w.undo()
  await w.redo()
  expect(w.files()['big.bin']).toBe(bytes.toString('latin1'))
})

test('[S104] gc during a running turn drops nothing that the turn needs', async () => {
  await using w = await workspace(
    { '.gitignore': 'out/\n', 'out/log': 'before\n', 'a.txt': 'a\n' },
    { ...quick, git: true },
  )
  const turn = await w.beginTurn('running', { pid: process.pid })
  w.userWrites({ 'out/other': 'not the step’s\n' })
  const { step } = await w.workspace.beginStep({ turn, tool: 'shell', paths: [] })
  const list = w.workspace.engine.flights.find(step)?.skipped
  await w.workspace.gc({ keepSessions: 0, maxAgeMs: 0, maxBytes: 0 })
  expect(list !== undefined && w.workspace.engine.objects.has(list)).toBe(true)
  w.userWrites({ 'a.txt': 'b\n' })
  expect(await w.workspace.endStep(step)).toMatchObject([{ path: 'a.txt' }])
  await w.workspace.endTurn(turn)
  await w.undo()
  expect(w.files()['a.txt']).toBe('a\n')
})

test('[S100] [O7] killed at any call of gc, everything is there, and the next run leaves nothing behind', async () => {
  await using rehearsal = await busy()
  await rehearsal.close()
  const counting = faultFs(nodeFs, Number.POSITIVE_INFINITY, 'kill')
  await (await rehearsal.open({ fs: counting })).gc({ keepSessions: 2 })
  const cuts = process.env.UNTURN_SOAK === undefined ? 7 : 100
  const firstSession = 's1'
  for (let cut = 1; cut <= cuts; cut += 1) {
    await using w = await busy()
    await w.close()
    const fs = faultFs(nodeFs, Math.round((counting.calls * (cut - 0.3)) / cuts), 'kill')
    await w
      .open({ fs })
      .then((opened) => opened.gc({ keepSessions: 2 }))
      .catch(expectKill)
    expect(fs.fired).toBe(true)
    fs.lifted = true
    await w.reopen()
    const findings = await w.workspace.doctor()
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
    await w.inSession('s3').undo()
    expect(w.files()['a.txt']).toBe('s2\n')
    await w.redo()
    await w.workspace.gc({ keepSessions: 2 })
    expect(w.workspace.index.sessions().map(({ id }) => id)).not.toContain(firstSession)
    expect([leftovers(w), await w.workspace.doctor()]).toEqual([[], []])
  }
})

function expectKill(error: unknown): void {
  if (!(error instanceof Killed) && !(error instanceof UnturnError)) throw error
}

test('[S100] [O7] what killed processes left in the store is gone after the next gc', async () => {
  await using w = await busy()
  const { folders } = w.workspace.engine
  const checksum = '0123456789'.repeat(4)
  for (const name of [
    'tmp_pack_Xa1b2C',
    'tmp_idx_Xa1b2C',
    `tmp-pack-${checksum}-00000000`,
    `pack-${checksum}.rev`,
    `pack-${checksum}.keep`,
  ])
    writeFileSync(join(packFolder(w), name), 'half')
  writeFileSync(join(folders.folder, 'objects.git/tmp-ref-abcdef'), 'half')
  execFileSync('mkdir', [
    '-p',
    join(folders.scratch, 'repack'),
    join(folders.scratch, 'merge-99999999-0123456789ab/objects'),
  ])
  writeFileSync(join(folders.scratch, 'repack/pack-half.pack'), 'half')
  await w.workspace.gc()
  expect([leftovers(w), await w.workspace.doctor()]).toEqual([[], []])
})

/** A repository whose only pack is borrowed by the first capture. */
async function borrowing(): Promise<Fixture> {
  const w = new Fixture(quick)
  w.git('init', '-q', '-b', 'main')
  w.userWrites(Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`f${i}.bin`, randomBytes(3_000)])))
  w.git('add', '.')
  w.git('commit', '-qm', 'one')
  w.userWrites({ 'f0.bin': randomBytes(50_000) })
  w.git('commit', '-qam', 'two')
  w.userWrites({ 'f0.bin': 'small again\n' })
  w.git('commit', '-qam', 'three')
  w.git('repack', '-adq')
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  execFileSync('touch', [join(w.dir, '.git/index')])
  await w.open()
  await w.workspace.capture()
  return w
}

const borrowed = (w: Fixture) => w.workspace.engine.objects.packs().filter((pack) => pack.borrowed)

test('[S103] [O1] a clean checkout costs little next to its packs, and gc leaves the borrowed one in its place', async () => {
  await using w = await borrowing()
  const own = () =>
    w.workspace.engine.objects.packs().reduce((sum, pack) => (pack.borrowed ? sum : sum + pack.bytes), 0)
  expect(borrowed(w)).toHaveLength(1)
  expect(own()).toBeLessThan((borrowed(w)[0]?.bytes ?? 0) / 5)
  await w.workspace.gc()
  expect(borrowed(w)).toHaveLength(1)
  expect(own()).toBeLessThan((borrowed(w)[0]?.bytes ?? 0) / 5)
  expect(await w.workspace.doctor()).toEqual([])
})

test('[S103] a borrowed pack goes when no operation needs it any more', async () => {
  await using w = await borrowing()
  await w
    .inSession('old')
    .turn('remove all', Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`f${i}.bin`, null])))
  await w.inSession('new').turn('begin anew', { 'new.txt': 'new\n' })
  await w.workspace.gc()
  expect(borrowed(w)).toHaveLength(1)
  await w.workspace.gc({ keepSessions: 1 })
  expect(borrowed(w)).toEqual([])
  expect([leftovers(w), await w.workspace.doctor()]).toEqual([[], []])
})

test('[S103] once the user’s repository is gone, its packs are packed like our own', async () => {
  await using w = await borrowing()
  const before = borrowed(w)[0]?.bytes ?? 0
  rmSync(w.pathOf('.git'), { recursive: true, force: true })
  const { bytesAfter } = await w.workspace.gc()
  expect(borrowed(w)).toEqual([])
  // Fifty thousand random bytes of an old commit were never in a snapshot.
  expect(bytesAfter).toBeLessThan(before - 45_000)
  expect([leftovers(w), await w.workspace.doctor()]).toEqual([[], []])
  await w.turn('wreck', { 'f1.bin': null })
  await w.undo()
  expect(Object.keys(w.files())).toHaveLength(30)
})
