/** Ids of objects, as bytes: a set of a million texts would take a hundred megabytes. */

import type { ObjectId } from '../values.ts'

const idBytes = 20

export class IdSet {
  /** Twice as many places as ids at least; one that is free is all zeros, which is no object's id. */
  #places = Buffer.alloc(1024 * idBytes)
  #size = 0

  get size(): number {
    return this.#size
  }

  has(id: ObjectId): boolean {
    return !isFree(this.#places, placeOf(this.#places, Buffer.from(id, 'hex')))
  }

  /** False: it was there already. */
  add(id: ObjectId): boolean {
    const bytes = Buffer.from(id, 'hex')
    const at = placeOf(this.#places, bytes)
    if (!isFree(this.#places, at)) return false
    bytes.copy(this.#places, at)
    this.#size += 1
    if (this.#size * 2 * idBytes > this.#places.length) this.#grow()
    return true
  }

  #grow(): void {
    const larger = Buffer.alloc(this.#places.length * 2)
    for (let at = 0; at < this.#places.length; at += idBytes) {
      if (isFree(this.#places, at)) continue
      const id = this.#places.subarray(at, at + idBytes)
      id.copy(larger, placeOf(larger, id))
    }
    this.#places = larger
  }
}

/** Where it is, or where it belongs. An id is as good as random, so its beginning is where to look first. */
function placeOf(places: Buffer, id: Buffer): number {
  const count = places.length / idBytes
  let place = id.readUInt32BE(0) % count
  for (; !isFree(places, place * idBytes); place = (place + 1) % count)
    if (id.compare(places, place * idBytes, (place + 1) * idBytes) === 0) break
  return place * idBytes
}

function isFree(places: Buffer, at: number): boolean {
  for (let i = 0; i < idBytes; i += 4) if (places.readUInt32BE(at + i) !== 0) return false
  return true
}
