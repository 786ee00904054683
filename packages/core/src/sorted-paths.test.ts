import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CommonWithLast, type SortedPaths } from './sorted-paths.ts'
import { nameOf, type RelPath } from './values.ts'
import { bytesOfPaths } from './workspace/capture-rules.ts'

const name = fc.constantFrom('a', 'b', 'ab', 'a-b', 'a.b', '\xff', 'aa')
const path = fc.array(name, { minLength: 1, maxLength: 5 }).map((names) => names.join('/'))
const paths = fc.uniqueArray(path, { maxLength: 12 }).map((all) => all.toSorted() as RelPath[])

test('[S87] sorted paths know their last names, and what each has in common with the one before', () => {
  fc.assert(
    fc.property(paths, (sorted) => {
      const found = bytesOfPaths(sorted)
      expect(sorted.map((_, i) => textAt(found, i))).toEqual(sorted.map(nameOf))
      expect([...found.common]).toEqual(sorted.map((one, i) => commonOf(one, sorted[i - 1] ?? '')))
    }),
  )
})

test('[S87] paths out of order, or twice the same, are told from those in order', () => {
  fc.assert(
    fc.property(fc.array(path, { maxLength: 6 }), (some) => {
      const isOrdered = some.every((one, i) => i === 0 || (some[i - 1] ?? '') < one)
      expect(bytesOfPaths(some as RelPath[]).areInOrder).toBe(isOrdered)
    }),
  )
})

test('[S87] what a path has in common with the last one taken is right when some in between are passed over', () => {
  fc.assert(
    fc.property(paths, fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }), (sorted, takes) => {
      const { common } = bytesOfPaths(sorted)
      const since = new CommonWithLast()
      let last = ''
      for (const [i, one] of sorted.entries()) {
        since.see(common[i] ?? 0)
        if (takes[i] !== true) continue
        expect(since.take()).toBe(commonOf(one, last))
        last = one
      }
    }),
  )
})

function textAt({ bytes, names, ends }: SortedPaths, path: number): string {
  return Buffer.from(bytes.slice(names[path], ends[path])).toString('latin1')
}

function commonOf(a: string, b: string): number {
  let common = 0
  while (common < Math.min(a.length, b.length) && a[common] === b[common]) common += 1
  return common
}
