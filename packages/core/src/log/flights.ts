/**
 * Steps in flight: one small synced file each, from `step begin` to `step end`. They are not in the index, which
 * may be deleted at any time: a forgotten step would make the agent's work look like the user's.
 */

import { bytesOfText, textOfBytes } from '../errors.ts'
import { errorCode, type Fs } from '../fs.ts'
import { FolderStamps } from '../store/folder-stamps.ts'
import {
  type AbsPath,
  type BlobId,
  type ByteString,
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
  /** Its beginning was told afterwards: nobody saw the state before it, so its changes are inferred. */
  readonly late?: boolean
}

const sparePrefix = 'spare-'

interface Listed {
  readonly flights: readonly Flight[]
  /** Names of files that the next steps can use: those of steps that have ended, or that a power cut has left. */
  readonly spares: readonly ByteString[]
}

export class Flights {
  readonly #fs: Fs
  readonly #folder: AbsPath
  readonly #stamps: FolderStamps
  #isHeld = false
  #known: Listed | undefined

  constructor(fs: Fs, folder: AbsPath) {
    this.#fs = fs
    this.#folder = folder
    this.#stamps = new FolderStamps(fs, [folder])
  }

  /** Under the lock nobody else changes anything here, so one look is enough. `alone`: nobody has since the last time. */
  hold(alone: boolean): void {
    if (!alone || !this.#stamps.areAsTaken()) this.#known = undefined
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
  }

  list(): readonly Flight[] {
    return this.#listed().flights
  }

  find(step: StepId): Flight | undefined {
    return this.list().find((flight) => flight.step === step)
  }

  begin(flight: Flight): void {
    const listed = this.#listed()
    this.#known = undefined // until it is done
    const path = this.#pathOf(flight.step)
    const temporary = joinAbs(this.#folder, `tmp-${flight.step}`)
    const [spare, ...spares] = listed.spares
    this.#write(temporary, spare, serialized(flight))
    this.#fs.syncFile(temporary)
    this.#fs.rename(temporary, path)
    this.#fs.syncFolder(this.#folder)
    this.#know({ flights: inOrder([...listed.flights, flight]), spares })
  }

  /** To remove a file takes longer than the rest of a small step on many disks: it is kept for the next one. */
  end(step: StepId): void {
    const { flights, spares } = this.#listed()
    this.#known = undefined
    const spare = `${sparePrefix}${step}`
    const isThere = this.#ifThere(() => this.#fs.rename(this.#pathOf(step), joinAbs(this.#folder, spare)))
    // Where a power cut has left the file with both names, the rename has done nothing.
    if (this.#fs.lstat(this.#pathOf(step)) !== undefined) this.#fs.unlink(this.#pathOf(step))
    const rest = flights.filter((flight) => flight.step !== step)
    this.#know({ flights: rest, spares: isThere ? [...spares, spare] : spares })
  }

  // A power cut may bring back the name that the file had in flight, with the bytes of this one: its name does not fit
  // its bytes then, and it counts as a spare.
  #write(path: AbsPath, spare: ByteString | undefined, bytes: Buffer): void {
    if (spare !== undefined && this.#isUsable(joinAbs(this.#folder, spare))) {
      this.#fs.rename(joinAbs(this.#folder, spare), path)
      return this.#fs.overwrite(path, bytes)
    }
    this.#ifThere(() => this.#fs.unlink(path))
    this.#fs.createFile(path, [bytes], 0o600)
  }

  // A file with a second name may be in flight under it.
  #isUsable(spare: AbsPath): boolean {
    const stat = this.#fs.lstat(spare)
    return stat?.kind === 'file' && stat.nlink === 1
  }

  /** What is kept for the next step holds what an earlier one said, its command for instance. */
  dropSpares(): void {
    const { flights, spares } = this.#listed()
    this.#known = undefined
    for (const name of spares) this.#ifThere(() => this.#fs.unlink(joinAbs(this.#folder, name)))
    this.#know({ flights, spares: [] })
  }

  #know(listed: Listed): void {
    if (!this.#isHeld) return
    this.#known = listed
    this.#stamps.take()
  }

  #listed(): Listed {
    if (this.#isHeld && this.#known !== undefined) return this.#known
    const listed = this.#readAll()
    this.#know(listed)
    return listed
  }

  #readAll(): Listed {
    const flights: Flight[] = []
    const spares: ByteString[] = []
    for (const name of this.#fs.readFolder(this.#folder)) {
      const flight = name.endsWith('.json') ? this.#read(joinAbs(this.#folder, name)) : undefined
      if (flight !== undefined && name === `${flight.step}.json`) flights.push(flight)
      else spares.push(name)
    }
    return { flights: inOrder(flights), spares }
  }

  #pathOf(step: StepId): AbsPath {
    return joinAbs(this.#folder, `${step}.json`)
  }

  /** False where there is nothing. */
  #ifThere(work: () => void): boolean {
    try {
      work()
      return true
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error
      return false
    }
  }

  // A flight that another process has just ended, or a torn file: then nobody is waiting for its end any more.
  #read(path: AbsPath): Flight | undefined {
    try {
      const shape = Shape.parse(this.#fs.readFile(path).toString('utf8'), 'flight')
      const flight = flightOf(shape)
      return shape.has('whole') && shape.text('whole') !== flight.step ? undefined : flight
    } catch (error) {
      if (error instanceof ShapeError || errorCode(error) === 'ENOENT') return undefined
      throw error
    }
  }
}

// The step once more at the end: where a power cut left the beginning of one flight and the end of another, they differ.
function serialized(flight: Flight): Buffer {
  const fields = { ...flight, paths: flight.paths.map(textOfBytes), whole: flight.step }
  return Buffer.from(JSON.stringify(fields), 'utf8')
}

function inOrder(flights: readonly Flight[]): readonly Flight[] {
  return flights.toSorted((a, b) => a.beganMs - b.beganMs || (a.step < b.step ? -1 : 1))
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
    ...optional('late', shape.flag('late') || undefined),
  }
}

function isSafe(bytes: string): boolean {
  return flawOfRelPath(bytes) === undefined
}
