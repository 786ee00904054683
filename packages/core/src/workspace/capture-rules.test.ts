import fc from 'fast-check'
import { expect, test } from 'vitest'
import { absPathUnchecked, type RelPath } from '../values.ts'
import { bytesOfPaths, captureRules, fingerprintOf, packTracked, unpackTracked } from './capture-rules.ts'

const rel = (path: string) => path as RelPath
const root = absPathUnchecked('/w')

test('[W89] packed tracked paths answer as the set of paths would, in any thread', () => {
  const name = fc.constantFrom('a', 'b', 'ab', 'a-b', '\xff', 'c.txt')
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'))
  fc.assert(
    fc.property(fc.uniqueArray(path), path, (paths, asked) => {
      const shared = packTracked(bytesOfPaths(paths.toSorted().map(rel))).shared
      if (shared === undefined) throw new Error('not shared')
      const tracked = unpackTracked(structuredClone(shared))
      expect(tracked.has(rel(asked))).toBe(paths.includes(asked))
      expect(tracked.hasBelow(rel(asked))).toBe(paths.some((one) => one.startsWith(`${asked}/`)))
    }),
  )
})

test('[W73] every rule that may change a verdict changes the fingerprint, and nothing else does', () => {
  const variants = [
    captureRules(),
    captureRules({ maxUntrackedFileSize: 1 }),
    captureRules({ heavyFolders: [] }),
    captureRules({ protect: [] }),
    captureRules({ infoExclude: 'x' }),
    captureRules({ globalExcludes: 'x' }),
    captureRules({ ignoreCase: true }),
    captureRules({ apart: [absPathUnchecked('/w/store')] }),
    captureRules({ tracked: packTracked(bytesOfPaths([rel('a')])) }),
    captureRules({ tracked: packTracked(bytesOfPaths([rel('b')])) }),
    captureRules({ tracked: packTracked(bytesOfPaths([])) }),
  ]
  expect(new Set(variants.map((rules) => fingerprintOf(rules, root))).size).toBe(variants.length)
  const twice = [1, 2].map(() =>
    fingerprintOf(captureRules({ tracked: packTracked(bytesOfPaths([rel('a')])) }), root),
  )
  expect(twice[0]).toBe(twice[1])
})
