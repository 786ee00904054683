/**
 * Keeps the number of packs small. Each operation writes one, and a lookup asks every index: the smallest packs
 * are joined into a larger one, middle ones into a large one, and large ones stay until `gc`. So each object is
 * copied a handful of times at most. Removing a file can take a millisecond, so one run joins only as many
 * small packs as it must.
 */

import { randomBytes } from 'node:crypto'
import { errorCode, type Fs } from '../fs.ts'
import { type AbsPath, type Exclusive, joinAbs, type ObjectId } from '../values.ts'
import type { ObjectStore, PackSize } from './objects.ts'
import { flawOfIndex, PackReader } from './pack-reader.ts'
import { buildPackFromRaw, type RawObject, writeSynced } from './pack-writer.ts'

const smallBytes = 256 * 1024
const middleBytes = 4 * 1024 * 1024
const mostSmall = 48
const keptSmall = 32
const mostMiddle = 16
// What one run holds in memory. When captures ran for long without us, the next runs do the rest.
const mostJoinedBytes = 64 * 1024 * 1024

/** Joins small packs once there are many of them. Borrowed packs are never touched. */
export function consolidate(store: ObjectStore, _lock: Exclusive): { joined: number } {
  store.refresh()
  const ours = store.packSizes().filter((pack) => !pack.borrowed && pack.bytes > 0)
  const small = ours.filter((pack) => pack.bytes < smallBytes)
  if (small.length >= mostSmall) return { joined: join(store, small, small.length - keptSmall) }
  const middle = ours.filter((pack) => pack.bytes >= smallBytes && pack.bytes < middleBytes)
  if (middle.length >= mostMiddle) return { joined: join(store, middle, middle.length) }
  return { joined: 0 }
}

function join(store: ObjectStore, packs: readonly PackSize[], wanted: number): number {
  const objects = new Map<ObjectId, RawObject>()
  const joined: PackSize[] = []
  let bytes = 0
  for (const pack of packs.toSorted((a, b) => a.bytes - b.bytes)) {
    if (joined.length === wanted || bytes + pack.bytes > mostJoinedBytes) break
    const raw = store.readRawPack(pack.name)
    if (raw === undefined) continue // deltas, or damage: it stays as it is
    for (const object of raw) objects.set(object.id, object)
    bytes += pack.bytes
    joined.push(pack)
  }
  if (joined.length < 2) return 0
  const built = buildPackFromRaw([...objects.values()])
  store.addPack(built)
  // Only now: until the new pack is on disk, the old ones are the only copy (P1).
  removePacks(
    store,
    joined.map((pack) => pack.name).filter((name) => name !== built.name),
  )
  return joined.length
}

/** Only what is elsewhere, too, or what nobody names any more. */
export function removePacks(store: ObjectStore, names: readonly string[]): void {
  // An index without its pack is harmless: its objects are elsewhere, and `removeLeftovers` can tell. A pack
  // without its index could be anything. So the packs go first, and the power cannot turn that round.
  for (const name of names) removeIfThere(store, `${name}.pack`)
  store.fs.syncFolder(store.packFolder)
  for (const name of names) for (const end of besidePack) removeIfThere(store, `${name}.${end}`)
  store.fs.syncFolder(store.packFolder)
  store.refresh()
}

const besidePack = ['rev', 'keep', 'idx'] as const

/**
 * For packs with objects that are nowhere else and that nobody names any more. What is to go is written down first: of
 * a pack without its index, or the other way round, nobody could tell later that it was not damaged.
 */
export function removeForGood(store: ObjectStore, names: readonly string[], _lock: Exclusive): void {
  if (names.length === 0) return
  const { fs, packFolder } = store
  const list = joinAbs(packFolder, `${listPrefix}${randomBytes(6).toString('hex')}`)
  writeSynced(fs, list, Buffer.from(names.map((name) => `${name}\n`).join('')), 0o600)
  fs.syncFolder(packFolder)
  removePacks(store, names)
  fs.unlink(list)
  store.refresh()
}

const listPrefix = 'tmp-gone-'

// One who was cut here had made sure that nobody needs these packs; so had one who was cut while writing the list.
function finishRemovals(store: ObjectStore): void {
  const { fs, packFolder } = store
  for (const list of fs.readFolder(packFolder).filter((name) => name.startsWith(listPrefix))) {
    const lines = fs.readFile(joinAbs(packFolder, list)).toString('latin1').split('\n').slice(0, -1)
    removePacks(
      store,
      lines.filter((name) => /^pack-[0-9a-f]{40}$/.test(name)),
    )
  }
}

/** Cheap enough to be asked each time: whether `removeLeftovers` would find a temporary file. */
export function mayHaveLeftovers({ hasLeftovers, fs, folder }: ObjectStore): boolean {
  return hasLeftovers || fs.readFolder(folder).some(isTemporary)
}

function isTemporary(name: string): boolean {
  return name.startsWith('tmp-')
}

/**
 * Deletes what killed writers left behind, and finishes a pack that was cut between its two renames: its
 * objects are whole, and finishing deletes nothing.
 */
export function removeLeftovers(store: ObjectStore, _lock: Exclusive): { removed: number; finished: number } {
  const { fs, packFolder, folder } = store
  finishRemovals(store)
  const finished = fs.readFolder(packFolder).filter((temp) => finishPack(store, temp)).length
  if (finished > 0) store.refresh()
  const inPacks = fs.readFolder(packFolder).filter((name) => isLeftover(store, name))
  for (const name of inPacks) fs.unlink(joinAbs(packFolder, name))
  const inRepo = fs.readFolder(folder).filter(isTemporary)
  for (const name of inRepo) fs.unlink(joinAbs(folder, name))
  if (finished + inPacks.length > 0) fs.syncFolder(packFolder)
  store.refresh()
  return { removed: inPacks.length + inRepo.length, finished }
}

/**
 * The temp file and the pack's other half prove each other: both were synced before either got its name. A
 * power cut may have kept the two renames in any order.
 */
function finishPack({ fs, packFolder }: ObjectStore, temp: string): boolean {
  const [, part, checksum] = /^tmp-(pack|idx)-([0-9a-f]{40})-/.exec(temp) ?? []
  if (part === undefined || checksum === undefined) return false
  const otherHalf = joinAbs(packFolder, `pack-${checksum}.${part === 'pack' ? 'idx' : 'pack'}`)
  const place = joinAbs(packFolder, `pack-${checksum}.${part}`)
  if (fs.lstat(otherHalf) === undefined || fs.lstat(place) !== undefined) return false
  const path = joinAbs(packFolder, temp)
  if (part === 'idx' && flawOfIndex(fs.readFile(path)) !== undefined) return false
  if (part === 'pack' && checksumOf(fs, path) !== checksum) return false
  fs.rename(path, place)
  return true
}

function checksumOf(fs: Fs, pack: AbsPath): string {
  const size = fs.lstat(pack)?.size ?? 0
  return fs.readPart(pack, Math.max(0, size - 20), 20).toString('hex')
}

// A pack without an index is no leftover: `git index-pack` can bring its objects back, and `doctor` lists it.
function isLeftover(store: ObjectStore, name: string): boolean {
  if (isTemporary(name)) return true
  const [, pack, end] = /^(pack-[0-9a-f]{40})\.(keep|rev|idx)$/.exec(name) ?? []
  if (pack === undefined) return false
  if (store.fs.lstat(joinAbs(store.packFolder, `${pack}.pack`)) !== undefined) return false
  return end !== 'idx' || isJoinedElsewhere(store, pack)
}

/** Whoever was cut while removing joined packs leaves an index without its pack. */
function isJoinedElsewhere(store: ObjectStore, pack: string): boolean {
  const idx = store.fs.readFile(joinAbs(store.packFolder, `${pack}.idx`))
  if (flawOfIndex(idx) !== undefined) return false
  const reader = PackReader.fromTrustedIndex(store.fs, store.packFolder, pack, idx)
  for (let i = 0; i < reader.count; i += 1) if (!store.hasPacked(reader.idAt(i))) return false
  return true
}

function removeIfThere(store: ObjectStore, name: string): void {
  try {
    store.fs.unlink(joinAbs(store.packFolder, name))
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
  }
}
