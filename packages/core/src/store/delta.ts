/** Git's deltas: an object as pieces of another one and new bytes in between. */

import { storeDamaged } from './damage.ts'

const largestResult = 2 ** 31

/** Throws `store-damaged` where the delta does not fit its base to the byte. */
export function applyDelta(base: Buffer, delta: Buffer): Buffer {
  const reader = new DeltaReader(delta)
  if (reader.size() !== base.length) throw damagedDelta()
  const result = Buffer.allocUnsafe(checkedSize(reader.size()))
  let at = 0
  while (!reader.done()) {
    const piece = reader.piece(base)
    if (at + piece.length > result.length) throw damagedDelta()
    piece.copy(result, at)
    at += piece.length
  }
  // Memory that nothing was copied to holds whatever was there before.
  if (at !== result.length) throw damagedDelta()
  return result
}

class DeltaReader {
  readonly #delta: Buffer
  #at = 0

  constructor(delta: Buffer) {
    this.#delta = delta
  }

  done(): boolean {
    return this.#at >= this.#delta.length
  }

  size(): number {
    let size = 0
    let unit = 1
    for (let byte = 0x80; byte >= 0x80; unit *= 128) {
      byte = this.#next()
      size += (byte & 0x7f) * unit
      if (size > largestResult) throw damagedDelta()
    }
    return size
  }

  piece(base: Buffer): Buffer {
    const order = this.#next()
    if (order === 0) throw damagedDelta()
    return order < 0x80 ? this.#inserted(order) : this.#copied(order, base)
  }

  #inserted(length: number): Buffer {
    const start = this.#at
    this.#at += length
    if (this.#at > this.#delta.length) throw damagedDelta()
    return this.#delta.subarray(start, this.#at)
  }

  #copied(order: number, base: Buffer): Buffer {
    const offset = this.#sparse(order, 4)
    const length = this.#sparse(order >> 4, 3) || 0x10000
    if (offset + length > base.length) throw damagedDelta()
    return base.subarray(offset, offset + length)
  }

  /** A number of which only the bytes named by the lowest `count` bits of `present` are there. */
  #sparse(present: number, count: number): number {
    let value = 0
    for (let i = 0; i < count; i += 1) {
      if ((present >> i) & 1) value += this.#next() * 2 ** (8 * i)
    }
    return value
  }

  #next(): number {
    const byte = this.#delta[this.#at]
    if (byte === undefined) throw damagedDelta()
    this.#at += 1
    return byte
  }
}

function checkedSize(size: number): number {
  if (size > largestResult) throw damagedDelta()
  return size
}

function damagedDelta(): Error {
  return storeDamaged('a delta does not fit its base')
}
