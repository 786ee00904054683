import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { storeFixture, userGit } from '../testing/store-fixture.ts'
import { absPathUnchecked } from '../values.ts'
import { CachedTrees } from './cached-tree.ts'
import { treeOfFiles } from './index-tree.ts'
import { findUserGit, listPacks, plainFilesThat, TrackedFiles } from './user-git.ts'

// In a tree `a` comes after `a-b` and `a.b` if it is a folder, and before them if it is a file.
const paths = ['a-b', 'a.b/x', 'a/-', 'a/b/c/d', 'a/b-/e', 'a/z', 'a0', 'b', 'b-/f', 'z/z/z', 'é/ö']

test('[P6] the tree of an index’s plain files is the one that git makes of them, and so is that of a part', async () => {
  await using f = storeFixture()
  const folder = join(f.root, 'user')
  for (const path of paths) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), path)
  }
  chmodSync(join(folder, 'a/z'), 0o755)
  await sleep(30) // files as young as the index are no plain ones
  userGit(folder, 'init', '-q')
  userGit(folder, 'add', '-A')
  const git = findUserGit(absPathUnchecked(folder))
  const plain = git === undefined ? undefined : TrackedFiles.read(git)?.plainFiles()
  if (plain === undefined) throw new Error('no index')

  expect(plain.paths.starts.length).toBe(paths.length)
  expect(treeOfFiles(f.store.newBatch(), plain)).toBe(userGit(folder, 'write-tree'))

  const part = plainFilesThat(plain, (file) => file % 3 !== 0)
  const leftOut = paths.toSorted().filter((_, i) => i % 3 === 0)
  userGit(folder, 'rm', '-q', '--cached', ...leftOut)
  expect(treeOfFiles(f.store.newBatch(), part)).toBe(userGit(folder, 'write-tree'))
})

/** A repository with a commit in one pack, and what its index says. */
async function committed(root: string) {
  const folder = join(root, 'user')
  for (const path of paths) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), path)
  }
  userGit(folder, 'init', '-q')
  userGit(folder, 'add', '-A')
  userGit(folder, 'commit', '-q', '-m', 'all')
  userGit(folder, 'repack', '-a', '-d', '-q')
  await sleep(30)
  const read = () => {
    userGit(folder, 'update-index', '-q', '--really-refresh', '--force-write-index')
    const git = findUserGit(absPathUnchecked(folder))
    const tracked = git === undefined ? undefined : TrackedFiles.read(git)
    if (git === undefined || tracked === undefined) throw new Error('no index')
    const cached = tracked.cachedTrees()
    if (cached === undefined) throw new Error('git has noted nothing')
    return { git, plain: tracked.plainFiles(), cached }
  }
  return { folder, read }
}

test('[S110] trees that git has noted are taken as they are where our store has them all', async () => {
  await using f = storeFixture()
  const { folder, read } = await committed(f.root)
  const { git, plain, cached } = read()
  const tree = userGit(folder, 'write-tree')
  expect(cached.find(CachedTrees.root, paths.length)?.id).toBe(tree)

  const before = f.store.newBatch()
  expect(treeOfFiles(before, plain, cached)).toBe(tree)
  before.flush()
  expect(f.store.packs()).toHaveLength(1) // they had to be made

  await using other = storeFixture()
  for (const { pack, idx } of listPacks(git)) other.store.adoptPack(pack, idx)
  const after = other.store.newBatch()
  expect(treeOfFiles(after, plain, cached)).toBe(tree)
  after.flush()
  expect(other.store.packs()).toMatchObject([{ borrowed: true }])
})

test('[S110] a note counts for just the entries that it was made of', async () => {
  await using f = storeFixture()
  const { folder, read } = await committed(f.root)
  for (const { pack, idx } of listPacks(read().git)) f.store.adoptPack(pack, idx)
  writeFileSync(join(folder, 'a/b/c/d'), 'other')
  writeFileSync(join(folder, 'z/new'), 'new')
  await sleep(30)
  userGit(folder, 'add', '-A')
  const { plain, cached } = read()
  expect(treeOfFiles(f.store.newBatch(), plain, cached)).toBe(userGit(folder, 'write-tree'))

  const part = plainFilesThat(plain, (file) => file % 4 !== 0)
  expect(treeOfFiles(f.store.newBatch(), part, cached)).toBe(treeOfFiles(f.store.newBatch(), part))
})

test('[S110] notes that are cut short or garbled are no notes', async () => {
  const notes = Buffer.concat([
    Buffer.from('\x003 2\n'),
    Buffer.alloc(20, 1),
    Buffer.from('a\x001 0\n'),
    Buffer.alloc(20, 2),
    Buffer.from('b\x00-1 1\nc\x001 0\n'),
    Buffer.alloc(20, 3),
  ])
  const whole = CachedTrees.parse(notes)
  const b = whole?.below(CachedTrees.root, 'b')
  expect(whole?.find(CachedTrees.root, 3)?.all.length).toBe(80)
  expect(b === undefined ? undefined : whole?.find(b, -1)).toBe(undefined)
  expect(b === undefined ? undefined : whole?.below(b, 'c')).toBe(3)
  for (let length = 0; length < notes.length; length += 1)
    expect(CachedTrees.parse(notes.subarray(0, length))).toBe(undefined)
  expect(CachedTrees.parse(Buffer.concat([notes, Buffer.from('x')]))).toBe(undefined)
  expect(CachedTrees.parse(Buffer.from('\x000 99999999999\n'.padEnd(60, '\0')))).toBe(undefined)
})
