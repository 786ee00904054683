import fc from 'fast-check'
import { expect, test } from 'vitest'
import { textHunks, unifiedHunk } from '../../../core/src/review/hunks.ts'
import { splitLines } from '../../../core/src/review/lines.ts'
import {
  fits,
  isUntouched,
  linesOfRange,
  lineThrough,
  mergeTexts,
  type PendingHunk,
  placeHunks,
  withoutHunks,
  withProposed,
} from './hunk.ts'
import { editorLines, lineStarts, moveRanges } from './ranges.ts'

/** As the server gives them. */
function hunksBetween(old: string, fresh: string): readonly PendingHunk[] {
  const [before, after] = [splitLines(old), splitLines(fresh)]
  return textHunks(before, after, 'a.txt' as Parameters<typeof textHunks>[2]).map(({ edit }, at) => {
    const { lines } = unifiedHunk(before, after, edit)
    const olds = lines.flatMap(({ oldLine }) => oldLine ?? [])
    const news = lines.flatMap(({ newLine }) => newLine ?? [])
    return {
      id: `h${at}`,
      session: 's',
      kind: 'text',
      contested: false,
      turns: ['t'],
      agents: ['bot'],
      additions: edit.to - edit.from,
      deletions: edit.end - edit.start,
      oldStart: olds[0] ?? edit.start,
      oldLines: olds.length,
      newStart: news[0] ?? edit.from,
      newLines: news.length,
      lines: lines.map((line) => ({ ...line })),
    }
  })
}

const line = fc.constantFrom('a', 'b', 'c', 'd', 'e', '', '  x')
const ending = fc.constantFrom('\n', '\n', '\n', '\r\n')
const text = fc
  .tuple(fc.array(fc.tuple(line, ending), { maxLength: 14 }), fc.boolean())
  .map(([lines, isOpen]) => lines.map(([one, end]) => one + end).join('') + (isOpen ? 'last' : ''))

test('[X201] the old text and all hunks are the new text; the new text without them is the old one', () => {
  fc.assert(
    fc.property(text, text, (old, fresh) => {
      const hunks = hunksBetween(old, fresh)
      for (const hunk of hunks) expect(fits(hunk, splitLines(fresh))).toBe(true)
      expect(withProposed(old, hunks)).toBe(fresh)
      const placed = placeHunks(hunks, fresh, fresh)
      expect(placed).toHaveLength(hunks.length)
      expect(editorLines(withoutHunks(fresh, placed))).toEqual(editorLines(old))
    }),
    { numRuns: 500 },
  )
})

const typing = fc.array(fc.record({ line: fc.nat(30), text: fc.constantFrom('mine', 'own', '') }), {
  maxLength: 6,
})

test('[X201] hunks are found again in a text with unsaved lines, and are untouched there', () => {
  fc.assert(
    fc.property(text, text, typing, (old, fresh, typed) => {
      const hunks = hunksBetween(old, fresh)
      let shown = fresh
      let ranges = placeHunks(hunks, fresh, fresh).map(({ range }) => range)
      for (const { line, text: own } of typed) {
        const lines = splitLines(shown)
        const offset = lines.slice(0, line % (lines.length + 1)).join('').length
        const isInside = ranges.some(({ start, end }) => start < offset && offset < end)
        if (isInside || (offset > 0 && shown[offset - 1] !== '\n')) continue
        const change = { offset, length: 0, text: `${own}\n` }
        ranges = [...moveRanges(ranges, change, shown)]
        shown = shown.slice(0, offset) + change.text + shown.slice(offset)
      }
      // Followed edit by edit, every hunk is where it was written.
      for (const [at, range] of ranges.entries()) {
        const hunk = hunks[at]
        if (hunk !== undefined) expect(isUntouched({ hunk, range }, shown)).toBe(true)
      }
      // Found anew, it is at least not somebody else's line that would be taken for it.
      for (const one of placeHunks(hunks, fresh, shown)) {
        const { first, end } = linesOfRange(lineStarts(shown), one.range)
        expect(first).toBeLessThanOrEqual(end)
        expect(end).toBeLessThanOrEqual(editorLines(shown).length)
      }
    }),
    { numRuns: 500 },
  )
})

const saved = 'one\nTWO\nthree\nfour\nFIVE\nsix\n'
const hunks = hunksBetween('one\ntwo\nthree\nfour\nfive\nsix\n', saved)

test('[X201] a hunk that somebody has typed into is not untouched, its neighbour is', () => {
  const shown = 'zero\none\nTWO!\nthree\nfour\nFIVE\nsix\n'
  const placed = placeHunks(hunks, saved, shown)
  expect(placed.map((one) => shown.slice(one.range.start, one.range.end))).toEqual(['TWO!\n', 'FIVE\n'])
  expect(placed.map((one) => isUntouched(one, shown))).toEqual([false, true])
})

test('[X201] a hunk of another time is left out', () => {
  expect(placeHunks(hunks, 'one\nother\nthree\nfour\nFIVE\nsix\n', saved).map(({ hunk }) => hunk.id)).toEqual(
    ['h1'],
  )
})

test('[X201] an editor with CRLF has the hunks of a file with LF', () => {
  const shown = saved.replaceAll('\n', '\r\n')
  const placed = placeHunks(hunks, saved, shown)
  expect(placed.every((one) => isUntouched(one, shown))).toBe(true)
  expect(withoutHunks(shown, placed)).toBe('one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\n')
})

test('[X201] a line of the saved text is found where unsaved lines have moved it', () => {
  const shown = `mine\n${saved.replace('three\n', 'three\nmine, too\n')}`
  expect([0, 2, 3, 6].map((line) => lineThrough(saved, shown, line))).toEqual([1, 3, 5, 8])
  expect(lineThrough(saved, saved, 4)).toBe(4)
})

test('[X202] rejecting one hunk changes only its lines in a text with unsaved edits elsewhere', () => {
  const mine = 'zero\none\nTWO\nthree\nfour\nFIVE\nsix\nseven'
  const rejected = 'one\ntwo\nthree\nfour\nFIVE\nsix\n'
  expect(mergeTexts(saved, mine, rejected)).toEqual({
    text: 'zero\none\ntwo\nthree\nfour\nFIVE\nsix\nseven',
    overlaps: 0,
  })
})

test('[X202] where both changed the same lines, the unsaved ones stay and the place is counted', () => {
  expect(mergeTexts(saved, saved.replace('TWO', 'TWO!'), saved.replace('TWO', 'two'))).toEqual({
    text: saved.replace('TWO', 'TWO!'),
    overlaps: 1,
  })
})
