import { createHash } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { unprivilegedFixture, withoutRoot } from '../testing/unprivileged.ts'
import { type Files, Fixture, withMode } from '../testing/workspace.ts'
import type { RelPath } from '../values.ts'

/** A repository as after a clone: everything committed and packed, and an index that is younger than all files. */
async function cloned(files: Files, fixture = new Fixture({ git: true })): Promise<Fixture> {
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

test('[H350] [W132] a first capture does not take the index for what it could not look at', async () => {
  using _ = withoutRoot()
  await using w = unprivilegedFixture()
  await cloned({ 'closed/a': 'old\n', 'listed/b': 'old\n', c: 'old\n', open: 'o\n' }, w)
  w.userWrites({ 'closed/a': 'work\n', 'listed/b': 'work\n', c: 'work\n' })
  chmodSync(w.pathOf('closed'), 0o000)
  chmodSync(w.pathOf('listed'), 0o444)
  chmodSync(w.pathOf('c'), 0o000)
  await w.open()
  const { skipped } = await w.workspace.capture()
  expect(skipped.map(({ path }) => path).toSorted()).toEqual(['c', 'closed', 'listed/b'])
  const { turn } = await w.turn('Open them', () => {
    for (const name of ['closed', 'listed']) chmodSync(w.pathOf(name), 0o755)
    chmodSync(w.pathOf('c'), 0o644)
    w.userWrites({ open: 'changed\n' })
  })

  await w.restore(turn, 'before', { exact: true })

  for (const name of ['closed', 'listed']) chmodSync(w.pathOf(name), 0o755)
  expect(w.files()).toEqual({ 'closed/a': 'work\n', 'listed/b': 'work\n', c: 'work\n', open: 'o\n' })
})

test('[S111] an index that has a file and files below it does no harm to a first capture', async () => {
  await using w = await cloned({ 'a/b': 'b\n', 'a/c/d': 'd\n', 'a.b': 'x\n', z: 'z\n' })
  writeFileSync(w.pathOf('.git/index'), withEntryLike('z', 'a', readFileSync(w.pathOf('.git/index'))))
  expect(w.git('ls-files').split('\n')).toEqual(['a', 'a.b', 'a/b', 'a/c/d', 'z'])
  await w.open()
  await w.workspace.capture()
  const before = w.files()

  await w.turn('Spoil', { 'a/b': null, 'a/c/d': 'x', z: 'x' })
  await w.undo()

  expect(w.files()).toEqual(before)
})

/** An index of version 2 with one more entry in front that says the same as another one; without extensions. */
function withEntryLike(name: string, added: string, index: Buffer): Buffer {
  const entries: Buffer[] = []
  let like: Buffer = Buffer.alloc(0)
  for (let at = 12, left = index.readUInt32BE(8); left > 0; left -= 1) {
    const length = index.readUInt16BE(at + 60) & 0xfff
    const end = at + ((62 + length + 8) & ~7)
    if (index.toString('latin1', at + 62, at + 62 + length) === name) like = index.subarray(at, at + 60)
    entries.push(index.subarray(at, end))
    at = end
  }
  const entry = Buffer.alloc((62 + added.length + 8) & ~7)
  like.copy(entry)
  entry.writeUInt16BE(added.length, 60)
  entry.write(added, 62, 'latin1')
  const head = Buffer.from(index.subarray(0, 12))
  head.writeUInt32BE(entries.length + 1, 8)
  const body = Buffer.concat([head, entry, ...entries])
  return Buffer.concat([body, createHash('sha1').update(body).digest()])
}

/** One bit of this file's content in the pack that the first capture took over: a link of it is in our store. */
function flipIn(w: Fixture, name: string): void {
  const folder = w.pathOf('.git/objects/pack')
  const pack = join(folder, readdirSync(folder).find((file) => file.endsWith('.pack')) ?? '')
  const id = w.git('rev-parse', `HEAD:${name}`).trim()
  const line = w
    .git('verify-pack', '-v', pack.replace(/pack$/, 'idx'))
    .match(new RegExp(`^${id} blob.*$`, 'm'))
  const [, , , inPack = '0', offset = '0'] = (line?.[0] ?? '').split(/ +/)
  const bytes = readFileSync(pack)
  const at = Number(offset) + Math.floor(Number(inPack) / 2)
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  chmodSync(pack, 0o600)
  writeFileSync(pack, bytes)
}

test('[H351] [K7] one damaged file in a borrowed pack hides nothing of the others that a turn touched', async () => {
  const lines = (seed: number) => Array.from({ length: 3000 }, (_, i) => (i * seed * 7919) % 10007).join('\n')
  await using w = await cloned({ damaged: lines(3), sound: lines(5), 'old-name': lines(11) })
  await w.open()
  await w.workspace.capture()
  flipIn(w, 'damaged')
  await w.reopen()

  const spoilt = { damaged: 'x\n', sound: 'y\n', 'old-name': null, 'new-name': `${lines(11)}\n` }
  const { turn } = await w.turn('Touch all', spoilt)
  const before = w.files()

  const changed = w.workspace.index.changesOfTurn(turn).map(({ path, kind }) => [path, kind])
  expect(changed.sort()).toEqual([
    ['damaged', 'modify'],
    ['new-name', 'add'],
    ['old-name', 'delete'],
    ['sound', 'modify'],
  ])
  expect(w.warnings.join()).toContain('Lines were not counted')
  await expect(w.undo()).rejects.toMatchObject({ code: 'snapshot-damaged' })
  expect(w.files()).toEqual(before)

  await w.rollback({ turns: [turn], paths: ['sound' as RelPath] })
  expect(w.files()).toEqual({ ...before, sound: lines(5) })
})
