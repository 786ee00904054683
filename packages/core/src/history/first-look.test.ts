import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Files, Fixture, withMode } from '../testing/workspace.ts'

/** A repository as after a clone: everything committed and packed, and an index that is younger than all files. */
async function cloned(files: Files): Promise<Fixture> {
  const fixture = new Fixture({ git: true })
  fixture.git('init', '-q', '-b', 'main')
  fixture.userWrites(files)
  await sleep(30)
  fixture.git('add', '-A')
  fixture.git('commit', '-q', '-m', 'all')
  fixture.git('gc', '-q')
  return fixture
}

test('[P6] a first capture that borrows sees permission bits that git does not keep', async () => {
  await using w = await cloned({ a: 'a\n', b: 'b\n', c: 'c\n', secret: withMode('s\n', 0o600) })
  await w.open()
  await w.workspace.capture()

  await w.turn('Open it', { secret: withMode('S\n', 0o644) })
  await w.undo()

  expect(w.files().secret).toBe('s\n')
  expect(statSync(w.pathOf('secret')).mode & 0o777).toBe(0o600)
})

test('[P1] a first capture that borrows takes what is on disk where the index has something else', async () => {
  await using w = await cloned({ 'same/a': 'a\n', 'same/b': 'b\n', edited: 'old\n', removed: 'r\n' })
  w.userWrites({ edited: 'new\n', removed: null, 'same/untracked': 'u\n' })
  await w.open()
  await w.workspace.capture()
  const before = w.files()

  await w.turn('Spoil', { edited: 'x', 'same/a': 'x', 'same/untracked': null, removed: 'x' })
  await w.undo()

  expect(w.files()).toEqual(before)
})
