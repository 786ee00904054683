/**
 * Lines, and what became of them. A line is a string of bytes (one code unit each) with its own ending, so that a
 * changed line ending is a change, and what is not UTF-8 comes back as it was.
 */

import { alignLines } from './align.ts'
import { settle } from './settle.ts'

export { isBinary } from '../binary.ts'

/** Lines `start` to `end` of the old text became lines `from` to `to` of the new one; both ends are exclusive. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly from: number
  readonly to: number
}

/** Only `\n` ends a line. Joined, the lines are the text again. */
export function splitLines(text: string): readonly string[] {
  const lines: string[] = []
  let start = 0
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
    lines.push(text.slice(start, end + 1))
    start = end + 1
  }
  if (start < text.length) lines.push(text.slice(start))
  return lines
}

/** What changed, in order, with at least one line between two edits that both texts have. */
export function diffLines(old: readonly string[], fresh: readonly string[]): readonly Edit[] {
  const least = Math.min(old.length, fresh.length)
  let head = 0
  while (head < least && old[head] === fresh[head]) head++
  let tail = 0
  while (tail < least - head && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail++
  const [oldEnd, freshEnd] = [old.length - tail, fresh.length - tail]
  if (head === oldEnd && head === freshEnd) return []
  if (head === oldEnd || head === freshEnd)
    return settle(old, fresh, [{ start: head, end: oldEnd, from: head, to: freshEnd }])
  const numbers = new Map<string, number>()
  const before = numbered(old, head, oldEnd, numbers)
  const after = numbered(fresh, head, freshEnd, numbers)
  return settle(old, fresh, editsOf(alignLines(before, after, numbers.size), after.length, head))
}

/** The old text with only these edits made. */
export function applyEdits(
  old: readonly string[],
  fresh: readonly string[],
  edits: readonly Edit[],
): readonly string[] {
  const lines: string[] = []
  let at = 0
  for (const { start, end, from, to } of edits) {
    while (at < start) lines.push(old[at++] ?? '')
    for (let i = from; i < to; i++) lines.push(fresh[i] ?? '')
    at = end
  }
  while (at < old.length) lines.push(old[at++] ?? '')
  return lines
}

/** Comparing numbers is cheap; comparing lines is not, where many begin alike. */
function numbered(
  lines: readonly string[],
  start: number,
  end: number,
  numbers: Map<string, number>,
): Int32Array {
  const out = new Int32Array(end - start)
  for (let i = start; i < end; i++) {
    const line = lines[i] ?? ''
    let number = numbers.get(line)
    if (number === undefined) {
      number = numbers.size
      numbers.set(line, number)
    }
    out[i - start] = number
  }
  return out
}

function editsOf(mates: Int32Array, freshLength: number, head: number): readonly Edit[] {
  const edits: Edit[] = []
  let [start, from] = [0, 0]
  for (let i = 0; i <= mates.length; i++) {
    const mate = i === mates.length ? freshLength : (mates[i] ?? -1)
    if (mate < 0) continue
    if (i > start || mate > from)
      edits.push({ start: start + head, end: i + head, from: from + head, to: mate + head })
    start = i + 1
    from = mate + 1
  }
  return edits
}
