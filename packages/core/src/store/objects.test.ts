import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { isFailure, UnturnError } from '../errors.ts'
import type { Fs } from '../fs.ts'
import { objectId } from '../object-id.ts'
import { faultSim } from '../testing/fault-fs.ts'
import { gitRepository, objectFixture, testLock } from '../testing/object-fixture.ts'
import { errno, SimDisk, seededRandom } from '../testing/sim-disk.ts'
import { type AbsPath, absPathUnchecked, type BlobId, type CommitId, type TreeId } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'
import { removeLeftovers } from './consolidate.ts'
import { type ObjectBatch, ObjectStore } from './objects.ts'
import { buildTree, editTree, type Leaf } from './trees.ts'

const abs = absPathUnchecked
const text = (bytes: Buffer) => bytes.toString('utf8')

/** One operation's worth of objects. */
function fill(
  batch: ObjectBatch,
  seed = 'x',
): { blob: BlobId; large: BlobId; tree: TreeId; commit: CommitId } {
  const blob = batch.blob(Buffer.from(`small ${seed}`))
  const large = batch.blob(Buffer.from(`line ${seed}\n`.repeat(2000)))
  const entries = [
    { name: 'small', mode: '100644', id: blob },
    { name: 'large', mode: '100755', id: large },
  ]
  const below = batch.tree(entries)
  const tree = batch.tree([...entries, { name: 'below', mode: '40000', id: below }])
  const commit = batch.commit({ tree, parents: [], message: `op ${seed}\n`, atSeconds: 1_700_000_000 })
  return { blob, large, tree, commit }
}

function expectFilled(store: ObjectStore, ids: ReturnType<typeof fill>, seed = 'x'): void {
  expect(text(store.readBlob(ids.blob))).toBe(`small ${seed}`)
  expect(text(store.readBlob(ids.large))).toBe(`line ${seed}\n`.repeat(2000))
  expect(store.readTree(ids.tree).map(({ name }) => name)).toEqual(['below', 'large', 'small'])
  expect(store.readCommit(ids.commit).tree).toBe(ids.tree)
}

function thrown(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return undefined
}

test('[S1] [M7] a new store is a bare repository for git, closed to everybody else', () => {
  using f = objectFixture()
  expect(f.gitText(['rev-parse', '--is-bare-repository'])).toBe('true')
  expect(f.gitText(['fsck', '--strict', '--full'])).toBe('')
  expect(f.gitText(['for-each-ref'])).toBe('')
  expect(f.gitText(['config', 'gc.auto'])).toBe('0')
  for (const name of readdirSync(f.folder, { recursive: true, withFileTypes: true })) {
    const mode = statSync(join(name.parentPath, name.name)).mode & 0o777
    expect([name.name, mode]).toEqual([name.name, name.isDirectory() ? 0o700 : 0o600])
  }
  const before = readFileSync(join(f.folder, 'config'))
  ObjectStore.create(nodeFs, f.folder)
  expect(readFileSync(join(f.folder, 'config'))).toEqual(before)
})

test('[S1] a layout cut or refused at any call is completed by the next one', async () => {
  await faultSim({
    disk: () => new SimDisk(),
    world: (fs) => ({ fs }),
    body: ({ fs }) => ObjectStore.create(fs, abs('/store')),
    check: ({ fs }) => {
      ObjectStore.create(fs, abs('/store'))
      const store = ObjectStore.open(fs, abs('/store'))
      expect(fs.readFolder(abs('/store')).toSorted()).toEqual(['HEAD', 'config', 'objects', 'refs'])
      expect(text(fs.readFile(abs('/store/HEAD')))).toBe('ref: refs/heads/none\n')
      expect(store.packs()).toEqual([])
    },
  })
})

test('[S2] ids are those of git hash-object and git commit-tree', () => {
  using f = objectFixture()
  const batch = f.store.newBatch()
  const bytes = randomBytes(5000)
  const blob = batch.blob(bytes)
  const tree = batch.tree([{ name: 'f', mode: '100644', id: blob }])
  const first = batch.commit({ tree, parents: [], message: 'one\n', atSeconds: 1_700_000_000 })
  const second = batch.commit({ tree, parents: [first], message: 'zwei: ä\n', atSeconds: 1_700_000_000 })
  batch.flush()
  expect(f.gitText(['hash-object', '--no-filters', '--stdin'], bytes)).toBe(blob)
  expect(f.gitText(['commit-tree', tree], 'one\n')).toBe(first)
  expect(f.gitText(['commit-tree', tree, '-p', first], 'zwei: ä\n')).toBe(second)
})

test('[S3] git accepts all that a flush wrote, and reads the same bytes', () => {
  using f = objectFixture()
  const batch = f.store.newBatch()
  const ids = fill(batch)
  const sizes = [0, 1, 15, 16, 1023, 1024, 1025, 2047, 2048, 65_535, 65_536, 300_000]
  const blobs = sizes.flatMap((size) => [randomBytes(size), Buffer.alloc(size, 'ab')])
  const blobIds = blobs.map((bytes) => batch.blob(bytes))
  batch.flush()
  expect(f.gitText(['fsck', '--strict', '--full', '--no-dangling'])).toBe('')
  const [idx] = f.packFiles().filter((name) => name.endsWith('.idx'))
  f.git(['verify-pack', '-v', join(f.folder, 'objects/pack', idx ?? '')])
  for (const [i, id] of blobIds.entries()) expect(f.git(['cat-file', 'blob', id])).toEqual(blobs[i])
  expect(f.gitText(['ls-tree', '-r', '--name-only', ids.commit])).toBe(
    'below/large\nbelow/small\nlarge\nsmall',
  )
  const fresh = ObjectStore.open(nodeFs, f.folder)
  expectFilled(fresh, ids)
  for (const [i, id] of blobIds.entries()) expect(fresh.readBlob(id)).toEqual(blobs[i])
  expect(f.packFiles().map((name) => statSync(join(f.folder, 'objects/pack', name)).mode & 0o777)).toEqual([
    0o600, 0o600,
  ])
})

test('[S4] objects of a batch can be read at once through it, and by nobody else before the flush', () => {
  using f = objectFixture()
  const batch = f.store.newBatch()
  const ids = fill(batch)
  expect(text(batch.readBlob(ids.blob))).toBe('small x')
  expect(batch.readTree(ids.tree)).toHaveLength(3)
  expect(batch.readCommit(ids.commit)).toEqual({
    tree: ids.tree,
    parents: [],
    message: 'op x\n',
    atSeconds: 1_700_000_000,
  })
  expect(batch.has(ids.large)).toBe(true)
  expect(f.store.has(ids.large)).toBe(false)
  expect(thrown(() => f.store.readTree(ids.tree))).toBeInstanceOf(UnturnError)
  expect(f.packFiles()).toEqual([])
  batch.flush()
  expectFilled(f.store, ids)
  expect(f.packFiles()).toHaveLength(2)
})

test('[S5] [O1] a batch that holds nothing new writes no pack', () => {
  using f = objectFixture()
  f.store.newBatch().flush()
  const batch = f.store.newBatch()
  fill(batch)
  batch.flush()
  batch.flush()
  const before = f.packFiles()
  const again = f.store.newBatch()
  fill(again)
  again.flush()
  const other = ObjectStore.open(nodeFs, f.folder).newBatch()
  fill(other)
  other.flush()
  expect(f.packFiles()).toEqual(before)
})

test('[S6] what is only a loose object of git is written into our pack: git does not sync it', () => {
  using f = objectFixture()
  const id = f.gitText(['hash-object', '-w', '--stdin'], 'loose') as BlobId
  expect(f.store.looseCount()).toBe(1)
  expect(text(f.store.readBlob(id))).toBe('loose')
  const batch = f.store.newBatch()
  expect(batch.blob(Buffer.from('loose'))).toBe(id)
  batch.flush()
  expect(f.store.packs()[0]?.objects).toBe(1)
})

test('[S7] a batch that grows large writes earlier objects out, and all are there at the end', () => {
  using f = objectFixture()
  const batch = f.store.newBatch()
  const bytes = Array.from({ length: 9 }, () => randomBytes(5 * 1024 * 1024))
  const ids = bytes.map((part) => batch.blob(part))
  expect(f.packFiles()).toHaveLength(2)
  expect(ids.every((id) => batch.has(id))).toBe(true)
  batch.flush()
  expect(f.packFiles()).toHaveLength(4)
  const fresh = ObjectStore.open(nodeFs, f.folder)
  for (const [i, id] of ids.entries())
    expect(fresh.readBlob(id).equals(bytes[i] ?? Buffer.alloc(0))).toBe(true)
})

test('[S3] bytes that a worker has packed are taken as they are', () => {
  using f = objectFixture()
  const batch = f.store.newBatch()
  const bytes = Buffer.from('from a worker '.repeat(100))
  const id = objectId('blob', bytes)
  batch.addDeflated('blob', id, bytes.length, deflateSync(bytes))
  expect(batch.readBlob(id)).toEqual(bytes)
  batch.flush()
  expect(f.git(['cat-file', 'blob', id])).toEqual(bytes)
})

test('[S12] [K8] a missing object is an error that names it', () => {
  using f = objectFixture()
  const id = objectId('blob', Buffer.from('nowhere'))
  const error = thrown(() => f.store.readBlob(id))
  expect(isFailure(error, 'store-damaged') && error.data).toEqual({ what: 'an object is missing', id })
  expect(f.store.verify(id)).toBe('missing')
  expect(f.store.has(id)).toBe(false)
})

test('[S12] an object of another kind than asked for is an error', () => {
  using f = objectFixture()
  const batch = f.store.newBatch()
  const { blob, tree } = fill(batch)
  expect(
    isFailure(
      thrown(() => batch.readBlob(tree as unknown as BlobId)),
      'store-damaged',
    ),
  ).toBe(true)
  batch.flush()
  expect(
    isFailure(
      thrown(() => f.store.readTree(blob as unknown as TreeId)),
      'store-damaged',
    ),
  ).toBe(true)
  expect(
    isFailure(
      thrown(() => f.store.readCommit(blob as unknown as CommitId)),
      'store-damaged',
    ),
  ).toBe(true)
})

test('[S13] a store that is open finds what another process wrote since', () => {
  using f = objectFixture()
  const other = ObjectStore.open(nodeFs, f.folder)
  for (const seed of ['1', '2', '3']) {
    const batch = other.newBatch()
    const ids = fill(batch, seed)
    batch.flush()
    expect(f.store.has(ids.blob)).toBe(true)
    expectFilled(f.store, ids, seed)
  }
  const loose = f.gitText(['hash-object', '-w', '--stdin'], 'by git') as BlobId
  expect(text(f.store.readBlob(loose))).toBe('by git')
})

test('[S14] [K5] a flush that is killed or fails at any call leaves a sound store, and the next one succeeds', async () => {
  const { runs } = await faultSim({
    disk: () => new SimDisk(),
    world: (fs) => {
      ObjectStore.create(fs, abs('/store'))
      const batch = ObjectStore.open(fs, abs('/store')).newBatch()
      return { fs, batch, ids: fill(batch) }
    },
    body: ({ batch }) => batch.flush(),
    check: ({ fs, batch, ids }, { fault, fired, error }) => {
      if (fault === 'ENOSPC-lasting' && fired) expect(isFailure(error, 'disk-full')).toBe(true)
      if (fault === 'EIO' && fired) expect(isFailure(error, 'store-unwritable')).toBe(true)
      const store = ObjectStore.open(fs, abs('/store'))
      removeLeftovers(store, testLock)
      expect(removeLeftovers(store, testLock)).toEqual({ removed: 0, finished: 0 })
      expect(store.damage()).toEqual([])
      if (store.has(ids.commit)) expectFilled(store, ids)
      if (!fired) expectFilled(store, ids)
      batch.flush() // the same process tries again
      expectFilled(store, ids)
      expect(fs.readFolder(store.packFolder).filter((name) => name.startsWith('tmp-'))).toEqual([])
    },
  })
  expect(runs).toBeGreaterThan(30)
})

test('[S15] [K2] a power cut at any call of a flush costs nothing that was flushed before', () => {
  for (let seed = 0; seed < 400; seed += 1) {
    const disk = new SimDisk()
    ObjectStore.create(disk, abs('/store'))
    const store = ObjectStore.open(disk, abs('/store'))
    const first = store.newBatch()
    const flushed = fill(first, 'first')
    first.flush()
    const second = store.newBatch()
    const ids = fill(second, 'second')
    disk.cutAfter((seed % 12) + 1)
    const error = thrown(() => second.flush())
    const after = ObjectStore.open(disk.powerCut(seededRandom(seed)), abs('/store'))
    removeLeftovers(after, testLock)
    expect(after.damage()).toEqual([])
    expectFilled(after, flushed, 'first')
    if (error === undefined) expectFilled(after, ids, 'second')
    const again = after.newBatch()
    fill(again, 'second')
    again.flush()
    expectFilled(after, ids, 'second')
  }
})

test('[S15] [K2] who relies on a pack of a killed process makes it last first', () => {
  for (let seed = 0; seed < 100; seed += 1) {
    const disk = new SimDisk()
    ObjectStore.create(disk, abs('/store'))
    const killed = ObjectStore.open(noFolderSync(disk), abs('/store')).newBatch()
    const ids = fill(killed)
    killed.flush() // as if killed before the last call
    const next = ObjectStore.open(disk, abs('/store')).newBatch()
    fill(next)
    next.flush()
    const after = ObjectStore.open(disk.powerCut(seededRandom(seed)), abs('/store'))
    expectFilled(after, ids)
  }
})

function noFolderSync(fs: Fs): Fs {
  return withOther(fs, { syncFolder: () => undefined })
}

/** The same disk with some calls replaced. */
function withOther(fs: Fs, other: Partial<Fs>): Fs {
  return new Proxy(fs, {
    get: (target, key: keyof Fs) => other[key] ?? target[key].bind(target),
  })
}

test('[S11] a read that fails once does not spoil the store for the next one', async () => {
  const disk = new SimDisk()
  ObjectStore.create(disk, abs('/store'))
  const batch = ObjectStore.open(disk, abs('/store')).newBatch()
  const ids = fill(batch)
  batch.flush()
  await faultSim({
    faults: ['EIO', 'EACCES', 'EIO-lasting'],
    disk: () => disk,
    world: (fs) => ({ store: ObjectStore.open(fs, abs('/store')) }),
    body: ({ store }) => {
      store.has(ids.blob)
      expectFilled(store, ids)
      store.damage()
    },
    check: ({ store }, { error }) => {
      if (error !== undefined) expect(error).not.toMatchObject({ name: 'AssertionError' })
      expectFilled(store, ids)
      expect(store.damage()).toEqual([])
    },
  })
})

test('[S16] a pack without an index is kept and reported, temp files go', () => {
  using f = objectFixture()
  const batch = f.store.newBatch()
  fill(batch)
  batch.flush()
  const [idx = '', pack = ''] = f.packFiles()
  rmSync(join(f.folder, 'objects/pack', idx))
  writeFileSync(join(f.folder, 'objects/pack/tmp-pack-zzz'), 'half')
  writeFileSync(join(f.folder, 'tmp-ref-1'), 'half')
  const store = ObjectStore.open(nodeFs, f.folder)
  expect(removeLeftovers(store, testLock)).toEqual({ removed: 2, finished: 0 })
  expect(f.packFiles()).toEqual([pack])
  expect(store.damage()).toEqual([{ pack: pack.slice(0, -5), reason: `${pack.slice(0, -5)} has no index` }])
})

/** A pack of git's own, with deltas, outside of the store. */
function foreignPack(f: ReturnType<typeof objectFixture>): {
  pack: AbsPath
  idx: AbsPath
  blobs: BlobId[]
  folder: string
} {
  const { folder, git } = gitRepository(f.root, 'theirs.git')
  const texts = Array.from({ length: 30 }, (_, i) => `${'line\n'.repeat(200)}${i}\n`)
  const blobs = texts.map(
    (content) => git(['hash-object', '-w', '--stdin'], content).toString().trim() as BlobId,
  )
  const listing = blobs.map((id, i) => `100644 blob ${id}\tf${i}`).join('\n')
  const tree = git(['mktree'], `${listing}\n`).toString().trim()
  git(['update-ref', 'refs/heads/main', git(['commit-tree', tree], 'm').toString().trim()])
  git(['repack', '-adfq', '--depth=50'])
  const name = readdirSync(join(folder, 'objects/pack')).find((file) => file.endsWith('.pack')) ?? ''
  const pack = join(folder, 'objects/pack', name)
  return { pack: abs(pack), idx: abs(pack.replace(/pack$/, 'idx')), blobs, folder }
}

test('[S17] [I13] a borrowed pack is a hard link, and stays when its owner is gone', () => {
  using f = objectFixture()
  const theirs = foreignPack(f)
  f.store.adoptPack(theirs.pack, theirs.idx)
  f.store.adoptPack(theirs.pack, theirs.idx) // once more changes nothing
  const files = f.packFiles()
  expect(files.map((name) => name.replace(/^.*\./, ''))).toEqual(['idx', 'keep', 'pack'])
  expect(statSync(join(f.folder, 'objects/pack', files[2] ?? '')).ino).toBe(statSync(theirs.pack).ino)
  rmSync(theirs.folder, { recursive: true })
  for (const store of [f.store, ObjectStore.open(nodeFs, f.folder)]) {
    expect(store.packs()).toMatchObject([{ borrowed: true, objects: 32 }])
    for (const [i, id] of theirs.blobs.entries())
      expect(text(store.readBlob(id))).toBe(`${'line\n'.repeat(200)}${i}\n`)
  }
  expect(f.gitText(['fsck', '--full', '--no-dangling'])).toBe('')
})

test('[S17] where no link can be made, the pack is copied', () => {
  using f = objectFixture()
  const theirs = foreignPack(f)
  const noLinks = withOther(nodeFs, {
    hardLink: (from) => {
      throw errno('EXDEV', from)
    },
  })
  ObjectStore.open(noLinks, f.folder).adoptPack(theirs.pack, theirs.idx)
  expect(f.store.packs()).toMatchObject([]) // not looked again yet
  for (const id of theirs.blobs) expect(f.store.verify(id)).toBe('ok')
  expect(statSync(theirs.pack).nlink).toBe(1)
})

test('[S17] a pack that is damaged, a link, or has another index is not borrowed', () => {
  using f = objectFixture()
  const theirs = foreignPack(f)
  const bad = (name: string, change: (bytes: Buffer) => Buffer, of: AbsPath): AbsPath => {
    writeFileSync(join(f.root, name), change(readFileSync(of)))
    return abs(join(f.root, name))
  }
  const shortPack = bad('a.pack', (bytes) => bytes.subarray(0, -5), theirs.pack)
  const flippedIdx = bad('a.idx', (bytes) => bytes.fill(1, 1100, 1101), theirs.idx)
  for (const [pack, idx] of [
    [shortPack, theirs.idx],
    [theirs.pack, flippedIdx],
    [theirs.pack, abs(f.root)],
  ] as const) {
    expect(
      isFailure(
        thrown(() => f.store.adoptPack(pack, idx)),
        'store-damaged',
      ),
    ).toBe(true)
  }
  expect(f.packFiles()).toEqual([])
})

test('[S17] what stands in the place of a borrowed pack is replaced, not followed', () => {
  using f = objectFixture()
  const theirs = foreignPack(f)
  const outside = join(f.root, 'outside')
  writeFileSync(outside, 'not ours')
  const checksum = readFileSync(theirs.pack).subarray(-20).toString('hex')
  linkSync(outside, join(f.folder, `objects/pack/pack-${checksum}.pack`))
  f.store.adoptPack(theirs.pack, theirs.idx)
  expect(readFileSync(outside, 'utf8')).toBe('not ours')
  for (const id of theirs.blobs) expect(f.store.verify(id)).toBe('ok')
})

test('[S17] borrowing cut or refused at any call leaves a sound store, and can be repeated', async () => {
  using f = objectFixture()
  const theirs = foreignPack(f)
  await faultSim({
    disk: () => {
      const disk = new SimDisk()
      disk.createFile(abs('/a.pack'), [readFileSync(theirs.pack)], 0o444)
      disk.createFile(abs('/a.idx'), [readFileSync(theirs.idx)], 0o444)
      return disk
    },
    world: (fs) => {
      ObjectStore.create(fs, abs('/store'))
      return { fs, store: ObjectStore.open(fs, abs('/store')) }
    },
    body: ({ store }) => store.adoptPack(abs('/a.pack'), abs('/a.idx')),
    check: ({ fs, store }) => {
      const fresh = ObjectStore.open(fs, abs('/store'))
      removeLeftovers(fresh, testLock)
      expect(fresh.damage()).toEqual([])
      store.adoptPack(abs('/a.pack'), abs('/a.idx'))
      for (const id of theirs.blobs) expect(store.verify(id)).toBe('ok')
      expect(fs.readFolder(store.packFolder)).toHaveLength(3)
    },
  })
})

test('[S18] a tree is copied from another store with all below it that our packs lack', () => {
  using f = objectFixture()
  using scratch = objectFixture()
  const theirs = scratch.store.newBatch()
  const ids = fill(theirs)
  theirs.flush()
  const ours = f.store.newBatch()
  ours.blob(Buffer.from('small x'))
  ours.flush()
  const batch = f.store.newBatch()
  batch.addFrom(scratch.store, ids.tree)
  batch.addFrom(scratch.store, ids.tree)
  batch.flush()
  expect(
    f.store
      .packs()
      .map(({ objects }) => objects)
      .toSorted(),
  ).toEqual([1, 3])
  expect(f.store.readTree(ids.tree)).toEqual(scratch.store.readTree(ids.tree))
  expect(f.gitText(['fsck', '--strict', '--full', '--no-dangling'])).toBe('')
})

test('[S18] a source that lacks something makes the copy fail, and the tree is not written', () => {
  using f = objectFixture()
  using scratch = objectFixture()
  const theirs = scratch.store.newBatch()
  const tree = theirs.tree([{ name: 'gone', mode: '100644', id: objectId('blob', Buffer.from('gone')) }])
  theirs.flush()
  const batch = f.store.newBatch()
  expect(
    isFailure(
      thrown(() => batch.addFrom(scratch.store, tree)),
      'store-damaged',
    ),
  ).toBe(true)
  expect(batch.has(tree)).toBe(false)
})

test('[S19] a commit comes back as it was given, and one of git is read, too', () => {
  using f = objectFixture()
  const batch = f.store.newBatch()
  const tree = batch.tree([])
  const parents = [0, 1].map((n) => batch.commit({ tree, parents: [], message: `${n}`, atSeconds: n }))
  const given = {
    tree,
    parents,
    message: 'first line\n\nparent of all\ntree house ✓',
    atSeconds: 1_700_000_001,
  }
  const id = batch.commit(given)
  const nul = batch.commit({ ...given, message: 'a\0b' })
  batch.flush()
  expect(f.store.readCommit(id)).toEqual(given)
  expect(f.store.readCommit(nul).message).toBe('a\ufffdb')
  const signed = `tree ${tree}\nauthor A <a@b> 5 +0100\ncommitter C <c@d> 7 -0230\ngpgsig -----BEGIN\n parent x\n -----END\n\nsigned`
  const theirs = f.gitText(['hash-object', '-w', '-t', 'commit', '--stdin'], signed) as CommitId
  expect(f.store.readCommit(theirs)).toEqual({ tree, parents: [], message: 'signed', atSeconds: 7 })
  expect(
    isFailure(
      thrown(() => batch.commit({ ...given, atSeconds: 1.5 })),
      'internal',
    ),
  ).toBe(true)
})

test.each([
  '',
  'tree x\n\n',
  'tree 1\n\nm',
  `tree ${'1'.repeat(40)}\n\nm`,
  `tree ${'1'.repeat(40)}\nparent 2\ncommitter a <> 1 +0000\n\nm`,
])('[S19] a commit that cannot be read is an error: %j', (content) => {
  using f = objectFixture()
  const id = f.gitText(['hash-object', '-w', '-t', 'commit', '--literally', '--stdin'], content) as CommitId
  expect(
    isFailure(
      thrown(() => f.store.readCommit(id)),
      'store-damaged',
    ),
  ).toBe(true)
})

test('[S12] [K9] a store whose folder is gone is an error, not an empty store', () => {
  using f = objectFixture()
  rmSync(f.folder, { recursive: true })
  expect(
    isFailure(
      thrown(() => ObjectStore.open(nodeFs, f.folder)),
      'store-damaged',
    ),
  ).toBe(true)
  expect(existsSync(f.folder)).toBe(false)
})

test('[S14] [K13] a store that cannot be written says so, and keeps the batch', () => {
  using f = objectFixture()
  let refuses = true
  const fs = withOther(nodeFs, {
    createFile: (path, chunks, perm) => {
      if (refuses) throw errno('EROFS', path)
      nodeFs.createFile(path, chunks, perm)
    },
  })
  const batch = ObjectStore.open(fs, f.folder).newBatch()
  const ids = fill(batch)
  const error = thrown(() => batch.flush())
  expect(isFailure(error, 'store-unwritable') && error.data.reason).toBe('EROFS')
  refuses = false
  batch.flush()
  expectFilled(f.store, ids)
})

test('[S39] an operation in a tree of 100,000 files stores only the folders above what it changed', () => {
  using f = objectFixture()
  const first = f.store.newBatch()
  const blob = first.blob(Buffer.from('x'))
  const leaves = Array.from({ length: 100_000 }, (_, i) => {
    const folder = Math.floor(i / 20)
    return [`d${folder % 71}/s${Math.floor(folder / 71)}/f${i}.ts`, { mode: '100644', blob }] as [never, Leaf]
  })
  const root = buildTree(first, leaves)
  first.flush()
  const before = new Set(f.store.packs().map((pack) => pack.name))
  const batch = f.store.newBatch()
  const leaf: Leaf = { mode: '100644', blob: batch.blob(Buffer.from('new')) }
  const tree = editTree(batch, root, new Map([['d1/s1/f1.ts' as never, leaf]]))
  batch.commit({ tree, parents: [], message: '', atSeconds: 1 })
  batch.flush()
  const fresh = f.store.packs().filter((pack) => !before.has(pack.name))
  expect(fresh.map((pack) => pack.objects)).toEqual([5]) // the blob, d1/s1, d1, the root, the commit
})
