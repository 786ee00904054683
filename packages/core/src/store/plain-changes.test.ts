import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lines, storeFixture } from '../testing/store-fixture.ts'
import { Describer } from './describe.ts'
import { plainChanges } from './plain-changes.ts'

/** Few different lines, many of them blank, some without an end: what line counters get wrong. */
const line = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('', '}', '  return') },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 12 }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom('\r', 'é', '\0') },
)
const file = fc
  .tuple(fc.array(line, { maxLength: 30 }), fc.constantFrom('\n', ''))
  .map(([all, end]) => (all.length === 0 ? '' : `${all.join('\n')}${end}`))

/** A file, and the same after a few edits. */
const edited = fc
  .tuple(
    file,
    fc.array(fc.tuple(fc.nat(30), fc.nat(3), fc.array(line, { maxLength: 3 })), {
      minLength: 1,
      maxLength: 4,
    }),
  )
  .map(([before, edits]): readonly [string, string] => {
    const all = before.split('\n')
    for (const [at, gone, added] of edits) all.splice(at, gone, ...added)
    return [before, all.join('\n')]
  })

const pair = fc.oneof(edited, fc.tuple(file, file))

test('[S120] what is told of small edits without git is what git tells of them', async () => {
  await using f = storeFixture()
  await using describer = new Describer(f.git)
  const seed =
    process.env.UNTURN_SEED === undefined ? {} : { seed: Number.parseInt(process.env.UNTURN_SEED, 10) }
  let asked = 0
  let told = 0
  await fc.assert(
    fc.asyncProperty(fc.array(pair, { minLength: 1, maxLength: 3 }), async (pairs) => {
      const names = pairs.map((_, at) => `f${at}`)
      const before = f.tree(Object.fromEntries(names.map((name, at) => [name, pairs[at]?.[0] ?? ''])))
      const after = f.tree(Object.fromEntries(names.map((name, at) => [name, pairs[at]?.[1] ?? ''])))
      const plain = plainChanges(f.store, before, after)
      asked += 1
      if (plain === undefined) return
      told += 1
      expect(plain).toEqual(await describer.describe(before, after))
    }),
    { numRuns: process.env.UNTURN_SOAK === undefined ? 400 : 20_000, ...seed },
  )
  expect(told / asked).toBeGreaterThan(0.4)
})

test('[S120] additions alone and deletions alone are told, too', async () => {
  await using f = storeFixture()
  await using describer = new Describer(f.git)
  const none = f.tree({ stays: 's' })
  const some = f.tree({ stays: 's', 'd/a': 'x\ny', empty: '', bin: 'a\0', x: { exec: '1\n' } })
  for (const [before, after] of [
    [none, some],
    [some, none],
  ] as const)
    expect(plainChanges(f.store, before, after)).toEqual(await describer.describe(before, after))
  expect(plainChanges(f.store, some, some)).toEqual([])
})

test('[S121] what git may tell in another way is left to git', async () => {
  await using f = storeFixture()
  const six = lines('1', '2', '3', '4', '5', '6')
  const base = f.tree({ a: six, l: { link: 'a' }, m: '1' })
  const many = (text: string) =>
    f.tree(Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`f${i}`, text])))
  for (const [what, before, after] of [
    ['a rename', base, f.tree({ b: six, l: { link: 'a' }, m: '1' })],
    ['a link', base, f.tree({ a: six, l: { link: 'b' }, m: '1' })],
    ['another kind', base, f.tree({ a: six, l: 'a', m: '1' })],
    ['permission bits alone', base, f.tree({ a: six, l: { link: 'a' }, m: { exec: '1' } })],
    ['a large file', base, f.tree({ a: 'x'.repeat(70_000), l: { link: 'a' }, m: '1' })],
    ['many files', many('1'), many('2')],
  ] as const)
    expect(plainChanges(f.store, before, after), what).toBeUndefined()
})
