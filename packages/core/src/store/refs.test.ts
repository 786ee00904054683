import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isFailure } from '../errors.ts'
import type { Fs } from '../fs.ts'
import { faultFs, faultSim } from '../testing/fault-fs.ts'
import { type ObjectFixture, objectFixture, testLock } from '../testing/object-fixture.ts'
import { SimDisk, seededRandom } from '../testing/sim-disk.ts'
import { absPathUnchecked, type CommitId } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'
import { removeLeftovers } from './consolidate.ts'
import { ObjectStore } from './objects.ts'
import { deleteRef, listRefs, readRef, surveyRefs, writeRef } from './refs.ts'

const abs = absPathUnchecked
const session = 'refs/unturn/sessions/one'

function commits(f: ObjectFixture, count: number): readonly CommitId[] {
  const batch = f.store.newBatch()
  const tree = batch.tree([])
  const ids = Array.from({ length: count }, (_, i) =>
    batch.commit({ tree, parents: [], message: `${i}`, atSeconds: i }),
  )
  batch.flush()
  return ids
}

function thrown(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return undefined
}

test('[S30] a ref that we write is read by git, and one that git writes or packs is read by us', () => {
  using f = objectFixture()
  const [a, b] = commits(f, 2) as [CommitId, CommitId]
  writeRef(nodeFs, f.folder, session, a)
  expect(f.gitText(['rev-parse', session])).toBe(a)
  f.git(['update-ref', 'refs/unturn/sessions/two', b])
  f.git(['update-ref', 'refs/other/x', b])
  const both = [
    [session, a],
    ['refs/unturn/sessions/two', b],
  ]
  expect([...listRefs(nodeFs, f.folder, 'refs/unturn/')]).toEqual(both)
  f.git(['pack-refs', '--all'])
  expect([...listRefs(nodeFs, f.folder, 'refs/unturn/')]).toEqual(both)
  expect(readRef(nodeFs, f.folder, session)).toBe(a)
  writeRef(nodeFs, f.folder, session, b) // the loose ref goes before the packed one
  expect(readRef(nodeFs, f.folder, session)).toBe(b)
  expect(listRefs(nodeFs, f.folder, 'refs/unturn/').get(session)).toBe(b)
  expect(f.gitText(['rev-parse', session])).toBe(b)
  expect(statSync(join(f.folder, session)).mode & 0o777).toBe(0o600)
  expect(statSync(join(f.folder, 'refs/unturn/sessions')).mode & 0o777).toBe(0o700)
})

test('[S30] where there is no ref, there is none', () => {
  using f = objectFixture()
  expect(readRef(nodeFs, f.folder, session)).toBeUndefined()
  expect([...listRefs(nodeFs, f.folder, 'refs/unturn/')]).toEqual([])
  writeRef(nodeFs, f.folder, session, commits(f, 1)[0] as CommitId)
  expect(readRef(nodeFs, f.folder, 'refs/unturn/sessions')).toBeUndefined()
  expect(readRef(nodeFs, f.folder, `${session}/below`)).toBeUndefined()
})

test.each([
  '',
  'noise',
  `${'a'.repeat(39)}\n`,
  `${'a'.repeat(41)}\n`,
  `${'A'.repeat(40)}\n`,
  'ref: refs/heads/x\n',
  '\0'.repeat(41),
])('[S31] [K9] a ref file that holds %j is an error, never "no ref"', (content) => {
  using f = objectFixture()
  const [id] = commits(f, 1) as [CommitId]
  writeRef(nodeFs, f.folder, session, id)
  writeRef(nodeFs, f.folder, 'refs/unturn/sessions/sound', id)
  f.git(['pack-refs', '--all'])
  mkdirSync(join(f.folder, 'refs/unturn/sessions'), { recursive: true })
  writeFileSync(join(f.folder, session), content)
  expect(
    isFailure(
      thrown(() => readRef(nodeFs, f.folder, session)),
      'store-damaged',
    ),
  ).toBe(true)
  expect(
    isFailure(
      thrown(() => listRefs(nodeFs, f.folder, 'refs/unturn/')),
      'store-damaged',
    ),
  ).toBe(true)
  const { refs, damaged } = surveyRefs(nodeFs, f.folder, 'refs/unturn/')
  expect(damaged).toEqual([session])
  expect(refs.get('refs/unturn/sessions/sound')).toBe(id)
  expect(refs.has(session)).toBe(false)
})

test('[S31] a damaged file of packed refs and a link in place of a ref are errors', () => {
  using f = objectFixture()
  writeFileSync(join(f.folder, 'packed-refs'), `${'a'.repeat(40)} refs/unturn/x`)
  expect(
    isFailure(
      thrown(() => readRef(nodeFs, f.folder, session)),
      'store-damaged',
    ),
  ).toBe(true)
  writeFileSync(join(f.folder, 'packed-refs'), 'noise\n')
  expect(
    isFailure(
      thrown(() => listRefs(nodeFs, f.folder, 'refs/unturn/')),
      'store-damaged',
    ),
  ).toBe(true)
  writeFileSync(join(f.folder, 'packed-refs'), '')
  mkdirSync(join(f.folder, 'refs/unturn'))
  writeFileSync(join(f.root, 'elsewhere'), `${'a'.repeat(40)}\n`)
  symlinkSync(join(f.root, 'elsewhere'), join(f.folder, 'refs/unturn/link'))
  expect(
    isFailure(
      thrown(() => readRef(nodeFs, f.folder, 'refs/unturn/link')),
      'store-damaged',
    ),
  ).toBe(true)
})

const badNames = [
  'HEAD',
  'config',
  'refs',
  'refs/',
  'refs//x',
  'refs/../config',
  'refs/a/..',
  'refs/.x',
  'refs/x.lock',
  'refs/a b',
  'refs/a\nb',
  'refs/a~1',
  'refs/a:b',
  'refs/a\\b',
  'refs/x.',
  'refs/a@{1}',
  'refs/ä',
  '/refs/x',
  `refs/${'x'.repeat(300)}`,
]

test.each(badNames)('[S32] [M9] the name %j is refused, and nothing is written', (name) => {
  using f = objectFixture()
  const before = readdirSync(f.folder, { recursive: true }).toSorted()
  const id = 'a'.repeat(40) as CommitId
  for (const work of [
    () => writeRef(nodeFs, f.folder, name, id),
    () => readRef(nodeFs, f.folder, name),
    () => deleteRef(nodeFs, f.folder, name),
  ]) {
    expect(isFailure(thrown(work), 'internal')).toBe(true)
  }
  expect(readdirSync(f.folder, { recursive: true }).toSorted()).toEqual(before)
})

test('[S32] what is no id is not written', () => {
  using f = objectFixture()
  for (const id of ['', 'abc', 'A'.repeat(40)]) {
    expect(
      isFailure(
        thrown(() => writeRef(nodeFs, f.folder, session, id as CommitId)),
        'internal',
      ),
    ).toBe(true)
  }
})

const [old, next] = ['1'.repeat(40), '2'.repeat(40)] as [CommitId, CommitId]

function newDisk(): SimDisk {
  const disk = new SimDisk()
  ObjectStore.create(disk, abs('/store'))
  return disk
}

test('[S33] a ref whose writing is killed or fails at any call is the old one or the new one', async () => {
  for (const earlier of [[], [old], [next, old], [old, next, old]]) {
    const start = earlier.at(-1)
    await faultSim({
      disk: newDisk,
      world: (fs) => {
        for (const id of earlier) writeRef(fs, abs('/store'), session, id)
        return { fs }
      },
      body: ({ fs }) => writeRef(fs, abs('/store'), session, next),
      check: ({ fs }, { fired, fault, error }) => {
        const found = readRef(fs, abs('/store'), session)
        expect([start, next]).toContain(found)
        if (!fired) expect(found).toBe(next)
        if (fired && fault === 'EIO') expect(isFailure(error, 'store-unwritable')).toBe(true)
        removeLeftovers(ObjectStore.open(fs, abs('/store')), testLock)
        expect(fs.readFolder(abs('/store')).filter((name) => name.startsWith('tmp-'))).toEqual([])
        writeRef(fs, abs('/store'), session, next)
        expect(readRef(fs, abs('/store'), session)).toBe(next)
      },
    })
  }
})

test('[S33] [K2] after a power cut a ref is the old one or the new one, and the new one once it was written', () => {
  const histories = [[], [old], [next, old], [old, next, old]]
  for (let seed = 0; seed < 1200; seed += 1) {
    const disk = newDisk()
    const earlier = histories[seed % histories.length] ?? []
    const start = earlier.at(-1)
    for (const id of earlier) writeRef(disk, abs('/store'), session, id)
    disk.cutAfter(1 + (seed % 17))
    const error = thrown(() => writeRef(disk, abs('/store'), session, next))
    const after = disk.powerCut(seededRandom(seed))
    const found = readRef(after, abs('/store'), session)
    expect(error === undefined ? [next] : [start, next]).toContain(found)
  }
})

test('[S122] [K2] the file of an older ref is used without a sync of the folder only by whoever has synced it away', () => {
  const ids = ['1', '2', '3', '4', '5'].map((digit) => digit.repeat(40) as CommitId)
  const [first, second, third, fourth, fifth] = ids as [CommitId, CommitId, CommitId, CommitId, CommitId]
  const write = (fs: Fs, id: CommitId) => thrown(() => writeRef(fs, abs('/store'), session, id))
  for (let seed = 0; seed < 1600; seed += 1) {
    const disk = newDisk()
    for (const id of [first, second]) write(disk, id)
    // Another process uses the file twice, and is killed: the file is back in its place, and nobody has synced it away.
    write(faultFs(disk, 1000, 'kill'), third)
    write(faultFs(disk, 1 + (seed % 20), 'kill'), fourth)
    disk.cutAfter(1 + (Math.floor(seed / 20) % 16))
    const error = write(disk, fifth)
    const found = readRef(disk.powerCut(seededRandom(seed)), abs('/store'), session)
    expect(error === undefined ? [fifth] : [third, fourth, fifth], `seed ${seed}`).toContain(found)
  }
})

test('[S33] [K2] a power cut after a writer was killed does not bring back a file that was used again', () => {
  for (let seed = 0; seed < 1600; seed += 1) {
    const disk = newDisk()
    for (const id of [next, old]) writeRef(disk, abs('/store'), session, id)
    thrown(() => writeRef(faultFs(disk, 1 + (seed % 16), 'kill'), abs('/store'), session, next))
    disk.cutAfter(1 + (Math.floor(seed / 16) % 12))
    thrown(() => writeRef(disk, abs('/store'), session, old))
    const after = disk.powerCut(seededRandom(seed))
    expect([old, next]).toContain(readRef(after, abs('/store'), session))
  }
})

test('[S34] a deleted ref is gone, also where git had packed it, and others stay', () => {
  using f = objectFixture()
  const [a, b] = commits(f, 2) as [CommitId, CommitId]
  writeRef(nodeFs, f.folder, session, a)
  writeRef(nodeFs, f.folder, 'refs/unturn/other', b)
  f.git(['tag', '-a', '-m', 't', 'tagged', a])
  f.git(['pack-refs', '--all'])
  writeRef(nodeFs, f.folder, session, b)
  deleteRef(nodeFs, f.folder, session)
  deleteRef(nodeFs, f.folder, session)
  expect(readRef(nodeFs, f.folder, session)).toBeUndefined()
  expect(f.gitText(['for-each-ref', '--format=%(refname)'])).toBe('refs/tags/tagged\nrefs/unturn/other')
  deleteRef(nodeFs, f.folder, 'refs/tags/tagged')
  expect(readFileSync(join(f.folder, 'packed-refs'), 'utf8')).not.toMatch(/\^/)
  expect(f.gitText(['for-each-ref', '--format=%(refname)'])).toBe('refs/unturn/other')
})

test('[S34] a deletion cut at any call never brings an older value back', async () => {
  await faultSim({
    disk: () => {
      const disk = newDisk()
      disk.createFile(abs('/store/packed-refs'), [Buffer.from(`${old} ${session}\n`)], 0o600)
      writeRef(disk, abs('/store'), session, next)
      return disk
    },
    world: (fs) => ({ fs }),
    body: ({ fs }) => deleteRef(fs, abs('/store'), session),
    check: ({ fs }) => {
      expect([next, undefined]).toContain(readRef(fs, abs('/store'), session))
      deleteRef(fs, abs('/store'), session)
      expect(readRef(fs, abs('/store'), session)).toBeUndefined()
    },
  })
})
