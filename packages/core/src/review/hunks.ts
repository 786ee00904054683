/** Blocks of a diff that can be accepted or rejected alone, and parts of them. */

import { UnturnError } from '../errors.ts'
import { digest, fingerprintLength } from './hunk-ids.ts'
import { diffLines, type Edit } from './lines.ts'

export { identify, isShortFor, type Known, withoutKnown } from './hunk-ids.ts'

export interface TextHunk {
  readonly edit: Edit
  readonly removed: readonly string[]
  readonly added: readonly string[]
  /** Of the path and the changed lines only: what happens elsewhere in the file does not change it. */
  readonly fingerprint: string
}

export function textHunks(
  old: readonly string[],
  fresh: readonly string[],
  path: string,
): readonly TextHunk[] {
  return diffLines(old, fresh).map((edit) => {
    const removed = old.slice(edit.start, edit.end)
    const added = fresh.slice(edit.from, edit.to)
    return { edit, removed, added, fingerprint: fingerprintOf(path, removed, added) }
  })
}

function fingerprintOf(path: string, removed: readonly string[], added: readonly string[]): string {
  const head = `${path}\0${removed.length} ${added.length}\0`
  return digest(head + removed.join('') + added.join(''), fingerprintLength)
}

/** Some of a hunk's lines, by their index among its removed and among its added ones. */
export interface LineChoice {
  readonly removed: ReadonlySet<number>
  readonly added: ReadonlySet<number>
}

/** The first and the last line that are meant, counted from 1 as shown: removed lines first, then added ones. */
export type LineRange = readonly [number, number]

/**
 * `accepted` takes the place of the old lines when only the chosen ones are accepted; `rejected` takes the place of the
 * new lines when the chosen ones are rejected.
 */
export function partOf(
  old: readonly string[],
  fresh: readonly string[],
  edit: Edit,
  choice: LineChoice,
): { readonly accepted: readonly string[]; readonly rejected: readonly string[] } {
  const removed = old.slice(edit.start, edit.end)
  const added = fresh.slice(edit.from, edit.to)
  return {
    accepted: ended([
      ...removed.filter((_, i) => !choice.removed.has(i)),
      ...added.filter((_, i) => choice.added.has(i)),
    ]),
    rejected: ended([
      ...removed.filter((_, i) => choice.removed.has(i)),
      ...added.filter((_, i) => !choice.added.has(i)),
    ]),
  }
}

/** The last line of a file may have no line ending. With others behind it, it needs one, or two lines become one. */
function ended(lines: readonly string[]): readonly string[] {
  return lines.map((line, i) => (i < lines.length - 1 && !line.endsWith('\n') ? `${line}\n` : line))
}

/** `ID` or `ID:2-4,7`, as people type it. */
export function parseHunkName(text: string): { readonly id: string; readonly ranges?: readonly LineRange[] } {
  const colon = text.indexOf(':')
  if (colon < 0) return { id: text }
  return { id: text.slice(0, colon), ranges: parseLineRanges(text.slice(colon + 1)) }
}

/** `2-4,7`: lines of a hunk, counted from 1. */
export function parseLineRanges(text: string): readonly LineRange[] {
  return text.split(',').map((part): LineRange => {
    const [, first, last] = /^([1-9]\d{0,8})(?:-([1-9]\d{0,8}))?$/.exec(part) ?? []
    const range: LineRange = [Number(first), Number(last ?? first)]
    if (first === undefined || range[0] > range[1])
      throw badLines(text, `"${text}" does not name lines of a hunk`)
    return range
  })
}

/** The lines of a hunk that are meant. Lines that it does not have are refused. */
export function chooseLines(edit: Edit, ranges: readonly LineRange[]): LineChoice {
  const removedCount = edit.end - edit.start
  const count = removedCount + edit.to - edit.from
  const removed = new Set<number>()
  const added = new Set<number>()
  for (const [first, last] of ranges) {
    if (last > count) throw badLines(`${first}-${last}`, `The hunk has ${count} lines, not ${last}`)
    for (let line = first - 1; line < last; line++) {
      if (line < removedCount) removed.add(line)
      else added.add(line - removedCount)
    }
  }
  return { removed, added }
}

function badLines(lines: string, what: string): UnturnError {
  return new UnturnError(
    'bad-usage',
    { lines },
    {
      message: `${what}. Nothing was changed.`,
      hint: 'Count the lines of the hunk from 1 as "unturn review" shows them, and write for instance ID:2-4,7',
    },
  )
}

/** One line of a shown hunk, with its number in the texts that have it. */
export interface ShownLine {
  readonly kind: ' ' | '-' | '+'
  readonly text: string
  readonly oldLine?: number
  readonly newLine?: number
}

/** A hunk as `diff -u` shows it. The context ends where the next hunk begins, so that it is true for both texts. */
export function unifiedHunk(
  old: readonly string[],
  fresh: readonly string[],
  edit: Edit,
  context = 3,
): { readonly header: string; readonly lines: readonly ShownLine[] } {
  const { start, end, from, to } = edit
  let above = 0
  while (
    above < context &&
    start > above &&
    from > above &&
    old[start - 1 - above] === fresh[from - 1 - above]
  )
    above++
  let below = 0
  while (
    below < context &&
    end + below < old.length &&
    to + below < fresh.length &&
    old[end + below] === fresh[to + below]
  )
    below++
  const shared = (count: number, oldAt: number, newAt: number) =>
    Array.from(
      { length: count },
      (_, i): ShownLine => ({
        kind: ' ',
        text: old[oldAt + i] ?? '',
        oldLine: oldAt + i + 1,
        newLine: newAt + i + 1,
      }),
    )
  const lines: readonly ShownLine[] = [
    ...shared(above, start - above, from - above),
    ...old.slice(start, end).map((text, i): ShownLine => ({ kind: '-', text, oldLine: start + i + 1 })),
    ...fresh.slice(from, to).map((text, i): ShownLine => ({ kind: '+', text, newLine: from + i + 1 })),
    ...shared(below, end, to),
  ]
  const oldRange = rangeWords(start - above, end + below)
  const newRange = rangeWords(from - above, to + below)
  return { header: `@@ -${oldRange} +${newRange} @@`, lines }
}

/** As in `diff -u`: an empty range names the line before it, and a count of 1 is left out. */
function rangeWords(start: number, end: number): string {
  const count = end - start
  if (count === 1) return `${start + 1}`
  return `${count === 0 ? start : start + 1},${count}`
}
