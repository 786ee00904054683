import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lineStarts, moveRanges, type Range, type TextChange } from './ranges.ts'

/** A text in which every character knows where it came from: the number of a range, or nobody's. */
interface Marked {
  readonly text: string
  readonly owners: readonly (number | undefined)[]
}

function edited({ text, owners }: Marked, { offset, length, text: typed }: TextChange): Marked {
  const fresh = Array.from(typed, () => -1)
  return {
    text: text.slice(0, offset) + typed + text.slice(offset + length),
    owners: [...owners.slice(0, offset), ...fresh, ...owners.slice(offset + length)],
  }
}

const lines = fc.array(fc.constantFrom('a', 'b', 'cd', ''), { minLength: 1, maxLength: 12 })
const typed = fc.constantFrom('', 'x', '\n', 'x\n', '\nx', 'x\ny\n', 'xy')

const story = fc.record({
  lines,
  borders: fc.array(fc.nat(12), { minLength: 2, maxLength: 8 }),
  edits: fc.array(fc.record({ at: fc.nat(1000), length: fc.nat(4), text: typed }), { maxLength: 12 }),
})

function start({
  lines,
  borders,
}: {
  readonly lines: readonly string[]
  readonly borders: readonly number[]
}) {
  const text = lines.map((line) => `${line}\n`).join('')
  const starts = lineStarts(text)
  const sorted = borders.toSorted((a, b) => a - b).map((line) => starts[line] ?? text.length)
  const ranges: Range[] = []
  for (let i = 0; i + 1 < sorted.length; i += 2)
    ranges.push({ start: sorted[i] ?? 0, end: sorted[i + 1] ?? 0 })
  const owners = Array.from(text, (_, at) => {
    const owner = ranges.findIndex((range) => range.start <= at && at < range.end)
    return owner < 0 ? undefined : owner
  })
  return { marked: { text, owners } satisfies Marked, ranges }
}

test('[X200] a range keeps all of its own characters that are left, takes in no other, and ranges stay apart', () => {
  fc.assert(
    fc.property(story, (drawn) => {
      let { marked, ranges }: { marked: Marked; ranges: readonly Range[] } = start(drawn)
      for (const { at, length, text } of drawn.edits) {
        const offset = at % (marked.text.length + 1)
        const change = { offset, length: Math.min(length, marked.text.length - offset), text }
        ranges = moveRanges(ranges, change, marked.text)
        marked = edited(marked, change)
        let least = 0
        for (const [own, range] of ranges.entries()) {
          expect(range.start).toBeGreaterThanOrEqual(least)
          expect(range.end).toBeLessThanOrEqual(marked.text.length)
          least = range.end
          for (const [place, owner] of marked.owners.entries()) {
            const isInside = range.start <= place && place < range.end
            if (owner === own) expect(isInside).toBe(true)
            else if (owner !== -1) expect(isInside).toBe(false)
          }
        }
      }
    }),
    { numRuns: 500 },
  )
})

test('[X200] edits of whole lines outside leave the text of every range as it was', () => {
  fc.assert(
    fc.property(story, (drawn) => {
      const { marked, ranges: first } = start(drawn)
      const texts = first.map(({ start, end }) => marked.text.slice(start, end))
      let { text } = marked
      let ranges: readonly Range[] = first
      for (const { at, text: typed } of drawn.edits) {
        const free = lineStarts(text).filter(
          (offset) => !ranges.some(({ start, end }) => start < offset && offset < end),
        )
        const change = { offset: free[at % free.length] ?? 0, length: 0, text: `${typed}\n` }
        ranges = moveRanges(ranges, change, text)
        text = text.slice(0, change.offset) + change.text + text.slice(change.offset)
      }
      expect(ranges.map(({ start, end }) => text.slice(start, end))).toEqual(texts)
    }),
    { numRuns: 500 },
  )
})

const around = 'one\ntwo\nthree\n'
const two: Range = { start: 4, end: 8 }

test.each([
  ['a line above', { offset: 0, length: 0, text: 'zero\n' }, 'two\n'],
  ['a line right above', { offset: 4, length: 0, text: 'more\n' }, 'two\n'],
  ['a line right below', { offset: 8, length: 0, text: 'more\n' }, 'two\n'],
  ['Enter at the end of the line above', { offset: 3, length: 0, text: '\n' }, 'two\n'],
  ['a letter at its beginning', { offset: 4, length: 0, text: 'x' }, 'xtwo\n'],
  ['a letter at its end', { offset: 7, length: 0, text: 'x' }, 'twox\n'],
  ['the line above removed', { offset: 0, length: 4, text: '' }, 'two\n'],
  ['its own line removed', { offset: 4, length: 4, text: '' }, ''],
  ['everything replaced', { offset: 0, length: 14, text: 'new\n' }, 'new\n'],
])('[X200] a block of a line, and %s', (_, change, expected) => {
  const [moved] = moveRanges([two], change, around)
  const text = around.slice(0, change.offset) + change.text + around.slice(change.offset + change.length)
  expect(text.slice(moved?.start, moved?.end)).toBe(expected)
})
