/** Keeps what Node has compiled for the next start: compiling takes longer than most commands do. */

import { lstatSync, mkdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'

export function keepCompiled(env: NodeJS.ProcessEnv): void {
  // Not in the store: Node makes these files as wide as the umask says, and everything in there is private.
  const folder = cacheFolder(env)
  makeIfMissing(folder)
  if (isOursAlone(folder)) enableCompileCache(join(folder, 'unturn'))
}

// As on a new machine, before the first program has put something there.
function makeIfMissing(folder: string): void {
  try {
    if (isOursAlone(dirname(folder))) mkdirSync(folder, { mode: 0o700 })
  } catch {
    // It is there, or cannot be made: only a saving is lost.
  }
}

function cacheFolder(env: NodeJS.ProcessEnv): string {
  const home = env.HOME || homedir()
  switch (process.platform) {
    case 'darwin':
      return join(home, 'Library', 'Caches')
    case 'win32':
      return env.LOCALAPPDATA || join(home, 'AppData', 'Local')
    default: {
      const cache = env.XDG_CACHE_HOME
      return cache !== undefined && isAbsolute(cache) ? cache : join(home, '.cache')
    }
  }
}

// Node runs what it finds there. Whoever may write into a folder around it could put his own code in its place.
function isOursAlone(folder: string): boolean {
  try {
    const { uid, mode } = lstatSync(folder)
    return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)
  } catch {
    return false // not there, or not ours to look at: only a saving is lost
  }
}
