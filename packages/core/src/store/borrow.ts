/** Taking over packs of the user's repository, so that a first capture need not read and store everything again. */

import { isFailure } from '../errors.ts'
import { errorCode, type Fs } from '../fs.ts'
import { type AbsPath, joinAbs, nameOf, type ObjectId, parentOf } from '../values.ts'
import type { Git } from './git.ts'
import type { ObjectStore } from './objects.ts'
import { PackReader } from './pack-reader.ts'
import { removeQuietly, tempName } from './pack-writer.ts'

export interface UserPack {
  readonly pack: AbsPath
  readonly idx: AbsPath
}

/** Links cost nothing, but copying more than this takes longer than hashing what is on disk. */
const mostCopiedBytes = 256 * 1024 * 1024

/**
 * Takes over the packs that hold one of the wanted blobs, and gives the size of each one that our store has from
 * then on. A blob with -1 for an answer has to be read from disk. `ids` has 20 bytes for each.
 *
 * The size of a whole blob stands in front of it in the pack. That of a delta is inside its stream: git is asked.
 */
export async function borrowPacks(
  git: Git,
  store: ObjectStore,
  packs: readonly UserPack[],
  ids: Uint8Array,
): Promise<Float64Array> {
  const useful = usefulPacks(store.fs, packs, ids)
  const sizes = new Float64Array(ids.length / 20).fill(-1)
  if (canLink(store, useful) || bytesOf(store.fs, useful) <= mostCopiedBytes) {
    for (const pack of useful) if (adopt(store, pack)) readSizes(pack, sizes)
  }
  await askSizes(git, store, ids, sizes)
  return sizes
}

/** A pack with the wanted blobs in it that no larger one has. */
interface UsefulPack extends UserPack {
  readonly reader: PackReader
  /** Numbers of wanted blobs, and the place of each in the pack. */
  readonly blobs: Uint32Array
  readonly places: Int32Array
}

function usefulPacks(fs: Fs, packs: readonly UserPack[], ids: Uint8Array): readonly UsefulPack[] {
  const largestFirst = packs.toSorted((a, b) => bytesOf(fs, [b]) - bytesOf(fs, [a]))
  const useful: UsefulPack[] = []
  let left = upTo(ids.length / 20)
  for (const pack of largestFirst) {
    const reader = left.length === 0 ? undefined : openReader(fs, pack)
    if (reader === undefined) continue
    const { blobs, places, lacking } = searched(reader, ids, left)
    left = lacking
    if (places.length > 0) useful.push({ ...pack, reader, blobs, places })
  }
  return useful
}

function upTo(count: number): Uint32Array {
  const numbers = new Uint32Array(count)
  for (let i = 0; i < count; i += 1) numbers[i] = i
  return numbers
}

function searched(reader: PackReader, ids: Uint8Array, wanted: Uint32Array) {
  const found = reader.findMany(ids, wanted)
  // After a clone one pack has everything.
  if (!found.includes(-1)) return { blobs: wanted, places: found, lacking: new Uint32Array() }
  const isHere = (_: number, i: number) => found[i] !== -1
  return {
    blobs: wanted.filter(isHere),
    places: found.filter(isHere),
    lacking: wanted.filter((blob, i) => !isHere(blob, i)),
  }
}

/** The sizes of whole blobs. */
function readSizes({ reader, blobs, places }: UsefulPack, sizes: Float64Array): void {
  try {
    const found = reader.blobSizes(places)
    for (let i = 0; i < blobs.length; i += 1) sizes[blobs[i] ?? 0] = found[i] ?? -1
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

function openReader(fs: Fs, { idx }: UserPack): PackReader | undefined {
  try {
    return PackReader.open(fs, parentOf(idx) as AbsPath, nameOf(idx).replace(/\.idx$/, ''))
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}

/** The user's own gc may have removed it in this instant, or it is damaged: their files are on disk all the same. */
function isGone(error: unknown): boolean {
  return isFailure(error, 'store-damaged') || errorCode(error) !== undefined
}

function adopt(store: ObjectStore, { pack, idx, reader }: UsefulPack): boolean {
  try {
    store.adoptPack(pack, idx, reader.index)
    return true
  } catch (error) {
    if (!isFailure(error, 'store-damaged')) throw error
    return false // a pack that is no good to borrow is no loss
  }
}

function bytesOf(fs: Fs, packs: readonly UserPack[]): number {
  return packs.reduce((sum, { pack }) => sum + (fs.lstat(pack)?.size ?? 0), 0)
}

/** Found out by trying: another disk, another owner and some file systems all say no in their own way. */
function canLink(store: ObjectStore, packs: readonly UserPack[]): boolean {
  const probe = packs[0]
  if (probe === undefined) return true
  const name = joinAbs(store.packFolder, tempName('idx', 'probe'))
  try {
    store.fs.hardLink(probe.pack, name)
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return false
  }
  removeQuietly(store.fs, name)
  return true
}

async function askSizes(git: Git, store: ObjectStore, ids: Uint8Array, sizes: Float64Array): Promise<void> {
  if (!sizes.includes(-1)) return
  const bytes = Buffer.from(ids.buffer, ids.byteOffset, ids.length)
  const unsure = new Map<string, number[]>()
  for (let blob = 0; blob < sizes.length; blob += 1) {
    if (sizes[blob] !== -1) continue
    const id = bytes.toString('hex', blob * 20, blob * 20 + 20)
    const same = unsure.get(id)
    if (same !== undefined) same.push(blob)
    else if (store.hasPacked(id as ObjectId)) unsure.set(id, [blob])
  }
  if (unsure.size === 0) return
  const args = ['cat-file', '--batch-check=%(objectname) %(objecttype) %(objectsize)', '--buffer']
  const run = await git.run(args, { input: `${[...unsure.keys()].join('\n')}\n` })
  for (const line of run.stdout.toString('latin1').split('\n')) {
    const match = /^([0-9a-f]{40}) blob ([0-9]+)$/.exec(line)
    for (const blob of unsure.get(match?.[1] ?? '') ?? []) sizes[blob] = Number(match?.[2])
  }
}
