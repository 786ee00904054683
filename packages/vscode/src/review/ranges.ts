/**
 * Where a block of text stands while somebody types: ranges of characters that go along with every edit. Pure, since
 * a range that is off by a line would put somebody's "reject" on the wrong text.
 */

/** From the first character to one behind the last. Empty: a point between two lines, where something was removed. */
export interface Range {
  readonly start: number
  readonly end: number
}

/** What an editor tells about one edit: `length` characters at `offset` became `text`. */
export interface TextChange {
  readonly offset: number
  readonly length: number
  readonly text: string
}

/**
 * The ranges after an edit, in the same order and apart from each other. A range keeps every character of its own
 * that is left, and takes in none that was outside; what is typed inside, or replaces a part of it, becomes part of it.
 *
 * Whole lines that are typed right before or behind a range stay outside: ranges are made of whole lines, and whoever
 * adds a line there does not edit the block.
 *
 * `before` is the text that the edit was made in.
 */
export function moveRanges(ranges: readonly Range[], change: TextChange, before: string): readonly Range[] {
  const moved: Range[] = []
  let least = 0
  for (const range of ranges) {
    const next = moveRange(range, change, before)
    // An edit over two blocks is part of both; the text that it put there can be only in one.
    const start = Math.max(next.start, least)
    const end = Math.max(next.end, start)
    moved.push({ start, end })
    least = end
  }
  return moved
}

function moveRange({ start, end }: Range, change: TextChange, before: string): Range {
  const { offset, length, text } = change
  const growth = text.length - length
  if (isBefore({ start, end }, change)) return { start: start + growth, end: end + growth }
  if (isBehind({ start, end }, change, before)) return { start, end }
  return { start: Math.min(start, offset), end: Math.max(end, offset + length) + growth }
}

function isBefore({ start, end }: Range, { offset, length, text }: TextChange): boolean {
  if (offset + length < start) return true
  if (offset + length > start) return false
  if (start === end) return length > 0
  // Up to the first character: a line break at the end leaves the block's first line as it is.
  return (length > 0 && text === '') || endsLine(text)
}

function isBehind({ start, end }: Range, { offset, text }: TextChange, before: string): boolean {
  if (offset < end) return false
  if (offset > end || start === end) return true
  return endsLine(before.slice(0, end)) || /^[\r\n]/.test(text)
}

function endsLine(text: string): boolean {
  const last = text.at(-1)
  return last === '\n' || last === '\r'
}

/** Where each line of a text begins, as an editor counts them: `\r\n`, `\n` and `\r` end a line. */
export function lineStarts(text: string): readonly number[] {
  const starts = [0]
  for (const { index, 0: ending } of text.matchAll(/\r\n|\n|\r/g)) starts.push(index + ending.length)
  return starts
}

/** Lines as an editor has them, without their endings; a text has at least one. */
export function editorLines(text: string): readonly string[] {
  return text.split(/\r\n|\n|\r/)
}
