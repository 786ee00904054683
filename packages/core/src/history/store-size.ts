/** What the history takes on disk, and whose it is. */

import type { Fs } from '../fs.ts'
import type { Operation } from '../log/rows.ts'
import { type AbsPath, type BlobId, joinAbs, type ObjectId, type SessionId, type TreeId } from '../values.ts'
import type { Engine } from './engine.ts'

/**
 * What goes with each session if retention drops them in the reverse of `order`: bytes of objects that no session before
 * it in the order needs. An object that many sessions name counts once, for the one that keeps it longest. The user's own
 * operations of a session's time go with it. Each object counts as it lies in our packs; deltas make that an estimate.
 */
export function bytesBySession(engine: Engine, order: readonly SessionId[]): ReadonlyMap<SessionId, number> {
  const { index } = engine.log
  const walk = new Walk(engine)
  const mine = index.operationsOfUser()
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

/** Everything in the store's folder, less what is linked from the user's repository. */
export function bytesOnDisk(engine: Engine): number {
  const borrowed = engine.objects.packs().filter((pack) => pack.borrowed)
  const apart = new Set(
    borrowed.flatMap(({ name }) =>
      ['pack', 'idx'].map((end) => joinAbs(engine.objects.packFolder, `${name}.${end}`)),
    ),
  )
  return bytesBelow(engine.fs, engine.folders.folder, apart)
}

function bytesBelow(fs: Fs, folder: AbsPath, apart: ReadonlySet<AbsPath>): number {
  return fs.readFolder(folder).reduce((bytes, name) => {
    const path = joinAbs(folder, name)
    const stat = fs.lstat(path)
    if (stat?.kind === 'folder') return bytes + bytesBelow(fs, path, apart)
    return apart.has(path) ? bytes : bytes + (stat?.size ?? 0)
  }, 0)
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
