/**
 * Brings every path of a journal back into its old state. Like carrying out, it goes by what stands there,
 * and can be killed and run again. Files come back as the very file that was taken (same inode and times);
 * only where a power cut took the backup is it written anew from the store.
 */

import { unreachable } from '../values.ts'
import {
  deepestFirst,
  type FolderGoal,
  loosen,
  makeFolder,
  removeEmpty,
  setMode,
  shallowestFirst,
} from './carry-out.ts'
import type { FolderMode, Journal } from './journal.ts'
import {
  entryAt,
  leave,
  makeAreas,
  placeNew,
  placeOf,
  type Run,
  restage,
  see,
  staged,
  syncFolders,
  takeAway,
} from './moves.ts'
import { sameContent } from './standing.ts'

export function takeBack(run: Run): void {
  const { journal } = run
  makeAreas(run)
  for (const folder of shallowestFirst(modesBefore(journal))) loosen(run, folder)
  forEachBackwards(run, (index) => takeBackWritten(run, index))
  for (const folder of deepestFirst(journal.create)) removeEmpty(run, folder)
  for (const folder of shallowestFirst(journal.remove)) makeFolder(run, folder)
  // Before a backup is moved into a new folder, that folder must last; or a power cut takes both.
  if (journal.remove.length > 0) syncFolders(run)
  forEachBackwards(run, (index) => bringBackRemoved(run, index))
  syncFolders(run)
  for (const folder of deepestFirst(modesAfter(journal))) setMode(run, folder)
}

function modesBefore(journal: Journal): readonly FolderMode[] {
  const changed = journal.chmod.flatMap(({ path, from, to }) => [
    { path, perm: from },
    { path, perm: to },
  ])
  return [...journal.create, ...changed, ...journal.remove]
}

function modesAfter(journal: Journal): readonly FolderGoal[] {
  const kept = [...journal.create, ...journal.remove].map(({ path, perm }) => ({ path, perm, seen: [] }))
  const changed = journal.chmod.map(({ path, from, to }) => ({ path, perm: from, seen: [to, to | 0o700] }))
  return [...kept, ...changed]
}

function forEachBackwards(run: Run, work: (index: number) => void): void {
  for (let index = run.journal.paths.length - 1; index >= 0; index--) {
    run.at = entryAt(run, index).path
    work(index)
  }
}

function takeBackWritten(run: Run, index: number): void {
  const entry = entryAt(run, index)
  if (entry.to === undefined) return
  const sight = see(run, entry)
  switch (sight.is) {
    case 'known':
      if (sight.state === entry.to) takeBackNew(run, index)
      return
    case 'absent':
      if (entry.from !== undefined) bringBack(run, index)
      return
    case 'homeless':
      if (entry.from !== undefined) leave(run, entry.path, 'changed-meanwhile')
      return
    case 'behind':
      return leave(run, entry.path, 'behind-link')
    case 'folder':
      // A folder that this run, or an earlier one, has already brought back.
      if (run.journal.remove.some((folder) => folder.path === entry.path)) return
      return leave(run, entry.path, 'changed-meanwhile')
    case 'unknown':
      return leave(run, entry.path, 'changed-meanwhile')
    default:
      return unreachable(sight)
  }
}

/** The new content is there, and it is ours to remove. */
function takeBackNew(run: Run, index: number): void {
  const { fs } = run.ground
  const { path, from, to } = entryAt(run, index)
  if (to === undefined) return
  if (from?.kind === 'file' && to.kind === 'file') {
    if (sameContent(from, to)) fs.chmod(placeOf(run, path), from.perm)
    else fs.rename(backupOf(run, index), placeOf(run, path))
    return
  }
  if (takeAway(run, index, 'gone', to) !== undefined && from !== undefined) bringBack(run, index)
}

function bringBackRemoved(run: Run, index: number): void {
  const entry = entryAt(run, index)
  if (entry.to !== undefined) return
  const sight = see(run, entry)
  if (sight.is === 'known') return
  if (sight.is === 'absent') return bringBack(run, index)
  leave(run, entry.path, sight.is === 'behind' ? 'behind-link' : 'changed-meanwhile')
}

function bringBack(run: Run, index: number): void {
  const { path } = entryAt(run, index)
  if (!placeNew(run.ground.fs, backupOf(run, index), placeOf(run, path))) leave(run, path, 'occupied')
}

// What was taken, whatever it is: it stood there before us. A power cut can keep the removal of a folder and
// lose the move out of it; then neither has the file, and only the store does. (So a file that somebody
// deleted in this very moment comes back. The other way round, one would be lost.)
function backupOf(run: Run, index: number) {
  const { from } = entryAt(run, index)
  const backup = staged(run, 'backup', index)
  if (from === undefined || run.ground.fs.lstat(backup) !== undefined) return backup
  return restage(run, 'stored', index, from)
}
