import { expect, test } from 'vitest'
import { wroteByPatch } from './apply-patch.ts'
import { shareOf } from './share.ts'

test('[A123] what a call did is taken out of what stands there now; where that is not certain, nothing is told', () => {
  const path = 'a'
  const edit = { was: 'two', is: 'TWO' }
  expect(shareOf('ONE\nTWO\n', { path, places: [edit] })).toEqual({
    before: 'ONE\ntwo\n',
    after: 'ONE\nTWO\n',
  })
  expect(shareOf('TWO TWO', { path, places: [edit] })).toBeUndefined()
  expect(shareOf('gone', { path, places: [edit] })).toBeUndefined()
  expect(shareOf('x', { path, places: [{ was: 'removed', is: '' }] })).toBeUndefined()
  expect(
    shareOf('a c', {
      path,
      places: [
        { was: 'x', is: 'b' },
        { was: 'b', is: 'c' },
      ],
    }),
  ).toEqual({
    before: 'a x',
    after: 'a c',
  })
  expect(shareOf('mine\nand theirs\n', { path, whole: 'mine\n' })).toEqual({ after: 'mine\n' })
  expect(shareOf('mine\n', { path, whole: 'mine\n' })).toBeUndefined()
})

test('[A123] [A105] the places of a patch are told with the lines around them', () => {
  const patch =
    '*** Begin Patch\n*** Add File: n\n+n\n*** Update File: a.txt\n@@\n one\n-two\n+TWO\n@@ f()\n-x\n*** Delete File: d\n*** End Patch'
  expect(wroteByPatch(patch)).toEqual([
    {
      path: 'a.txt',
      places: [
        { was: 'one\ntwo\n', is: 'one\nTWO\n' },
        { was: 'x\n', is: '' },
      ],
    },
  ])
})
