/** What we remember of a conversation between two of its events: ids of ours for ids of the agent's. */

import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { StepId, TurnId } from '@unturn/core'
import { nameOfSession, privateFolder, readJson, replaceFile } from './desk.ts'
import type { Teller } from './events.ts'
import { isRunning, type Process } from './jobs.ts'
import { fieldsOf, text } from './payload.ts'

/** A step in one workspace. */
export interface OpenStep {
  readonly root: string
  readonly step: StepId
}

/** A file that an edit tool has just written: a formatter may write it once more. */
export interface Touched {
  readonly root: string
  readonly turn: TurnId
  readonly path: string
  readonly endedMs: number
  readonly tool: string
}

/** Work that goes on when its turn has ended. */
export interface Background {
  /** As the agent tells of it, where it does. */
  readonly told: readonly string[]
  /** As the system tells of it, where it does. */
  readonly processes: readonly Process[]
  /** What the turn's commands say that they write. */
  readonly writes: readonly string[]
  readonly sinceMs: number
}

export interface TurnMemory {
  message?: string
  /** Further ids of the agent's that belong to the same turn. */
  also: string[]
  prompt?: string
  /** By workspace: the turn stands in each that it touched. */
  turns: Record<string, TurnId>
  ended: boolean
  /** By the agent's id of the call, or by our own name for it. */
  steps: Record<string, OpenStep[]>
  /** Calls so far, by tool and input, where the agent gives no ids. */
  counts: Record<string, number>
  beganMs?: number
  /** What its commands say that they write. */
  writes?: string[]
}

export interface Memory {
  readonly version: 1
  /** The first who spoke for this session. Another name for the same session is somebody who reads its settings. */
  readonly agent: Teller
  readonly session: string
  /** What an agent behind a proxy calls itself. */
  called?: string
  /** The process of the proxy that hears this session; while it lives, it alone is listened to. */
  proxy?: number
  /** The project; other workspaces may be touched from there. */
  home?: string
  /** Every workspace that this session has turns in. */
  roots: string[]
  turn?: TurnMemory
  /** By workspace: the last operation that the agent was told of. */
  told: Record<string, number>
  lastPrompt?: { readonly likeness: string; readonly atMs: number }
  lastOwnUndo?: string
  /** When the session was last heard. */
  heardMs?: number
  /** It was taken up again, and nobody has asked it for anything yet. */
  isUnasked?: boolean
  /** Subagents at work, where only the brackets of the call tell. */
  within: string[]
  touched: Touched[]
  /** What the agent left running when the turn ended. */
  background?: Background
}

export function emptyMemory(agent: Teller, session: string): Memory {
  return { version: 1, agent, session, roots: [], told: {}, within: [], touched: [] }
}

function pathOf(desk: string, session: string): string {
  return join(desk, 'sessions', `${nameOfSession(session)}.json`)
}

export function recall(desk: string, agent: Teller, session: string): Memory {
  const stored = fieldsOf(readJson(pathOf(desk, session)))
  if (stored.version !== 1 || stored.session !== session) return emptyMemory(agent, session)
  return { ...emptyMemory(agent, session), ...(stored as Partial<Memory>) }
}

export function remember(desk: string, memory: Memory): void {
  privateFolder(desk, 'sessions')
  replaceFile(pathOf(desk, memory.session), `${JSON.stringify(memory)}\n`)
}

// ---- jobs ---------------------------------------------------------------------------------------------------------------

/** So that a command finds out with one look whether there is anything to take in. */
export function noteJobs(desk: string, session: string, hasJobs: boolean): void {
  const path = join(privateFolder(desk, 'jobs'), `${nameOfSession(session)}.json`)
  if (hasJobs) replaceFile(path, `${JSON.stringify({ session })}\n`)
  else rmSync(path, { force: true })
}

export function sessionsWithJobs(desk: string): readonly string[] {
  const folder = join(desk, 'jobs')
  return (existsSync(folder) ? readdirSync(folder) : []).flatMap(
    (name) => text(fieldsOf(readJson(join(folder, name))), 'session') ?? [],
  )
}

/** Sessions of which every job that was running has come to its end. */
export function sessionsWithEndedJobs(desk: string): readonly string[] {
  return sessionsWithJobs(desk).filter((session) => {
    const jobs = recall(desk, 'acp', session).background?.processes ?? []
    return jobs.length > 0 && !jobs.some(isRunning)
  })
}

const keptDays = 90

/** Conversations that nobody has gone on with for long. What they did is in the history, and stays there. */
export function forgetOld(desk: string, nowMs: number): void {
  const folder = privateFolder(desk, 'sessions')
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const age = nowMs - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs)
    if (age > keptDays * 86_400_000) rmSync(path, { force: true })
  }
}
