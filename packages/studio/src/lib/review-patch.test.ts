import type { ReviewHunk, ReviewLine } from '@unturn/client'
import { expect, test } from 'vitest'
import { patchOfFile, placeOf } from './review-patch.ts'

const same = (number: number, text = `${number}\n`): ReviewLine => ({
  kind: ' ',
  text,
  oldLine: number,
  newLine: number,
})
const changed = (number: number): ReviewLine[] => [
  { kind: '-', text: `${number}\n`, oldLine: number },
  { kind: '+', text: `new ${number}\n`, newLine: number },
]

function hunk(lines: readonly ReviewLine[], kind: ReviewHunk['kind'] = 'text'): ReviewHunk {
  return {
    id: 'h',
    kind,
    contested: false,
    turns: [],
    agents: [],
    additions: 1,
    deletions: 1,
    oldStart: 1,
    oldLines: 1,
    newStart: 1,
    newLines: 1,
    lines: [...lines],
  }
}

test('[D120] context that two neighbours share is drawn once, in one block', () => {
  const hunks = [hunk([same(1), ...changed(2), same(3)]), hunk([same(3), ...changed(4), same(5)])]
  expect(patchOfFile({ path: 'a.txt', additions: 2, deletions: 2, hunks })).toBe(
    'diff --git "a/a.txt" "b/a.txt"\n--- "a/a.txt"\n+++ "b/a.txt"\n@@ -1,5 +1,5 @@\n 1\n-2\n+new 2\n 3\n-4\n+new 4\n 5\n',
  )
})

test('[D120] distant hunks are blocks of their own, and a missing last line ending is told', () => {
  const hunks = [hunk(changed(2)), hunk([same(9), { kind: '+', text: 'end', newLine: 10 }])]
  const patch = patchOfFile({ path: 'a.txt', additions: 2, deletions: 1, hunks })
  expect(patch.match(/^@@.*$/gm)).toEqual(['@@ -2,1 +2,1 @@', '@@ -9,1 +9,2 @@'])
  expect(patch.endsWith('+end\n\\ No newline at end of file\n')).toBe(true)
})

test('[D120] the buttons of a hunk stand below its last line, on the side that has one', () => {
  expect(placeOf(hunk([same(1), ...changed(2), same(3)]))).toEqual({ side: 'additions', line: 2 })
  expect(placeOf(hunk([same(1), { kind: '-', text: 'gone\n', oldLine: 2 }]))).toEqual({
    side: 'deletions',
    line: 2,
  })
  expect(placeOf(hunk([], 'mode'))).toBeUndefined()
})
