/** How the user's repository is read: a file at a time, bounded, never waiting, never writing (P5). */

import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs'
import { errorCode } from '../fs.ts'
import type { AbsPath, ByteString } from '../values.ts'

const MiB = 1024 * 1024

export type Reading =
  | { readonly kind: 'bytes'; readonly bytes: Buffer; readonly mtimeMs: number }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable' }

type ReadOpened = (file: number, size: number) => Buffer

/**
 * Follows links, as git does for its own files. A pipe, a device or a file over the limit is `unreadable`:
 * a config that includes `/dev/zero` must not stop us.
 */
export function readUserFile(path: AbsPath, limit = 64 * MiB, read: ReadOpened = readWhole): Reading {
  let file: number | undefined
  try {
    // Opening a pipe without O_NONBLOCK waits until somebody writes into it, perhaps for ever.
    file = openSync(native(path), constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const stat = fstatSync(file)
    if (!stat.isFile() || stat.size > limit) return { kind: 'unreadable' }
    return { kind: 'bytes', bytes: read(file, stat.size), mtimeMs: stat.mtimeMs }
  } catch (error) {
    return { kind: isAbsence(error) ? 'missing' : 'unreadable' }
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

function readWhole(file: number): Buffer {
  return readFileSync(file)
}

/** Into memory that threads can share: what a second one needs of it has not to be copied then. */
export function readShared(file: number, size: number): Buffer {
  const bytes = Buffer.from(new SharedArrayBuffer(size))
  let done = 0
  for (let read = -1; read !== 0 && done < size; done += read)
    read = readSync(file, bytes, done, size - done, null)
  return bytes.subarray(0, done)
}

/** The content as bytes; `undefined` where it is missing or unreadable. */
export function readUserText(path: AbsPath, limit?: number): ByteString | undefined {
  const reading = readUserFile(path, limit)
  return reading.kind === 'bytes' ? reading.bytes.toString('latin1') : undefined
}

export function isFolder(path: AbsPath): boolean {
  return kindAt(path) === 'folder'
}

export function kindAt(path: AbsPath): 'file' | 'folder' | 'other' | undefined {
  try {
    const stat = statSync(native(path))
    return stat.isDirectory() ? 'folder' : stat.isFile() ? 'file' : 'other'
  } catch (error) {
    if (!isAbsence(error) && errorCode(error) === undefined) throw error
    return undefined
  }
}

export interface FolderEntry {
  readonly name: ByteString
  readonly isFolder: boolean
}

/** Empty where there is no such folder, or it may not be read. */
export function readUserFolder(path: AbsPath): readonly FolderEntry[] {
  try {
    const entries = readdirSync(native(path), { encoding: 'buffer', withFileTypes: true })
    return entries.map((entry) => ({ name: entry.name.toString('latin1'), isFolder: entry.isDirectory() }))
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return []
  }
}

/** What `node:fs` takes: a string where it is plain ASCII, since others would be written as UTF-8. */
export function native(path: ByteString): string | Buffer {
  return /[\x80-\xff]/.test(path) ? Buffer.from(path, 'latin1') : path
}

function isAbsence(error: unknown): boolean {
  const code = errorCode(error)
  if (code === undefined) throw error
  return code === 'ENOENT' || code === 'ENOTDIR'
}
