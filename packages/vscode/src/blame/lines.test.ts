import fc from 'fast-check'
import { expect, test } from 'vitest'
import { matchLines } from './lines.ts'

test('[X108] a line that typing has moved is found, and one that was typed or changed is nobody’s', () => {
  expect(matchLines(['a', 'b', 'c'], ['x', 'a', 'B', 'c'])).toEqual([undefined, 0, undefined, 2])
  expect(matchLines(['a', '}', 'b', '}'], ['a', '}', 'new', '}', 'b', '}'])).toEqual([
    0,
    1,
    undefined,
    undefined,
    2,
    3,
  ])
  expect(matchLines([], ['a'])).toEqual([undefined])
})

test('[X108] whatever was typed, a line is matched with an equal one only, each once and in order', () => {
  const line = fc.constantFrom('a', 'b', 'c', '}', '')
  fc.assert(
    fc.property(fc.array(line), fc.array(line), (recorded, shown) => {
      const map = matchLines(recorded, shown)
      const matched = map.flatMap((to, at) => (to === undefined ? [] : [[at, to] as const]))
      for (const [at, to] of matched) expect(recorded[to]).toBe(shown[at])
      expect(matched.map(([, to]) => to)).toEqual(
        [...new Set(matched.map(([, to]) => to))].sort((a, b) => a - b),
      )
      expect(matchLines(shown, shown)).toEqual(shown.map((_, at) => at))
    }),
  )
})
