/** Which folder is the workspace, and where its store is. */

import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { bytesOfText, shown, UnturnError } from '../errors.ts'
import { errorCode, type Fs } from '../fs.ts'
import {
  type AbsPath,
  absPathUnchecked,
  type ByteString,
  flawOfRelPath,
  joinAbs,
  nameOf,
  parentOf,
  type RelPath,
  relPathUnchecked,
} from '../values.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** `$UNTURN_HOME`, or the platform's folder for data. Outside the workspace: an agent may delete the whole project. */
export function storeHome(env: Env): AbsPath {
  return bytesPath(resolve(env.UNTURN_HOME || join(dataFolder(env), 'unturn')))
}

function dataFolder(env: Env): string {
  const home = homeFolder(env)
  switch (process.platform) {
    case 'darwin':
      return join(home, 'Library', 'Application Support')
    case 'win32':
      return env.LOCALAPPDATA || join(home, 'AppData', 'Local')
    default: {
      const data = env.XDG_DATA_HOME
      return data !== undefined && isAbsolute(data) ? data : join(home, '.local', 'share')
    }
  }
}

/** An empty HOME is none. Node takes it for the answer, and the home would be wherever the command is called. */
function homeFolder(env: Env): string {
  return env.HOME || homedir() || userInfo().homedir
}

/**
 * The folder of a workspace's store. A workspace is known by its real path: reached through a symbolic link it is the
 * same one, and losing or gaining `.git` does not make it another (R12).
 */
export function storeFolder(home: AbsPath, root: AbsPath): AbsPath {
  const hash = createHash('sha256').update(Buffer.from(root, 'latin1')).digest('hex').slice(0, 16)
  const name =
    nameOf(root)
      .replace(/[^A-Za-z0-9._-]/g, '_')
      .slice(0, 40) || 'root'
  return joinAbs(home, `workspaces/${name}-${hash}`)
}

export interface Located {
  readonly root: AbsPath
  readonly store: AbsPath
  /** Whether the store has been made. */
  readonly known: boolean
}

/**
 * The nearest folder at or above `start` that has a store or a `.git`; otherwise `start` itself. A folder that the
 * user has named (`explicit`) is not traded for a repository around it.
 */
export function locate(fs: Fs, start: AbsPath, home: AbsPath, explicit: boolean): Located {
  const real = realFolder(start)
  if (fs.lstat(real)?.kind !== 'folder') throw notAWorkspace(start, 'it is no folder')
  for (let folder = real; ; folder = absPathUnchecked(parentOf(folder) || '/')) {
    const store = storeFolder(home, folder)
    if (hasHistory(fs, store)) return { root: folder, store, known: true }
    const isRepository = fs.lstat(joinAbs(folder, '.git')) !== undefined
    if (isRepository && (!explicit || folder === real)) return { root: folder, store, known: false }
    if (folder === '/' || parentOf(folder) === folder) break
  }
  return { root: real, store: storeFolder(home, real), known: false }
}

// `workspace.json` is written last when a store is made, and can be made again: where there is a history without it,
// it was lost, and the history must not seem empty because of that (K9).
function hasHistory(fs: Fs, store: AbsPath): boolean {
  return ['workspace.json', 'objects.git/refs/unturn'].some(
    (name) => fs.lstat(joinAbs(store, name)) !== undefined,
  )
}

function realFolder(path: AbsPath): AbsPath {
  try {
    return absPathUnchecked(realPath(path))
  } catch (error) {
    throw notAWorkspace(path, errorCode(error) ?? String(error), error)
  }
}

// On Linux by the system: Node's own way goes through text, in which a name that is not UTF-8 gets lost.
function realPath(path: ByteString): ByteString {
  const bytes = Buffer.from(path, 'latin1')
  if (process.platform === 'linux') return realpathSync.native(bytes, 'buffer').toString('latin1')
  return realpathSync(bytes, { encoding: 'latin1' })
}

function notAWorkspace(path: AbsPath, reason: string, cause?: unknown): UnturnError {
  return new UnturnError(
    'not-a-workspace',
    { folder: shown(path) },
    {
      message: `The folder ${shown(path)} cannot be opened (${reason}). Nothing was changed.`,
      hint: 'Give an existing folder with -C. The history of a folder that was deleted is kept; make the folder again and run "unturn log" in it.',
      cause,
    },
  )
}

/** Refuses folders whose capture nobody can want: the whole disk, or everything a person has. */
export function refuseTooWide(root: AbsPath, env: Env): void {
  const home = realHome(env)
  const tooWide = root === '/' || root === home || home.startsWith(`${root}/`) || /^[A-Za-z]:\/?$/.test(root)
  if (!tooWide) return
  throw new UnturnError(
    'workspace-refused',
    { folder: shown(root), reason: 'too wide' },
    {
      message: `Unturn does not watch over ${shown(root)}: it is your home folder or holds it, and every file in there would be captured. Nothing was changed.`,
      hint: 'Go into the project that your agent works in, or name it: unturn -C PROJECT …',
    },
  )
}

function realHome(env: Env): AbsPath {
  const home = bytesPath(homeFolder(env))
  try {
    return realFolder(home)
  } catch {
    return home // no home folder at all: then nothing can be above it
  }
}

/** A path as somebody typed it, as a place in the workspace; refuses what lies outside. */
export function relPathFrom(root: AbsPath, cwd: AbsPath, typed: ByteString): RelPath {
  // node:path works on any string: bytes in, bytes out.
  const absolute = slashed(resolve(cwd, typed))
  const inside = below(root, absolute) ?? below(root, realParent(absolute))
  if (absolute === root) throw badPath(root, typed, 'it is the workspace itself')
  const flaw = inside === undefined ? 'it lies outside the workspace' : flawOfRelPath(inside)
  if (inside !== undefined && flaw === undefined) return relPathUnchecked(inside)
  throw badPath(root, typed, flaw ?? '')
}

export function badPath(root: AbsPath, path: ByteString, flaw: string): UnturnError {
  return new UnturnError(
    'bad-path',
    { path: shown(path), flaw },
    {
      message: `The path ${shown(path)} cannot be used: ${flaw}. Nothing was changed.`,
      hint: `Name a file inside ${shown(root)}`,
    },
  )
}

function below(root: AbsPath, path: ByteString): ByteString | undefined {
  if (root === '/') return path.slice(1)
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : undefined
}

// The workspace may have been named through a symbolic link; the last part of the path may be a link itself and stays.
function realParent(path: ByteString): ByteString {
  const rest: string[] = [nameOf(path)]
  for (let folder = parentOf(path); folder !== ''; folder = parentOf(folder)) {
    try {
      return [realPath(folder), ...rest].join('/')
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') return path
      rest.unshift(nameOf(folder))
    }
  }
  return path
}

/** A path of the process (text) as bytes. */
export function bytesPath(text: string): AbsPath {
  return slashed(bytesOfText(text))
}

function slashed(bytes: ByteString): AbsPath {
  return absPathUnchecked(process.platform === 'win32' ? bytes.replaceAll('\\', '/') : bytes)
}
