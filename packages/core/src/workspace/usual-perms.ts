/** What permission bits files here usually have: only exceptions are worth a record. */

import { errorCode, type FileStat, type Fs } from '../fs.ts'
import { type AbsPath, joinAbs } from '../values.ts'

export interface UsualPerms {
  readonly file: number
  readonly exec: number
  readonly folder: number
}

const enough = 120
const perFolder = 24

/**
 * By looking at some of what is there, deep down first: near the root there are often folders only. A wrong guess costs a
 * few bytes per file, nothing else.
 */
export function usualPerms(fs: Fs, root: AbsPath): UsualPerms {
  const seen = {
    file: new Map<number, number>(),
    exec: new Map<number, number>(),
    folder: new Map<number, number>(),
  }
  const folders: AbsPath[] = [root]
  let looked = 0
  while (looked < enough) {
    const folder = folders.pop()
    if (folder === undefined) break
    for (const name of namesIn(fs, folder).slice(0, perFolder)) {
      const path = joinAbs(folder, name)
      const stat = name === '.git' ? undefined : statOf(fs, path)
      const kind = stat === undefined ? undefined : kindOf(stat)
      if (stat === undefined || kind === undefined) continue
      if (kind === 'folder') folders.push(path)
      seen[kind].set(stat.perm, (seen[kind].get(stat.perm) ?? 0) + 1)
      looked += 1
    }
  }
  return { file: most(seen.file, 0o644), exec: most(seen.exec, 0o755), folder: most(seen.folder, 0o755) }
}

function kindOf(stat: FileStat): keyof UsualPerms | undefined {
  if (stat.kind === 'folder') return 'folder'
  if (stat.kind !== 'file') return undefined
  return (stat.perm & 0o100) === 0 ? 'file' : 'exec'
}

function namesIn(fs: Fs, folder: AbsPath): readonly string[] {
  return unlessUnreadable(() => fs.readFolder(folder)) ?? []
}

// A folder that may be listed but not entered has names that nobody can look at.
function statOf(fs: Fs, path: AbsPath): FileStat | undefined {
  return unlessUnreadable(() => fs.lstat(path))
}

/** Unreadable or gone: the scan will say so; here it only means one sample less. */
function unlessUnreadable<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return undefined
  }
}

function most(counts: ReadonlyMap<number, number>, fallback: number): number {
  let best = fallback
  let bestCount = 0
  for (const [perm, count] of counts) if (count > bestCount) [best, bestCount] = [perm, count]
  return best
}
