/**
 * Writes git packs (version 2) with their index (version 2). The bytes are made in memory and reach the disk
 * in an order in which every cut leaves either no pack or a whole one:
 *
 *   tmp-pack synced → tmp-idx synced → folder synced → pack renamed → idx renamed → folder synced
 *
 * A pack counts only once its index has its name. A power cut may keep one rename and lose the other, in any
 * order; the temp name of the other half is on disk by then and proves that the flush was cut in between, so
 * `removeLeftovers` in consolidate.ts can finish it. Without the first sync of the folder, half a pack could
 * be all that is left, and look like damage.
 */

import { hash, randomBytes } from 'node:crypto'
import { crc32, deflateSync } from 'node:zlib'
import { UnturnError } from '../errors.ts'
import { errorCode, type Fs } from '../fs.ts'
import type { ObjectKind } from '../object-id.ts'
import { type AbsPath, joinAbs, type ObjectId } from '../values.ts'

/** One object as it stands in a pack: its type, its full size, and its bytes as a zlib stream. */
export interface PackedObject {
  readonly id: ObjectId
  readonly kind: ObjectKind
  readonly size: number
  readonly deflated: Uint8Array
}

/** One object as raw bytes of another pack, header included. */
export interface RawObject {
  readonly id: ObjectId
  readonly raw: Uint8Array
}

export interface BuiltPack {
  /** `pack-<checksum>`, without an ending. */
  readonly name: string
  readonly pack: Buffer
  readonly idx: Buffer
  readonly objects: number
}

const typeNumbers = { commit: 1, tree: 2, blob: 3 } as const
const storedUpTo = 1024

/** The bytes as a zlib stream, as packs and loose objects hold them. */
export function deflated(bytes: Uint8Array): Buffer {
  // Starting zlib costs 80 µs, more than all else about a small object. A stored block is as good for git.
  return bytes.length <= storedUpTo ? storedStream(bytes) : deflateSync(bytes, { level: 1 })
}

function storedStream(bytes: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(bytes.length + 11)
  out.writeUInt16BE(0x7801, 0)
  out[2] = 1 // the one and last block, stored
  out.writeUInt16LE(bytes.length, 3)
  out.writeUInt16LE(~bytes.length & 0xffff, 5)
  out.set(bytes, 7)
  out.writeUInt32BE(adler32(bytes), bytes.length + 7)
  return out
}

// Sums stay below 2^31 for the few bytes a stored block has here, so one modulo at the end is enough.
function adler32(bytes: Uint8Array): number {
  let a = 1
  let b = 0
  for (let i = 0; i < bytes.length; i += 1) {
    a += bytes[i] ?? 0
    b += a
  }
  return (b % 65521) * 65536 + (a % 65521)
}

export function buildPack(objects: readonly PackedObject[]): BuiltPack {
  return buildRawPack(
    objects.map(({ id, kind, size, deflated }) => ({ id, head: entryHead(kind, size), deflated })),
  )
}

export function buildPackFromRaw(objects: readonly RawObject[]): BuiltPack {
  return buildRawPack(objects.map(({ id, raw }) => ({ id, head: noBytes, deflated: raw })))
}

const noBytes = new Uint8Array(0)

interface Piece {
  readonly id: ObjectId
  readonly head: Uint8Array
  readonly deflated: Uint8Array
}

function buildRawPack(pieces: readonly Piece[]): BuiltPack {
  const length = pieces.reduce((sum, piece) => sum + piece.head.length + piece.deflated.length, 12 + 20)
  const pack = Buffer.allocUnsafe(length)
  pack.write('PACK', 0, 'latin1')
  pack.writeUInt32BE(2, 4)
  pack.writeUInt32BE(pieces.length, 8)
  const places: Place[] = []
  let at = 12
  for (const { id, head, deflated } of pieces) {
    pack.set(head, at)
    pack.set(deflated, at + head.length)
    const end = at + head.length + deflated.length
    places.push({ id, offset: at, crc: crc32(pack.subarray(at, end)) })
    at = end
  }
  const checksum = sha1Hex(pack.subarray(0, at))
  pack.write(checksum, at, 'hex')
  return { name: `pack-${checksum}`, pack, idx: buildIndex(places, checksum), objects: pieces.length }
}

/** Type and full size: four bits of size in the first byte, seven in each that follows. */
function entryHead(kind: ObjectKind, size: number): Uint8Array {
  const bytes: number[] = []
  let byte = (typeNumbers[kind] << 4) | (size & 15)
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.push(byte | 0x80)
    byte = rest % 128
  }
  bytes.push(byte)
  return Uint8Array.from(bytes)
}

interface Place {
  readonly id: ObjectId
  readonly offset: number
  readonly crc: number
}

function buildIndex(places: readonly Place[], packChecksum: string): Buffer {
  const sorted = places.toSorted(byId)
  const count = sorted.length
  const idx = Buffer.alloc(8 + 1024 + count * 28 + 40)
  idx.writeUInt32BE(0xff744f63, 0)
  idx.writeUInt32BE(2, 4)
  writeFanOut(idx, sorted)
  const ids = 8 + 1024
  const crcs = ids + count * 20
  const offsets = crcs + count * 4
  for (const [i, { id, offset, crc }] of sorted.entries()) {
    // An offset of 2 GiB or more needs a second table. Our packs end far below, see `mostPendingBytes`.
    if (offset >= 0x80000000) throw new RangeError('A pack of ours has grown beyond 2 GiB.')
    idx.write(id, ids + i * 20, 'hex')
    idx.writeUInt32BE(crc, crcs + i * 4)
    idx.writeUInt32BE(offset, offsets + i * 4)
  }
  idx.write(packChecksum, offsets + count * 4, 'hex')
  idx.write(sha1Hex(idx.subarray(0, idx.length - 20)), idx.length - 20, 'hex')
  return idx
}

function byId(a: Place, b: Place): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
}

function writeFanOut(idx: Buffer, sorted: readonly Place[]): void {
  const counts = new Uint32Array(256)
  for (const { id } of sorted) {
    const first = Number.parseInt(id.slice(0, 2), 16)
    counts[first] = (counts[first] ?? 0) + 1
  }
  let sum = 0
  for (const [first, count] of counts.entries()) {
    sum += count
    idx.writeUInt32BE(sum, 8 + first * 4)
  }
}

export function sha1Hex(bytes: Uint8Array): string {
  return hash('sha1', bytes, 'hex')
}

/** Puts a pack and its index into `folder` (an objects/pack). Durable when it returns. */
export function writePack(fs: Fs, folder: AbsPath, built: BuiltPack): void {
  try {
    installPack(fs, folder, built)
  } catch (error) {
    throw unwritable(fs, folder, built.pack.length + built.idx.length, error)
  }
}

function installPack(fs: Fs, folder: AbsPath, { name, pack, idx }: BuiltPack): void {
  const packTemp = joinAbs(folder, tempName('pack', name))
  const idxTemp = joinAbs(folder, tempName('idx', name))
  try {
    writeSynced(fs, packTemp, pack, 0o600)
    writeSynced(fs, idxTemp, idx, 0o600)
    fs.syncFolder(folder)
    fs.rename(packTemp, joinAbs(folder, `${name}.pack`))
  } catch (error) {
    removeQuietly(fs, packTemp)
    removeQuietly(fs, idxTemp)
    throw error
  }
  // From here on the temp index is the proof that the pack beside it is whole: it stays if the rename fails.
  fs.rename(idxTemp, joinAbs(folder, `${name}.idx`))
  fs.syncFolder(folder)
}

/**
 * `tmp-pack-…` and `tmp-idx-…`. They must not end in `.pack` and `.idx`: git would take the pair for a pack
 * before it is whole. The random part keeps a file that a crash left behind from blocking the next try.
 */
export function tempName(part: 'pack' | 'idx', packName: string): string {
  return `tmp-${part}-${packName.slice('pack-'.length)}-${randomBytes(4).toString('hex')}`
}

export function writeSynced(fs: Fs, path: AbsPath, bytes: Uint8Array, perm: number): void {
  fs.createFile(path, [bytes], perm)
  fs.syncFile(path)
}

/** For temp files after a failure: the failure itself is what the caller must hear of. */
export function removeQuietly(fs: Fs, path: AbsPath): void {
  try {
    fs.unlink(path)
  } catch (error) {
    // What cannot be removed now has a temp name, and `removeLeftovers` will find it.
    if (errorCode(error) === undefined) throw error
  }
}

/** A failed write as people should read it; anything that is no error of the disk is passed on as it is. */
export function unwritable(fs: Fs, folder: AbsPath, neededBytes: number, error: unknown): unknown {
  const code = errorCode(error)
  if (code === undefined || error instanceof UnturnError) return error
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    const freeBytes = freeBytesOrZero(fs, folder)
    return new UnturnError(
      'disk-full',
      { neededBytes, freeBytes },
      {
        message: `The disk is full: the store needs ${neededBytes} bytes, and ${freeBytes} are free. Nothing was recorded, and no file was changed.`,
        hint: 'Free some space and run the same command again. "unturn gc --dry-run" shows what old sessions take.',
        cause: error,
      },
    )
  }
  return new UnturnError(
    'store-unwritable',
    { folder, reason: code },
    {
      message: `The store could not be written (${code}). Nothing was recorded, and no file was changed.`,
      hint: `Check that the folder can be written: ${folder}`,
      cause: error,
    },
  )
}

function freeBytesOrZero(fs: Fs, folder: AbsPath): number {
  try {
    return fs.freeBytes(folder)
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return 0 // only for the message; the disk that is full may not even answer
  }
}
