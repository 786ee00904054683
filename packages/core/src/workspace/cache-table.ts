/**
 * The table of the stat cache, as both threads see it.
 *
 * It lies in shared memory, in the same form as on disk: reading it is one read, and a second thread compares
 * in place. A record has 64 bytes; folders come first, in the order of their paths, then their entries, in the
 * order of their names, then the bytes of the names.
 *
 *     folder   mtime ctime ino –     pathAt pathLength bits firstEntry entryCount parent – –
 *     entry    size mtime ctime ino  nameAt nameLength bits blob(5 words)
 *
 * The second thread loads this file, and nothing that writes records.
 */

import { type ByteString, nameOf, parentOf } from '../values.ts'

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
/** In the word for the parent: the root has none. */
export const noParent = 0xffff_ffff

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

/** Whether this many bytes may hold the table that its first record tells of. */
export function hasOurHeader({ u32, end }: CacheTable, length: number): boolean {
  return length >= recordBytes && u32[0] === magic && u32[1] === version && end <= length
}

/** The order of folders, and of the names in each. */
export function byBytes(a: ByteString, b: ByteString): number {
  return a < b ? -1 : a > b ? 1 : 0
}

export function isWide(name: ByteString): boolean {
  return /[\x80-\xff]/.test(name)
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
