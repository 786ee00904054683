import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { faultSim } from '../testing/fault-fs.ts'
import { gitRepository, objectFixture, testLock } from '../testing/object-fixture.ts'
import { SimDisk, seededRandom } from '../testing/sim-disk.ts'
import { absPathUnchecked, type BlobId } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'
import { consolidate, removeLeftovers } from './consolidate.ts'
import { ObjectStore } from './objects.ts'

const abs = absPathUnchecked

/** One pack each, as operations write them. */
function addPacks(store: ObjectStore, count: number, size = 100, from = 0): Map<BlobId, string> {
  const blobs = new Map<BlobId, string>()
  for (let i = from; i < from + count; i += 1) {
    const batch = store.newBatch()
    // Numbers, so that larger ones do not compress to nothing.
    const text = Array.from({ length: size / 10 }, (_, n) => `${(i * 7919 + n * 104729) % 999983}`).join('')
    blobs.set(batch.blob(Buffer.from(`${i} ${text}`)), `${i} ${text}`)
    batch.flush()
  }
  return blobs
}

function expectAll(store: ObjectStore, blobs: ReadonlyMap<BlobId, string>): void {
  for (const [id, text] of blobs) expect(store.readBlob(id).toString()).toBe(text)
}

test('[S35] many small packs become one, which holds every object and which git accepts', () => {
  using f = objectFixture()
  const few = addPacks(f.store, 47)
  expect(consolidate(f.store, testLock)).toEqual({ joined: 0 })
  const blobs = new Map([...few, ...addPacks(f.store, 1, 100, 47)])
  expect(consolidate(f.store, testLock)).toEqual({ joined: 16 })
  expect(f.packFiles()).toHaveLength(66)
  expect(
    f.store
      .packs()
      .map(({ objects }) => objects)
      .toSorted((a, b) => b - a),
  ).toEqual([16, ...Array(32).fill(1)])
  expectAll(f.store, blobs)
  expectAll(ObjectStore.open(nodeFs, f.folder), blobs)
  expect(f.gitText(['fsck', '--strict', '--full', '--no-dangling'])).toBe('')
  f.git(['verify-pack', join(f.folder, 'objects/pack', f.packFiles()[0] ?? '')])
})

test('[S35] middle packs are joined once there are many of them, large ones stay', () => {
  using f = objectFixture()
  const blobs = addPacks(f.store, 16, 1_200_000)
  expect(f.store.packs().every(({ bytes }) => bytes > 256 * 1024 && bytes < 4 * 1024 * 1024)).toBe(true)
  expect(consolidate(f.store, testLock)).toEqual({ joined: 16 })
  expect(f.store.packs()[0]?.bytes).toBeGreaterThan(4 * 1024 * 1024)
  expect(consolidate(f.store, testLock)).toEqual({ joined: 0 })
  expectAll(f.store, blobs)
})

test('[S35] packs of other processes are joined, too, and an object that is in several is kept once', () => {
  using f = objectFixture()
  const others = Array.from({ length: 50 }, () => ObjectStore.open(nodeFs, f.folder))
  const blobs = new Map<BlobId, string>()
  for (const [i, other] of others.entries()) {
    const batch = other.newBatch()
    blobs.set(batch.blob(Buffer.from('the same')), 'the same')
    blobs.set(batch.blob(Buffer.from(`other ${i}`)), `other ${i}`)
    batch.flush()
  }
  expect(consolidate(f.store, testLock)).toEqual({ joined: 18 })
  expect(
    f.store
      .packs()
      .map(({ objects }) => objects)
      .toSorted((a, b) => b - a),
  ).toEqual([19, ...Array(32).fill(2)])
  expectAll(f.store, blobs)
})

test('[S36] borrowed packs, packs of git with deltas, and damaged packs are left as they are', () => {
  using f = objectFixture()
  const theirs = gitRepository(f.root, 'theirs.git')
  const list: string[] = []
  for (let i = 0; i < 5; i += 1)
    list.push(theirs.git(['hash-object', '-w', '--stdin'], `${'same\n'.repeat(300)}${i}`).toString())
  const name = theirs
    .git(['pack-objects', '-q', join(f.root, 'pack')], list.join(''))
    .toString()
    .trim()
  f.store.adoptPack(abs(join(f.root, `pack-${name}.pack`)), abs(join(f.root, `pack-${name}.idx`)))
  const borrowed = f.packFiles()
  const other = theirs
    .git(['pack-objects', '-q', join(f.folder, 'objects/pack/pack')], list.slice(1).join(''))
    .toString()
    .trim()
  const blobs = addPacks(f.store, 1, 300, 1000)
  const [damaged = ''] = f
    .packFiles()
    .filter((file) => file.endsWith('.pack') && !borrowed.includes(file) && !file.includes(other))
  const path = join(f.folder, 'objects/pack', damaged)
  chmodSync(path, 0o600)
  writeFileSync(path, readFileSync(path).fill(0, 30, 40))
  for (const [id, text] of addPacks(f.store, 48)) blobs.set(id, text)
  expect(consolidate(f.store, testLock)).toEqual({ joined: 18 })
  const left = f.packFiles()
  expect(left).toEqual(
    expect.arrayContaining([...borrowed, `pack-${other}.pack`, `pack-${other}.idx`, damaged]),
  )
  expect(f.store.packs()).toHaveLength(3 + 30 + 1)
  for (const id of list) expect(f.store.verify(id.trim() as BlobId)).toBe('ok')
})

test('[S37] a reader that was open before goes on reading', () => {
  using f = objectFixture()
  const blobs = addPacks(f.store, 60)
  const fresh = ObjectStore.open(nodeFs, f.folder)
  const warm = ObjectStore.open(nodeFs, f.folder)
  expectAll(warm, blobs)
  const halfWarm = ObjectStore.open(nodeFs, f.folder)
  for (const id of [...blobs.keys()].slice(0, 3)) halfWarm.readBlob(id)
  consolidate(f.store, testLock)
  for (const reader of [fresh, warm, halfWarm]) {
    expectAll(reader, blobs)
    for (const id of blobs.keys()) expect(reader.has(id)).toBe(true)
    expect(reader.damage()).toEqual([])
  }
})

/** A disk with many packs on it, as often as it is needed. */
function crowded(): { disk: () => SimDisk; blobs: Map<BlobId, string> } {
  const disk = new SimDisk()
  ObjectStore.create(disk, abs('/store'))
  const blobs = addPacks(ObjectStore.open(disk, abs('/store')), 48)
  disk.settle()
  return { disk: () => disk.powerCut(seededRandom(0)), blobs }
}

test('[S38] joining that is killed or fails at any call loses no object', async () => {
  const { disk, blobs } = crowded()
  await faultSim({
    every: 5,
    faults: ['kill', 'short-write', 'EIO', 'ENOSPC-lasting'],
    disk,
    world: (fs) => ({ fs, store: ObjectStore.open(fs, abs('/store')) }),
    body: ({ store }) => consolidate(store, testLock),
    check: ({ fs }) => {
      const store = ObjectStore.open(fs, abs('/store'))
      removeLeftovers(store, testLock)
      expectAll(store, blobs)
      expect(store.damage()).toEqual([])
      expect(fs.readFolder(store.packFolder).filter((name) => name.startsWith('tmp-'))).toEqual([])
    },
  })
})

test('[S38] [K2] a power cut while packs are joined loses no object and leaves nothing that looks like damage', () => {
  const { disk: newDisk, blobs } = crowded()
  for (let seed = 0; seed < 60; seed += 1) {
    const disk = newDisk()
    const store = ObjectStore.open(disk, abs('/store'))
    disk.cutAfter(1 + seed * 6)
    try {
      consolidate(store, testLock)
    } catch {
      // the power went
    }
    const after = ObjectStore.open(disk.powerCut(seededRandom(seed)), abs('/store'))
    removeLeftovers(after, testLock)
    expectAll(after, blobs)
    expect(after.damage()).toEqual([])
  }
})
