import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { applyEdits, diffLines, type Edit, isBinary, splitLines } from './lines.ts'
import { settle } from './settle.ts'

const soak = process.env.UNTURN_SOAK !== undefined
const base = mkdtempSync(join(tmpdir(), 'unturn-lines-'))
afterAll(() => rmSync(base, { recursive: true }))

function edits(old: string, fresh: string): readonly Edit[] {
  return diffLines(splitLines(old), splitLines(fresh))
}

/** Edits as a reader sees them: `-` and `+` lines, a blank line between two edits. */
function shownEdits(old: string, fresh: string): string {
  const [a, b] = [splitLines(old), splitLines(fresh)]
  return diffLines(a, b)
    .map(({ start, end, from, to }) =>
      [
        ...a.slice(start, end).map((line) => `-${line.trimEnd()}`),
        ...b.slice(from, to).map((line) => `+${line.trimEnd()}`),
      ].join('\n'),
    )
    .join('\n\n')
}

function changedLines(found: readonly Edit[]): number {
  return found.reduce((sum, { start, end, from, to }) => sum + end - start + to - from, 0)
}

/** Code with what misleads a diff: the same short lines again and again. */
function codeLine(i: number): string {
  if (i % 9 === 8) return '\n'
  if (i % 9 === 7) return '}\n'
  if (i % 9 === 6) return '  return result\n'
  return i % 9 === 0 ? `function part${i}(value) {\n` : `  const step${i} = value.next(${i % 13})\n`
}

function code(length: number): string[] {
  return Array.from({ length }, (_, i) => codeLine(i))
}

/** The same numbers in each run. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const fewWords = fc.array(fc.constantFrom('a\n', 'b\n', 'c\n', '\n', '}\n'), { maxLength: 30 })
const manyWords = fc.array(
  fc.integer({ max: 40, min: 0 }).map((n) => `${n}\n`),
  { maxLength: 40 },
)
const anyLines = fc.oneof(fewWords, manyWords)

/** An old text and one that was made from it by a few edits, as people and agents do. */
const edited = fc
  .tuple(anyLines, fc.array(fc.tuple(fc.nat(40), fc.nat(3), fewWords), { maxLength: 4 }))
  .map(([old, changes]): [string[], string[]] => {
    const fresh = [...old]
    for (const [at, count, lines] of changes) fresh.splice(at, count, ...lines.slice(0, 4))
    return [old, fresh]
  })
const pairs = fc.oneof(edited, fc.tuple(anyLines, anyLines))

describe('lines', () => {
  test('[R100] only a line feed ends a line, and joined the lines are the text', () => {
    expect(splitLines('')).toEqual([])
    expect(splitLines('a\r\nb\rc\n\nd')).toEqual(['a\r\n', 'b\rc\n', '\n', 'd'])
    expect(splitLines('\n')).toEqual(['\n'])
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '\n', '\r', '\xff', '\0') }), (text) => {
        expect(splitLines(text).join('')).toBe(text)
      }),
    )
  })

  test('[R109] a NUL among the first 8,000 bytes makes a file binary', () => {
    const bytes = Buffer.alloc(9_000, 'x')
    expect(isBinary(bytes)).toBe(false)
    bytes[8_000] = 0
    expect(isBinary(bytes)).toBe(false)
    bytes[7_999] = 0
    expect(isBinary(bytes)).toBe(true)
    expect(isBinary(Buffer.alloc(0))).toBe(false)
  })
})

describe('edits', () => {
  test('[R101] made in the old text, the edits give the new one; they are in order, and apart', () => {
    fc.assert(
      fc.property(pairs, ([old, fresh]) => {
        const found = diffLines(old, fresh)
        expect(applyEdits(old, fresh, found)).toEqual(fresh)
        let [start, from] = [-1, -1]
        for (const edit of found) {
          expect(edit.start).toBeGreaterThan(start)
          expect(edit.start - start).toBe(edit.from - from)
          expect(edit.end - edit.start + edit.to - edit.from).toBeGreaterThan(0)
          start = edit.end
          from = edit.to
        }
      }),
      { numRuns: soak ? 200_000 : 3_000 },
    )
  })

  test('[R101] from nothing, to nothing, and nothing at all', () => {
    expect(edits('', '')).toEqual([])
    expect(edits('a\n', 'a\n')).toEqual([])
    expect(edits('', 'a\nb\n')).toEqual([{ start: 0, end: 0, from: 0, to: 2 }])
    expect(edits('a\nb', '')).toEqual([{ start: 0, end: 2, from: 0, to: 0 }])
  })

  test('[R117] some of the edits make only their part of the change', () => {
    const [old, fresh] = [splitLines('a\nb\nc\nd\n'), splitLines('A\nb\nC\nd\nE\n')]
    const [first, second, third] = diffLines(old, fresh)
    if (first === undefined || second === undefined || third === undefined) throw new Error('three edits')
    expect(applyEdits(old, fresh, []).join('')).toBe('a\nb\nc\nd\n')
    expect(applyEdits(old, fresh, [second]).join('')).toBe('a\nb\nC\nd\n')
    expect(applyEdits(old, fresh, [first, third]).join('')).toBe('A\nb\nc\nd\nE\n')
  })

  test('[R102] [J12] a change of spaces, of line endings and of the final newline are changes of these lines', () => {
    expect(edits('a\n  b\nc\n', 'a\n\tb\nc\n')).toEqual([{ start: 1, end: 2, from: 1, to: 2 }])
    expect(edits('a\nb\nc\n', 'a\nb \nc\n')).toEqual([{ start: 1, end: 2, from: 1, to: 2 }])
    expect(edits('a\r\nb\r\nc\r\n', 'a\r\nb\nc\r\n')).toEqual([{ start: 1, end: 2, from: 1, to: 2 }])
    expect(edits('a\nb\n', 'a\r\nb\r\n')).toEqual([{ start: 0, end: 2, from: 0, to: 2 }])
    expect(edits('a\nb\n', 'a\nb')).toEqual([{ start: 1, end: 2, from: 1, to: 2 }])
    expect(edits('a\nb', 'a\nb\nc')).toEqual([{ start: 1, end: 2, from: 1, to: 3 }])
  })

  test('[R102] bytes that are not UTF-8 are compared as bytes', () => {
    expect(edits('a\xff\nb\n', 'a\xfe\nb\n')).toEqual([{ start: 0, end: 1, from: 0, to: 1 }])
  })

  test('[R103] [J10] of a file that was written anew, only what is different is an edit', () => {
    const old = code(3_000)
    const fresh = code(3_000)
    fresh[700] = '  const other = 1\n'
    fresh.splice(1_500, 0, '  // why\n', '  // and how\n')
    fresh.splice(2_400, 1)
    const found = diffLines(old, splitLines(fresh.join('')))
    expect(found).toEqual([
      { start: 700, end: 701, from: 700, to: 701 },
      { start: 1_500, end: 1_500, from: 1_500, to: 1_502 },
      { start: 2_398, end: 2_399, from: 2_400, to: 2_400 },
    ])
  })

  test('[R107] the same texts give the same edits, and exchanged the same ones the other way', () => {
    const turned = ({ start, end, from, to }: Edit): Edit => ({ start: from, end: to, from: start, to: end })
    const old = code(200)
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(199), fc.nat(2), fc.nat(2)), { maxLength: 6 }),
        fc.nat(9),
        (changes, salt) => {
          const fresh = [...old]
          for (const [at, out, into] of changes)
            fresh.splice(at, out, ...Array.from({ length: into }, (_, i) => `  new ${salt} ${at} ${i}\n`))
          expect(diffLines(old, fresh)).toEqual(diffLines([...old], [...fresh]))
          expect(diffLines(fresh, old)).toEqual(diffLines(old, fresh).map(turned))
        },
      ),
      { numRuns: soak ? 20_000 : 200 },
    )
  })
})

describe('borders', () => {
  const blank = 'a() {\n  one()\n}\n\nc() {\n  three()\n}\n'

  test('[R104] a new function is a block of its own, not the end of one and the beginning of another', () => {
    const fresh = 'a() {\n  one()\n}\n\nb() {\n  two()\n}\n\nc() {\n  three()\n}\n'
    expect(shownEdits(blank, fresh)).toBe('+b() {\n+  two()\n+}\n+')
    expect(shownEdits(fresh, blank)).toBe('-b() {\n-  two()\n-}\n-')
  })

  test('[R104] a new method at the end of a class begins behind the brace of the one before', () => {
    const old = 'class A {\n  a() {\n    one()\n  }\n}\n'
    const fresh = 'class A {\n  a() {\n    one()\n  }\n\n  b() {\n    one()\n  }\n}\n'
    expect(shownEdits(old, fresh)).toBe('+\n+  b() {\n+    one()\n+  }')
  })

  test('[R104] a new branch of a switch begins with its own case', () => {
    const old = 'switch (x) {\n  case 1:\n    f()\n    break\n  case 3:\n    h()\n    break\n}\n'
    const fresh =
      'switch (x) {\n  case 1:\n    f()\n    break\n  case 2:\n    g()\n    break\n  case 3:\n    h()\n    break\n}\n'
    expect(shownEdits(old, fresh)).toBe('+  case 2:\n+    g()\n+    break')
  })

  test('[R104] a new element of a list of objects has its own braces', () => {
    const old = '[\n  {\n    name: 1,\n  },\n  {\n    name: 3,\n  },\n]\n'
    const fresh = '[\n  {\n    name: 1,\n  },\n  {\n    name: 2,\n  },\n  {\n    name: 3,\n  },\n]\n'
    expect(shownEdits(old, fresh)).toBe('+  {\n+    name: 2,\n+  },')
  })

  test('[R104] the last of several equal paragraphs and a repeated line: one edit', () => {
    expect(edits('x\nx\nx\n', 'x\nx\nx\nx\n')).toEqual([{ start: 3, end: 3, from: 3, to: 4 }])
    expect(shownEdits('one\n\ntwo\n', 'one\n\nnew\n\ntwo\n')).toBe('+new\n+')
  })

  test('[R104] a new paragraph ends with its blank line', () => {
    expect(shownEdits('a\nb\n\na\nc\n', 'a\nb\n\na\nb\n\na\nc\n')).toBe('+a\n+b\n+')
  })

  test('[R104] blocks that can be slid together are one', () => {
    const [old, fresh] = [splitLines('x\nr\ny\n'), splitLines('x\nx\nR\ny\n')]
    const apart = [
      { start: 0, end: 0, from: 0, to: 1 },
      { start: 1, end: 2, from: 2, to: 3 },
    ]
    expect(settle(old, fresh, apart)).toEqual([{ start: 1, end: 2, from: 1, to: 3 }])
    const turned = apart.map(({ start, end, from, to }) => ({ start: from, end: to, from: start, to: end }))
    expect(settle(fresh, old, turned)).toEqual([{ start: 1, end: 3, from: 1, to: 2 }])
  })

  test('[R104] functions that were exchanged do not shred each other at blank lines and braces', () => {
    const f = 'function f(a) {\n  if (a) {\n    return 1\n  }\n\n  return 2\n}\n'
    const g = 'function g(b) {\n  while (b) {\n    b -= 1\n  }\n\n  return 3\n}\n'
    expect(edits(`${f}\n${g}`, `${g}\n${f}`)).toHaveLength(2)
  })

  test('[R104] one function came before, another one behind went: two blocks, although their inner lines are alike', () => {
    const kept =
      'void greet(int times)\n{\n    while (times--)\n    {\n        say("hello");\n        wait(times);\n    }\n}\n'
    const came = 'int limit(int n)\n{\n    if (n > 9)\n    {\n        return 9;\n    }\n    return n;\n}\n'
    const went = 'int twice(int n)\n{\n    if (n < 0)\n    {\n        return 0;\n    }\n    return n;\n}\n'
    const main = 'int main()\n{\n    greet(3);\n}\n'
    const [old, fresh] = [`${kept}\n${went}\n${main}`, `${came}\n${kept}\n${main}`]
    expect(edits(old, fresh)).toEqual([
      { start: 0, end: 0, from: 0, to: 9 },
      { start: 9, end: 18, from: 18, to: 18 },
    ])
  })

  test('[R105] one more edit leaves the edits elsewhere as they are', () => {
    const below = numbersFrom(7)
    const old = code(2_000)
    const fresh = [...old]
    for (let i = 0; i < 60; i++) {
      const at = below(fresh.length)
      fresh.splice(at, below(3), ...Array.from({ length: below(4) }, () => codeLine(below(400))))
    }
    const before = diffLines(old, fresh)
    for (let i = 0; i < 40; i++) {
      const at = below(fresh.length)
      const more = [...fresh]
      const added = Array.from({ length: 1 + below(4) }, () => codeLine(below(400)))
      const gone = below(3)
      more.splice(at, gone, ...added)
      const after = new Set(diffLines(old, more).map((edit) => JSON.stringify(edit)))
      for (const edit of before) {
        const shift = edit.from > at ? added.length - gone : 0
        const moved = { ...edit, from: edit.from + shift, to: edit.to + shift }
        if (edit.to + 40 < at || edit.from > at + gone + 40) expect(after).toContain(JSON.stringify(moved))
      }
    }
  })
})

describe('beside git', () => {
  function gitCount(old: readonly string[], fresh: readonly string[]): number {
    writeFileSync(join(base, 'old'), old.join(''))
    writeFileSync(join(base, 'new'), fresh.join(''))
    const env = { PATH: process.env.PATH, HOME: base, GIT_CONFIG_NOSYSTEM: '1', GIT_DIR: join(base, 'none') }
    const args = ['diff', '--no-index', '--histogram', '--numstat', 'old', 'new']
    try {
      execFileSync('git', args, { cwd: base, env, stdio: 'pipe' })
      return 0
    } catch (error) {
      const { status, stdout } = error as { status: number; stdout: Buffer }
      if (status !== 1) throw error
      const [added = '', removed = ''] = stdout.toString().split('\t')
      return Number(added) + Number(removed)
    }
  }

  test('[R106] the edits change about as few lines as those of git', () => {
    let [ours, theirs] = [0, 0]
    fc.assert(
      fc.property(pairs, ([old, fresh]) => {
        ours += changedLines(diffLines(old, fresh))
        theirs += gitCount(old, fresh)
      }),
      { numRuns: soak ? 5_000 : 250, interruptAfterTimeLimit: soak ? 120_000 : 10_000 },
    )
    expect(theirs).toBeGreaterThan(1_000)
    expect(ours).toBeLessThanOrEqual(1.1 * theirs)
  })

  test('[R106] a line that was moved past others that are not unique does not tear them apart', () => {
    const old = splitLines('a\n\n}\nc\nb\n}\n}\n')
    const fresh = splitLines('\n\n}\nc\nb\n}\n}\nc\nb\na\n')
    expect(changedLines(diffLines(old, fresh))).toBe(5)
  })
})

describe('many lines', () => {
  const many = 50_000
  const linesOf = (make: (i: number) => string) => Array.from({ length: many }, (_, i) => make(i))

  function expectDiff(old: readonly string[], fresh: readonly string[]): readonly Edit[] {
    const found = diffLines(old, fresh)
    expect(applyEdits(old, fresh, found).join('') === fresh.join('')).toBe(true)
    return found
  }

  test('[R108] 50,000 lines written anew are one edit', () => {
    const found = expectDiff(
      linesOf((i) => `old ${i}\n`),
      linesOf((i) => `new ${i}\n`),
    )
    expect(found).toEqual([{ start: 0, end: many, from: 0, to: many }])
  })

  test('[R108] 50,000 lines of which many are alike, in any order, end with a true diff', () => {
    const below = numbersFrom(3)
    const old = linesOf(() => `${below(10)}\n`)
    expectDiff(
      old,
      linesOf(() => `${below(10)}\n`),
    )
    expectDiff(
      linesOf((i) => `${i >> 1}\n`),
      linesOf((i) => `${(many - i) >> 1}\n`),
    )
    expectDiff(
      linesOf(() => '\n'),
      linesOf(() => '\n').slice(700),
    )
    const braces = (word: string) => (i: number) =>
      i % 3 === 0 ? (['}\n', '\n', '  });\n'][below(3)] ?? '') : `${word} ${i}\n`
    expectDiff(linesOf(braces('old')), linesOf(braces('new')))
  })

  test('[R108] 500 edits in 50,000 lines are found one by one', () => {
    const old = code(many)
    const fresh = [...old]
    for (let i = 0; i < 500; i++) fresh[i * 100 + 1] = `  const changed${i} = ${i}\n`
    expect(expectDiff(old, fresh)).toEqual(
      Array.from({ length: 500 }, (_, i) => ({
        start: i * 100 + 1,
        end: i * 100 + 2,
        from: i * 100 + 1,
        to: i * 100 + 2,
      })),
    )
  })

  test('[R108] a line of megabytes is one line', () => {
    const long = `${'x'.repeat(4 << 20)}\n`
    expect(edits(`a\n${long}b\n`, `a\n${long.replace('x', 'y')}b\n`)).toEqual([
      { start: 1, end: 2, from: 1, to: 2 },
    ])
  })
})
