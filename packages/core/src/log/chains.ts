/**
 * The histories of several sessions, read as one. A long log does not fit into memory as operations: the commits of each
 * session are collected as bytes, and of the operations each session has only its next one read.
 */

import type { CommitId } from '../values.ts'
import type { Operation } from './rows.ts'

/** An operation, and the ref whose history it stands in. */
export interface Logged {
  readonly ref: string
  readonly operation: Operation
}

const idBytes = 20

/** The commits of one session, added newest first, as one finds them, and read oldest first. */
export class CommitChain {
  readonly ref: string
  #ids = Buffer.alloc(64 * idBytes)
  #length = 0

  constructor(ref: string) {
    this.ref = ref
  }

  get length(): number {
    return this.#length
  }

  addOlder(commit: CommitId): void {
    const at = this.#length * idBytes
    if (at === this.#ids.length) this.#ids = Buffer.concat([this.#ids, Buffer.alloc(at)])
    this.#ids.write(commit, at, 'hex')
    this.#length += 1
  }

  *oldestFirst(): IterableIterator<CommitId> {
    for (let at = (this.#length - 1) * idBytes; at >= 0; at -= idBytes)
      yield this.#ids.toString('hex', at, at + idBytes) as CommitId
  }
}

export interface OneSession {
  readonly ref: string
  /** Oldest first. */
  readonly operations: Iterator<Operation, void>
}

/** All of them in the order of their numbers; of two with one number that of the session named first. */
export function* inOrder(sessions: readonly OneSession[]): IterableIterator<Logged> {
  const waiting: Waiting[] = []
  for (const [rank, session] of sessions.entries()) readNext(waiting, session, rank)
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    yield { ref: next.session.ref, operation: next.operation }
    readNext(waiting, next.session, next.rank)
  }
}

interface Waiting {
  readonly session: OneSession
  readonly rank: number
  readonly operation: Operation
}

// A session's operations mostly follow each other, so the place is near the front.
function readNext(waiting: Waiting[], session: OneSession, rank: number): void {
  const { value: operation } = session.operations.next()
  if (operation === undefined) return
  const { seq } = operation.record
  const at = waiting.findIndex(
    (other) => other.operation.record.seq > seq || (other.operation.record.seq === seq && other.rank > rank),
  )
  waiting.splice(at < 0 ? waiting.length : at, 0, { session, rank, operation })
}
