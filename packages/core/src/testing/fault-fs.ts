/** Every call to the disk may be the last, or fail: a port that makes it so, and a runner that tries them all. */

import { isFailure } from '../errors.ts'
import type { Fs } from '../fs.ts'
import type { AbsPath } from '../values.ts'
import { errno } from './sim-disk.ts'

export type Fault =
  /** The process ends at this call: it does not happen, and nothing after it. */
  | 'kill'
  /** The same in the middle of writing a file: half of it is there. */
  | 'short-write'
  /** This call fails, and the next one works. */
  | 'EIO'
  | 'EACCES'
  /** This call and all later ones fail, until the fault is lifted. */
  | 'EIO-lasting'
  /** The disk is full from here on: what needs room fails, removing and renaming work. */
  | 'ENOSPC-lasting'

export const allFaults: readonly Fault[] = [
  'kill',
  'short-write',
  'EIO',
  'EACCES',
  'EIO-lasting',
  'ENOSPC-lasting',
]

export class Killed extends Error {
  constructor() {
    super('the process was killed here')
    this.name = 'Killed'
  }
}

export interface FaultFs extends Fs {
  /** Counted while armed. */
  readonly calls: number
  /** Whether the fault has struck. */
  readonly fired: boolean
  /** The call it struck first, for messages. */
  readonly struck: string
  armed: boolean
  /** A lifted fault strikes no more: the disk is well, and for a kill the next process runs. */
  lifted: boolean
}

type Method = Exclude<keyof Fs, never>

const methods: readonly Method[] = [
  'lstat',
  'readFile',
  'readPart',
  'readLink',
  'readFolder',
  'createFile',
  'overwrite',
  'createLink',
  'createFolder',
  'hardLink',
  'rename',
  'unlink',
  'removeFolder',
  'chmod',
  'syncFile',
  'syncFolder',
  'freeBytes',
  'sameVolume',
]

const needRoom: ReadonlySet<Method> = new Set(['createFile', 'createLink', 'createFolder', 'hardLink'])

/** The disk behind `inner`, whose `at`-th call (from 1) meets the fault. */
export function faultFs(inner: Fs, at: number, fault: Fault): FaultFs {
  const state = { calls: 0, fired: false, struck: '', armed: true, lifted: false }
  for (const method of methods) {
    const call = (...args: readonly unknown[]): unknown => {
      strike(inner, state, method, args, at, fault)
      return Reflect.apply(inner[method], inner, args)
    }
    Object.defineProperty(state, method, { value: call, enumerable: true })
  }
  return state as typeof state & Fs // every method of the port was just defined
}

interface State {
  calls: number
  fired: boolean
  struck: string
  readonly armed: boolean
  readonly lifted: boolean
}

function strike(
  inner: Fs,
  state: State,
  method: Method,
  args: readonly unknown[],
  at: number,
  fault: Fault,
): void {
  if (!state.armed || state.lifted) return
  state.calls += 1
  if (state.calls < at || (state.calls > at && !isLasting(fault))) return
  if (fault === 'ENOSPC-lasting' && !needRoom.has(method)) return
  if (!state.fired) state.struck = `${method} ${String(args[0])}`
  const first = !state.fired
  state.fired = true
  if (fault === 'short-write' && first && method === 'createFile') writeHalf(inner, args)
  if (fault === 'kill' || fault === 'short-write') throw new Killed()
  throw errno(fault.replace('-lasting', ''), String(args[0]))
}

function isLasting(fault: Fault): boolean {
  return fault !== 'EIO' && fault !== 'EACCES'
}

function writeHalf(inner: Fs, args: readonly unknown[]): void {
  const [path, chunks, perm] = args as Parameters<Fs['createFile']>
  const bytes = Buffer.concat([...chunks])
  inner.createFile(path as AbsPath, [bytes.subarray(0, bytes.length >> 1)], perm)
}

export interface FaultOutcome {
  readonly fault: Fault
  /** The call that was hit, from 1. */
  readonly at: number
  readonly fired: boolean
  /** What the body threw. */
  readonly error: unknown
}

export interface FaultCase<World> {
  readonly faults?: readonly Fault[]
  /** The disk below; a new one for every run where it has a state of its own. */
  readonly disk: () => Fs
  /** Makes a world whose calls go through this port. The fault is not armed yet. */
  readonly world: (fs: FaultFs) => World | Promise<World>
  /** Runs with the fault armed. May throw. */
  readonly body: (world: World) => unknown
  /** Runs with the fault lifted, also once for the body that got through. */
  readonly check: (world: World, outcome: FaultOutcome) => unknown
  readonly dispose?: (world: World) => unknown
  /** Hits only every n-th call; for bodies with very many of them. */
  readonly every?: number
}

/** Runs the body with its first call failing, then the second, until it gets through. Gives the runs made. */
export async function faultSim<World>(
  wanted: FaultCase<World>,
): Promise<{ readonly runs: number; readonly calls: number }> {
  let runs = 0
  let calls = 0
  for (const fault of wanted.faults ?? allFaults) {
    for (let at = 1; ; at += wanted.every ?? 1) {
      const { fired, count } = await runOnce(wanted, fault, at)
      runs += 1
      calls = Math.max(calls, count)
      if (!fired) break
    }
  }
  return { runs, calls }
}

async function runOnce<World>(
  wanted: FaultCase<World>,
  fault: Fault,
  at: number,
): Promise<{ readonly fired: boolean; readonly count: number }> {
  const fs = faultFs(wanted.disk(), at, fault)
  fs.armed = false
  const world = await wanted.world(fs)
  try {
    fs.armed = true
    const error = await thrownBy(() => wanted.body(world))
    fs.lifted = true
    if (!fs.fired && error !== undefined) throw error
    await wanted.check(world, { fault, at, fired: fs.fired, error })
    return { fired: fs.fired, count: fs.calls }
  } catch (error) {
    throw new Error(`with ${fault} at call ${at} (${fs.struck}): ${reasonOf(error)}`, { cause: error })
  } finally {
    await wanted.dispose?.(world)
  }
}

async function thrownBy(body: () => unknown): Promise<unknown> {
  try {
    await body()
    return undefined
  } catch (error) {
    return error
  }
}

function reasonOf(error: unknown): string {
  if (isFailure(error, 'apply-failed')) return `${error.message} [${error.data.state}]`
  return error instanceof Error ? error.message : String(error)
}
