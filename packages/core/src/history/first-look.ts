/**
 * The first capture borrows: in a git workspace the bytes of clean tracked files are in the user's object database
 * already. Their packs are linked into our store, and an object id is taken over only where raw bytes and blob are
 * provably the same: stat-clean, no filter, ident or encoding, equal size. Everything else is read and stored.
 *
 * So the first look is a look like any other, at what changed since the state that the user's index describes.
 */

import type { Attrs } from '../store/attrs.ts'
import { borrowPacks } from '../store/borrow.ts'
import type { ObjectBatch } from '../store/objects.ts'
import { buildTree, type Leaf } from '../store/trees.ts'
import { listPacks, type PlainEntry, type TrackedFiles } from '../store/user-git.ts'
import { type BlobId, nameOf, type RelPath } from '../values.ts'
import { type Content, readContents } from '../workspace/content.ts'
import type { Looked, Scan, SeenFile } from '../workspace/scan.ts'
import { type Known, StatCache } from '../workspace/stat-cache.ts'
import type { Engine } from './engine.ts'
import type { LastKnown } from './observe.ts'
import { stateOf } from './snapshots.ts'

/** What the user's index says is there, as far as our store has the bytes. Without a repository: nothing. */
export interface FirstGuess {
  readonly known: LastKnown
  readonly entries: readonly PlainEntry[]
  /** The sizes of the blobs that our store has by now. */
  readonly sizes: ReadonlyMap<string, number>
}

/** Takes over the user's packs, and puts what the index knows into the stat cache. */
export async function guessFromIndex(engine: Engine, batch: ObjectBatch): Promise<FirstGuess> {
  const none = new Map<RelPath, number>()
  const attrs: Attrs = { defaults: engine.defaultPerms, files: none, folders: none, bare: none }
  const { entries, sizes } = await borrow(engine)
  const tree = buildTree(batch, leavesOf(entries))
  engine.stat.cache = StatCache.seeded(seedsOf(entries, attrs))
  engine.stat.tree = tree
  engine.stat.attrs = undefined
  const state = stateOf(tree, attrs, (bytes) => batch.blob(bytes))
  return { known: { state, skipped: new Map(), skippedBlob: batch.blob(Buffer.alloc(0)) }, entries, sizes }
}

// The index does not know the permission bits. A file that has others than usual counts as changed, and is looked at.
function* seedsOf(
  entries: readonly PlainEntry[],
  { defaults }: Attrs,
): Iterable<Known & { readonly path: RelPath }> {
  for (const { path, id, executable, size, mtimeMs, ctimeMs, ino } of entries) {
    const perm = executable ? defaults.exec : defaults.file
    yield { path, kind: 'file', perm, size, mtimeMs, ctimeMs, ino, blob: id as BlobId }
  }
}

function* leavesOf(entries: readonly PlainEntry[]): Iterable<readonly [RelPath, Leaf]> {
  for (const { path, id, executable } of entries)
    yield [path, { mode: executable ? '100755' : '100644', blob: id as BlobId }]
}

async function borrow(engine: Engine): Promise<Pick<FirstGuess, 'entries' | 'sizes'>> {
  const git = engine.user.find()
  const tracked = engine.user.tracked()
  if (git === undefined || git.objectFormat !== 'sha1' || tracked === undefined)
    return { entries: [], sizes: new Map() }
  // The second thread takes a while to start; it will be needed soon, and does so beside this one.
  if (tracked.count >= engine.scanner.helperOptions.comparedFiles) engine.scanner.helper()
  const entries = tracked.plainEntries()
  const ids = entries.map((entry) => entry.id)
  const sizes = await borrowPacks(engine.git, engine.objects, listPacks(git), ids)
  return { entries: entries.filter(({ id, size }) => sizes.get(id) === size), sizes }
}

/** The contents of what differs from the guess, and of what git may have converted on its way to the disk. */
export async function firstContents(
  engine: Engine,
  scan: Scan,
  guess: FirstGuess,
  batch: ObjectBatch,
): Promise<readonly Content[]> {
  const tracked = engine.user.tracked()
  const mayConvert = engine.user.mayConvert(tracked === undefined ? [] : attributeFiles(scan, tracked))
  const doubtful = engine.scanner.look(engine.stat.cache, mayBeConverted(scan, guess, mayConvert))
  const clean = tracked === undefined ? new Map() : cleanFiles(scan.changed, tracked, guess, mayConvert)
  const rest = [...scan.changed.filter((file) => !clean.has(file)), ...doubtful.filter(isFile)]
  const read = await readContents(engine.scanner, rest, sinkOf(batch), (done, total) =>
    engine.progress?.({ what: 'storing', done, total }),
  )
  const borrowed = [...clean].map(([seen, blob]) => ({ seen, blob, size: seen.size }))
  return [...borrowed, ...doubtful.filter((look) => !isFile(look)).map(asGone), ...read]
}

function isFile(look: Looked): look is SeenFile {
  return 'kind' in look && look.kind === 'file'
}

// It was a clean file a moment ago. Whatever it is now, the next look will see; its blob must not stand for it.
function asGone({ path }: Looked): Content {
  const seen = { path, kind: 'file', perm: 0, size: 0, mtimeMs: 0, ctimeMs: 0, ino: 0 } as const
  return { seen, failed: 'gone' }
}

// `has` would look at the folder of packs again for each new blob, in case somebody else has just stored the same.
export function sinkOf(batch: ObjectBatch): Parameters<typeof readContents>[2] {
  return {
    has: (blob) => batch.holds(blob),
    addDeflated: (kind, id, size, deflated) => batch.addDeflated(kind, id, size, deflated),
  }
}

// Git obeys an attribute file that is ignored, too, and where one is missing on disk it takes it from the index.
function attributeFiles(scan: Scan, tracked: TrackedFiles): readonly RelPath[] {
  const name = '.gitattributes'
  const found = new Set(tracked.pathsNamed(name))
  for (const places of [scan.changed, scan.skipped])
    for (const { path } of places) if (path.endsWith(name) && nameOf(path) === name) found.add(path)
  return [...found]
}

/** Files that look clean to the index, but whose blob may not be what is on disk. */
function mayBeConverted(
  scan: Scan,
  guess: FirstGuess,
  mayConvert: (path: RelPath) => boolean,
): readonly RelPath[] {
  const doubtful = new Set<RelPath>()
  for (const { path } of guess.entries) if (mayConvert(path)) doubtful.add(path)
  for (const { path } of scan.changed) doubtful.delete(path)
  for (const path of scan.gone) doubtful.delete(path)
  return [...doubtful]
}

/** Of the changed files those that differ from the guess in nothing that git keeps: in permission bits, say. */
function cleanFiles(
  files: readonly SeenFile[],
  tracked: TrackedFiles,
  guess: FirstGuess,
  mayConvert: (path: RelPath) => boolean,
): ReadonlyMap<SeenFile, BlobId> {
  const clean = new Map<SeenFile, BlobId>()
  for (const file of files) {
    const blob = file.kind === 'file' ? tracked.cleanBlob(file.path, file) : undefined
    if (blob === undefined || guess.sizes.get(blob) !== file.size || mayConvert(file.path)) continue
    clean.set(file, blob as BlobId)
  }
  return clean
}
