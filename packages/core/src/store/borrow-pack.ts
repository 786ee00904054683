/**
 * Takes over a pack that lies elsewhere, usually in the user's own repository, which is only read (P5). From
 * then on the bytes are ours as well: the user's gc, or an agent's `rm -rf .git`, takes nothing from us.
 */

import { errorCode, type Fs } from '../fs.ts'
import { type AbsPath, joinAbs } from '../values.ts'
import { storeDamaged } from './damage.ts'
import { flawOfIndex } from './pack-reader.ts'
import { removeQuietly, tempName, unwritable } from './pack-writer.ts'

const copyPart = 4 * 1024 * 1024

/**
 * The pack's name in `folder`; `index` are the bytes of `idx`, read and checked. It is the pack's own checksum, not the name it had: git once named packs by
 * their objects, and two packs of that name have their objects in different places.
 */
export function borrowPack(fs: Fs, folder: AbsPath, pack: AbsPath, idx: AbsPath, index: Buffer): string {
  if ([pack, idx].some((path) => fs.lstat(path)?.kind !== 'file'))
    throw unusable('it is not a pair of plain files')
  const name = `pack-${checkedChecksum(fs, pack, index)}`
  try {
    takeOver(fs, folder, name, pack, idx)
  } catch (error) {
    throw unwritable(fs, folder, fs.lstat(pack)?.size ?? 0, error)
  }
  return name
}

/** The bytes of an index, which can be relied on. */
export function readIndex(fs: Fs, idx: AbsPath): Buffer {
  if (fs.lstat(idx)?.kind !== 'file') throw unusable('it is not a pair of plain files')
  const index = fs.readFile(idx)
  const flaw = flawOfIndex(index)
  if (flaw !== undefined) throw unusable(`of its index: ${flaw}`)
  return index
}

function checkedChecksum(fs: Fs, pack: AbsPath, index: Buffer): string {
  const checksum = index.subarray(index.length - 40, index.length - 20)
  if (!lastBytes(fs, pack).equals(checksum)) throw unusable('it is cut short or has another index')
  return checksum.toString('hex')
}

function unusable(flaw: string): Error {
  return storeDamaged(`a pack cannot be borrowed because ${flaw}`)
}

function lastBytes(fs: Fs, pack: AbsPath): Buffer {
  const size = fs.lstat(pack)?.size ?? 0
  return fs.readPart(pack, Math.max(0, size - 20), 20)
}

function takeOver(fs: Fs, folder: AbsPath, name: string, pack: AbsPath, idx: AbsPath): void {
  const ourPack = joinAbs(folder, `${name}.pack`)
  const ourIdx = joinAbs(folder, `${name}.idx`)
  const idxTemp = joinAbs(folder, tempName('idx', name))
  try {
    // As in `writePack`, the temp index says that the pack beside it waits for its index.
    linkOrCopy(fs, idx, idxTemp)
    fs.syncFile(idxTemp)
    keepAside(fs, joinAbs(folder, `${name}.keep`))
    placePack(fs, folder, name, pack, ourPack)
  } catch (error) {
    removeQuietly(fs, idxTemp)
    throw error
  }
  fs.rename(idxTemp, ourIdx)
  // A rename onto a second name of the same file does nothing, and leaves the first name behind.
  if (fs.lstat(idxTemp) !== undefined) removeQuietly(fs, idxTemp)
  fs.syncFolder(folder)
}

/** Git's own word for "leave this pack alone"; it is how we know a borrowed pack again, too. */
function keepAside(fs: Fs, keep: AbsPath): void {
  if (fs.lstat(keep) === undefined) fs.createFile(keep, [Buffer.from('borrowed\n')], 0o600)
  fs.syncFile(keep)
}

function placePack(fs: Fs, folder: AbsPath, name: string, pack: AbsPath, ourPack: AbsPath): void {
  if (isSamePack(fs, pack, ourPack)) return
  if (fs.lstat(ourPack) !== undefined) fs.unlink(ourPack)
  const temp = joinAbs(folder, tempName('pack', name))
  linkOrCopy(fs, pack, temp)
  fs.syncFile(temp)
  // As in `writePack`: with both temp names on disk, a cut between the renames can be told from damage.
  fs.syncFolder(folder)
  fs.rename(temp, ourPack)
}

function isSamePack(fs: Fs, pack: AbsPath, ourPack: AbsPath): boolean {
  const [theirs, ours] = [fs.lstat(pack), fs.lstat(ourPack)]
  if (ours?.kind !== 'file' || ours.size !== theirs?.size) return false
  return lastBytes(fs, ourPack).equals(lastBytes(fs, pack))
}

function linkOrCopy(fs: Fs, from: AbsPath, to: AbsPath): void {
  try {
    fs.hardLink(from, to)
  } catch (error) {
    if (!cannotLink.has(errorCode(error) ?? '')) throw error
    fs.createFile(to, partsOf(fs, from), 0o600)
  }
}

// Another disk, a file system without links, too many of them, or a file of somebody else (protected_hardlinks).
const cannotLink: ReadonlySet<string> = new Set([
  'EXDEV',
  'EPERM',
  'EMLINK',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EACCES',
])

function* partsOf(fs: Fs, path: AbsPath): IterableIterator<Buffer> {
  const size = fs.lstat(path)?.size ?? 0
  for (let at = 0; at < size; at += copyPart) yield fs.readPart(path, at, Math.min(copyPart, size - at))
}
