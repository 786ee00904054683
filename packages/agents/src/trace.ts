/** What `doctor` can see of the hooks: when each was last heard, how it went, and what last went wrong. */

import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { privateFolder, readJson } from './desk.ts'
import { findTeller, type Teller } from './events.ts'
import { fieldsOf, text } from './payload.ts'

export interface Fired {
  readonly agent: Teller
  readonly event: string
  readonly startedMs: number
  readonly pid: number
  /** Absent: it is still running, or it never came to its end. */
  readonly endedMs?: number
  readonly outcome?: 'delivered' | 'spooled' | 'nothing' | 'failed'
}

export interface Failed {
  readonly agent: Teller
  readonly event: string
  readonly atMs: number
  readonly code: string
  readonly message: string
}

/** Written over and over, so plainly: a torn line costs nothing but a line in `doctor`. */
export function noteFired(desk: string, fired: Fired): void {
  const folder = privateFolder(desk, 'fired')
  writeFileSync(join(folder, `${fired.agent}.${plain(fired.event)}.json`), JSON.stringify(fired), {
    mode: 0o600,
  })
}

export function noteFailed(desk: string, failed: Failed): void {
  const folder = privateFolder(desk, 'failed')
  writeFileSync(join(folder, `${failed.agent}.json`), JSON.stringify(failed), { mode: 0o600 })
}

export function readFired(desk: string, agent: Teller): readonly Fired[] {
  return namesIn(join(desk, 'fired'))
    .filter((name) => name.startsWith(`${agent}.`))
    .flatMap((name) => firedOf(readJson(join(desk, 'fired', name))) ?? [])
    .sort((a, b) => a.startedMs - b.startedMs)
}

export function readFailed(desk: string, agent: Teller): Failed | undefined {
  const fields = fieldsOf(readJson(join(desk, 'failed', `${agent}.json`)))
  const message = text(fields, 'message')
  if (message === undefined || typeof fields.atMs !== 'number') return undefined
  return {
    agent,
    event: text(fields, 'event') ?? '',
    atMs: fields.atMs,
    code: text(fields, 'code') ?? 'internal',
    message,
  }
}

function firedOf(value: unknown): Fired | undefined {
  const fields = fieldsOf(value)
  const agent = findTeller(text(fields, 'agent') ?? '')
  const event = text(fields, 'event')
  if (agent === undefined || event === undefined || typeof fields.startedMs !== 'number') return undefined
  return fields as unknown as Fired
}

function plain(event: string): string {
  return event.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, 60)
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // not there: no hook has ever run
  }
}
