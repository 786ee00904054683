/**
 * A small working file system in memory with a volatile and a durable side, to cut the power on.
 *
 * The model: a call changes the volatile side at once. The bytes of a file become durable by `syncFile`.
 * Names become durable by `syncFolder` of a folder they are in. At a power cut,
 *
 * - bytes that were not synced are the old durable ones, the new ones, a part of the new ones, or zeros;
 * - every change of names that was not synced (create, remove, link, rename) is kept or lost on its own,
 *   in any combination; so a later one may be kept where an earlier one is lost;
 * - one change is atomic: a rename has happened in both folders or in none. Syncing either folder makes it
 *   durable, and with it every earlier change of the same names;
 * - a name whose folder did not last is gone, with all that was below it;
 * - modes and link targets are durable with the call, as the port says of `chmod`.
 *
 * Permissions are kept but not enforced.
 */

import { errorCode, type FileKind, type FileStat, type Fs } from '../fs.ts'
import type { AbsPath, ByteString } from '../values.ts'

/** Thrown by the call at which the power goes, and by every later one. */
export class PowerCut extends Error {
  constructor() {
    super('the power is cut')
    this.name = 'PowerCut'
  }
}

/** Ways in which a disk can break the rules. A crash test that does not notice them proves nothing. */
export type Weakness = 'fsync-lies' | 'folder-fsync-lies' | 'journal-vanishes' | 'rename-is-a-slow-write'

export interface SimDiskOptions {
  readonly weakness?: Weakness | undefined
  /** Finds `a` under `A`, as the disks of macOS and Windows do. */
  readonly ignoresCase?: boolean
  readonly hasHardLinks?: boolean
  /** Folders that are disks of their own once they are created. */
  readonly volumes?: readonly AbsPath[]
}

/** Gives numbers from 0 up to, not including, 1. */
export type Random = () => number

interface Node {
  readonly id: number
  readonly kind: FileKind
  readonly device: number
  perm: number
  mtime: number
  ctime: number
  links: number
  bytes: Buffer
  /** What a power cut leaves of the bytes, where they are not synced. */
  durableBytes: Buffer | undefined
  readonly target: ByteString
  readonly entries: Map<string, Entry>
  readonly durableEntries: Map<string, Entry>
}

interface Entry {
  readonly name: ByteString
  readonly node: Node
}

interface NameChange {
  readonly folder: Node
  /** As the disk compares it. */
  readonly key: string
  readonly name: ByteString
  readonly node: Node | undefined
}

export class SimDisk implements Fs {
  readonly #options: SimDiskOptions
  #root: Node
  #pending: (readonly NameChange[])[] = []
  #nextId = 2
  #clock = 1
  #devices = 1
  #calls = 0
  #cutAt = Number.POSITIVE_INFINITY

  constructor(options: SimDiskOptions = {}) {
    this.#options = options
    this.#root = emptyNode(1, 'folder', 0o755, 1, 0)
  }

  get calls(): number {
    return this.#calls
  }

  /** The n-th call from now on fails, and every one after it. */
  cutAfter(calls: number): void {
    this.#cutAt = this.#calls + calls
  }

  /** The disk as it is found after the power is back. */
  powerCut(random: Random): SimDisk {
    const after = new SimDisk(this.#options)
    after.#nextId = this.#nextId
    after.#clock = this.#clock
    after.#devices = this.#devices
    const kept = chosen(this.#pending, random)
    after.#root = survivor(this.#root, namesAfter(kept), new Map(), random)
    if (this.#options.weakness === 'journal-vanishes') dropJournals(after.#root)
    return after
  }

  /** Makes everything durable, as it is after a quiet minute. */
  settle(): void {
    for (const change of this.#pending.flat()) setEntry(change.folder.durableEntries, change)
    this.#pending = []
    for (const node of this.#all()) node.durableBytes = undefined
  }

  /** A write in place, as a user's program does it. */
  overwrite(path: AbsPath, bytes: Buffer): void {
    const node = this.#node(path)
    node.durableBytes ??= node.bytes
    node.bytes = bytes
    node.mtime = node.ctime = this.#clock++
  }

  lstat(path: AbsPath): FileStat | undefined {
    this.#called()
    const node = this.#find(path)
    return node === undefined ? undefined : statOf(node)
  }

  readFile(path: AbsPath): Buffer {
    this.#called()
    return Buffer.from(this.#file(path).bytes)
  }

  readPart(path: AbsPath, position: number, length: number): Buffer {
    this.#called()
    return Buffer.from(this.#file(path).bytes.subarray(position, position + length))
  }

  readLink(path: AbsPath): ByteString {
    this.#called()
    const node = this.#node(path)
    if (node.kind !== 'link') throw errno('EINVAL', path)
    return node.target
  }

  readFolder(path: AbsPath): readonly ByteString[] {
    this.#called()
    return [...this.#folder(path).entries.values()].map((entry) => entry.name)
  }

  createFile(path: AbsPath, chunks: Iterable<Uint8Array>, perm: number): void {
    this.#called()
    const node = this.#newNode(path, 'file', perm)
    node.bytes = Buffer.concat([...chunks])
    node.durableBytes = Buffer.alloc(0)
    this.#add(path, node)
  }

  createLink(path: AbsPath, target: ByteString): void {
    this.#called()
    this.#add(path, { ...this.#newNode(path, 'link', 0o777), target })
  }

  createFolder(path: AbsPath, perm: number): void {
    this.#called()
    const node = this.#newNode(path, 'folder', perm)
    const isVolume = this.#options.volumes?.includes(path) === true
    this.#add(path, isVolume ? { ...node, device: ++this.#devices } : node)
  }

  hardLink(existing: AbsPath, path: AbsPath): void {
    this.#called()
    const node = this.#node(existing)
    if (this.#options.hasHardLinks === false || node.kind !== 'file') throw errno('EPERM', existing)
    if (node.device !== this.#parent(path).folder.device) throw errno('EXDEV', path)
    this.#add(path, node)
  }

  rename(from: AbsPath, to: AbsPath): void {
    this.#called()
    const node = this.#node(from)
    const source = this.#parent(from)
    const target = this.#parent(to)
    if (node.device !== target.folder.device) throw errno('EXDEV', to)
    const replaced = this.#find(to)
    // As POSIX has it: two names of one file, and a rename does nothing and says that it worked.
    if (replaced === node && (source.folder !== target.folder || source.key !== target.key)) return
    if (replaced !== undefined && (replaced.kind === 'folder') !== (node.kind === 'folder')) {
      throw errno(replaced.kind === 'folder' ? 'EISDIR' : 'ENOTDIR', to)
    }
    if (replaced?.kind === 'folder' && replaced.entries.size > 0) throw errno('ENOTEMPTY', to)
    if (replaced !== undefined) replaced.links -= 1
    this.#change([
      { ...source, node: undefined },
      { ...target, node: this.#moved(node) },
    ])
  }

  unlink(path: AbsPath): void {
    this.#called()
    const node = this.#node(path)
    if (node.kind === 'folder') throw errno('EISDIR', path)
    node.links -= 1
    node.ctime = this.#clock++
    this.#remove(path)
  }

  removeFolder(path: AbsPath): void {
    this.#called()
    if (this.#options.volumes?.includes(path) === true) throw errno('EBUSY', path)
    if (this.#folder(path).entries.size > 0) throw errno('ENOTEMPTY', path)
    this.#remove(path)
  }

  chmod(path: AbsPath, perm: number): void {
    this.#called()
    const node = this.#node(path)
    if (node.kind === 'link') throw errno('ELOOP', path)
    node.perm = perm
    node.ctime = this.#clock++
  }

  syncFile(path: AbsPath): void {
    this.#called()
    const node = this.#file(path)
    if (this.#options.weakness !== 'fsync-lies') node.durableBytes = undefined
  }

  syncFolder(path: AbsPath): void {
    this.#called()
    const folder = this.#folder(path)
    if (this.#options.weakness === 'folder-fsync-lies') return
    const durable = concerning(this.#pending, folder)
    for (const changes of durable)
      for (const change of changes) setEntry(change.folder.durableEntries, change)
    this.#pending = this.#pending.filter((changes) => !durable.has(changes))
  }

  freeBytes(): number {
    this.#called()
    return 1_000_000
  }

  sameVolume(one: AbsPath, other: AbsPath): boolean {
    this.#called()
    return this.#folder(one).device === this.#folder(other).device
  }

  #called(): void {
    this.#calls += 1
    if (this.#calls >= this.#cutAt) throw new PowerCut()
  }

  #key(name: ByteString): string {
    return this.#options.ignoresCase === true ? name.toLowerCase() : name
  }

  #find(path: AbsPath): Node | undefined {
    let node: Node | undefined = this.#root
    for (const name of namesOf(path)) {
      if (node === undefined) return undefined
      // Only what apply must never do would come here; so it shows.
      if (node.kind === 'link') throw new Error(`a link was followed on the way to ${path}`)
      node = node.entries.get(this.#key(name))?.node
    }
    return node
  }

  #node(path: AbsPath): Node {
    const node = this.#find(path)
    if (node === undefined) throw errno('ENOENT', path)
    return node
  }

  #file(path: AbsPath): Node {
    const node = this.#node(path)
    if (node.kind === 'link') throw errno('ELOOP', path)
    if (node.kind !== 'file') throw errno('EISDIR', path)
    return node
  }

  #folder(path: AbsPath): Node {
    const node = this.#node(path)
    if (node.kind !== 'folder') throw errno('ENOTDIR', path)
    return node
  }

  #parent(path: AbsPath): { readonly folder: Node; readonly key: string; readonly name: ByteString } {
    const names = namesOf(path)
    const name = names.pop() ?? ''
    if (Buffer.byteLength(name, 'latin1') > 255) throw errno('ENAMETOOLONG', path)
    return { folder: this.#folder(`/${names.join('/')}` as AbsPath), key: this.#key(name), name }
  }

  #newNode(path: AbsPath, kind: FileKind, perm: number): Node {
    return emptyNode(this.#nextId++, kind, perm, this.#parent(path).folder.device, this.#clock++)
  }

  #add(path: AbsPath, node: Node): void {
    const parent = this.#parent(path)
    if (parent.folder.entries.has(parent.key)) throw errno('EEXIST', path)
    node.links += 1
    this.#change([{ ...parent, node }])
  }

  #remove(path: AbsPath): void {
    this.#change([{ ...this.#parent(path), node: undefined }])
  }

  #change(changes: readonly NameChange[]): void {
    for (const change of changes) {
      setEntry(change.folder.entries, change)
      change.folder.mtime = this.#clock++
    }
    this.#pending.push(changes)
  }

  #moved(node: Node): Node {
    node.ctime = this.#clock++
    if (this.#options.weakness !== 'rename-is-a-slow-write' || node.kind !== 'file') return node
    return { ...node, id: this.#nextId++, links: 1, durableBytes: Buffer.alloc(0) }
  }

  *#all(from: Node = this.#root): Generator<Node> {
    yield from
    for (const { node } of from.entries.values()) yield* this.#all(node)
  }
}

function emptyNode(id: number, kind: FileKind, perm: number, device: number, now: number): Node {
  return {
    id,
    kind,
    device,
    perm,
    mtime: now,
    ctime: now,
    links: 0,
    bytes: Buffer.alloc(0),
    durableBytes: undefined,
    target: '',
    entries: new Map(),
    durableEntries: new Map(),
  }
}

function namesOf(path: AbsPath): string[] {
  return path.split('/').filter((name) => name !== '')
}

function setEntry(entries: Map<string, Entry>, { key, name, node }: NameChange): void {
  entries.delete(key)
  if (node !== undefined) entries.set(key, { name, node })
}

function statOf(node: Node): FileStat {
  return {
    kind: node.kind,
    perm: node.perm,
    size: node.bytes.length,
    mtimeMs: node.mtime,
    ctimeMs: node.ctime,
    ino: node.id,
    dev: node.device,
    nlink: node.links,
    uid: 1000,
  }
}

export function errno(code: string, path: string): NodeJS.ErrnoException {
  const error: NodeJS.ErrnoException = new Error(`${code}: ${path}`)
  error.code = code
  return error
}

export function isErrno(error: unknown): boolean {
  return errorCode(error) !== undefined
}

/** What a sync of this folder makes durable: its own changes, and earlier ones of the names they touch. */
function concerning(
  pending: readonly (readonly NameChange[])[],
  folder: Node,
): ReadonlySet<readonly NameChange[]> {
  const durable = new Set<readonly NameChange[]>()
  const names = new Map<Node, Set<string>>()
  for (const changes of pending.toReversed()) {
    const concerned = changes.some(
      (change) => change.folder === folder || names.get(change.folder)?.has(change.key) === true,
    )
    if (!concerned) continue
    durable.add(changes)
    for (const change of changes) {
      const known = names.get(change.folder) ?? new Set()
      names.set(change.folder, known.add(change.key))
    }
  }
  return new Set([...durable].toReversed())
}

type Kept = ReadonlyMap<Node, readonly NameChange[]>

// Disks differ: some lose all that was not synced, some the last part, some here and there.
function chosen(
  pending: readonly (readonly NameChange[])[],
  random: Random,
): readonly (readonly NameChange[])[] {
  const manner = random()
  if (manner < 0.2) return []
  if (manner < 0.3) return pending
  if (manner < 0.5) return pending.slice(0, Math.floor(random() * (pending.length + 1)))
  const share = random()
  return pending.filter(() => random() < share)
}

function namesAfter(kept: readonly (readonly NameChange[])[]): Kept {
  const byFolder = new Map<Node, NameChange[]>()
  for (const change of kept.flat()) {
    const changes = byFolder.get(change.folder) ?? []
    changes.push(change)
    byFolder.set(change.folder, changes)
  }
  return byFolder
}

function survivor(node: Node, kept: Kept, copies: Map<Node, Node>, random: Random): Node {
  const known = copies.get(node)
  if (known !== undefined) {
    known.links += 1
    return known
  }
  const bytes = bytesAfter(node, random)
  const copy: Node = {
    ...node,
    links: 1,
    bytes,
    durableBytes: undefined,
    entries: new Map(),
    durableEntries: new Map(),
  }
  copies.set(node, copy)
  for (const [key, entry] of entriesAfter(node, kept)) {
    const survived = { name: entry.name, node: survivor(entry.node, kept, copies, random) }
    copy.entries.set(key, survived)
    copy.durableEntries.set(key, survived)
  }
  return copy
}

function entriesAfter(node: Node, kept: Kept): ReadonlyMap<string, Entry> {
  const entries = new Map(node.durableEntries)
  for (const change of kept.get(node) ?? []) setEntry(entries, change)
  return entries
}

function bytesAfter(node: Node, random: Random): Buffer {
  if (node.durableBytes === undefined) return node.bytes
  const fate = Math.floor(random() * 4)
  if (fate === 0) return node.durableBytes
  if (fate === 1) return node.bytes
  if (fate === 2) return node.bytes.subarray(0, Math.floor(random() * node.bytes.length))
  return Buffer.alloc(node.bytes.length)
}

function dropJournals(node: Node): void {
  for (const { name, node: child } of node.entries.values()) {
    if (name !== 'journal') dropJournals(child)
    else {
      child.entries.clear()
      child.durableEntries.clear()
    }
  }
}

/** Numbers that look random and are the same for the same seed. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
