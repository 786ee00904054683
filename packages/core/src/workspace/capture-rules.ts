/** What a scan captures, and what it passes over, as plain data that a second thread can be given. */

import { createHash, randomUUID } from 'node:crypto'
import { type SortedPaths, sortedPaths } from '../sorted-paths.ts'
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

/** All of it in memory that threads share, in the order of the paths' bytes. */
export interface SharedTracked extends PathBytes {
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
 * The paths of a git index in memory where two threads look them up: a set of strings would have to be built again in
 * each of them at every scan. An index that was read into such memory is not copied.
 */
export function packTracked(paths: SortedPaths): Tracked {
  const { bytes, starts, ends } = paths
  return unpackTracked(new PackedPaths(paths, sharedBytes(bytes), sharedWords(starts), sharedWords(ends)))
}

function sharedBytes(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer instanceof SharedArrayBuffer) return bytes
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length))
  copy.set(bytes)
  return copy
}

function sharedWords(words: Uint32Array): Uint32Array {
  if (words.buffer instanceof SharedArrayBuffer) return words
  const copy = new Uint32Array(new SharedArrayBuffer(words.byteLength))
  copy.set(words)
  return copy
}

class PackedPaths implements SharedTracked {
  readonly bytes: Uint8Array
  readonly starts: Uint32Array
  readonly ends: Uint32Array
  readonly #paths: SortedPaths
  #fingerprint: string | undefined

  constructor(paths: SortedPaths, bytes: Uint8Array, starts: Uint32Array, ends: Uint32Array) {
    this.bytes = bytes
    this.starts = starts
    this.ends = ends
    this.#paths = paths
  }

  // Worked out when it is asked for: a first scan has begun by then, and goes on in the other thread.
  get fingerprint(): string {
    this.#fingerprint ??= fingerprintOfPaths(this.#paths)
    return this.#fingerprint
  }
}

/** What each path has in common with the one before, how long it is, and the rest of it: that is all of it. */
function fingerprintOfPaths({ bytes, starts, ends, common }: SortedPaths): string {
  const lengths = new Uint32Array(starts.length)
  const rest = new Uint8Array(bytes.length) // enough: the paths lie side by side in there
  let at = 0
  for (let path = 0; path < starts.length; path++) {
    const start = starts[path] ?? 0
    const end = ends[path] ?? 0
    lengths[path] = end - start
    for (let i = start + (common[path] ?? 0); i < end; i++) rest[at++] = bytes[i] ?? 0
  }
  return createHash('sha1').update(common).update(lengths).update(rest.subarray(0, at)).digest('hex')
}

export function unpackTracked(shared: SharedTracked): Tracked {
  const places = new SharedPlaces(shared)
  return {
    shared,
    has: (path) => places.has(path),
    hasBelow: (folder) => places.hasBelow(folder),
  }
}

/** Looks paths up by halving. A walk asks for names in their order, so the one after the last is tried first. */
class SharedPlaces {
  readonly #paths: PathBytes
  readonly #count: number
  #next = 0

  constructor(paths: PathBytes) {
    this.#paths = paths
    this.#count = paths.starts.length
  }

  has(path: ByteString): boolean {
    if (this.#next < this.#count && this.#compare(this.#next, path) === 0) {
      this.#next += 1
      return true
    }
    const place = this.#find(path)
    const isThere = place < this.#count && this.#compare(place, path) === 0
    this.#next = isThere ? place + 1 : place
    return isThere
  }

  hasBelow(folder: ByteString): boolean {
    const start = `${folder}/`
    const place = this.#find(start)
    return place < this.#count && this.#compare(place, start, start.length) === 0
  }

  /** The first place whose path is not before the one asked for. */
  #find(path: ByteString): number {
    let low = 0
    let high = this.#count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#compare(middle, path) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  /** With `most`: as if the path at this place ended there. */
  #compare(place: number, path: ByteString, most = Number.POSITIVE_INFINITY): number {
    const { bytes, starts, ends } = this.#paths
    const start = starts[place] ?? 0
    const length = Math.min((ends[place] ?? 0) - start, most)
    const common = Math.min(length, path.length)
    for (let i = 0; i < common; i++) {
      const difference = (bytes[start + i] ?? 0) - path.charCodeAt(i)
      if (difference !== 0) return difference
    }
    return length - path.length
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

/** For paths that are strings, in the order of an index. */
export function bytesOfPaths(paths: readonly RelPath[]): SortedPaths {
  const lengths = paths.map((path) => path.length)
  const ends = new Uint32Array(paths.length)
  lengths.reduce((sum, length, i) => {
    ends[i] = sum + length
    return sum + length
  }, 0)
  return sortedPaths({
    bytes: Buffer.from(paths.join(''), 'latin1'),
    starts: ends.map((end, i) => end - (lengths[i] ?? 0)),
    ends,
  })
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
