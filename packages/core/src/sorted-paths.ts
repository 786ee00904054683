/**
 * Many paths in the order of their bytes, and what everybody who goes through them needs to know: how much each has in
 * common with the one before, and where its last name begins. Worked out once, it saves all others most of the bytes.
 */

import type { PathBytes } from './values.ts'

export interface SortedPaths extends PathBytes {
  /** Where the last name of each path begins. */
  readonly names: Uint32Array
  /** How many bytes each path has in common with the path before it. */
  readonly common: Uint32Array
  /** Each path comes after the one before it, and is not the same. */
  readonly areInOrder: boolean
}

export function sortedPaths(paths: PathBytes): SortedPaths {
  const count = paths.starts.length
  const names = new Uint32Array(count)
  const common = new Uint32Array(count)
  const words = wordsOf(paths.bytes)
  let areInOrder = true
  for (let path = 0; path < count; path += 1) {
    common[path] = path === 0 ? 0 : commonLength(paths, words, path)
    if (path > 0 && !isBehindLast(paths, path, common[path] ?? 0)) areInOrder = false
    names[path] = nameStart(paths, names, path, common[path] ?? 0)
  }
  return { ...paths, names, common, areInOrder }
}

function isBehindLast({ bytes, starts, ends }: PathBytes, path: number, common: number): boolean {
  const before = (starts[path - 1] ?? 0) + common
  const at = (starts[path] ?? 0) + common
  return at !== ends[path] && (before === ends[path - 1] || (bytes[before] ?? 0) < (bytes[at] ?? 0))
}

/** The same bytes, four at a time; none where they do not lie so that this is possible. */
function wordsOf({ buffer, byteOffset, length }: Uint8Array): Uint32Array {
  return byteOffset % 4 === 0 ? new Uint32Array(buffer, byteOffset, length >> 2) : new Uint32Array()
}

function commonLength({ bytes, starts, ends }: PathBytes, words: Uint32Array, path: number): number {
  const before = starts[path - 1] ?? 0
  const at = starts[path] ?? 0
  const most = Math.min((ends[path - 1] ?? 0) - before, (ends[path] ?? 0) - at)
  // In an index file all paths begin at the same place of a word.
  const canUseWords = words.length > 0 && (at - before) % 4 === 0
  let common = 0
  while (common < most && bytes[before + common] === bytes[at + common]) {
    common += 1
    if (!canUseWords || (at + common) % 4 !== 0) continue
    while (common + 4 <= most && words[(before + common) >> 2] === words[(at + common) >> 2]) common += 4
  }
  return common
}

const slash = 0x2f

// What a path has in common with the one before mostly ends in its last name: then only that name is looked at.
function nameStart(
  { bytes, starts, ends }: PathBytes,
  names: Uint32Array,
  path: number,
  common: number,
): number {
  const start = starts[path] ?? 0
  const own = start + common
  let at = ends[path] ?? 0
  while (at > own && bytes[at - 1] !== slash) at -= 1
  if (at > own || path === 0) return at
  const before = start + (names[path - 1] ?? 0) - (starts[path - 1] ?? 0)
  if (before <= own) return before
  while (at > start && bytes[at - 1] !== slash) at -= 1
  return at
}

/** How much a path has in common with the last one that was taken, when those in between are passed over. */
export class CommonWithLast {
  #least = Number.POSITIVE_INFINITY

  /** Of the next path, in common with the one before it. */
  see(common: number): void {
    if (common < this.#least) this.#least = common
  }

  /** Of the path seen last, which is taken now. */
  take(): number {
    const common = this.#least
    this.#least = Number.POSITIVE_INFINITY
    return common
  }
}
