/** Keeping house, with the built command: gc, store, pin, purge, and what killed processes leave behind. */

import { randomBytes } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Project } from './support.ts'

const secret = 'E2E-SECRET-0815-keep-out'

function allObjects(project: Project): string {
  return project.storeGit(['cat-file', '--batch-all-objects', '--batch', '--buffer'])
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesBelow(path) : [path]
  })
}

/** What no store should have while nobody works in it. */
function leftovers(project: Project): readonly string[] {
  const names = filesBelow(project.store).map((path) => path.slice(project.store.length + 1))
  const odd = /(^|\/)\.?tmp[_-]|^(staging|scratch|journal|flights)\/|\.(rev|lock)$/
  const packs = names.filter((name) => name.includes('/pack/'))
  const halves = packs.filter((name) => {
    const base = name.replace(/\.[a-z]+$/, '')
    return !packs.includes(`${base}.pack`) || !packs.includes(`${base}.idx`)
  })
  return [...names.filter((name) => odd.test(name)), ...halves]
}

test('[U20] [O2] [O5] gc says what would go, drops exactly that, and a dropped session cannot be undone', () => {
  using project = new Project({ 'a.txt': '0\n' })
  for (const session of ['s1', 's2', 's3']) project.turn({ [`${session}.txt`]: 'x\n' }, { session })
  const plain = project.unturn(['gc', '--keep-sessions', '1', '--dry-run'])
  expect(plain).toMatchObject({ code: 0, stderr: '' })
  expect(plain.stdout).toBe(
    'Would drop s1: 1 turn, last used just now (number)\nWould drop s2: 1 turn, last used just now (number)\nWould drop 1 capture of your own from that time\n',
  )
  const planned = project.ask('gc', '--keep-sessions', '1', '--dry-run')
  expect(planned).toMatchObject({ dryRun: true, dropped: [{ session: 's1' }, { session: 's2' }] })
  expect(project.ask('store').sessions).toHaveLength(3)
  const done = project.ask('gc', '--keep-sessions', '1')
  expect(done).toMatchObject({
    dryRun: false,
    dropped: planned.dropped,
    userOperations: planned.userOperations,
  })
  expect(project.ask('store').sessions).toMatchObject([{ session: 's3', pinned: false, active: true }])
  const before = project.files()
  expect(project.unturn(['undo', '--session', 's1', '--json'])).toMatchObject({
    code: 1,
    json: { error: { code: 'unknown-id' } },
  })
  expect(project.files()).toEqual(before)
  expect(project.ask('undo').reverted).toHaveLength(1)
  expect(project.ask('doctor')).toMatchObject({ ok: true, findings: [] })
})

test('[U20] limits that make no sense are refused', () => {
  using project = new Project({ 'a.txt': '0\n' })
  for (const args of [
    ['--keep-sessions', 'many'],
    ['--keep-sessions', '-1'],
    ['--max-age', 'old'],
    ['--max-age', '3'],
    ['--max-size', 'large'],
    ['--max-size', '-5M'],
  ])
    expect(project.unturn(['gc', ...args])).toMatchObject({ code: 2 })
})

test('[U20] [U22] [O4] a pinned session and one with a running turn outlive a gc to nothing', () => {
  using project = new Project({ 'a.txt': '0\n' })
  project.turn({ 'p.txt': 'p\n' }, { session: 'pinned' })
  project.turn({ 'g.txt': 'g\n' }, { session: 'gone' })
  const { turn } = project.ask('turn', 'begin', '--session', 'running', '--pid', `${process.pid}`)
  project.turn({ 'l.txt': 'l\n' }, { session: 'last' })
  expect(project.ask('pin', 'pin')).toEqual({ session: 'pinned', pinned: true })
  const limits = ['--keep-sessions', '0', '--max-age', '0s', '--max-size', '0']
  expect(project.ask('gc', ...limits).dropped).toMatchObject([{ session: 'gone' }])
  project.write({ 'r.txt': 'by the running turn\n' })
  expect(project.ask('turn', 'end', '--turn', turn).changes).toMatchObject([{ path: 'r.txt' }])
  expect(project.unturn(['unpin', 'pinned']).stdout).toBe('Session pinned is no longer pinned.\n')
  expect(project.ask('gc', ...limits).dropped).toMatchObject([{ session: 'pinned' }, { session: 'last' }])
  expect(project.unturn(['pin', 'nobody'])).toMatchObject({ code: 1 })
  expect(project.unturn(['pin'])).toMatchObject({ code: 2 })
})

test('[U21] [O1] [O7] store shows each session, and agrees with the disk', () => {
  using project = new Project({ 'a.bin': randomBytes(100_000) })
  project.turn({ 'b.bin': project.read('a.bin'), 'c.bin': randomBytes(200_000) }, { session: 's1' })
  project.turn({ 'd.bin': readFileSync(project.pathOf('c.bin')) }, { session: 's2' })
  const { bytes, diskBytes, borrowedBytes, sessions } = project.ask('store')
  expect(bytes).toBeLessThan(420_000)
  const onDisk = filesBelow(project.store).reduce((sum, path) => sum + lstatSync(path).size, 0)
  // Opening the index makes and removes its journal; nothing else may differ.
  expect(Math.abs(diskBytes - onDisk)).toBeLessThan(100_000)
  expect(borrowedBytes).toBe(0)
  expect(sessions.map((one: { session: string }) => one.session)).toEqual(['s2', 's1'])
  const plain = project.unturn(['store']).stdout
  expect(plain).toMatch(/ on disk: \d+ operations of 2 sessions in \d+ packs\n/)
  expect(plain).toMatch(/ {2}s2 {2}1 turn, just now, active\n/)
})

test('[U23] [O6] purge takes a secret out of every object and leaves the file', () => {
  using project = new Project({ 'secret.txt': `${secret} 1\n`, 'a.txt': 'one\n' })
  project.turn({ 'secret.txt': `${secret} 2\n`, 'a.txt': 'two\n' })
  expect(allObjects(project)).toContain(secret)
  const told = project.unturn(['purge', 'secret.txt'])
  expect(told).toMatchObject({ code: 0, stderr: '' })
  expect(told.stdout).toMatch(/^Removed secret\.txt from \d+ operations: 2 versions of it\.\n/)
  expect(told.stdout).toContain('the next capture takes it in again')
  expect(allObjects(project)).not.toContain(secret)
  for (const path of filesBelow(project.store)) expect(readFileSync(path, 'latin1')).not.toContain(secret)
  expect(project.read('secret.txt')).toBe(`${secret} 2\n`)
  expect(project.ask('purge', 'secret.txt')).toMatchObject({ paths: ['secret.txt'], operations: 0, stay: [] })
  const undone = project.ask('undo')
  expect(undone.notUndone.skipped).toContainEqual({ path: 'secret.txt', reason: 'purged' })
  expect(project.files()).toEqual({ 'secret.txt': `${secret} 2\n`, 'a.txt': 'one\n' })
  expect(project.ask('doctor')).toMatchObject({ ok: true, findings: [] })
  expect(project.unturn(['purge'])).toMatchObject({ code: 2 })
  expect(project.unturn(['purge', '../outside'])).toMatchObject({ code: 1 })
})

test('[U23] [O6] killed half-way and repeated, purge ends the same', async () => {
  using project = new Project({ 'secret.txt': `${secret}\n`, 'a.txt': 'one\n' })
  for (let i = 0; i < 3; i += 1) project.turn({ 'secret.txt': `${secret} ${i}\n`, 'a.txt': `${i}\n` })
  for (const afterMs of [150, 230]) {
    const { child, ended } = project.start(['purge', 'secret.txt'])
    setTimeout(() => child.kill('SIGKILL'), afterMs)
    await ended
    expect(project.ask('doctor').ok).toBe(true)
  }
  project.ask('purge', 'secret.txt')
  expect(allObjects(project)).not.toContain(secret)
  expect(leftovers(project)).toEqual([])
  project.ask('undo')
  expect(project.read('a.txt')).toBe('1\n')
})

test('[U20] [O7] captures, undos and gcs that were killed leave nothing behind', async () => {
  using project = new Project({ 'a.txt': '0\n' })
  project.turn({ 'a.txt': '1\n', 'big.bin': randomBytes(3_000_000) }, { session: 's1' })
  const killed = async (args: readonly string[], afterMs: number) => {
    const { child, ended } = project.start(args)
    setTimeout(() => child.kill('SIGKILL'), afterMs)
    await ended
  }
  for (const [at, args] of [['capture'], ['undo'], ['redo'], ['gc'], ['gc']].entries()) {
    project.write({ [`new${at}.bin`]: randomBytes(1_500_000) })
    await killed(args, 120 + 25 * (at % 4))
  }
  project.unturn(['gc'])
  expect(leftovers(project)).toEqual([])
  expect(project.ask('doctor')).toMatchObject({ ok: true, findings: [] })
  const { diskBytes } = project.ask('store')
  const onDisk = filesBelow(project.store).reduce((sum, path) => sum + lstatSync(path).size, 0)
  expect(Math.abs(diskBytes - onDisk)).toBeLessThan(100_000)
})

test('[U20] a turn is recorded while gc packs', async () => {
  using project = new Project({ 'a.txt': '0\n' })
  for (let i = 0; i < 3; i += 1) project.turn({ [`f${i}.bin`]: randomBytes(800_000) }, { session: `s${i}` })
  const gcs = [project.start(['gc', '--keep-sessions', '2']), project.start(['gc'])]
  const turn = project.turn({ 'a.txt': '1\n', 'f0.bin': null }, { session: 'busy' })
  for (const { ended } of gcs) expect(await ended).toMatchObject({ code: 0 })
  expect(project.ask('doctor')).toMatchObject({ ok: true, findings: [] })
  expect(project.ask('undo', '--session', 'busy').reverted).toEqual([turn])
  expect(project.read('a.txt')).toBe('0\n')
})

test('[U24] gc runs by itself after a turn when it is due, and nobody waits for it', async () => {
  using project = new Project({ 'a.txt': '0\n' })
  project.turn({ 'a.txt': '1\n' })
  const mark = join(project.store, 'last-gc')
  project.ask('gc')
  const packs = () => readdirSync(join(project.store, 'objects.git/objects/pack')).length
  const long = Date.now() - 2 * 86_400_000
  writeFileSync(mark, `${long} 1\n`)
  project.turn({ 'a.txt': '2\n' })
  expect(readFileSync(mark, 'utf8')).toBe(`${long} 1\n`)
  const { turn } = project.ask('turn', 'begin')
  const env = { UNTURN_AUTO_GC: '1' }
  expect(project.unturn(['turn', 'end', '--turn', turn, '--json'], { env })).toMatchObject({
    code: 0,
    stderr: '',
  })
  await until(() => packs() === 2 && readdirSync(join(project.store, 'scratch/repack')).length === 0)
  expect(Number(readFileSync(mark, 'utf8').split(' ')[0])).toBeGreaterThan(Date.now() - 60_000)
  // Waits for the lock of the gc that runs by itself, so that no process of ours is left when the folder goes.
  expect(project.ask('gc')).toMatchObject({ dropped: [] })
  expect(project.ask('gc', '--if-due')).toMatchObject({ bytesBefore: 0 })
})

async function until(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !isSo(); ) {
    if (Date.now() > end) throw new Error('it did not come to that in 20 s')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

test('[U25] the history of a folder that was renamed is named, and taken over on request', () => {
  using project = new Project({ 'a.txt': 'old\n' })
  project.turn({ 'a.txt': 'new\n' })
  const moved = `${project.dir}-2`
  renameSync(project.dir, moved)
  const there = { cwd: moved }

  const hint = `If this folder was ${project.dir} before: unturn store --adopt ${project.dir}\n`
  for (const name of ['status', 'log', 'store'])
    expect([name, project.unturn([name], there).stdout]).toEqual([name, expect.stringContaining(hint)])
  expect(project.unturn(['store', '--adopt', project.dir], there)).toMatchObject({
    code: 0,
    stdout: `The history of ${project.dir} is that of ${moved} now.\n`,
  })
  expect(project.unturn(['undo', '--json'], there).json.files).toMatchObject([{ path: 'a.txt' }])
  expect(readFileSync(join(moved, 'a.txt'), 'utf8')).toBe('old\n')
  expect(project.unturn(['doctor', '--json'], there).json).toMatchObject({ ok: true, findings: [] })

  const again = project.unturn(['store', '--adopt', project.dir, '--json'], there)
  expect(again).toMatchObject({ code: 1, json: { error: { code: 'workspace-refused' } } })
})
