/**
 * Events that could not be delivered: one small file each, in a folder for each session, in the order in which they came.
 * Whoever looks next, a hook or a command, delivers them.
 */

import { readdirSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { nameOfSession, privateFolder, readJson, replaceFile } from './desk.ts'
import type { AgentEvent } from './events.ts'
import { fieldsOf, list } from './payload.ts'

export interface Spooled {
  readonly session: string
  readonly events: readonly AgentEvent[]
  readonly attempts: number
}

export interface Waiting extends Spooled {
  readonly file: string
}

/** A store that cannot be written for weeks must not fill the disk. */
const mostWaiting = 2_000
let count = 0

/** False: too many are waiting already, and this one is lost. */
export function spool(desk: string, spooled: Spooled, nowMs: number): boolean {
  const folder = privateFolder(desk, 'spool', nameOfSession(spooled.session))
  if (namesIn(folder).length >= mostWaiting) return false
  count += 1
  const name = `${String(nowMs).padStart(15, '0')}-${String(count).padStart(6, '0')}-${process.pid}.json`
  replaceFile(join(folder, name), `${JSON.stringify(spooled)}\n`)
  return true
}

/** Sessions that have something waiting. Costs one look at a folder that is usually not there. */
export function waitingSessions(desk: string): readonly string[] {
  return namesIn(join(desk, 'spool')).flatMap((name) => {
    const first = waitingIn(join(desk, 'spool', name), 1)[0]
    return first === undefined ? [] : [first.session]
  })
}

export function waitingOf(desk: string, session: string): readonly Waiting[] {
  return waitingIn(join(desk, 'spool', nameOfSession(session)))
}

function waitingIn(folder: string, most = mostWaiting): readonly Waiting[] {
  const found: Waiting[] = []
  for (const name of [...namesIn(folder)].sort()) {
    if (found.length === most) break
    const waiting = name.endsWith('.json') ? readWaiting(join(folder, name)) : undefined
    if (waiting !== undefined) found.push(waiting)
  }
  return found
}

function readWaiting(file: string): Waiting | undefined {
  const fields = fieldsOf(readJson(file))
  if (typeof fields.session !== 'string') {
    rmSync(file, { force: true }) // nobody could ever deliver it, and it would hold up the others
    return undefined
  }
  const events = list(fields, 'events') as readonly AgentEvent[]
  return { file, session: fields.session, events, attempts: Number(fields.attempts ?? 0) }
}

export function again(waiting: Waiting): void {
  const { session, events, attempts } = waiting
  replaceFile(waiting.file, `${JSON.stringify({ session, events, attempts: attempts + 1 })}\n`)
}

export function done(desk: string, { file, session }: Waiting): void {
  rmSync(file, { force: true })
  try {
    rmdirSync(join(desk, 'spool', nameOfSession(session)))
  } catch {
    // there is more in it, or another process was quicker
  }
}

export function countWaiting(desk: string): number {
  return namesIn(join(desk, 'spool')).reduce(
    (sum, name) => sum + namesIn(join(desk, 'spool', name)).filter((file) => file.endsWith('.json')).length,
    0,
  )
}

export function oldestWaitingMs(desk: string): number | undefined {
  const times = waitingSessions(desk).flatMap((session) => {
    const first = waitingOf(desk, session)[0]
    return first === undefined ? [] : [statSync(first.file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()]
  })
  return times.length === 0 ? undefined : Math.min(...times)
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // not there: nothing has ever been waiting
  }
}
