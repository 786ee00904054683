/** Apply, journal and recovery, rule by rule. */

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { isFailure } from '../errors.ts'
import type { Fs } from '../fs.ts'
import { objectId } from '../object-id.ts'
import {
  type ApplyWorld,
  applyIn,
  applyWorld,
  build,
  complete,
  file,
  folder,
  leftovers,
  link,
  makeFolders,
  planBetween,
  recoverIn,
  restarted,
  type Shape,
  shapeOf,
  testLock,
} from '../testing/apply-world.ts'
import { faultFs } from '../testing/fault-fs.ts'
import { errno, SimDisk } from '../testing/sim-disk.ts'
import {
  type AbsPath,
  absPathUnchecked,
  type BlobId,
  joinAbs,
  type RelPath,
  relPathUnchecked,
} from '../values.ts'
import { apply, isStagingName, needsRecovery, obstacles, type Plan } from './apply.ts'
import { formatJournal, type Journal } from './journal.ts'
import { nodeFs } from './node-fs.ts'

const temps: string[] = []

afterEach(() => {
  for (const temp of temps.splice(0)) rmSync(temp, { recursive: true, force: true })
})

function realWorld(shape: Shape, fs: Fs = nodeFs): ApplyWorld {
  const temp = mkdtempSync(join(tmpdir(), 'unturn-apply-'))
  temps.push(temp)
  const world = applyWorld(fs, absPathUnchecked(join(temp, 'base')))
  makeFolders(world)
  build(world, shape)
  return world
}

function simWorld(shape: Shape, disk = new SimDisk()): ApplyWorld {
  const world = applyWorld(disk, absPathUnchecked('/base'))
  makeFolders(world)
  build(world, shape)
  return world
}

function at(world: ApplyWorld, path: string): AbsPath {
  return joinAbs(world.context.root, path)
}

function textAt(world: ApplyWorld, path: string): string {
  return world.context.fs.readFile(at(world, path)).toString()
}

function sorted(shape: Shape): Shape {
  return Object.fromEntries(Object.entries(shape).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

/** From one shape to the other and back again, exactly; nothing of ours stays behind. */
function expectThereAndBack(world: ApplyWorld, before: Shape, after: Shape): void {
  for (const [from, to] of [
    [before, after],
    [after, before],
  ] as const) {
    expect(applyIn(world, planBetween(world, from, to))).toEqual({ kind: 'done', left: [] })
    expect(sorted(shapeOf(world))).toEqual(sorted(complete(to)))
    expect(leftovers(world)).toEqual([])
  }
}

/** A port on which something happens right before the first call of one method that concerns a path. */
function meanwhile(inner: Fs, method: 'rename' | 'hardLink' | 'syncFolder', happens: () => void): Fs {
  let done = false
  const once = (): void => {
    if (done) return
    done = true
    happens()
  }
  return {
    ...bound(inner),
    rename: (from, to) => {
      if (method === 'rename' && !to.includes('/journal/')) once()
      inner.rename(from, to)
    },
    hardLink: (from, to) => {
      if (method === 'hardLink') once()
      inner.hardLink(from, to)
    },
    syncFolder: (path) => {
      if (method === 'syncFolder' && path.includes('/project')) once()
      inner.syncFolder(path)
    },
  }
}

function bound(inner: Fs): Fs {
  return faultFs(inner, Number.POSITIVE_INFINITY, 'kill')
}

// ---- what apply does -------------------------------------------------------------------------------------

test('[W30] writes, adds, deletes, makes executable and links, and leaves nothing behind', () => {
  const before = { 'a.txt': file('old'), 'gone.txt': file('g'), 'run.sh': file('r'), l: link('a.txt') }
  const after = { 'a.txt': file('new'), 'x/y/z.txt': file('z'), 'run.sh': file('r', 0o755), l: link('x') }
  expectThereAndBack(realWorld(before), before, after)
})

test('[W30] [G14] folders come back with their modes, and removed ones go deepest first', () => {
  const before = { 'p/q/r/f': file('1'), 'p/q': folder(0o700), empty: folder(0o711), 'k/x': file('k') }
  const after = { 'k/x': file('k'), k: folder(0o700) }
  expectThereAndBack(realWorld(before), before, after)
})

test('[W30] [G18] a name of 255 bytes, a name that is not UTF-8, and a path over 1,000 characters', () => {
  const long = 'n'.repeat(255)
  const deep = Array.from({ length: 12 }, () => 'd'.repeat(90)).join('/')
  const before = { [long]: file('1'), 'caf\xe9': file('2'), [`${deep}/f`]: file('3'), 'a\n"\\ b': file('4') }
  const after = { [long]: file('one'), 'caf\xe9': file('two'), [`${deep}/f`]: file('three') }
  expectThereAndBack(realWorld(before), before, after)
})

test('[W31] [G24] a file becomes a folder and a folder a file in one plan', () => {
  const before = { x: file('flat'), 'y/in/deep': file('d'), 'y/l': link('nowhere') }
  const after = { 'x/a': file('a'), 'x/b/c': file('c'), y: file('flat now') }
  expectThereAndBack(realWorld(before), before, after)
})

test('[W31] [G7] [G8] a link to a folder becomes a folder with the same names, and nothing behind it changes', () => {
  const before = { 'target/a': file('theirs'), 'target/b': file('b'), l: link('target') }
  const after = { 'target/a': file('theirs'), 'target/b': file('b'), 'l/a': file('ours'), 'l/n': file('n') }
  expectThereAndBack(realWorld(before), before, after)
})

test('[W31] [G5] [G6] links are retargeted, replaced by files and put back without ever being followed', () => {
  const before = { t: file('target'), a: link('t'), b: link('b'), c: file('c'), d: link('nowhere') }
  const after = { t: file('target'), a: file('t', 0o600), b: link('t'), c: link('t'), d: link('t') }
  expectThereAndBack(realWorld(before), before, after)
})

test('[W31] [G27] two files swap names, and a chain of renames', () => {
  const before = { a: file('A'), b: file('B'), '1': file('one'), '2': file('two') }
  const after = { a: file('B'), b: file('A'), '2': file('one'), '3': file('two') }
  expectThereAndBack(realWorld(before), before, after)
})

test('[W32] [G2] where only the mode differs, the content is not rewritten', () => {
  const world = realWorld({ 'run.sh': file('x'), f: file('same') })
  const stat = () => world.context.fs.lstat(at(world, 'run.sh'))
  const then = stat()
  applyIn(world, planBetween(world, { 'run.sh': file('x') }, { 'run.sh': file('x', 0o755) }))
  expect(stat()).toMatchObject({ ino: then?.ino, mtimeMs: then?.mtimeMs, perm: 0o755 })
})

test('[W32] [B4] paths that are not in the plan keep inode and times', () => {
  const world = realWorld({ a: file('old'), 'sub/n': file('n') })
  const then = world.context.fs.lstat(at(world, 'sub/n'))
  applyIn(world, planBetween(world, { a: file('old') }, { a: file('new') }))
  expect(world.context.fs.lstat(at(world, 'sub/n'))).toEqual(then)
})

test('[W33] [G3] modes come back exactly, and a staged copy is never wider than the file', () => {
  const before = { secret: file('s', 0o600), fixed: file('f', 0o444), odd: file('o', 0o200) }
  const after = { secret: file('t', 0o644), fixed: file('g', 0o644), odd: file('p', 0o400) }
  const world = realWorld(before)
  applyIn(world, planBetween(world, before, after))
  const seen: number[] = []
  const watching: Fs = {
    ...bound(nodeFs),
    createFile: (path, chunks, perm) => {
      nodeFs.createFile(path, chunks, perm)
      if (path.includes('/staging/')) seen.push(nodeFs.lstat(path)?.perm ?? 0o777)
    },
  }
  applyIn(restarted(world, watching), planBetween(world, after, before))
  expect(sorted(shapeOf(world))).toEqual(sorted(before))
  expect(seen.toSorted()).toEqual([0o444, 0o600, 0o600].toSorted())
})

test('[W34] [G25] writing through one of two hard-linked names leaves the bytes of the other alone', () => {
  const world = realWorld({ one: file('both') })
  world.context.fs.hardLink(at(world, 'one'), at(world, 'two'))
  applyIn(world, planBetween(world, { one: file('both') }, { one: file('new') }))
  expect([textAt(world, 'one'), textAt(world, 'two')]).toEqual(['new', 'both'])
})

test('[W35] [P4] [F11] a folder that holds something nobody captured stays, with it', () => {
  const world = realWorld({ 'made/agent.txt': file('a'), 'made/user.txt': file('u') })
  const plan = planBetween(world, { 'made/agent.txt': file('a') }, {})
  expect(applyIn(world, plan)).toEqual({ kind: 'done', left: [] })
  expect(shapeOf(world)).toEqual({ made: folder(), 'made/user.txt': file('u') })
})

test('[W35] a folder without write permission is opened for the change and sealed again', () => {
  const before = { 'in/a': file('a'), in: folder(0o555), 'go/b': file('b'), go: folder(0o500) }
  const after = { 'in/c': file('c'), in: folder(0o755) }
  expectThereAndBack(realWorld(before), before, after)
})

test('[W36] [G23] a change of case only keeps the content, on a disk that ignores case', () => {
  const before = { 'read.me': file('text'), 'Src/a': file('a'), 'Src/b': file('b') }
  const after = { 'READ.me': file('text'), 'src/a': file('a'), 'src/B': file('b, changed') }
  expectThereAndBack(simWorld(before, new SimDisk({ ignoresCase: true })), before, after)
})

test('[W36] [G23] the same with a kill at every call', () => {
  const before = { 'read.me': file('text'), 'Src/a': file('a') }
  const after = { 'READ.me': file('text'), 'src/a': file('a') }
  for (let call = 1, fired = true; fired; call++) {
    const disk = new SimDisk({ ignoresCase: true })
    const world = simWorld(before, disk)
    const port = faultFs(disk, call, 'kill')
    attempt(() => applyIn(restarted(world, port), planBetween(world, before, after)))
    recoverIn(world)
    const expected = world.published.length > 0 ? after : before
    expect(sorted(shapeOf(world))).toEqual(sorted(complete(expected)))
    fired = port.fired
  }
})

test('[W37] a path that already is in its new state is not touched', () => {
  const world = realWorld({ a: file('new'), b: file('old') })
  const then = world.context.fs.lstat(at(world, 'a'))
  const plan = planBetween(
    world,
    { a: file('old'), b: file('old'), c: file('c') },
    { a: file('new'), b: file('new') },
  )
  expect(applyIn(world, plan)).toEqual({ kind: 'done', left: [] })
  expect(world.context.fs.lstat(at(world, 'a'))).toEqual(then)
  expect(textAt(world, 'b')).toBe('new')
})

test('[W38] the operation is published once, after every path is in place and before the journal goes', () => {
  const world = realWorld({ a: file('old') })
  const seen: string[] = []
  const publish = (note: string): void => {
    seen.push(
      `${note} ${textAt(world, 'a')} ${world.context.fs.readFolder(world.context.journal).includes('placed')}`,
    )
  }
  const plan = planBetween(world, { a: file('old') }, { a: file('new') })
  apply(world.context, plan, 'undo 7', publish, testLock)
  expect(seen).toEqual(['undo 7 new true'])
})

test('[W38] if the operation cannot be published, every file is back, as the very file it was', () => {
  const before = { a: file('old'), gone: file('g'), l: link('a') }
  const world = realWorld(before)
  const identities = () => ['a', 'gone'].map((path) => world.context.fs.lstat(at(world, path))?.ino)
  const then = identities()
  const publish = (): void => {
    throw new Error('no room in the log')
  }
  const plan = planBetween(world, before, { a: file('new'), n: file('n'), l: file('l') })
  expect(() => apply(world.context, plan, 'note', publish, testLock)).toThrow(/no room in the log/)
  expect(sorted(shapeOf(world))).toEqual(sorted(before))
  expect(identities()).toEqual(then)
  expect(leftovers(world)).toEqual([])
})

// ---- what stands in the way ------------------------------------------------------------------------------

test('[W39] [P3] [H8] what the plan did not see blocks it: nothing is changed, and every such path is named', () => {
  const world = realWorld({
    a: file('user'),
    b: file('b'),
    taken: file('nobody captured this'),
    'f/u': file('u'),
  })
  const then = shapeOf(world)
  const plan = planBetween(
    world,
    { a: file('agent'), b: file('b'), missing: file('m'), 'f/x': file('x') },
    { a: file('old'), b: file('new'), missing: file('n'), taken: file('t'), f: file('flat') },
  )
  const left = [
    { path: 'a', reason: 'changed-meanwhile' },
    { path: 'f', reason: 'occupied' },
    { path: 'missing', reason: 'changed-meanwhile' },
    { path: 'taken', reason: 'occupied' },
  ]
  expect(obstacles(world.context, plan)).toEqual(left)
  expect(applyIn(world, plan)).toEqual({ kind: 'blocked', left })
  expect(shapeOf(world)).toEqual(then)
  expect([world.published, leftovers(world)]).toEqual([[], []])
})

test('[W39] a mode that was changed meanwhile is newer work, too', () => {
  const world = realWorld({ a: file('same', 0o600) })
  const plan = planBetween(world, { a: file('same', 0o644) }, { a: file('old', 0o644) })
  expect(applyIn(world, plan).kind).toBe('blocked')
})

test('[W40] [M3] nothing is written or deleted behind a link that took the place of a parent folder', () => {
  const world = realWorld({ 'out/f': file('theirs'), in: link('out') })
  const plan = planBetween(world, { 'in/f': file('theirs') }, { 'in/n': file('n') })
  expect(applyIn(world, plan)).toMatchObject({ kind: 'blocked', left: [{ reason: 'behind-link' }, {}] })
  expect(textAt(world, 'out/f')).toBe('theirs')
})

test('[W40] [M3] a folder swapped for a link after the check is noticed when its turn comes', () => {
  const world = realWorld({ 'in/f': file('ours'), 'out/f': file('theirs') })
  const plan = planBetween(world, { 'in/f': file('ours') }, { 'in/f': file('new'), 'in/n': file('n') })
  const swap = (): void => {
    nodeFs.rename(at(world, 'in'), at(world, 'moved'))
    nodeFs.createLink(at(world, 'in'), 'out')
  }
  const swapping = afterJournal(swap)
  expect(applyIn(restarted(world, swapping), plan)).toEqual({
    kind: 'done',
    left: [
      { path: 'in/f', reason: 'behind-link' },
      { path: 'in/n', reason: 'behind-link' },
    ],
  })
  expect([textAt(world, 'out/f'), textAt(world, 'moved/f')]).toEqual(['theirs', 'ours'])
})

test.each(['../x', '.git/config', 'sub/.GIT/hooks', '/etc/passwd', 'a//b'])(
  '[W40] [M1] a plan for %s is refused',
  (path) => {
    const world = realWorld({})
    const to = { kind: 'file', perm: 0o644, blob: objectId('blob', Buffer.from('x')) } as const
    const plan: Plan = {
      paths: [{ path: relPathUnchecked(path), from: undefined, to }],
      folders: { create: [], remove: [], chmod: [] },
    }
    expect(() => applyIn(world, plan)).toThrow(/does not write to/)
  },
)

/** Something that happens once the journal is in force, right before the first path is touched. */
function afterJournal(happens: () => void): Fs {
  let done = false
  return {
    ...bound(nodeFs),
    rename: (from, to) => {
      nodeFs.rename(from, to)
      if (done || !to.endsWith('/journal/current')) return
      done = true
      happens()
    },
  }
}

// ---- somebody saves in that instant ----------------------------------------------------------------------

const threeBefore = { a: file('a'), b: file('b'), c: file('c') }
const threeAfter = { a: file('A'), b: file('B') }

test.each([
  ['deleted', (world: ApplyWorld) => nodeFs.unlink(at(world, 'b'))],
  ['given another mode', (world: ApplyWorld) => nodeFs.chmod(at(world, 'b'), 0o700)],
  ['saved', (world: ApplyWorld) => saveByRename(world, 'b', 'saved')],
])('[W41] [F16] a file %s after the check is left as it is, and all others go on', (_, change) => {
  const world = realWorld(threeBefore)
  const port = afterJournal(() => change(world))
  expect(applyIn(restarted(world, port), planBetween(world, threeBefore, threeAfter))).toEqual({
    kind: 'done',
    left: [{ path: 'b', reason: 'changed-meanwhile' }],
  })
  expect(textAt(world, 'a')).toBe('A')
  expect(nodeFs.lstat(at(world, 'c'))).toBeUndefined()
})

test('[W41] [F16] a file saved between the look and the rename is left as saved', () => {
  const world = realWorld({ a: file('a') })
  const save = (): void => saveByRename(world, 'a', 'saved by the user')
  const port = meanwhile(nodeFs, 'hardLink', save)
  expect(
    applyIn(restarted(world, port), planBetween(world, { a: file('a') }, { a: file('A') })),
  ).toMatchObject({
    left: [{ path: 'a', reason: 'changed-meanwhile' }],
  })
  expect(textAt(world, 'a')).toBe('saved by the user')
  expect(leftovers(world)).toEqual([])
})

test('[W41] [F16] a file saved in the instant in which it is deleted comes back as saved', () => {
  const world = realWorld({ a: file('a') })
  const port = meanwhile(nodeFs, 'rename', () => saveByRename(world, 'a', 'saved by the user'))
  expect(applyIn(restarted(world, port), planBetween(world, { a: file('a') }, {}))).toMatchObject({
    left: [{ path: 'a', reason: 'changed-meanwhile' }],
  })
  expect(textAt(world, 'a')).toBe('saved by the user')
})

test('[W41] [F16] a file that appears where one is to come is left alone', () => {
  const world = realWorld({})
  const port = meanwhile(nodeFs, 'hardLink', () =>
    nodeFs.createFile(at(world, 'n'), [Buffer.from('user')], 0o644),
  )
  expect(applyIn(restarted(world, port), planBetween(world, {}, { n: file('agent') }))).toMatchObject({
    left: [{ path: 'n', reason: 'occupied' }],
  })
  expect(textAt(world, 'n')).toBe('user')
})

test.each([
  ['replaced', { a: file('new') }],
  ['deleted', {}],
])('[W42] a program that still writes into the file that was %s gets its file back', (_, after) => {
  const disk = new SimDisk()
  const world = simWorld({ a: file('old') }, disk)
  const write = (): void => {
    disk.overwrite(absPathUnchecked('/base/store/staging/b0'), Buffer.from('late write'))
  }
  const port = meanwhileOn(disk, write)
  expect(applyIn(restarted(world, port), planBetween(world, { a: file('old') }, after))).toMatchObject({
    left: [{ path: 'a', reason: 'changed-meanwhile' }],
  })
  expect(textAt(world, 'a')).toBe('late write')
  expect(leftovers(world)).toEqual([])
})

/** The write comes right after the file was replaced or taken away. */
function meanwhileOn(disk: SimDisk, write: () => void): Fs {
  let done = false
  return {
    ...bound(disk),
    rename: (from, to) => {
      disk.rename(from, to)
      if (done || !`${from}${to}`.includes('/project/')) return
      done = true
      write()
    },
  }
}

test('[W43] what has lost its place to something newer, and was never captured, is kept in staging', () => {
  const world = realWorld({ a: file('a') })
  let renamed = false
  const port: Fs = {
    ...bound(nodeFs),
    rename: (from, to) => {
      const takes = !renamed && from === at(world, 'a')
      if (takes) saveByRename(world, 'a', 'first save')
      nodeFs.rename(from, to)
      if (takes) nodeFs.createFile(at(world, 'a'), [Buffer.from('second save')], 0o644)
      renamed ||= takes
    },
  }
  applyIn(restarted(world, port), planBetween(world, { a: file('a') }, {}))
  expect(textAt(world, 'a')).toBe('second save')
  expect(nodeFs.readFile(joinAbs(world.context.staging, 'kept-1')).toString()).toBe('first save')
  recoverIn(world)
  expect(leftovers(world)).toEqual(['kept-1'])
})

/** As editors do it: a new file, renamed over the old one. */
function saveByRename(world: ApplyWorld, path: string, text: string): void {
  nodeFs.createFile(at(world, '.saving'), [Buffer.from(text)], 0o644)
  nodeFs.rename(at(world, '.saving'), at(world, path))
}

// ---- failures --------------------------------------------------------------------------------------------

test('[W44] [K3] a full disk while staging changes nothing, leaves nothing, and says what is needed', () => {
  const world = realWorld({ a: file('a') })
  const port: Fs = {
    ...bound(nodeFs),
    createFile: (path, chunks, perm) => {
      if (path.endsWith('/n1')) throw errno('ENOSPC', path)
      nodeFs.createFile(path, chunks, perm)
    },
  }
  const plan = planBetween(world, { a: file('a') }, { a: file('1234'), b: file('567890') })
  const error = thrownBy(() => applyIn(restarted(world, port), plan))
  expect(isFailure(error, 'disk-full') && error.data.neededBytes).toBe(10)
  expect(shapeOf(world)).toEqual({ a: file('a') })
  expect(leftovers(world)).toEqual([])
  expect(applyIn(world, plan).kind).toBe('done')
})

test('[W44] [W133] what is free is told of the disk that is full, also where the store lies on another one', () => {
  const world = realWorld({ a: file('a') })
  const { root } = world.context
  const port: Fs = {
    ...bound(nodeFs),
    sameVolume: (one, other) => one === other,
    freeBytes: (path) => (path === root ? 7 : 1_000_000),
    createFile: (path, chunks, perm) => {
      if (path.startsWith(root)) throw errno('ENOSPC', path)
      nodeFs.createFile(path, chunks, perm)
    },
  }
  const error = thrownBy(() =>
    applyIn(restarted(world, port), planBetween(world, { a: file('a') }, { a: file('1234') })),
  )
  expect(isFailure(error, 'disk-full') && error.data).toEqual({ neededBytes: 4, freeBytes: 7 })
})

test('[W44] bytes that the store cannot give stop everything before the first file is touched', () => {
  const world = realWorld({ a: file('a'), b: file('b') })
  const plan = planBetween(world, { a: file('a'), b: file('b') }, { a: file('1'), b: file('2') })
  world.blobs.delete(objectId('blob', Buffer.from('2')) as BlobId)
  expect(() => applyIn(world, plan)).toThrow(/no bytes for/)
  expect(shapeOf(world)).toEqual({ a: file('a'), b: file('b') })
  expect(leftovers(world)).toEqual([])
})

test('[W45] [K4] a folder that cannot be written to fails the whole plan, every file is back, and a retry works', () => {
  const before = { a: file('a'), 'ro/b': file('b'), ro: folder(0o555), z: file('z') }
  const world = realWorld(before)
  const plan = planBetween(world, before, {
    a: file('A'),
    'ro/b': file('B'),
    ro: folder(0o555),
    z: file('Z'),
  })
  const error = asOrdinaryUser(world, () => thrownBy(() => applyIn(world, plan)))
  expect(isFailure(error, 'apply-failed') && error.data).toEqual({
    path: 'ro/b',
    reason: 'permission was denied (EACCES)',
    state: 'old',
  })
  expect(sorted(shapeOf(world))).toEqual(sorted(before))
  expect(leftovers(world)).toEqual([])
  nodeFs.chmod(at(world, 'ro'), 0o755)
  expect(applyIn(world, plan)).toEqual({ kind: 'done', left: [] })
})

test('[W45] the error says that the rest is pending where even the way back fails', () => {
  const disk = new SimDisk()
  const world = simWorld(threeBefore, disk)
  const port = faultFs(disk, 1, 'EIO-lasting')
  port.armed = false
  const publish = (): void => {
    port.armed = true
    throw new Error('the log cannot be written')
  }
  const plan = planBetween(world, threeBefore, threeAfter)
  const error = thrownBy(() => apply({ ...world.context, fs: port }, plan, 'note', publish, testLock))
  expect(isFailure(error, 'apply-failed') && error.data.state).toBe('pending')
  expect(needsRecovery(disk, world.context.journal)).toBe(true)
  expect(recoverIn(world).kind).toBe('finished')
  expect(sorted(shapeOf(world))).toEqual(sorted(threeAfter))
})

test('[W45] recovery that cannot go forward goes back', () => {
  const before = { a: file('a'), 'ro/b': file('b') }
  const world = realWorld(before)
  const plan = planBetween(world, before, { a: file('A'), 'ro/b': file('B') })
  killAfterFirstRename(world, plan)
  nodeFs.chmod(at(world, 'ro'), 0o555)
  const recovery = asOrdinaryUser(world, () => recoverIn(world))
  expect(recovery).toEqual({ kind: 'rolled-back', note: 'note', left: [] })
  expect([textAt(world, 'a'), textAt(world, 'ro/b'), world.published]).toEqual(['a', 'b', []])
})

/** Root may do everything and proves nothing; so the calls are made as somebody else. */
function asOrdinaryUser<Result>(world: ApplyWorld, work: () => Result): Result {
  if (process.getuid?.() !== 0 || process.seteuid === undefined) return work()
  handOver(world.context.root, 65534)
  process.seteuid(65534)
  try {
    return work()
  } finally {
    process.seteuid(0)
  }
}

function handOver(root: AbsPath, uid: number): void {
  execFileSync('chown', ['-hR', String(uid), join(root, '..')])
  for (
    let folder = join(root, '..', '..');
    folder !== tmpdir() && folder !== '/';
    folder = join(folder, '..')
  ) {
    chmodSync(folder, 0o755)
  }
}

// ---- recovery --------------------------------------------------------------------------------------------

function killAfterFirstRename(world: ApplyWorld, plan: Plan): void {
  let over = false
  const port: Fs = {
    ...bound(world.context.fs),
    lstat: (path) => {
      if (over) throw new Error('killed')
      return world.context.fs.lstat(path)
    },
    rename: (from, to) => {
      if (over) throw new Error('killed')
      world.context.fs.rename(from, to)
      over = !to.includes('/journal/')
    },
    readFolder: (path) => {
      if (over) throw new Error('killed')
      return world.context.fs.readFolder(path)
    },
  }
  attempt(() => applyIn(restarted(world, port), plan))
}

test('[W46] recovery finishes what was begun, publishes it, and has nothing to do the second time', () => {
  const world = realWorld(threeBefore)
  killAfterFirstRename(world, planBetween(world, threeBefore, threeAfter))
  expect(needsRecovery(nodeFs, world.context.journal)).toBe(true)
  expect(recoverIn(world)).toEqual({ kind: 'finished', note: 'note', left: [] })
  expect(sorted(shapeOf(world))).toEqual(sorted(threeAfter))
  expect(needsRecovery(nodeFs, world.context.journal)).toBe(false)
  expect(recoverIn(world)).toEqual({ kind: 'clean' })
  expect(world.published).toEqual(['note'])
})

test('[W46] apply refuses to start on top of an unfinished one', () => {
  const world = realWorld(threeBefore)
  const plan = planBetween(world, threeBefore, threeAfter)
  killAfterFirstRename(world, plan)
  expect(() => applyIn(world, plan)).toThrow(/must be finished first/)
})

test('[W46] recovery takes from the store what is missing in staging', () => {
  const world = realWorld(threeBefore)
  killAfterFirstRename(world, planBetween(world, threeBefore, threeAfter))
  for (const name of nodeFs.readFolder(world.context.staging)) {
    if (name.startsWith('n')) nodeFs.unlink(joinAbs(world.context.staging, name))
  }
  expect(recoverIn(world)).toMatchObject({ kind: 'finished', left: [] })
  expect(sorted(shapeOf(world))).toEqual(sorted(threeAfter))
})

test('[W47] [K12] what the user saved after the crash is left as saved and reported', () => {
  const world = realWorld(threeBefore)
  killAfterFirstRename(world, planBetween(world, threeBefore, threeAfter))
  saveByRename(world, 'b', 'saved after the crash')
  const left = [{ path: 'b', reason: 'changed-meanwhile' }]
  expect(recoverIn(world)).toEqual({ kind: 'finished', note: 'note', left })
  expect(sorted(shapeOf(world))).toEqual({ a: file('A'), b: file('saved after the crash') })
})

test("[W47] [K12] old content that the user put back after the crash is the user's, and stays", () => {
  const world = realWorld(threeBefore)
  killAfterFirstRename(world, planBetween(world, threeBefore, threeAfter))
  expect(nodeFs.lstat(at(world, 'c'))).toBeUndefined() // deletes come first
  saveByRename(world, 'c', 'c')
  expect(recoverIn(world)).toMatchObject({ left: [{ path: 'c', reason: 'changed-meanwhile' }] })
  expect(sorted(shapeOf(world))).toEqual({ a: file('A'), b: file('B'), c: file('c') })
})

test('[W47] once everything is in place, recovery publishes and touches no file any more', () => {
  const world = realWorld(threeBefore)
  const publish = (): void => {
    throw new Error('killed')
  }
  const port: Fs = {
    ...bound(nodeFs),
    readFolder: (path) => {
      if (nodeFs.readFolder(path).includes('placed')) throw new Error('killed')
      return nodeFs.readFolder(path)
    },
  }
  const plan = planBetween(world, threeBefore, threeAfter)
  attempt(() => apply({ ...world.context, fs: port }, plan, 'note', publish, testLock))
  saveByRename(world, 'a', 'a')
  expect(recoverIn(world)).toEqual({ kind: 'finished', note: 'note', left: [] })
  expect(textAt(world, 'a')).toBe('a')
  expect(world.published).toEqual(['note'])
})

test('[W48] [K11] a journal that is cut short or damaged is never acted upon, and the store stays usable', () => {
  const whole = formatJournal(deleting('a'))
  const flipped = whole.replace('"note"', '"nota"')
  for (const text of [whole.slice(0, 200), whole.slice(0, -1), '', 'x', flipped, `${whole} `]) {
    const world = realWorld({ a: file('a') })
    writeRaw(world, text)
    expect(recoverIn(world)).toEqual({ kind: 'damaged', reason: 'its checksum does not match' })
    expect(shapeOf(world)).toEqual({ a: file('a') })
    expect(world.context.fs.readFolder(world.context.journal)).toEqual(['damaged-1'])
    expect(needsRecovery(nodeFs, world.context.journal)).toBe(false)
    expect(applyIn(world, planBetween(world, { a: file('a') }, { a: file('A') })).kind).toBe('done')
  }
})

test("[W48] with a damaged journal, the backups of the user's files are kept", () => {
  const world = realWorld(threeBefore)
  killAfterFirstRename(world, planBetween(world, threeBefore, threeAfter))
  nodeFs.unlink(joinAbs(world.context.journal, 'current'))
  writeRaw(world, 'noise')
  expect(recoverIn(world).kind).toBe('damaged')
  expect(nodeFs.readFile(joinAbs(world.context.staging, 'kept-1')).toString()).toBe('c')
})

test.each(['../out', '.git/config', '.GIT/config', 'a/../../x', '/etc/passwd', 'sub/.git', 'git~1/x', ''])(
  '[W48] [M2] a crafted journal that names "%s" is damaged, and nothing is applied',
  (path) => {
    const shape = { a: file('a'), 'sub/b': file('b') }
    for (const journal of [deleting(path), removing(path)]) {
      const world = realWorld(shape)
      writeRaw(world, formatJournal(journal))
      expect(recoverIn(world)).toMatchObject({ kind: 'damaged', reason: expect.stringMatching(/unsafe/) })
      expect(sorted(shapeOf(world))).toEqual(sorted(complete(shape)))
    }
  },
)

test('[W48] [M2] a crafted journal cannot name a folder of the user as a staging folder', () => {
  const world = realWorld({ 'sub/n0': file('mine') })
  writeRaw(world, formatJournal({ ...deleting('a'), areas: [relPathUnchecked('sub')] }))
  expect(recoverIn(world)).toMatchObject({
    kind: 'damaged',
    reason: expect.stringMatching(/not one of ours/),
  })
  nodeFs.createFile(joinAbs(world.context.journal, 'staged'), [Buffer.from('["sub"]')], 0o600)
  expect(recoverIn(world)).toEqual({ kind: 'clean' })
  expect(textAt(world, 'sub/n0')).toBe('mine')
})

test('[W48] a journal of a newer version is refused and stays for that version', () => {
  const world = realWorld({ a: file('a') })
  const body = formatJournal(deleting('a')).slice(65, -1).replace('"version":1', '"version":2')
  writeRaw(world, `${createHash('sha256').update(body).digest('hex')}\n${body}\n`)
  const error = thrownBy(() => recoverIn(world))
  expect(isFailure(error, 'store-newer')).toBe(true)
  expect(nodeFs.readFolder(world.context.journal)).toEqual(['current'])
})

function deleting(path: string): Journal {
  const from = { kind: 'file', perm: 0o644, blob: objectId('blob', Buffer.from('a')) } as const
  const entry = { path: path as RelPath, from, to: undefined, area: 0, respelled: false }
  return { note: 'crafted', areas: [], paths: [entry], create: [], remove: [], chmod: [], left: [] }
}

function removing(path: string): Journal {
  return { ...deleting('a'), paths: [], remove: [{ path: path as RelPath, perm: 0o755 }] }
}

function writeRaw(world: ApplyWorld, text: string): void {
  nodeFs.createFile(joinAbs(world.context.journal, 'current'), [Buffer.from(text)], 0o600)
}

test('[W49] what a process killed while staging left behind is removed, also inside the workspace', () => {
  const volumes = [absPathUnchecked('/base/project')]
  let inside = 0
  for (let call = 1, fired = true; fired; call++) {
    const disk = new SimDisk({ volumes })
    const world = simWorld(threeBefore, disk)
    const port = faultFs(disk, call, 'kill')
    attempt(() => applyIn(restarted(world, port), planBetween(world, threeBefore, threeAfter)))
    if (disk.readFolder(world.context.root).some(isStagingName)) {
      inside += 1
      expect(needsRecovery(disk, world.context.journal)).toBe(true)
    }
    recoverIn(world)
    expect(disk.readFolder(world.context.root).filter(isStagingName)).toEqual([])
    expect(leftovers(world)).toEqual([])
    fired = port.fired
  }
  expect(inside).toBeGreaterThan(10)
})

test('[W49] a plan without any file publishes and leaves nothing', () => {
  const world = realWorld({ a: file('a') })
  expect(applyIn(world, planBetween(world, {}, {}))).toEqual({ kind: 'done', left: [] })
  expect([world.published, leftovers(world)]).toEqual([['note'], []])
})

function attempt(work: () => unknown): void {
  thrownBy(work)
}

function thrownBy(work: () => unknown): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}
