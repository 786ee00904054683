import { expect, test } from 'vitest'
import type { PendingHunk } from './hunk.ts'
import { badgeOf, fileTooltip, hunkAt, hunkDiff, hunkTitle, nextOf, removedBeside, whyLine } from './words.ts'

function hunk(lines: readonly string[], wishes: Partial<PendingHunk> = {}): PendingHunk {
  return {
    id: 'h',
    session: 's',
    kind: 'text',
    contested: false,
    turns: ['t'],
    agents: ['bot'],
    additions: lines.filter((line) => line.startsWith('+')).length,
    deletions: lines.filter((line) => line.startsWith('-')).length,
    oldStart: 1,
    oldLines: 1,
    newStart: 1,
    newLines: 1,
    lines: lines.map((line) => ({ kind: line[0] as '+' | '-' | ' ', text: `${line.slice(1)}\n` })),
    ...wishes,
  }
}

test('[X203] why a block is there: agent and prompt on one line, other turns counted', () => {
  expect(whyLine({ agent: 'claude', prompt: 'Make it\nnicer' }, 0)).toBe('Why: claude, “Make it nicer”')
  expect(whyLine({ agent: 'a\u202eb', prompt: null }, 2)).toBe(
    'Why: a\ufffdb, “(no prompt)” and 2 other turns',
  )
  expect(whyLine(undefined, 0)).toBe('Why')
})

test('[X203] removed lines stand beside the lines that came for them, and the rest is counted', () => {
  expect(removedBeside(hunk(['-a', '-b', '+A', '+B']), 2)).toEqual([
    { line: 0, text: '− a' },
    { line: 1, text: '− b' },
  ])
  expect(removedBeside(hunk(['-a', '-b', '-', '+A']), 1)).toEqual([
    { line: 0, text: '− a  (and 2 more removed lines)' },
  ])
  expect(removedBeside(hunk(['-', '-b']), 0)).toEqual([
    { line: -1, text: '− (empty line)  (and 1 more removed line)' },
  ])
  expect(removedBeside(hunk(['+A']), 1)).toEqual([])
})

test('[X203] a block tells its kind where its lines do not, and its whole diff on demand', () => {
  expect(hunkTitle(hunk(['-a', '+A', '+B']))).toBe('+2 −1')
  expect(hunkTitle(hunk([], { kind: 'rename', from: 'old\n.txt' }))).toBe('Renamed from old .txt')
  expect(hunkTitle(hunk([], { kind: 'mode', oldMode: '644', newMode: '755' }))).toBe('Permissions 644 → 755')
  expect(hunkDiff(hunk([' x', '-a', '+A']))).toBe('-a\n+A')
  expect(hunkDiff(hunk(['+A', '+B', '+C']), 2)).toBe('+A\n+B\n … and 1 more line')
})

test('[X203] a badge has two characters, and says in full what it means', () => {
  expect([1, 9, 10].map(badgeOf)).toEqual(['1', '9', '9+'])
  expect(fileTooltip({ hunks: [hunk([])], proposal: 'p' })).toBe('1 proposed block waiting for your word')
})

const places = [
  { first: 2, end: 4 },
  { first: 8, end: 8 },
]

test('[X214] the next block is below, around the end the first one; a removal is at the lines on both sides', () => {
  expect(nextOf(places, 2, 1)).toBe(places[1])
  expect(nextOf(places, 8, 1)).toBe(places[0])
  expect(nextOf(places, 2, -1)).toBe(places[1])
  expect(nextOf([], 2, 1)).toBeUndefined()
  expect([1, 2, 3, 4, 6, 7, 8, 9].map((line) => hunkAt(places, line)?.first)).toEqual([
    undefined,
    2,
    2,
    undefined,
    undefined,
    8,
    8,
    undefined,
  ])
})
