/** Our own folder in the home of the stores: what the hooks remember from one process to the next. Nobody else looks. */

import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bytesPath, StoreLock } from '@unturn/core'

export function privateFolder(...parts: readonly string[]): string {
  const folder = join(...parts)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}

/** A session's name in file names: ids are the agent's own and may hold anything. */
export function nameOfSession(session: string): string {
  return createHash('sha256').update(session).digest('hex').slice(0, 24)
}

/** Whole or not at all: a process that is killed here must leave the old file. */
export function replaceFile(path: string, content: string): void {
  const temporary = `${path}.${process.pid}.tmp`
  writeFileSync(temporary, content, { mode: 0o600 })
  renameSync(temporary, path)
}

/** JSON of ours; undefined where there is none, or where it cannot be read: it is only a memory. */
export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/**
 * One session's events are delivered one after the other, also by several processes. The system lets go of the lock when
 * a process dies. Sessions share a few locks: the files stay, and there is no end to sessions.
 */
export async function withSessionLock<T>(
  desk: string,
  session: string,
  patienceMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const folder = privateFolder(desk, 'locks')
  const path = join(folder, `${nameOfSession(session).slice(0, 1)}.db`)
  writeFileSync(path, '', { flag: 'a', mode: 0o600 })
  using lock = new StoreLock(bytesPath(path), { patienceMs })
  return await lock.exclusive(work)
}
