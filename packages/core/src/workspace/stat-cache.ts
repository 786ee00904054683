/**
 * What was known of each path at the last look, so that one lstat tells whether a file must be read again.
 *
 * The table lies in shared memory, in the same form as on disk: reading it is one read, and a second thread
 * compares in place. A record has 64 bytes; folders come first, in the order of their paths, then their
 * entries, in the order of their names, then the bytes of the names.
 *
 *     folder   mtime ctime ino –     pathAt pathLength bits firstEntry entryCount parent – –
 *     entry    size mtime ctime ino  nameAt nameLength bits blob(5 words)
 *
 * What has a place in the table is changed there. What has none waits in `#added` and `#patches` and is
 * woven in by `compact()`, before the next scan or write.
 */

import { closeSync, fstatSync, openSync, readSync, renameSync, unlinkSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { errorCode } from '../fs.ts'
import type { SortedPaths } from '../sorted-paths.ts'
import {
  type AbsPath,
  type BlobId,
  type ByteString,
  joinRel,
  nameOf,
  parentOf,
  type RelPath,
} from '../values.ts'

export interface Known {
  readonly kind: 'file' | 'link'
  readonly perm: number
  readonly size: number
  readonly mtimeMs: number
  readonly ctimeMs: number
  readonly ino: number
  readonly blob: BlobId
}

/** What an entry stands for: 1 and 2 are captured, 3 to 7 are names that were skipped, 0 was forgotten. */
export const State = {
  none: 0,
  file: 1,
  link: 2,
  ignored: 3,
  tooLarge: 4,
  unreadable: 5,
  special: 6,
  nestedGit: 7,
} as const

/** The bits of a record beside the nine permission bits. */
export const Bits = {
  perm: 0o777,
  stateAt: 9,
  stateMask: 0b1111,
  /** The stat is no proof: look again, whatever it says. */
  racy: 1 << 16,
  /** The name has a byte above 0x7f, so Node needs it as a Buffer. */
  wide: 1 << 17,
  /** A folder that an ignore rule covers and that is walked only for what is wanted below it. */
  blocked: 1 << 18,
  /** A folder that no scan has listed yet: it is here because a path in it was set. */
  unseen: 1 << 19,
} as const

const magic = 0x5554_5343
const version = 1
const recordBytes = 64
const noParent = 0xffff_ffff

export interface StatFields {
  readonly size: number
  readonly mtimeMs: number
  readonly ctimeMs: number
  readonly ino: number
}

export interface SkippedEntry extends StatFields {
  readonly name: ByteString
  readonly state: number
  readonly racy: boolean
}

/** What a scan saw of one folder that it listed. */
export interface FolderPatch {
  readonly path: ByteString
  readonly perm: number
  readonly mtimeMs: number
  readonly ctimeMs: number
  readonly ino: number
  readonly bits: number
  readonly skipped: readonly SkippedEntry[]
}

/** What a scan teaches the cache beside the files themselves. */
export interface ScanLesson {
  readonly fingerprint: string
  readonly folders: readonly FolderPatch[]
  readonly removedFolders: readonly ByteString[]
}

/** The table as both threads see it. */
export class CacheTable {
  readonly buffer: SharedArrayBuffer
  readonly f64: Float64Array
  readonly u32: Uint32Array
  readonly bytes: Buffer
  readonly folderCount: number
  readonly entryCount: number
  /** Where the records of entries, and the names, begin; in bytes. */
  readonly entriesAt: number
  readonly namesAt: number
  readonly end: number
  #folderPaths: readonly ByteString[] | undefined
  #indexOfFolder: Map<ByteString, number> | undefined

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer
    this.f64 = new Float64Array(buffer, 0, Math.floor(buffer.byteLength / 8))
    this.u32 = new Uint32Array(buffer, 0, Math.floor(buffer.byteLength / 4))
    this.bytes = Buffer.from(buffer)
    this.folderCount = this.u32[3] ?? 0
    this.entryCount = this.u32[4] ?? 0
    this.entriesAt = recordBytes + this.folderCount * recordBytes
    this.namesAt = this.entriesAt + this.entryCount * recordBytes
    this.end = this.namesAt + (this.u32[5] ?? 0)
  }

  static of(folderCount: number, entryCount: number, nameBytes: number): CacheTable {
    const length = (1 + folderCount + entryCount) * recordBytes + nameBytes
    const buffer = new SharedArrayBuffer(Math.ceil(length / 8) * 8)
    new Uint32Array(buffer, 0, 6).set([magic, version, 0, folderCount, entryCount, nameBytes])
    return new CacheTable(buffer)
  }

  /** First word of a folder's record; its doubles are at half of that. */
  folderAt(index: number): number {
    return 16 + index * 16
  }

  entryAt(index: number): number {
    return (this.entriesAt >> 2) + index * 16
  }

  nameOfRecord(word: number): ByteString {
    const start = this.namesAt + (this.u32[word + 8] ?? 0)
    return this.bytes.toString('latin1', start, start + (this.u32[word + 9] ?? 0))
  }

  folderPath(index: number): ByteString {
    return this.#folderPaths?.[index] ?? this.nameOfRecord(this.folderAt(index))
  }

  /** For who has the paths of all folders as strings anyway: to make them again takes a while. */
  keepFolderPaths(paths: readonly ByteString[]): void {
    this.#folderPaths = paths
  }

  /** The paths of all folders as one string, which crosses threads faster than many. */
  joinedFolderPaths(): string {
    return Array.from({ length: this.folderCount }, (_, folder) => this.folderPath(folder)).join('\0')
  }

  folderBits(index: number): number {
    return this.u32[this.folderAt(index) + 10] ?? 0
  }

  firstEntry(index: number): number {
    return this.u32[this.folderAt(index) + 11] ?? 0
  }

  endEntry(index: number): number {
    const word = this.folderAt(index)
    return (this.u32[word + 11] ?? 0) + (this.u32[word + 12] ?? 0)
  }

  /** The index of the folder that holds this one; -1 for the root. */
  parent(index: number): number {
    const parent = this.u32[this.folderAt(index) + 13] ?? noParent
    return parent === noParent ? -1 : parent
  }

  entryBits(index: number): number {
    return this.u32[this.entryAt(index) + 10] ?? 0
  }

  stateOf(index: number): number {
    return (this.entryBits(index) >> Bits.stateAt) & Bits.stateMask
  }

  isCaptured(index: number): boolean {
    const state = this.stateOf(index)
    return state === State.file || state === State.link
  }

  entryName(index: number): ByteString {
    return this.nameOfRecord(this.entryAt(index))
  }

  indexOfFolder(path: ByteString): number {
    this.#indexOfFolder ??= this.#mapFolders()
    return this.#indexOfFolder.get(path) ?? -1
  }

  /** The folder itself, or the nearest one above it that the table has. */
  nearestFolder(path: ByteString): number {
    for (let folder = path; ; folder = parentOf(folder)) {
      const index = this.indexOfFolder(folder)
      if (index >= 0 || folder === '') return index
    }
  }

  indexOfEntry(path: ByteString): number {
    const folder = this.indexOfFolder(parentOf(path))
    return folder < 0 ? -1 : this.findEntry(nameOf(path), this.firstEntry(folder), this.endEntry(folder))
  }

  /** The one of this name among the entries of a folder; -1 for none. */
  findEntry(name: ByteString, first: number, end: number): number {
    let low = first
    let high = end - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const order = this.#compareName(middle, name)
      if (order === 0) return middle
      if (order < 0) low = middle + 1
      else high = middle - 1
    }
    return -1
  }

  #compareName(entry: number, name: ByteString): number {
    const word = this.entryAt(entry)
    const start = this.namesAt + (this.u32[word + 8] ?? 0)
    const length = this.u32[word + 9] ?? 0
    const shorter = Math.min(length, name.length)
    for (let i = 0; i < shorter; i++) {
      const difference = (this.bytes[start + i] ?? 0) - name.charCodeAt(i)
      if (difference !== 0) return difference
    }
    return length - name.length
  }

  #mapFolders(): Map<ByteString, number> {
    const map = new Map<ByteString, number>()
    for (let i = 0; i < this.folderCount; i++) map.set(this.folderPath(i), i)
    return map
  }
}

/** Files in the order of their paths' bytes, each once. */
export interface Seeds {
  readonly paths: SortedPaths
  /** Size, mtime, ctime and ino of each. */
  readonly stats: Float64Array
  readonly executable: Uint8Array
  /** The permission bits of files that are executable, and of those that are not. */
  readonly perms: { readonly file: number; readonly exec: number }
  /** 20 bytes each. */
  readonly ids: Uint8Array
}

interface AddedEntry extends StatFields {
  readonly bits: number
  readonly blob: BlobId
}

export class StatCache {
  #table: CacheTable
  #added = new Map<RelPath, AddedEntry>()
  #patches = new Map<ByteString, FolderPatch>()
  #removedFolders = new Set<ByteString>()
  #folderOfForgotten = new Set<ByteString>()
  #size: number
  #stale = 0
  #fingerprint = ''
  /** Nothing is in the table but files, and folders around them. */
  #hasFilesOnly = false
  /** The snapshot this cache describes; set by the caller, kept with the cache. */
  snapshotTree = ''
  snapshotAttrs = ''

  private constructor(table: CacheTable, size = capturedIn(table)) {
    this.#table = table
    this.#size = size
  }

  static empty(): StatCache {
    return new StatCache(CacheTable.of(0, 0, 0))
  }

  /** With these files in it, in folders that no scan has listed yet. */
  static seeded(seeds: Seeds): StatCache {
    const cache = new StatCache(seededTable(seeds), seeds.executable.length)
    cache.#stale = cache.#size
    cache.#hasFilesOnly = true
    return cache
  }

  /** `undefined` where there is none, or it is damaged, or of another version: then everything is looked at. */
  static read(path: AbsPath): StatCache | undefined {
    const buffer = readShared(path)
    if (buffer === undefined) return undefined
    const table = new CacheTable(buffer.shared)
    if (!isSound(table, buffer.length)) return undefined
    const meta = parseMeta(table.bytes.toString('latin1', table.end, buffer.length))
    if (meta === undefined) return undefined
    const cache = new StatCache(table)
    cache.snapshotTree = meta.tree
    cache.snapshotAttrs = meta.attrs
    cache.#fingerprint = meta.fingerprint
    return cache
  }

  /** Replaces the file in one instant. Not synced: after a power cut the checksum tells, and all is looked at. */
  write(path: AbsPath): void {
    this.compact()
    const meta = Buffer.from(
      JSON.stringify({ tree: this.snapshotTree, attrs: this.snapshotAttrs, fingerprint: this.#fingerprint }),
      'latin1',
    )
    const table = this.#table
    table.u32[2] = 0
    table.u32[2] = crc32(meta, crc32(table.bytes.subarray(0, table.end)))
    const temporary = Buffer.from(`${path}.${process.pid}.tmp`, 'latin1')
    writeWhole(temporary, [table.bytes.subarray(0, table.end), meta])
    renameSync(temporary, Buffer.from(path, 'latin1'))
    this.#stale = 0
  }

  /** How many paths are captured. */
  get size(): number {
    return this.#size
  }

  /** Whether every folder certainly has a captured file in it, at any depth. */
  get hasFilledFoldersOnly(): boolean {
    return this.#hasFilesOnly && this.#folderOfForgotten.size === 0
  }

  /** How many entries changed since the cache was read or written. */
  get staleEntries(): number {
    return this.#stale
  }

  /** Of the rules under which the names were judged. */
  get fingerprint(): string {
    return this.#fingerprint
  }

  get(path: RelPath): Known | undefined {
    const added = this.#added.get(path)
    if (added !== undefined) return knownOf(added)
    const entry = this.#table.indexOfEntry(path)
    return entry >= 0 && this.#table.isCaptured(entry) ? this.#read(entry) : undefined
  }

  /**
   * Puts what the caller knows. When the stat was taken is not told here, so the file counts as racy until
   * its times are two seconds old.
   */
  set(path: RelPath, known: Known): void {
    this.put(path, known, isRacy(known, Date.now() - 2000))
  }

  put(path: RelPath, known: Known, racy: boolean): void {
    this.#put(path, known, known.blob, bitsOf(path, known) | (racy ? Bits.racy : 0))
  }

  forget(path: RelPath): void {
    if (this.#added.delete(path)) {
      this.#size--
      this.#stale++
      return
    }
    const entry = this.#table.indexOfEntry(path)
    if (entry < 0 || !this.#table.isCaptured(entry)) return
    this.#table.u32[this.#table.entryAt(entry) + 10] = 0
    this.#folderOfForgotten.add(parentOf(path))
    // The name may still be there: only a new listing tells.
    this.listAgain(parentOf(path))
    this.#size--
    this.#stale++
  }

  /** The content is known, the stat proves nothing: the path stays captured, and the next scan reads it. */
  distrust(path: RelPath, blob?: BlobId, kind?: 'file' | 'link', perm?: number): void {
    const known = this.get(path)
    const content = blob ?? known?.blob
    if (content === undefined) return
    this.put(
      path,
      {
        kind: kind ?? known?.kind ?? 'file',
        perm: perm ?? known?.perm ?? 0o644,
        size: known?.size ?? 0,
        mtimeMs: known?.mtimeMs ?? 0,
        ctimeMs: known?.ctimeMs ?? 0,
        ino: known?.ino ?? 0,
        blob: content,
      },
      true,
    )
  }

  /** The folder's names are asked for at the next scan, whatever its stat says. */
  listAgain(folder: ByteString): void {
    const patch = this.#patches.get(folder)
    if (patch !== undefined) this.#patches.set(folder, { ...patch, bits: patch.bits | Bits.racy })
    const index = this.#table.indexOfFolder(folder)
    if (index >= 0) this.#orFolderBits(index, Bits.racy)
  }

  *entries(): Iterable<readonly [RelPath, Known]> {
    this.compact()
    const table = this.#table
    for (let folder = 0; folder < table.folderCount; folder++) {
      const path = table.folderPath(folder)
      for (let entry = table.firstEntry(folder); entry < table.endEntry(folder); entry++)
        if (table.isCaptured(entry)) yield [joinRel(path, table.entryName(entry)), this.#read(entry)]
    }
  }

  /** The folders that the last scan looked at, with their permission bits; without the root. */
  *folders(): Iterable<readonly [RelPath, number]> {
    this.compact()
    for (let folder = 0; folder < this.#table.folderCount; folder++) {
      const bits = this.#table.folderBits(folder)
      if ((bits & Bits.unseen) !== 0) continue
      const path = this.#table.folderPath(folder)
      if (path !== '') yield [path as RelPath, bits & Bits.perm]
    }
  }

  /** Every folder that has a file in it, or had one, at any depth. */
  knownFolders(): Set<ByteString> {
    const table = this.compact()
    return new Set(Array.from({ length: table.folderCount }, (_, folder) => table.folderPath(folder)))
  }

  learn(lesson: ScanLesson): void {
    this.#fingerprint = lesson.fingerprint
    for (const path of lesson.removedFolders) this.#removedFolders.add(path)
    for (const patch of lesson.folders) if (!this.#patchInPlace(patch)) this.#patches.set(patch.path, patch)
    this.#stale += lesson.folders.length + lesson.removedFolders.length
  }

  /** The table with everything woven in. */
  compact(): CacheTable {
    if (this.#isWhole()) return this.#table
    this.#hasFilesOnly = false
    this.#table = weave(this.#table, {
      added: groupByFolder(this.#added),
      patches: this.#patches,
      removed: this.#removedFolders,
      touched: this.#folderOfForgotten,
    })
    this.#added = new Map()
    this.#patches = new Map()
    this.#removedFolders = new Set()
    this.#folderOfForgotten = new Set()
    return this.#table
  }

  #isWhole(): boolean {
    return (
      this.#added.size + this.#patches.size + this.#removedFolders.size + this.#folderOfForgotten.size === 0
    )
  }

  #put(path: RelPath, stat: StatFields, blob: BlobId, bits: number): void {
    this.#stale++
    const entry = this.#table.indexOfEntry(path)
    if (entry < 0 || this.#removedFolders.has(parentOf(path))) {
      if (!this.#added.has(path)) this.#size++
      this.#added.set(path, { ...pickStat(stat), bits, blob })
      return
    }
    if (!this.#table.isCaptured(entry)) this.#size++
    writeEntry(this.#table, entry, stat, bits, blob)
  }

  #read(entry: number): Known {
    const { u32, f64, bytes } = this.#table
    const word = this.#table.entryAt(entry)
    const double = word >> 1
    const bits = u32[word + 10] ?? 0
    return {
      kind: ((bits >> Bits.stateAt) & Bits.stateMask) === State.link ? 'link' : 'file',
      perm: bits & Bits.perm,
      size: f64[double] ?? 0,
      mtimeMs: f64[double + 1] ?? 0,
      ctimeMs: f64[double + 2] ?? 0,
      ino: f64[double + 3] ?? 0,
      blob: bytes.toString('hex', (word + 11) * 4, (word + 16) * 4) as BlobId,
    }
  }

  /** Most patches only bring a new stat; weaving for them would copy the whole table at every scan. */
  #patchInPlace(patch: FolderPatch): boolean {
    const index = this.#table.indexOfFolder(patch.path)
    if (index < 0 || this.#patches.has(patch.path) || this.#removedFolders.has(patch.path)) return false
    if (!this.#hasSameSkipped(index, patch.skipped)) return false
    writeFolderStat(this.#table, index, patch)
    for (const skipped of patch.skipped) {
      const entry = this.#table.indexOfEntry(joinRel(patch.path, skipped.name))
      if (!this.#table.isCaptured(entry))
        writeEntry(this.#table, entry, skipped, skippedBits(skipped), noBlob)
    }
    return true
  }

  #hasSameSkipped(folder: number, skipped: readonly SkippedEntry[]): boolean {
    if (this.#hasFilesOnly) return skipped.length === 0
    const table = this.#table
    const end = table.endEntry(folder)
    let before = 0
    for (let entry = table.firstEntry(folder); entry < end; entry++)
      if (table.stateOf(entry) >= State.ignored) before++
    return (
      before === skipped.length &&
      skipped.every(({ name, state }) => {
        const entry = table.findEntry(name, table.firstEntry(folder), table.endEntry(folder))
        return entry >= 0 && table.stateOf(entry) === state
      })
    )
  }

  #orFolderBits(index: number, bits: number): void {
    const word = this.#table.folderAt(index) + 10
    this.#table.u32[word] = (this.#table.u32[word] ?? 0) | bits
  }
}

function bitsOf(path: RelPath, { kind, perm }: Known): number {
  const state = kind === 'file' ? State.file : State.link
  return perm | (state << Bits.stateAt) | (isWide(nameOf(path)) ? Bits.wide : 0)
}

/**
 * A file that changes twice within one tick of the file system's clock has the same times both times. So a
 * stat proves something only when its times are clearly older than the look; a time in the future never is.
 */
export function isRacy(
  stat: { readonly mtimeMs: number; readonly ctimeMs: number },
  lookedMs: number,
): boolean {
  const wholeSeconds = stat.mtimeMs % 1000 === 0 && stat.ctimeMs % 1000 === 0
  return Math.max(stat.mtimeMs, stat.ctimeMs) > lookedMs - (wholeSeconds ? 2000 : 20)
}

export function isWide(name: ByteString): boolean {
  return /[\x80-\xff]/.test(name)
}

const noBlob = '0'.repeat(40) as BlobId

interface Threads {
  readonly added: ReadonlyMap<ByteString, readonly (readonly [ByteString, AddedEntry])[]>
  readonly patches: ReadonlyMap<ByteString, FolderPatch>
  readonly removed: ReadonlySet<ByteString>
  readonly touched: ReadonlySet<ByteString>
}

type Source = { readonly name: ByteString } & (
  | { readonly from: number }
  | { readonly stat: StatFields; readonly bits: number; readonly blob: BlobId }
)

/** A run of folders as they were, or one folder with new entries. */
type Piece =
  | { readonly from: number; readonly to: number }
  | { readonly path: ByteString; readonly old: number; readonly entries: readonly Source[] }

/** A new table from the old one and what came since. Runs of untouched folders are copied as they are. */
function weave(old: CacheTable, threads: Threads): CacheTable {
  const pieces = piecesOf(old, threads)
  const table = tableFor(old, pieces)
  const names = new NameWriter(table, old)
  let folder = 0
  let entry = 0
  for (const piece of pieces) {
    if ('from' in piece) {
      entry += copyRun(old, table, piece, folder, entry)
      folder += piece.to - piece.from
      continue
    }
    writeFolder(old, table, piece, folder, entry, threads.patches.get(piece.path), names)
    for (const source of piece.entries) writeSource(old, table, entry++, source, names)
    folder++
  }
  const tidy = isWasteful(table) ? withLiveNames(table) : table
  linkParents(tidy)
  return tidy
}

/** Names of forgotten entries stay in the table until they make up half of it. */
function isWasteful(table: CacheTable): boolean {
  return table.end - table.namesAt > 65_536 + 2 * liveNameBytes(table)
}

function liveNameBytes(table: CacheTable): number {
  let bytes = 0
  for (const word of recordWords(table)) bytes += table.u32[word + 9] ?? 0
  return bytes
}

function withLiveNames(table: CacheTable): CacheTable {
  const tidy = CacheTable.of(table.folderCount, table.entryCount, liveNameBytes(table))
  copyRecords(table, tidy, 16, 16, table.folderCount + table.entryCount)
  const names = new NameWriter(tidy)
  for (const word of recordWords(table)) names.write(word, table.nameOfRecord(word))
  return tidy
}

/** Folders and entries lie behind each other, so that one step leads through all of them. */
function* recordWords(table: CacheTable): Iterable<number> {
  for (let word = 16; word < table.namesAt >> 2; word += 16) yield word
}

function piecesOf(old: CacheTable, threads: Threads): readonly Piece[] {
  const needed = withFoldersAbove([...threads.added.keys(), ...threads.patches.keys()])
  const touched = new Set([
    ...threads.touched,
    ...threads.removed,
    ...threads.added.keys(),
    ...threads.patches.keys(),
    ...[...needed].filter((path) => old.indexOfFolder(path) < 0),
  ])
  const pieces: Piece[] = []
  let done = 0
  for (const path of [...touched].sort(byBytes)) {
    const place = lowerBound(old, path)
    if (place > done) pieces.push({ from: done, to: place })
    const isOld = old.indexOfFolder(path) >= 0
    done = isOld ? place + 1 : place
    const isRemoved = !isOld || threads.removed.has(path)
    if (isRemoved && !needed.has(path)) continue
    const base = isRemoved ? -1 : place
    pieces.push({ path, old: base, entries: entriesOf(old, base, path, threads) })
  }
  if (done < old.folderCount) pieces.push({ from: done, to: old.folderCount })
  return pieces
}

function withFoldersAbove(folders: readonly ByteString[]): ReadonlySet<ByteString> {
  const all = new Set(folders)
  for (const folder of folders)
    for (let path = folder; path !== ''; ) {
      path = parentOf(path)
      all.add(path)
    }
  return all
}

function byBytes(a: ByteString, b: ByteString): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function lowerBound(table: CacheTable, path: ByteString): number {
  const exact = table.indexOfFolder(path)
  if (exact >= 0) return exact
  let low = 0
  let high = table.folderCount
  while (low < high) {
    const middle = (low + high) >> 1
    if (table.folderPath(middle) < path) low = middle + 1
    else high = middle
  }
  return low
}

/** Captured entries win over skipped ones of the same name: what is known stays known. */
function entriesOf(old: CacheTable, folder: number, path: ByteString, threads: Threads): readonly Source[] {
  const patch = threads.patches.get(path)
  const added = threads.added.get(path) ?? []
  if (folder < 0 && patch === undefined) return sourcesOf(added).sort((a, b) => byBytes(a.name, b.name))
  const byName = new Map<ByteString, Source>()
  for (const skipped of patch?.skipped ?? [])
    byName.set(skipped.name, { name: skipped.name, stat: skipped, bits: skippedBits(skipped), blob: noBlob })
  if (folder >= 0)
    for (let from = old.firstEntry(folder); from < old.endEntry(folder); from++) {
      const isSkipped = old.stateOf(from) >= State.ignored
      const keep = isSkipped ? patch === undefined : old.isCaptured(from)
      if (keep) byName.set(old.entryName(from), { name: old.entryName(from), from })
    }
  for (const source of sourcesOf(added)) byName.set(source.name, source)
  return [...byName.values()].sort((a, b) => byBytes(a.name, b.name))
}

function sourcesOf(added: readonly (readonly [ByteString, AddedEntry])[]): Source[] {
  return added.map(([name, entry]) => ({ name, stat: entry, bits: entry.bits, blob: entry.blob }))
}

function tableFor(old: CacheTable, pieces: readonly Piece[]): CacheTable {
  let folders = 0
  let entries = 0
  let newNames = 0
  for (const piece of pieces) {
    if ('from' in piece) {
      folders += piece.to - piece.from
      entries += runEntries(old, piece)
    } else {
      folders++
      entries += piece.entries.length
      if (piece.old < 0) newNames += piece.path.length
      for (const source of piece.entries) if (!('from' in source)) newNames += source.name.length
    }
  }
  return CacheTable.of(folders, entries, old.end - old.namesAt + newNames)
}

function runEntries(old: CacheTable, run: { readonly from: number; readonly to: number }): number {
  return run.to === run.from ? 0 : old.endEntry(run.to - 1) - old.firstEntry(run.from)
}

/** Old names stay where they were, so that copied records need no change; new ones are added behind them. */
class NameWriter {
  readonly #table: CacheTable
  #end = 0

  constructor(table: CacheTable, old?: CacheTable) {
    this.#table = table
    if (old === undefined) return
    old.bytes.copy(table.bytes, table.namesAt, old.namesAt, old.end)
    this.#end = old.end - old.namesAt
  }

  write(word: number, name: ByteString): void {
    this.#table.bytes.write(name, this.#table.namesAt + this.#end, 'latin1')
    this.#table.u32[word + 8] = this.#end
    this.#table.u32[word + 9] = name.length
    this.#end += name.length
  }

  /** Whether one of the bytes is above 0x7f. */
  writeBytes(word: number, source: Uint8Array, from: number, to: number): boolean {
    const { bytes, namesAt, u32 } = this.#table
    u32[word + 8] = this.#end
    u32[word + 9] = to - from
    const shift = namesAt + this.#end - from
    let all = 0
    for (let i = from; i < to; i++) {
      const byte = source[i] ?? 0
      bytes[i + shift] = byte
      all |= byte
    }
    this.#end += to - from
    return all >= 0x80
  }
}

function copyRun(
  old: CacheTable,
  table: CacheTable,
  run: { readonly from: number; readonly to: number },
  folder: number,
  entry: number,
): number {
  const count = runEntries(old, run)
  copyRecords(old, table, old.folderAt(run.from), table.folderAt(folder), run.to - run.from)
  copyRecords(old, table, old.entryAt(old.firstEntry(run.from)), table.entryAt(entry), count)
  const shift = entry - old.firstEntry(run.from)
  for (let i = 0; i < run.to - run.from; i++) {
    const word = table.folderAt(folder + i) + 11
    table.u32[word] = (table.u32[word] ?? 0) + shift
  }
  return count
}

function copyRecords(old: CacheTable, table: CacheTable, from: number, to: number, count: number): void {
  table.u32.set(old.u32.subarray(from, from + count * 16), to)
}

function writeFolder(
  old: CacheTable,
  table: CacheTable,
  piece: { readonly path: ByteString; readonly old: number; readonly entries: readonly Source[] },
  folder: number,
  entry: number,
  patch: FolderPatch | undefined,
  names: NameWriter,
): void {
  const word = table.folderAt(folder)
  if (piece.old >= 0) copyRecords(old, table, old.folderAt(piece.old), word, 1)
  else {
    names.write(word, piece.path)
    const wide = isWide(piece.path) ? Bits.wide : 0
    table.u32[word + 10] = Bits.racy | Bits.unseen | wide
  }
  if (patch !== undefined) writeFolderStat(table, folder, patch)
  table.u32[word + 11] = entry
  table.u32[word + 12] = piece.entries.length
}

function writeSource(
  old: CacheTable,
  table: CacheTable,
  entry: number,
  source: Source,
  names: NameWriter,
): void {
  const word = table.entryAt(entry)
  if ('from' in source) {
    copyRecords(old, table, old.entryAt(source.from), word, 1)
    return
  }
  names.write(word, source.name)
  writeEntry(table, entry, source.stat, source.bits, source.blob)
}

function linkParents(table: CacheTable): void {
  for (let i = 0; i < table.folderCount; i++) {
    const path = table.folderPath(i)
    const parent = path === '' ? -1 : table.indexOfFolder(parentOf(path))
    table.u32[table.folderAt(i) + 13] = parent < 0 ? noParent : parent
  }
}

function writeFolderStat(table: CacheTable, index: number, patch: FolderPatch): void {
  const word = table.folderAt(index)
  const double = word >> 1
  table.f64[double] = patch.mtimeMs
  table.f64[double + 1] = patch.ctimeMs
  table.f64[double + 2] = patch.ino
  table.u32[word + 10] = patch.perm | patch.bits | (isWide(patch.path) ? Bits.wide : 0)
}

function capturedIn(table: CacheTable): number {
  let captured = 0
  for (let i = 0; i < table.entryCount; i++) if (table.isCaptured(i)) captured++
  return captured
}

/** The same as weaving all of them into an empty table, without an object for each. */
function seededTable(seeds: Seeds): CacheTable {
  const { folders, folderOf, nameBytes } = foldersOfSeeds(seeds.paths)
  const table = CacheTable.of(folders.length, folderOf.length, nameBytes)
  const names = new NameWriter(table)
  const next = writeSeedFolders(table, names, folders)
  writeSeeds(table, names, seeds, folderOf, next)
  return table
}

/** Gives the place of the first entry of each folder, by the number that the folder has. */
function writeSeedFolders(table: CacheTable, names: NameWriter, folders: readonly SeedFolder[]): Uint32Array {
  const inOrder = folders.toSorted((a, b) => byBytes(a.path, b.path))
  table.keepFolderPaths(inOrder.map(({ path }) => path))
  const places = new Uint32Array(folders.length)
  inOrder.forEach(({ number }, place) => {
    places[number] = place
  })
  const next = new Uint32Array(folders.length)
  let first = 0
  inOrder.forEach(({ path, number, parent, files }, place) => {
    const word = table.folderAt(place)
    names.write(word, path)
    table.u32[word + 10] = Bits.racy | Bits.unseen | (isWide(path) ? Bits.wide : 0)
    table.u32[word + 11] = first
    table.u32[word + 12] = files
    table.u32[word + 13] = parent < 0 ? noParent : (places[parent] ?? noParent)
    next[number] = first
    first += files
  })
  return next
}

// Files of one folder come in the order of their names, though others may come between them.
function writeSeeds(
  table: CacheTable,
  names: NameWriter,
  { paths, stats, executable, perms, ids }: Seeds,
  folderOf: Uint32Array,
  next: Uint32Array,
): void {
  const { f64, u32 } = table
  const idWords = wordsOf(ids)
  for (let seed = 0; seed < folderOf.length; seed++) {
    const folder = folderOf[seed] ?? 0
    const entry = next[folder] ?? 0
    next[folder] = entry + 1
    const word = table.entryAt(entry)
    const isWideName = names.writeBytes(word, paths.bytes, paths.names[seed] ?? 0, paths.ends[seed] ?? 0)
    const double = word >> 1
    const stat = seed * 4
    f64[double] = stats[stat] ?? 0
    f64[double + 1] = stats[stat + 1] ?? 0
    f64[double + 2] = stats[stat + 2] ?? 0
    f64[double + 3] = stats[stat + 3] ?? 0
    const perm = executable[seed] === 1 ? perms.exec : perms.file
    u32[word + 10] = perm | (State.file << Bits.stateAt) | (isWideName ? Bits.wide : 0)
    const id = seed * 5
    for (let i = 0; i < 5; i++) u32[word + 11 + i] = idWords[id + i] ?? 0
  }
}

/** The same bytes, four at a time; copied if they do not lie so that this is possible. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice()
  return new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.length >> 2)
}

interface SeedFolder {
  readonly path: ByteString
  readonly number: number
  /** -1 for the root. */
  readonly parent: number
  /** Directly in it. */
  files: number
}

interface SeedFolders {
  /** In the order of their numbers. */
  readonly folders: readonly SeedFolder[]
  readonly folderOf: Uint32Array
  /** What the names of all files, and the paths of all folders, take. */
  readonly nameBytes: number
}

/** All paths below a folder come one after the other: the folders around a path are those around the last one, or new. */
function foldersOfSeeds({ bytes, starts, names, ends, common }: SortedPaths): SeedFolders {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const folders: SeedFolder[] = []
  const folderOf = new Uint32Array(starts.length)
  const around: SeedFolder[] = []
  let folder: SeedFolder | undefined
  let nameBytes = 0
  const enter = (path: ByteString): SeedFolder => {
    const found = { path, number: folders.length, parent: around.at(-1)?.number ?? -1, files: 0 }
    folders.push(found)
    around.push(found)
    nameBytes += path.length
    return found
  }
  if (starts.length > 0) folder = enter('')
  for (let seed = 0; seed < starts.length; seed++) {
    const start = starts[seed] ?? 0
    const name = names[seed] ?? 0
    const shared = common[seed] ?? 0
    // Of a folder around the last path this one has to share the slash behind it, too.
    while (folder !== undefined && folder.path.length > 0 && folder.path.length >= shared) {
      around.pop()
      folder = around.at(-1)
    }
    const known: number = folder === undefined || folder.path === '' ? 0 : folder.path.length + 1
    for (let at = start + known; at < name; at++)
      if (bytes[at] === slash) folder = enter(buffer.toString('latin1', start, at))
    if (folder === undefined) throw new Error('unreachable: every path lies in a folder')
    folder.files += 1
    folderOf[seed] = folder.number
    nameBytes += (ends[seed] ?? 0) - name
  }
  return { folders, folderOf, nameBytes }
}

const slash = 0x2f

function writeEntry(table: CacheTable, index: number, stat: StatFields, bits: number, blob: BlobId): void {
  const word = table.entryAt(index)
  const double = word >> 1
  table.f64[double] = stat.size
  table.f64[double + 1] = stat.mtimeMs
  table.f64[double + 2] = stat.ctimeMs
  table.f64[double + 3] = stat.ino
  table.u32[word + 10] = bits
  table.bytes.write(blob, (word + 11) * 4, 20, 'hex')
}

function skippedBits(skipped: SkippedEntry): number {
  const wide = isWide(skipped.name) ? Bits.wide : 0
  return (skipped.state << Bits.stateAt) | wide | (skipped.racy ? Bits.racy : 0)
}

function pickStat(stat: StatFields): StatFields {
  return { size: stat.size, mtimeMs: stat.mtimeMs, ctimeMs: stat.ctimeMs, ino: stat.ino }
}

function knownOf(added: AddedEntry): Known {
  const state = (added.bits >> Bits.stateAt) & Bits.stateMask
  return {
    kind: state === State.link ? 'link' : 'file',
    perm: added.bits & Bits.perm,
    ...pickStat(added),
    blob: added.blob,
  }
}

function groupByFolder(
  added: Iterable<readonly [RelPath, AddedEntry]>,
): ReadonlyMap<ByteString, readonly (readonly [ByteString, AddedEntry])[]> {
  const groups = new Map<ByteString, (readonly [ByteString, AddedEntry])[]>()
  for (const [path, entry] of added) {
    const folder = parentOf(path)
    const group = groups.get(folder)
    if (group === undefined) groups.set(folder, [[nameOf(path), entry]])
    else group.push([nameOf(path), entry])
  }
  return groups
}

function readShared(
  path: AbsPath,
): { readonly shared: SharedArrayBuffer; readonly length: number } | undefined {
  let handle: number
  try {
    handle = openSync(Buffer.from(path, 'latin1'), 'r')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    const length = fstatSync(handle).size
    const shared = new SharedArrayBuffer(Math.ceil(length / 8) * 8)
    return readSync(handle, new Uint8Array(shared, 0, length)) === length ? { shared, length } : undefined
  } finally {
    closeSync(handle)
  }
}

function isSound(table: CacheTable, length: number): boolean {
  if (length < recordBytes || table.u32[0] !== magic || table.u32[1] !== version || table.end > length)
    return false
  const expected = table.u32[2] ?? 0
  table.u32[2] = 0
  return crc32(table.bytes.subarray(0, length)) === expected
}

function parseMeta(
  text: string,
): { readonly tree: string; readonly attrs: string; readonly fingerprint: string } | undefined {
  const meta: unknown = JSON.parse(text) // behind the checksum: what is here is what we wrote
  if (typeof meta !== 'object' || meta === null) return undefined
  const { tree, attrs, fingerprint } = meta as Record<string, unknown>
  return typeof tree === 'string' && typeof attrs === 'string' && typeof fingerprint === 'string'
    ? { tree, attrs, fingerprint }
    : undefined
}

function writeWhole(path: Buffer, parts: readonly Buffer[]): void {
  const handle = openSync(path, 'w', 0o600)
  try {
    for (const part of parts)
      for (let done = 0; done < part.length; ) done += writeSync(handle, part, done, part.length - done)
  } catch (error) {
    unlinkSync(path)
    throw error
  } finally {
    closeSync(handle)
  }
}
