/** Fails, and kills, apply and recovery at every call to the disk. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isFailure } from '../errors.ts'
import type { Fs } from '../fs.ts'
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
  randomShape,
  recoverIn,
  restarted,
  type Shape,
  shapeOf,
  testLock,
} from '../testing/apply-world.ts'
import {
  allFaults,
  type Fault,
  type FaultFs,
  type FaultOutcome,
  faultFs,
  faultSim,
} from '../testing/fault-fs.ts'
import { SimDisk, seededRandom } from '../testing/sim-disk.ts'
import { absPathUnchecked } from '../values.ts'
import { apply, isStagingName, type Plan } from './apply.ts'
import { nodeFs } from './node-fs.ts'

const soak = process.env.UNTURN_SOAK !== undefined

// One of everything: write, add, delete, chmod, links, both swaps of file and folder, nested and removed
// folders, folders whose mode changes or forbids writing.
const before: Shape = {
  'write.txt': file('old\n'),
  'gone.txt': file('gone\n', 0o600),
  'mode.sh': file('run\n', 0o644),
  relinked: link('write.txt'),
  'file-to-link': file('was a file\n'),
  'link-to-file': link('nowhere'),
  'file-to-folder': file('flat\n'),
  'folder-to-file/inner.txt': file('inner\n'),
  'link-to-folder': link('other'),
  'part/removed/deep/one.txt': file('1\n'),
  'part/removed/deep': folder(0o700),
  'sealed/x.txt': file('x\n'),
  sealed: folder(0o555),
  opened: folder(0o755),
  'part/same.txt': file('same\n'),
  'other/kept.txt': file('kept\n', 0o640),
}
const after: Shape = {
  'write.txt': file('new\n'),
  'mode.sh': file('run\n', 0o755),
  relinked: link('gone.txt'),
  'file-to-link': link('write.txt'),
  'link-to-file': file('now a file\n', 0o755),
  'file-to-folder/a.txt': file('deep\n'),
  'folder-to-file': file('flat now\n'),
  'link-to-folder/kept.txt': file('not behind the link\n'),
  'added/very/deep/new.txt': file('n\n'),
  'added/very': folder(0o500),
  sealed: folder(0o755),
  opened: folder(0o700),
  'part/same.txt': file('same\n'),
  'other/kept.txt': file('kept\n', 0o640),
}

interface FaultWorld extends ApplyWorld {
  readonly plan: Plan
  readonly temp?: string
}

test('[P2] [W52] apply of every kind of change, each call failing in each way, on a real disk', async () => {
  const { runs } = await faultSim<FaultWorld>({
    disk: () => nodeFs,
    faults: soak ? allFaults : ['kill', 'EIO', 'EIO-lasting'],
    world: realWorld,
    body: (world) => applyIn(world, world.plan),
    check: (world, outcome) => check(world, outcome, before, after),
    dispose: (world) => rmSync(world.temp ?? '', { recursive: true, force: true }),
    every: soak ? 1 : 41,
  })
  expect(runs).toBeGreaterThan(15)
}, 300_000)

test.each([
  ['one volume', {}],
  ['the workspace on another volume', { volumes: [absPathUnchecked('/base/project')] }],
  ['a part of the workspace on another volume', { volumes: [absPathUnchecked('/base/project/part')] }],
  ['without hard links', { hasHardLinks: false }],
])(
  '[P2] [W52] apply of every kind of change, each call failing in each way: %s',
  async (_, options) => {
    const { runs } = await faultSim<FaultWorld>({
      disk: () => new SimDisk(options),
      world: (fs) => simWorld(fs, before, after),
      body: (world) => applyIn(world, world.plan),
      check: (world, outcome) => check(world, outcome, before, after),
      every: soak ? 1 : 4,
    })
    expect(runs).toBeGreaterThan(400)
  },
  300_000,
)

test('[P2] [W52] random plans, each call failing in each way', async () => {
  for (let seed = 1; seed <= (soak ? 300 : 5); seed++) {
    const random = seededRandom(seed)
    const [one, other] = [randomShape(random), randomShape(random)]
    await faultSim<FaultWorld>({
      disk: () => new SimDisk({ hasHardLinks: seed % 3 !== 0 }),
      world: (fs) => simWorld(fs, one, other),
      body: (world) => applyIn(world, world.plan),
      check: (world, outcome) => check(world, outcome, one, other),
      every: soak ? 1 : 2,
    })
  }
}, 600_000)

test('[P2] [W53] [K10] recovery can be killed at any call, wherever apply was killed', () => {
  for (let first = 1, fired = true; fired; first += soak ? 1 : 7) {
    for (let second = 1, again = true; again; second += soak ? 1 : 11) {
      const disk = new SimDisk()
      const world = simWorld(disk, before, after)
      const killed = faultFs(disk, first, 'kill')
      attempt(() => applyIn(restarted(world, killed), world.plan))
      const recovering = faultFs(disk, second, 'kill')
      attempt(() => recoverIn(restarted(world, recovering)))
      recoverIn(world)
      expectWhole(world, before, after)
      fired = killed.fired
      again = recovering.fired
    }
  }
}, 600_000)

test('[P2] [W54] a roll back can be killed at any call, and the next recovery ends it', () => {
  for (let at = 1, fired = true; fired; at += 1) {
    const disk = new SimDisk({ hasHardLinks: at % 2 === 0 })
    const world = simWorld(disk, before, after)
    const port = faultFs(disk, at, 'kill')
    port.armed = false
    const refuse = () => {
      port.armed = true
      throw new Error('the operation could not be stored')
    }
    attempt(() => apply({ ...world.context, fs: port }, world.plan, 'note', refuse, testLock))
    recoverIn(world)
    const old = world.published.length === 0
    expect(sorted(shapeOf(world))).toEqual(sorted(complete(old ? before : after)))
    expect(leftovers(world)).toEqual([])
    // Only before the turn is on disk may the next recovery still go forward.
    if (at > 2) expect(old).toBe(true)
    fired = port.fired
  }
}, 300_000)

function realWorld(fs: FaultFs): FaultWorld {
  const temp = mkdtempSync(join(tmpdir(), 'unturn-fault-'))
  const world = applyWorld(fs, absPathUnchecked(join(temp, 'base')))
  makeFolders(world)
  build(world, before)
  return { ...world, plan: planBetween(world, before, after), temp }
}

function simWorld(fs: Fs, from: Shape, to: Shape): FaultWorld {
  const world = applyWorld(fs, absPathUnchecked('/base'))
  makeFolders(world)
  build(world, from)
  return { ...world, plan: planBetween(world, from, to) }
}

function check(world: FaultWorld, { fault, fired, error }: FaultOutcome, from: Shape, to: Shape): void {
  if (fired && isErrorFault(fault)) expectHonest(world, error, from, to)
  recoverIn(world)
  expect(recoverIn(world)).toEqual({ kind: 'clean' })
  expectWhole(world, from, to)
  if (!fired) expect(sorted(shapeOf(world))).toEqual(sorted(complete(to)))
}

function isErrorFault(fault: Fault): boolean {
  return fault !== 'kill' && fault !== 'short-write'
}

/** What the error says must be so at once, without any recovery. */
function expectHonest(world: FaultWorld, error: unknown, from: Shape, to: Shape): void {
  if (error === undefined) {
    expect(visible(world)).toEqual(sorted(complete(to)))
    return
  }
  if (isFailure(error, 'apply-failed') && error.data.state === 'pending') return
  expect(isFailure(error, 'apply-failed') || isFailure(error, 'disk-full')).toBe(true)
  expect(visible(world)).toEqual(sorted(complete(from)))
  expect(world.published).toEqual([])
}

function expectWhole(world: ApplyWorld, from: Shape, to: Shape): void {
  const isNew = world.published.length > 0
  expect(sorted(shapeOf(world))).toEqual(sorted(complete(isNew ? to : from)))
  expect(leftovers(world)).toEqual([])
}

/** Without our own staging folders, which recovery removes. */
function visible(world: ApplyWorld): Shape {
  const entries = Object.entries(shapeOf(world)).filter(([path]) => !path.split('/').some(isStagingName))
  return sorted(Object.fromEntries(entries))
}

function sorted(shape: Shape): Shape {
  return Object.fromEntries(Object.entries(shape).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

function attempt(work: () => unknown): void {
  try {
    work()
  } catch {
    // The fault was meant to strike; what counts is what recovery makes of it.
  }
}
