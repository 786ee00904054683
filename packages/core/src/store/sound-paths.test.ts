import fc from 'fast-check'
import { expect, test } from 'vitest'
import { flawOfRelPath } from '../values.ts'
import { bytesOfPaths } from '../workspace/capture-rules.ts'
import { SoundPaths } from './sound-paths.ts'

const oddNames = [
  '',
  '.',
  '..',
  '.git',
  '.Git ',
  'git~1',
  'GIT~1.',
  'g\xe2\x80\x8cit~1',
  '\xef\xbb\xbf.git',
  'a\0b',
]
const soundNames = [
  '.gitx',
  '.gi',
  'git',
  'github.com',
  'g',
  '.github',
  'a',
  'ab',
  'abc',
  'a.b',
  '\xe2\x80',
  'z',
]
const name = fc.oneof(fc.constantFrom(...soundNames), fc.constantFrom(...oddNames, ...soundNames))
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'))

function isBelowAnother(path: string, all: readonly string[]): boolean {
  return all.some((other) => path.startsWith(`${other}/`))
}

test('[S89] [S111] a path is sound just when each of its names is and no file lies above it, whatever the path before it was', () => {
  fc.assert(
    fc.property(fc.array(path, { maxLength: 30 }), (all) => {
      const paths = bytesOfPaths(all.toSorted() as never)
      const sound = new SoundPaths(Buffer.from(paths.bytes))
      for (const [i, one] of all.toSorted().entries()) {
        const isSound = sound.has(paths.starts[i] ?? 0, paths.ends[i] ?? 0, paths.common[i] ?? 0)
        expect([one, isSound]).toEqual([one, flawOfRelPath(one) === undefined && !isBelowAnother(one, all)])
      }
    }),
    { numRuns: 2000 },
  )
})
