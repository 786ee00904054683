/** The words of the glossary as types. A leaf: everybody may import it, it imports nothing. */

declare const brand: unique symbol
type Brand<Base, Name extends string> = Base & { readonly [brand]: Name }

/**
 * Bytes as a string, one code unit (0 to 255) each. File names are bytes, not text: a name that is not
 * UTF-8 must come back as it was (P6), and strings compare and hash faster than buffers.
 */
export type ByteString = string

/** An absolute path as bytes. */
export type AbsPath = Brand<ByteString, 'AbsPath'>

/** A place inside the workspace, as bytes, `/` between the names. Only `parseRelPath` makes one. */
export type RelPath = Brand<ByteString, 'RelPath'>

/** Many paths in one piece of memory, as bytes. */
export interface PathBytes {
  readonly bytes: Uint8Array
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

export type BlobId = Brand<string, 'BlobId'>
export type TreeId = Brand<string, 'TreeId'>
export type CommitId = Brand<string, 'CommitId'>
export type ObjectId = BlobId | TreeId | CommitId

export type OpId = Brand<string, 'OpId'>
export type SessionId = Brand<string, 'SessionId'>
export type TurnId = Brand<string, 'TurnId'>
export type StepId = Brand<string, 'StepId'>
export type ChangeId = Brand<string, 'ChangeId'>

/** The captured state of the workspace: a git tree, and a blob with what a git tree cannot hold. */
export interface Snapshot {
  readonly tree: TreeId
  readonly attrs: BlobId
}

/** What stands at one path. `perm` is the nine permission bits. */
export type FileState =
  | { readonly kind: 'file'; readonly perm: number; readonly blob: BlobId }
  | { readonly kind: 'link'; readonly blob: BlobId }

export type Skipped =
  | { readonly path: RelPath; readonly reason: 'too-large'; readonly size: number }
  | {
      readonly path: RelPath
      readonly reason: 'ignored' | 'unreadable' | 'special' | 'nested-git' | 'purged'
    }

export type Certainty = 'exact' | 'inferred' | 'shared'
export type ChangeKind = 'add' | 'modify' | 'delete' | 'rename' | 'mode' | 'type'

/** Turns a place below the workspace, given as bytes, into a `RelPath`; or says what is wrong with it. */
export function flawOfRelPath(bytes: ByteString): string | undefined {
  if (bytes === '') return 'it is empty'
  if (bytes.includes('\0')) return 'it contains a NUL byte'
  for (const name of bytes.split('/')) {
    const flaw = flawOfName(name)
    if (flaw !== undefined) return flaw
  }
  return undefined
}

/** What makes one name of a path unsafe to write to. */
export function flawOfName(name: ByteString): string | undefined {
  if (name === '') return 'it has an empty part or is absolute'
  if (name === '.' || name === '..') return `it contains "${name}"`
  if (isDotGit(name)) return 'it lies in a .git folder'
  return undefined
}

// Case-insensitive file systems open `.GIT` as `.git`, HFS+ ignores some invisible characters in between,
// and NTFS knows it as `git~1`, too: a tree from elsewhere must not reach the user's repository that way (P5).
export function isDotGit(name: ByteString): boolean {
  if (name.length < 4) return false
  const first = name.charCodeAt(0)
  if (first !== 0x2e && first !== 0x67 && first !== 0x47 && first < 0x80) return false
  const plain = name
    .replace(/\xe2\x80[\x8c-\x8f\xaa-\xae]|\xe2\x81[\xaa-\xaf]|\xef\xbb\xbf/g, '')
    .replace(/[. ]+$/, '')
    .toLowerCase()
  return plain === '.git' || plain === 'git~1'
}

/** For names that come from a directory listing or a checked parent: whoever calls this vouches for it. */
export function relPathUnchecked(bytes: ByteString): RelPath {
  return bytes as RelPath
}

export function absPathUnchecked(bytes: ByteString): AbsPath {
  return bytes as AbsPath
}

/** `parent` may be '' for the workspace's root. */
export function joinRel(parent: ByteString, name: ByteString): RelPath {
  return (parent === '' ? name : `${parent}/${name}`) as RelPath
}

export function joinAbs(parent: AbsPath, rest: ByteString): AbsPath {
  return (rest === '' ? parent : parent.endsWith('/') ? parent + rest : `${parent}/${rest}`) as AbsPath
}

/** The folder a path lies in; '' for the root. */
export function parentOf(path: ByteString): ByteString {
  const slash = path.lastIndexOf('/')
  return slash < 0 ? '' : path.slice(0, slash)
}

/** The folders a path lies in, nearest first, without the root. */
export function foldersAbove(path: ByteString): readonly RelPath[] {
  const folders: RelPath[] = []
  for (let folder = parentOf(path); folder !== ''; folder = parentOf(folder)) folders.push(folder as RelPath)
  return folders
}

export function nameOf(path: ByteString): ByteString {
  return path.slice(path.lastIndexOf('/') + 1)
}

export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`)
}

declare const exclusive: unique symbol

/**
 * Proof that the caller holds the store's lock. What writes takes one; only the lock makes one. Forgetting
 * the lock is then a type error instead of a race that shows once a month.
 */
export interface Exclusive {
  readonly [exclusive]: true
}
