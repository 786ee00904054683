/**
 * The user's git repository, read in our process. Nothing here writes (P5) and nothing here starts git: the
 * repository's configuration could make git run a program (P10).
 *
 * Names of refs are bytes, like paths; `textOfBytes` makes text of them.
 */

import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { errorCode } from '../fs.ts'
import { type AbsPath, absPathUnchecked, type ByteString, joinAbs } from '../values.ts'
import { type Env, expandPath, parseConfig, readUserConfig, xdgPath } from './user-git-config.ts'
import { isFolder, kindAt, native, readUserFile, readUserFolder, readUserText } from './user-git-read.ts'

export { Attributes } from './user-git-attributes.ts'
export { isTrue, parseConfig, readConfigFile, readUserConfig, type UserConfig } from './user-git-config.ts'
export {
  msOfTime,
  type PlainFiles,
  plainFilesThat,
  sameTime,
  type TrackedEntry,
  TrackedFiles,
} from './user-git-index.ts'

export interface UserGit {
  readonly root: AbsPath
  /** Of this worktree: HEAD, index and the marks of a merge or rebase live here. */
  readonly gitDir: AbsPath
  /** Where objects, refs and configuration live; another folder than `gitDir` in a linked worktree. */
  readonly commonDir: AbsPath
  readonly objectFormat: 'sha1' | 'sha256' | 'unknown'
  /** False where refs are in a format we do not read (reftable). */
  readonly readableRefs: boolean
}

/** `undefined` where root is no repository, or its `.git` points nowhere or makes no sense. Parents are not asked. */
export function findUserGit(root: AbsPath): UserGit | undefined {
  const gitDir = findGitDir(root)
  if (gitDir === undefined) return undefined
  const commonDir = findCommonDir(gitDir)
  if (commonDir === undefined || !isFolder(joinAbs(commonDir, 'objects'))) return undefined
  if (!isFolder(joinAbs(commonDir, 'refs')) || !hasHead(gitDir)) return undefined
  return { root, gitDir, commonDir, ...formatOf(commonDir) }
}

function findGitDir(root: AbsPath): AbsPath | undefined {
  const dotGit = joinAbs(root, '.git')
  const kind = kindAt(dotGit)
  if (kind === 'folder') return dotGit
  if (kind !== 'file') return undefined
  const text = readUserText(dotGit, MAX_SMALL_FILE)
  return text?.startsWith('gitdir: ') ? resolveFolder(root, firstLine(text.slice(8))) : undefined
}

function findCommonDir(gitDir: AbsPath): AbsPath | undefined {
  const reading = readUserFile(joinAbs(gitDir, 'commondir'), MAX_SMALL_FILE)
  if (reading.kind === 'missing') return gitDir
  if (reading.kind === 'unreadable') return undefined
  return resolveFolder(gitDir, firstLine(reading.bytes.toString('latin1')))
}

const MAX_SMALL_FILE = 64 * 1024

function firstLine(text: ByteString): ByteString {
  return /^[^\r\n]*/.exec(text)?.[0] ?? ''
}

/** The real place of a folder that is named from another one; `undefined` where there is none. */
function resolveFolder(from: AbsPath, target: ByteString): AbsPath | undefined {
  if (target === '' || target.includes('\0')) return undefined
  const absolute = target.startsWith('/') || /^[A-Za-z]:[\\/]/.test(target)
  const path = absolute ? absPathUnchecked(target) : joinAbs(from, target)
  if (!isFolder(path)) return undefined
  try {
    return absPathUnchecked(realpathSync.native(native(path), 'buffer').toString('latin1'))
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return undefined
  }
}

/** HEAD may be a link, in the way of very old gits, and then points nowhere before the first commit. */
function hasHead(gitDir: AbsPath): boolean {
  const head = joinAbs(gitDir, 'HEAD')
  return linkTarget(head) !== undefined || kindAt(head) === 'file'
}

function formatOf(commonDir: AbsPath): Pick<UserGit, 'objectFormat' | 'readableRefs'> {
  const reading = readUserFile(joinAbs(commonDir, 'config'))
  if (reading.kind === 'missing') return { objectFormat: 'sha1', readableRefs: true }
  if (reading.kind === 'unreadable') return { objectFormat: 'unknown', readableRefs: true }
  // Git takes the format from this file alone: an include cannot change it.
  const config = parseConfig(reading.bytes.toString('latin1'))
  if (config.damaged) return { objectFormat: 'unknown', readableRefs: true }
  const settings = new Map(config.settings.map(({ key, value }) => [key, value]))
  const format = settings.get('extensions.objectformat') ?? 'sha1'
  return {
    objectFormat: format === 'sha1' || format === 'sha256' ? format : 'unknown',
    readableRefs: (settings.get('extensions.refstorage') ?? 'files') === 'files',
  }
}

export interface UserHead {
  readonly commit?: string
  /** The full name of the ref. */
  readonly branch?: ByteString
}

/** A repository without commits has a branch only, a detached head a commit only; `{}` where nobody can say. */
export function readHead(git: UserGit): UserHead {
  if (!git.readableRefs) return {}
  const head = readLooseRef(git, 'HEAD')
  if (head === undefined) return {}
  if (head.kind === 'id') return { commit: head.id }
  const commit = readRef(git, head.target)
  return commit === undefined ? { branch: head.target } : { branch: head.target, commit }
}

/** The id a ref leads to, through a few symbolic ones if need be. */
export function readRef(git: UserGit, name: ByteString): string | undefined {
  return followRef(git, name, lazyPackedRefs(git))
}

/** All refs whose name begins with `prefix`, such as `refs/remotes/`, with their ids. */
export function refsPointingInto(git: UserGit, prefix: ByteString): ReadonlyMap<ByteString, string> {
  const refs = new Map<ByteString, string>()
  if (!git.readableRefs || !prefix.startsWith('refs/')) return refs
  const packed = lazyPackedRefs(git)
  for (const [name, id] of packed()) if (name.startsWith(prefix)) refs.set(name, id)
  for (const name of looseNames(git, prefix.slice(0, prefix.lastIndexOf('/')))) {
    const id = name.startsWith(prefix) ? followRef(git, name, packed) : undefined
    if (id !== undefined) refs.set(name, id)
  }
  return refs
}

export interface HeadMove {
  readonly to: string
  /** Onto a commit that was there before: a checkout, a reset. Everything else made one, or brought one in. */
  readonly isSwitch: boolean
}

const MAX_REFLOG = 64 * 1024 * 1024

export function headLog(git: UserGit): AbsPath {
  return joinAbs(git.gitDir, 'logs/HEAD')
}

/** How HEAD moved since its log had this length, oldest first; empty where the log does not tell. */
export function headMovesSince(git: UserGit, length: number): readonly HeadMove[] {
  const text = readUserText(headLog(git), MAX_REFLOG) ?? ''
  // A log that was cut or written anew in the meantime has its entries in other places.
  if (length > 0 && text[length - 1] !== '\n') return []
  return [...text.slice(length).matchAll(/^[0-9a-f]{40,64} ([0-9a-f]{40,64}) [^\t\n]*(?:\t(.*))?$/gm)].map(
    ([, to = '', how = '']) => ({ to, isSwitch: /^(checkout|reset)\b/.test(how) }),
  )
}

type PackedRefs = () => ReadonlyMap<ByteString, string>

function followRef(git: UserGit, name: ByteString, packed: PackedRefs): string | undefined {
  if (!git.readableRefs) return undefined
  let current = name
  // Symbolic refs may lead in a circle; git gives up after five.
  for (let hops = 0; hops <= 5; hops += 1) {
    if (!isRefName(current)) return undefined
    const loose = readLooseRef(git, current)
    if (loose === undefined) return packed().get(current)
    if (loose.kind === 'id') return loose.id
    current = loose.target
  }
  return undefined
}

type LooseRef =
  | { readonly kind: 'id'; readonly id: string }
  | { readonly kind: 'symbolic'; readonly target: ByteString }

function readLooseRef(git: UserGit, name: ByteString): LooseRef | undefined {
  const path = joinAbs(isOfWorktree(name) ? git.gitDir : git.commonDir, name)
  const link = linkTarget(path)
  if (link?.startsWith('refs/') && isRefName(link)) return { kind: 'symbolic', target: link }
  const text = readUserText(path, MAX_SMALL_FILE)
  if (text === undefined) return undefined
  const target = /^ref:[ \t]*([^ \t\n\r]*)/.exec(text)?.[1] // a name holds no blank
  if (target !== undefined) return isRefName(target) ? { kind: 'symbolic', target } : undefined
  const id = /^([0-9a-f]{40}(?:[0-9a-f]{24})?)(?:\s|$)/.exec(text)?.[1]
  return id === undefined ? undefined : { kind: 'id', id }
}

/** These are kept for each worktree by itself. */
function isOfWorktree(name: ByteString): boolean {
  return !name.startsWith('refs/') || /^refs\/(bisect|worktree|rewritten)\//.test(name)
}

/** Keeps a name from the repository or a caller from leading out of the folder of refs. */
function isRefName(name: ByteString): boolean {
  if (/[\x00-\x1f\x7f]/.test(name) || name.length > 4096) return false
  if (!name.startsWith('refs/')) return /^[A-Z][A-Z_]*$/.test(name)
  return name.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
}

const MAX_PACKED_REFS = 256 * 1024 * 1024

function lazyPackedRefs(git: UserGit): PackedRefs {
  let refs: Map<ByteString, string> | undefined
  return () => {
    refs ??= parsePackedRefs(readUserText(joinAbs(git.commonDir, 'packed-refs'), MAX_PACKED_REFS) ?? '')
    return refs
  }
}

/** `#` begins a remark, `^` the commit that the tag in the line before points to. */
function parsePackedRefs(text: ByteString): Map<ByteString, string> {
  const refs = new Map<ByteString, string>()
  for (const [, id, name] of text.matchAll(/^([0-9a-f]{40}(?:[0-9a-f]{24})?) ([^\n\r]+)\r?$/gm)) {
    if (id !== undefined && name !== undefined) refs.set(name, id)
  }
  return refs
}

const MAX_REF_DEPTH = 64

function looseNames(git: UserGit, folder: ByteString, depth = 0): readonly ByteString[] {
  if (!isRefName(`${folder}/x`) || depth > MAX_REF_DEPTH) return []
  return readUserFolder(joinAbs(git.commonDir, folder)).flatMap((entry) => {
    const name = `${folder}/${entry.name}`
    if (entry.isFolder) return looseNames(git, name, depth + 1)
    return entry.name.endsWith('.lock') ? [] : [name]
  })
}

function linkTarget(path: AbsPath): ByteString | undefined {
  try {
    if (!lstatSync(native(path)).isSymbolicLink()) return undefined
    return readlinkSync(native(path), 'buffer').toString('latin1')
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return undefined
  }
}

/** A rebase comes first: while it picks a commit it leaves the mark of a cherry-pick, too. */
const operationMarks: readonly (readonly [mark: string, operation: string])[] = [
  ['rebase-merge', 'rebase'],
  ['rebase-apply/applying', 'am'],
  ['rebase-apply', 'rebase'],
  ['MERGE_HEAD', 'merge'],
  ['CHERRY_PICK_HEAD', 'cherry-pick'],
  ['REVERT_HEAD', 'revert'],
  ['BISECT_LOG', 'bisect'],
]

/** What the user, or the agent, is in the middle of: `rebase`, `am`, `merge`, `cherry-pick`, `revert`, `bisect`. */
export function operationInProgress(git: UserGit): string | undefined {
  return operationMarks.find(([mark]) => kindAt(joinAbs(git.gitDir, mark)) !== undefined)?.[1]
}

/** Contents, not places. */
export interface ExcludeFiles {
  readonly infoExclude?: ByteString
  readonly globalExcludes?: ByteString
}

/** Without a repository there are only the user's own excludes. */
export function readExcludes(git: UserGit | undefined, env: Env): ExcludeFiles {
  const infoExclude = git === undefined ? undefined : readUserText(joinAbs(git.commonDir, 'info/exclude'))
  const configured = readUserConfig(git, env).get('core.excludesfile')
  const path = configured === undefined ? xdgPath(env, 'ignore') : expandPath(configured, git?.root, env)
  const globalExcludes = path === undefined ? undefined : readUserText(path)
  return {
    ...(infoExclude === undefined ? {} : { infoExclude }),
    ...(globalExcludes === undefined ? {} : { globalExcludes }),
  }
}

export interface UserPack {
  readonly pack: AbsPath
  readonly idx: AbsPath
}

/** The packs of the user's object database and of those it borrows from, each with its index beside it. */
export function listPacks(git: UserGit): readonly UserPack[] {
  return objectFolders(joinAbs(git.commonDir, 'objects')).flatMap((objects) => {
    const folder = joinAbs(objects, 'pack')
    const names = new Set(readUserFolder(folder).map((entry) => entry.name))
    return [...names].sort().flatMap((name) => {
      const stem = name.endsWith('.pack') ? name.slice(0, -'.pack'.length) : undefined
      if (stem === undefined || !names.has(`${stem}.idx`)) return []
      return [{ pack: joinAbs(folder, name), idx: joinAbs(folder, `${stem}.idx`) }]
    })
  })
}

const MAX_ALTERNATE_DEPTH = 5
const MAX_ALTERNATES = 1_000

function objectFolders(first: AbsPath): readonly AbsPath[] {
  const found = new Set<AbsPath>()
  const visit = (folder: AbsPath | undefined, depth: number) => {
    // Databases may borrow from each other in a circle.
    if (folder === undefined || found.has(folder) || found.size >= MAX_ALTERNATES) return
    found.add(folder)
    if (depth < MAX_ALTERNATE_DEPTH) for (const next of alternatesOf(folder)) visit(next, depth + 1)
  }
  visit(resolveFolder(first, first), 0)
  return [...found]
}

function alternatesOf(objects: AbsPath): readonly (AbsPath | undefined)[] {
  const text = readUserText(joinAbs(objects, 'info/alternates'), 1024 * 1024) ?? ''
  return text.split('\n').flatMap((line) => {
    if (line === '' || line.startsWith('#')) return []
    return [resolveFolder(objects, line)]
  })
}
