import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { splitLines } from './lines.ts'
import { type Span, wordDiff } from './words-diff.ts'

function bytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

/** What has changed stands in brackets. */
function marked(lines: readonly (readonly Span[])[]): string {
  return lines
    .flat()
    .map(({ text, changed }) => {
      const shown = Buffer.from(text, 'latin1').toString('utf8')
      return changed ? `[${shown}]` : shown
    })
    .join('')
}

function both(removed: string, added: string): readonly [string, string] {
  const found = wordDiff(splitLines(bytes(removed)), splitLines(bytes(added)))
  return [marked(found.removed), marked(found.added)]
}

const joined = (lines: readonly (readonly Span[])[]) =>
  lines.map((spans) => spans.map(({ text }) => text).join(''))

describe('words', () => {
  test('[R130] only the words that changed are marked', () => {
    expect(both('const size = 10\n', 'const limit = 10\n')).toEqual([
      'const [size] = 10\n',
      'const [limit] = 10\n',
    ])
    expect(both('call(a, b)\n', 'call(a, b, c)\n')).toEqual(['call(a, b)\n', 'call(a, b[, c])\n'])
    expect(both('a  b\n', 'a b\n')).toEqual(['a[  ]b\n', 'a[ ]b\n'])
    expect(both('a\r\n', 'a\n')).toEqual(['a[\r\n]', 'a[\n]'])
    expect(both('a', 'a\n')).toEqual(['a', 'a[\n]'])
  })

  test('[R130] words side by side that changed are one stretch', () => {
    expect(both('one old thing here\n', 'one new item here\n')).toEqual([
      'one [old thing] here\n',
      'one [new item] here\n',
    ])
  })

  test('[R130] a word is found again on another line', () => {
    expect(both('f(alpha, beta)\n', 'f(\n  alpha,\n  beta,\n)\n')).toEqual([
      'f(alpha,[ ]beta)\n',
      'f([\n][  ]alpha,[\n][  ]beta[,\n])\n',
    ])
  })

  test('[R130] the spans of each line are the line', () => {
    const lines = fc
      .string({ unit: fc.constantFrom('a', 'b', ' ', ',', '\n', '\xc3', '\xa4', '\xff', '\xe2', '\x82') })
      .map(splitLines)
    fc.assert(
      fc.property(lines, lines, (removed, added) => {
        const found = wordDiff(removed, added)
        expect(joined(found.removed)).toEqual(removed)
        expect(joined(found.added)).toEqual(added)
        const same = (spans: readonly (readonly Span[])[]) =>
          spans
            .flat()
            .filter(({ changed }) => !changed)
            .map(({ text }) => text)
            .join('')
        expect(same(found.removed)).toBe(same(found.added))
      }),
      { numRuns: 2_000 },
    )
  })

  test('[R131] no span ends inside of a character', () => {
    expect(both('grün\n', 'gräben\n')).toEqual(['[grün]\n', '[gräben]\n'])
    expect(both('日本語\n', '日木語\n')).toEqual(['日[本]語\n', '日[木]語\n'])
    expect(both('a😀b\n', 'a😁b\n')).toEqual(['a[😀]b\n', 'a[😁]b\n'])
    const text = fc.string({
      unit: fc.constantFrom('a', 'ä', 'å', 'я', '€', '日', '本', '😀', '😁', ' ', '.', '\n'),
    })
    const filler = fc.constantFrom('', 'x'.repeat(25_000))
    fc.assert(
      fc.property(text, text, text, filler, (head, removed, added, long) => {
        const found = wordDiff(
          splitLines(bytes(head + long + removed)),
          splitLines(bytes(head + long + added)),
        )
        for (const { text: span } of [...found.removed, ...found.added].flat()) {
          const read = Buffer.from(span, 'latin1')
          expect(Buffer.from(read.toString('utf8'), 'utf8').equals(read)).toBe(true)
        }
      }),
      { numRuns: 500 },
    )
  })

  test('[R132] a very long line has one changed stretch in its middle', () => {
    const long = 'a,b;'.repeat(300_000)
    const found = wordDiff([`${long}old${long}\n`], [`${long}new${long}\n`])
    expect(found.removed[0]?.map(({ text, changed }) => [text.length, changed])).toEqual([
      [1_200_000, false],
      [3, true],
      [1_200_001, false],
    ])
    expect(found.added[0]?.[1]).toEqual({ text: 'new', changed: true })
  })

  test('[R130] nothing on one side: all of the other has changed', () => {
    expect(both('', 'a b\nc\n')).toEqual(['', '[a b\n][c\n]'])
    expect(both('', '')).toEqual(['', ''])
  })
})
