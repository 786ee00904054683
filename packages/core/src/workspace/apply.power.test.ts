/** Cuts the power, thousands of times, at any call of apply and of recovery. */

import { expect, test } from 'vitest'
import { isFailure, UnturnError } from '../errors.ts'
import {
  type ApplyWorld,
  applyIn,
  applyWorld,
  build,
  complete,
  leftovers,
  makeFolders,
  planBetween,
  randomShape,
  recoverIn,
  restarted,
  type Shape,
  shapeOf,
  testLock,
} from '../testing/apply-world.ts'
import { faultFs, Killed } from '../testing/fault-fs.ts'
import { PowerCut, type Random, SimDisk, seededRandom, type Weakness } from '../testing/sim-disk.ts'
import { absPathUnchecked } from '../values.ts'
import { apply, type Plan } from './apply.ts'

const soak = process.env.UNTURN_SOAK !== undefined

test('[P2] [W50] after a power cut at any call, every path is old or every path is new', () => {
  expect(powerCuts({ cuts: soak ? 100_000 : 3_000 })).toEqual([])
}, 900_000)

test('[P2] [W50] the same on a disk without hard links', () => {
  expect(powerCuts({ cuts: soak ? 20_000 : 500, hasHardLinks: false, firstSeed: 500_000 })).toEqual([])
}, 300_000)

test('[P2] [W50] after a power cut while everything is taken back, it is old, or finished and published', () => {
  const cuts = soak ? 20_000 : 600
  expect(powerCuts({ cuts, firstSeed: 800_000, publishFails: true })).toEqual([])
}, 300_000)

test('[P2] [W50] the same in a store where one apply was done, or killed and recovered, before', () => {
  const cuts = soak ? 40_000 : 1_200
  expect(powerCuts({ cuts, firstSeed: 1_100_000, earlier: 'done' })).toEqual([])
  expect(powerCuts({ cuts, firstSeed: 1_200_000, earlier: 'killed' })).toEqual([])
}, 600_000)

test.each(['fsync-lies', 'folder-fsync-lies', 'journal-vanishes', 'rename-is-a-slow-write'] as const)(
  '[W51] the power-cut suite notices: %s',
  (weakness) => {
    expect(powerCuts({ cuts: 2_000, weakness, enough: 1 })).not.toEqual([])
  },
)

interface PowerCuts {
  readonly cuts: number
  readonly weakness?: Weakness
  readonly hasHardLinks?: boolean
  readonly firstSeed?: number
  /** The operation cannot be stored, so that apply has to take everything back. */
  readonly publishFails?: boolean
  /** An apply that came before: its files are used again. */
  readonly earlier?: 'done' | 'killed'
  /** Stop after so many findings. */
  readonly enough?: number
}

/** What went wrong, one sentence each, with the seed that shows it again. */
function powerCuts(wanted: PowerCuts): readonly string[] {
  const { cuts, weakness, hasHardLinks, firstSeed = 1, enough = 5, publishFails = false } = wanted
  const broken: string[] = []
  for (let seed = firstSeed; seed < firstSeed + cuts && broken.length < enough; seed++) {
    const volumes = seed % 3 === 0 ? [absPathUnchecked('/project')] : []
    const disk = new SimDisk({ weakness, volumes, hasHardLinks: hasHardLinks ?? true })
    const flaw = flawAfterCut(disk, seededRandom(seed), publishFails, wanted.earlier)
    if (flaw !== undefined) broken.push(`seed ${seed}: ${flaw}`)
  }
  return broken
}

function flawAfterCut(
  disk: SimDisk,
  random: Random,
  publishFails: boolean,
  earlier: PowerCuts['earlier'],
): string | undefined {
  const world = applyWorld(disk, absPathUnchecked(''))
  makeFolders(world)
  const first = randomShape(random)
  const after = randomShape(random)
  build(world, first)
  disk.settle()
  const before = earlier === undefined ? first : applied(world, first, random, earlier)
  const plan = planBetween(world, before, after)
  disk.cutAfter(1 + Math.floor(random() * random() * 900))
  const reported = publishFails
    ? untilCut(() => applyInVain(world, plan)) === 'through' && 'old'
    : untilCut(() => applyIn(world, plan)) === 'through' && 'new'
  const cut = disk.powerCut(random)
  try {
    return flawOf(recovered(restarted(world, cut), random), before, after, reported)
  } catch (error) {
    return `recovery failed: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** What the disk holds after an apply that nothing was synced behind, beyond what apply itself has synced. */
function applied(world: ApplyWorld, first: Shape, random: Random, earlier: 'done' | 'killed'): Shape {
  const disk = world.context.fs
  const plan = planBetween(world, first, randomShape(random))
  const calls = earlier === 'done' ? 1_000_000 : 1 + Math.floor(random() * random() * 600)
  try {
    applyIn({ ...world, context: { ...world.context, fs: faultFs(disk, calls, 'kill') } }, plan)
  } catch (error) {
    if (!(error instanceof Killed) && !(error instanceof Error && error.cause instanceof Killed)) throw error
  }
  recoverIn(world)
  world.published.length = 0
  return shapeOf(world)
}

function applyInVain(world: ApplyWorld, plan: Plan): void {
  const publish = (): void => {
    throw new UnturnError('internal', {}, { message: 'the log is full', hint: '' })
  }
  try {
    apply(world.context, plan, 'note', publish, testLock)
  } catch (error) {
    // The power went on the way back: then only the first reason is told, and that the rest is pending.
    if (isFailure(error, 'apply-failed') && error.data.state === 'pending') throw new PowerCut()
    if (!isFailure(error, 'internal')) throw error
  }
}

/** Recovers, with some more cuts on the way. */
function recovered(world: ApplyWorld, random: Random): ApplyWorld {
  let now = world
  for (let again = random(); again < 0.5; again = random()) {
    const disk = now.context.fs
    if (!(disk instanceof SimDisk)) throw new Error('not a simulated disk')
    disk.cutAfter(1 + Math.floor(random() * random() * 600))
    untilCut(() => recoverIn(now))
    now = restarted(now, disk.powerCut(random))
  }
  const { kind } = recoverIn(now)
  if (kind === 'damaged') throw new Error('the journal is damaged')
  const second = recoverIn(now)
  if (second.kind !== 'clean') throw new Error(`a second recovery was not clean but ${second.kind}`)
  return now
}

function untilCut(work: () => unknown): 'through' | 'cut' {
  try {
    work()
    return 'through'
  } catch (error) {
    if (error instanceof PowerCut) return 'cut'
    if (error instanceof Error && error.cause instanceof PowerCut) return 'cut'
    throw error
  }
}

function flawOf(
  world: ApplyWorld,
  before: Shape,
  after: Shape,
  reported: 'old' | 'new' | false,
): string | undefined {
  const now = textOf(shapeOf(world))
  const isNew = now === textOf(complete(after))
  const isOld = now === textOf(complete(before))
  if (!isNew && !isOld)
    return `neither old nor new: ${now}\n OLD ${textOf(complete(before))}\n NEW ${textOf(complete(after))}`
  if (reported === 'new' && !isNew) return 'an apply that was reported done is gone'
  if (reported === 'old' && !isOld) return 'an apply that was reported as taken back is there'
  if (isNew && !isOld && world.published.length === 0) return 'new, but not published'
  if (isOld && !isNew && world.published.length > 0) return 'published, but old'
  const rest = leftovers(world)
  return rest.length > 0 ? `left behind: ${rest.join(' ')}` : undefined
}

function textOf(shape: Shape): string {
  return JSON.stringify(Object.entries(shape).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}
