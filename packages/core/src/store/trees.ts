/**
 * Git trees: reading, writing, editing and comparing them. Only the folders that matter are opened, so an
 * edit in a tree of 100,000 files costs what it touches.
 *
 * Trees may come from elsewhere (a merge, a pulled session), and git stores an entry called `..` without
 * complaint: no path leaves this file that has not passed `flawOfName` (M2).
 */

import { shown, UnturnError } from '../errors.ts'
import type { BlobId, ByteString, RelPath, TreeId } from '../values.ts'
import { flawOfName, joinRel, nameOf, parentOf } from '../values.ts'
import { internalError, storeDamaged } from './damage.ts'
import type { ObjectBatch, Objects } from './objects.ts'

/** The modes we write. Others (160000, a submodule) are read, but never written by us. */
export type TreeMode = '100644' | '100755' | '120000' | '40000'

export interface TreeEntry {
  readonly name: ByteString
  readonly mode: string
  readonly id: string
}

/** A file, an executable file or a symbolic link in a tree. */
export interface Leaf {
  readonly mode: '100644' | '100755' | '120000'
  readonly blob: BlobId
}

export interface PathDiff {
  readonly path: RelPath
  readonly before: Leaf | undefined
  readonly after: Leaf | undefined
}

export const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904' as TreeId

const folderMode = '40000'
const space = 0x20
const slash = 0x2f

/** Strict: what git's own fsck would call an error throws `store-damaged`. */
export function parseTree(bytes: Buffer): readonly TreeEntry[] {
  const entries: TreeEntry[] = []
  const order = new OrderCheck()
  for (let at = 0; at < bytes.length; ) {
    const modeEnd = bytes.indexOf(space, at)
    const nameEnd = modeEnd < 0 ? -1 : bytes.indexOf(0, modeEnd + 1)
    if (nameEnd < 0 || nameEnd + 21 > bytes.length) throw damagedTree('it is cut short')
    const mode = knownMode(bytes.toString('latin1', at, modeEnd))
    const name = bytes.toString('latin1', modeEnd + 1, nameEnd)
    if (name === '' || name.includes('/')) throw damagedTree('it has an entry that is no name')
    at = nameEnd + 21
    const entry = { name, mode, id: bytes.toString('hex', nameEnd + 1, at) }
    if (!order.follows(entry)) throw damagedTree('its entries are out of order, or one is there twice')
    entries.push(entry)
  }
  return entries
}

// One string for each common mode, instead of one for each entry.
function knownMode(mode: string): string {
  if (mode === '100644') return '100644'
  if (mode === folderMode) return folderMode
  if (!/^1[0-7]{5}$/.test(mode)) throw damagedTree('it has an entry without a proper mode')
  return mode
}

function damagedTree(flaw: string): Error {
  return storeDamaged(`a tree cannot be read, ${flaw}`)
}

/**
 * Whether entries come in git's order, each name once. A file `a` and a folder `a` need not be neighbours,
 * since a folder sorts as if it ended in a slash: `a`, `a.txt`, `a/`.
 */
class OrderCheck {
  #previous = ''
  /** Files whose name the current one begins with: a folder of that name may still come. */
  readonly #files: string[] = []

  follows(entry: TreeEntry): boolean {
    const key = sortKey(entry)
    if (key <= this.#previous) return false
    this.#previous = key
    while (this.#files.length > 0 && !entry.name.startsWith(this.#files.at(-1) ?? '')) this.#files.pop()
    if (entry.mode === folderMode)
      return this.#files.at(-1) !== entry.name && !this.#files.includes(entry.name)
    this.#files.push(entry.name)
    return true
  }
}

function sortKey(entry: TreeEntry): string {
  return entry.mode === folderMode ? `${entry.name}/` : entry.name
}

/** The tree's bytes, in git's order. A name that is there twice is a fault of the caller. */
export function serializeTree(entries: readonly TreeEntry[]): Buffer {
  return serializeSorted(sortedEntries(entries))
}

/** For entries that `sortedEntries` gave: putting 100,000 in order takes as long as writing them. */
export function serializeSorted(sorted: readonly TreeEntry[]): Buffer {
  let length = 0
  for (const { mode, name } of sorted) length += mode.length + name.length + 22
  const bytes = Buffer.allocUnsafe(length)
  let at = 0
  for (const { mode, name, id } of sorted) {
    at = writeName(bytes, at, mode)
    bytes[at] = space
    at = writeName(bytes, at + 1, name)
    bytes[at] = 0
    at = writeId(bytes, at + 1, id)
  }
  return bytes
}

// Byte by byte: for strings this short, `Buffer.write` costs several times as much.
function writeName(bytes: Buffer, at: number, name: ByteString): number {
  let isName = name.length > 0
  for (let i = 0; i < name.length; i += 1) {
    const code = name.charCodeAt(i)
    if (code === 0 || code === slash || code > 0xff) isName = false
    bytes[at + i] = code
  }
  if (!isName) throw internalError('A tree was given an entry that is no name.', { name })
  return at + name.length
}

function writeId(bytes: Buffer, at: number, id: string): number {
  let flaw = id.length === 40 ? 0 : notHex
  for (let i = 0; i < 20; i += 1) {
    const byte = hexPair(id, 2 * i)
    flaw |= byte & notHex
    bytes[at + i] = byte
  }
  if (flaw !== 0) throw internalError('A tree entry has no proper id.', { id })
  return at + 20
}

const notHex = 0x100
const hexDigits = new Uint16Array(256).fill(notHex).map((none, code) => {
  const digit = '0123456789abcdef'.indexOf(String.fromCharCode(code))
  return digit < 0 ? none : digit
})

function hexPair(id: string, at: number): number {
  const high = hexDigits[id.charCodeAt(at)] ?? notHex
  const low = hexDigits[id.charCodeAt(at + 1)] ?? notHex
  return (high & 0xf) * 16 + (low & 0xf) + ((high | low) & notHex)
}

/** In git's order; the same array if it is so already. */
export function sortedEntries(entries: readonly TreeEntry[]): readonly TreeEntry[] {
  if (inOrder(entries)) return entries
  const sorted = entries.toSorted(inGitOrder)
  if (!inOrder(sorted)) throw internalError('A tree was given one name twice.')
  return sorted
}

function inGitOrder(a: TreeEntry, b: TreeEntry): number {
  const plain = a.mode !== folderMode && b.mode !== folderMode
  return plain ? compareBytes(a.name, b.name) : compareBytes(sortKey(a), sortKey(b))
}

function inOrder(entries: readonly TreeEntry[]): boolean {
  const order = new OrderCheck()
  for (const entry of entries) if (!order.follows(entry)) return false
  return true
}

function compareBytes(a: ByteString, b: ByteString): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Changes still to be made in one folder, and in those below it. */
interface FolderEdits {
  readonly leaves: Map<ByteString, Leaf | undefined>
  readonly folders: Map<ByteString, FolderEdits>
}

/**
 * `root` with these paths set, or removed where there is `undefined`. Folders that become empty vanish. A
 * file may take the place of a folder only if all that lies in the folder is removed by the same edits.
 */
export function editTree(
  batch: ObjectBatch,
  root: TreeId,
  edits: ReadonlyMap<RelPath, Leaf | undefined>,
): TreeId {
  if (edits.size === 0) return root
  return editFolder(batch, root, groupedByFolder(edits), '') ?? batch.tree([])
}

function groupedByFolder(edits: Iterable<readonly [RelPath, Leaf | undefined]>): FolderEdits {
  const root: FolderEdits = { leaves: new Map(), folders: new Map() }
  for (const [path, leaf] of edits) {
    const names = path.split('/')
    const last = names.pop() ?? ''
    let folder = root
    for (const name of names) folder = folderIn(folder, name)
    folder.leaves.set(last, leaf)
  }
  return root
}

function folderIn(parent: FolderEdits, name: ByteString): FolderEdits {
  const known = parent.folders.get(name)
  if (known !== undefined) return known
  const folder: FolderEdits = { leaves: new Map(), folders: new Map() }
  parent.folders.set(name, folder)
  return folder
}

/** `undefined` when nothing is left of the folder. */
function editFolder(
  batch: ObjectBatch,
  id: TreeId | undefined,
  edits: FolderEdits,
  path: ByteString,
): TreeId | undefined {
  const entries = new Map<ByteString, TreeEntry>()
  for (const entry of id === undefined ? [] : batch.readTree(id)) entries.set(entry.name, entry)
  for (const [name, below] of edits.folders) editBelow(batch, entries, name, below, joinRel(path, name))
  for (const [name, leaf] of edits.leaves) editLeaf(entries, name, leaf, joinRel(path, name))
  return entries.size === 0 ? undefined : batch.tree([...entries.values()])
}

function editBelow(
  batch: ObjectBatch,
  entries: Map<ByteString, TreeEntry>,
  name: ByteString,
  edits: FolderEdits,
  path: ByteString,
): void {
  const old = entries.get(name)
  const oldFolder = old?.mode === folderMode ? (old.id as TreeId) : undefined
  const id = editFolder(batch, oldFolder, edits, path)
  if (id !== undefined) entries.set(name, { name, mode: folderMode, id })
  // Removing paths below what is a file by now removes nothing: the file is not one of them.
  else if (oldFolder !== undefined) entries.delete(name)
}

function editLeaf(
  entries: Map<ByteString, TreeEntry>,
  name: ByteString,
  leaf: Leaf | undefined,
  path: ByteString,
): void {
  // The edits below this name are made already: a folder that still stands here holds paths nobody removed.
  const isFolder = entries.get(name)?.mode === folderMode
  if (leaf === undefined && !isFolder) entries.delete(name)
  if (leaf === undefined) return
  if (isFolder) throw internalError('A file was put where a folder is.', { path: shown(path) })
  entries.set(name, { name, mode: leaf.mode, id: leaf.blob })
}

/** A folder while it is built. */
interface NewFolder {
  readonly entries: TreeEntry[]
  readonly folders: { readonly name: ByteString; readonly folder: NewFolder }[]
}

/** The tree of these leaves, given in any order, each path once. */
export function buildTree(batch: ObjectBatch, leaves: Iterable<readonly [RelPath, Leaf]>): TreeId {
  const folders = new Map<ByteString, NewFolder>([['', { entries: [], folders: [] }]])
  let folderPath = ''
  let folder = newFolderAt(folders, folderPath)
  for (const leaf of leaves) {
    const path = leaf[0] // not taken apart in one go: that costs an iterator for each of 100,000 leaves
    const { mode, blob } = leaf[1]
    const end = lastSlash(path)
    // Files of one folder mostly come together.
    if (end !== folderPath.length || !path.startsWith(folderPath)) {
      folderPath = path.slice(0, end)
      folder = newFolderAt(folders, folderPath)
    }
    folder.entries.push({ name: end === 0 ? path : path.slice(end + 1), mode, id: blob })
  }
  return writeFolder(batch, newFolderAt(folders, ''))
}

/** 0 where there is none. `lastIndexOf` would take longer than all the rest of the loop. */
function lastSlash(path: ByteString): number {
  let at = path.length - 1
  while (at > 0 && path.charCodeAt(at) !== slash) at -= 1
  return Math.max(at, 0)
}

function newFolderAt(folders: Map<ByteString, NewFolder>, path: ByteString): NewFolder {
  const known = folders.get(path)
  if (known !== undefined) return known
  const folder: NewFolder = { entries: [], folders: [] }
  folders.set(path, folder)
  newFolderAt(folders, parentOf(path)).folders.push({ name: nameOf(path), folder })
  return folder
}

function writeFolder(batch: ObjectBatch, { entries, folders }: NewFolder): TreeId {
  for (const { name, folder } of folders) {
    entries.push({ name, mode: folderMode, id: writeFolder(batch, folder) })
  }
  return batch.tree(entries)
}

/** What differs between two trees, sorted by the bytes of the paths. Folders that are the same are not opened. */
export function diffTrees(objects: Objects, a: TreeId, b: TreeId): readonly PathDiff[] {
  const diffs: PathDiff[] = []
  if (a !== b) diffFolders(objects, a, b, '', diffs)
  return diffs
}

function diffFolders(
  objects: Objects,
  a: TreeId | undefined,
  b: TreeId | undefined,
  path: ByteString,
  diffs: PathDiff[],
): void {
  const before = a === undefined ? [] : objects.readTree(a)
  const after = b === undefined ? [] : objects.readTree(b)
  for (const [old, now] of pairs(before, after)) {
    if (old !== undefined && now !== undefined && old.id === now.id && old.mode === now.mode) continue
    const name = checkedName((old ?? now)?.name ?? '', path)
    const below = joinRel(path, name)
    if ((old ?? now)?.mode === folderMode) {
      diffFolders(objects, old?.id as TreeId | undefined, now?.id as TreeId | undefined, below, diffs)
      continue
    }
    const [leafBefore, leafAfter] = [leafOf(old), leafOf(now)]
    if (sameLeaf(leafBefore, leafAfter)) continue
    diffs.push({ path: below, before: leafBefore, after: leafAfter })
  }
}

/** Both folders side by side in git's order. A file and a folder of one name are two things, in two pairs. */
function* pairs(
  before: readonly TreeEntry[],
  after: readonly TreeEntry[],
): IterableIterator<readonly [TreeEntry | undefined, TreeEntry | undefined]> {
  let i = 0
  let j = 0
  while (i < before.length || j < after.length) {
    const old = before[i]
    const now = after[j]
    const order = old === undefined ? 1 : now === undefined ? -1 : compareBytes(sortKey(old), sortKey(now))
    if (order <= 0) i += 1
    if (order >= 0) j += 1
    yield [order <= 0 ? old : undefined, order >= 0 ? now : undefined]
  }
}

function checkedName(name: ByteString, folder: ByteString): ByteString {
  const flaw = flawOfName(name)
  if (flaw === undefined) return name
  const path = shown(joinRel(folder, name))
  throw new UnturnError(
    'bad-path',
    { path, flaw },
    {
      message: `A stored tree holds a path that is not safe to use, ${flaw}: "${path}". No file was changed.`,
      hint: 'Run "unturn doctor" to see which operation it belongs to.',
    },
  )
}

/** A submodule is no leaf: nothing of ours writes one, and nothing on disk belongs to it. */
function leafOf(entry: TreeEntry | undefined): Leaf | undefined {
  if (entry === undefined) return undefined
  const blob = entry.id as BlobId
  if (entry.mode === '120000') return { mode: '120000', blob }
  if (!entry.mode.startsWith('100')) return undefined
  // Old repositories hold modes such as 100664. Git, too, looks only at the owner's executable bit.
  return { mode: Number.parseInt(entry.mode.slice(3), 8) & 0o100 ? '100755' : '100644', blob }
}

function sameLeaf(a: Leaf | undefined, b: Leaf | undefined): boolean {
  return a?.blob === b?.blob && a?.mode === b?.mode
}

export function findLeaf(objects: Objects, root: TreeId, path: RelPath): Leaf | undefined {
  return leafOf(findEntry(objects, root, path))
}

export function hasFolder(objects: Objects, root: TreeId, folder: RelPath): boolean {
  return findEntry(objects, root, folder)?.mode === folderMode
}

function findEntry(objects: Objects, root: TreeId, path: ByteString): TreeEntry | undefined {
  const end = path.indexOf('/')
  const name = end < 0 ? path : path.slice(0, end)
  const entry = objects.readTree(root).find((candidate) => candidate.name === name)
  if (end < 0 || entry === undefined) return entry
  return entry.mode === folderMode ? findEntry(objects, entry.id as TreeId, path.slice(end + 1)) : undefined
}

/** All leaves, or those below one folder, sorted by the bytes of their paths. */
export function* listTree(
  objects: Objects,
  root: TreeId,
  below?: RelPath,
): IterableIterator<readonly [RelPath, Leaf]> {
  if (below === undefined) return yield* listFolder(objects, root, '')
  const folder = findEntry(objects, root, below)
  if (folder?.mode === folderMode) yield* listFolder(objects, folder.id as TreeId, below)
}

function* listFolder(
  objects: Objects,
  id: TreeId,
  path: ByteString,
): IterableIterator<readonly [RelPath, Leaf]> {
  for (const entry of objects.readTree(id)) {
    const here = joinRel(path, checkedName(entry.name, path))
    const leaf = leafOf(entry)
    if (leaf !== undefined) yield [here, leaf]
    else if (entry.mode === folderMode) yield* listFolder(objects, entry.id as TreeId, here)
  }
}
