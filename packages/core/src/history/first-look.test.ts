import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Files, Fixture, withMode } from '../testing/workspace.ts'

/** A repository as after a clone: everything committed and packed, and an index that is younger than all files. */
async function cloned(files: Files): Promise<Fixture> {
  const fixture = new Fixture({ git: true })
  fixture.git('init', '-q', '-b', 'main')
  fixture.git('config', 'gc.auto', '0') // or a commit of many files starts one beside ours
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

test('[P1] a first capture that borrows reads tracked files whose blobs lie in no pack', async () => {
  await using w = await cloned({ a: 'a\n', 'deep/b': 'b\n' })
  w.userWrites({ loose: 'l\n', 'deep/loose': 'd\n', 'only/loose': 'o\n', 'only/edited': 'old\n' })
  await sleep(30)
  w.git('add', '-A')
  w.git('commit', '-q', '-m', 'more')
  w.userWrites({ 'only/edited': 'new\n' })
  await w.open()
  await w.workspace.capture()
  const before = w.files()

  await w.turn('Spoil', { a: 'x', loose: null, 'deep/loose': 'x', 'only/loose': null, 'only/edited': null })
  await w.undo()

  expect(w.files()).toEqual(before)
})

test('[P6] a first capture in two threads borrows what one thread would', async () => {
  const files = Object.fromEntries(
    Array.from({ length: 400 }, (_, i) => [`f${i % 200}/g/${i}`, `${i}\n`] as const),
  )
  await using w = await cloned(files)
  w.userWrites({ 'f1/g/1': 'edited\n', 'f2/g/2': null, 'f3/new': 'n\n' })
  await w.open()
  await w.workspace.capture()
  const before = w.files()

  const spoilt = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`f${i}/g/${i}`, 'x']))
  await w.turn('Spoil', { ...spoilt, 'f3/new': null })
  await w.undo()

  expect(w.files()).toEqual(before)
})
