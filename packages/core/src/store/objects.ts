/**
 * Our object database: a bare git repository, read and written in this process, since starting git costs more
 * than a whole hook may take. The formats are git's, so that plain git can read everything.
 *
 * New objects are collected in an `ObjectBatch` and written as one small pack. What others wrote (git's loose
 * objects, packs of other processes, borrowed packs) is found by looking at the folder again on a miss.
 */

import { createHash } from 'node:crypto'
import { UnturnError } from '../errors.ts'
import { errorCode, type Fs } from '../fs.ts'
import { type ObjectKind, objectId } from '../object-id.ts'
import {
  type AbsPath,
  type BlobId,
  type CommitId,
  joinAbs,
  type ObjectId,
  type RelPath,
  type TreeId,
} from '../values.ts'
import { borrowPack, readIndex } from './borrow-pack.ts'
import { type Commit, parseCommit, serializeCommit } from './commits.ts'
import { internalError, storeDamaged } from './damage.ts'
import { layOutRepository } from './layout.ts'
import { looseFolders, looseIds, loosePath, readLoose } from './loose.ts'
import { inflated, leadOf, PackReader, type RawContent } from './pack-reader.ts'
import {
  type BuiltPack,
  buildPack,
  deflated,
  type PackedObject,
  removeQuietly,
  unwritable,
  writePack,
} from './pack-writer.ts'
import {
  editTree,
  emptyTree,
  type Leaf,
  parseTree,
  serializeSorted,
  serializeTree,
  sortedEntries,
  type TreeEntry,
} from './trees.ts'

export type { Commit } from './commits.ts'

/** Where objects are read from. Every read checks the bytes against the id: a flipped bit is an error, never wrong bytes (P4, K7). */
export interface Objects {
  has(id: ObjectId): boolean
  /** Throws `store-damaged` when missing or damaged. */
  readBlob(id: BlobId): Buffer
  readTree(id: TreeId): readonly TreeEntry[]
  readCommit(id: CommitId): Commit
}

export interface SizedObjects extends Objects {
  /** Without reading it; undefined where that cannot be told: missing, loose, or stored as a delta. */
  findBlobSize(id: BlobId): number | undefined
}

export interface PackSize {
  /** `pack-<checksum>`, without an ending. */
  readonly name: string
  readonly bytes: number
  /** Taken over from elsewhere: never joined with others. */
  readonly borrowed: boolean
}

export interface PackSummary extends PackSize {
  readonly objects: number
}

/** A pack that cannot be used, for `doctor`. Its objects count as missing. */
export interface PackDamage {
  readonly pack: string
  readonly reason: string
}

type Known =
  | { readonly kind: 'unread' }
  | { readonly kind: 'reader'; readonly reader: PackReader }
  | { readonly kind: 'damaged'; readonly reason: string }

/** How the ids in small packs begin, all together, and the packs that are not small. */
interface ByLead {
  readonly leads: Set<number>
  readonly large: readonly PackReader[]
}

const mostPendingBytes = 32 * 1024 * 1024
const mostCachedEntries = 50_000

export class ObjectStore implements SizedObjects, Disposable {
  readonly folder: AbsPath
  readonly fs: Fs
  readonly packFolder: AbsPath
  readonly #objects: AbsPath
  readonly #trees = new TreeCache(mostCachedEntries)
  #packs = new Map<string, Known>()
  #borrowed: ReadonlySet<string> = new Set()
  #looseFolders: ReadonlySet<string> = new Set()
  #recent: PackReader | undefined
  #byLead: ByLead | undefined
  #folderSynced = false
  #hasLeftovers = false
  readonly #listing: Listing

  /** Lays out an empty repository, durably. What is there already stays. */
  static create(fs: Fs, folder: AbsPath): void {
    layOutRepository(fs, folder)
  }

  static open(fs: Fs, folder: AbsPath): ObjectStore {
    const store = new ObjectStore(fs, folder)
    try {
      store.refresh()
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error
      throw storeDamaged('its folder of objects is missing', undefined, error)
    }
    return store
  }

  private constructor(fs: Fs, folder: AbsPath) {
    this.fs = fs
    this.folder = folder
    this.#objects = joinAbs(folder, 'objects')
    this.packFolder = joinAbs(this.#objects, 'pack')
    this.#listing = new Listing([this.#objects, this.packFolder])
  }

  newBatch(): ObjectBatch {
    return new ObjectBatch(this)
  }

  has(id: ObjectId): boolean {
    if (this.hasPacked(id) || this.#hasLoose(id)) return true
    return this.#lookAgain() && (this.hasPacked(id) || this.#hasLoose(id))
  }

  /**
   * Whether a pack that we have seen holds it. Loose objects do not count: git does not sync them, so what
   * is only there may be gone after a power cut.
   */
  hasPacked(id: ObjectId): boolean {
    for (const [pack] of this.#placesOf(id)) if (this.#isUsable(pack)) return true
    return false
  }

  /** The same of many ids, 20 bytes each. */
  hasAllPacked(ids: Uint8Array): boolean {
    let wanted = new Uint32Array(ids.length / 20).map((_, at) => at)
    const largestFirst = [...this.#readers()].sort((a, b) => b.count - a.count)
    for (const reader of largestFirst) {
      if (!this.#isUsable(reader)) continue
      const places = reader.findMany(ids, wanted)
      wanted = wanted.filter((_, at) => places[at] === -1)
      if (wanted.length === 0) return true
    }
    return wanted.length === 0
  }

  readBlob(id: BlobId): Buffer {
    return this.#readKind('blob', id)
  }

  findBlobSize(id: BlobId): number | undefined {
    for (const [pack, place] of this.#placesOf(id)) {
      if (!this.#isUsable(pack)) continue
      const size = pack.blobSizes([place])[0] ?? -1
      return size < 0 ? undefined : size
    }
    return undefined
  }

  readTree(id: TreeId): readonly TreeEntry[] {
    const known = this.#trees.find(id)
    if (known !== undefined) return known
    if (id === emptyTree) return []
    const entries = parseTree(this.#readKind('tree', id))
    this.#trees.keep(id, entries)
    return entries
  }

  /** The next capture begins with the trees that this one has made. */
  keepTree(id: TreeId, entries: readonly TreeEntry[]): void {
    this.#trees.keep(id, entries)
  }

  readCommit(id: CommitId): Commit {
    return parseCommit(this.#readKind('commit', id), id)
  }

  verify(id: ObjectId): 'ok' | 'missing' | 'damaged' {
    try {
      this.#read(id, 0)
      return 'ok'
    } catch (error) {
      if (!isDamage(error)) throw error
      return error instanceof MissingObject ? 'missing' : 'damaged'
    }
  }

  /** Looks at objects/pack again, and gives packs that could not be used another chance. */
  refresh(): void {
    for (const [name, known] of this.#packs) if (known.kind === 'damaged') this.#packs.delete(name)
    this.#list()
  }

  /**
   * Forgets packs that are gone, where the folder has changed since we looked. Packs are only removed under the lock, so
   * whoever takes it calls this first: an object that went with a pack would count as stored, and never be written again.
   * `alone`: nobody else has had the lock since we did, so that even a folder that has just changed is as we left it.
   */
  refreshIfStale(alone = false): void {
    if (alone ? this.#listing.hasChanged(this.fs) : this.#listing.isStale(this.fs)) this.#list()
  }

  /** Whether somebody's temporary files were here when we last looked; under the lock it was one who was killed. */
  get hasLeftovers(): boolean {
    return this.#hasLeftovers
  }

  packs(): readonly PackSummary[] {
    return [...this.#readers()]
      .filter((pack) => this.#isUsable(pack))
      .map((pack) => ({ ...this.#sizeOf(pack.name), objects: pack.count }))
  }

  get packCount(): number {
    return this.#packs.size
  }

  /** Names and sizes alone, without opening any pack. */
  packSizes(): readonly PackSize[] {
    return [...this.#packs.keys()].map((name) => this.#sizeOf(name))
  }

  #sizeOf(name: string): PackSize {
    const bytes = this.fs.lstat(joinAbs(this.packFolder, `${name}.pack`))?.size ?? 0
    return { name, bytes, borrowed: this.#borrowed.has(name) }
  }

  /** What is wrong with the packs as a whole; damaged objects in a sound pack are found by `verify`. */
  damage(): readonly PackDamage[] {
    this.#list()
    for (const pack of this.#readers()) this.#isUsable(pack)
    const found: PackDamage[] = []
    for (const [pack, known] of this.#packs) {
      if (known.kind === 'damaged') found.push({ pack, reason: known.reason })
    }
    const names = new Set(this.fs.readFolder(this.packFolder))
    for (const name of names) {
      const pack = /^(pack-[0-9a-f]{40})\.pack$/.exec(name)?.[1]
      if (pack === undefined || this.#packs.has(pack)) continue
      const reason = names.has(`${pack}.idx`) ? `${pack} could not be read` : `${pack} has no index`
      found.push({ pack, reason })
    }
    return found
  }

  /** The ids of all objects that can be found, some more than once; for `doctor` and for moving a store. */
  *ids(): IterableIterator<ObjectId> {
    for (const pack of this.#readers()) for (let i = 0; i < pack.count; i += 1) yield pack.idAt(i)
    for (const folder of this.#looseFolders) yield* looseIds(this.fs, this.#objects, folder)
  }

  /** What each object takes on disk in our own packs; borrowed ones take no room of ours. */
  diskSizes(): ReadonlyMap<ObjectId, number> {
    const sizes = new Map<ObjectId, number>()
    for (const pack of this.#readers()) {
      if (this.#borrowed.has(pack.name) || !this.#isUsable(pack)) continue
      for (const { id, bytes } of pack.diskSizes()) sizes.set(id, bytes)
    }
    return sizes
  }

  /** Whether a certain pack, borrowed or not, holds one of these objects. */
  packHolds(name: string, ids: Iterable<ObjectId>): boolean {
    const reader = this.#readerOf(name)
    if (reader === undefined) return false
    for (const id of ids) if (reader.find(id) >= 0) return true
    return false
  }

  looseObjects(): readonly ObjectId[] {
    return looseFolders(this.fs, this.#objects).flatMap((folder) => looseIds(this.fs, this.#objects, folder))
  }

  removeLoose(ids: readonly ObjectId[]): void {
    for (const id of ids) removeQuietly(this.fs, loosePath(this.#objects, id))
    this.#list()
  }

  looseCount(): number {
    return looseFolders(this.fs, this.#objects).reduce(
      (sum, folder) => sum + looseIds(this.fs, this.#objects, folder).length,
      0,
    )
  }

  /** Takes over a pack from elsewhere: hard links, or copies where that is not possible. Durable when it returns. */
  adoptPack(pack: AbsPath, idx: AbsPath, index = readIndex(this.fs, idx)): void {
    const name = borrowPack(this.fs, this.packFolder, pack, idx, index)
    this.#borrowed = new Set([...this.#borrowed, name])
    const reader = PackReader.fromTrustedIndex(this.fs, this.packFolder, name, index)
    this.#packs.set(name, { kind: 'reader', reader })
    this.#byLead = undefined
    this.#folderSynced = true
  }

  /** Writes a pack and knows its objects from then on. Durable when it returns. */
  addPack(built: BuiltPack): void {
    this.#hasLeftovers = true // until it is written whole
    writePack(this.fs, this.packFolder, built)
    this.#hasLeftovers = false
    const reader = PackReader.fromTrustedIndex(this.fs, this.packFolder, built.name, built.idx)
    this.#packs.set(built.name, { kind: 'reader', reader })
    if (isSmall(reader) && this.#byLead !== undefined) addLeads(this.#byLead.leads, reader)
    else this.#byLead = undefined
    this.#folderSynced = true
  }

  /**
   * To be called before the lock is given back: all that has changed since it was taken is ours, and we know it. The next
   * time we are alone, nothing needs to be listed.
   */
  noteOwnChanges(): void {
    this.#listing.noteOwnChanges(this.fs)
  }

  /**
   * Another process may have been killed after its pack got its name and before the folder was synced. Who
   * relies on such a pack without writing one must sync the folder instead.
   */
  syncFoundPacks(): void {
    if (this.#folderSynced) return
    try {
      this.fs.syncFolder(this.packFolder)
    } catch (error) {
      throw unwritable(this.fs, this.packFolder, 0, error)
    }
    this.#folderSynced = true
  }

  /** The pack's objects as raw bytes, for `consolidate`; `undefined` where it cannot be joined with others. */
  readRawPack(name: string): readonly { readonly id: ObjectId; readonly raw: Buffer }[] | undefined {
    try {
      return this.#readerOf(name)?.readRawObjects()
    } catch (error) {
      if (!isDamage(error)) throw error
      return undefined // a damaged pack stays as it is: `doctor` finds it, and what is whole in it stays readable
    }
  }

  [Symbol.dispose](): void {
    this.#packs = new Map()
    this.#byLead = undefined
    this.#recent = undefined
    this.#trees.clear()
  }

  #readKind(kind: ObjectKind, id: ObjectId): Buffer {
    const content = this.#read(id, 0)
    if (content.kind !== kind) throw storeDamaged(`an object is no ${kind} but a ${content.kind}`, id)
    return content.bytes
  }

  #read(id: ObjectId, jumps: number): RawContent {
    const first = this.#tryRead(id, jumps)
    if (first.content !== undefined) return first.content
    // A pack may have been joined with others since we looked: its objects are elsewhere now.
    const second = this.#lookAgain() ? this.#tryRead(id, jumps) : first
    if (second.content !== undefined) return second.content
    const cause = second.damage ?? first.damage
    if (cause === undefined) throw new MissingObject(id)
    throw storeDamaged('an object is damaged', id, cause)
  }

  /** From every place that claims to have it: one damaged copy does not spoil another. */
  #tryRead(id: ObjectId, jumps: number): { readonly content?: RawContent; readonly damage?: unknown } {
    let damage: unknown
    const readBase = (base: ObjectId, at: number) => this.#read(base, at)
    for (const [pack, place] of this.#placesOf(id)) {
      try {
        return { content: checked(id, pack.read(place, readBase, jumps)) }
      } catch (error) {
        if (!isDamage(error)) throw error
        damage = error
      }
    }
    try {
      if (this.#hasLoose(id)) return { content: checked(id, readLoose(this.fs, this.#objects, id)) }
    } catch (error) {
      if (!isDamage(error)) throw error
      damage = error
    }
    return { damage }
  }

  *#placesOf(id: ObjectId): IterableIterator<readonly [PackReader, number]> {
    const lead = leadOf(id)
    const recent = this.#recent
    const inRecent = recent?.find(id, lead) ?? -1
    if (recent !== undefined && inRecent >= 0) yield [recent, inRecent]
    const sorted = this.#sorted()
    for (const reader of sorted?.leads.has(lead) === false ? sorted.large : this.#readers()) {
      if (reader === recent) continue
      const place = reader.find(id, lead)
      if (place < 0) continue
      this.#recent = reader
      yield [reader, place]
    }
  }

  // Each operation has a pack of its own, and a new object is in none of them: to ask them all took longer than to store it.
  // Not before all have been read: one that is found in the first needs no other.
  #sorted(): ByLead | undefined {
    if (this.#byLead !== undefined) return this.#byLead
    for (const { kind } of this.#packs.values()) if (kind === 'unread') return undefined
    const readers = [...this.#readers()]
    const leads = new Set<number>()
    for (const reader of readers) if (isSmall(reader)) addLeads(leads, reader)
    this.#byLead = { leads, large: readers.filter((reader) => !isSmall(reader)) }
    return this.#byLead
  }

  /** Reads each index when it is first needed. */
  *#readers(): IterableIterator<PackReader> {
    for (const [name, known] of this.#packs) {
      const reader = known.kind === 'reader' ? known.reader : this.#readerOf(name)
      if (reader !== undefined) yield reader
    }
  }

  #readerOf(name: string): PackReader | undefined {
    const known = this.#packs.get(name)
    if (known === undefined || known.kind === 'damaged') return undefined
    if (known.kind === 'reader') return known.reader
    try {
      const reader = PackReader.open(this.fs, this.packFolder, name)
      this.#packs.set(name, { kind: 'reader', reader })
      return reader
    } catch (error) {
      this.#setAside(name, error)
      return undefined
    }
  }

  /** An index alone proves nothing: its pack may be cut short or gone. */
  #isUsable(pack: PackReader): boolean {
    try {
      return pack.size() > 0
    } catch (error) {
      this.#setAside(pack.name, error)
      return false
    }
  }

  #setAside(name: string, error: unknown): void {
    if (!isDamage(error)) throw error
    this.#byLead = undefined
    if (this.#recent?.name === name) this.#recent = undefined
    if (error instanceof UnturnError) {
      this.#packs.set(name, { kind: 'damaged', reason: error.message })
      return
    }
    // Joined with others and removed since we listed the folder, or a passing failure of the disk: nothing to
    // remember. The next miss looks again.
    this.#packs.delete(name)
    this.#listing.forget()
  }

  /** Whether there is anything new. */
  #lookAgain(): boolean {
    return this.#listing.isStale(this.fs) && this.#list()
  }

  #list(): boolean {
    this.#listing.begin(this.fs)
    const names = new Set(this.fs.readFolder(this.packFolder))
    this.#hasLeftovers = [...names].some((name) => name.startsWith('tmp-'))
    const loose = new Set(looseFolders(this.fs, this.#objects))
    const listed = [...names].filter((name) => name.endsWith('.idx')).map((name) => name.slice(0, -4))
    const fresh = listed.filter((name) => !this.#packs.has(name))
    for (const name of this.#packs.keys()) if (!names.has(`${name}.idx`)) this.#packs.delete(name)
    if (this.#recent !== undefined && !this.#packs.has(this.#recent.name)) this.#recent = undefined
    for (const name of fresh) this.#packs.set(name, { kind: 'unread' })
    this.#byLead = undefined
    if (fresh.length > 0) this.#folderSynced = false
    const moreLoose = !loose.isSubsetOf(this.#looseFolders)
    this.#looseFolders = loose
    this.#borrowed = new Set(listed.filter((name) => names.has(`${name}.keep`)))
    return fresh.length > 0 || moreLoose
  }

  #hasLoose(id: ObjectId): boolean {
    if (!this.#looseFolders.has(id.slice(0, 2))) return false
    return this.fs.lstat(loosePath(this.#objects, id))?.kind === 'file'
  }
}

/**
 * New objects, in memory and readable at once, written as one pack by `flush`. Add what a tree names before the
 * tree: a batch that grows large writes earlier objects out, and a tree in the store promises all below it.
 */
export class ObjectBatch implements SizedObjects {
  readonly #store: ObjectStore
  #pending = new Map<ObjectId, PackedObject>()
  #pendingBytes = 0
  #reliesOnStore = false
  // A first capture asks for its new folders again and again; unpacking them each time took longer than the scan.
  readonly #trees = new TreeCache(mostCachedEntries)

  constructor(store: ObjectStore) {
    this.#store = store
  }

  blob(bytes: Uint8Array): BlobId {
    const id = objectId('blob', bytes)
    this.#add('blob', id, bytes)
    return id
  }

  /** For bytes that a worker has hashed and packed; nobody looks at them again before they are read. */
  addDeflated(kind: 'blob', id: BlobId, size: number, deflated: Buffer): void {
    if (!this.#isStored(id)) this.#keep({ id, kind, size, deflated })
  }

  /** The tree with these paths changed; undefined: gone. */
  edit(tree: TreeId, edits: ReadonlyMap<RelPath, Leaf | undefined>): TreeId {
    return editTree(this, tree, edits)
  }

  tree(entries: readonly TreeEntry[]): TreeId {
    for (const { mode } of entries) checkMode(mode)
    const sorted = sortedEntries(entries)
    const bytes = serializeSorted(sorted)
    const id = objectId('tree', bytes)
    this.#add('tree', id, bytes)
    this.#trees.keep(id, sorted)
    return id
  }

  /** For a caller that has written the bytes itself, in git's order. They may change after this call. */
  writtenTree(bytes: Uint8Array): TreeId {
    const id = objectId('tree', bytes)
    this.#add('tree', id, bytes)
    return id
  }

  commit(commit: Commit): CommitId {
    const bytes = serializeCommit(commit)
    const id = objectId('commit', bytes)
    this.#add('commit', id, bytes)
    return id
  }

  /** Copies a tree, and all below it, that our packs lack. */
  addFrom(source: Objects, id: TreeId): void {
    if (this.#isStored(id)) return
    const entries = source.readTree(id)
    for (const entry of entries) {
      if (entry.mode === '40000') this.addFrom(source, entry.id as TreeId)
      else if (entry.mode !== '160000') this.#addBlobFrom(source, entry.id as BlobId)
    }
    const bytes = serializeTree(entries)
    if (objectId('tree', bytes) !== id) throw storeDamaged('a tree is not what its id says', id)
    this.#add('tree', id, bytes)
  }

  #addBlobFrom(source: Objects, id: BlobId): void {
    if (!this.#isStored(id)) this.#add('blob', id, source.readBlob(id))
  }

  has(id: ObjectId): boolean {
    return this.#pending.has(id) || this.#store.has(id)
  }

  /** Whether all of these, 20 bytes each, are in packs that we have seen. */
  holdsAll(ids: Uint8Array): boolean {
    const stored = this.#store.hasAllPacked(ids)
    if (stored) this.#reliesOnStore = true
    return stored
  }

  /** Whether it need not be added: it is pending, or in a pack that we have seen. Costs no look at the disk. */
  holds(id: ObjectId): boolean {
    return this.#isStored(id)
  }

  readBlob(id: BlobId): Buffer {
    return this.#findPending('blob', id) ?? this.#store.readBlob(id)
  }

  findBlobSize(id: BlobId): number | undefined {
    return this.#pending.get(id)?.size ?? this.#store.findBlobSize(id)
  }

  readTree(id: TreeId): readonly TreeEntry[] {
    const known = this.#trees.find(id)
    if (known !== undefined) return known
    const bytes = this.#findPending('tree', id)
    return bytes === undefined ? this.#store.readTree(id) : parseTree(bytes)
  }

  readCommit(id: CommitId): Commit {
    const bytes = this.#findPending('commit', id)
    return bytes === undefined ? this.#store.readCommit(id) : parseCommit(bytes, id)
  }

  /** Durable when it returns. After a failure the objects are still pending, and it can be tried again. */
  flush(): void {
    if (this.#pending.size > 0) this.#writeOut()
    else if (this.#reliesOnStore) this.#store.syncFoundPacks()
    this.#reliesOnStore = false
  }

  #writeOut(): void {
    this.#store.addPack(buildPack([...this.#pending.values()]))
    for (const [id, entries] of this.#trees.all()) this.#store.keepTree(id, entries)
    this.#pending = new Map()
    this.#pendingBytes = 0
  }

  #add(kind: ObjectKind, id: ObjectId, bytes: Uint8Array): void {
    if (!this.#isStored(id)) this.#keep({ id, kind, size: bytes.length, deflated: deflated(bytes) })
  }

  #isStored(id: ObjectId): boolean {
    if (this.#pending.has(id)) return true
    const stored = this.#store.hasPacked(id)
    if (stored) this.#reliesOnStore = true
    return stored
  }

  #keep(object: PackedObject): void {
    this.#pending.set(object.id, object)
    this.#pendingBytes += object.deflated.length
    if (this.#pendingBytes > mostPendingBytes) this.#writeOut()
  }

  #findPending(kind: ObjectKind, id: ObjectId): Buffer | undefined {
    const object = this.#pending.get(id)
    if (object === undefined) return undefined
    if (object.kind !== kind) throw storeDamaged(`an object is no ${kind} but a ${object.kind}`, id)
    const bytes = inflated(
      Buffer.from(object.deflated.buffer, object.deflated.byteOffset, object.deflated.length),
      object.size,
    )
    if (typeof bytes === 'string') throw internalError('A new object cannot be read back.', { id })
    return checked(id, { kind, bytes }).bytes
  }
}

function isSmall(pack: PackReader): boolean {
  return pack.count <= 1000
}

function addLeads(leads: Set<number>, pack: PackReader): void {
  for (let place = 0; place < pack.count; place += 1) leads.add(pack.leadAt(place))
}

/** The trees read last, up to a number of entries. */
class TreeCache {
  readonly #most: number
  readonly #trees = new Map<TreeId, readonly TreeEntry[]>()
  #entries = 0

  constructor(most: number) {
    this.#most = most
  }

  find(id: TreeId): readonly TreeEntry[] | undefined {
    const entries = this.#trees.get(id)
    if (entries === undefined) return undefined
    this.#trees.delete(id)
    this.#trees.set(id, entries) // a map keeps the order of insertion: the last one is the freshest
    return entries
  }

  all(): Iterable<readonly [TreeId, readonly TreeEntry[]]> {
    return this.#trees
  }

  keep(id: TreeId, entries: readonly TreeEntry[]): void {
    if (this.#trees.has(id)) return
    if (entries.length > this.#most) return
    this.#trees.set(id, entries)
    this.#entries += entries.length
    for (const [oldest, dropped] of this.#trees) {
      if (this.#entries <= this.#most) return
      this.#trees.delete(oldest)
      this.#entries -= dropped.length
    }
  }

  clear(): void {
    this.#trees.clear()
    this.#entries = 0
  }
}

// Coarse clocks of file systems, with room to spare. Where a time has a fraction, the clock ticks many times a second.
const tickMs = 20
const wholeTickMs = 1100

/** Remembers when folders were listed, so that looking for what is not there costs two lstats. */
class Listing {
  readonly #folders: readonly AbsPath[]
  #times: readonly number[] = []
  #isYoung = true

  constructor(folders: readonly AbsPath[]) {
    this.#folders = folders
  }

  begin(fs: Fs): void {
    this.#times = this.#readTimes(fs)
    // A file that arrives within the same tick as the last one leaves the folder's time as it was.
    this.#isYoung = this.#times.some((time) => Date.now() - time < (time % 1000 === 0 ? wholeTickMs : tickMs))
  }

  forget(): void {
    this.#isYoung = true
  }

  /** Files of our own have come. Others may have come with them: only who was alone there can take that for all. */
  noteOwnChanges(fs: Fs): void {
    this.#isYoung = true
    try {
      this.#times = this.#readTimes(fs)
    } catch (error) {
      if (errorCode(error) === undefined) throw error
      this.#times = [] // what was done is done: a disk that does not answer now only costs a listing later
    }
  }

  isStale(fs: Fs): boolean {
    return this.#isYoung || this.hasChanged(fs)
  }

  hasChanged(fs: Fs): boolean {
    return this.#readTimes(fs).some((time, i) => time !== this.#times[i])
  }

  #readTimes(fs: Fs): readonly number[] {
    return this.#folders.map((folder) => fs.lstat(folder)?.mtimeMs ?? Number.NaN)
  }
}

class MissingObject extends UnturnError<'store-damaged'> {
  constructor(id: ObjectId) {
    super(
      'store-damaged',
      { what: 'an object is missing', id },
      {
        message: `The store is damaged: object ${id} is missing. Nothing was changed because of it.`,
        hint: 'Run "unturn doctor" to see what else is affected.',
      },
    )
  }
}

function checkMode(mode: string): void {
  const isOurs = mode === '100644' || mode === '40000' || mode === '100755' || mode === '120000'
  if (!isOurs) throw internalError('A tree was given an entry of a mode that is not ours.', { mode })
}

function checked(id: ObjectId, content: RawContent): RawContent {
  const { kind, bytes } = content
  const found = createHash('sha1').update(`${kind} ${bytes.length}\0`).update(bytes).digest('hex')
  if (found !== id) throw storeDamaged('the bytes of an object are not what its id says', id)
  return content
}

/** Bytes that are wrong, and a disk that does not give them: both leave the other copies of an object to be tried. */
function isDamage(error: unknown): error is Error {
  if (error instanceof UnturnError) return error.code === 'store-damaged'
  return errorCode(error) !== undefined
}
