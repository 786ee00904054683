/** What Node and SQLite throw, in our own words: a disk that fails is no fault inside Unturn. */

import { textOfBytes, UnturnError, visible } from './errors.ts'
import { errorCode } from './fs.ts'
import { isDamaged, sqliteCode } from './log/sqlite.ts'

/** The failure behind something that was thrown; undefined where it is none that can be expected. */
export function failureOf(thrown: unknown): UnturnError | undefined {
  if (thrown instanceof UnturnError) return thrown
  if (isDamaged(thrown)) return indexDamaged(thrown)
  if (sqliteCode(thrown) !== undefined) return indexUnusable(thrown)
  const code = errorCode(thrown)
  return code !== undefined && /^E[A-Z0-9]+$/.test(code) ? diskFailed(code, thrown) : undefined
}

function indexDamaged(cause: unknown): UnturnError {
  return new UnturnError(
    'store-damaged',
    { what: 'index.db' },
    {
      message:
        'The query index of the store is damaged. The history itself is not in it; no file was changed.',
      hint: 'Run "unturn doctor --repair": it makes the index anew from the history.',
      cause,
    },
  )
}

function indexUnusable(cause: unknown): UnturnError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new UnturnError(
    'store-unwritable',
    { folder: '', reason },
    {
      message: `The query index of the store cannot be used (${reason}). What was captured is kept; no file was changed.`,
      hint: 'Check the permissions and the free space of the store folder, then run the command again.',
      cause,
    },
  )
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission was denied',
  EPERM: 'the system did not permit it',
  EROFS: 'the file system is read-only',
  EIO: 'the disk reported an error',
  ENOENT: 'it is not there',
  ENOTDIR: 'it is not in a folder',
  EISDIR: 'it is a folder',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EMFILE: 'too many files are open',
}

function diskFailed(code: string, cause: unknown): UnturnError {
  const path = pathOf(cause)
  const reason = reasons[code] === undefined ? code : `${reasons[code]} (${code})`
  return new UnturnError(
    'disk-failed',
    { path, reason },
    {
      message: `${path === '' ? 'A file' : visible(path)} could not be read or written: ${reason}. What was captured is kept; no file of the workspace was changed.`,
      hint: 'Remove the cause and run the same command again.',
      cause,
    },
  )
}

function pathOf(error: unknown): string {
  if (!(error instanceof Error) || !('path' in error)) return ''
  const { path } = error
  if (Buffer.isBuffer(path)) return textOfBytes(path.toString('latin1'))
  return typeof path === 'string' ? path : ''
}
