/** The change to a settings file, as a unified diff: what is shown before anything is written. */

import type { FileEdit } from './install.ts'

const contextLines = 3

export function diffOf({ path, before, after }: FileEdit): readonly string[] {
  const rows = rowsOf(linesOf(before), linesOf(after))
  return [
    `--- ${before === undefined ? '/dev/null' : path}`,
    `+++ ${after === undefined ? '/dev/null' : path}`,
    ...hunks(rows),
  ]
}

type Row = readonly [sign: ' ' | '-' | '+', line: string]

function linesOf(text: string | undefined): readonly string[] {
  if (text === undefined || text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  else lines.push('\\ No newline at end of file')
  return lines
}

/** The longest run of lines that both have. Settings are small: a table over what differs is enough. */
function rowsOf(old: readonly string[], now: readonly string[]): readonly Row[] {
  let head = 0
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1
  let tail = 0
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail))
    tail += 1
  return [
    ...old.slice(0, head).map((line): Row => [' ', line]),
    ...middleRows(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...old.slice(old.length - tail).map((line): Row => [' ', line]),
  ]
}

const mostCells = 4_000_000

function middleRows(old: readonly string[], now: readonly string[]): readonly Row[] {
  const minus = old.map((line): Row => ['-', line])
  const plus = now.map((line): Row => ['+', line])
  if (old.length === 0 || now.length === 0 || old.length * now.length > mostCells) return [...minus, ...plus]
  const width = now.length + 1
  const longest = new Uint32Array((old.length + 1) * width)
  const at = (row: number, column: number) => longest[row * width + column] ?? 0
  for (let row = old.length - 1; row >= 0; row -= 1)
    for (let column = now.length - 1; column >= 0; column -= 1)
      longest[row * width + column] =
        old[row] === now[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1))
  const rows: Row[] = []
  let row = 0
  let column = 0
  while (row < old.length || column < now.length) {
    if (row < old.length && old[row] === now[column]) {
      rows.push([' ', old[row] ?? ''])
      row += 1
      column += 1
    } else if (row < old.length && (column >= now.length || at(row + 1, column) >= at(row, column + 1))) {
      rows.push(['-', old[row] ?? ''])
      row += 1
    } else {
      rows.push(['+', now[column] ?? ''])
      column += 1
    }
  }
  return rows
}

function hunks(rows: readonly Row[]): readonly string[] {
  const isNear = rows.map((_, at) =>
    rows.slice(Math.max(0, at - contextLines), at + contextLines + 1).some(([sign]) => sign !== ' '),
  )
  const lines: string[] = []
  let old = 1
  let now = 1
  rows.forEach(([sign, line], at) => {
    if (isNear[at] === true && isNear[at - 1] !== true) lines.push(hunkHead(rows, isNear, at, old, now))
    if (isNear[at] === true) lines.push(`${sign}${line}`)
    if (sign !== '+') old += 1
    if (sign !== '-') now += 1
  })
  return lines
}

function hunkHead(
  rows: readonly Row[],
  isNear: readonly boolean[],
  from: number,
  old: number,
  now: number,
): string {
  const end = isNear.indexOf(false, from)
  const inside = rows.slice(from, end < 0 ? rows.length : end)
  const count = (sign: '-' | '+') => inside.filter(([one]) => one === ' ' || one === sign).length
  const span = (first: number, lines: number) => `${lines === 0 ? first - 1 : first},${lines}`
  return `@@ -${span(old, count('-'))} +${span(now, count('+'))} @@`
}
