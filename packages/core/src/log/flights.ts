/**
 * Steps in flight: one small synced file each, from `step begin` to `step end`. They are not in the index, which
 * may be deleted at any time: a forgotten step would make the agent's work look like the user's.
 */

import { bytesOfText, textOfBytes } from '../errors.ts'
import { errorCode, type Fs } from '../fs.ts'
import {
  type AbsPath,
  type BlobId,
  flawOfRelPath,
  joinAbs,
  type RelPath,
  relPathUnchecked,
  type SessionId,
  type StepId,
  type TurnId,
} from '../values.ts'
import { optional } from './record.ts'
import { Shape, ShapeError } from './shape.ts'

export interface Flight {
  readonly step: StepId
  readonly session: SessionId
  readonly turn: TurnId
  readonly tool: string
  readonly agent: string
  readonly agentId?: string
  readonly part?: string
  readonly command?: string
  /** What the tool says it will touch. None: a shell command, or anything else that may touch everything. */
  readonly paths: readonly RelPath[]
  readonly beganMs: number
  /** What was not captured when it began; where nothing says so, what the operation before it left out. */
  readonly skipped?: BlobId
  /** Stands for a whole turn whose agent reports no steps (R2); gone as soon as it reports one. */
  readonly implicit: boolean
}

const sparePrefix = 'spare-'

export class Flights {
  readonly #fs: Fs
  readonly #folder: AbsPath

  constructor(fs: Fs, folder: AbsPath) {
    this.#fs = fs
    this.#folder = folder
  }

  list(): readonly Flight[] {
    const flights: Flight[] = []
    for (const name of this.#fs.readFolder(this.#folder)) {
      if (!name.endsWith('.json')) continue
      const flight = this.#read(joinAbs(this.#folder, name))
      if (flight !== undefined) flights.push(flight)
    }
    return flights.sort((a, b) => a.beganMs - b.beganMs || (a.step < b.step ? -1 : 1))
  }

  find(step: StepId): Flight | undefined {
    return this.list().find((flight) => flight.step === step)
  }

  begin(flight: Flight): void {
    const path = this.#pathOf(flight.step)
    const temporary = joinAbs(this.#folder, `tmp-${flight.step}`)
    const json = JSON.stringify({ ...flight, paths: flight.paths.map(textOfBytes) })
    this.#write(temporary, Buffer.from(json, 'utf8'))
    this.#fs.syncFile(temporary)
    this.#fs.rename(temporary, path)
    this.#fs.syncFolder(this.#folder)
  }

  /** To remove a file takes longer than the rest of a small step on many disks: it is kept for the next one. */
  end(step: StepId): void {
    this.#ifThere(() => this.#fs.rename(this.#pathOf(step), joinAbs(this.#folder, `${sparePrefix}${step}`)))
  }

  #write(path: AbsPath, bytes: Buffer): void {
    const spare = this.#fs.readFolder(this.#folder).find((name) => name.startsWith(sparePrefix))
    if (spare === undefined) {
      this.#ifThere(() => this.#fs.unlink(path))
      this.#fs.createFile(path, [bytes], 0o600)
      return
    }
    // Until then a power cut could bring back the name it had in flight, with the bytes of this one.
    this.#fs.syncFolder(this.#folder)
    this.#fs.rename(joinAbs(this.#folder, spare), path)
    this.#fs.overwrite(path, bytes)
  }

  /** What is kept for the next step holds what an earlier one said, its command for instance. */
  dropSpares(): void {
    for (const name of this.#fs.readFolder(this.#folder)) {
      if (name.startsWith(sparePrefix)) this.#ifThere(() => this.#fs.unlink(joinAbs(this.#folder, name)))
    }
  }

  #pathOf(step: StepId): AbsPath {
    return joinAbs(this.#folder, `${step}.json`)
  }

  #ifThere(work: () => void): void {
    try {
      work()
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error
    }
  }

  // A flight that another process has just ended, or a torn file: then nobody is waiting for its end any more.
  #read(path: AbsPath): Flight | undefined {
    try {
      return flightOf(Shape.parse(this.#fs.readFile(path).toString('utf8'), 'flight'))
    } catch (error) {
      if (error instanceof ShapeError || errorCode(error) === 'ENOENT') return undefined
      throw error
    }
  }
}

function flightOf(shape: Shape): Flight {
  return {
    step: shape.text('step') as StepId,
    session: shape.text('session') as SessionId,
    turn: shape.text('turn') as TurnId,
    tool: shape.text('tool'),
    agent: shape.text('agent'),
    ...optional('agentId', shape.maybeText('agentId')),
    ...optional('part', shape.maybeText('part')),
    ...optional('command', shape.maybeText('command')),
    paths: shape.texts('paths').map(bytesOfText).filter(isSafe).map(relPathUnchecked),
    beganMs: shape.number('beganMs'),
    ...optional('skipped', shape.maybeText('skipped') as BlobId | undefined),
    implicit: shape.flag('implicit'),
  }
}

function isSafe(bytes: string): boolean {
  return flawOfRelPath(bytes) === undefined
}
