/** Seeing: the workspace as it is now, as a snapshot in a batch that nobody has stored yet. */

import { isFailure } from '../errors.ts'
import { optional } from '../log/record.ts'
import type { SkippedEntry, SkippedList } from '../log/skipped-list.ts'
import { readSkipped, serializeSkipped } from '../log/skipped-list.ts'
import { type Attrs, permOf } from '../store/attrs.ts'
import type { ObjectBatch } from '../store/objects.ts'
import {
  buildTree,
  diffTrees,
  editTree,
  emptyTree,
  findLeaf,
  hasFolder,
  type Leaf,
  listTree,
  type PathDiff,
} from '../store/trees.ts'
import {
  type BlobId,
  type ByteString,
  parentOf,
  type RelPath,
  relPathUnchecked,
  type Skipped,
  type TreeId,
} from '../values.ts'
import { type Content, readContents } from '../workspace/content.ts'
import {
  type DirtyFolders,
  isFolderSignature,
  type Scan,
  type SeenFile,
  signatureOf,
} from '../workspace/scan.ts'
import type { Engine } from './engine.ts'
import { type FirstGuess, FirstLook, firstContents, pathsOf, sinkOf } from './first-look.ts'
import { readState, type State, stateOf } from './snapshots.ts'

/** What the last operation left behind: the state that the next one begins with. */
export interface LastKnown {
  readonly state: State
  readonly skipped: SkippedList
  readonly skippedBlob: BlobId
}

export interface Observation {
  readonly state: State
  readonly batch: ObjectBatch
  readonly skipped: SkippedList
  readonly skippedBlob: BlobId
  /** Paths that stood among the skipped ones before, and are captured from now on: there is no "before" to go back to. */
  readonly adopted: ReadonlySet<RelPath>
  /** Paths that changed since that list was made without having been captured. */
  readonly missedSince: (before: SkippedList) => readonly Skipped[]
  /** Puts what was seen into the stat cache. Only after the batch is stored: the cache must never vouch for lost bytes. */
  readonly remember: () => void
}

export function readLastKnown(engine: Engine): LastKnown | undefined {
  const last = engine.log.index.lastOperation()
  if (last === undefined) return undefined
  return {
    state: readState(engine.objects, last.after),
    skipped: readSkipped(engine.objects, last.skipped),
    skippedBlob: last.skipped,
  }
}

/** Looks at the whole workspace; or, with a hint, as far as somebody says that something changed. */
export async function observe(
  engine: Engine,
  last: LastKnown | undefined,
  named: readonly RelPath[] = [],
  dirty?: DirtyFolders,
): Promise<Observation> {
  const batch = engine.objects.newBatch()
  const first = last === undefined ? new FirstLook(engine, batch) : undefined
  const hasSameFolders = last !== undefined && alignCache(engine, last.state)
  const cached = hasSameFolders || last === undefined ? undefined : new Map(engine.stat.cache.folders())
  const looked = await engine.scanner.scan(engine.stat.cache, engine.user.rules(), {
    named,
    ...optional('dirty', dirty),
    onProgress: (done) => engine.progress?.({ what: 'looking', done }),
    meanwhile: () => first?.guess(),
  })
  const scan = (await first?.complete(looked)) ?? looked
  const guess = await first?.guess()
  const known = last ?? guess?.known
  if (known === undefined) throw new Error('unreachable: there is a last state or a first guess')
  const contents =
    guess === undefined
      ? await readInto(engine, scan.changed, batch)
      : await firstContents(engine, scan, guess, batch)
  const seen = sort(contents)
  const skipped = skippedListOf(scan, seen.unreadable)
  const folders = scan.folders === 'unchanged' ? (cached ?? 'unchanged') : scan.folders
  const gone = [...scan.gone, ...seen.gone, ...(guess === undefined ? [] : unseenOf(guess, skipped))]
  const state = nextState(batch, known.state, { files: seen.files, gone, folders, filled: guess?.folders })
  return {
    state,
    batch,
    skipped,
    skippedBlob: batch.blob(serializeSkipped(skipped)),
    adopted: adoptedBy(seen.files, known),
    missedSince: (before) => missedBetween(before, skipped, seen.files),
    remember: () => {
      engine.scanner.settle(engine.stat.cache, seen.files, gone, scan)
      engine.stat.tree = state.tree
      engine.stat.attrs = state.snapshot.attrs
    },
  }
}

/** Looks at these paths only, as for an edit tool that names what it touches: cost does not grow with the workspace. */
export async function observePaths(
  engine: Engine,
  last: LastKnown,
  paths: readonly RelPath[],
): Promise<Observation> {
  const batch = engine.objects.newBatch()
  const hasSameFolders = alignCache(engine, last.state)
  const looks = engine.scanner.look(engine.stat.cache, paths)
  const files = looks.filter(
    (look): look is SeenFile => 'kind' in look && (look.kind === 'file' || look.kind === 'link'),
  )
  const seen = sort(await readInto(engine, files, batch))
  const vanished = looks
    .filter((look) => 'kind' in look && (look.kind === 'gone' || look.kind === 'folder'))
    .map((look) => look.path)
    .filter((path) => findLeaf(batch, last.state.tree, path) !== undefined)
  const gone = [...vanished, ...seen.gone]
  const state = nextState(batch, last.state, { files: seen.files, gone, folders: 'unchanged' }, engine)
  const cameOrWent = diffTrees(batch, last.state.tree, state.tree).some(isOfOneSide)
  return {
    state,
    batch,
    skipped: last.skipped,
    skippedBlob: last.skippedBlob,
    adopted: adoptedBy(seen.files, last),
    missedSince: () => [],
    remember: () => {
      engine.scanner.settle(engine.stat.cache, seen.files, gone)
      engine.stat.tree = state.tree
      engine.stat.attrs = hasSameFolders && !cameOrWent ? state.snapshot.attrs : undefined
    },
  }
}

const mostBytesToCompare = 64 * 1024 * 1024

/**
 * Whether these paths are on disk exactly as the last operation left them: a move over them needs no other look then.
 * Records nothing. False, too, where that cannot be told, or not quickly: a folder, a named pipe, a file that may not
 * be read, many large files.
 */
export async function areAsLeft(
  engine: Engine,
  last: LastKnown,
  paths: readonly RelPath[],
): Promise<boolean> {
  // In a workspace that is not there, every file that a turn deleted is as the turn left it.
  if (engine.fs.lstat(engine.root)?.kind !== 'folder') return false
  const files: SeenFile[] = []
  for (const look of engine.scanner.look(engine.stat.cache, paths)) {
    const leaf = findLeaf(engine.objects, last.state.tree, look.path)
    if ('skipped' in look || look.kind === 'folder') return false
    if (look.kind === 'gone' && (leaf !== undefined || hasFolder(engine.objects, last.state.tree, look.path)))
      return false
    if (look.kind === 'file' || look.kind === 'link') files.push(look)
  }
  if (files.reduce((bytes, { size }) => bytes + size, 0) > mostBytesToCompare) return false
  const contents = await readContents(engine.scanner, files, comparedOnly)
  return contents.every((content) => 'blob' in content && isAsLeft(engine, last, content))
}

// What is as it was is in our store; what is not will be read again by the look that records it.
const comparedOnly: Parameters<typeof readContents>[2] = { has: () => true, addDeflated: () => {} }

function isAsLeft(engine: Engine, { state }: LastKnown, found: Sorted['files'][number]): boolean {
  const { path, kind, perm } = found.seen
  const leaf = findLeaf(engine.objects, state.tree, path)
  const { mode, blob } = leafOf(found)
  if (leaf === undefined || leaf.mode !== mode || leaf.blob !== blob) return false
  return kind === 'link' || permOf(state.attrs, path, leaf) === perm
}

// Somebody else's operations, and our own undo, change the files after the cache was made: what they touched is no
// longer trusted, and everything else still is. False: they may have made or removed folders, too. To find the same
// folders as the cache has does not mean then that they are those of the state: the user may have made one again.
function alignCache(engine: Engine, state: State): boolean {
  const { stat } = engine
  const hasSameAttrs = stat.attrs === state.snapshot.attrs
  if (stat.tree === state.tree) return hasSameAttrs
  const diffs = stat.tree === undefined ? undefined : diffsSince(engine, stat.tree, state)
  if (diffs === undefined) distrustAll(engine, state)
  else for (const { path, after } of diffs) distrust(engine, path, after)
  stat.tree = state.tree
  if (hasSameAttrs && diffs !== undefined && !diffs.some(isOfOneSide)) return true
  stat.attrs = undefined
  return false
}

function isOfOneSide({ before, after }: PathDiff): boolean {
  return before === undefined || after === undefined
}

// What the cache describes may have been dropped, or purged, since it was made, as a whole or in part.
function diffsSince(engine: Engine, base: TreeId, state: State): readonly PathDiff[] | undefined {
  if (!engine.objects.has(base)) return undefined
  try {
    return diffTrees(engine.objects, base, state.tree)
  } catch (error) {
    if (!isFailure(error, 'store-damaged')) throw error
    return undefined
  }
}

function distrustAll(engine: Engine, state: State): void {
  const leaves = new Map(listTree(engine.objects, state.tree))
  for (const path of [...engine.stat.cache.entries()].map(([path]) => path))
    if (!leaves.has(path)) engine.stat.cache.forget(path)
  for (const [path, leaf] of leaves) distrust(engine, path, leaf)
}

function distrust({ stat }: Engine, path: RelPath, leaf: Leaf | undefined): void {
  if (leaf === undefined) return stat.cache.forget(path)
  stat.cache.distrust(
    path,
    leaf.blob,
    leaf.mode === '120000' ? 'link' : 'file',
    leaf.mode === '100755' ? 0o755 : 0o644,
  )
}

function readInto(
  engine: Engine,
  files: readonly SeenFile[],
  batch: ObjectBatch,
): Promise<readonly Content[]> {
  return readContents(engine.scanner, files, sinkOf(batch), (done, total) =>
    engine.progress?.({ what: 'storing', done, total }),
  )
}

interface Sorted {
  readonly files: readonly { readonly seen: SeenFile; readonly blob: BlobId }[]
  readonly gone: readonly RelPath[]
  readonly unreadable: readonly Skipped[]
}

function sort(contents: readonly Content[]): Sorted {
  const files: { seen: SeenFile; blob: BlobId }[] = []
  const gone: RelPath[] = []
  const unreadable: Skipped[] = []
  for (const content of contents) {
    if ('blob' in content) files.push(content)
    else if (content.failed === 'gone') gone.push(content.seen.path)
    else unreadable.push({ path: content.seen.path, reason: content.failed })
  }
  return { files, gone, unreadable }
}

function leafOf({ seen, blob }: { readonly seen: SeenFile; readonly blob: BlobId }): Leaf {
  if (seen.kind === 'link') return { mode: '120000', blob }
  return { mode: (seen.perm & 0o100) === 0 ? '100644' : '100755', blob }
}

function nextState(batch: ObjectBatch, last: State, seen: Seen, engine?: Engine): State {
  const edits = new Map<RelPath, Leaf | undefined>()
  for (const path of seen.gone) edits.set(path, undefined)
  for (const file of seen.files) edits.set(file.seen.path, leafOf(file))
  const tree = last.tree === emptyTree ? treeOf(batch, edits) : editTree(batch, last.tree, edits)
  const attrs = nextAttrs(batch, last.attrs, { ...seen, tree }, engine)
  return attrs === last.attrs && tree === last.tree
    ? last
    : stateOf(tree, attrs, (bytes) => batch.blob(bytes))
}

// All at once: for a first capture this takes a fraction of what an edit of nothing would.
function treeOf(batch: ObjectBatch, edits: ReadonlyMap<RelPath, Leaf | undefined>): State['tree'] {
  const leaves: [RelPath, Leaf][] = []
  for (const [path, leaf] of edits) if (leaf !== undefined) leaves.push([path, leaf])
  return buildTree(batch, leaves)
}

interface Seen {
  readonly files: Sorted['files']
  readonly gone: readonly RelPath[]
  readonly folders: Scan['folders']
  /** Folders that had a file in them, at any depth, before those that are gone went. */
  readonly filled?: ReadonlySet<ByteString> | undefined
}

interface SeenAttrs extends Seen {
  readonly tree: State['tree']
}

function nextAttrs(batch: ObjectBatch, last: Attrs, seen: SeenAttrs, engine: Engine | undefined): Attrs {
  const files = nextFilePerms(last, seen)
  if (seen.folders !== 'unchanged')
    return { ...last, files, ...foldersOf(last, seen.folders, hasFiles(batch, seen)) }
  const bare = nextBare(batch, last, seen, engine)
  return files === last.files && bare === last.bare ? last : { ...last, files, bare }
}

function nextFilePerms(last: Attrs, seen: SeenAttrs): Attrs['files'] {
  const next = new Map(last.files)
  for (const path of seen.gone) next.delete(path)
  for (const { seen: file } of seen.files) {
    const usual = (file.perm & 0o100) === 0 ? last.defaults.file : last.defaults.exec
    if (file.kind === 'link' || file.perm === usual) next.delete(file.path)
    else next.set(file.path, file.perm)
  }
  return sameMap(next, last.files) ? last.files : next
}

function foldersOf(
  last: Attrs,
  folders: ReadonlyMap<RelPath, number>,
  hasFiles: (folder: RelPath) => boolean,
): Pick<Attrs, 'folders' | 'bare'> {
  const unusual = new Map<RelPath, number>()
  const bare = new Map<RelPath, number>()
  for (const [path, perm] of folders) {
    if (!hasFiles(path)) bare.set(path, perm)
    else if (perm !== last.defaults.folder) unusual.set(path, perm)
  }
  return { folders: unusual, bare }
}

// A first look knows most folders to be filled: to read each tree again would take longer than to make it.
function hasFiles(batch: ObjectBatch, seen: SeenAttrs): (folder: RelPath) => boolean {
  const lessFilled = new Set<ByteString>()
  for (const path of seen.gone)
    for (let folder = parentOf(path); folder !== ''; folder = parentOf(folder)) lessFilled.add(folder)
  return (folder) =>
    (seen.filled?.has(folder) === true && !lessFilled.has(folder)) || hasFolder(batch, seen.tree, folder)
}

// The same folders are there as before, but one may have lost its last captured file, or got its first.
function nextBare(
  batch: ObjectBatch,
  last: Attrs,
  seen: SeenAttrs,
  engine: Engine | undefined,
): Attrs['bare'] {
  const next = new Map(last.bare)
  for (const path of seen.gone) {
    for (let folder = parentOf(path); folder !== ''; folder = parentOf(folder)) {
      const at = relPathUnchecked(folder)
      if (engine === undefined || isFolderOnDisk(engine, at))
        next.set(at, last.folders.get(at) ?? last.defaults.folder)
    }
  }
  for (const path of next.keys()) if (hasFolder(batch, seen.tree, path)) next.delete(path)
  return sameMap(next, last.bare) ? last.bare : next
}

export function isFolderOnDisk(engine: Engine, folder: RelPath): boolean {
  const look = engine.scanner.look(engine.stat.cache, [folder])[0]
  return look !== undefined && 'kind' in look && look.kind === 'folder'
}

export function isFileOnDisk(engine: Engine, path: RelPath): boolean {
  const look = engine.scanner.look(engine.stat.cache, [path])[0]
  return look !== undefined && 'kind' in look && (look.kind === 'file' || look.kind === 'link')
}

function sameMap<K, V>(a: ReadonlyMap<K, V>, b: ReadonlyMap<K, V>): boolean {
  if (a.size !== b.size) return false
  for (const [key, value] of a) if (b.get(key) !== value) return false
  return true
}

/** What the index has where nobody could look: nothing says that the files there are those of the index. */
function unseenOf(guess: FirstGuess, skipped: SkippedList): readonly RelPath[] {
  const unreadable = new Map([...skipped].filter(([, entry]) => entry.skipped.reason === 'unreadable'))
  if (unreadable.size === 0) return []
  const unseen: RelPath[] = []
  for (const [, path] of pathsOf(guess.files)) if (stoodSkipped(path, unreadable)) unseen.push(path)
  return unseen
}

function skippedListOf(scan: Scan, unreadable: readonly Skipped[]): SkippedList {
  const list = new Map<RelPath, SkippedEntry>()
  for (const skipped of [...scan.skipped, ...unreadable]) {
    list.set(skipped.path, { skipped, signature: scan.skippedStats.get(skipped.path) ?? '' })
  }
  return list
}

function adoptedBy(files: Sorted['files'], last: LastKnown): ReadonlySet<RelPath> {
  if (last.skipped.size === 0) return new Set()
  const adopted = new Set<RelPath>()
  for (const { seen } of files) if (stoodSkipped(seen.path, last.skipped)) adopted.add(seen.path)
  return adopted
}

/** Whether the path, or a folder around it, was there without being captured. */
export function stoodSkipped(path: RelPath, skipped: SkippedList): boolean {
  return skipped.has(path) || liesBelow(path, skipped)
}

function liesBelow(path: RelPath, skipped: SkippedList): boolean {
  for (let at = parentOf(path); at !== ''; at = parentOf(at))
    if (skipped.has(relPathUnchecked(at))) return true
  return false
}

function missedBetween(before: SkippedList, after: SkippedList, files: Sorted['files']): readonly Skipped[] {
  const missed: Skipped[] = []
  for (const [path, { skipped, signature }] of after)
    if (before.get(path)?.signature !== signature && !liesBelow(path, before)) missed.push(skipped)
  const captured = new Map(files.map(({ seen }) => [seen.path, signatureOf('other', seen)]))
  for (const [path, { skipped, signature }] of before) {
    if (after.has(path) || liesBelow(path, after)) continue
    // Captured from now on, exactly as it stood there: nothing happened to it.
    if (isFolderSignature(signature) || captured.get(path) !== signature) missed.push(skipped)
  }
  return missed
}
