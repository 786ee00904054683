/** Hunks of the server in the words of an editor: texts, and the lines where they stand. Pure. */

import type { ReviewFile, ReviewHunk } from '@unturn/client'
import { diffLines, type Edit, mergeLines, splitLines } from '@unturn/core/text'
import type { Range } from './ranges.ts'

/** A hunk with the session that it is pending in. */
export interface PendingHunk extends ReviewHunk {
  readonly session: string
}

export interface PendingFile extends Omit<ReviewFile, 'hunks'> {
  readonly hunks: readonly PendingHunk[]
}

/** What stands there now, or would stand there with the proposal. */
export function freshText({ lines }: ReviewHunk): string {
  return textOf(lines, '+')
}

/** What stood there, and comes back when the hunk is rejected. */
export function oldText({ lines }: ReviewHunk): string {
  return textOf(lines, '-')
}

function textOf(lines: ReviewHunk['lines'], kind: '+' | '-'): string {
  return lines.flatMap((line) => (line.kind === kind ? line.text : [])).join('')
}

/** Whether it is about lines. A rename, permission bits and binary files are about the file as a whole. */
export function hasLines(hunk: ReviewHunk): boolean {
  return hunk.kind === 'text' || ((hunk.kind === 'create' || hunk.kind === 'delete') && hunk.lines.length > 0)
}

/** The hunk as an edit of the old text's lines, counted from 0. */
export function editOf(hunk: ReviewHunk): Edit {
  const { lines } = hunk
  const first = lines.findIndex(({ kind }) => kind !== ' ')
  const [removed, added] = (['-', '+'] as const).map(
    (sign) => lines.filter(({ kind }) => kind === sign).length,
  )
  const context = first < 0 ? lines.length : first
  // As in `diff -u`: an empty side names the line before it.
  const start = hunk.oldLines === 0 ? hunk.oldStart : hunk.oldStart - 1 + context
  const from = hunk.newLines === 0 ? hunk.newStart : hunk.newStart - 1 + context
  return { start, end: start + (removed ?? 0), from, to: from + (added ?? 0) }
}

/** Whether the text has the hunk where it says. If not, one of them is of another time. */
export function fits(hunk: ReviewHunk, text: readonly string[]): boolean {
  const { from, to } = editOf(hunk)
  if (to > text.length) return false
  const isWhole = hunk.kind === 'create'
  if (isWhole && to !== text.length) return false
  return sameText(text.slice(from, to).join(''), freshText(hunk))
}

/** The same for a side that is not changed yet. */
export function fitsOld(hunk: ReviewHunk, text: readonly string[]): boolean {
  const { start, end } = editOf(hunk)
  return end <= text.length && sameText(text.slice(start, end).join(''), oldText(hunk))
}

// A file in another encoding comes with other signs for what is not ASCII. Its lines can be counted all the same.
function sameText(a: string, b: string): boolean {
  return a === b || plain(a) === plain(b)
}

// An editor does not count the mark at the beginning of a file as text; the engine does, since it is bytes.
function plain(text: string): string {
  return text.replace(/^\ufeff/, '').replace(/[^\x00-\x7f]+/g, '?')
}

/** A hunk and where it stands in a text that somebody may be typing into. */
export interface Placed {
  readonly hunk: PendingHunk
  readonly range: Range
}

/**
 * Where the hunks of a file stand in another text that came from it, the unsaved one of an editor for instance.
 * `saved` is the text that the hunks are of. A hunk that does not fit it is left out.
 */
export function placeHunks(hunks: readonly PendingHunk[], saved: string, shown: string): readonly Placed[] {
  const lines = splitLines(saved)
  const own = splitLines(unixText(shown))
  const edits = diffLines(splitLines(unixText(saved)), own)
  const starts = startsOf(shown)
  const placed: Placed[] = []
  for (const hunk of hunks) {
    if (!hasLines(hunk) || hunk.kind === 'delete' || !fits(hunk, lines)) continue
    const { from, to } = editOf(hunk)
    const at = through(edits, from, to)
    placed.push({ hunk, range: { start: starts(at.from), end: starts(at.to) } })
  }
  return apart(placed)
}

/** Where a line of the saved text stands in the one that is shown. */
export function lineThrough(saved: string, shown: string, line: number): number {
  if (saved === shown) return line
  const edits = diffLines(splitLines(unixText(saved)), splitLines(unixText(shown)))
  return through(edits, line, line + 1).from
}

/** The offset where a line of the engine's begins; it counts line feeds only, and a text without one has no lines. */
function startsOf(text: string): (line: number) => number {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (line) => starts[line] ?? text.length
}

/** Lines of the old text, as they stand in the new one. */
function through(
  edits: readonly Edit[],
  from: number,
  to: number,
): { readonly from: number; readonly to: number } {
  let [first, last] = [from, to]
  let isFound = false
  let shift = 0
  for (const edit of edits) {
    const isBefore = edit.end <= from && (edit.start < from || from < to)
    if (isBefore) shift = edit.to - edit.end
    else if (edit.start < to) {
      if (!isFound) first = Math.min(from + shift, edit.from)
      isFound = true
      shift = edit.to - edit.end
      last = Math.max(to + shift, edit.to)
    } else break
  }
  return isFound ? { from: first, to: last } : { from: from + shift, to: to + shift }
}

// Hunks of two sessions can be about the same lines. Each is decided by its id; here the later one gives way.
function apart(placed: readonly Placed[]): readonly Placed[] {
  const sorted = placed.toSorted((a, b) => a.range.start - b.range.start || a.range.end - b.range.end)
  let least = 0
  return sorted.map(({ hunk, range }) => {
    const start = Math.max(range.start, least)
    const end = Math.max(range.end, start)
    least = end
    return { hunk, range: { start, end } }
  })
}

/** Whether the hunk stands in the text as the agent wrote it, line by line. */
export function isUntouched({ hunk, range: { start, end } }: Placed, text: string): boolean {
  const isWholeLines = isLineStart(text, start) && (end === text.length || isLineStart(text, end))
  return isWholeLines && sameText(unixText(text.slice(start, end)), unixText(freshText(hunk)))
}

function isLineStart(text: string, offset: number): boolean {
  return offset === 0 || text[offset - 1] === '\n' || text[offset - 1] === '\r'
}

/** The text without the hunks: the old lines in their places, with the line endings of the text around them. */
export function withoutHunks(text: string, placed: readonly Placed[]): string {
  const ending = text.includes('\r\n') ? '\r\n' : '\n'
  let out = ''
  let at = 0
  for (const { hunk, range } of placed) {
    out += text.slice(at, range.start) + unixText(oldText(hunk)).replaceAll('\n', ending)
    at = range.end
  }
  return out + text.slice(at)
}

/** First line of a range and one behind its last; `starts` is where the lines of the text begin, see `lineStarts`. */
export function linesOfRange(
  starts: readonly number[],
  { start, end }: Range,
): { readonly first: number; readonly end: number } {
  const first = lineAt(starts, start)
  if (end === start) return { first, end: first }
  const last = lineAt(starts, end)
  return { first, end: starts[last] === end ? last : last + 1 }
}

function lineAt(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return low
}

/** The text with all that is proposed for it, proposal by proposal; undefined where one does not fit. */
export function withProposed(text: string, hunks: readonly ReviewHunk[]): string | undefined {
  const lines = splitLines(text)
  const out: string[] = []
  let at = 0
  for (const hunk of hunks.filter(hasLines)) {
    if (!fitsOld(hunk, lines)) return undefined
    const { start, end } = editOf(hunk)
    out.push(...lines.slice(at, start), freshText(hunk))
    at = end
  }
  return out.join('') + lines.slice(at).join('')
}

/** `\n` only: an editor has one line ending for the whole text, the file may have several. */
export function unixText(text: string): string {
  return text.replace(/\r\n/g, '\n')
}

export interface MergedText {
  readonly text: string
  /** How many places both have changed, and not in the same way. There `text` has the first one's lines. */
  readonly overlaps: number
}

/** Two texts made from one, made into one again; with the line endings of the first. */
export function mergeTexts(base: string, ours: string, theirs: string): MergedText {
  const ending = ours.includes('\r\n') ? '\r\n' : '\n'
  const [b, o, t] = [base, ours, theirs].map((text) => splitLines(unixText(text)))
  const merged = mergeLines(b ?? [], o ?? [], t ?? [], 'ours')
  return { text: merged.lines.join('').replaceAll('\n', ending), overlaps: merged.conflicts.length }
}
