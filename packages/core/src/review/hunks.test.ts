import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { isFailure } from '../errors.ts'
import {
  chooseLines,
  identify,
  isShortFor,
  type Known,
  parseHunkName,
  parseLineRanges,
  partOf,
  textHunks,
  unifiedHunk,
  withoutKnown,
} from './hunks.ts'
import { applyEdits, diffLines, splitLines } from './lines.ts'

const soak = process.env.UNTURN_SOAK !== undefined
const folder = mkdtempSync(join(tmpdir(), 'unturn-hunks-'))
afterAll(() => rmSync(folder, { recursive: true }))

function hunksOf(old: string, fresh: string, path = 'a.txt') {
  return textHunks(splitLines(old), splitLines(fresh), path)
}

function idsOf(old: string, fresh: string, known: readonly Known[] = []) {
  const [a, b] = [splitLines(old), splitLines(fresh)]
  return identify(textHunks(a, b, 'a.txt'), a, b, known)
}

/** Places with the same line, which can be changed in the same way; `signs` are the lines around each. */
function places(signs: readonly string[], changed: readonly number[]): string {
  return signs
    .map((sign, i) => {
      const around = `${sign} 1\n${sign} 2\n${sign} 3\n`
      return `${around}${changed.includes(i) ? 'new' : 'old'}\n${around}`
    })
    .join('')
}

describe('fingerprints', () => {
  const old = 'a\nb\nc\nd\ne\nf\n'

  test('[R120] a hunk has the changed lines of both texts, and nothing else', () => {
    expect(hunksOf(old, 'a\nB\nC\nd\ne\nf\ng\n')).toMatchObject([
      {
        edit: { start: 1, end: 3, from: 1, to: 3 },
        removed: ['b\n', 'c\n'],
        added: ['B\n', 'C\n'],
        fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
      },
      { edit: { start: 6, end: 6, from: 6, to: 7 }, removed: [], added: ['g\n'] },
    ])
  })

  test('[R120] what happens elsewhere in the file leaves a fingerprint as it is', () => {
    const alone = hunksOf(old, 'a\nb\nc\nd\nE\nf\n')[0]?.fingerprint
    expect(hunksOf(old, 'new\na\nB\nc\nd\nE\nf\n').at(-1)?.fingerprint).toBe(alone)
    expect(hunksOf(`first\n${old}`, 'first\na\nb\nc\nd\nE\nf\n')[0]?.fingerprint).toBe(alone)
  })

  test('[R120] another path, other bytes or another division into lines: another fingerprint', () => {
    const all = [
      hunksOf(old, 'a\nb\nc\nd\nE\nf\n'),
      hunksOf(old, 'a\nb\nc\nd\nE\nf\n', 'b.txt'),
      hunksOf(old, 'a\nb\nc\nd\nE\r\nf\n'),
      hunksOf(old, 'a\nb\nc\nd\nf\n'),
      hunksOf(old, 'a\nb\nc\nd\ne\nE\nf\n'),
      hunksOf('x\n', 'x\ny\n'),
      hunksOf('x\ny\n', 'x\n'),
    ].map((hunks) => hunks[0]?.fingerprint)
    expect(new Set(all).size).toBe(all.length)
  })
})

describe('ids', () => {
  const [a, b, c] = ['apple', 'birch', 'cedar']
  const all = [a, b, c]
  const none = places(all, [])

  test('[R121] a hunk that is like no other is named by its fingerprint, and nothing has to be kept for it', () => {
    const fresh = places(all, [1])
    expect(idsOf(none, fresh)).toEqual({ ids: [hunksOf(none, fresh)[0]?.fingerprint], known: [] })
  })

  test('[R121] [J6] the same change at two places has two ids, and neither is that of a lone one', () => {
    const lone = idsOf(none, places(all, [0])).ids
    const { ids } = idsOf(none, places(all, [0, 2]))
    expect(new Set([...ids, ...lone]).size).toBe(3)
    for (const id of ids) expect(id).toMatch(new RegExp(`^${lone[0]}-[1-9]\\d*$`))
  })

  test('[R121] ids of hunks that are alike are the same, although nothing is known of an earlier look', () => {
    const [first, second] = idsOf(none, places(all, [0, 2])).ids
    expect(idsOf(none, places(all, [0, 1, 2])).ids).toEqual([first, expect.any(String), second])
  })

  test('[R122] one that comes or goes leaves the ids of its likes as they are', () => {
    const two = idsOf(none, places(all, [1, 2]))
    const three = idsOf(none, places(all, [0, 1, 2]), two.known)
    expect(three.ids.slice(1)).toEqual(two.ids)
    const again = idsOf(none, places(all, [0, 2]), three.known)
    expect(again.ids).toEqual([three.ids[0], three.ids[2]])
    expect(idsOf(none, places(all, [2]), again.known).ids).toEqual([three.ids[2]])
  })

  test('[R122] [J2] a decision about one, accepted or rejected, leaves the ids of the others', () => {
    const { ids, known } = idsOf(none, places(all, [0, 1, 2]))
    const left = withoutKnown(known, ids[0] ?? '')
    expect(idsOf(places(all, [0]), places(all, [0, 1, 2]), left).ids).toEqual(ids.slice(1))
    expect(idsOf(none, places(all, [1, 2]), left).ids).toEqual(ids.slice(1))
  })

  test('[R122] edits close by, above or below, leave the ids', () => {
    const { ids, known } = idsOf(none, places(all, [0, 2]))
    const closeBy = (text: string) => text.replace('apple 3\n', 'apple three\n')
    expect(idsOf(closeBy(none), closeBy(places(all, [0, 2])), known).ids).toEqual(ids)
  })

  test('[R123] a hunk whose surroundings are all new gets a new id: it may be another one', () => {
    const { ids, known } = idsOf(none, places(all, [0, 2]))
    const other = ['dogwood', 'birch', 'cedar']
    const next = idsOf(places(other, []), places(other, [0, 2]), known)
    expect(next.ids[1]).toBe(ids[1])
    expect(ids).not.toContain(next.ids[0])
  })

  test('[R123] of places that cannot be told apart one was put back: which one is left is a guess, so it gets a new id', () => {
    const alike = [a, a, a]
    const { ids, known } = idsOf(places(alike, []), places(alike, [0, 1, 2]))
    expect(new Set(ids).size).toBe(3)
    expect(idsOf(places(alike, []), places(alike, [0, 1, 2]), known).ids).toEqual(ids)
    const next = idsOf(places(alike, []), places(alike, [0, 2]), known)
    for (const id of next.ids) expect(ids).not.toContain(id)
    expect(new Set(next.ids).size).toBe(2)
  })

  test('[R123] one went and another came at once: what has its surroundings is not it', () => {
    const alike = [a, a, b, c, 'dogwood']
    const unchanged = places(alike, [])
    const { ids, known } = idsOf(unchanged, places(alike, [1, 2]))
    for (const id of idsOf(unchanged, places(alike, [0, 1]), known).ids) expect(ids).not.toContain(id)

    const three = idsOf(unchanged, places(alike, [1, 2, 4]))
    const closeBy = (text: string) => text.replace('dogwood 3\n', 'dogwood three\n')
    const next = idsOf(closeBy(unchanged), closeBy(places(alike, [2, 3, 4])), three.known).ids
    expect(next[0]).toBe(three.ids[1])
    for (const id of next.slice(1)) expect(three.ids).not.toContain(id)
  })

  /** Changes and puts back one place after the other, and keeps for each id the place that it has named. */
  class Story {
    readonly #blocks: string[][]
    readonly #changed = new Set<number>()
    readonly #placeOf = new Map<string, number>()
    #known: readonly Known[] = []
    #edits = 0

    constructor(signs: readonly string[]) {
      this.#blocks = signs.map((sign) => [`${sign} 1\n`, `${sign} 2\n`, `${sign} 3\n`, `${sign} 4\n`])
    }

    toggle(place: number, decided: boolean): void {
      if (!this.#changed.delete(place)) this.#changed.add(place)
      else if (decided)
        for (const [id, named] of this.#placeOf)
          if (named === place) this.#known = withoutKnown(this.#known, id)
    }

    edit(place: number, line: number): void {
      this.#blocks[place]?.splice(line, 1, `edit ${++this.#edits}\n`)
    }

    forget(): void {
      this.#known = []
    }

    look(): void {
      const [old, fresh] = [this.#text(new Set()), this.#text(this.#changed)]
      const hunks = textHunks(old, fresh, 'a.txt')
      const { ids, known } = identify(hunks, old, fresh, this.#known)
      this.#known = known
      expect(new Set(ids).size).toBe(ids.length)
      for (const [i, id] of ids.entries()) {
        if (!id.includes('-')) continue // a lone one: its fingerprint says all that its id promises
        const place = Math.floor((hunks[i]?.edit.start ?? 0) / 5)
        expect(this.#placeOf.get(id) ?? place).toBe(place)
        this.#placeOf.set(id, place)
      }
    }

    #text(changed: ReadonlySet<number>): readonly string[] {
      return this.#blocks.flatMap(([a = '', b = '', ...rest], i) => [
        a,
        b,
        changed.has(i) ? 'new\n' : 'old\n',
        ...rest,
      ])
    }
  }

  const signs = fc.array(fc.constantFrom('apple', 'birch', 'cedar', 'elm'), { minLength: 6, maxLength: 6 })
  const runs = { numRuns: soak ? 50_000 : 1_000 }

  test('[R123] whatever is changed, put back and edited around, an id never names two places', () => {
    const step = fc.record({
      place: fc.nat(5),
      decided: fc.boolean(),
      edited: fc.option(fc.tuple(fc.nat(5), fc.nat(3))),
    })
    fc.assert(
      fc.property(signs, fc.array(step, { maxLength: 12 }), (around, steps) => {
        const story = new Story(around)
        for (const { place, decided, edited } of steps) {
          story.toggle(place, decided)
          if (edited !== null) story.edit(...edited)
          story.look()
        }
      }),
      runs,
    )
  })

  test('[R123] nor does it when what was known is lost, as long as the lines around tell the places apart', () => {
    const step = fc.record({ place: fc.nat(5), decided: fc.boolean(), forgets: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const story = new Story(['apple', 'birch', 'cedar', 'dogwood', 'elm', 'fir'])
        for (const { place, decided, forgets } of steps) {
          story.toggle(place, decided)
          if (forgets) story.forget()
          story.look()
        }
      }),
      runs,
    )
  })

  test('[R123] places with the same lines around are told apart by where they are', () => {
    const alike = [a, a, a]
    const none = places(alike, [])
    const [first, second] = idsOf(none, places(alike, [0, 1])).ids
    expect(idsOf(none, places(alike, [0, 2])).ids).toEqual([first, expect.not.stringMatching(`^${second}$`)])
  })

  test('[R124] the number of one that was decided or is gone is not given to another', () => {
    const alike = [a, b, b, b, c]
    const unchanged = places(alike, [])
    const { ids, known } = idsOf(unchanged, places(alike, [1, 4]))
    const left = idsOf(unchanged, places(alike, [4]), withoutKnown(known, ids[0] ?? ''))
    expect(left.ids).toEqual([ids[1]])
    const other = idsOf(unchanged, places(alike, [2, 4]), left.known)
    expect(other.ids[1]).toBe(ids[1])
    expect(ids).not.toContain(other.ids[0])
    const none = idsOf(unchanged, unchanged, other.known)
    expect(none.ids).toEqual([])
    const back = idsOf(unchanged, places(alike, [3, 4]), none.known)
    expect([...ids, ...other.ids]).not.toContain(back.ids[0])
  })

  test('[R124] a decision that was taken back gives the hunk its id again', () => {
    const { ids, known } = idsOf(none, places(all, [0, 1, 2]))
    const left = withoutKnown(known, ids[1] ?? '')
    const accepted = idsOf(places(all, [1]), places(all, [0, 1, 2]), left)
    expect(accepted.ids).toEqual([ids[0], ids[2]])
    expect(idsOf(none, places(all, [0, 1, 2]), accepted.known).ids).toEqual(ids)
    const rejected = idsOf(none, places(all, [0, 2]), left)
    expect(idsOf(none, places(all, [0, 1, 2]), rejected.known).ids).toEqual(ids)
    const gone = idsOf(none, none, rejected.known)
    expect(idsOf(none, places(all, [0, 1, 2]), gone.known).ids).toEqual(ids)
  })

  test('[R125] an id can be shortened, but a whole fingerprint stands for no numbered id', () => {
    const { ids } = idsOf(none, places(all, [0, 2]))
    const [id = ''] = ids
    expect(isShortFor(id, id)).toBe(true)
    expect(isShortFor(id.slice(0, 6), id)).toBe(true)
    expect(isShortFor(id.slice(0, 16), id)).toBe(false)
    expect(isShortFor(id.slice(0, -1), id)).toBe(false)
    expect(isShortFor('', id)).toBe(false)
  })
})

describe('parts of a hunk', () => {
  const old = splitLines('top\na\nb\nend\n')
  const fresh = splitLines('top\nA\nB\nC\nend\n')
  const edit = { start: 1, end: 3, from: 1, to: 4 }

  test('[R126] accepted are the chosen lines only: the others of the old text stay, before the chosen new ones', () => {
    const choice = chooseLines(edit, parseLineRanges('1,4'))
    expect(choice).toEqual({ removed: new Set([0]), added: new Set([1]) })
    expect(partOf(old, fresh, edit, choice).accepted).toEqual(['b\n', 'B\n'])
  })

  test('[R126] rejected are the chosen lines only: chosen old ones come back, before the new ones that stay', () => {
    const choice = chooseLines(edit, parseLineRanges('1,4'))
    expect(partOf(old, fresh, edit, choice).rejected).toEqual(['a\n', 'A\n', 'C\n'])
  })

  test('[R126] all lines are the hunk, and no line is nothing', () => {
    const whole = chooseLines(edit, parseLineRanges('1-5'))
    expect(partOf(old, fresh, edit, whole)).toEqual({
      accepted: ['A\n', 'B\n', 'C\n'],
      rejected: ['a\n', 'b\n'],
    })
    const nothing = { removed: new Set<number>(), added: new Set<number>() }
    expect(partOf(old, fresh, edit, nothing)).toEqual({
      accepted: ['a\n', 'b\n'],
      rejected: ['A\n', 'B\n', 'C\n'],
    })
  })

  test('[R126] after a part was accepted or rejected, what is left to decide are the other lines', () => {
    const lines = fc.array(
      fc.integer({ min: 0, max: 99 }).map((n) => `${n}\n`),
      { minLength: 1, maxLength: 6 },
    )
    fc.assert(
      fc.property(lines, lines, fc.array(fc.nat(11)), (removed, added, picks) => {
        const whole = { start: 0, end: removed.length, from: 0, to: added.length }
        const count = removed.length + added.length
        const ranges = picks.filter((pick) => pick < count).map((pick) => [pick + 1, pick + 1] as const)
        const choice = chooseLines(whole, ranges)
        const { accepted, rejected } = partOf(removed, added, whole, choice)
        expect(accepted).toHaveLength(removed.length - choice.removed.size + choice.added.size)
        expect(rejected).toHaveLength(added.length - choice.added.size + choice.removed.size)
        expect([...accepted, ...rejected].sort()).toEqual([...removed, ...added].sort())
      }),
    )
  })

  test('[R127] a last line without its ending gets one when lines come to stand behind it', () => {
    const [before, after] = [splitLines('a\nb'), splitLines('a\nb\nc')]
    const [last] = diffLines(before, after)
    if (last === undefined) throw new Error('one edit')
    const added = partOf(before, after, last, chooseLines(last, parseLineRanges('2-3')))
    expect(added.accepted).toEqual(['b\n', 'b\n', 'c'])
    const put = partOf(before, after, last, chooseLines(last, parseLineRanges('1')))
    expect(put.rejected).toEqual(['b\n', 'b\n', 'c'])
    expect(put.accepted).toEqual([])
  })
})

describe('lines of a hunk by number', () => {
  test('[R128] an id may name lines, counted from 1 as shown', () => {
    expect(parseHunkName('0123456789abcdef')).toEqual({ id: '0123456789abcdef' })
    expect(parseHunkName('0123456789abcdef-7:2-4,7')).toEqual({
      id: '0123456789abcdef-7',
      ranges: [
        [2, 4],
        [7, 7],
      ],
    })
  })

  test.each(['', '0', '3-2', 'a', '1,', '-1', '1-', '1--2', '1.5', ' 1', '1e3', '1,,2', '9999999999'])(
    '[R128] %j names no lines, and is refused',
    (text) => {
      expect(() => parseLineRanges(text)).toThrow(/Nothing was changed/)
      try {
        parseHunkName(`id:${text}`)
      } catch (error) {
        expect(isFailure(error, 'bad-usage')).toBe(true)
      }
    },
  )

  test('[R128] a line that the hunk does not have is refused', () => {
    const edit = { start: 0, end: 1, from: 0, to: 2 }
    expect(chooseLines(edit, [[3, 3]]).added).toEqual(new Set([1]))
    expect(() => chooseLines(edit, [[2, 4]])).toThrow('The hunk has 3 lines, not 4. Nothing was changed.')
    expect(() => chooseLines(edit, [[1, 999_999_999]])).toThrow('The hunk has 3 lines')
  })
})

describe('hunks to look at', () => {
  function gitHunk(old: string, fresh: string): string {
    writeFileSync(join(folder, 'old'), old)
    writeFileSync(join(folder, 'new'), fresh)
    const env = {
      PATH: process.env.PATH,
      HOME: folder,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_DIR: join(folder, 'none'),
    }
    try {
      execFileSync('git', ['diff', '--no-index', 'old', 'new'], { cwd: folder, env, stdio: 'pipe' })
      return ''
    } catch (error) {
      const text = (error as { stdout: Buffer }).stdout.toString('latin1')
      return text.slice(text.indexOf('@@')).replace(/^(@@ .* @@).*$/m, '$1')
    }
  }

  function shownHunk(old: string, fresh: string): string {
    const [a, b] = [splitLines(old), splitLines(fresh)]
    return diffLines(a, b)
      .map((edit) => {
        const { header, lines } = unifiedHunk(a, b, edit)
        return `${header}\n${lines.map(({ kind, text }) => kind + (text.endsWith('\n') ? text : `${text}\n\\ No newline at end of file\n`)).join('')}`
      })
      .join('')
  }

  const ten = '1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n'
  test.each([
    ['a line in the middle', ten, ten.replace('5', 'five')],
    ['the first line', ten, ten.slice(2)],
    ['a line at the end', ten, `${ten}11\n`],
    ['a lost final newline', ten, ten.slice(0, -1)],
    ['a new file', '', 'a\nb\n'],
    ['a file of one line', 'a\n', 'b\n'],
    ['an emptied file', 'a\nb\n', ''],
    ['two hunks far apart', `${ten}${ten}`, `0\n${ten}${ten}11\n`],
  ])('[R129] %s looks as git shows it', (_, old, fresh) => {
    expect(shownHunk(old, fresh)).toBe(gitHunk(old, fresh))
  })

  test('[R129] lines have their numbers in both texts, and the context ends at the next hunk', () => {
    const [old, fresh] = [splitLines(ten), splitLines('1\ntwo\n3\n4\nfive\n6\n7\n8\n9\n10\n')]
    const [, second] = diffLines(old, fresh)
    if (second === undefined) throw new Error('two edits')
    expect(unifiedHunk(old, fresh, second, 2)).toEqual({
      header: '@@ -3,5 +3,5 @@',
      lines: [
        { kind: ' ', text: '3\n', oldLine: 3, newLine: 3 },
        { kind: ' ', text: '4\n', oldLine: 4, newLine: 4 },
        { kind: '-', text: '5\n', oldLine: 5 },
        { kind: '+', text: 'five\n', newLine: 5 },
        { kind: ' ', text: '6\n', oldLine: 6, newLine: 6 },
        { kind: ' ', text: '7\n', oldLine: 7, newLine: 7 },
      ],
    })
    expect(unifiedHunk(old, fresh, second, 9).header).toBe('@@ -3,8 +3,8 @@')
  })

  test('[R117] hunks accepted one by one, in any order, end at the new text', () => {
    const line = fc.constantFrom('a\n', 'b\n', 'c\n', '\n', '}\n')
    const text = fc.array(line, { maxLength: 20 })
    fc.assert(
      fc.property(text, text, fc.array(fc.nat(20), { maxLength: 40 }), (start, fresh, picks) => {
        let old: readonly string[] = start
        for (const pick of [...picks, ...fresh.map(() => 0), ...start.map(() => 0)]) {
          const edits = diffLines(old, fresh)
          const edit = edits[pick % Math.max(1, edits.length)]
          if (edit === undefined) break
          old = applyEdits(old, fresh, [edit])
        }
        expect(old).toEqual(fresh)
      }),
    )
  })
})
