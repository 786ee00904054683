/**
 * Where a block of added or removed lines begins is often open: the closing brace may be the one before it or its own.
 * Both are the same change, but only one reads well. Blocks slide to the border a reader would draw.
 */

import type { Edit } from './lines.ts'

/** The same change with each block at its natural place; blocks that can be slid together are one. */
export function settle(
  old: readonly string[],
  fresh: readonly string[],
  edits: readonly Edit[],
): readonly Edit[] {
  const settled: Edit[] = []
  const waiting = [...edits].reverse()
  for (let edit = waiting.pop(); edit !== undefined; edit = waiting.pop()) {
    const room = roomOf(old, fresh, edit, settled.at(-1)?.end ?? -1, waiting.at(-1)?.start ?? old.length + 1)
    const before = settled.at(-1)
    const behind = waiting.at(-1)
    if (before !== undefined && edit.start - room.up <= before.end) {
      settled.pop()
      waiting.push(...trimmed(old, fresh, { ...before, end: edit.end - room.up, to: edit.to - room.up }))
    } else if (behind !== undefined && edit.end + room.down >= behind.start) {
      waiting.pop()
      const [start, from] = [edit.start + room.down, edit.from + room.down]
      waiting.push(...trimmed(old, fresh, { ...behind, start, from }))
    } else {
      settled.push(moved(edit, bestShift(old, fresh, edit, room)))
    }
  }
  return settled
}

/** Joined blocks may begin or end with lines that are the same on both sides. */
function trimmed(old: readonly string[], fresh: readonly string[], edit: Edit): readonly Edit[] {
  let { start, end, from, to } = edit
  while (start < end && from < to && old[start] === fresh[from]) {
    start++
    from++
  }
  while (start < end && from < to && old[end - 1] === fresh[to - 1]) {
    end--
    to--
  }
  return start === end && from === to ? [] : [{ start, end, from, to }]
}

interface Room {
  readonly up: number
  readonly down: number
}

/** How far a block that is only added or only removed may slide before it meets its neighbours. */
function roomOf(
  old: readonly string[],
  fresh: readonly string[],
  edit: Edit,
  before: number,
  behind: number,
): Room {
  const added = edit.start === edit.end
  if (!added && edit.from !== edit.to) return { up: 0, down: 0 }
  const lines = added ? fresh : old
  const [start, end] = added ? [edit.from, edit.to] : [edit.start, edit.end]
  const mostUp = Math.min(edit.start - Math.max(before, 0), edit.from)
  const mostDown = Math.min(behind, old.length) - edit.end
  let up = 0
  while (up < mostUp && lines[start - 1 - up] === lines[end - 1 - up]) up++
  let down = 0
  while (down < mostDown && lines[start + down] === lines[end + down]) down++
  return { up, down }
}

function moved({ start, end, from, to }: Edit, by: number): Edit {
  return { start: start + by, end: end + by, from: from + by, to: to + by }
}

/** Sliding further than this is never a question of one natural border. */
const mostSlide = 200

function bestShift(old: readonly string[], fresh: readonly string[], edit: Edit, { up, down }: Room): number {
  if (up === 0 && down === 0) return 0
  const [lines, start, end] =
    edit.start === edit.end ? [fresh, edit.from, edit.to] : [old, edit.start, edit.end]
  let best = down
  let least = Number.POSITIVE_INFINITY
  // From the lowest place upwards, so that the lowest of several equally good ones is taken.
  for (let shift = down; shift >= -up && shift > down - mostSlide; shift--) {
    const cost = borderCost(lines, start + shift) + borderCost(lines, end + shift)
    if (cost >= least) continue
    least = cost
    best = shift
  }
  return best
}

const perColumn = 8
const noBlank = 10

/** How odd a border above this line looks: deep inside of a block it does, beside a blank line it does not. */
function borderCost(lines: readonly string[], at: number): number {
  const isOpen = at === 0 || isBlank(lines[at]) || isBlank(lines[at - 1])
  return Math.min(indentBelow(lines, at), 40) * perColumn + (isOpen ? 0 : noBlank)
}

/** Of the next line that is not blank. */
function indentBelow(lines: readonly string[], at: number): number {
  for (let i = at; i < lines.length && i < at + 20; i++) {
    const indent = indentOf(lines[i] ?? '')
    if (indent >= 0) return indent
  }
  return 0
}

function isBlank(line: string | undefined): boolean {
  return line === undefined || indentOf(line) < 0
}

/** Columns before the first character; -1 for a blank line. */
function indentOf(line: string): number {
  let columns = 0
  for (let i = 0; i < line.length; i++) {
    const code = line.charCodeAt(i)
    if (code === 0x20) columns++
    else if (code === 0x09) columns += 8 - (columns % 8)
    else return code === 0x0a || code === 0x0d ? -1 : columns
    if (columns >= 200) return columns
  }
  return -1
}
