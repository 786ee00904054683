/**
 * What was known of each path at the last look, so that one lstat tells whether a file must be read again.
 *
 * What has a place in the table (cache-table.ts) is changed there. What has none waits in `#added` and
 * `#patches` and is woven in by `compact()`, before the next scan or write.
 */

import {
  type AbsPath,
  type BlobId,
  type ByteString,
  joinRel,
  nameOf,
  parentOf,
  type RelPath,
} from '../values.ts'
import { readCacheFile, writeCacheFile } from './cache-file.ts'
import {
  type FolderPatch,
  noBlob,
  type SkippedEntry,
  type StatFields,
  skippedBits,
  writeEntry,
  writeFolderStat,
} from './cache-records.ts'
import { Bits, CacheTable, isRacy, isWide, State } from './cache-table.ts'
import { type Seeds, seededTable } from './seed-table.ts'
import { type AddedEntry, groupByFolder, weave } from './weave-table.ts'

export interface Known extends StatFields {
  readonly kind: 'file' | 'link'
  readonly perm: number
  readonly blob: BlobId
}

/** What a scan teaches the cache beside the files themselves. */
export interface ScanLesson {
  readonly fingerprint: string
  readonly folders: readonly FolderPatch[]
  readonly removedFolders: readonly ByteString[]
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
    const found = readCacheFile(path)
    if (found === undefined) return undefined
    const cache = new StatCache(found.table)
    cache.snapshotTree = found.meta.tree
    cache.snapshotAttrs = found.meta.attrs
    cache.#fingerprint = found.meta.fingerprint
    return cache
  }

  /** Replaces the file in one instant. Not synced: after a power cut the checksum tells, and all is looked at. */
  write(path: AbsPath): void {
    const meta = { tree: this.snapshotTree, attrs: this.snapshotAttrs, fingerprint: this.#fingerprint }
    writeCacheFile(path, this.compact(), meta)
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

function capturedIn(table: CacheTable): number {
  let captured = 0
  for (let i = 0; i < table.entryCount; i++) if (table.isCaptured(i)) captured++
  return captured
}
