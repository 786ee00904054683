/** The table and what belongs to it, as a file: read in one piece, replaced in one instant. */

import { closeSync, fstatSync, openSync, readSync, renameSync, unlinkSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { errorCode } from '../fs.ts'
import type { AbsPath } from '../values.ts'
import { CacheTable, hasOurHeader } from './cache-table.ts'

/** What stands behind the table. */
export interface CacheMeta {
  /** The snapshot that the table describes. */
  readonly tree: string
  readonly attrs: string
  readonly fingerprint: string
}

/** `undefined` where there is none, or it is damaged, or of another version. */
export function readCacheFile(
  path: AbsPath,
): { readonly table: CacheTable; readonly meta: CacheMeta } | undefined {
  const buffer = readShared(path)
  if (buffer === undefined) return undefined
  const table = new CacheTable(buffer.shared)
  if (!isSound(table, buffer.length)) return undefined
  const meta = parseMeta(table.bytes.toString('latin1', table.end, buffer.length))
  return meta === undefined ? undefined : { table, meta }
}

/** Not synced: after a power cut the checksum tells. */
export function writeCacheFile(
  path: AbsPath,
  table: CacheTable,
  { tree, attrs, fingerprint }: CacheMeta,
): void {
  const meta = Buffer.from(JSON.stringify({ tree, attrs, fingerprint }), 'latin1')
  table.u32[2] = 0
  table.u32[2] = crc32(meta, crc32(table.bytes.subarray(0, table.end)))
  const temporary = Buffer.from(`${path}.${process.pid}.tmp`, 'latin1')
  writeWhole(temporary, [table.bytes.subarray(0, table.end), meta])
  renameSync(temporary, Buffer.from(path, 'latin1'))
}

function readShared(
  path: AbsPath,
): { readonly shared: SharedArrayBuffer; readonly length: number } | undefined {
  let handle: number
  try {
    handle = openSync(Buffer.from(path, 'latin1'), 'r')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    const length = fstatSync(handle).size
    const shared = new SharedArrayBuffer(Math.ceil(length / 8) * 8)
    return readSync(handle, new Uint8Array(shared, 0, length)) === length ? { shared, length } : undefined
  } finally {
    closeSync(handle)
  }
}

function isSound(table: CacheTable, length: number): boolean {
  if (!hasOurHeader(table, length)) return false
  const expected = table.u32[2] ?? 0
  table.u32[2] = 0
  return crc32(table.bytes.subarray(0, length)) === expected
}

function parseMeta(text: string): CacheMeta | undefined {
  const meta: unknown = JSON.parse(text) // behind the checksum: what is here is what we wrote
  if (typeof meta !== 'object' || meta === null) return undefined
  const { tree, attrs, fingerprint } = meta as Record<string, unknown>
  return typeof tree === 'string' && typeof attrs === 'string' && typeof fingerprint === 'string'
    ? { tree, attrs, fingerprint }
    : undefined
}

function writeWhole(path: Buffer, parts: readonly Buffer[]): void {
  const handle = openSync(path, 'w', 0o600)
  try {
    for (const part of parts)
      for (let done = 0; done < part.length; ) done += writeSync(handle, part, done, part.length - done)
  } catch (error) {
    unlinkSync(path)
    throw error
  } finally {
    closeSync(handle)
  }
}
