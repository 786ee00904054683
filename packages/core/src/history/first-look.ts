/**
 * The first capture borrows: in a git workspace the bytes of clean tracked files are in the user's object database
 * already. Their packs are linked into our store, and an object id is taken over only where raw bytes and blob are
 * provably the same: stat-clean, no filter, ident or encoding, equal size. Everything else is read and stored.
 *
 * So the first look is a look like any other, at what changed since the state that the user's index describes.
 */

import { sortedPaths } from '../sorted-paths.ts'
import type { Attrs } from '../store/attrs.ts'
import { borrowPacks } from '../store/borrow.ts'
import { treeOfFiles } from '../store/index-tree.ts'
import type { ObjectBatch } from '../store/objects.ts'
import { listPacks, type PlainFiles, plainFilesThat, type TrackedFiles } from '../store/user-git.ts'
import { type BlobId, type ByteString, nameOf, parentOf, type RelPath, relPathUnchecked } from '../values.ts'
import { type Content, readContents } from '../workspace/content.ts'
import { type Looked, type Scan, type SeenFile, withChanged } from '../workspace/scan.ts'
import { StatCache } from '../workspace/stat-cache.ts'
import type { Engine } from './engine.ts'
import type { LastKnown } from './observe.ts'
import { stateOf } from './snapshots.ts'

/** What the user's index says is there, as far as our store has the bytes. Without a repository: nothing. */
export interface FirstGuess {
  readonly known: LastKnown
  readonly files: PlainFiles
  /** Folders that certainly have a file in the guess's tree, at any depth. */
  readonly folders: ReadonlySet<ByteString>
  /** The size of a blob that our store has by now. */
  readonly sizeOf: (blob: string) => number | undefined
  /** The index that was read, and the paths of the attribute files in it. */
  readonly tracked: TrackedFiles | undefined
  readonly attributePaths: readonly RelPath[]
  /** Files whose bytes our store lacks, though the stat cache has them by now. */
  readonly lacking: PlainFiles
}

/** Puts what the index knows into the stat cache, and takes over the user's packs while the scan has begun. */
export class FirstLook {
  readonly #engine: Engine
  readonly #batch: ObjectBatch
  readonly #attrs: Attrs
  readonly #tracked: TrackedFiles | undefined
  readonly #plain: PlainFiles
  #guess: Promise<FirstGuess> | undefined

  constructor(engine: Engine, batch: ObjectBatch) {
    const none = new Map<RelPath, number>()
    this.#engine = engine
    this.#batch = batch
    this.#attrs = { defaults: engine.defaultPerms, files: none, folders: none, bare: none }
    this.#tracked = engine.user.tracked()
    this.#plain = this.#tracked === undefined ? noFiles : plainFilesOf(engine, this.#tracked)
    // The index does not know the permission bits. A file with others than usual counts as changed, and is looked at.
    engine.stat.cache = StatCache.seeded({ ...this.#plain, perms: engine.defaultPerms })
    engine.stat.tree = undefined
    engine.stat.attrs = undefined
  }

  guess(): Promise<FirstGuess> {
    this.#guess ??= this.#borrow()
    return this.#guess
  }

  /** The scan compared with all that the index has. What our store lacks of it has to be read like a change. */
  async complete(scan: Scan): Promise<Scan> {
    const { lacking } = await this.guess()
    if (lacking.sizes.length === 0) return scan
    const { cache } = this.#engine.stat
    const done = new Set<RelPath>([...scan.changed.map(({ path }) => path), ...scan.gone])
    const unread: SeenFile[] = []
    for (const [file, path] of pathsOf(lacking)) {
      cache.forget(path) // it must not vouch for bytes that nobody may ever read
      if (!done.has(path)) unread.push(seenAs(lacking, file, path, this.#attrs, scan.startedMs))
    }
    return withChanged(scan, unread)
  }

  async #borrow(): Promise<FirstGuess> {
    const plain = this.#plain
    const sizes = await sizesOf(this.#engine, plain)
    const isBorrowed = (file: number) => sizes[file] === plain.sizes[file]
    const hasAll = sameNumbers(sizes, plain.sizes)
    const files = hasAll ? plain : plainFilesThat(plain, isBorrowed)
    const lacking = hasAll ? noFiles : plainFilesThat(plain, (file) => !isBorrowed(file))
    const tree = treeOfFiles(this.#batch, files, this.#tracked?.cachedTrees())
    const state = stateOf(tree, this.#attrs, (bytes) => this.#batch.blob(bytes))
    const known = { state, skipped: new Map(), skippedBlob: this.#batch.blob(Buffer.alloc(0)) }
    const folders = this.#engine.stat.cache.knownFolders()
    for (const [, path] of pathsOf(lacking))
      for (let folder = parentOf(path); folder !== ''; folder = parentOf(folder)) folders.delete(folder)
    const tracked = this.#tracked
    const attributePaths = tracked?.pathsNamed(attributesName) ?? []
    return { known, files, folders, sizeOf: sizesById(plain, sizes), tracked, attributePaths, lacking }
  }
}

/** As bytes: 100,000 numbers are compared in no time that way. */
function sameNumbers(a: Float64Array, b: Float64Array): boolean {
  const bytes = ({ buffer, byteOffset, byteLength }: Float64Array) =>
    Buffer.from(buffer, byteOffset, byteLength)
  return bytes(a).equals(bytes(b))
}

/** As the scan saw it: its stat was the one in the index, and its permission bits were the usual ones. */
function seenAs(files: PlainFiles, file: number, path: RelPath, attrs: Attrs, lookedMs: number): SeenFile {
  const [size = 0, mtimeMs = 0, ctimeMs = 0, ino = 0] = files.stats.subarray(file * 4, file * 4 + 4)
  const perm = files.executable[file] === 1 ? attrs.defaults.exec : attrs.defaults.file
  return { path, kind: 'file', perm, size, mtimeMs, ctimeMs, ino, lookedMs }
}

function plainFilesOf(engine: Engine, tracked: TrackedFiles): PlainFiles {
  // The second thread takes a while to start; it will be needed soon, and does so beside this one.
  if (tracked.count >= engine.scanner.threadOptions.comparedFiles) engine.scanner.secondThread()
  return tracked.plainFiles()
}

async function sizesOf(engine: Engine, plain: PlainFiles): Promise<Float64Array> {
  const git = engine.user.find()
  // The repository went away since its index was read: nothing can be borrowed any more.
  if (git === undefined || git.objectFormat !== 'sha1') return new Float64Array(plain.sizes.length).fill(-1)
  return await borrowPacks(engine.git, engine.objects, listPacks(git), plain.ids)
}

const noFiles: PlainFiles = {
  paths: sortedPaths({ bytes: new Uint8Array(), starts: new Uint32Array(), ends: new Uint32Array() }),
  ids: new Uint8Array(),
  executable: new Uint8Array(),
  stats: new Float64Array(),
  sizes: new Float64Array(),
}

// Asked about files that differ from the guess: mostly there is none, and then nothing is put together.
function sizesById({ ids }: PlainFiles, sizes: Float64Array): FirstGuess['sizeOf'] {
  let byId: Map<string, number> | undefined
  const all = () => {
    const found = new Map<string, number>()
    for (let file = 0; file < sizes.length; file++) {
      const id = Buffer.from(ids.buffer, ids.byteOffset + file * 20, 20).toString('hex')
      if (sizes[file] !== -1) found.set(id, sizes[file] ?? 0)
    }
    return found
  }
  return (blob) => {
    byId ??= all()
    return byId.get(blob)
  }
}

/** The contents of what differs from the guess, and of what git may have converted on its way to the disk. */
export async function firstContents(
  engine: Engine,
  scan: Scan,
  guess: FirstGuess,
  batch: ObjectBatch,
): Promise<readonly Content[]> {
  const tracked = engine.user.tracked()
  const attributePaths =
    tracked === guess.tracked ? guess.attributePaths : (tracked?.pathsNamed(attributesName) ?? [])
  const mayConvert = engine.user.mayConvert(tracked === undefined ? [] : attributeFiles(scan, attributePaths))
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
function attributeFiles(scan: Scan, tracked: readonly RelPath[]): readonly RelPath[] {
  const found = new Set(tracked)
  for (const places of [scan.changed, scan.skipped])
    for (const { path } of places)
      if (path.endsWith(attributesName) && nameOf(path) === attributesName) found.add(path)
  return [...found]
}

const attributesName = '.gitattributes'

type MayConvert = ReturnType<Engine['user']['mayConvert']>

/** Files that look clean to the index, but whose blob may not be what is on disk. */
function mayBeConverted(scan: Scan, guess: FirstGuess, mayConvert: MayConvert): readonly RelPath[] {
  if (mayConvert === 'never') return []
  const doubtful = new Set<RelPath>()
  for (const [, path] of pathsOf(guess.files)) if (mayConvert(path)) doubtful.add(path)
  for (const { path } of scan.changed) doubtful.delete(path)
  for (const path of scan.gone) doubtful.delete(path)
  return [...doubtful]
}

export function* pathsOf({ paths }: PlainFiles): Iterable<readonly [file: number, path: RelPath]> {
  const bytes = Buffer.from(paths.bytes.buffer, paths.bytes.byteOffset, paths.bytes.length)
  for (const [file, start] of paths.starts.entries())
    yield [file, relPathUnchecked(bytes.toString('latin1', start, paths.ends[file]))]
}

/** Of the changed files those that differ from the guess in nothing that git keeps: in permission bits, say. */
function cleanFiles(
  files: readonly SeenFile[],
  tracked: TrackedFiles,
  guess: FirstGuess,
  mayConvert: MayConvert,
): ReadonlyMap<SeenFile, BlobId> {
  const clean = new Map<SeenFile, BlobId>()
  for (const file of files) {
    const blob = file.kind === 'file' ? tracked.cleanBlob(file.path, file) : undefined
    if (blob === undefined || guess.sizeOf(blob) !== file.size) continue
    if (mayConvert !== 'never' && mayConvert(file.path)) continue
    clean.set(file, blob as BlobId)
  }
  return clean
}
