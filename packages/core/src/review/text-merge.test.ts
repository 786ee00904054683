import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { splitLines } from './lines.ts'
import { type MergedLines, mergeLines, type Side } from './text-merge.ts'

const soak = process.env.UNTURN_SOAK !== undefined
const folder = mkdtempSync(join(tmpdir(), 'unturn-merge-'))
afterAll(() => rmSync(folder, { recursive: true }))

function merged(base: string, ours: string, theirs: string, favour: Side = 'ours'): MergedLines {
  return mergeLines(splitLines(base), splitLines(ours), splitLines(theirs), favour)
}

function text({ lines }: MergedLines): string {
  return lines.join('')
}

const word = fc.constantFrom('a', 'b', 'c', 'd', 'x', 'y', '')
const anyText = fc
  .tuple(fc.array(word, { maxLength: 10 }), fc.boolean())
  .map(([words, ended]) => words.join('\n') + (ended && words.length > 0 ? '\n' : ''))

/** A base whose lines are all different, and two sides made from it by a few edits. */
const madeFromOne = fc
  .tuple(
    fc.integer({ min: 0, max: 14 }),
    fc.boolean(),
    fc.array(fc.tuple(fc.nat(14), fc.nat(2), fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 2 })), {
      maxLength: 3,
    }),
    fc.array(fc.tuple(fc.nat(14), fc.nat(2), fc.array(fc.constantFrom('x', 'y', 'w'), { maxLength: 2 })), {
      maxLength: 3,
    }),
    fc.tuple(fc.boolean(), fc.boolean()),
  )
  .map(([length, ended, ours, theirs, cut]): [string, string, string] => {
    const base = Array.from({ length }, (_, i) => `line ${i}\n`)
    const made = (edits: readonly (readonly [number, number, readonly string[]])[], isCut: boolean) => {
      const lines = [...base]
      for (const [at, gone, words] of edits) lines.splice(at, gone, ...words.map((one) => `${one}${at}\n`))
      return isCut ? lines.join('').replace(/\n$/, '') : lines.join('')
    }
    return [made([], !ended), made(ours, cut[0]), made(theirs, cut[1])]
  })
const anyThree = fc.oneof(madeFromOne, fc.tuple(anyText, anyText, anyText))
const runs = { numRuns: soak ? 100_000 : 2_000 }

describe('merge of lines', () => {
  test('[R110] a side that changed nothing gives way, and two equal sides are taken once', () => {
    fc.assert(
      fc.property(anyText, anyText, (base, other) => {
        expect(merged(base, base, other)).toEqual({ lines: splitLines(other), conflicts: [] })
        expect(merged(base, other, base)).toEqual({ lines: splitLines(other), conflicts: [] })
        expect(merged(base, other, other)).toEqual({ lines: splitLines(other), conflicts: [] })
      }),
      runs,
    )
  })

  test('[R110] edits in different places are both made', () => {
    expect(merged('a\nb\nc\nd\n', 'A\nb\nc\nd\n', 'a\nb\nc\nD\ne\n')).toEqual({
      lines: ['A\n', 'b\n', 'c\n', 'D\n', 'e\n'],
      conflicts: [],
    })
  })

  test('[R111] where edits overlap the named side wins, and the place is told with both', () => {
    const [base, ours, theirs] = ['a\nb\nc\nd\n', 'a\nB\nC\nd\n', 'a\nb\nX\nd\ne\n']
    const conflict = {
      base: [1, 3],
      merged: [1, 3],
      baseLines: ['b\n', 'c\n'],
      ours: ['B\n', 'C\n'],
      theirs: ['b\n', 'X\n'],
    }
    expect(merged(base, ours, theirs, 'ours')).toEqual({
      lines: ['a\n', 'B\n', 'C\n', 'd\n', 'e\n'],
      conflicts: [conflict],
    })
    expect(merged(base, ours, theirs, 'theirs')).toEqual({
      lines: ['a\n', 'b\n', 'X\n', 'd\n', 'e\n'],
      conflicts: [conflict],
    })
  })

  test('[R111] edits that overlap in a chain are one place', () => {
    const base = '1\n2\n3\n4\n5\n6\n7\n8\n'
    const { conflicts, lines } = merged(base, 'A\nB\n3\n4\nC\nD\n7\n8\n', '1\nX\nY\nZ\n5\n6\n7\n8\n')
    expect(lines.join('')).toBe('A\nB\n3\n4\nC\nD\n7\n8\n')
    expect(conflicts).toHaveLength(1)
    expect(conflicts[0]?.base).toEqual([0, 4])
    const chain = merged(base, '1\nA\nB\n4\n5\nC\n7\n8\n', '1\n2\nX\nY\nZ\nZ\n7\n8\n').conflicts
    expect(chain.map((one) => one.base)).toEqual([[1, 6]])
  })

  test('[R111] both sides made the same of one place: no conflict, even inside a longer overlap', () => {
    expect(merged('a\nb\nc\n', 'a\nX\nc\n', 'a\nX\nc\nd\n')).toEqual({
      lines: ['a\n', 'X\n', 'c\n', 'd\n'],
      conflicts: [],
    })
  })

  test('[R112] edits that only touch are both made, in the order of their places', () => {
    expect(text(merged('a\nb\n', 'X\nb\n', 'a\nY\n'))).toBe('X\nY\n')
    expect(text(merged('a\nb\n', 'X\nb\n', 'a\nnew\nb\n'))).toBe('X\nnew\nb\n')
    expect(text(merged('a\nb\n', 'new\na\nb\n', 'X\nb\n'))).toBe('new\nX\nb\n')
    expect(text(merged('a\nb\nc\n', 'a\nc\n', 'a\nb\nnew\nc\n'))).toBe('a\nnew\nc\n')
    for (const [ours, theirs] of [
      ['X\nb\n', 'a\nnew\nb\n'],
      ['new\na\nb\n', 'X\nb\n'],
    ] as const) {
      expect(merged('a\nb\n', ours, theirs).conflicts).toEqual([])
      expect(merged('a\nb\n', theirs, ours)).toEqual(merged('a\nb\n', ours, theirs))
    }
  })

  test('[R113] different lines inserted at the same point are a conflict, equal ones are taken once', () => {
    const both = merged('a\nb\n', 'a\nours\nb\n', 'a\ntheirs\nb\n', 'theirs')
    expect(both.lines.join('')).toBe('a\ntheirs\nb\n')
    expect(both.conflicts).toEqual([
      { base: [1, 1], merged: [1, 2], baseLines: [], ours: ['ours\n'], theirs: ['theirs\n'] },
    ])
    expect(merged('a\nb\n', 'a\nx\nb\n', 'a\nx\nb\n').conflicts).toEqual([])
    expect(merged('', 'x\n', 'y\n').conflicts).toHaveLength(1)
  })

  test('[R114] two lines never become one: a last line without its ending, with lines of the other side behind it, is a conflict', () => {
    const ours = merged('a\nb\n', 'a\nB', 'a\nb\nc\n', 'ours')
    expect(text(ours)).toBe('a\nB')
    expect(ours.conflicts).toEqual([
      { base: [1, 2], merged: [1, 2], baseLines: ['b\n'], ours: ['B'], theirs: ['b\n', 'c\n'] },
    ])
    expect(text(merged('a\nb\n', 'a\nB', 'a\nb\nc\n', 'theirs'))).toBe('a\nb\nc\n')
    expect(text(merged('a\n', 'A', 'a\nb', 'theirs'))).toBe('a\nb')
    fc.assert(
      fc.property(anyThree, fc.constantFrom('ours' as const, 'theirs' as const), (three, favour) => {
        const { lines } = merged(...three, favour)
        expect(splitLines(lines.join(''))).toEqual(lines)
      }),
      runs,
    )
  })

  test('[R114] a lost final newline and an edit elsewhere go together', () => {
    expect(text(merged('a\nb\nc\n', 'a\nb\nc', 'A\nb\nc\n'))).toBe('A\nb\nc')
    expect(text(merged('a\nb\nc', 'a\nb\nc\nd', 'A\nb\nc'))).toBe('A\nb\nc\nd')
  })

  test('[R115] without a conflict it does not matter which side is which, or is favoured', () => {
    fc.assert(
      fc.property(anyThree, ([base, ours, theirs]) => {
        const one = merged(base, ours, theirs, 'ours')
        const other = merged(base, theirs, ours, 'ours')
        expect(other.conflicts.length).toBe(one.conflicts.length)
        if (one.conflicts.length > 0) return
        expect(other.lines).toEqual(one.lines)
        expect(merged(base, ours, theirs, 'theirs').lines).toEqual(one.lines)
      }),
      runs,
    )
  })

  test('[R111] with a side favoured, nothing outside of the told places depends on it', () => {
    fc.assert(
      fc.property(anyThree, (three) => {
        const [one, other] = [merged(...three, 'ours'), merged(...three, 'theirs')]
        const outside = ({ lines, conflicts }: MergedLines) => {
          const rest = [...lines]
          for (const { merged: place } of [...conflicts].reverse())
            rest.splice(place[0], place[1] - place[0], '?')
          return rest
        }
        expect(outside(one)).toEqual(outside(other))
        for (const { merged: place, ours } of one.conflicts)
          expect(one.lines.slice(place[0], place[1])).toEqual(ours)
      }),
      runs,
    )
  })

  test('[R116] what git merges cleanly comes out with the same bytes', () => {
    let clean = 0
    fc.assert(
      fc.property(madeFromOne, ([base, ours, theirs]) => {
        const git = gitMerge(base, ours, theirs)
        if (git === undefined) return
        clean += 1
        expect(merged(base, ours, theirs)).toMatchObject({ lines: splitLines(git), conflicts: [] })
      }),
      { numRuns: soak ? 5_000 : 300, interruptAfterTimeLimit: soak ? 120_000 : 10_000 },
    )
    expect(clean).toBeGreaterThan(20)
  })
})

function gitMerge(base: string, ours: string, theirs: string): string | undefined {
  for (const [name, content] of Object.entries({ base, ours, theirs }))
    writeFileSync(join(folder, name), content)
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_DIR: join(folder, 'none'),
  }
  try {
    return execFileSync('git', ['merge-file', '-p', 'ours', 'base', 'theirs'], {
      cwd: folder,
      env,
      stdio: 'pipe',
    }).toString('latin1')
  } catch (error) {
    const { status } = error as { status: number | null }
    if (status === null || status > 100) throw error
    return undefined // the number of conflicts
  }
}
