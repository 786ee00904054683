/**
 * The trees that git has noted in its index: for each folder whose entries are those of a tree that it has written or
 * read, the id of that tree. Git commits by these notes without another look, so they are as good as the entries.
 *
 * They stand in git's order, a tree and then all trees below it, and in columns: there may be many thousands.
 */

import type { TreeId } from '../values.ts'

export class CachedTrees {
  readonly #bytes: Buffer
  readonly #notes: Notes
  readonly #below = new Map<number, ReadonlyMap<string, number>>()

  private constructor(bytes: Buffer, notes: Notes) {
    this.#bytes = bytes
    this.#notes = notes
  }

  /** `undefined` where the bytes are no such notes: then the trees are made anew. */
  static parse(bytes: Buffer): CachedTrees | undefined {
    const notes = new NoteReader(bytes).all()
    return notes === undefined ? undefined : new CachedTrees(bytes, notes)
  }

  static readonly root = 0

  /** The tree of this folder, if it is the one of so many entries, with the ids of it and of all trees below. */
  find(folder: number, entries: number): { readonly id: TreeId; readonly all: Uint8Array } | undefined {
    const { counts, ends, ids } = this.#notes
    if (entries < 0 || counts[folder] !== entries) return undefined
    const all = ids.subarray(folder * 20, (ends[folder] ?? 0) * 20)
    return { id: all.toString('hex', 0, 20) as TreeId, all }
  }

  /** The number of the folder of this name in another one. */
  below(folder: number, name: string): number | undefined {
    let names = this.#below.get(folder)
    if (names === undefined) {
      names = this.#namesIn(folder)
      this.#below.set(folder, names)
    }
    return names.get(name)
  }

  #namesIn(folder: number): ReadonlyMap<string, number> {
    const { nameStarts, nameEnds, ends } = this.#notes
    const names = new Map<string, number>()
    const end = ends[folder] ?? 0
    for (let at = folder + 1; at < end; at = ends[at] ?? end)
      names.set(this.#bytes.toString('latin1', nameStarts[at], nameEnds[at]), at)
    return names
  }
}

/** One column for each thing known of a tree. */
interface Notes {
  readonly nameStarts: Int32Array
  readonly nameEnds: Int32Array
  /** How many entries of the index lie in it; -1: they are no longer those of a tree that git knows. */
  readonly counts: Int32Array
  /** The number of the first tree behind it that is not below it. */
  readonly ends: Int32Array
  /** 20 bytes each; all zero where git does not know the tree. */
  readonly ids: Buffer
}

const leastBytes = 5

/** Written with numbers alone: what runs once is compiled for no more than it says. */
class NoteReader {
  readonly #bytes: Buffer
  readonly #notes: Notes
  readonly #parents: Int32Array
  /** How many trees are still to come right below each one. */
  readonly #left: Int32Array
  #at = 0

  constructor(bytes: Buffer) {
    const most = Math.floor(bytes.length / leastBytes) + 1
    const column = () => new Int32Array(most)
    this.#bytes = bytes
    this.#parents = column()
    this.#left = column()
    this.#notes = {
      nameStarts: column(),
      nameEnds: column(),
      counts: column(),
      ends: column(),
      ids: Buffer.alloc(most * 20),
    }
  }

  all(): Notes | undefined {
    let parent = -1
    let note = 0
    do {
      if (!this.#read(note)) return undefined
      this.#parents[note] = parent
      parent = this.#left[note] === 0 ? this.#close(note) : note
      note += 1
    } while (parent >= 0)
    return this.#at === this.#bytes.length ? this.#notes : undefined
  }

  /** The tree, and all that have everything below them by that, end here. Gives the one in which the next lies; or -1. */
  #close(last: number): number {
    let note = last
    for (;;) {
      this.#notes.ends[note] = last + 1
      note = this.#parents[note] ?? -1
      if (note < 0) return -1
      const left = (this.#left[note] ?? 0) - 1
      this.#left[note] = left
      if (left > 0) return note
    }
  }

  #read(note: number): boolean {
    const bytes = this.#bytes
    const { nameStarts, nameEnds, counts } = this.#notes
    let nameEnd = this.#at
    while (nameEnd < bytes.length && bytes[nameEnd] !== 0) nameEnd += 1
    nameStarts[note] = this.#at
    nameEnds[note] = nameEnd
    this.#at = nameEnd + 1
    const count = this.#number(space)
    const below = this.#number(newline)
    if (count === noNumber || below < 0) return false
    counts[note] = count
    this.#left[note] = below
    if (count >= 0) this.#readId(note)
    return this.#at <= bytes.length
  }

  #readId(note: number): void {
    const { ids } = this.#notes
    for (let i = 0; i < 20; i += 1) ids[note * 20 + i] = this.#bytes[this.#at + i] ?? 0
    this.#at += 20
  }

  /** Up to this byte: digits, or -1. */
  #number(end: number): number {
    const bytes = this.#bytes
    const isNegative = bytes[this.#at] === minus
    let number = 0
    for (let at = this.#at + (isNegative ? 1 : 0); at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0
      if (byte === end) {
        this.#at = at + 1
        return isNegative ? -1 : number
      }
      if (byte < zero || byte > zero + 9 || number > most) return noNumber
      number = number * 10 + byte - zero
    }
    return noNumber
  }
}

const [space, newline, minus, zero] = [0x20, 0x0a, 0x2d, 0x30]
const noNumber = -2
const most = 0x7ffffff
