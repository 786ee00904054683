/**
 * The user's index, read in our process: what is tracked, and which blob a clean file is. 100,000 entries stay
 * in the bytes they came in; objects are made for those that somebody asks about.
 */

import { createHash } from 'node:crypto'
import type { FileStat } from '../fs.ts'
import { CommonWithLast, type SortedPaths, sortedPaths } from '../sorted-paths.ts'
import {
  type AbsPath,
  type ByteString,
  flawOfRelPath,
  joinAbs,
  nameOf,
  type RelPath,
  relPathUnchecked,
} from '../values.ts'
import { CachedTrees } from './cached-tree.ts'
import { SoundPaths } from './sound-paths.ts'
import { readShared, readUserFile } from './user-git-read.ts'

/** What the index holds about one path. `size` and `ino` are cut to 32 bits, as they stand there. */
export interface TrackedEntry {
  readonly path: RelPath
  readonly id: string
  readonly mode: number
  readonly size: number
  /** The same arithmetic as Node's `stat.mtimeMs`, so that equality means equal times. */
  readonly mtimeMs: number
  readonly ctimeMs: number
  readonly ino: number
  readonly stage: number
  readonly assumeValid: boolean
  readonly skipWorktree: boolean
  readonly intentToAdd: boolean
}

/** Node computes `stat.mtimeMs` in just this way; in another order the last bit may differ. */
export function msOfTime(seconds: number, nanoseconds: number): number {
  return seconds * 1000 + nanoseconds / 1e6
}

/** Whether a time from the index is the one Node reports. Doubles tell about a quarter of a microsecond apart. */
export function sameTime(seconds: number, nanoseconds: number, ms: number): boolean {
  return msOfTime(seconds, nanoseconds) === ms
}

const MAX_INDEX_BYTES = 1024 * 1024 * 1024
const GITLINK = 0o160000
const LINK = 0o120000
const FOLDER = 0o040000
const EMPTY_BLOB = 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'

/**
 * The plain files of an index, as far as a look at the disk can confirm them: one column for each thing known, in the
 * order of the paths. An object for each of 100,000 files would take longer to make than all that is done with it.
 */
export interface PlainFiles {
  readonly paths: SortedPaths
  /** 20 bytes each. */
  readonly ids: Uint8Array
  readonly executable: Uint8Array
  /** Size, mtime, ctime and ino of each. */
  readonly stats: Float64Array
  /** The sizes once more, side by side. */
  readonly sizes: Float64Array
}

/** What a stat must tell for a file to count as clean. */
export type CleanStat = Pick<FileStat, 'kind' | 'size' | 'mtimeMs' | 'ctimeMs' | 'ino'>

export class TrackedFiles {
  readonly count: number
  /** Of the index file: an entry this young may have changed since without a trace. */
  readonly mtimeMs: number
  readonly #index: ParsedIndex
  #places: PlacesByName | undefined
  #asked = 0

  private constructor(index: ParsedIndex, mtimeMs: number) {
    this.count = index.starts.length
    this.mtimeMs = mtimeMs
    this.#index = index
  }

  /**
   * `undefined` where there is no index that we can vouch for: none at all, unreadable, damaged, of a SHA-256
   * repository, split in two files, or with an extension that a reader must understand and we do not.
   */
  static read(git: { readonly gitDir: AbsPath; readonly objectFormat: string }): TrackedFiles | undefined {
    if (git.objectFormat !== 'sha1') return undefined
    const reading = readUserFile(joinAbs(git.gitDir, 'index'), MAX_INDEX_BYTES, readShared)
    if (reading.kind !== 'bytes') return undefined
    const index = parseIndex(reading.bytes)
    return index === undefined ? undefined : new TrackedFiles(index, reading.mtimeMs)
  }

  /** In any stage: a file with a merge conflict is tracked. A submodule is a folder and not tracked content. */
  has(path: RelPath): boolean {
    const place = this.#place(path)
    return place >= 0 && this.#isContent(place)
  }

  /** Whether anything inside this folder is tracked; submodules count as nothing. */
  hasBelow(folder: RelPath): boolean {
    const start = `${folder}/`
    for (let place = this.#find(start); place < this.count; place += 1) {
      if (!this.#path(place).startsWith(start)) return false
      if (this.#isContent(place)) return true
    }
    return false
  }

  /** Stage 0 only. */
  entry(path: RelPath): TrackedEntry | undefined {
    const place = this.#place(path)
    if (place < 0) return undefined
    const entry = this.#entryAt(place, path)
    return entry.stage === 0 ? entry : undefined
  }

  /** All files whose blob is on disk if their stat is still the same; see `isClean` for those that are left out. */
  plainFiles(): PlainFiles {
    const reader = new PlainReader(this.#index, this.mtimeMs)
    let isAll = true
    for (let place = 0; place < this.count; place += 1) if (!reader.read(place)) isAll = false
    return isAll ? reader.files : plainFilesThat(reader.files, (place) => reader.isPlain(place))
  }

  /** What git noted of the trees that these files make. */
  cachedTrees(): CachedTrees | undefined {
    const notes = extensionOf(this.#index.raw, this.#index.end, 'TREE')
    return notes === undefined ? undefined : CachedTrees.parse(notes)
  }

  /** All paths, in order, mostly in memory that another thread can look them up in. */
  get paths(): SortedPaths {
    return this.#index.paths
  }

  /** Paths that end in this name, at any depth. */
  pathsNamed(name: ByteString): readonly RelPath[] {
    const { names, nameEnds, paths } = this.#index
    const first = name.charCodeAt(0)
    const found: RelPath[] = []
    for (let place = 0; place < this.count; place += 1) {
      const at = paths.names[place] ?? 0
      if (names[at] !== first || (nameEnds[place] ?? 0) - at !== name.length) continue
      const path = this.#path(place)
      if (nameOf(path) === name && flawOfRelPath(path) === undefined) found.push(relPathUnchecked(path))
    }
    return found
  }

  /**
   * All stages, in order of the path's bytes. A path that is no safe place in the workspace is left out: the
   * index is the user's file, and may have been crafted.
   */
  *entries(): IterableIterator<TrackedEntry> {
    for (let place = 0; place < this.count; place += 1) {
      const path = this.#path(place)
      if (flawOfRelPath(path) === undefined) yield this.#entryAt(place, relPathUnchecked(path))
    }
  }

  /**
   * Whether the file at hand is, by its stat, the one that git put into the index: then the entry's blob is its
   * content, unless git converts it on the way (see `Attributes`). The permission bits are not compared.
   */
  isClean(entry: TrackedEntry, stat: CleanStat): boolean {
    if (entry.stage !== 0 || entry.intentToAdd) return false
    if (stat.kind !== (entry.mode === LINK ? 'link' : 'file')) return false
    if (entry.mode === GITLINK || entry.mode === FOLDER) return false
    if (entry.size !== stat.size || entry.ino !== stat.ino % 2 ** 32) return false
    if (entry.mtimeMs !== stat.mtimeMs || entry.ctimeMs !== stat.ctimeMs) return false
    // Git marks an entry that it does not trust with size 0, and such a file may well have become empty.
    if (entry.size === 0 && entry.id !== EMPTY_BLOB) return false
    // A rewrite of the same size within the clock tick in which the index was written leaves no trace.
    return entry.mtimeMs < this.mtimeMs
  }

  /**
   * The blob of a file that by its stat is the one git put into the index; see `isClean`. Asked for every file of a
   * first capture, so no entry is made for those that differ.
   */
  cleanBlob(path: RelPath, stat: CleanStat): string | undefined {
    const place = this.#place(path)
    if (place < 0) return undefined
    const { raw, starts } = this.#index
    const start = starts[place] ?? 0
    if (raw.readUInt32BE(start + 36) !== stat.size || raw.readUInt32BE(start + 20) !== stat.ino % 2 ** 32)
      return undefined
    const entry = this.#entryAt(place, path)
    return this.isClean(entry, stat) ? entry.id : undefined
  }

  /** The first place with this path; -1 for none. A scan asks for every file, so the answer is a lookup. */
  #place(path: ByteString): number {
    // A capture after a small edit asks for a few files only: filling the table would cost more than searching.
    if (this.#asked++ < this.count / 64) {
      const place = this.#find(path)
      return place < this.count && this.#compare(place, path) === 0 ? place : -1
    }
    this.#places ??= new PlacesByName(this.#index)
    return this.#places.find(path, (place) => this.#compare(place, path) === 0)
  }

  /** The first place whose path is not before the one asked for. */
  #find(path: ByteString): number {
    let low = 0
    let high = this.count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#compare(middle, path) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  #compare(place: number, path: ByteString): number {
    const { names, nameStarts, nameEnds } = this.#index
    const start = nameStarts[place] ?? 0
    const length = (nameEnds[place] ?? 0) - start
    const common = Math.min(length, path.length)
    for (let i = 0; i < common; i += 1) {
      const difference = (names[start + i] ?? 0) - path.charCodeAt(i)
      if (difference !== 0) return difference
    }
    return length - path.length
  }

  #path(place: number): ByteString {
    const { names, nameStarts, nameEnds } = this.#index
    return names.toString('latin1', nameStarts[place], nameEnds[place])
  }

  /** A sparse index has whole folders as entries; these, and submodules, are no files. */
  #isContent(place: number): boolean {
    const mode = this.#index.raw.readUInt32BE((this.#index.starts[place] ?? 0) + 24)
    return mode !== GITLINK && mode !== FOLDER
  }

  #entryAt(place: number, path: RelPath): TrackedEntry {
    const { raw, starts, version } = this.#index
    const start = starts[place] ?? 0
    const word = (offset: number) => raw.readUInt32BE(start + offset)
    const flags = raw.readUInt16BE(start + 60)
    const more = version >= 3 && (flags & 0x4000) !== 0 ? raw.readUInt16BE(start + 62) : 0
    return {
      path,
      id: raw.toString('hex', start + 40, start + 60),
      mode: word(24),
      size: word(36),
      mtimeMs: msOfTime(word(8), word(12)),
      ctimeMs: msOfTime(word(0), word(4)),
      ino: word(20),
      stage: (flags >> 12) & 3,
      assumeValid: (flags & 0x8000) !== 0,
      skipWorktree: (more & 0x4000) !== 0,
      intentToAdd: (more & 0x2000) !== 0,
    }
  }
}

/** Reads entries into columns, one after the other, and tells which of them are plain files. */
class PlainReader {
  readonly files: PlainFiles
  readonly #index: ParsedIndex
  readonly #indexMs: number
  readonly #fields: DataView
  readonly #sound: SoundPaths
  readonly #isPlain: Uint8Array
  /** The same bytes as words: entries lie at multiples of four, but in version 4. */
  readonly #words: Uint32Array
  readonly #idWords: Uint32Array

  constructor(index: ParsedIndex, indexMs: number) {
    const { raw, starts, names, paths } = index
    const count = starts.length
    this.#index = index
    this.#indexMs = indexMs
    this.#fields = new DataView(raw.buffer, raw.byteOffset, raw.length)
    this.#sound = new SoundPaths(names)
    this.#isPlain = new Uint8Array(count)
    this.#words = new Uint32Array(raw.buffer, 0, raw.buffer.byteLength >> 2)
    this.#idWords = new Uint32Array(count * 5)
    const ids = new Uint8Array(this.#idWords.buffer)
    this.files = {
      paths,
      ids,
      executable: new Uint8Array(count),
      stats: new Float64Array(count * 4),
      sizes: new Float64Array(count),
    }
  }

  isPlain(place: number): boolean {
    return this.#isPlain[place] === 1
  }

  /** In order: each place once. A function of its own, for one that is called 100,000 times is soon compiled. */
  read(place: number): boolean {
    const fields = this.#fields
    const { starts, nameStarts, nameEnds, paths } = this.#index
    const start = starts[place] ?? 0
    if (!this.#sound.has(nameStarts[place] ?? 0, nameEnds[place] ?? 0, paths.common[place] ?? 0)) return false
    const mode = fields.getUint32(start + 24)
    const size = fields.getUint32(start + 36)
    const mtimeMs = msOfTime(fields.getUint32(start + 8), fields.getUint32(start + 12))
    if ((mode & 0o170000) !== 0o100000 || mtimeMs >= this.#indexMs || !this.#isStaged(start)) return false
    if (size === 0 && !this.#hasEmptyBlob(start)) return false
    this.#isPlain[place] = 1
    this.#readId(place, start + 40)
    const { stats, sizes, executable } = this.files
    executable[place] = (mode & 0o100) === 0 ? 0 : 1
    sizes[place] = size
    stats[place * 4] = size
    stats[place * 4 + 1] = mtimeMs
    stats[place * 4 + 2] = msOfTime(fields.getUint32(start), fields.getUint32(start + 4))
    stats[place * 4 + 3] = fields.getUint32(start + 20)
    return true
  }

  /** As a whole: not one side of a conflict, and more than an intent to add. */
  #isStaged(start: number): boolean {
    const flags = this.#fields.getUint16(start + 60)
    if ((flags & 0x3000) !== 0) return false
    const more = this.#index.version >= 3 && (flags & 0x4000) !== 0 ? this.#fields.getUint16(start + 62) : 0
    return (more & 0x2000) === 0
  }

  #hasEmptyBlob(start: number): boolean {
    return this.#index.raw.toString('hex', start + 40, start + 60) === EMPTY_BLOB
  }

  #readId(place: number, at: number): void {
    const from = this.#index.raw.byteOffset + at
    if (from % 4 === 0)
      for (let i = 0; i < 5; i += 1) this.#idWords[place * 5 + i] = this.#words[from / 4 + i] ?? 0
    else this.files.ids.set(this.#index.raw.subarray(at, at + 20), place * 20)
  }
}

/** Those of the files that `isIn` says. */
export function plainFilesThat(files: PlainFiles, isIn: (file: number) => boolean): PlainFiles {
  const { paths, ids, executable, stats } = files
  const taken = new Uint32Array(paths.starts.length)
  const common = new Uint32Array(paths.starts.length)
  const sinceLast = new CommonWithLast()
  let count = 0
  for (let file = 0; file < taken.length; file += 1) {
    sinceLast.see(paths.common[file] ?? 0)
    if (!isIn(file)) continue
    taken[count] = file
    common[count++] = sinceLast.take()
  }
  const all = taken.subarray(0, count)
  const narrow = new Uint8Array(count * 20)
  const numbers = new Float64Array(count * 4)
  for (const [at, file] of all.entries()) {
    narrow.set(ids.subarray(file * 20, file * 20 + 20), at * 20)
    numbers.set(stats.subarray(file * 4, file * 4 + 4), at * 4)
  }
  return {
    paths: {
      bytes: paths.bytes,
      starts: all.map((file) => paths.starts[file] ?? 0),
      names: all.map((file) => paths.names[file] ?? 0),
      ends: all.map((file) => paths.ends[file] ?? 0),
      common: common.subarray(0, count),
      areInOrder: paths.areInOrder,
    },
    ids: narrow,
    executable: new Uint8Array(all.length).map((_, at) => executable[all[at] ?? 0] ?? 0),
    stats: numbers,
    sizes: new Float64Array(count).map((_, at) => files.sizes[all[at] ?? 0] ?? 0),
  }
}

/** A hash table in one array: a `Map` of 100,000 strings takes longer to fill than the index to read. */
class PlacesByName {
  readonly #slots: Int32Array
  readonly #mask: number
  readonly #seed = Math.trunc(Math.random() * 2 ** 32)

  constructor({ names, nameStarts, nameEnds }: ParsedIndex) {
    this.#mask = 2 ** Math.ceil(Math.log2(nameStarts.length * 2 + 2)) - 1
    this.#slots = new Int32Array(this.#mask + 1).fill(-1)
    for (let place = 0; place < nameStarts.length; place += 1) {
      const end = nameEnds[place] ?? 0
      let hash = this.#seed
      for (let at = nameStarts[place] ?? 0; at < end; at += 1) hash = mixed(hash, names[at] ?? 0)
      let slot = hash & this.#mask
      while (this.#slots[slot] !== -1) slot = (slot + 1) & this.#mask
      this.#slots[slot] = place
    }
  }

  find(name: ByteString, isIt: (place: number) => boolean): number {
    let hash = this.#seed
    for (let i = 0; i < name.length; i += 1) hash = mixed(hash, name.charCodeAt(i))
    for (let slot = hash & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const place = this.#slots[slot] ?? -1
      if (place === -1 || isIt(place)) return place
    }
  }
}

function mixed(hash: number, byte: number): number {
  const product = Math.imul(hash ^ byte, 0x01000193)
  return product ^ (product >>> 15)
}

/** Offsets into the index file, and into the bytes that hold the names: the file itself before version 4. */
interface ParsedIndex {
  readonly version: number
  readonly raw: Buffer
  readonly starts: Uint32Array
  readonly names: Buffer
  readonly nameStarts: Uint32Array
  readonly nameEnds: Uint32Array
  readonly paths: SortedPaths
  /** Of the entries; extensions follow. */
  readonly end: number
}

const HEADER = 12
const FIXED = 62
const CHECKSUM = 20

function parseIndex(raw: Buffer): ParsedIndex | undefined {
  if (raw.length < HEADER + CHECKSUM || raw.toString('latin1', 0, 4) !== 'DIRC') return undefined
  const version = raw.readUInt32BE(4)
  const count = raw.readUInt32BE(8)
  // A count that cannot be true would have us ask for gigabytes before the first entry is read.
  if (version < 2 || version > 4 || count > raw.length / FIXED || !isIntact(raw)) return undefined
  const found = version === 4 ? readPackedEntries(raw, count) : readEntries(raw, version, count)
  if (found === undefined || !isUnderstood(raw, found.end)) return undefined
  const { names, nameStarts, nameEnds } = found.entries
  const paths = sortedPaths({ bytes: names, starts: nameStarts, ends: nameEnds })
  const index = { ...found.entries, paths, end: found.end }
  return isSorted(index) ? index : undefined
}

/** The checksum at the end is all zero where the user told git to leave it out (`index.skipHash`). */
function isIntact(raw: Buffer): boolean {
  const body = raw.length - CHECKSUM
  const stored = raw.subarray(body)
  if (stored.every((byte) => byte === 0)) return true
  return createHash('sha1').update(raw.subarray(0, body)).digest().equals(stored)
}

interface FoundEntries {
  readonly entries: Omit<ParsedIndex, 'paths' | 'end'>
  readonly end: number
}

function readEntries(raw: Buffer, version: number, count: number): FoundEntries | undefined {
  const starts = new Uint32Array(count)
  const nameStarts = sharedColumn(count)
  const nameEnds = sharedColumn(count)
  const limit = raw.length - CHECKSUM
  let at = HEADER
  for (let place = 0; place < count; place += 1) {
    if (at + FIXED > limit) return undefined
    const flags = ((raw[at + 60] ?? 0) << 8) | (raw[at + 61] ?? 0)
    const nameStart = at + FIXED + (version >= 3 && (flags & 0x4000) !== 0 ? 2 : 0)
    const length = flags & 0xfff
    // The field has 12 bits: a longer name says 0xfff there and ends at its NUL.
    const nameEnd = length < 0xfff ? nameStart + length : raw.indexOf(0, nameStart + 0xfff)
    if (nameEnd < 0 || nameEnd >= limit || raw[nameEnd] !== 0) return undefined
    starts[place] = at
    nameStarts[place] = nameStart
    nameEnds[place] = nameEnd
    at += (nameEnd - at + 8) & ~7
  }
  return { entries: { version, raw, starts, names: raw, nameStarts, nameEnds }, end: at }
}

function sharedColumn(count: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(count * 4))
}

/** Paths in version 4 say how much of the path before goes, and what comes instead. */
function readPackedEntries(raw: Buffer, count: number): FoundEntries | undefined {
  const starts = new Uint32Array(count)
  const nameStarts = new Uint32Array(count)
  const nameEnds = new Uint32Array(count)
  const limit = raw.length - CHECKSUM
  const names = new GrowingBytes(raw.length)
  let at = HEADER
  let previous = 0
  let previousEnd = 0
  for (let place = 0; place < count; place += 1) {
    if (at + FIXED > limit) return undefined
    const start = at
    at += FIXED + (((raw[at + 60] ?? 0) & 0x40) !== 0 ? 2 : 0)
    let byte = raw[at++] ?? 0
    let removed = byte & 0x7f
    while ((byte & 0x80) !== 0 && at < limit && removed < MAX_NAMES) {
      byte = raw[at++] ?? 0
      removed = (removed + 1) * 128 + (byte & 0x7f)
    }
    const kept = previousEnd - previous - removed
    let end = at
    while (end < limit && raw[end] !== 0) end += 1
    if (kept < 0 || end >= limit || !names.hasRoom(kept + end - at)) return undefined
    starts[place] = start
    const nameStart = names.length
    names.copyWithin(previous, kept)
    names.append(raw, at, end)
    nameStarts[place] = nameStart
    nameEnds[place] = names.length
    previous = nameStart
    previousEnd = names.length
    at = end + 1
  }
  return { entries: { version: 4, raw, starts, names: names.bytes(), nameStarts, nameEnds }, end: at }
}

// A few kilobytes of version 4 can stand for gigabytes of names; no real repository has this much.
const MAX_NAMES = 512 * 1024 * 1024

class GrowingBytes {
  length = 0
  #bytes: Buffer

  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafe(capacity)
  }

  hasRoom(more: number): boolean {
    const needed = this.length + more
    if (needed > MAX_NAMES) return false
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2))
      this.#bytes.copy(grown, 0, 0, this.length)
      this.#bytes = grown
    }
    return true
  }

  copyWithin(from: number, count: number): void {
    this.#bytes.copyWithin(this.length, from, from + count)
    this.length += count
  }

  append(source: Buffer, from: number, to: number): void {
    const bytes = this.#bytes
    let at = this.length
    for (let i = from; i < to; i += 1) bytes[at++] = source[i] ?? 0
    this.length = at
  }

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.length)
  }
}

/** Extensions with a small first letter change what the entries mean. `sdir` only adds folders among them. */
function isUnderstood(raw: Buffer, start: number): boolean {
  let at = start
  for (const { name, end } of extensions(raw, start)) {
    if (!/^[A-Z]/.test(name) && name !== 'sdir') return false
    at = end
  }
  return at === raw.length - CHECKSUM
}

function extensionOf(raw: Buffer, start: number, wanted: string): Buffer | undefined {
  for (const { name, begin, end } of extensions(raw, start))
    if (name === wanted) return raw.subarray(begin, end)
  return undefined
}

interface Extension {
  readonly name: string
  readonly begin: number
  readonly end: number
}

function* extensions(raw: Buffer, start: number): IterableIterator<Extension> {
  const limit = raw.length - CHECKSUM
  for (let at = start; at + 8 <= limit; ) {
    const begin = at + 8
    const end = begin + raw.readUInt32BE(at + 4)
    yield { name: raw.toString('latin1', at, at + 4), begin, end }
    at = end
  }
}

/**
 * Binary search over paths out of order would deny tracked files; git refuses such an index, too. A path in conflict
 * stands there more than once.
 */
function isSorted({ raw, starts, names, nameStarts, nameEnds, paths }: ParsedIndex): boolean {
  if (paths.areInOrder) return true
  for (let place = 1; place < starts.length; place += 1) {
    const common = paths.common[place] ?? 0
    const a = (nameStarts[place - 1] ?? 0) + common
    const b = (nameStarts[place] ?? 0) + common
    if (b === nameEnds[place]) {
      if (a !== nameEnds[place - 1]) return false
      if (stageAt(raw, starts, place - 1) >= stageAt(raw, starts, place)) return false
    } else if (a !== nameEnds[place - 1] && (names[a] ?? 0) > (names[b] ?? 0)) return false
  }
  return true
}

function stageAt(raw: Buffer, starts: Uint32Array, place: number): number {
  return ((raw[(starts[place] ?? 0) + 60] ?? 0) >> 4) & 3
}
