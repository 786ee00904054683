/** Reads files as they are on disk, computes their ids, and packs what is new. */

import { createHash, hash } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, type Stats } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { createDeflate, deflateSync } from 'node:zlib'
import { errorCode } from '../fs.ts'
import { type AbsPath, type BlobId, type ByteString, joinAbs, parentOf, type RelPath } from '../values.ts'
import { Bits } from './cache-table.ts'
import { asNodePath, lookAt, typeOf } from './looking.ts'
import { nothingLeft, type Scanner, type SeenFile } from './scan.ts'
import { Control } from './scan-walk.ts'
import { ThreadLost } from './second-thread.ts'

export type Failure = 'gone' | 'unreadable' | 'special'

/** `seen` is the file as it was when it was read, which may be newer than the one asked for. */
export type Content =
  | { readonly seen: SeenFile; readonly blob: BlobId; readonly size: number }
  | { readonly seen: SeenFile; readonly failed: Failure }

export interface ContentSink {
  has(blob: BlobId): boolean
  /** The content as a zlib stream, ready for a pack. */
  addDeflated(kind: 'blob', id: BlobId, size: number, deflated: Buffer): void
}

const filesAtOnce = 32
const partBytes = 8 * 1024 * 1024
/** Above this a file is read in parts. The deflated form still has to fit into memory; 65 MiB is what the tests try. */
const largeFile = 64 * 1024 * 1024
const tries = 5

/**
 * Reads and hashes each file, and hands the content of those that the sink does not have to it. The answers
 * are in the order of `files`. A file that changes while it is read is read again; one that never holds
 * still is 'unreadable'.
 */
export async function readContents(
  scanner: Scanner,
  files: readonly SeenFile[],
  sink: ContentSink,
  onProgress?: (done: number, total: number) => void,
): Promise<readonly Content[]> {
  const reading = new Reading(scanner.root, files, sink, onProgress)
  if (files.length < scanner.threadOptions.readFiles) await reading.readOwnShare()
  else await readByTwo(scanner, files, reading)
  return reading.contents()
}

async function readByTwo(scanner: Scanner, files: readonly SeenFile[], reading: Reading): Promise<void> {
  const share: ReadShare = { root: scanner.root, control: reading.control, ...packed(files) }
  const theirs = scanner
    .secondThread()
    ?.give<unknown>({ kind: 'read', share }, (part) => reading.take(part as Part))
  theirs?.catch(() => undefined) // asked for below, or not needed at all
  try {
    await reading.readOwnShare()
  } finally {
    Atomics.store(reading.control, Control.cursor, nothingLeft)
  }
  if (Atomics.load(reading.control, Control.joined) === 0) return
  try {
    await theirs
  } catch (error) {
    if (!(error instanceof ThreadLost)) throw error
    await scanner.loseThread()
    await reading.readWhatIsMissing()
  }
}

/** An error of the disk behind the sink: the file that was being read must not count as unreadable because of it. */
class SinkFailed extends Error {}

class Reading {
  readonly control = new Int32Array(new SharedArrayBuffer(Control.words * 4))
  readonly #root: AbsPath
  readonly #files: readonly SeenFile[]
  readonly #sink: ContentSink
  readonly #onProgress: ((done: number, total: number) => void) | undefined
  readonly #contents: (Content | undefined)[]
  readonly #added = new Set<BlobId>()
  #done = 0

  constructor(
    root: AbsPath,
    files: readonly SeenFile[],
    sink: ContentSink,
    onProgress: ((done: number, total: number) => void) | undefined,
  ) {
    this.#root = root
    this.#files = files
    this.#sink = sink
    this.#onProgress = onProgress
    this.#contents = files.map(() => undefined)
  }

  async readOwnShare(): Promise<void> {
    for (let start = this.#nextStart(); start < this.#files.length; start = this.#nextStart()) {
      for (let i = start; i < start + filesAtOnce; i++) await this.#readAt(i)
      this.#onProgress?.(this.#done, this.#files.length)
      await setImmediate() // the other thread's parts are heard only when this one pauses
    }
  }

  async readWhatIsMissing(): Promise<void> {
    for (let i = 0; i < this.#files.length; i++) if (this.#contents[i] === undefined) await this.#readAt(i)
    this.#onProgress?.(this.#done, this.#files.length)
  }

  take(part: Part): void {
    const bytes = Buffer.from(part.deflated)
    for (const { index, read, start, end } of part.items) {
      if ('blob' in read && this.#isNew(read.blob)) this.#add(read, bytes.subarray(start, end))
      this.#put(index, read)
    }
    this.#onProgress?.(this.#done, this.#files.length)
  }

  contents(): readonly Content[] {
    return this.#contents.filter((content) => content !== undefined)
  }

  #nextStart(): number {
    return Atomics.add(this.control, Control.cursor, filesAtOnce)
  }

  async #readAt(index: number): Promise<void> {
    const file = this.#files[index]
    if (file === undefined) return
    const read = await this.#read(file)
    if ('blob' in read && read.deflated !== undefined) this.#add(read, read.deflated)
    this.#put(index, read)
  }

  async #read(file: SeenFile): Promise<Read> {
    const wants = (blob: BlobId) => this.#asksSink(blob)
    try {
      return readSmall(this.#root, file, wants) ?? (await readLarge(this.#root, file, wants))
    } catch (error) {
      throw error instanceof SinkFailed ? error.cause : error
    }
  }

  #asksSink(blob: BlobId): boolean {
    try {
      return this.#isNew(blob)
    } catch (error) {
      throw new SinkFailed('the sink did not answer', { cause: error })
    }
  }

  #isNew(blob: BlobId): boolean {
    return !this.#added.has(blob) && !this.#sink.has(blob)
  }

  #add(read: { readonly blob: BlobId; readonly size: number }, deflated: Buffer): void {
    this.#added.add(read.blob)
    this.#sink.addDeflated('blob', read.blob, read.size, deflated)
  }

  #put(index: number, read: Read): void {
    const seen = read.seen ?? this.#files[index]
    if (seen === undefined) return
    this.#done++
    this.#contents[index] =
      'blob' in read ? { seen, blob: read.blob, size: read.size } : { seen, failed: read.failed }
  }
}

/** The files as they travel to the other thread: a hundred thousand objects would take longer than the reading. */
interface PackedFiles {
  readonly paths: string
  readonly numbers: Float64Array
}

export interface ReadShare extends PackedFiles {
  readonly root: AbsPath
  readonly control: Int32Array
}

interface Part {
  readonly items: readonly {
    readonly index: number
    readonly read: Read
    readonly start: number
    readonly end: number
  }[]
  readonly deflated: ArrayBuffer
}

function packed(files: readonly SeenFile[]): PackedFiles {
  const numbers = new Float64Array(files.length * 7)
  files.forEach((file, i) => {
    const kind = file.kind === 'link' ? 1 : 0
    numbers.set([kind, file.perm, file.size, file.mtimeMs, file.ctimeMs, file.ino, file.lookedMs ?? 0], i * 7)
  })
  return { paths: files.map((file) => file.path).join('\0'), numbers }
}

function unpack(paths: readonly string[], numbers: Float64Array, index: number): SeenFile | undefined {
  const path = paths[index]
  if (path === undefined) return undefined
  const [kind, perm = 0, size = 0, mtimeMs = 0, ctimeMs = 0, ino = 0, lookedMs = 0] = numbers.subarray(
    index * 7,
    index * 7 + 7,
  )
  return {
    path: path as RelPath,
    kind: kind === 1 ? 'link' : 'file',
    perm,
    size,
    mtimeMs,
    ctimeMs,
    ino,
    lookedMs,
  }
}

/** The second thread's side. It cannot ask the sink, so it deflates everything it reads. */
export async function readShare(
  share: ReadShare,
  givePart: (part: Part, owned: readonly ArrayBuffer[]) => void,
): Promise<void> {
  const paths = share.paths.split('\0')
  const always = () => true
  for (;;) {
    const start = Atomics.add(share.control, Control.cursor, filesAtOnce)
    if (start >= paths.length) return
    const part = new PartBuilder(givePart)
    for (let index = start; index < start + filesAtOnce; index++) {
      const file = unpack(paths, share.numbers, index)
      if (file === undefined) break
      part.add(index, readSmall(share.root, file, always) ?? (await readLarge(share.root, file, always)))
    }
    part.give()
  }
}

class PartBuilder {
  readonly #give: (part: Part, owned: readonly ArrayBuffer[]) => void
  #items: Part['items'][number][] = []
  #buffers: Buffer[] = []
  #bytes = 0

  constructor(give: (part: Part, owned: readonly ArrayBuffer[]) => void) {
    this.#give = give
  }

  add(index: number, read: Read): void {
    const start = this.#bytes
    if (!('blob' in read)) {
      this.#items.push({ index, read, start, end: start })
      return
    }
    const { deflated, ...rest } = read
    if (deflated !== undefined) {
      this.#buffers.push(deflated)
      this.#bytes += deflated.length
    }
    this.#items.push({ index, read: rest, start, end: this.#bytes })
    if (this.#bytes > partBytes) this.give()
  }

  give(): void {
    const deflated = new ArrayBuffer(this.#bytes)
    const target = Buffer.from(deflated)
    let end = 0
    for (const buffer of this.#buffers) end += buffer.copy(target, end)
    this.#give({ items: this.#items, deflated }, [deflated])
    this.#items = []
    this.#buffers = []
    this.#bytes = 0
  }
}

/** `seen` is there only if the file is not as it was asked for. */
type Read =
  | {
      readonly blob: BlobId
      readonly size: number
      readonly deflated?: Buffer | undefined
      readonly seen?: SeenFile | undefined
    }
  | { readonly failed: Failure; readonly seen?: SeenFile | undefined }

type WantsBytes = (blob: BlobId) => boolean

/** `undefined`: too large to be read at once. */
function readSmall(root: AbsPath, asked: SeenFile, wants: WantsBytes): Read | undefined {
  let file = asked
  for (let i = 0; i < tries; i++) {
    const read = file.kind === 'link' ? readLink(root, file, wants) : readFile(root, file, wants)
    if (read === 'large') return undefined
    if (read !== 'moved') return read
    const now = lookAgain(root, file.path)
    if (typeof now === 'string') return { failed: now }
    file = now
  }
  return { failed: 'unreadable' }
}

function lookAgain(root: AbsPath, path: RelPath): SeenFile | Failure {
  if (!hasRealParents(root, path)) return 'gone'
  const lookedMs = Date.now()
  const stat = lookAt(asNodePath(joinAbs(root, path)))
  if (typeof stat === 'string') return stat
  const type = typeOf(stat)
  if (type === constants.S_IFDIR) return 'gone'
  if (type !== constants.S_IFREG && type !== constants.S_IFLNK) return 'special'
  return seenFrom(path, type === constants.S_IFLNK ? 'link' : 'file', stat, lookedMs)
}

function seenFrom(path: RelPath, kind: 'file' | 'link', stat: Stats, lookedMs: number): SeenFile {
  const { size, mtimeMs, ctimeMs, ino } = stat
  return { path, kind, perm: stat.mode & Bits.perm, size, mtimeMs, ctimeMs, ino, lookedMs }
}

/** A folder swapped for a link since the scan would lead us out of the workspace. */
function hasRealParents(root: AbsPath, path: RelPath): boolean {
  for (let folder: ByteString = parentOf(path); folder !== ''; folder = parentOf(folder)) {
    const stat = lookAt(asNodePath(joinAbs(root, folder)))
    if (typeof stat === 'string' || typeOf(stat) !== constants.S_IFDIR) return false
  }
  return true
}

function isAsSeen(stat: Stats, file: SeenFile): boolean {
  return (
    stat.size === file.size &&
    stat.mtimeMs === file.mtimeMs &&
    stat.ctimeMs === file.ctimeMs &&
    stat.ino === file.ino
  )
}

function readLink(root: AbsPath, file: SeenFile, wants: WantsBytes): Read | 'moved' {
  const path = asNodePath(joinAbs(root, file.path))
  let target: string
  try {
    target = readlinkSync(path, 'latin1')
  } catch (error) {
    if (errorCode(error) === 'EACCES') return { failed: 'unreadable' }
    return 'moved' // no link any more
  }
  const after = lookAt(path)
  if (typeof after === 'string' || typeOf(after) !== constants.S_IFLNK || !isAsSeen(after, file))
    return 'moved'
  return contentOf(Buffer.from(`blob ${target.length}\0${target}`, 'latin1'), target.length, file, wants)
}

function readFile(root: AbsPath, file: SeenFile, wants: WantsBytes): Read | 'moved' | 'large' {
  const opened = openFile(root, file)
  if (typeof opened !== 'number') return opened
  try {
    const before = fstatSync(opened)
    if (typeOf(before) !== constants.S_IFREG || !isAsSeen(before, file)) return 'moved'
    if (before.size > largeFile) return 'large'
    const header = `blob ${before.size}\0`
    const bytes = bufferOf(header.length + before.size)
    bytes.write(header, 0, 'latin1')
    const end = header.length + readFully(opened, bytes, header.length, before.size)
    if (end !== bytes.length || !isAsSeen(fstatSync(opened), file)) return 'moved'
    return contentOf(bytes, before.size, file, wants)
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return { failed: 'unreadable' } // EIO and the like: the disk does not give it to us
  } finally {
    closeSync(opened)
  }
}

// O_NONBLOCK: a fifo that took the file's place would hang us for ever. O_NOFOLLOW: a link would lead us away.
const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

function openFile(root: AbsPath, file: SeenFile): number | 'moved' | { readonly failed: Failure } {
  try {
    return openSync(asNodePath(joinAbs(root, file.path)), openFlags)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'ENXIO') return 'moved'
    if (code === undefined) throw error
    return { failed: 'unreadable' }
  }
}

const scratch = Buffer.allocUnsafeSlow(1024 * 1024)

/** Small files share one piece of memory: it is free again as soon as they are hashed and deflated. */
function bufferOf(length: number): Buffer {
  return length <= scratch.length ? scratch.subarray(0, length) : Buffer.allocUnsafeSlow(length)
}

function readFully(handle: number, bytes: Buffer, start: number, length: number): number {
  let done = 0
  while (done < length) {
    const count = readSync(handle, bytes, start + done, length - done, null)
    if (count === 0) break
    done += count
  }
  return done
}

function contentOf(withHeader: Buffer, size: number, file: SeenFile, wants: WantsBytes): Read {
  const blob = hash('sha1', withHeader, 'hex') as BlobId
  const deflated = wants(blob) ? deflated1(withHeader.subarray(withHeader.length - size)) : undefined
  return { blob, size, deflated, seen: file }
}

/**
 * zlib clears its window before each use: with one that fits the content a small file takes a third of the
 * time. The stream says how large its window is, so any reader can take it.
 */
function deflated1(bytes: Buffer): Buffer {
  const windowBits = Math.max(9, Math.min(15, 32 - Math.clz32(bytes.length + 261)))
  const chunkSize = Math.max(64, Math.min(bytes.length + (bytes.length >> 8) + 64, 1024 * 1024))
  return deflateSync(bytes, { level: 1, windowBits, memLevel: Math.min(8, windowBits - 7), chunkSize })
}

async function readLarge(root: AbsPath, asked: SeenFile, wants: WantsBytes): Promise<Read> {
  let file = asked
  for (let i = 0; i < tries; i++) {
    const read = await readInParts(root, file, wants)
    if (read !== 'moved') return read
    const now = lookAgain(root, file.path)
    if (typeof now === 'string') return { failed: now }
    if (now.kind === 'link' || now.size <= largeFile)
      return readSmall(root, now, wants) ?? { failed: 'unreadable' }
    file = now
  }
  return { failed: 'unreadable' }
}

async function readInParts(root: AbsPath, file: SeenFile, wants: WantsBytes): Promise<Read | 'moved'> {
  const opened = openFile(root, file)
  if (typeof opened !== 'number') return opened
  try {
    if (!isAsSeen(fstatSync(opened), file)) return 'moved'
    const sha = createHash('sha1').update(`blob ${file.size}\0`)
    for (const part of partsOf(opened, file.size)) sha.update(part)
    const blob = sha.digest('hex') as BlobId
    const deflated = wants(blob) ? await deflatedParts(partsOf(opened, file.size)) : undefined
    return isAsSeen(fstatSync(opened), file) ? { blob, size: file.size, deflated, seen: file } : 'moved'
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return { failed: 'unreadable' }
  } finally {
    closeSync(opened)
  }
}

function* partsOf(handle: number, size: number): Iterable<Buffer> {
  for (let at = 0; at < size; ) {
    const part = Buffer.allocUnsafeSlow(Math.min(4 * 1024 * 1024, size - at))
    const count = readSync(handle, part, 0, part.length, at)
    if (count === 0) return // shorter than it was: the stat afterwards tells
    at += count
    yield part.subarray(0, count)
  }
}

async function deflatedParts(parts: Iterable<Buffer>): Promise<Buffer> {
  const deflate = createDeflate({ level: 1, chunkSize: 1024 * 1024 })
  const feeding = feed(parts, deflate)
  const out: Buffer[] = []
  for await (const chunk of deflate) out.push(chunk as Buffer)
  await feeding
  return Buffer.concat(out)
}

async function feed(parts: Iterable<Buffer>, deflate: ReturnType<typeof createDeflate>): Promise<void> {
  try {
    for (const part of parts)
      if (!deflate.write(part)) await new Promise<void>((resolve) => deflate.once('drain', () => resolve()))
    deflate.end()
  } catch (error) {
    deflate.destroy(error instanceof Error ? error : new Error(String(error)))
  }
}
