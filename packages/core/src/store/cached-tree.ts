/**
 * The trees that git has noted in its index: for each folder whose entries are those of a tree that it has written or
 * read, the id of that tree. Git commits by these notes without another look, so they are as good as the entries.
 *
 * 5,000 folders stay in the bytes they came in, in git's order: a tree, then all trees below it.
 */

import type { TreeId } from '../values.ts'

export class CachedTrees {
  readonly #bytes: Buffer
  readonly #notes: readonly Note[]
  readonly #ids: Buffer
  readonly #below = new Map<number, ReadonlyMap<string, number>>()

  private constructor(bytes: Buffer, notes: readonly Note[]) {
    this.#bytes = bytes
    this.#notes = notes
    this.#ids = Buffer.concat(notes.map(({ idAt }) => (idAt < 0 ? unknown : bytes.subarray(idAt, idAt + 20))))
  }

  /** `undefined` where the bytes are no such notes: then the trees are made anew. */
  static parse(bytes: Buffer): CachedTrees | undefined {
    const notes = new Reader(bytes).all()
    return notes === undefined ? undefined : new CachedTrees(bytes, notes)
  }

  static readonly root = 0

  /** The tree of this folder, if it is the one of so many entries, with the ids of it and of all trees below. */
  find(folder: number, entries: number): { readonly id: TreeId; readonly all: Uint8Array } | undefined {
    const note = this.#notes[folder]
    if (note === undefined || note.count !== entries || note.idAt < 0) return undefined
    const all = this.#ids.subarray(folder * 20, note.end * 20)
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
    const names = new Map<string, number>()
    const end = this.#notes[folder]?.end ?? 0
    for (let at = folder + 1; at < end; at = this.#notes[at]?.end ?? end) {
      const { nameAt, nameEnd } = this.#notes[at] ?? { nameAt: 0, nameEnd: 0 }
      names.set(this.#bytes.toString('latin1', nameAt, nameEnd), at)
    }
    return names
  }
}

const unknown = Buffer.alloc(20)

interface Note {
  readonly nameAt: number
  readonly nameEnd: number
  /** How many entries of the index lie in it; -1: they are no longer those of a tree that git knows. */
  readonly count: number
  readonly idAt: number
  /** The number of the first tree behind it that is not below it. */
  end: number
}

class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  all(): readonly Note[] | undefined {
    const notes: Note[] = []
    const open: { readonly note: Note; left: number }[] = []
    do {
      const read = this.#next()
      if (read === undefined) return undefined
      notes.push(read.note)
      open.push({ note: read.note, left: read.below })
      for (let top = open.at(-1); top?.left === 0; top = open.at(-1)) {
        top.note.end = notes.length
        open.pop()
        const above = open.at(-1)
        if (above !== undefined) above.left -= 1
      }
    } while (open.length > 0)
    return this.#at === this.#bytes.length ? notes : undefined
  }

  #next(): { readonly note: Note; readonly below: number } | undefined {
    const nameAt = this.#at
    const nameEnd = this.#bytes.indexOf(0, nameAt)
    if (nameEnd < 0) return undefined
    this.#at = nameEnd + 1
    const count = this.#number(space)
    const below = this.#number(newline)
    if (count === undefined || below === undefined || below < 0) return undefined
    const idAt = count < 0 ? -1 : this.#at
    if (count >= 0) this.#at += 20
    return this.#at > this.#bytes.length
      ? undefined
      : { note: { nameAt, nameEnd, count, idAt, end: 0 }, below }
  }

  /** Up to this byte: digits, or -1. */
  #number(end: number): number | undefined {
    const isNegative = this.#bytes[this.#at] === minus
    let number = 0
    for (let at = this.#at + (isNegative ? 1 : 0); ; at += 1) {
      const byte = this.#bytes[at] ?? 0
      if (byte === end) {
        this.#at = at + 1
        return isNegative ? -1 : number
      }
      if (byte < zero || byte > zero + 9 || number > 0xffffffff) return undefined
      number = number * 10 + byte - zero
    }
  }
}

const [space, newline, minus, zero] = [0x20, 0x0a, 0x2d, 0x30]
