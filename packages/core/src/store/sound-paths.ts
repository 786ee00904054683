/**
 * Which of the paths in the user's index are safe places for a file in the workspace: the index may have been crafted.
 * That a path lies below a file is no danger, but no tree can hold both, and during a merge git itself has such paths.
 */

import { flawOfRelPath } from '../values.ts'

const slash = 0x2f
const dot = 0x2e

/**
 * Judges paths in their order. A flawed name begins in one of a few ways, or has a NUL in it: such a name is odd. What a
 * path shares with a sound one before it need not be looked at again.
 */
export class SoundPaths {
  readonly #bytes: Buffer
  #wasSound = false
  /** How far the last path goes to the end of its last odd name. */
  #oddLength = 0
  #lastLength = -1
  /** The lengths of those before that are the beginning of the last path: mostly none. */
  readonly #beginnings: number[] = []

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** `common`: the bytes that the path has in common with the one asked about before. */
  has(start: number, end: number, common: number): boolean {
    const mayLieBelow = common === this.#lastLength || this.#beginnings.length > 0
    const isBelowFile = mayLieBelow && this.#isBelowFile(start, end, common)
    this.#lastLength = end - start
    return this.#isSafe(start, end, common) && !isBelowFile
  }

  /** `a` comes before `a/b`, though `a.b` may stand between them. */
  #isBelowFile(start: number, end: number, common: number): boolean {
    const beginnings = this.#beginnings
    while ((beginnings.at(-1) ?? 0) > common) beginnings.pop()
    if (common === this.#lastLength) beginnings.push(common)
    return beginnings.some((length) => length < end - start && this.#bytes[start + length] === slash)
  }

  #isSafe(start: number, end: number, common: number): boolean {
    const isShared = this.#wasSound && common > this.#oddLength
    // The last byte in common may begin a name that goes on in another way.
    const odd = lastOdd(this.#bytes, start, isShared ? start + common - 1 : start, end)
    if (odd >= 0 || !isShared) this.#oddLength = odd < 0 ? 0 : endOfName(this.#bytes, odd, end) - start
    this.#wasSound = odd < 0 || flawOfRelPath(this.#bytes.toString('latin1', start, end)) === undefined
    return this.#wasSound
  }
}

/** Where the last odd name begins, of those that go on at `from` or behind it; -1 for none. */
function lastOdd(bytes: Buffer, start: number, from: number, end: number): number {
  let odd = -1
  let before = from === start ? slash : (bytes[from - 1] ?? 0)
  for (let at = from; at < end; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte === 0 || (before === slash && beginsOddly(byte, bytes[at + 1] ?? 0))) odd = at
    before = byte
  }
  return before === slash ? end : odd
}

function beginsOddly(first: number, second: number): boolean {
  return first === slash || first === dot || first >= 0x80 || (isG(first) && mayGoOn(second))
}

function endOfName(bytes: Buffer, from: number, end: number): number {
  let at = from
  while (at < end && bytes[at] !== slash) at += 1
  return at
}

function isG(byte: number): boolean {
  return byte === 0x67 || byte === 0x47
}

/** `git~1` has an i there, or something invisible. */
function mayGoOn(byte: number): boolean {
  return byte === 0x69 || byte === 0x49 || byte >= 0x80
}
