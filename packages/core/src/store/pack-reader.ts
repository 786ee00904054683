/**
 * Reads git packs: index version 2, whole objects, and both kinds of deltas. Nothing here is trusted: sizes
 * and offsets are checked before they are used, and whoever asks for an object checks the bytes against its
 * id. A pack is never written to.
 */

import { crc32, inflateSync } from 'node:zlib'
import { errorCode, type Fs } from '../fs.ts'
import type { ObjectKind } from '../object-id.ts'
import { type AbsPath, joinAbs, type ObjectId } from '../values.ts'
import { storeDamaged } from './damage.ts'
import { applyDelta } from './delta.ts'
import { sha1Hex } from './pack-writer.ts'

/** Borrowed packs may hold tags. Nobody here needs one, but a walk over all objects meets them. */
export type AnyKind = ObjectKind | 'tag'

export interface RawContent {
  readonly kind: AnyKind
  readonly bytes: Buffer
}

/** Reads the base of a delta from another pack. `jumps` says how many packs the chain has been through. */
export type ReadBase = (id: ObjectId, jumps: number) => RawContent

const idsAt = 8 + 1024
const firstRead = 4096
// Seven bits of the size in each byte but the first.
const mostHeadBytes = 10
// What is read whole stays in memory as long as the store is open, and there may be dozens of such packs.
const wholePackBytes = 64 * 1024
const windowBytes = 64 * 1024
// To read what lies between two objects of one stretch costs less than to ask twice.
const stretchBytes = 16 * 1024
const mostStretches = 32
const fewObjects = 16
// How far off a guess of an id's place may be; ids are spread evenly.
const nearby = 24
const none = Buffer.alloc(0)
// Git itself stops at 4,095. A chain that goes on is a circle.
const deepestDelta = 4096
// Git keeps each chain in one pack. Ours may cross a few, but not for ever.
const mostJumps = 8
// A damaged size must not make us ask for all the memory there is.
const largestObject = 2 ** 31

const kinds: readonly (AnyKind | undefined)[] = [undefined, 'commit', 'tree', 'blob', 'tag']
const offsetDelta = 6
const idDelta = 7

/** The start of one object in a pack: what it is, and where its zlib stream begins. */
interface Entry {
  readonly type: number
  readonly size: number
  readonly chunk: Buffer
  /** Where the stream begins, in `chunk` and in the pack. */
  readonly inChunk: number
  readonly inPack: number
  readonly baseOffset: number
  readonly baseId: ObjectId | undefined
}

/** The first four bytes of an id, as a number; who asks many packs works it out once. */
export function leadOf(id: ObjectId): number {
  return Number.parseInt(id.slice(0, 8), 16)
}

/** One pack and its index. The index is read and checked at once, the pack when an object is found in it. */
export class PackReader {
  readonly name: string
  /** How many objects it holds. */
  readonly count: number
  readonly #fs: Fs
  readonly #path: AbsPath
  readonly #idx: Buffer
  readonly #words: DataView
  #size: number | undefined
  #whole: Buffer | undefined
  #window: { readonly position: number; readonly bytes: Buffer } = {
    position: Number.NEGATIVE_INFINITY,
    bytes: none,
  }

  /** Throws `store-damaged` when the index cannot be relied on. */
  static open(fs: Fs, folder: AbsPath, name: string): PackReader {
    const idx = fs.readFile(joinAbs(folder, `${name}.idx`))
    const flaw = flawOfIndex(idx)
    if (flaw !== undefined) throw storeDamaged(`the index of ${name} cannot be used, ${flaw}`)
    return new PackReader(fs, folder, name, idx)
  }

  /** For an index that this process has just made: it needs no second look. */
  static fromTrustedIndex(fs: Fs, folder: AbsPath, name: string, idx: Buffer): PackReader {
    return new PackReader(fs, folder, name, idx)
  }

  private constructor(fs: Fs, folder: AbsPath, name: string, idx: Buffer) {
    this.name = name
    this.count = idx.readUInt32BE(8 + 255 * 4)
    this.#fs = fs
    this.#path = joinAbs(folder, `${name}.pack`)
    this.#idx = idx
    this.#words = new DataView(idx.buffer, idx.byteOffset, idx.length)
  }

  /** The bytes of the index, checked. */
  get index(): Buffer {
    return this.#idx
  }

  /** The object's place in the index, or -1. Touches no disk. */
  find(id: ObjectId, lead = leadOf(id)): number {
    const first = lead >>> 24
    let low = first === 0 ? 0 : this.#idx.readUInt32BE(8 + (first - 1) * 4)
    let high = this.#idx.readUInt32BE(8 + first * 4)
    while (low < high) {
      const middle = (low + high) >>> 1
      const found = this.#idx.readUInt32BE(idsAt + middle * 20)
      const order = found === lead ? compare(this.idAt(middle), id) : found - lead
      if (order === 0) return middle
      if (order < 0) low = middle + 1
      else high = middle
    }
    return -1
  }

  /**
   * The places of many ids, 20 bytes each, of which `wanted` says the numbers; -1 for those that are not here. As
   * strings they would take longer than the search, and to halve all of the index for each means to wait for memory.
   */
  findMany(ids: Uint8Array, wanted: Uint32Array): Int32Array {
    const places = new Int32Array(wanted.length)
    for (let i = 0; i < wanted.length; i += 1) places[i] = this.#placeOf(ids, (wanted[i] ?? 0) * 20)
    return places
  }

  #placeOf(ids: Uint8Array, at: number): number {
    const words = this.#words
    const lead = leadAt(ids, at)
    const first = lead >>> 24
    const start = first === 0 ? 0 : words.getUint32(4 + first * 4)
    const end = words.getUint32(8 + first * 4)
    for (let place = firstFrom(words, lead, start, end); place < end; place += 1) {
      if (words.getUint32(idsAt + place * 20) !== lead) return -1
      if (this.#isAt(place, ids, at)) return place
    }
    return -1
  }

  #isAt(place: number, bytes: Uint8Array, at: number): boolean {
    const start = idsAt + place * 20
    for (let i = 4; i < 20; i += 1) if (this.#idx[start + i] !== bytes[at + i]) return false
    return true
  }

  idAt(place: number): ObjectId {
    const at = idsAt + place * 20
    return this.#idx.toString('hex', at, at + 20) as ObjectId
  }

  /** As `leadOf` has it. */
  leadAt(place: number): number {
    return this.#idx.readUInt32BE(idsAt + place * 20)
  }

  /** The size of the pack file. Makes sure, once, that the pack is there, whole in length, and this index's own. */
  size(): number {
    this.#size ??= this.#checkPack()
    return this.#size
  }

  read(place: number, readBase: ReadBase, jumps = 0): RawContent {
    return this.#readAt(this.#offsetAt(place), readBase, jumps)
  }

  /** What each object takes in the pack file. */
  *diskSizes(): IterableIterator<{ readonly id: ObjectId; readonly bytes: number }> {
    const places = Array.from({ length: this.count }, (_, place) => place)
    const sorted = places.map((place) => ({ place, offset: this.#offsetAt(place) }))
    sorted.sort((a, b) => a.offset - b.offset)
    const end = this.size() - 20
    for (const [at, { place, offset }] of sorted.entries())
      yield { id: this.idAt(place), bytes: (sorted[at + 1]?.offset ?? end) - offset }
  }

  /** The size of each whole blob; -1 for all else. That of a delta is inside its stream, and not looked for. */
  blobSizes(places: ArrayLike<number>): Float64Array {
    const end = this.size() - 20
    const offsets = new Float64Array(places.length)
    for (let i = 0; i < places.length; i += 1) {
      const offset = this.#offsetAt(places[i] ?? 0)
      if (offset < 12 || offset >= end) throw storeDamaged(`${this.name} has an offset outside the pack`)
      offsets[i] = offset
    }
    const sizes = new Float64Array(places.length)
    if (places.length <= fewObjects)
      return offsets.map((at) => this.#blobSizeIn(this.#readPart(at, Math.min(mostHeadBytes, end - at)), 0))
    const memory = Buffer.allocUnsafeSlow(mostStretches * stretchBytes + mostHeadBytes)
    for (const { from, to, objects } of piecesOf(offsets, end)) {
      const piece = this.#whole?.subarray(from, to) ?? this.#fs.readPart(this.#path, from, to - from, memory)
      this.#blobSizesIn(piece, from, objects, offsets, sizes)
    }
    return sizes
  }

  #blobSizesIn(
    piece: Buffer,
    from: number,
    objects: Uint32Array,
    offsets: Float64Array,
    sizes: Float64Array,
  ): void {
    for (let i = 0; i < objects.length; i += 1) {
      const object = objects[i] ?? 0
      sizes[object] = this.#blobSizeIn(piece, (offsets[object] ?? 0) - from)
    }
  }

  /** Without an object for each of 100,000: that took longer than to read them all. */
  #blobSizeIn(piece: Buffer, at: number): number {
    const first = piece[at] ?? 0
    let size = first & 15
    let unit = 16
    for (let byte = first; byte >= 0x80; unit *= 128) {
      at += 1
      if (at >= piece.length) throw storeDamaged(`${this.name} is cut short`)
      byte = piece[at] ?? 0
      size += (byte & 0x7f) * unit
      if (size > largestObject) throw storeDamaged(`${this.name} has an object of absurd size`)
    }
    return kinds[typeOf(first)] === 'blob' ? size : -1
  }

  /**
   * All objects as the bytes that stand in the pack, checked against the index's checksums; for joining
   * packs. `undefined` when there are deltas among them: those depend on where they lie.
   */
  readRawObjects(): readonly { readonly id: ObjectId; readonly raw: Buffer }[] | undefined {
    const size = this.size()
    const pack = this.#readPart(0, size)
    const places = Array.from({ length: this.count }, (_, place) => ({
      place,
      offset: this.#offsetAt(place),
    }))
    places.sort((a, b) => a.offset - b.offset)
    const objects: { readonly id: ObjectId; readonly raw: Buffer }[] = []
    for (const [i, { place, offset }] of places.entries()) {
      const raw = pack.subarray(offset, places[i + 1]?.offset ?? size - 20)
      if (typeOf(raw[0] ?? 0) > 4) return undefined
      if (crc32(raw) !== this.#crcAt(place)) throw this.#damaged('holds an object with flipped bits', place)
      objects.push({ id: this.idAt(place), raw })
    }
    return objects
  }

  #checkPack(): number {
    const stat = this.#fs.lstat(this.#path)
    if (stat === undefined || stat.kind !== 'file') throw storeDamaged(`${this.name}.pack is missing`)
    if (stat.size < 32) throw storeDamaged(`${this.name}.pack is cut short`)
    if (stat.size <= wholePackBytes) this.#whole = this.#fs.readFile(this.#path)
    const head = this.#readPart(0, 12)
    const known = head.toString('latin1', 0, 4) === 'PACK' && (head[7] === 2 || head[7] === 3)
    if (!known || head.readUInt32BE(8) !== this.count)
      throw storeDamaged(`${this.name}.pack has a damaged head`)
    // The last 20 bytes tell a pack that was cut short, and one that belongs to another index of the same name.
    const checksum = this.#idx.subarray(this.#idx.length - 40, this.#idx.length - 20)
    if (!this.#readPart(stat.size - 20, 20).equals(checksum)) {
      throw storeDamaged(`${this.name}.pack is cut short or does not belong to its index`)
    }
    return stat.size
  }

  #readPart(position: number, length: number): Buffer {
    if (this.#whole !== undefined) return this.#whole.subarray(position, position + length)
    const window = this.#window
    const from = position - window.position
    if (from >= 0 && from + length <= window.bytes.length) return window.bytes.subarray(from, from + length)
    // Trees of one capture lie together: who reads on nearby gets a larger piece at once.
    const isNear = Math.abs(from) < 2 * windowBytes
    const bytes = this.#fs.readPart(this.#path, position, isNear ? Math.max(length, windowBytes) : length)
    if (length <= windowBytes) this.#window = { position, bytes }
    return bytes.subarray(0, length)
  }

  #crcAt(place: number): number {
    return this.#idx.readUInt32BE(idsAt + this.count * 20 + place * 4)
  }

  #offsetAt(place: number): number {
    const offsets = idsAt + this.count * 24
    const offset = this.#words.getUint32(offsets + place * 4)
    if (offset < 0x80000000) return offset
    // Beyond 2 GiB the entry points into a second table of 8 bytes each.
    const far = offsets + this.count * 4 + (offset - 0x80000000) * 8
    if (far + 8 > this.#idx.length - 40) throw this.#damaged('has an offset that leads nowhere', place)
    return Number(this.#idx.readBigUInt64BE(far))
  }

  #readAt(offset: number, readBase: ReadBase, jumps: number): RawContent {
    const deltas: Buffer[] = []
    for (let entry = this.#entryAt(offset); ; ) {
      const bytes = this.#inflate(entry)
      const kind = kinds[entry.type]
      if (kind !== undefined) return { kind, bytes: applyAll(bytes, deltas) }
      deltas.push(bytes)
      if (deltas.length > deepestDelta || jumps > mostJumps) {
        throw storeDamaged(`${this.name} has a chain of deltas without an end`)
      }
      const place = entry.baseId === undefined ? -1 : this.find(entry.baseId)
      if (entry.baseId !== undefined && place < 0) {
        const base = readBase(entry.baseId, jumps + 1)
        return { kind: base.kind, bytes: applyAll(base.bytes, deltas) }
      }
      entry = this.#entryAt(place < 0 ? entry.baseOffset : this.#offsetAt(place))
    }
  }

  #entryAt(offset: number): Entry {
    const end = this.size() - 20
    if (offset < 12 || offset >= end) throw storeDamaged(`${this.name} has an offset outside the pack`)
    const chunk = this.#readPart(offset, Math.min(firstRead, end - offset))
    const cursor = new Cursor(chunk, this.name)
    const first = cursor.next()
    const size = cursor.restOfSize(first)
    const type = typeOf(first)
    const baseOffset = type === offsetDelta ? offset - cursor.distance() : 0
    const baseId = type === idDelta ? cursor.id() : undefined
    if (kinds[type] === undefined && type !== offsetDelta && type !== idDelta) {
      throw storeDamaged(`${this.name} has an object of an unknown type`)
    }
    return { type, size, chunk, inChunk: cursor.at, inPack: offset + cursor.at, baseOffset, baseId }
  }

  #inflate({ size, chunk, inChunk, inPack }: Entry): Buffer {
    const left = this.size() - 20 - inPack
    // What zlib makes of `size` bytes that do not compress; only a strange writer needs more.
    let length = Math.min(left, size + Math.ceil(size / 1000) + 64)
    let bytes = chunk.length - inChunk >= length ? chunk.subarray(inChunk) : this.#readPart(inPack, length)
    for (;;) {
      const content = inflated(bytes, size)
      if (content !== 'cut short' && content !== 'damaged') return content
      if (content === 'damaged' || length >= left) throw storeDamaged(`${this.name} has damaged bytes`)
      length = Math.min(left, length * 2)
      bytes = this.#readPart(inPack, length)
    }
  }

  #damaged(flaw: string, place: number): Error {
    return storeDamaged(`${this.name} ${flaw}`, this.idAt(place))
  }
}

function leadAt(bytes: Uint8Array, at: number): number {
  return (
    (((bytes[at] ?? 0) << 24) |
      ((bytes[at + 1] ?? 0) << 16) |
      ((bytes[at + 2] ?? 0) << 8) |
      (bytes[at + 3] ?? 0)) >>>
    0
  )
}

/** Of the places of one first byte, the first whose id begins with these four bytes, or more. */
function firstFrom(words: DataView, lead: number, start: number, end: number): number {
  let low = start
  let high = end
  const guess = start + Math.floor(((end - start) * (lead & 0xffffff)) / 0x1000000)
  const before = guess - nearby
  const behind = guess + nearby
  if (before >= low && words.getUint32(idsAt + before * 20) < lead) low = before + 1
  if (behind < high && words.getUint32(idsAt + behind * 20) >= lead) high = behind
  while (low < high) {
    const middle = (low + high) >>> 1
    if (words.getUint32(idsAt + middle * 20) < lead) low = middle + 1
    else high = middle
  }
  return low
}

interface Piece {
  readonly from: number
  readonly to: number
  /** Numbers of the offsets in it. */
  readonly objects: Uint32Array
}

/** The pack from end to end, in pieces that are worth reading at once; what holds none of the offsets is passed over. */
function* piecesOf(offsets: Float64Array, end: number): IterableIterator<Piece> {
  const { starts, objects } = byStretch(offsets, end)
  for (let stretch = 0; stretch + 1 < starts.length; ) {
    const first = stretch
    while (starts[stretch + 1] !== starts[stretch] && stretch - first < mostStretches) stretch += 1
    if (stretch === first) stretch += 1
    else {
      const to = Math.min(stretch * stretchBytes + mostHeadBytes, end)
      yield { from: first * stretchBytes, to, objects: objects.subarray(starts[first], starts[stretch]) }
    }
  }
}

/** Numbers of the offsets, those in the same stretch of the pack beside each other. To sort them would take longer. */
function byStretch(offsets: Float64Array, end: number) {
  const count = Math.ceil(end / stretchBytes)
  const starts = new Uint32Array(count + 1)
  for (let i = 0; i < offsets.length; i += 1) {
    const stretch = Math.floor((offsets[i] ?? 0) / stretchBytes)
    starts[stretch + 1] = (starts[stretch + 1] ?? 0) + 1
  }
  for (let i = 1; i <= count; i += 1) starts[i] = (starts[i] ?? 0) + (starts[i - 1] ?? 0)
  const next = starts.slice()
  const objects = new Uint32Array(offsets.length)
  for (let i = 0; i < offsets.length; i += 1) {
    const stretch = Math.floor((offsets[i] ?? 0) / stretchBytes)
    const place = next[stretch] ?? 0
    objects[place] = i
    next[stretch] = place + 1
  }
  return { starts, objects }
}

/** Reads the numbers in front of an object, which are as long as they need to be. */
class Cursor {
  at = 0
  readonly #chunk: Buffer
  readonly #name: string

  constructor(chunk: Buffer, name: string) {
    this.#chunk = chunk
    this.#name = name
  }

  next(): number {
    const byte = this.#chunk[this.at]
    if (byte === undefined) throw storeDamaged(`${this.#name} is cut short`)
    this.at += 1
    return byte
  }

  restOfSize(first: number): number {
    let size = first & 15
    let unit = 16
    for (let byte = first; byte >= 0x80; unit *= 128) {
      byte = this.next()
      size += (byte & 0x7f) * unit
      if (size > largestObject) throw storeDamaged(`${this.#name} has an object of absurd size`)
    }
    return size
  }

  /** How far before the delta its base lies. */
  distance(): number {
    let byte = this.next()
    let distance = byte & 0x7f
    while (byte >= 0x80) {
      byte = this.next()
      distance = (distance + 1) * 128 + (byte & 0x7f)
      if (distance > Number.MAX_SAFE_INTEGER / 256)
        throw storeDamaged(`${this.#name} has a base that is nowhere`)
    }
    return distance
  }

  id(): ObjectId {
    if (this.at + 20 > this.#chunk.length) throw storeDamaged(`${this.#name} is cut short`)
    this.at += 20
    return this.#chunk.toString('hex', this.at - 20, this.at) as ObjectId
  }
}

/** What is wrong with the bytes of an index, or nothing. */
export function flawOfIndex(idx: Buffer): string | undefined {
  if (idx.length < idsAt + 40) return 'it is cut short'
  if (idx.readUInt32BE(0) !== 0xff744f63 || idx.readUInt32BE(4) !== 2) return 'it is no index of version 2'
  let count = 0
  for (let first = 0; first < 256; first += 1) {
    const next = idx.readUInt32BE(8 + first * 4)
    if (next < count) return 'its counts do not grow'
    count = next
  }
  const far = idx.length - (idsAt + count * 28 + 40)
  if (far < 0 || far % 8 !== 0 || far > count * 8) return 'its size does not fit its count'
  const checksum = idx.toString('hex', idx.length - 20)
  if (sha1Hex(idx.subarray(0, idx.length - 20)) !== checksum) return 'its checksum does not fit'
  return undefined
}

/** The content of a zlib stream that is `size` bytes long; what follows the stream is not looked at. */
export function inflated(bytes: Buffer, size: number): Buffer | 'cut short' | 'damaged' {
  const stored = storedContent(bytes, size)
  if (stored !== undefined) return stored
  try {
    const content = inflateSync(bytes, { maxOutputLength: Math.max(size, 1), chunkSize: chunkSizeFor(size) })
    return content.length === size ? content : 'damaged'
  } catch (error) {
    const code = errorCode(error)
    if (code === 'Z_BUF_ERROR') return 'cut short'
    if (code?.startsWith('Z_') || code === 'ERR_BUFFER_TOO_LARGE') return 'damaged'
    throw error
  }
}

// Small objects of ours are stored blocks, see pack-writer.ts: no need to start zlib for them.
function storedContent(bytes: Buffer, size: number): Buffer | undefined {
  if (bytes[0] !== 0x78 || bytes[1] !== 0x01 || bytes[2] !== 1 || bytes.length < size + 11) return undefined
  if (bytes.readUInt16LE(3) !== size) return undefined
  return Buffer.from(bytes.subarray(7, 7 + size))
}

function chunkSizeFor(size: number): number {
  return size < 16 * 1024 ? 16 * 1024 : Math.min(size + 64, 1024 * 1024)
}

function applyAll(base: Buffer, deltas: readonly Buffer[]): Buffer {
  return deltas.reduceRight((bytes, delta) => applyDelta(bytes, delta), base)
}

function typeOf(first: number): number {
  return (first >> 4) & 7
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
