/** How records of the table are written. Only the thread that has the cache does so. */

import type { BlobId, ByteString } from '../values.ts'
import { Bits, type CacheTable, isWide } from './cache-table.ts'

export interface StatFields {
  readonly size: number
  readonly mtimeMs: number
  readonly ctimeMs: number
  readonly ino: number
}

export interface SkippedEntry extends StatFields {
  readonly name: ByteString
  readonly state: number
  readonly racy: boolean
}

/** What a scan saw of one folder that it listed. */
export interface FolderPatch {
  readonly path: ByteString
  readonly perm: number
  readonly mtimeMs: number
  readonly ctimeMs: number
  readonly ino: number
  readonly bits: number
  readonly skipped: readonly SkippedEntry[]
}

export const noBlob = '0'.repeat(40) as BlobId

export function writeEntry(
  table: CacheTable,
  index: number,
  stat: StatFields,
  bits: number,
  blob: BlobId,
): void {
  const word = table.entryAt(index)
  const double = word >> 1
  table.f64[double] = stat.size
  table.f64[double + 1] = stat.mtimeMs
  table.f64[double + 2] = stat.ctimeMs
  table.f64[double + 3] = stat.ino
  table.u32[word + 10] = bits
  table.bytes.write(blob, (word + 11) * 4, 20, 'hex')
}

export function writeFolderStat(table: CacheTable, index: number, patch: FolderPatch): void {
  const word = table.folderAt(index)
  const double = word >> 1
  table.f64[double] = patch.mtimeMs
  table.f64[double + 1] = patch.ctimeMs
  table.f64[double + 2] = patch.ino
  table.u32[word + 10] = patch.perm | patch.bits | (isWide(patch.path) ? Bits.wide : 0)
}

export function skippedBits(skipped: SkippedEntry): number {
  const wide = isWide(skipped.name) ? Bits.wide : 0
  return (skipped.state << Bits.stateAt) | wide | (skipped.racy ? Bits.racy : 0)
}

export function copyRecords(
  old: CacheTable,
  table: CacheTable,
  from: number,
  to: number,
  count: number,
): void {
  table.u32.set(old.u32.subarray(from, from + count * 16), to)
}

/** Old names stay where they were, so that copied records need no change; new ones are added behind them. */
export class NameWriter {
  readonly #table: CacheTable
  #end = 0

  constructor(table: CacheTable, old?: CacheTable) {
    this.#table = table
    if (old === undefined) return
    old.bytes.copy(table.bytes, table.namesAt, old.namesAt, old.end)
    this.#end = old.end - old.namesAt
  }

  write(word: number, name: ByteString): void {
    this.#table.bytes.write(name, this.#table.namesAt + this.#end, 'latin1')
    this.#table.u32[word + 8] = this.#end
    this.#table.u32[word + 9] = name.length
    this.#end += name.length
  }

  /** Whether one of the bytes is above 0x7f. */
  writeBytes(word: number, source: Uint8Array, from: number, to: number): boolean {
    const { bytes, namesAt, u32 } = this.#table
    u32[word + 8] = this.#end
    u32[word + 9] = to - from
    const shift = namesAt + this.#end - from
    let all = 0
    for (let i = from; i < to; i++) {
      const byte = source[i] ?? 0
      bytes[i + shift] = byte
      all |= byte
    }
    this.#end += to - from
    return all >= 0x80
  }
}
