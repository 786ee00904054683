/**
 * Projects that were moved. A workspace is known by its path, so the history of a folder that was moved or renamed stays
 * behind, under the place where it was. It comes along when somebody says so: a guess could give a new project the past
 * of another one, and an undo would write that into it.
 */

import { shown, textOfBytes, UnturnError } from './errors.ts'
import type { Fs } from './fs.ts'
import { type KnownWorkspace, knownWorkspaces } from './known-workspaces.ts'
import { StoreLock } from './log/lock.ts'
import { foldersOf, moveRoot, rootOf } from './store-folder.ts'
import { type AbsPath, absPathUnchecked, parentOf } from './values.ts'
import { type Env, storeFolder, storeHome } from './workspace/locate.ts'
import { nodeFs } from './workspace/node-fs.ts'

/** Workspaces with a history whose folder is not there any more. */
export function lostWorkspaces(env: Env = process.env, fs: Fs = nodeFs): readonly KnownWorkspace[] {
  return knownWorkspaces(env, fs).filter(({ root }) => isGone(fs, root))
}

/**
 * Gives the history of the folder that was at `from` to the one at `root`, which must have none. Gives the store.
 * Cut off at any point, the history is whole, and under one of the two.
 */
export async function adoptHistory(
  root: AbsPath,
  from: AbsPath,
  env: Env = process.env,
  fs: Fs = nodeFs,
): Promise<AbsPath> {
  const home = storeHome(env)
  const [old, store] = [storeFolder(home, from), storeFolder(home, root)]
  if (isHalfMoved(fs, store, from)) return finished(fs, store, root)
  if (!isGone(fs, store)) throw refused(root, 'it has a history of its own')
  if (isGone(fs, old)) throw refused(root, `there is no history of ${shown(from)}`)
  if (!isGone(fs, from)) throw refused(root, `${shown(from)} is still there, and the history is its own`)
  await untilNobodyWorksIn(old)
  fs.rename(old, store)
  fs.syncFolder(absPathUnchecked(parentOf(store)))
  return finished(fs, store, root)
}

/** Somebody was cut off between the two steps: the history is here, and says that it belongs there. */
function isHalfMoved(fs: Fs, store: AbsPath, from: AbsPath): boolean {
  return !isGone(fs, store) && rootOf(fs, store) === textOfBytes(from)
}

function finished(fs: Fs, store: AbsPath, root: AbsPath): AbsPath {
  moveRoot(fs, store, root)
  return store
}

// Let go of before the folder gets its new name: some systems do not rename a folder in which a file is open.
async function untilNobodyWorksIn(store: AbsPath): Promise<void> {
  using lock = new StoreLock(foldersOf(store).lock)
  await lock.exclusive(async () => {})
}

function isGone(fs: Fs, path: AbsPath): boolean {
  return fs.lstat(path) === undefined
}

function refused(root: AbsPath, reason: string): UnturnError {
  return new UnturnError(
    'workspace-refused',
    { folder: shown(root), reason },
    {
      message: `${shown(root)} cannot have that history: ${reason}. Nothing was changed.`,
      hint: '"unturn status" in a folder without a history names folders that are gone and have one.',
    },
  )
}
