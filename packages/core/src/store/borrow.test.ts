import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Fs } from '../fs.ts'
import { type StoreFixture, storeFixture, userGit } from '../testing/store-fixture.ts'
import { absPathUnchecked, type BlobId } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'
import { borrowPacks, type UserPack } from './borrow.ts'
import type { Git } from './git.ts'
import { ObjectStore } from './objects.ts'

/** A repository of the user's with two packs and a loose object. */
function repository(f: StoreFixture) {
  const folder = join(f.root, 'user')
  mkdirSync(folder)
  userGit(folder, 'init', '-q')
  const commit = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    userGit(folder, 'add', name)
    userGit(folder, 'commit', '-q', '-m', name)
    return userGit(folder, 'rev-parse', `HEAD:${name}`)
  }
  const first = commit('first', 'x'.repeat(1000))
  userGit(folder, 'repack', '-d', '-q')
  const second = commit('second', 'second')
  userGit(folder, 'repack', '-d', '-q')
  const loose = commit('loose', 'loose')
  const packs = join(folder, '.git', 'objects', 'pack')
  const listed = (): UserPack[] =>
    readdirSync(packs)
      .filter((name) => name.endsWith('.pack'))
      .map((name) => ({
        pack: absPathUnchecked(join(packs, name)),
        idx: absPathUnchecked(join(packs, name.replace(/pack$/, 'idx'))),
      }))
  return { folder, packs, listed, first, second, loose }
}

/** The sizes by id, of those that are ours. */
async function borrowed(git: Git, store: ObjectStore, packs: readonly UserPack[], ids: readonly string[]) {
  const sizes = await borrowPacks(git, store, packs, Buffer.from(ids.join(''), 'hex'))
  return new Map(ids.map((id, i) => [id, sizes[i]] as const).filter(([, size]) => size !== -1))
}

const missing = '0123456789012345678901234567890123456789'

test('[S75] wanted blobs in packs are ours afterwards, with their sizes; others are not named', async () => {
  await using f = storeFixture()
  const user = repository(f)
  const sizes = await borrowed(f.git, f.store, user.listed(), [user.first, user.loose, missing])
  expect(sizes).toEqual(new Map([[user.first, 1000]]))
  expect(f.store.packs()).toMatchObject([{ borrowed: true }])
  rmSync(user.folder, { recursive: true })
  expect(f.store.readBlob(user.first as BlobId).length).toBe(1000)
})

test('[S75] [I15] borrowing links the packs and leaves the bytes, modes and times of the user’s files alone', async () => {
  await using f = storeFixture()
  const user = repository(f)
  const look = () =>
    readdirSync(user.packs).map((name) => {
      const { mode, mtimeMs, ino } = statSync(join(user.packs, name))
      return [name, mode, mtimeMs, ino, readFileSync(join(user.packs, name), 'latin1')]
    })
  const before = look()
  const sizes = await borrowed(f.git, f.store, user.listed(), [user.first, user.second])
  expect(sizes.size).toBe(2)
  expect(look()).toEqual(before)
  expect(user.listed().map(({ pack }) => statSync(pack).nlink)).toEqual([2, 2])
  expect(readdirSync(f.store.packFolder).filter((name) => name.startsWith('tmp'))).toEqual([])
})

test('[S75] a blob that our store has already needs no pack', async () => {
  await using f = storeFixture()
  f.tree({ a: 'ours' })
  const id = f.store.newBatch().blob(Buffer.from('ours'))
  expect(await borrowed(f.git, f.store, [], [id])).toEqual(new Map([[id, 4]]))
  expect(await borrowed(f.git, f.store, [], [])).toEqual(new Map())
})

test('[S76] a damaged or vanished pack is left alone, and the others are borrowed', async () => {
  await using f = storeFixture()
  const user = repository(f)
  const holding = (id: string) =>
    user.listed().find(({ idx }) => readFileSync(idx).includes(Buffer.from(id, 'hex')))
  const damaged = holding(user.first)
  if (damaged === undefined) throw new Error('no pack')
  truncateSync(damaged.pack, 40)
  const gone: UserPack = {
    pack: absPathUnchecked(join(user.packs, 'pack-x.pack')),
    idx: absPathUnchecked(join(user.packs, 'pack-x.idx')),
  }
  const sizes = await borrowed(f.git, f.store, [...user.listed(), gone], [user.first, user.second])
  expect(sizes).toEqual(new Map([[user.second, 6]]))
})

function withoutLinks(sizeOfPacks?: number): Fs {
  return {
    ...nodeFs,
    hardLink() {
      throw Object.assign(new Error('EXDEV: cross-device link'), { code: 'EXDEV' })
    },
    lstat(path) {
      const stat = nodeFs.lstat(path)
      return stat !== undefined && sizeOfPacks !== undefined && path.endsWith('.pack')
        ? { ...stat, size: sizeOfPacks }
        : stat
    },
  }
}

test('[S77] where packs cannot be linked, small ones are copied and large ones are not', async () => {
  await using f = storeFixture()
  const user = repository(f)
  const large = ObjectStore.open(withoutLinks(200 * 1024 * 1024), f.store.folder)
  expect(await borrowed(f.git, large, user.listed(), [user.first, user.second])).toEqual(new Map())
  expect(readdirSync(large.packFolder)).toEqual([])
  const small = ObjectStore.open(withoutLinks(), f.store.folder)
  expect((await borrowed(f.git, small, user.listed(), [user.first, user.second])).size).toBe(2)
  expect(user.listed().map(({ pack }) => statSync(pack).nlink)).toEqual([1, 1])
  expect(existsSync(user.folder)).toBe(true)
})
