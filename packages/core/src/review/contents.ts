/** What stands at a path, compared and merged. Contents are read once, also those that only the review has. */

import type { Entry } from '../log/review-record.ts'
import { objectId } from '../object-id.ts'
import type { Objects } from '../store/objects.ts'
import type { BlobId } from '../values.ts'
import { diffLines, isBinary, splitLines } from './lines.ts'
import { mergeLines, type Overlap } from './text-merge.ts'

export class Contents {
  readonly #objects: Pick<Objects, 'readBlob'>
  readonly #own: Map<BlobId, Buffer>

  constructor(objects: Pick<Objects, 'readBlob'>, own: ReadonlyMap<BlobId, Buffer> = new Map()) {
    this.#objects = objects
    this.#own = new Map(own)
  }

  read(blob: BlobId): Buffer {
    return this.#own.get(blob) ?? this.#objects.readBlob(blob)
  }

  /** Keeps bytes that the store may not have. */
  keep(bytes: Buffer): BlobId {
    const id = objectId('blob', bytes)
    this.#own.set(id, bytes)
    return id
  }

  /** What only the review has, of these. */
  own(blobs: Iterable<BlobId>): ReadonlyMap<BlobId, Buffer> {
    const own = new Map<BlobId, Buffer>()
    for (const blob of blobs) {
      const bytes = this.#own.get(blob)
      if (bytes !== undefined) own.set(blob, bytes)
    }
    return own
  }

  /** The lines of a text file; undefined for anything else. */
  lines(entry: Entry): readonly string[] | undefined {
    if (entry?.kind !== 'file') return undefined
    const bytes = this.read(entry.blob)
    return isBinary(bytes) ? undefined : splitLines(bytes.toString('latin1'))
  }

  keepLines(lines: readonly string[]): BlobId {
    return this.keep(Buffer.from(lines.join(''), 'latin1'))
  }
}

export function sameEntry(a: Entry, b: Entry): boolean {
  if (a === undefined || b === undefined) return a === b
  if (a.kind !== b.kind || a.blob !== b.blob) return false
  return a.kind === 'link' || (b.kind === 'file' && a.perm === b.perm)
}

export interface MergedEntry {
  readonly entry: Entry
  /** Both sides changed the same place; there, the favoured side was taken. */
  readonly overlaps: boolean
}

/** The one idea, for one path: `result = merge(base, ours, theirs)`. */
export function mergeEntries(
  contents: Contents,
  base: Entry,
  ours: Entry,
  theirs: Entry,
  favour: 'ours' | 'theirs' = 'ours',
): MergedEntry {
  if (sameEntry(base, ours) || sameEntry(ours, theirs)) return { entry: theirs, overlaps: false }
  if (sameEntry(base, theirs)) return { entry: ours, overlaps: false }
  const favoured = favour === 'ours' ? ours : theirs
  if (base?.kind !== 'file' || ours?.kind !== 'file' || theirs?.kind !== 'file')
    return { entry: favoured, overlaps: true }
  const perm = base.perm === ours.perm ? theirs.perm : base.perm === theirs.perm ? ours.perm : undefined
  const { blob, overlaps } = mergeBlobs(contents, base.blob, ours.blob, theirs.blob, favour)
  const settled = perm ?? (favour === 'ours' ? ours.perm : theirs.perm)
  return {
    entry: { kind: 'file', perm: settled, blob },
    overlaps: overlaps || (perm === undefined && ours.perm !== theirs.perm),
  }
}

function mergeBlobs(
  contents: Contents,
  base: BlobId,
  ours: BlobId,
  theirs: BlobId,
  favour: 'ours' | 'theirs',
): { readonly blob: BlobId; readonly overlaps: boolean } {
  if (base === ours || ours === theirs) return { blob: theirs, overlaps: false }
  if (base === theirs) return { blob: ours, overlaps: false }
  const [b, o, t] = [base, ours, theirs].map((blob) => contents.lines({ kind: 'file', perm: 0, blob }))
  if (b === undefined || o === undefined || t === undefined)
    return { blob: favour === 'ours' ? ours : theirs, overlaps: true }
  const merged = mergeLines(b, o, t, favour)
  return { blob: contents.keepLines(merged.lines), overlaps: merged.conflicts.length > 0 }
}

/**
 * The agent's own version after the agent went on from a file into which the user had typed. Where it went on in the
 * user's text, and a line of that is still there, it stays the user's; what it wrote over is its own again.
 */
export function carriedOn(contents: Contents, was: Entry, agents: Entry, is: Entry): Entry {
  const merged = mergeEntries(contents, was, agents, is, 'theirs').entry
  const [base, own, theirs] = [was, agents, is].map((entry) => contents.lines(entry))
  // Where the agent had deleted the file, all of it is the user's.
  const ours = agents === undefined ? [] : own
  if (base === undefined || ours === undefined || theirs === undefined || merged?.kind !== 'file')
    return merged
  const { lines, conflicts } = mergeLines(base, ours, theirs, 'theirs')
  if (!conflicts.some(hasUsersLine)) return merged
  const carried: string[] = []
  let at = 0
  for (const overlap of conflicts) {
    carried.push(...lines.slice(at, overlap.merged[0]))
    carried.push(...(hasUsersLine(overlap) ? overlap.ours : overlap.theirs))
    at = overlap.merged[1]
  }
  carried.push(...lines.slice(at))
  if (agents === undefined && carried.length === 0) return undefined
  return { ...merged, blob: contents.keepLines(carried) }
}

function hasUsersLine({ baseLines, ours, theirs }: Overlap): boolean {
  const users = new Set(without(baseLines, ours))
  return theirs.some((line) => users.has(line))
}

/** A merge that takes both sides where they overlap: a line stays if both leave it, and what both put there comes once. */
export function bothEdits(contents: Contents, base: Entry, ours: Entry, theirs: Entry): Entry {
  const merged = mergeEntries(contents, base, ours, theirs).entry
  const [b, o, t] = [base, ours, theirs].map((entry) => contents.lines(entry))
  if (b === undefined || o === undefined || t === undefined || merged?.kind !== 'file') return merged
  const { lines, conflicts } = mergeLines(b, o, t, 'ours')
  if (conflicts.length === 0) return merged
  const both: string[] = []
  let at = 0
  for (const overlap of conflicts) {
    both.push(...lines.slice(at, overlap.merged[0]), ...lineByLine(overlap))
    at = overlap.merged[1]
  }
  return { ...merged, blob: contents.keepLines([...both, ...lines.slice(at)]) }
}

function lineByLine({ baseLines, ours, theirs }: Overlap): readonly string[] {
  const [mine, others] = [ours, theirs].map((side) => ({ side, edits: diffLines(baseLines, side) }))
  if (mine === undefined || others === undefined) return ours
  const came = ({ side, edits }: typeof mine, at: number) =>
    edits.filter(({ start }) => start === at).flatMap(({ from, to }) => side.slice(from, to))
  const stays = ({ edits }: typeof mine, at: number) =>
    !edits.some(({ start, end }) => start <= at && at < end)
  const lines: string[] = []
  for (let at = 0; at <= baseLines.length; at++) {
    const here = came(mine, at)
    lines.push(...here, ...without(came(others, at), here))
    const line = baseLines[at]
    if (line !== undefined && stays(mine, at) && stays(others, at)) lines.push(line)
  }
  return lines
}

/** The first lines without the second ones, each as often as it is there. */
function without(lines: readonly string[], others: readonly string[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const line of others) counts.set(line, (counts.get(line) ?? 0) + 1)
  return lines.filter((line) => {
    const count = counts.get(line) ?? 0
    if (count > 0) counts.set(line, count - 1)
    return count === 0
  })
}
