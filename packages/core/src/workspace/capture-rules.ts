/** What a scan captures, and what it passes over, as plain data that a second thread can be given. */

import { createHash, randomUUID } from 'node:crypto'
import type { AbsPath, ByteString, PathBytes, RelPath } from '../values.ts'
import { IgnoreStack, matchesName, parseRules } from './ignore.ts'

export interface CaptureRules {
  /** A file of exactly this size is still captured. Does not hold for tracked, named and known files. */
  readonly maxUntrackedFileSize: number
  /** A folder that was never captured and has more entries than this is passed over, unless something tracked or named lies below. */
  readonly maxUntrackedDirEntries: number
  /** Names of folders that are passed over, unless something tracked, named or known lies below. */
  readonly heavyFolders: readonly ByteString[]
  /** Globs for the names of files that are captured even when an ignore rule matches them. */
  readonly protect: readonly ByteString[]
  readonly infoExclude?: ByteString
  readonly globalExcludes?: ByteString
  readonly ignoreCase: boolean
  /** What the user's git index has. */
  readonly tracked?: Tracked
  /** Never looked at: our own store, when it lies inside the workspace. */
  readonly apart: readonly AbsPath[]
}

export interface Tracked {
  has(path: RelPath): boolean
  hasBelow(folder: RelPath): boolean
  /** The form a second thread can use. Without it the scan stays in one thread and takes all verdicts again. */
  readonly shared?: SharedTracked
}

export interface SharedTracked {
  readonly buffer: SharedArrayBuffer
  readonly fingerprint: string
}

export const defaultHeavyFolders: readonly ByteString[] = [
  'node_modules',
  'bower_components',
  'jspm_packages',
  '.pnpm-store',
  '.venv',
  'venv',
  '__pycache__',
  '.tox',
  '.nox',
  '.mypy_cache',
  '.pytest_cache',
  '.ruff_cache',
  '.ipynb_checkpoints',
  'dist',
  'build',
  'target',
  '.gradle',
  '.next',
  '.nuxt',
  '.output',
  '.turbo',
  '.nx',
  '.angular',
  '.parcel-cache',
  '.svelte-kit',
  '.terraform',
  '.dart_tool',
  'DerivedData',
  '.build',
  '_build',
  'zig-cache',
  '.zig-cache',
]

export function captureRules(own: Partial<CaptureRules> = {}): CaptureRules {
  return {
    maxUntrackedFileSize: 10 * 1024 * 1024,
    maxUntrackedDirEntries: Number.POSITIVE_INFINITY,
    heavyFolders: defaultHeavyFolders,
    protect: ['.env*'],
    ignoreCase: false,
    apart: [],
    ...own,
  }
}

/**
 * Packs the paths of a git index, so that two threads look them up in the same memory: a set of strings
 * would have to be built again in each of them at every scan.
 */
export function packTracked(paths: PathBytes): Tracked {
  const slots = slotCount(paths.starts.length + folderCount(paths))
  const buffer = new SharedArrayBuffer(16 + slots * 8 + nameBytes(paths))
  const words = new Int32Array(buffer, 0, 4 + slots * 2)
  words[0] = slots
  fill(words, Buffer.from(buffer, words.byteLength), paths)
  const names = Buffer.from(buffer, words.byteLength)
  return unpackTracked({ buffer, fingerprint: createHash('sha1').update(names).digest('hex') })
}

/** Paths of an index come in order, so a folder is new where a path leaves the one before it. */
function commonLength({ bytes, starts, ends }: PathBytes, path: number): number {
  if (path === 0) return 0
  const [at = 0, before = 0] = [starts[path], starts[path - 1]]
  const most = Math.min((ends[path] ?? 0) - at, (ends[path - 1] ?? 0) - before)
  let common = 0
  while (common < most && bytes[at + common] === bytes[before + common]) common++
  return common
}

function folderCount(paths: PathBytes): number {
  const { bytes, starts, ends } = paths
  let folders = 0
  for (let path = 0; path < starts.length; path++) {
    const end = ends[path] ?? 0
    for (let at = (starts[path] ?? 0) + commonLength(paths, path); at < end; at++)
      if (bytes[at] === slash) folders++
  }
  return folders
}

/** Each path with a NUL behind it: without, `a/b` and `c` would have the fingerprint of `a` and `/bc`. */
function nameBytes({ starts, ends }: PathBytes): number {
  let bytes = starts.length
  for (let path = 0; path < starts.length; path++) bytes += (ends[path] ?? 0) - (starts[path] ?? 0)
  return bytes
}

function fill(words: Int32Array, names: Uint8Array, paths: PathBytes): void {
  const mask = (words[0] ?? 0) - 1
  // The sign of the length tells files from folders: both may be asked for the same bytes.
  const insert = (hash: number, start: number, length: number) => {
    let slot = spread(hash) & mask
    while (words[4 + slot * 2] !== 0) slot = (slot + 1) & mask
    words[4 + slot * 2] = start + 1
    words[5 + slot * 2] = length
  }
  const { bytes, starts, ends } = paths
  let end = 0
  for (let path = 0; path < starts.length; path++) {
    const first = starts[path] ?? 0
    const length = (ends[path] ?? 0) - first
    const common = commonLength(paths, path)
    let hash = noHash
    for (let i = 0; i < length; i++) {
      const byte = bytes[first + i] ?? 0
      if (byte === slash && i >= common) insert(hash, end, -i)
      hash = Math.imul(hash ^ byte, hashFactor)
      names[end + i] = byte
    }
    insert(hash, end, length)
    end += length + 1
  }
}

export function unpackTracked(shared: SharedTracked): Tracked {
  const slots = new Int32Array(shared.buffer, 0, 1)[0] ?? 0
  const words = new Int32Array(shared.buffer, 16, slots * 2)
  const names = Buffer.from(shared.buffer, 16 + slots * 8)
  const holds = (text: ByteString, length: number) => {
    let slot = hashOf(text) & (slots - 1)
    for (;;) {
      const start = words[slot * 2]
      if (start === undefined || start === 0) return false
      if (words[slot * 2 + 1] === length && sameBytes(names, start - 1, text)) return true
      slot = (slot + 1) & (slots - 1)
    }
  }
  return {
    shared,
    has: (path) => holds(path, path.length),
    hasBelow: (folder) => holds(folder, -folder.length),
  }
}

function foldersAbove(files: readonly RelPath[]): ReadonlySet<ByteString> {
  const folders = new Set<ByteString>()
  for (const file of files) {
    for (let cut = file.lastIndexOf('/'); cut > 0; cut = file.lastIndexOf('/', cut - 1)) {
      const folder = file.slice(0, cut)
      if (folders.has(folder)) break
      folders.add(folder)
    }
  }
  return folders
}

function slotCount(entries: number): number {
  let slots = 16
  while (slots < entries * 2) slots *= 2
  return slots
}

const slash = 0x2f
const noHash = 0x811c9dc5
const hashFactor = 0x01000193

function hashOf(text: ByteString): number {
  let hash = noHash
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), hashFactor)
  return spread(hash)
}

function spread(hash: number): number {
  return (hash ^ (hash >>> 15)) >>> 0
}

/** For paths that are strings. */
export function bytesOfPaths(paths: readonly RelPath[]): PathBytes {
  const lengths = paths.map((path) => path.length)
  const ends = new Uint32Array(paths.length)
  lengths.reduce((sum, length, i) => {
    ends[i] = sum + length
    return sum + length
  }, 0)
  return {
    bytes: Buffer.from(paths.join(''), 'latin1'),
    starts: ends.map((end, i) => end - (lengths[i] ?? 0)),
    ends,
  }
}

function sameBytes(names: Uint8Array, start: number, text: ByteString): boolean {
  for (let i = text.length - 1; i >= 0; i--) if (names[start + i] !== text.charCodeAt(i)) return false
  return true
}

/** The rules as they travel to the second thread. */
export interface PlainRules {
  readonly maxUntrackedFileSize: number
  readonly maxUntrackedDirEntries: number
  readonly heavyFolders: readonly ByteString[]
  readonly protect: readonly ByteString[]
  readonly infoExclude: ByteString
  readonly globalExcludes: ByteString
  readonly ignoreCase: boolean
  readonly apart: readonly RelPath[]
  readonly named: readonly RelPath[]
  readonly tracked: SharedTracked | undefined
}

export function plainRules(rules: CaptureRules, root: AbsPath, named: readonly RelPath[]): PlainRules {
  return {
    maxUntrackedFileSize: rules.maxUntrackedFileSize,
    maxUntrackedDirEntries: rules.maxUntrackedDirEntries,
    heavyFolders: rules.heavyFolders,
    protect: rules.protect,
    infoExclude: rules.infoExclude ?? '',
    globalExcludes: rules.globalExcludes ?? '',
    ignoreCase: rules.ignoreCase,
    apart: rules.apart.flatMap((path) => placeBelow(root, path)),
    named,
    tracked: rules.tracked?.shared,
  }
}

function placeBelow(root: AbsPath, path: AbsPath): RelPath[] {
  const start = root.endsWith('/') ? root : `${root}/`
  return path.startsWith(start) ? [path.slice(start.length).replace(/\/+$/, '') as RelPath] : []
}

const unsharedFingerprints = new WeakMap<Tracked, string>()

/** Changes whenever a verdict could: then the names of every folder are judged again. */
export function fingerprintOf(rules: CaptureRules, root: AbsPath): string {
  const { named: _, tracked, ...plain } = plainRules(rules, root, [])
  const index =
    tracked?.fingerprint ?? (rules.tracked === undefined ? 'none' : unsharedFingerprint(rules.tracked))
  return createHash('sha1')
    .update(JSON.stringify([plain, index]))
    .digest('hex')
}

function unsharedFingerprint(tracked: Tracked): string {
  const known = unsharedFingerprints.get(tracked) ?? randomUUID()
  unsharedFingerprints.set(tracked, known)
  return known
}

/** Answers the questions of a walk about names. One per thread and scan. */
export class Verdicts {
  readonly maxUntrackedFileSize: number
  readonly maxUntrackedDirEntries: number
  readonly #heavy: ReadonlySet<ByteString>
  readonly #protect: readonly ByteString[]
  readonly #apart: ReadonlySet<ByteString>
  readonly #named: ReadonlySet<ByteString>
  readonly #namedFolders: ReadonlySet<ByteString>
  readonly #tracked: Tracked | undefined
  readonly outermost: IgnoreStack

  constructor(rules: PlainRules, tracked: Tracked | undefined) {
    this.maxUntrackedFileSize = rules.maxUntrackedFileSize
    this.maxUntrackedDirEntries = rules.maxUntrackedDirEntries
    this.#heavy = new Set(rules.heavyFolders)
    this.#protect = rules.protect
    this.#apart = new Set(rules.apart)
    this.#named = new Set(rules.named)
    this.#namedFolders = foldersAbove(rules.named)
    this.#tracked = tracked ?? (rules.tracked === undefined ? undefined : unpackTracked(rules.tracked))
    // The user's own file for all repositories yields to the repository's, and both to any .gitignore.
    const lists = [rules.globalExcludes, rules.infoExclude].map((content) => parseRules(content, ''))
    this.outermost = IgnoreStack.of(lists, { ignoreCase: rules.ignoreCase })
  }

  isApart(path: ByteString): boolean {
    return this.#apart.size > 0 && this.#apart.has(path)
  }

  /** Captured whatever its size and whatever the ignore rules say. */
  isWanted(path: RelPath): boolean {
    return this.#tracked?.has(path) === true || this.#named.has(path)
  }

  isProtected(name: ByteString): boolean {
    return this.#protect.some((glob) => matchesName(glob, name))
  }

  isHeavy(name: ByteString): boolean {
    return this.#heavy.has(name)
  }

  hasWantedBelow(folder: RelPath): boolean {
    return this.#tracked?.hasBelow(folder) === true || this.#namedFolders.has(folder)
  }
}
