/**
 * The cross-process lock of one store: `BEGIN IMMEDIATE` on `lock.db`. The OS releases it when a process dies,
 * so a killed agent hook blocks nobody (L4).
 *
 * It has a file of its own, apart from `index.db`: the index may be deleted and rebuilt at any time, and a lock
 * on a deleted file would let two processes in at once.
 */

import { randomBytes } from 'node:crypto'
import { UnturnError } from '../errors.ts'
import { errorCode, type Fs } from '../fs.ts'
import type { AbsPath, Exclusive } from '../values.ts'
import { type DatabaseSync, isDamaged, openDatabase, sqliteBusy, sqliteCode } from './sqlite.ts'

const waitStepsMs = [1, 2, 3, 5, 8, 12, 20]

export interface LockOptions {
  /** How long to wait for others before giving up. */
  readonly patienceMs?: number
  /** The file in which whoever holds the lock leaves his name. Without it, `wasAlone` is never true. */
  readonly holder?: { readonly fs: Fs; readonly path: AbsPath }
}

export class StoreLock implements Disposable {
  readonly #path: string
  readonly #patienceMs: number
  #database: DatabaseSync | undefined
  #queue: Promise<unknown> = Promise.resolve()
  readonly #holder: LockOptions['holder']
  readonly #name = Buffer.from(randomBytes(16).toString('hex'), 'latin1')
  #wasAlone = false

  constructor(path: AbsPath, options: LockOptions = {}) {
    this.#path = Buffer.from(path, 'latin1').toString('utf8')
    this.#patienceMs = options.patienceMs ?? 60_000
    this.#holder = options.holder
  }

  /** Asked under the lock: nobody else has held it since this one last did, so nobody has changed the store. */
  get wasAlone(): boolean {
    return this.#wasAlone
  }

  /** Runs `work` while nobody else, in this process or another, holds the lock. */
  async exclusive<T>(work: (lock: Exclusive) => Promise<T>): Promise<T> {
    const turn = this.#queue.then(() => this.#hold(work))
    this.#queue = turn.catch(() => {}) // the caller gets the failure; the next in the queue must still run
    return turn
  }

  async #hold<T>(work: (lock: Exclusive) => Promise<T>): Promise<T> {
    const database = await this.#begin()
    try {
      this.#wasAlone = this.#takeOver()
      return await work({} as Exclusive)
    } finally {
      database.exec('ROLLBACK')
    }
  }

  // The name need not survive a power cut: whoever could take it for his own does not either.
  #takeOver(): boolean {
    if (this.#holder === undefined) return false
    const { fs, path } = this.#holder
    try {
      if (readIfAny(fs, path)?.equals(this.#name) === true) return true
      if (fs.lstat(path) === undefined) fs.createFile(path, [this.#name], 0o600)
      else fs.overwrite(path, this.#name)
    } catch (error) {
      if (errorCode(error) === undefined) throw error
      this.#removeName(fs, path)
    }
    return false
  }

  // A name that stays there, although somebody else holds the lock, would tell its owner that he was alone.
  #removeName(fs: Fs, path: AbsPath): void {
    try {
      if (fs.lstat(path) !== undefined) fs.unlink(path)
    } catch (error) {
      throw errorCode(error) === undefined ? error : unwritable(this.#path, error)
    }
  }

  async #begin(): Promise<DatabaseSync> {
    const started = performance.now()
    for (let attempt = 0; ; attempt += 1) {
      try {
        this.#database ??= openLock(this.#path)
        this.#database.exec('BEGIN IMMEDIATE')
        return this.#database
      } catch (error) {
        const waitedMs = performance.now() - started
        if (isDamaged(error)) throw damaged(this.#path, error)
        if (sqliteCode(error) !== sqliteBusy) throw unwritable(this.#path, error)
        if (waitedMs > this.#patienceMs) throw busy(waitedMs, error)
        await sleep(waitStepsMs[Math.min(attempt, waitStepsMs.length - 1)] ?? 20)
      }
    }
  }

  [Symbol.dispose](): void {
    this.#database?.close()
    this.#database = undefined
  }
}

// Nothing is ever written, so the journal can stay in memory. As a file it would be made and removed each time, which
// takes as long as storing a small edit.
function openLock(path: string): DatabaseSync {
  const database = openDatabase(path)
  database.exec('PRAGMA journal_mode = MEMORY')
  return database
}

function readIfAny(fs: Fs, path: AbsPath): Buffer | undefined {
  try {
    return fs.readFile(path)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    return undefined
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function busy(waitedMs: number, cause: unknown): UnturnError {
  return new UnturnError(
    'store-busy',
    { waitedMs: Math.round(waitedMs) },
    {
      message: `Another Unturn process has been working in this store for ${Math.round(waitedMs / 1000)} s. Nothing was changed.`,
      hint: 'Wait for it to finish and run the command again. If no such process runs, "unturn doctor" says who holds the lock.',
      cause,
    },
  )
}

// Not replaced without being asked: whoever has the old one open would no longer keep anybody out.
function damaged(path: string, cause: unknown): UnturnError {
  return new UnturnError(
    'store-damaged',
    { what: 'lock.db' },
    {
      message: 'The lock file of the store is damaged. The history is not in it; nothing was changed.',
      hint: `If no other Unturn process runs, delete it and run the command again: ${path}`,
      cause,
    },
  )
}

function unwritable(path: string, cause: unknown): UnturnError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new UnturnError(
    'store-unwritable',
    { folder: path, reason },
    {
      message: `The store cannot be written (${reason}). Nothing was captured and no file was changed.`,
      hint: 'Check the permissions and the free space of the store folder, then run the command again.',
      cause,
    },
  )
}
