/**
 * Brings every path of a journal into its new state. Can be killed at any call and run again: what to do
 * with a path is decided by what stands there, never by how far an earlier run came.
 *
 * The order: files that go, folders that go (deepest first), folders that come (shallowest first), files
 * that come. So a file can become a folder and a folder a file, and `a` can become `A` on any disk.
 */

import { errorCode } from '../fs.ts'
import { type AbsPath, type FileState, parentOf } from '../values.ts'
import type { FolderMode, Journal, JournalPath } from './journal.ts'
import {
  areaOf,
  entryAt,
  giveBack,
  isWithoutHardLinks,
  leave,
  makeAreas,
  placeNew,
  placeOf,
  type Run,
  restage,
  type Sight,
  see,
  seeFolder,
  setAside,
  staged,
  syncFolders,
  takeAway,
  unlessGone,
} from './moves.ts'
import { sameContent, sameFile, standingAt, wayTo } from './standing.ts'

export function carryOut(run: Run): void {
  const { journal } = run
  makeAreas(run)
  for (const folder of shallowestFirst(modesBefore(journal))) loosen(run, folder)
  forEachPath(run, (entry) => entry.to === undefined, removeOne)
  for (const folder of deepestFirst(journal.remove)) removeEmpty(run, folder)
  for (const folder of shallowestFirst(journal.create)) makeFolder(run, folder)
  forEachPath(run, (entry) => entry.to !== undefined, writeOne)
  for (const held of run.held) checkAgain(run, held.index)
  syncFolders(run)
  for (const folder of deepestFirst(modesAfter(journal))) setMode(run, folder)
}

function modesBefore(journal: Journal): readonly FolderMode[] {
  return [...journal.chmod.map(({ path, from }) => ({ path, perm: from })), ...journal.remove]
}

function modesAfter(journal: Journal): readonly FolderGoal[] {
  const kept = [...journal.create, ...journal.remove].map(({ path, perm }) => ({ path, perm, seen: [] }))
  const changed = journal.chmod.map(({ path, from, to }) => ({ path, perm: to, seen: [from, from | 0o700] }))
  return [...kept, ...changed]
}

function forEachPath(
  run: Run,
  chosen: (entry: JournalPath) => boolean,
  work: (run: Run, index: number) => void,
): void {
  run.journal.paths.forEach((entry, index) => {
    if (!chosen(entry)) return
    run.at = entry.path
    work(run, index)
  })
}

function removeOne(run: Run, index: number): void {
  const entry = entryAt(run, index)
  if (entry.from === undefined) return
  const sight = see(run, entry)
  switch (sight.is) {
    case 'homeless':
      return
    case 'absent':
      if (!mistaken(run, index)) return
      giveBack(run, index, 'backup')
      break
    case 'folder':
      if (run.journal.create.some((folder) => folder.path === entry.path)) return
      break
    case 'known':
      if (!putBackBySomebody(run, index, sight)) {
        hold(run, index, takeAway(run, index, 'backup', entry.from))
        return
      }
      break
    case 'behind':
      leave(run, entry.path, 'behind-link')
      return
    case 'unknown':
      break
  }
  leave(run, entry.path, 'changed-meanwhile')
}

function writeOne(run: Run, index: number): void {
  const entry = entryAt(run, index)
  const { from, to } = entry
  if (to === undefined) return
  const sight = see(run, entry)
  if (sight.is === 'behind') return leave(run, entry.path, 'behind-link')
  if (sight.is === 'homeless') return leave(run, entry.path, 'changed-meanwhile')
  if (sight.is === 'absent') return fill(run, index, to)
  if (sight.is === 'known' && sight.state === to) return
  if (from === undefined) return leave(run, entry.path, 'occupied')
  if (sight.is === 'known' && !putBackBySomebody(run, index, sight)) return replace(run, index, from, to)
  leave(run, entry.path, 'changed-meanwhile')
}

/** Nothing stands there: because nothing did, or because an earlier run took it away. */
function fill(run: Run, index: number, to: FileState): void {
  const { fs } = run.ground
  const entry = entryAt(run, index)
  if (entry.from !== undefined) {
    const backup = standingAt(fs, staged(run, 'backup', index), [entry.from])
    if (backup.is !== 'absent' && backup.is !== 'known') giveBack(run, index, 'backup')
    if (backup.is !== 'known') return leave(run, entry.path, 'changed-meanwhile')
  }
  const content = restage(run, 'new', index, to)
  if (!placeNew(fs, content, placeOf(run, entry.path))) leave(run, entry.path, 'occupied')
}

function replace(run: Run, index: number, from: FileState, to: FileState): void {
  const { fs } = run.ground
  const place = placeOf(run, entryAt(run, index).path)
  if (from.kind === 'file' && to.kind === 'file') {
    if (sameContent(from, to)) return fs.chmod(place, to.perm)
    const content = restage(run, 'new', index, to)
    const second = secondName(run, index, from)
    if (second === 'unexpected') return
    if (second === 'held') return renameOver(run, index, content)
  }
  const taken = takeAway(run, index, 'backup', from)
  if (taken === undefined) return
  hold(run, index, taken)
  fill(run, index, to)
}

// Editors save by renaming a new file over the old one. Then another file stands there than the one we hold, and our
// own rename would lose it. Between this look and the rename there is nothing, but there is no way to make it one.
function renameOver(run: Run, index: number, content: AbsPath): void {
  const { fs } = run.ground
  const { path } = entryAt(run, index)
  const held = fs.lstat(staged(run, 'backup', index))
  const now = fs.lstat(placeOf(run, path))
  if (held === undefined || now === undefined || !sameFile(held, now))
    return leave(run, path, 'changed-meanwhile')
  fs.rename(content, placeOf(run, path))
}

/**
 * Gives the old file a second name, so that the rename over the first one loses nothing. Only then is its
 * content compared: this is the very file that will be replaced, whatever is saved in this instant.
 */
function secondName(run: Run, index: number, from: FileState): 'held' | 'unexpected' | 'impossible' {
  const { fs } = run.ground
  const { path } = entryAt(run, index)
  const backup = staged(run, 'backup', index)
  try {
    if (fs.lstat(backup) === undefined)
      unlessGone(fs, placeOf(run, path), (place) => fs.hardLink(place, backup))
  } catch (error) {
    if (isWithoutHardLinks(error)) return 'impossible'
    throw error
  }
  const standing = standingAt(fs, backup, [from])
  if (standing.is === 'known') {
    hold(run, index, standing.stat)
    return 'held'
  }
  if (standing.is !== 'absent') fs.unlink(backup) // only a second name of what stays where it is
  leave(run, path, 'changed-meanwhile')
  return 'unexpected'
}

function hold(run: Run, index: number, stat: ReturnType<typeof takeAway>): void {
  if (stat !== undefined) run.held.push({ index, stat })
}

// An earlier run was stopped after it had taken this away and before it had looked at it.
function mistaken(run: Run, index: number): boolean {
  const backup = standingAt(run.ground.fs, staged(run, 'backup', index), [entryAt(run, index).from])
  return backup.is !== 'absent' && backup.is !== 'known'
}

// The old content stands there, but it is not the file that we hold: an earlier run had replaced that one,
// and somebody put the old content back since. That is newer work, not something still to be done.
function putBackBySomebody(run: Run, index: number, sight: Sight & { readonly is: 'known' }): boolean {
  const backup = run.ground.fs.lstat(staged(run, 'backup', index))
  return backup !== undefined && !sameFile(backup, sight.stat)
}

// A program that had the old file open may have gone on writing into it after we compared it.
function checkAgain(run: Run, index: number): void {
  const { fs, root } = run.ground
  const entry = entryAt(run, index)
  const backup = staged(run, 'backup', index)
  const then = run.held.find((held) => held.index === index)?.stat
  const now = fs.lstat(backup)
  if (then === undefined || now === undefined) return
  if (now.size === then.size && now.mtimeMs === then.mtimeMs) return
  run.at = entry.path
  leave(run, entry.path, 'changed-meanwhile')
  if (wayTo(fs, root, entry.path).kind !== 'open') return setAside(fs, areaOf(run, index), backup)
  const standing = standingAt(fs, placeOf(run, entry.path), [entry.to])
  if (standing.is === 'known') fs.rename(backup, placeOf(run, entry.path))
  else giveBack(run, index, 'backup')
}

// A folder that its owner may not write to or enter: without this, nothing in it could be changed.
export function loosen(run: Run, { path, perm }: FolderMode): void {
  if ((perm & 0o700) === 0o700) return
  run.at = path
  if (seeFolder(run, path)?.perm === perm) run.ground.fs.chmod(placeOf(run, path), perm | 0o700)
}

/** The mode a folder ends with, and those from which we may bring it there. */
export interface FolderGoal extends FolderMode {
  readonly seen: readonly number[]
}

/** A mode that is neither ours nor the plan's is somebody else's choice, and stays. */
export function setMode(run: Run, { path, perm, seen }: FolderGoal): void {
  run.at = path
  const now = seeFolder(run, path)?.perm
  if (now === perm) return
  if (now !== undefined && (now === (perm | 0o700) || seen.includes(now))) {
    run.ground.fs.chmod(placeOf(run, path), perm)
  } else if (seen.length > 0) leave(run, path, 'changed-meanwhile')
}

const staysInPlace = new Set(['ENOTEMPTY', 'EEXIST', 'ENOENT', 'EBUSY'])

// Deepest first, and rmdir only: a folder that is not empty holds something nobody captured, and it is not
// ours to delete (P4).
export function removeEmpty(run: Run, folder: FolderMode): void {
  run.at = folder.path
  if (seeFolder(run, folder.path) === undefined) return
  try {
    run.ground.fs.removeFolder(placeOf(run, folder.path))
  } catch (error) {
    if (!staysInPlace.has(errorCode(error) ?? '')) throw error
  }
}

/** With room for its owner to write; its own mode comes last. */
export function makeFolder(run: Run, folder: FolderMode): void {
  const { fs, root } = run.ground
  run.at = folder.path
  const way = wayTo(fs, root, folder.path)
  if (way.kind === 'blocked') return leave(run, folder.path, 'behind-link')
  if (way.kind === 'missing') return leave(run, folder.path, 'changed-meanwhile')
  const stat = fs.lstat(placeOf(run, folder.path))
  if (stat?.kind === 'folder') return
  if (stat !== undefined) return leave(run, folder.path, 'occupied')
  fs.createFolder(placeOf(run, folder.path), folder.perm | 0o700)
}

export function deepestFirst<Entry extends { readonly path: string }>(
  folders: readonly Entry[],
): readonly Entry[] {
  return folders.toSorted((one, other) => depth(other.path) - depth(one.path))
}

export function shallowestFirst<Entry extends { readonly path: string }>(
  folders: readonly Entry[],
): readonly Entry[] {
  return folders.toSorted((one, other) => depth(one.path) - depth(other.path))
}

function depth(path: string): number {
  return path === '' ? 0 : 1 + depth(parentOf(path))
}
