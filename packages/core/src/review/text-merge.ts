/** Two texts made from one, line by line, made into one again. */

import { applyEdits, diffLines, type Edit } from './lines.ts'

export type Side = 'ours' | 'theirs'

export interface MergedLines {
  readonly lines: readonly string[]
  /** Where both sides changed the same lines, and not in the same way; in order. */
  readonly conflicts: readonly Overlap[]
}

/** One place where both sides say something else. */
export interface Overlap {
  /** The lines of the base that are meant: first, and one behind the last. */
  readonly base: readonly [number, number]
  /** Where the favoured side's text stands in the merged lines. */
  readonly merged: readonly [number, number]
  readonly baseLines: readonly string[]
  readonly ours: readonly string[]
  readonly theirs: readonly string[]
}

/**
 * Edits that overlap are settled for the favoured side, and told. Edits that only touch are both made, in the order of
 * their places; an insertion comes before what replaces the lines behind it.
 */
export function mergeLines(
  base: readonly string[],
  ours: readonly string[],
  theirs: readonly string[],
  favour: Side,
): MergedLines {
  const lines: string[] = []
  const conflicts: Overlap[] = []
  let at = 0
  for (const region of regionsOf(base, ours, theirs)) {
    while (at < region.start) lines.push(base[at++] ?? '')
    at = region.end
    const mine = textOf(region, region.ours, base, ours)
    const other = textOf(region, region.theirs, base, theirs)
    const chosen = region.ours.length === 0 ? other : region.theirs.length === 0 ? mine : undefined
    if (chosen !== undefined || sameLines(mine, other)) {
      for (const line of chosen ?? mine) lines.push(line)
      continue
    }
    const begin = lines.length
    for (const line of favour === 'ours' ? mine : other) lines.push(line)
    conflicts.push({
      base: [region.start, region.end],
      merged: [begin, lines.length],
      baseLines: base.slice(region.start, region.end),
      ours: mine,
      theirs: other,
    })
  }
  while (at < base.length) lines.push(base[at++] ?? '')
  return { lines, conflicts }
}

/** Both sides of each conflict between markers; the rest as it was merged. */
export function withMarkers(
  { lines, conflicts }: MergedLines,
  theirName = 'without the hunk',
): readonly string[] {
  const marked: string[] = []
  let at = 0
  for (const { merged, ours, theirs } of conflicts) {
    marked.push(...lines.slice(at, merged[0]), '<<<<<<< yours\n', ...ended(ours))
    marked.push('=======\n', ...ended(theirs), `>>>>>>> ${theirName}\n`)
    at = merged[1]
  }
  return [...marked, ...lines.slice(at)]
}

// A marker behind a last line without a line ending would become part of it.
function ended(lines: readonly string[]): readonly string[] {
  return lines.map((line) => (line.endsWith('\n') ? line : `${line}\n`))
}

/** Lines of the base with the edits that both sides made there. */
interface Region {
  readonly start: number
  end: number
  readonly ours: Edit[]
  readonly theirs: Edit[]
}

function regionsOf(
  base: readonly string[],
  ours: readonly string[],
  theirs: readonly string[],
): readonly Region[] {
  const regions: Region[] = []
  for (const { edit, side } of inOrder(diffLines(base, ours), diffLines(base, theirs))) {
    let region = regions.at(-1)
    if (region === undefined || (!meet(region, edit) && !wouldGlue(region, edit, base, ours, theirs))) {
      region = { start: edit.start, end: edit.end, ours: [], theirs: [] }
      regions.push(region)
    }
    region.end = Math.max(region.end, edit.end)
    region[side].push(edit)
  }
  return regions
}

/** By place in the base; an insertion before what replaces the lines behind it. */
function inOrder(
  ours: readonly Edit[],
  theirs: readonly Edit[],
): readonly { readonly edit: Edit; readonly side: Side }[] {
  const all = [
    ...ours.map((edit) => ({ edit, side: 'ours' as const })),
    ...theirs.map((edit) => ({ edit, side: 'theirs' as const })),
  ]
  return all.sort(
    ({ edit: a }, { edit: b }) => a.start - b.start || Number(a.end > a.start) - Number(b.end > b.start),
  )
}

function meet({ start, end }: Region, edit: Edit): boolean {
  return edit.start < end || (start === end && edit.start === edit.end && edit.start === start)
}

/**
 * A side whose last line has no line ending, and lines of the other side behind it: written one after the other they
 * would become one line that nobody wrote.
 */
function wouldGlue(
  { end, ours: mine, theirs: others }: Region,
  edit: Edit,
  base: readonly string[],
  ours: readonly string[],
  theirs: readonly string[],
): boolean {
  if (edit.start !== end || end !== base.length) return false
  return leavesOpen(mine.at(-1), ours) || leavesOpen(others.at(-1), theirs)
}

function leavesOpen(edit: Edit | undefined, fresh: readonly string[]): boolean {
  return edit !== undefined && edit.to > edit.from && fresh[edit.to - 1]?.endsWith('\n') === false
}

/** What one side made of a region. */
function textOf(
  { start, end }: Region,
  edits: readonly Edit[],
  base: readonly string[],
  fresh: readonly string[],
): readonly string[] {
  const inside = edits.map((edit) => ({ ...edit, start: edit.start - start, end: edit.end - start }))
  return applyEdits(base.slice(start, end), fresh, inside)
}

function sameLines(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, i) => line === b[i])
}
