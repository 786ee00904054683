/** Making and opening the folder of one store. */

import { shown, textOfBytes, UnturnError } from './errors.ts'
import { errorCode, type Fs } from './fs.ts'
import type { StoreFolders } from './history/engine.ts'
import { Shape, ShapeError } from './log/shape.ts'
import { ObjectStore } from './store/objects.ts'
import { type AbsPath, absPathUnchecked, joinAbs, parentOf } from './values.ts'
import { type UsualPerms, usualPerms } from './workspace/usual-perms.ts'

/** Raised only when an older Unturn could not read the store any more. */
export const storeFormat = 1

export interface StoreFacts {
  readonly usual: UsualPerms
}

export function foldersOf(folder: AbsPath): StoreFolders {
  return {
    folder,
    objects: joinAbs(folder, 'objects.git'),
    journal: joinAbs(folder, 'journal'),
    staging: joinAbs(folder, 'staging'),
    scratch: joinAbs(folder, 'scratch'),
    flights: joinAbs(folder, 'flights'),
    statCache: joinAbs(folder, 'stat-cache'),
    lock: joinAbs(folder, 'lock.db'),
  }
}

/** Makes the folder with nothing but the lock in it, which whoever makes the rest must hold. */
export function createFolder(fs: Fs, folders: StoreFolders): void {
  try {
    ensureFolders(fs, folders.folder)
    refuseUnsafe(fs, folders.folder)
    ensurePrivateFile(fs, folders.lock)
  } catch (error) {
    if (error instanceof UnturnError) throw error
    throw unwritable(folders.folder, error)
  }
}

/** Makes the store where there is none. `workspace.json` comes last: a store without it was never finished. */
export function createStore(fs: Fs, folders: StoreFolders, root: AbsPath, nowMs: number): void {
  try {
    ObjectStore.create(fs, folders.objects)
    for (const folder of [folders.journal, folders.staging, folders.scratch, folders.flights])
      ensureFolder(fs, folder)
    writeFacts(fs, folders.folder, root, nowMs)
  } catch (error) {
    if (error instanceof UnturnError) throw error
    throw unwritable(folders.folder, error)
  }
}

function writeFacts(fs: Fs, folder: AbsPath, root: AbsPath, nowMs: number): void {
  if (fs.lstat(joinAbs(folder, 'workspace.json')) !== undefined) return
  const facts = {
    format: storeFormat,
    root: textOfBytes(root),
    createdMs: nowMs,
    usual: usualPerms(fs, root),
  }
  replaceFacts(fs, folder, facts)
}

/** The store belongs to another folder from now on. */
export function moveRoot(fs: Fs, folder: AbsPath, root: AbsPath): void {
  replaceFacts(fs, folder, { ...allFacts(fs, folder), root: textOfBytes(root) })
}

/** The folder that a store says it belongs to; `undefined` where it says nothing. */
export function rootOf(fs: Fs, folder: AbsPath): unknown {
  return allFacts(fs, folder).root
}

function allFacts(fs: Fs, folder: AbsPath): Readonly<Record<string, unknown>> {
  try {
    const facts: unknown = JSON.parse(fs.readFile(joinAbs(folder, 'workspace.json')).toString('utf8'))
    return typeof facts === 'object' && facts !== null ? { ...facts } : {}
  } catch (error) {
    if (!(error instanceof SyntaxError) && errorCode(error) === undefined) throw error
    return {}
  }
}

function replaceFacts(fs: Fs, folder: AbsPath, facts: Readonly<Record<string, unknown>>): void {
  const path = joinAbs(folder, 'workspace.json')
  const temporary = joinAbs(folder, 'workspace.json.tmp')
  if (fs.lstat(temporary) !== undefined) fs.unlink(temporary)
  fs.createFile(temporary, [Buffer.from(`${JSON.stringify(facts)}\n`, 'utf8')], 0o600)
  fs.syncFile(temporary)
  fs.rename(temporary, path)
  fs.syncFolder(folder)
}

/** Opens what was made before. What is missing and can be had again is made again. */
export function openStore(fs: Fs, folders: StoreFolders, root: AbsPath, nowMs: number): StoreFacts {
  refuseUnsafe(fs, folders.folder)
  ensurePrivateFile(fs, folders.lock)
  writeFacts(fs, folders.folder, root, nowMs)
  for (const folder of [folders.journal, folders.staging, folders.scratch, folders.flights])
    ensureFolder(fs, folder)
  return readFacts(fs, joinAbs(folders.folder, 'workspace.json'))
}

function readFacts(fs: Fs, path: AbsPath): StoreFacts {
  try {
    const shape = Shape.parse(fs.readFile(path).toString('utf8'), 'workspace.json')
    const format = shape.number('format')
    if (format > storeFormat) throw newer(format)
    const usual = shape.object('usual')
    return {
      usual: { file: usual.number('file'), exec: usual.number('exec'), folder: usual.number('folder') },
    }
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error
    throw new UnturnError(
      'store-damaged',
      { what: 'workspace.json' },
      {
        message: `The store's own description is damaged: ${error.message}. No file was changed.`,
        hint: `The history is in ${shown(parentOf(path))}/objects.git and can be read with plain git; see docs/store-format.md.`,
        cause: error,
      },
    )
  }
}

// Everything an agent ever wrote is in here, secrets included: nobody else may look (P1 has a price).
function refuseUnsafe(fs: Fs, folder: AbsPath): void {
  if (process.platform === 'win32') return
  for (const path of [folder, joinAbs(folder, 'objects.git')]) {
    const stat = fs.lstat(path)
    if (stat === undefined) continue
    if (stat.kind !== 'folder') throw unsafe(path, 'it is not a folder')
    if (stat.uid !== process.geteuid?.()) throw unsafe(path, 'it belongs to somebody else')
    if ((stat.perm & 0o077) !== 0) throw unsafe(path, 'others than you may look into it')
  }
}

function ensureFolders(fs: Fs, folder: AbsPath): void {
  if (fs.lstat(folder) !== undefined) return
  const parent = absPathUnchecked(parentOf(folder) || '/')
  ensureFolders(fs, parent)
  ensureFolder(fs, folder)
  fs.syncFolder(parent)
}

/** SQLite would make the file as wide as the umask lets it. */
export function ensurePrivateFile(fs: Fs, path: AbsPath): void {
  try {
    if (fs.lstat(path) === undefined) fs.createFile(path, [], 0o600)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error // another process was quicker
  }
}

function ensureFolder(fs: Fs, folder: AbsPath): void {
  try {
    if (fs.lstat(folder) === undefined) fs.createFolder(folder, 0o700)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error // another process was quicker
  }
}

function unsafe(folder: AbsPath, reason: string): UnturnError {
  return new UnturnError(
    'store-unsafe',
    { folder: shown(folder), reason },
    {
      message: `The store ${shown(folder)} is not safe to use: ${reason}. Nothing was captured and no file was changed.`,
      hint: `Look at who changed it. If all is well: chmod 700 ${shown(folder)}`,
    },
  )
}

function newer(found: number): UnturnError {
  return new UnturnError(
    'store-newer',
    { found, known: storeFormat },
    {
      message: `This store was written by a newer Unturn (format ${found}; this one knows ${storeFormat}). Nothing was changed.`,
      hint: 'Upgrade Unturn and run the command again.',
    },
  )
}

function unwritable(folder: AbsPath, cause: unknown): UnturnError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new UnturnError(
    'store-unwritable',
    { folder: shown(folder), reason },
    {
      message: `The store ${shown(folder)} cannot be made (${reason}). Nothing was captured and no file was changed.`,
      hint: 'Check permissions and free space, or set UNTURN_HOME to a folder that can be written.',
      cause,
    },
  )
}
