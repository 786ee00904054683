import { randomBytes } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isFailure } from '../errors.ts'
import { objectId } from '../object-id.ts'
import { gitRepository, type ObjectFixture, objectFixture } from '../testing/object-fixture.ts'
import { absPathUnchecked, type BlobId, type ObjectId } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'
import { applyDelta } from './delta.ts'
import { ObjectStore } from './objects.ts'
import { PackReader } from './pack-reader.ts'
import { buildPackFromRaw } from './pack-writer.ts'

function thrown(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return undefined
}

/** Forty versions of a file and of a folder, so that git makes long chains of deltas. */
function versions(git: ObjectFixture['git']): Map<ObjectId, Buffer> {
  const objects = new Map<ObjectId, Buffer>()
  const lines = Array.from({ length: 400 }, (_, i) => `line ${i} ${'x'.repeat(i % 30)}`)
  const ids: string[] = []
  for (let i = 0; i < 40; i += 1) {
    lines[i * 7] = `changed ${i}`
    const bytes = Buffer.from(lines.join('\n'))
    const id = git(['hash-object', '-w', '--stdin'], bytes).toString().trim()
    ids.push(id)
    objects.set(id as ObjectId, bytes)
    if (i % 5 !== 4) continue
    const listing = ids.map((blob, n) => `100644 blob ${blob}\tfile-${n}\n`).join('')
    const tree = git(['mktree'], listing).toString().trim()
    git(['update-ref', `refs/heads/v${i}`, git(['commit-tree', tree], `v${i}`).toString().trim()])
  }
  return objects
}

function expectAll(
  store: ObjectStore,
  f: Pick<ObjectFixture, 'git'>,
  blobs: ReadonlyMap<ObjectId, Buffer>,
): void {
  for (const [id, bytes] of blobs) expect(store.readBlob(id as BlobId)).toEqual(bytes)
  const all = f.git(['cat-file', '--batch-all-objects', '--batch-check']).toString().trim().split('\n')
  for (const line of all) expect([line, store.verify(line.slice(0, 40) as ObjectId)]).toEqual([line, 'ok'])
  expect(new Set(store.ids())).toEqual(new Set(all.map((line) => line.slice(0, 40))))
}

test('[S8] loose objects and packs of git, with long chains of deltas, are read byte for byte', () => {
  using f = objectFixture()
  const blobs = versions(f.git)
  expectAll(f.store, f, blobs)
  f.git(['repack', '-adfq', '--depth=50', '--window=50'])
  f.git(['prune-packed'])
  const store = ObjectStore.open(nodeFs, f.folder)
  expect(
    f.gitText([
      'verify-pack',
      '-v',
      join(f.folder, 'objects/pack', f.packFiles().find((name) => name.endsWith('.idx')) ?? ''),
    ]),
  ).toMatch(/chain length = [1-9]\d/)
  expect(store.looseCount()).toBe(0)
  expectAll(store, f, blobs)
})

test('[S8] deltas that name their base by id are read, also when the base lies in another pack', () => {
  using f = objectFixture()
  const theirs = gitRepository(f.root, 'theirs.git')
  const blobs = versions(theirs.git)
  theirs.git(['repack', '-adfq', '--depth=50'])
  const all = theirs.git(['rev-list', '--all', '--objects', '--no-object-names'])
  const byId = theirs.git(['pack-objects', '--stdout', '-q', '--no-reuse-delta', '--depth=50'], all)
  writeFileSync(join(f.root, 'x.pack'), byId)
  f.git(['index-pack', '--strict', '-o', join(f.folder, 'objects/pack/pack-x.idx'), join(f.root, 'x.pack')])
  rmSync(join(f.folder, 'objects/pack'), { recursive: true })
  ObjectStore.create(nodeFs, f.folder)
  f.git(['index-pack', '--stdin'], byId)
  expectAll(ObjectStore.open(nodeFs, f.folder), f, blobs)
})

test('[S8] a delta whose base is in another pack of the store is read', () => {
  using f = objectFixture()
  const base = Buffer.from('the base '.repeat(50))
  const batch = f.store.newBatch()
  const baseId = batch.blob(base)
  batch.flush()
  const id = addDelta(f, baseId, Buffer.concat([base, Buffer.from('!')]), base.length)
  expect(f.store.readBlob(id).toString()).toBe(`${base}!`)
})

/** A pack of one object: all of the base and then the rest. */
function addDelta(f: ObjectFixture, baseId: ObjectId, result: Buffer, baseLength: number): BlobId {
  const id = objectId('blob', result)
  const rest = result.subarray(baseLength)
  const size = (n: number) => [(n & 0x7f) | 0x80, n >> 7]
  const copy = [0x90 | 0x20, baseLength & 0xff, baseLength >> 8]
  const delta = Buffer.from([...size(baseLength), ...size(result.length), ...copy, rest.length, ...rest])
  const head = Buffer.concat([
    Buffer.from([0x70 | 0x80 | (delta.length & 15), delta.length >> 4]),
    Buffer.from(baseId, 'hex'),
  ])
  f.store.addPack(buildPackFromRaw([{ id, raw: Buffer.concat([head, deflateSync(delta)]) }]))
  return id
}

test('[S9] two deltas that name each other as base are an error, not an endless loop', () => {
  using f = objectFixture()
  const [a, b] = ['a', 'b'].map((text) => objectId('blob', Buffer.from(text))) as [BlobId, BlobId]
  for (const [id, base] of [
    [a, b],
    [b, a],
  ] as const) {
    const delta = deflateSync(Buffer.from([1, 1, 1, 97]))
    const raw = Buffer.concat([Buffer.from([0x74]), Buffer.from(base, 'hex'), delta])
    f.store.addPack(buildPackFromRaw([{ id, raw }]))
  }
  expect(
    isFailure(
      thrown(() => f.store.readBlob(a)),
      'store-damaged',
    ),
  ).toBe(true)
  expect(f.store.verify(b)).toBe('damaged')
})

interface Damaged {
  readonly f: ObjectFixture
  readonly pack: string
  readonly idx: string
  readonly contents: ReadonlyMap<BlobId, Buffer>
  /** In another pack, which stays sound. */
  readonly safe: BlobId
}

/** A pack with stored, deflated and delta objects, and one that nobody touches. */
function packToDamage(f: ObjectFixture): Damaged {
  const contents = new Map<BlobId, Buffer>()
  const lines = Array.from({ length: 60 }, (_, i) => `line ${i}\n`)
  for (let i = 0; i < 6; i += 1) {
    lines[i] = `changed ${i}\n`
    const bytes = i === 0 ? randomBytes(300) : Buffer.from(lines.join(''))
    contents.set(f.gitText(['hash-object', '-w', '--stdin'], bytes) as BlobId, bytes)
  }
  const list = [...contents.keys()].join('\n')
  f.git(['pack-objects', '-q', '--depth=5', join(f.folder, 'objects/pack/pack')], `${list}\n`)
  f.git(['prune-packed'])
  const [idx = '', pack = ''] = f.packFiles().map((name) => join(f.folder, 'objects/pack', name))
  for (const path of [pack, idx]) chmodSync(path, 0o600)
  const batch = f.store.newBatch()
  const safe = batch.blob(Buffer.from('safe'))
  batch.flush()
  return { f, pack, idx, contents, safe }
}

/** Every object is right or an error; `has` claims nothing of a pack that cannot be used. */
function expectNeverWrong({ f, contents, safe }: Damaged): number {
  const store = ObjectStore.open(nodeFs, f.folder)
  let errors = 0
  for (const [id, bytes] of contents) {
    const before = store.has(id)
    const error = thrown(() => expect(store.readBlob(id).equals(bytes)).toBe(true))
    if (error === undefined) continue
    errors += 1
    expect(isFailure(error, 'store-damaged'), String(error)).toBe(true)
    expect(store.verify(id)).toBe(before ? 'damaged' : 'missing')
    if (!before) expect(store.damage()).not.toEqual([])
  }
  expect(store.readBlob(safe).toString()).toBe('safe')
  return errors
}

test('[S9] [K7] one flipped bit anywhere in a pack or its index gives an error or the right bytes', () => {
  using f = objectFixture()
  const damaged = packToDamage(f)
  expect(expectNeverWrong(damaged)).toBe(0)
  let errors = 0
  for (const path of [damaged.pack, damaged.idx]) {
    const sound = readFileSync(path)
    const step = process.env.UNTURN_SOAK ? 1 : 5
    for (let at = 0; at < sound.length; at += path === damaged.idx && at > 40 && at < 1000 ? 29 : step) {
      const flipped = Buffer.from(sound)
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8))
      writeFileSync(path, flipped)
      errors += expectNeverWrong(damaged)
    }
    writeFileSync(path, sound)
  }
  expect(errors).toBeGreaterThan(100)
  expect(expectNeverWrong(damaged)).toBe(0)
})

test('[S10] a pack or an index cut short at any length gives an error or the right bytes', () => {
  using f = objectFixture()
  const damaged = packToDamage(f)
  for (const path of [damaged.pack, damaged.idx]) {
    const sound = readFileSync(path)
    for (let length = 0; length < sound.length; length += path === damaged.idx ? 37 : 11) {
      writeFileSync(path, sound.subarray(0, length))
      expect(expectNeverWrong(damaged)).toBe(6)
    }
    writeFileSync(path, sound)
  }
  rmSync(damaged.pack)
  expect(expectNeverWrong(damaged)).toBe(6)
})

test('[S11] an index that cannot be used is listed for the doctor, and its objects do not count as there', () => {
  using f = objectFixture()
  const { idx, contents, safe } = packToDamage(f)
  const bytes = readFileSync(idx)
  writeFileSync(idx, bytes.fill(7, 1040, 1050))
  const store = ObjectStore.open(nodeFs, f.folder)
  for (const id of contents.keys()) expect(store.has(id)).toBe(false)
  expect(store.has(safe)).toBe(true)
  expect(store.damage()).toHaveLength(1)
  expect(store.damage()[0]?.reason).toMatch(/checksum/)
  const batch = store.newBatch()
  for (const content of contents.values()) batch.blob(content)
  batch.flush() // written again, since the old copy cannot be relied on
  for (const [id, content] of contents) expect(store.readBlob(id)).toEqual(content)
})

test('[S11] a damaged copy of an object does not hide a sound one', () => {
  using f = objectFixture()
  const { pack, contents } = packToDamage(f)
  const bytes = readFileSync(pack)
  writeFileSync(pack, bytes.fill(0, 14, bytes.length - 20))
  for (const content of contents.values()) f.git(['hash-object', '-w', '--stdin'], content)
  const other = gitRepository(f.root, 'other.git')
  for (const content of contents.values()) other.git(['hash-object', '-w', '--stdin'], content)
  other.git(
    ['pack-objects', '-q', '--depth=0', join(f.folder, 'objects/pack/pack')],
    `${[...contents.keys()].join('\n')}\n`,
  )
  const store = ObjectStore.open(nodeFs, f.folder)
  for (const [id, content] of contents) expect(store.readBlob(id)).toEqual(content)
})

test('[S9] a damaged loose object is an error', () => {
  using f = objectFixture()
  const id = f.gitText(['hash-object', '-w', '--stdin'], 'loose and lost') as BlobId
  const path = join(f.folder, 'objects', id.slice(0, 2), id.slice(2))
  const sound = readFileSync(path)
  chmodSync(path, 0o600)
  for (let at = 0; at < sound.length; at += 1) {
    const flipped = Buffer.from(sound)
    flipped[at] = (flipped[at] ?? 0) ^ 0x10
    writeFileSync(path, flipped)
    const store = ObjectStore.open(nodeFs, f.folder)
    const error = thrown(() => expect(store.readBlob(id).toString()).toBe('loose and lost'))
    if (error !== undefined) expect(isFailure(error, 'store-damaged'), String(error)).toBe(true)
    writeFileSync(path, sound.subarray(0, at))
    expect(ObjectStore.open(nodeFs, f.folder).verify(id)).toBe('damaged')
  }
})

test('[S9] noise in place of a delta is an error, and never a crash', () => {
  const base = randomBytes(200)
  const noise = fc.uint8Array({ maxLength: 40 })
  const property = fc.property(noise, (bytes) => {
    const delta = Buffer.from([200, 1, ...bytes]) // the right size of the base in front
    const error = thrown(() => applyDelta(base, delta))
    expect(error === undefined || isFailure(error, 'store-damaged')).toBe(true)
  })
  fc.assert(property, { numRuns: 2000 })
})

test('[S10] files that are no packs are passed over', () => {
  using f = objectFixture()
  const folder = join(f.folder, 'objects/pack')
  writeFileSync(join(folder, 'pack-noise.idx'), randomBytes(2000))
  writeFileSync(join(folder, 'notes.txt'), 'hello')
  const store = ObjectStore.open(nodeFs, absPathUnchecked(f.folder))
  expect(store.packs()).toEqual([])
  expect(store.damage()).toHaveLength(1)
  expect(readdirSync(folder)).toHaveLength(2)
})

/** An index with just these ids, in order; nothing else in it means anything. */
function indexOf(ids: readonly Buffer[]): Buffer {
  const sorted = ids.toSorted(Buffer.compare)
  const index = Buffer.alloc(8 + 1024 + sorted.length * 28 + 40)
  for (let first = 0; first < 256; first += 1)
    index.writeUInt32BE(sorted.filter((id) => (id[0] ?? 0) <= first).length, 8 + first * 4)
  for (const [place, id] of sorted.entries()) id.copy(index, 8 + 1024 + place * 20)
  return index
}

test('[S8] many ids are found at their places, also where they crowd together or begin alike', () => {
  const even = fc.uint8Array({ minLength: 20, maxLength: 20 })
  const crowded = fc
    .tuple(fc.constantFrom(0, 7, 255), fc.nat(3), fc.nat(255), fc.nat(255))
    .map(([a, b, c, d]) => Uint8Array.from([a, b, 0, c, ...new Array(15).fill(9), d]))
  const all = fc.array(fc.oneof(even, crowded, crowded), { maxLength: 300 })
  fc.assert(
    fc.property(all, fc.array(fc.oneof(even, crowded), { maxLength: 20 }), (some, others) => {
      const held = [...new Set(some.map((id) => Buffer.from(id).toString('hex')))].sort()
      const index = indexOf(held.map((id) => Buffer.from(id, 'hex')))
      const reader = PackReader.fromTrustedIndex(nodeFs, absPathUnchecked('/'), 'pack', index)
      const asked = [...some, ...others].map((id) => Buffer.from(id))
      const wanted = Uint32Array.from(asked.keys())
      const places = reader.findMany(Buffer.concat(asked), wanted)
      expect([...places]).toEqual(asked.map((id) => held.indexOf(id.toString('hex'))))
    }),
  )
})
