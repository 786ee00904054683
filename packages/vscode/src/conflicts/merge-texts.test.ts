import type { Conflict } from '@unturn/client'
import { expect, test } from 'vitest'
import { hasMarkers, startingText, versionsOf } from './merge-texts.ts'

const versions = { base: '1\nTWO\n3\n', ours: '1\nmine\n3\n', theirs: '1\n2\n3\n' }
const conflict: Conflict = {
  path: 'a.txt',
  kind: 'content',
  ours: 'mine',
  theirs: '2',
  message: '',
  later: [],
  versions,
}

test('[X204] texts are merged by hand only where all of them are there as a whole', () => {
  expect(versionsOf(conflict)).toEqual(versions)
  expect(
    versionsOf({ ...conflict, kind: 'modify-delete', versions: { ...versions, theirs: null } }),
  ).toBeDefined()
  expect(versionsOf({ ...conflict, kind: 'binary' })).toBeUndefined()
  expect(versionsOf({ ...conflict, versions: { ...versions, ours: 'caf\ufffd\n' } })).toBeUndefined()
  // As the server cuts it off: so many bytes, and a sign.
  const cut = `${'x'.repeat(512 * 1024)}…`
  expect(versionsOf({ ...conflict, versions: { ...versions, base: cut } })).toBeUndefined()
  const { versions: _, ...without } = conflict
  expect(versionsOf(without)).toBeUndefined()
})

test('[X204] a merge begins with both sides between markers, and markers that are left are found', () => {
  const start = startingText(versions, { theirs: 'the old version' })
  expect(start).toBe('1\n<<<<<<< yours\nmine\n=======\n2\n>>>>>>> the old version\n3\n')
  expect(hasMarkers(start)).toBe(true)
  expect(hasMarkers('a\n=======\nb\n')).toBe(false)
  expect(startingText({ ...versions, ours: versions.base }, { theirs: 'x' })).toBe(versions.theirs)
})
