/**
 * Claude Code's own undo: `/rewind`, or `--rewind-files`. No hook tells of it (seen with 2.1.325), and its transcript only
 * with the next prompt, if at all. But it keeps copies of the files that it writes, one folder for each session, and reads
 * them for a rewind and for nothing else; so a copy that was read after it was made is the trace.
 *
 * Where the file system keeps no times of reading, and where a rewind only removes files, of which there are no copies,
 * there is no trace: then what it did counts as the user's.
 */

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../events.ts'

/** Whether a copy of a file, kept for this session's rewind, was read since then. */
export function hasReadBackups(session: string, sinceMs: number, env: Environment): boolean {
  const config = env.CLAUDE_CONFIG_DIR || join(env.HOME ?? '', '.claude')
  const folder = join(config, 'file-history', session)
  if (!/^[0-9A-Za-z-]+$/.test(session)) return false
  return namesIn(folder).some((name) => {
    const stat = statSync(join(folder, name), { throwIfNoEntry: false })
    return stat !== undefined && stat.atimeMs > stat.mtimeMs && stat.atimeMs >= sinceMs
  })
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // no rewind is possible in this session
  }
}
