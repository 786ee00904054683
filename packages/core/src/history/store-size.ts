/** What the history takes on disk, and whose it is. */

import type { Operation } from '../log/rows.ts'
import type { BlobId, ObjectId, SessionId, TreeId } from '../values.ts'
import type { Engine } from './engine.ts'

/**
 * What goes with each session if retention drops them in the reverse of `order`: bytes of objects that no session before
 * it in the order needs. An object that many sessions name counts once, for the one that keeps it longest. The user's own
 * operations of a session's time go with it. Each object counts as it lies in our packs; deltas make that an estimate.
 */
export function bytesBySession(engine: Engine, order: readonly SessionId[]): ReadonlyMap<SessionId, number> {
  const { index } = engine.log
  const walk = new Walk(engine)
  const mine = index.operations({}).filter(({ record }) => record.session === undefined)
  let since = Number.POSITIVE_INFINITY
  const newest = index.lastOperation()
  if (newest !== undefined) walk.take([newest]) // it stays whatever goes
  const bytes = new Map<SessionId, number>()
  for (const session of order) {
    const own = index.operations({ session })
    const first = own.at(-1)?.record.seq ?? since
    const beside = mine.filter(({ record }) => record.seq >= first && record.seq < since)
    bytes.set(session, walk.take([...own, ...beside]))
    since = Math.min(since, first)
  }
  return bytes
}

class Walk {
  readonly #engine: Engine
  readonly #sizes: ReadonlyMap<ObjectId, number>
  readonly #seen = new Set<ObjectId>()

  constructor(engine: Engine) {
    this.#engine = engine
    this.#sizes = engine.objects.diskSizes()
  }

  /** Bytes of what these name and nobody before them did. */
  take(operations: readonly Operation[]): number {
    return operations.reduce((bytes, { commit }) => {
      if (this.#seen.has(commit)) return bytes
      return bytes + this.#add(commit) + this.#tree(this.#engine.objects.readCommit(commit).tree)
    }, 0)
  }

  #tree(id: TreeId): number {
    if (this.#seen.has(id)) return 0
    let bytes = this.#add(id)
    for (const entry of this.#engine.objects.readTree(id)) {
      if (entry.mode === '40000') bytes += this.#tree(entry.id as TreeId)
      else bytes += this.#blob(entry.id as BlobId)
    }
    return bytes
  }

  #blob(id: BlobId): number {
    return this.#seen.has(id) ? 0 : this.#add(id)
  }

  #add(id: ObjectId): number {
    this.#seen.add(id)
    return this.#sizes.get(id) ?? 0
  }
}
