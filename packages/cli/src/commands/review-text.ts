/** A review as text: a diff by file, with the ids to name. */

import {
  bytesOfText,
  type Decided,
  type ReviewFile,
  type ReviewHunk,
  type ReviewLine,
  type ReviewResult,
  textOfBytes,
  visible,
  wordDiff,
} from '@unturn/core'
import type { Style, Terminal } from '../terminal.ts'
import { counted, pathText } from '../words.ts'

/** What is needed of a terminal to draw on it. */
export type Pen = Pick<Terminal, 'style' | 'hasColour'>

/** Ids short enough to type, and long enough to name one hunk. */
export class ShortIds {
  readonly #ids: readonly string[]

  constructor({ files }: Pick<ReviewResult, 'files'>) {
    this.#ids = files.flatMap(({ hunks }) => hunks.map(({ id }) => id))
  }

  of(id: string): string {
    for (let length = leastId; length < wholeId; length++) {
      const short = id.slice(0, length)
      if (this.#ids.every((other) => other === id || !other.startsWith(short))) return short
    }
    return id // hunks that are alike differ behind the fingerprint only, and that is never shortened
  }
}

const leastId = 6
const wholeId = 16

export function fileText(file: ReviewFile, ids: ShortIds, pen: Pen): readonly string[] {
  return [fileHead(file, pen), ...file.hunks.flatMap((hunk) => hunkText(hunk, ids.of(hunk.id), pen))]
}

export function fileHead(file: ReviewFile, pen: Pen): string {
  return `${pen.style('bold', nameOf(file))}  ${counts(file, pen)}${proposalNote(file, pen)}`
}

export function nameOf({ path, from }: ReviewFile): string {
  return from === undefined ? visible(path) : `${visible(from)} → ${visible(path)}`
}

export function counts(
  { additions, deletions }: Pick<ReviewFile, 'additions' | 'deletions'>,
  pen: Pen,
): string {
  return `${pen.style('green', `+${additions}`)} ${pen.style('red', `−${deletions}`)}`
}

function proposalNote({ proposal, hunks }: ReviewFile, pen: Pen): string {
  if (proposal === undefined) return ''
  const group = hunks[0]?.group
  const more = group === undefined ? '' : `, group ${visible(group)}`
  return pen.style('magenta', `  proposed, not on disk (${proposal}${more})`)
}

// ---- one hunk ------------------------------------------------------------------------------------------------------

export interface HunkTextOptions {
  /** Numbers before the lines that were taken out or put in, for naming some of them. */
  readonly numbered?: boolean
  /** Show no more lines than this. */
  readonly mostLines?: number
}

export function hunkText(
  hunk: ReviewHunk,
  id: string,
  pen: Pen,
  options: HunkTextOptions = {},
): readonly string[] {
  const { mostLines = Number.POSITIVE_INFINITY } = options
  const lines = diffLines(hunk, pen, options.numbered === true)
  const more = lines.length - mostLines
  return [
    hunkHead(hunk, id, pen),
    ...contestedLines(hunk, pen),
    ...(more > 1 ? [...lines.slice(0, mostLines), pen.style('dim', `… ${more} more lines`)] : lines),
  ]
}

function hunkHead(hunk: ReviewHunk, id: string, pen: Pen): string {
  const by = [...hunk.agents.map(visible), ...hunk.turns].join(', ')
  return `${pen.style('yellow', id)}  ${pen.style('cyan', whatWords(hunk))}  ${pen.style('dim', by)}`.trimEnd()
}

/** What a hunk does: the place of its lines, or in words what became of the file. */
export function whatWords(hunk: ReviewHunk): string {
  switch (hunk.kind) {
    case 'text':
      return `@@ -${range(hunk.oldStart, hunk.oldLines)} +${range(hunk.newStart, hunk.newLines)} @@`
    case 'create':
      return hunk.lines.length === 0 ? 'created (binary or empty)' : 'created'
    case 'delete':
      return hunk.lines.length === 0 ? 'deleted (binary or empty)' : 'deleted'
    case 'rename':
      return `renamed from ${visible(hunk.from ?? '')}`
    case 'mode':
      return `permissions ${hunk.oldMode} → ${hunk.newMode}`
    case 'binary':
      return 'binary content changed'
    case 'link':
      return 'the link leads elsewhere'
    case 'type':
      return 'a file became a link, or a link a file'
  }
}

function range(start: number, count: number): string {
  return count === 1 ? `${start}` : `${start},${count}`
}

function contestedLines({ contested, proposal }: ReviewHunk, pen: Pen): readonly string[] {
  if (!contested) return []
  const means =
    proposal === undefined
      ? 'contested: you have edited inside. Accepting keeps your text; rejecting asks what becomes of it.'
      : 'contested: the file was edited here since. Rejecting leaves the file alone; accepting asks what becomes of the edit.'
  return [pen.style('yellow', means)]
}

// ---- lines ---------------------------------------------------------------------------------------------------------

interface Part {
  readonly text: string
  readonly changed: boolean
}

function diffLines(hunk: ReviewHunk, pen: Pen, numbered: boolean): readonly string[] {
  const { lines } = hunk
  const parts = partsOf(lines, pen.hasColour)
  const isCrlf = lines.every(({ text }) => !text.endsWith('\n') || text.endsWith('\r\n'))
  const width = String(lines.filter(({ kind }) => kind !== ' ').length).length
  let number = 0
  return lines.flatMap((line, at) => {
    if (line.kind !== ' ') number += 1
    const gutter = numbered ? `${(line.kind === ' ' ? '' : `${number}`).padStart(width)} ` : ''
    const drawn = pen.style('dim', gutter) + lineText(line, parts[at] ?? [], isCrlf, pen)
    const isCut = hunk.kind !== 'link' && hunk.kind !== 'type' && !line.text.endsWith('\n')
    return isCut ? [drawn, pen.style('dim', '\\ no newline at the end')] : [drawn]
  })
}

const colours: Readonly<Record<ReviewLine['kind'], Style | undefined>> = {
  ' ': undefined,
  '-': 'red',
  '+': 'green',
}

function lineText({ kind }: ReviewLine, parts: readonly Part[], isCrlf: boolean, pen: Pen): string {
  const ended = shortened(withoutEnding(parts, isCrlf))
  const text = ended.map((part) => (part.changed ? pen.style('inverse', part.text) : part.text)).join('')
  const colour = colours[kind]
  return colour === undefined ? `${kind}${text}` : pen.style(colour, `${kind}${text}`)
}

/** The line in stretches, each to be shown as it is; on a terminal with the changed words apart. */
function partsOf(lines: readonly ReviewLine[], highlight: boolean): readonly (readonly Part[])[] {
  const plain = lines.map(({ text }) => [{ text: visibleLine(text), changed: false }])
  const of = (kind: '-' | '+') =>
    lines.filter((line) => line.kind === kind).map(({ text }) => bytesOfText(text))
  const [removed, added] = [of('-'), of('+')]
  if (!highlight || removed.length === 0 || added.length === 0) return plain
  const words = wordDiff(removed, added)
  if (!isAlike(words.removed.flat()) || !isAlike(words.added.flat())) return plain
  const next = { '-': 0, '+': 0 }
  return lines.map(({ kind }, at) => {
    if (kind === ' ') return plain[at] ?? []
    const spans = words[kind === '-' ? 'removed' : 'added'][next[kind]++] ?? []
    return spans.map(({ text, changed }) => ({ text: visibleLine(textOfBytes(text)), changed }))
  })
}

// Where nearly all words are others, marking them says nothing.
function isAlike(spans: readonly Part[]): boolean {
  const size = (all: readonly Part[]) => all.reduce((sum, { text }) => sum + text.trim().length, 0)
  return size(spans.filter(({ changed }) => !changed)) * 3 >= size(spans)
}

/** A file's content must not drive the terminal; tabs may stay, and the line's end is not shown. */
function visibleLine(text: string): string {
  return text.replace(/\n$/, '').replace(/[^\t]+/g, visible)
}

// A carriage return is shown where it tells something: where not all lines have one.
function withoutEnding(parts: readonly Part[], isCrlf: boolean): readonly Part[] {
  const last = parts.at(-1)
  if (!isCrlf || last === undefined || !last.text.endsWith('\\r')) return parts
  return [...parts.slice(0, -1), { ...last, text: last.text.slice(0, -2) }]
}

const mostText = 500

/** Of a very long line, what is around its first change. */
function shortened(parts: readonly Part[]): readonly Part[] {
  const total = parts.reduce((sum, { text }) => sum + text.length, 0)
  if (total <= mostText) return parts
  let first = 0
  for (const part of parts) {
    if (part.changed) break
    first += part.text.length
  }
  const from = first >= total ? 0 : Math.max(0, Math.min(first - mostText / 4, total - mostText))
  let at = 0
  const kept = parts.map((part) => {
    const start = Math.max(0, from - at)
    const end = Math.max(0, from + mostText - at)
    at += part.text.length
    return { ...part, text: part.text.slice(start, end) }
  })
  const left = { text: from > 0 ? `(${from} more) …` : '', changed: false }
  const more = total - from - mostText
  const right = { text: more > 0 ? `… (${more} more)` : '', changed: false }
  return [left, ...kept, right]
}

// ---- all together --------------------------------------------------------------------------------------------------

/** `--stat`: a line for each file. */
export function statLines({ files }: ReviewResult, pen: Pen): readonly string[] {
  const names = files.map(nameOf)
  const width = Math.max(0, ...names.map((name) => name.length))
  return files.map((file, at) => {
    const what =
      file.hunks.length === 1 && file.hunks[0]?.kind !== 'text'
        ? onlyHunk(file)
        : counted(file.hunks.length, 'hunk')
    const marks = file.hunks.some(({ contested }) => contested) ? pen.style('yellow', '  contested') : ''
    return `${(names[at] ?? '').padEnd(width)}  ${counts(file, pen)}  ${what}${marks}${proposalNote(file, pen)}`
  })
}

function onlyHunk({ hunks: [hunk] }: ReviewFile): string {
  return hunk === undefined ? '' : whatWords(hunk)
}

/** How much is shown, and how much of it needs a second look. */
export function summaryLine(review: ReviewResult, pen: Pen): string {
  const hunks = review.files.flatMap((file) => file.hunks)
  const paths = new Set(review.files.map(({ path }) => path))
  const sum = (of: 'additions' | 'deletions') => review.files.reduce((total, file) => total + file[of], 0)
  const contested = hunks.filter((hunk) => hunk.contested).length
  const proposed = hunks.filter(({ proposal }) => proposal !== undefined).length
  const notes = [
    contested === 0 ? '' : `${contested} contested`,
    proposed === 0 ? '' : `${proposed} proposed and not on disk`,
  ].filter((note) => note !== '')
  const total = counts({ additions: sum('additions'), deletions: sum('deletions') }, pen)
  const words = `${counted(hunks.length, 'hunk')} in ${counted(paths.size, 'file')}`
  return `${pen.style('bold', words)}  ${total}${notes.length === 0 ? '' : `  (${notes.join(', ')})`}`
}

/** `Accepted 2 hunks in list.txt`. */
export function decidedWords(
  { kind, hunks }: Pick<Decided, 'kind' | 'hunks'>,
  verb: 'accept' | 'reject',
): string {
  const past = verb === 'accept' ? 'Accepted' : 'Rejected'
  const did = kind === 'planned' ? `Would ${verb}` : past
  const paths = [...new Set(hunks.map(({ path }) => path))]
  const [only] = paths
  if (only === undefined) return `${did} nothing`
  const where = paths.length === 1 ? pathText(only) : counted(paths.length, 'file')
  return `${did} ${counted(hunks.length, 'hunk')} in ${where}`
}
