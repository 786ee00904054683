/**
 * What changed between two trees, told without git where the answer is sure to be git's: a few small files, edited in
 * place, or only added, or only deleted. Asking git takes longer than all else about such an edit. Everything else
 * (renames, links, large files, edits that git's heuristics might count in another way) is git's to tell.
 */

import { isBinary } from '../binary.ts'
import type { BlobId, TreeId } from '../values.ts'
import type { PathChange } from './describe.ts'
import type { SizedObjects } from './objects.ts'
import { diffTrees, type PathDiff } from './trees.ts'

const mostPaths = 16
const mostBytes = 64 * 1024

/** Undefined: ask git. In the order of the paths. */
export function plainChanges(
  objects: SizedObjects,
  before: TreeId,
  after: TreeId,
): readonly PathChange[] | undefined {
  const diffs = diffTrees(objects, before, after)
  if (diffs.length > mostPaths || mayBeRenames(diffs)) return undefined
  const changes: PathChange[] = []
  for (const diff of diffs) {
    const change = plainChange(objects, diff)
    if (change === undefined) return undefined
    changes.push(change)
  }
  return changes
}

// A rename is something deleted and something added.
function mayBeRenames(diffs: readonly PathDiff[]): boolean {
  return diffs.some(({ after }) => after === undefined) && diffs.some(({ before }) => before === undefined)
}

function plainChange(objects: SizedObjects, { path, before, after }: PathDiff): PathChange | undefined {
  if (before?.mode === '120000' || after?.mode === '120000' || before?.blob === after?.blob) return undefined
  const old = smallBlob(objects, before?.blob)
  const now = smallBlob(objects, after?.blob)
  if (old === undefined || now === undefined) return undefined
  const counts = countsOf(old, now)
  if (counts === undefined) return undefined
  const sides = { ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }
  const kind = before === undefined ? 'add' : after === undefined ? 'delete' : 'modify'
  return { path, kind, ...counts, ...sides }
}

const nothing = Buffer.alloc(0)

/** No blob is no bytes; undefined where there are too many. */
function smallBlob(objects: SizedObjects, blob: BlobId | undefined): Buffer | undefined {
  if (blob === undefined) return nothing
  const size = objects.findBlobSize(blob)
  if (size !== undefined && size > mostBytes) return undefined
  const bytes = objects.readBlob(blob)
  return bytes.length > mostBytes ? undefined : bytes
}

function countsOf(
  old: Buffer,
  now: Buffer,
): Pick<PathChange, 'additions' | 'deletions' | 'binary'> | undefined {
  if (isBinary(old) || isBinary(now)) return { additions: 0, deletions: 0, binary: true }
  const lines = countLines(old, now)
  return lines === undefined ? undefined : { ...lines, binary: false }
}

// ---- lines -----------------------------------------------------------------------------------------------------------

/** How many lines are new and how many are gone, as git counts them; undefined where git might count otherwise. */
export function countLines(
  old: Buffer,
  now: Buffer,
): { readonly additions: number; readonly deletions: number } | undefined {
  const start = startOfDifference(old, now)
  const [oldEnd, nowEnd] = endsOfDifference(old, now, start)
  const gone = linesOf(old, start, oldEnd)
  const added = linesOf(now, start, nowEnd)
  const same = commonLines(gone, added, old, now)
  if (same === undefined) return undefined
  return { additions: added.length - same, deletions: gone.length - same }
}

/** The beginning of the first line that differs. */
function startOfDifference(old: Buffer, now: Buffer): number {
  const most = Math.min(old.length, now.length)
  let at = 0
  while (at < most && old[at] === now[at]) at += 1
  return at === 0 ? 0 : old.lastIndexOf(newline, at - 1) + 1
}

/** The ends of the last line that differs, in both. */
function endsOfDifference(old: Buffer, now: Buffer, start: number): readonly [number, number] {
  const most = Math.min(old.length, now.length) - start
  let same = 0
  while (same < most && old[old.length - 1 - same] === now[now.length - 1 - same]) same += 1
  // Only whole lines: one that is the same from its middle on is another line.
  for (; same > 0; same -= 1) {
    if (beginsLine(old, old.length - same, start) && beginsLine(now, now.length - same, start)) break
  }
  return [old.length - same, now.length - same]
}

const newline = 0x0a

function beginsLine(bytes: Buffer, at: number, start: number): boolean {
  return at === start || bytes[at - 1] === newline
}

/** Each with its line end: without one, the last line is another line. */
function linesOf(bytes: Buffer, from: number, to: number): readonly string[] {
  const lines: string[] = []
  for (let at = from; at < to; ) {
    const end = bytes.indexOf(newline, at)
    const next = end < 0 || end >= to ? to : end + 1
    lines.push(bytes.toString('latin1', at, next))
    at = next
  }
  return lines
}

// From 256 edits on git may settle for less than the best answer. Well below, and without lines that stand there so
// often that git passes over them, the longest common sequence is the only answer, and its length is what counts.
const mostEdits = 128

function commonLines(
  gone: readonly string[],
  added: readonly string[],
  old: Buffer,
  now: Buffer,
): number | undefined {
  const inBoth = new Set(gone).intersection(new Set(added))
  if (inBoth.size === 0) return 0
  if (areFrequent(inBoth, old, now)) return undefined
  const mine = gone.filter((line) => inBoth.has(line))
  const theirs = added.filter((line) => inBoth.has(line))
  const edits = fewestEdits(mine, theirs)
  return edits === undefined ? undefined : (mine.length + theirs.length - edits) / 2
}

/** Git may pass over a line that the other file has about as often as the root of the number of its lines. */
function areFrequent(lines: ReadonlySet<string>, old: Buffer, now: Buffer): boolean {
  const [inOld, inNow] = [linesOf(old, 0, old.length), linesOf(now, 0, now.length)]
  const few = Math.sqrt(Math.min(inOld.length, inNow.length))
  return [inOld, inNow].some((all) => {
    const counts = new Map<string, number>()
    for (const line of all) if (lines.has(line)) counts.set(line, (counts.get(line) ?? 0) + 1)
    return [...counts.values()].some((count) => count > 1 && count >= few)
  })
}

/** The length of the shortest edit script, by Myers: how far one gets with 0, 1, 2, … edits on each diagonal. */
function fewestEdits(a: readonly string[], b: readonly string[]): number | undefined {
  const reach = new Int32Array(2 * mostEdits + 3)
  const middle = mostEdits + 1
  for (let edits = 0; edits <= mostEdits; edits += 1) {
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const down = reach[middle + diagonal + 1] ?? 0
      const right = (reach[middle + diagonal - 1] ?? 0) + 1
      let x = diagonal === -edits || (diagonal !== edits && right <= down) ? down : right
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x += 1
      reach[middle + diagonal] = x
      if (x >= a.length && x - diagonal >= b.length) return edits
    }
  }
  return undefined
}
