/** Which words of a changed line have changed, for showing. Lines are bytes, one code unit each. */

import { diffLines, type Edit } from './lines.ts'

export interface Span {
  readonly text: string
  readonly changed: boolean
}

export interface WordDiff {
  readonly removed: readonly (readonly Span[])[]
  readonly added: readonly (readonly Span[])[]
}

/** Beyond this many bytes on either side words are not looked at: one changed stretch in the middle is shown. */
const mostBytes = 20_000

/** Spans for each line, in order; the texts of a line's spans are the line. No span ends inside of a character. */
export function wordDiff(removed: readonly string[], added: readonly string[]): WordDiff {
  const [before, after] = [removed.join(''), added.join('')]
  const changed =
    Math.max(before.length, after.length) > mostBytes
      ? changedMiddle(before, after)
      : changedWords(tokens(before), tokens(after))
  return { removed: byLine(removed, changed.before), added: byLine(added, changed.after) }
}

/** Places where something has changed: first byte, and one behind the last. */
type Stretch = readonly [number, number]

interface Changed {
  readonly before: readonly Stretch[]
  readonly after: readonly Stretch[]
}

/**
 * Words, runs of spaces, line endings, and single other characters. Letters of two bytes belong to words; those of more
 * stand alone, since scripts that have them mostly put no spaces between words.
 */
const token =
  /(?:\w|[\xc2-\xdf][\x80-\xbf])+|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|[ \t]+|\r?\n|[\s\S]/g

function tokens(text: string): readonly string[] {
  return text.match(token) ?? []
}

function changedWords(before: readonly string[], after: readonly string[]): Changed {
  const [oldAt, newAt] = [offsets(before), offsets(after)]
  const edits = joinedOverSpaces(before, diffLines(before, after))
  return {
    before: edits.map(({ start, end }) => [oldAt[start] ?? 0, oldAt[end] ?? 0]),
    after: edits.map(({ from, to }) => [newAt[from] ?? 0, newAt[to] ?? 0]),
  }
}

/** Two changed words with only a space between them read as one change. */
function joinedOverSpaces(before: readonly string[], edits: readonly Edit[]): readonly Edit[] {
  const joined: Edit[] = []
  for (const edit of edits) {
    const last = joined.at(-1)
    if (last !== undefined && edit.start === last.end + 1 && /^[ \t]/.test(before[last.end] ?? ''))
      joined[joined.length - 1] = { ...last, end: edit.end, to: edit.to }
    else joined.push(edit)
  }
  return joined
}

function offsets(parts: readonly string[]): readonly number[] {
  let at = 0
  return [0, ...parts.map((part) => (at += part.length))]
}

function changedMiddle(before: string, after: string): Changed {
  const least = Math.min(before.length, after.length)
  let head = 0
  while (head < least && before.charCodeAt(head) === after.charCodeAt(head)) head++
  let tail = 0
  while (
    tail < least - head &&
    before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail)
  )
    tail++
  while (head > 0 && (isInside(before, head) || isInside(after, head))) head--
  while (tail > 0 && (isInside(before, before.length - tail) || isInside(after, after.length - tail))) tail--
  return { before: [[head, before.length - tail]], after: [[head, after.length - tail]] }
}

/** Whether a UTF-8 sequence goes on at this byte. */
function isInside(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xc0) === 0x80
}

function byLine(lines: readonly string[], stretches: readonly Stretch[]): readonly (readonly Span[])[] {
  let start = 0
  let next = 0
  return lines.map((line) => {
    const end = start + line.length
    const spans: Span[] = []
    let at = start
    const take = (until: number, changed: boolean) => {
      if (until > at) spans.push({ text: line.slice(at - start, until - start), changed })
      at = Math.max(at, until)
    }
    for (
      let stretch = stretches[next];
      stretch !== undefined && stretch[0] < end;
      stretch = stretches[++next]
    ) {
      take(stretch[0], false)
      take(Math.min(stretch[1], end), true)
      if (stretch[1] > end) break
    }
    take(end, false)
    start = end
    return spans
  })
}
