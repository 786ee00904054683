/**
 * The few moves that carrying out and taking back are made of. Each takes something in hand before it looks
 * at it: what was looked at first could be replaced before it is touched.
 */

import { errorCode, type FileStat, type Fs } from '../fs.ts'
import {
  type AbsPath,
  absPathUnchecked,
  type BlobId,
  type FileState,
  joinAbs,
  parentOf,
  type RelPath,
} from '../values.ts'
import { type Journal, type JournalPath, type Left, removeIfThere } from './journal.ts'
import { isSpelled, type Standing, standingAt, wayTo } from './standing.ts'

export interface Ground {
  readonly fs: Fs
  readonly root: AbsPath
  readonly staging: AbsPath
  readonly bytesOf: (blob: BlobId) => Buffer
}

/** A backup whose content was found to be what the plan saw. */
export interface Held {
  readonly index: number
  readonly stat: FileStat
}

/** One pass over a journal, forwards or back. */
export interface Run {
  readonly ground: Ground
  readonly journal: Journal
  /** Paths where the plan puts something: what blocks the way there is our own. */
  readonly filled: ReadonlySet<RelPath>
  readonly left: Left[]
  readonly held: Held[]
  /** What is being worked on, for the message if it fails. */
  at: RelPath | undefined
}

export function newRun(ground: Ground, journal: Journal): Run {
  const filled = new Set(journal.paths.filter((entry) => entry.to !== undefined).map((entry) => entry.path))
  return { ground, journal, filled, left: [], held: [], at: undefined }
}

/**
 * `new` is the staged content, `backup` what stood there before, `gone` what was ours and is taken back,
 * `stored` old content from the store. The last is never called a backup: a backup is what the user had,
 * whatever it is, and half a file written by us must not be taken for one.
 */
export type StagedKind = 'new' | 'backup' | 'gone' | 'stored'
const letters = { new: 'n', backup: 'b', gone: 'g', stored: 's' } as const

/** Numbers, not the user's names: a name of 255 bytes leaves no room for an ending. */
export function stagedName(kind: StagedKind, index: number): string {
  return `${letters[kind]}${index}`
}

export function isStagedName(name: string): boolean {
  return /^[nbgs]\d+$/.test(name)
}

export function areaOf(run: Run, index: number): AbsPath {
  const area = run.journal.paths[index]?.area ?? 0
  const inside = area === 0 ? undefined : run.journal.areas[area - 1]
  return inside === undefined ? run.ground.staging : joinAbs(run.ground.root, inside)
}

/** Staging folders inside the workspace are made when they are needed, and may have been removed since. */
export function makeAreas({ ground, journal }: Run): void {
  const { fs, root } = ground
  for (const area of journal.areas) {
    const place = joinAbs(root, area)
    if (wayTo(fs, root, area).kind !== 'open' || fs.lstat(place) !== undefined) continue
    fs.createFolder(place, 0o700)
    // Otherwise a power cut takes this folder, and with it the user's files that were moved into it.
    fs.syncFolder(absPathUnchecked(parentOf(place)))
  }
}

export function staged(run: Run, kind: StagedKind, index: number): AbsPath {
  return joinAbs(areaOf(run, index), stagedName(kind, index))
}

export function placeOf(run: Run, path: RelPath): AbsPath {
  return joinAbs(run.ground.root, path)
}

export function leave(run: Run, path: RelPath, reason: Left['reason']): void {
  if (!run.left.some((left) => left.path === path)) run.left.push({ path, reason })
}

export type Sight = Standing | { readonly is: 'behind' } | { readonly is: 'homeless' }

/** What stands at a path of the plan; `behind` a link, or `homeless` where its folder is missing. */
export function see(run: Run, entry: JournalPath): Sight {
  const { fs, root } = run.ground
  const way = wayTo(fs, root, entry.path)
  if (way.kind === 'missing') return { is: 'homeless' }
  // A folder that has become a file by this very plan: then nothing of what was in it is left.
  if (way.kind === 'blocked') return run.filled.has(way.by) ? { is: 'homeless' } : { is: 'behind' }
  if (entry.respelled && !isSpelled(fs, root, entry.path)) return { is: 'absent' }
  return standingAt(fs, placeOf(run, entry.path), [entry.from, entry.to])
}

/** A folder of the plan, if it is one and no link leads there. */
export function seeFolder(run: Run, path: RelPath): FileStat | undefined {
  const { fs, root } = run.ground
  if (wayTo(fs, root, path).kind !== 'open') return undefined
  const stat = fs.lstat(placeOf(run, path))
  return stat?.kind === 'folder' ? stat : undefined
}

/**
 * Moves what stands at a path into staging and then looks whether it is what was expected. If not, it goes
 * back at once. Says whether it is in hand now.
 */
export function takeAway(
  run: Run,
  index: number,
  kind: StagedKind,
  expected: FileState,
): FileStat | undefined {
  const { fs } = run.ground
  const entry = entryAt(run, index)
  const into = staged(run, kind, index)
  makeRoom(run, index, kind, expected)
  const moved = unlessGone(fs, placeOf(run, entry.path), (place) => fs.rename(place, into))
  const taken = standingAt(fs, into, [expected])
  if (taken.is === 'known') return taken.stat
  if (moved) giveBack(run, index, kind)
  leave(run, entry.path, 'changed-meanwhile')
  return undefined
}

/** False where nothing stands any more: somebody was faster. */
export function unlessGone(fs: Fs, place: AbsPath, move: (place: AbsPath) => void): boolean {
  try {
    move(place)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT' && fs.lstat(place) === undefined) return false
    throw error
  }
}

// A second name for the very file would make the rename do nothing at all, and say that it worked.
function makeRoom(run: Run, index: number, kind: StagedKind, expected: FileState): void {
  const { fs } = run.ground
  const into = staged(run, kind, index)
  const standing = standingAt(fs, into, [expected])
  if (standing.is === 'known') fs.unlink(into)
  else if (standing.is !== 'absent') setAside(fs, areaOf(run, index), into)
}

/** Puts what was taken to where it was, unless something newer stands there; then it is kept in staging. */
export function giveBack(run: Run, index: number, kind: StagedKind): boolean {
  const { fs } = run.ground
  const taken = staged(run, kind, index)
  if (placeNew(fs, taken, placeOf(run, entryAt(run, index).path))) return true
  setAside(fs, areaOf(run, index), taken)
  return false
}

/**
 * Puts something to a place where nothing stands. False, and nothing has changed, if something does. The
 * name in staging stays until all is over: removed now, a power cut could keep the removal, lose the new
 * name, and the file would be nowhere.
 */
export function placeNew(fs: Fs, from: AbsPath, to: AbsPath): boolean {
  const kind = fs.lstat(from)?.kind
  try {
    // On some systems a hard link to a link is one to its target.
    if (kind === 'link') fs.createLink(to, fs.readLink(from))
    else fs.hardLink(from, to)
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    if (kind === 'link' || !isWithoutHardLinks(error)) throw error
    if (fs.lstat(to) !== undefined) return false
    fs.rename(from, to)
  }
  return true
}

const withoutHardLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV'])

/** Some disks (FAT, network shares) have no hard links, and Linux refuses them for files of other people. */
export function isWithoutHardLinks(error: unknown): boolean {
  return withoutHardLinks.has(errorCode(error) ?? '')
}

/** Keeps something that nobody captured and that has no place any more. Nothing ever removes it. */
export function setAside(fs: Fs, area: AbsPath, path: AbsPath): void {
  const names = fs.readFolder(area)
  let number = 1
  while (names.includes(`kept-${number}`)) number++
  fs.rename(path, joinAbs(area, `kept-${number}`))
}

/** Writes one file or link, synced. Its mode is never wider than asked for. */
export function createSynced(fs: Fs, place: AbsPath, state: FileState, bytes: Buffer): void {
  if (state.kind === 'link') {
    fs.createLink(place, bytes.toString('latin1'))
    return
  }
  // A file that its owner may not read cannot be opened for syncing.
  const readable = state.perm | 0o400
  fs.createFile(place, [bytes], readable)
  fs.syncFile(place)
  if (readable !== state.perm) fs.chmod(place, state.perm)
}

/** Makes sure that a staged copy is there: a power cut may have taken what the store still has. */
export function restage(run: Run, kind: StagedKind, index: number, state: FileState): AbsPath {
  const { fs, bytesOf } = run.ground
  const place = staged(run, kind, index)
  if (standingAt(fs, place, [state]).is === 'known') return place
  removeIfThere(fs, place)
  createSynced(fs, place, state, bytesOf(state.blob))
  return place
}

export function entryAt(run: Run, index: number): JournalPath {
  const entry = run.journal.paths[index]
  if (entry === undefined) throw new Error(`the journal has no path ${index}`)
  return entry
}

/** Waits until every name that the plan adds or removes is on disk. */
export function syncFolders(run: Run): void {
  const { fs, root } = run.ground
  for (const folder of touchedFolders(run.journal)) {
    if (folder === '') fs.syncFolder(root)
    else if (seeFolder(run, folder as RelPath) !== undefined) fs.syncFolder(joinAbs(root, folder))
  }
}

// The parent of a new folder counts, too: without it a power cut takes the folder, and all that is in it.
function touchedFolders(journal: Journal): ReadonlySet<string> {
  const folders = new Set<string>()
  for (const { path } of journal.paths) folders.add(parentOf(path))
  for (const { path } of journal.create) folders.add(parentOf(path))
  for (const { path } of journal.remove) folders.add(parentOf(path))
  return folders
}
