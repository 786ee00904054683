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
 * Takes over the packs that hold one of the `wanted` blobs, and gives the size of every wanted blob that our
 * store has from then on. A blob that is not in the answer has to be read from disk.
 *
 * The size of a whole blob stands in front of it in the pack. That of a delta is inside its stream: git is asked.
 */
export async function borrowPacks(
  git: Git,
  store: ObjectStore,
  packs: readonly UserPack[],
  wanted: Iterable<string>,
): Promise<ReadonlyMap<string, number>> {
  const ids = [...new Set(wanted)].filter((id) => /^[0-9a-f]{40}$/.test(id))
  const useful = usefulPacks(store.fs, packs, ids)
  const sizes = new Map<string, number>()
  if (canLink(store, useful) || bytesOf(store.fs, useful) <= mostCopiedBytes) {
    for (const pack of useful) if (adopt(store, pack)) readSizes(pack, sizes)
  }
  const unsure = ids.filter((id) => !sizes.has(id) && store.hasPacked(id as ObjectId))
  await askSizes(git, unsure, sizes)
  return sizes
}

/** A pack with the wanted blobs in it that no larger one has. */
interface UsefulPack extends UserPack {
  readonly reader: PackReader
  readonly places: readonly number[]
}

function usefulPacks(fs: Fs, packs: readonly UserPack[], wanted: readonly string[]): readonly UsefulPack[] {
  const largestFirst = packs.toSorted((a, b) => bytesOf(fs, [b]) - bytesOf(fs, [a]))
  const useful: UsefulPack[] = []
  let left = wanted
  for (const pack of largestFirst) {
    const reader = left.length === 0 ? undefined : openReader(fs, pack)
    if (reader === undefined) continue
    const places: number[] = []
    left = left.filter((id) => {
      const place = reader.find(id as ObjectId)
      if (place >= 0) places.push(place)
      return place < 0
    })
    if (places.length > 0) useful.push({ ...pack, reader, places })
  }
  return useful
}

/** The sizes of whole blobs. */
function readSizes({ reader, places }: UsefulPack, sizes: Map<string, number>): void {
  try {
    for (const { place, kind, size } of reader.heads(places))
      if (kind === 'blob') sizes.set(reader.idAt(place), size)
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

function adopt(store: ObjectStore, { pack, idx }: UserPack): boolean {
  try {
    store.adoptPack(pack, idx)
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

async function askSizes(git: Git, ids: readonly string[], sizes: Map<string, number>): Promise<void> {
  if (ids.length === 0) return
  const args = ['cat-file', '--batch-check=%(objectname) %(objecttype) %(objectsize)', '--buffer']
  const run = await git.run(args, { input: `${ids.join('\n')}\n` })
  for (const line of run.stdout.toString('latin1').split('\n')) {
    const match = /^([0-9a-f]{40}) blob ([0-9]+)$/.exec(line)
    if (match?.[1] !== undefined) sizes.set(match[1], Number(match[2]))
  }
}
