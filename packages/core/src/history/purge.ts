/**
 * Purge: a path leaves every snapshot of every operation. The operations stay, under new commits: same ids, same turns,
 * same numbers. What was at the path is then named by nobody, and packing drops it; `proveGone` reads the whole store for
 * the proof. The file on disk is not touched.
 *
 * The name stays where undo needs it to be honest: an operation that touched the path lists it as `purged`.
 */

import { UnturnError } from '../errors.ts'
import type { Rewritten } from '../log/log.ts'
import { type OperationRecord, parseRecord, serializeRecord } from '../log/record.ts'
import { blobsOf, readReview, reviewWithout, storeReview } from '../log/review-record.ts'
import type { Operation } from '../log/rows.ts'
import { parseSkipped, serializeSkipped } from '../log/skipped-list.ts'
import { type Attrs, parseAttrs, serializeAttrs } from '../store/attrs.ts'
import { IdSet } from '../store/id-set.ts'
import type { ObjectBatch, Objects } from '../store/objects.ts'
import { reachable } from '../store/repack.ts'
import { hasFolder, listTree, type TreeEntry } from '../store/trees.ts'
import {
  type BlobId,
  type Exclusive,
  foldersAbove,
  joinRel,
  type ObjectId,
  type OpId,
  type RelPath,
  type TreeId,
} from '../values.ts'
import type { Engine } from './engine.ts'
import { rootsOf } from './retention.ts'

export interface Erased {
  /** Operations that were written anew. */
  readonly operations: number
  /** What was at the paths: every version, each once. */
  readonly blobs: ReadonlySet<BlobId>
}

/** Rewrites the history without these paths. Cut in between, some sessions are done and a second run does the rest. */
export function eraseFromHistory(engine: Engine, paths: readonly RelPath[], lock: Exclusive): Erased {
  const { log, objects } = engine
  const broken = [...log.broken.values()][0]
  if (broken !== undefined) throw broken // what cannot be read cannot be rewritten either
  const batch = objects.newBatch()
  const eraser = new Eraser(batch, paths)
  const newest = log.index.lastOperation()
  let operations = 0
  for (const session of [undefined, ...log.index.sessions().map(({ id }) => id)]) {
    const kept: Rewritten[] = []
    for (const seq of log.index.seqsOf(session)) {
      const operation = log.index.operationAt(seq)
      if (operation === undefined) continue
      const { tree } = objects.readCommit(operation.commit)
      const rewritten = eraser.rewrite(operation, tree)
      if (rewritten.tree !== tree) operations += 1
      kept.push(rewritten)
    }
    log.rewrite(session, kept, batch, lock)
  }
  // What was deleted stays in the index's file, and in its write-ahead log, until both are written anew.
  log.index.forgetReviews()
  log.index.shrink()
  forgetStats(engine, paths, newest?.after.tree)
  return { operations, blobs: eraser.blobs }
}

// The cache would vouch for bytes that are no longer stored. The rest of it stays as good as it was.
function forgetStats(engine: Engine, paths: readonly RelPath[], old: TreeId | undefined): void {
  const { cache } = engine.stat
  const isCurrent = engine.stat.tree === old
  for (const path of [...cache.entries()].map(([path]) => path)) if (isIn(path, paths)) cache.forget(path)
  if (isCurrent) engine.stat.tree = engine.log.index.lastOperation()?.after.tree
}

export function isIn(path: RelPath, purged: readonly RelPath[]): boolean {
  return purged.some((one) => path === one || path.startsWith(`${one}/`))
}

class Eraser {
  readonly blobs = new Set<BlobId>()
  readonly #batch: ObjectBatch
  readonly #paths: readonly RelPath[]
  readonly #trees = new Recent<TreeId>()
  readonly #attrs = new Recent<BlobId>()

  constructor(batch: ObjectBatch, paths: readonly RelPath[]) {
    this.#batch = batch
    this.#paths = paths
  }

  rewrite(operation: Operation, tree: TreeId): Rewritten {
    const entries = this.#batch.readTree(tree)
    const next = this.#container(entries)
    const had = this.#paths.filter((path) => this.#had(operation, path))
    const touched = this.#paths.filter((path) => this.#touched(operation, path))
    const rewritten = next.map((entry) => {
      if (entry.name === 'skipped') return { ...entry, id: this.#skipped(entry.id as BlobId, had) }
      if (entry.name === 'review') return { ...entry, id: this.#review(entry.id as TreeId) }
      if (entry.name === 'op.json') return { ...entry, id: this.#record(entry.id as BlobId, touched) }
      return entry
    })
    const isSame = rewritten.every((entry, at) => entry.id === entries[at]?.id)
    const isDescribed = touched.length === 0
    const { commit, record } = operation
    return { seq: record.seq, commit, tree: isSame ? tree : this.#batch.tree(rewritten), isDescribed }
  }

  #review(tree: TreeId): TreeId {
    const state = readReview(this.#batch, tree)
    const next = reviewWithout(state, (path) => isIn(path, this.#paths))
    const kept = blobsOf(next)
    for (const blob of blobsOf(state)) if (!kept.has(blob)) this.blobs.add(blob)
    return storeReview(this.#batch, next, (blob) => this.#batch.readBlob(blob))
  }

  /** Snapshots are a tree and its attributes side by side; any other folder holds snapshots. */
  #container(entries: readonly TreeEntry[]): readonly TreeEntry[] {
    const attrs = new Map(entries.map((entry) => [entry.name, entry.id as BlobId]))
    const trees = new Map(entries.map((entry) => [`${entry.name}.attrs`, entry.id as TreeId]))
    return entries.map((entry) => {
      const id = entry.id as TreeId
      if (entry.mode === '40000' && attrs.has(`${entry.name}.attrs`))
        return { ...entry, id: this.#withoutAll(id) }
      if (entry.mode === '40000')
        return { ...entry, id: this.#batch.tree(this.#container(this.#batch.readTree(id))) }
      const tree = trees.get(entry.name)
      return tree === undefined ? entry : { ...entry, id: this.#withoutAttrs(tree, entry.id as BlobId) }
    })
  }

  #withoutAll(tree: TreeId): TreeId {
    const known = this.#trees.get(tree)
    if (known !== undefined) return known
    let next = tree
    for (const path of this.#paths) next = this.#without(next, path.split('/')) ?? this.#batch.tree([])
    this.#trees.set(tree, next)
    return next
  }

  /** Undefined: nothing is left in it. */
  #without(tree: TreeId, [name, ...rest]: readonly string[]): TreeId | undefined {
    const entries = this.#batch.readTree(tree)
    const found = entries.find((entry) => entry.name === name)
    if (found === undefined || (rest.length > 0 && found.mode !== '40000')) return tree
    const left = rest.length === 0 ? undefined : this.#without(found.id as TreeId, rest)
    if (left === found.id) return tree
    if (rest.length === 0) this.#note(found)
    const others = entries.filter((entry) => entry !== found)
    const next = left === undefined ? others : [...others, { ...found, id: left }]
    return next.length === 0 ? undefined : this.#batch.tree(next)
  }

  #note(entry: TreeEntry): void {
    if (entry.mode !== '40000') this.blobs.add(entry.id as BlobId)
    else for (const [, leaf] of listTree(this.#batch, entry.id as TreeId)) this.blobs.add(leaf.blob)
  }

  #withoutAttrs(tree: TreeId, id: BlobId): BlobId {
    const key = `${tree} ${id}`
    const known = this.#attrs.get(key)
    if (known !== undefined) return known
    const attrs = parseAttrs(this.#batch.readBlob(id))
    const next = this.#batch.blob(serializeAttrs(this.#attrsWithout(attrs, tree)))
    this.#attrs.set(key, next)
    return next
  }

  // A folder that held nothing else was there all the same, and undo must not take it for the turn's own (R11).
  #attrsWithout(attrs: Attrs, tree: TreeId): Attrs {
    const next = this.#withoutAll(tree)
    const folders = outside(attrs.folders, this.#paths)
    const bare = outside(attrs.bare, this.#paths)
    for (const folder of this.#paths.flatMap(foldersAbove)) {
      if (isIn(folder, this.#paths)) continue
      if (!hasFolder(this.#batch, tree, folder) || hasFolder(this.#batch, next, folder)) continue
      bare.set(folder, folders.get(folder) ?? attrs.defaults.folder)
      folders.delete(folder)
    }
    return { defaults: attrs.defaults, files: outside(attrs.files, this.#paths), folders, bare }
  }

  #had({ before, after }: Operation, path: RelPath): boolean {
    return [before, after].some(({ tree }) => entryAt(this.#batch, tree, path) !== undefined)
  }

  #touched({ before, after }: Operation, path: RelPath): boolean {
    const was = entryAt(this.#batch, before.tree, path)
    const is = entryAt(this.#batch, after.tree, path)
    return was?.id !== is?.id || was?.mode !== is?.mode
  }

  // Listed as not captured, an `--exact` restore leaves it alone, and a later capture takes it for the user's own.
  #skipped(id: BlobId, had: readonly RelPath[]): BlobId {
    if (had.length === 0) return id
    const list = new Map([...parseSkipped(this.#batch.readBlob(id))].filter(([path]) => !isIn(path, had)))
    for (const path of had) list.set(path, { skipped: { path, reason: 'purged' }, signature: '' })
    return this.#batch.blob(serializeSkipped(list))
  }

  #record(id: BlobId, touched: readonly RelPath[]): BlobId {
    if (touched.length === 0) return id
    const record = parseRecord(this.#batch.readBlob(id), id)
    const others = (record.missed ?? []).filter(({ path }) => !isIn(path, touched))
    const missed = [...others, ...touched.map((path) => ({ path, reason: 'purged' as const }))]
    return this.#batch.blob(serializeRecord({ ...record, missed } as OperationRecord))
  }
}

/** What was worked out last. An operation mostly begins with what the one before it ended with. */
class Recent<Id> {
  readonly #known = new Map<string, Id>()

  get(key: string): Id | undefined {
    return this.#known.get(key)
  }

  set(key: string, id: Id): void {
    if (this.#known.size >= mostRecent) this.#known.clear()
    this.#known.set(key, id)
  }
}

const mostRecent = 5_000

/** What stands there, file or folder. */
function entryAt(objects: Objects, tree: TreeId, path: RelPath): TreeEntry | undefined {
  let at: TreeEntry | undefined = { name: '', mode: '40000', id: tree }
  for (const name of path.split('/')) {
    if (at?.mode !== '40000') return undefined
    at = objects.readTree(at.id as TreeId).find((entry) => entry.name === name)
  }
  return at
}

function outside(perms: ReadonlyMap<RelPath, number>, purged: readonly RelPath[]): Map<RelPath, number> {
  return new Map([...perms].filter(([path]) => !isIn(path, purged)))
}

// ---- the proof -----------------------------------------------------------------------------------------------------

export interface Proof {
  /** How many objects the store has; every one of them is named by an operation. */
  readonly objects: number
  /** Objects that nobody names and that are there all the same: empty, or the proof has failed. */
  readonly strays: readonly ObjectId[]
  /** Versions of the purged paths that stay, because other paths have the same bytes, with one such path each. */
  readonly stay: ReadonlyMap<BlobId, RelPath>
}

/** Reads the whole store: everything in it is named by an operation, and no operation names the paths. */
export async function proveGone(engine: Engine, paths: readonly RelPath[], erased: Erased): Promise<Proof> {
  engine.objects.refresh()
  const named = await reachable(engine.objects, engine.git, rootsOf(engine))
  for (const [tree, operation] of snapshotTrees(engine))
    if (paths.some((path) => entryAt(engine.objects, tree, path) !== undefined))
      throw notPurged(`operation ${operation} still names it`)
  const unknown = engine.objects.damage()[0]
  if (unknown !== undefined) throw notPurged(`nobody can tell what is in ${unknown.pack}: ${unknown.reason}`)
  const there = new IdSet()
  const strays: ObjectId[] = []
  for (const id of engine.objects.ids()) if (there.add(id) && !named.has(id)) strays.push(id)
  const staying = new Set([...erased.blobs].filter((blob) => named.has(blob)))
  return { objects: there.size, strays, stay: pathsOf(engine, staying) }
}

/** Every snapshot once, with an operation that has it. */
function* snapshotTrees({ log }: Engine): IterableIterator<readonly [TreeId, OpId]> {
  const seen = new IdSet()
  for (const operation of log.index.eachOperation())
    for (const { tree } of [...log.stagesOf(operation), operation.after])
      if (seen.add(tree)) yield [tree, operation.record.id]
}

/** One path for each of these blobs. Snapshots share most of their folders, and each is looked into once. */
function pathsOf(engine: Engine, blobs: ReadonlySet<BlobId>): ReadonlyMap<BlobId, RelPath> {
  const paths = new Map<BlobId, RelPath>()
  const seen = new IdSet()
  const look = (tree: TreeId, at: string): void => {
    if (!seen.add(tree)) return
    for (const { name, mode, id } of engine.objects.readTree(tree)) {
      if (mode === '40000') look(id as TreeId, joinRel(at, name))
      else if (blobs.has(id as BlobId)) paths.set(id as BlobId, joinRel(at, name))
    }
  }
  if (blobs.size > 0) for (const [tree] of snapshotTrees(engine)) look(tree, '')
  return paths
}

export function notPurged(reason: string): UnturnError {
  return new UnturnError(
    'store-damaged',
    { what: reason },
    {
      message: `The path left the history, but it could not be proved that its bytes are gone: ${reason}. No file of the workspace was changed.`,
      hint: 'Run "unturn doctor", then the same purge again.',
    },
  )
}
