/**
 * The file system port: everything that apply, the journal and the store do to a disk goes through it, so
 * that tests can fail, kill and cut the power at every call. A leaf; `workspace/node-fs.ts` is the real one.
 *
 * Calls are synchronous: the order in which things reach the disk is what makes them safe, and nothing may
 * come in between. Failures are `NodeJS.ErrnoException`s with a `code`.
 */

import type { AbsPath, ByteString } from './values.ts'

export type FileKind = 'file' | 'link' | 'folder' | 'special'

export interface FileStat {
  readonly kind: FileKind
  /** The nine permission bits. */
  readonly perm: number
  readonly size: number
  readonly mtimeMs: number
  readonly ctimeMs: number
  readonly ino: number
  readonly dev: number
  readonly nlink: number
  readonly uid: number
}

export interface Fs {
  /** Never follows a link. `undefined` where there is nothing (ENOENT, ENOTDIR). */
  lstat(path: AbsPath): FileStat | undefined
  /** Refuses a link with ELOOP: it may lead out of the workspace. Find out where it leads first. */
  readFile(path: AbsPath): Buffer
  /**
   * `length` bytes from `position`; fewer at the end of the file. They may lie in `into`: who reads a large file in
   * pieces need not ask for new memory each time.
   */
  readPart(path: AbsPath, position: number, length: number, into?: Buffer): Buffer
  readLink(path: AbsPath): ByteString
  /** Names only, in no order. */
  readFolder(path: AbsPath): readonly ByteString[]
  /**
   * A new file (fails with EEXIST where something stands) with these bytes and exactly this mode, whatever
   * the umask. It is never readable more widely than `perm` on the way. Not synced.
   */
  createFile(path: AbsPath, chunks: Iterable<Uint8Array>, perm: number): void
  /** Other bytes for a file that nobody reads. Refuses a link. Not synced, and cut off in the middle it is half of both. */
  overwrite(path: AbsPath, bytes: Buffer): void
  createLink(path: AbsPath, target: ByteString): void
  /** Fails with EEXIST. Sets exactly `perm`, whatever the umask. */
  createFolder(path: AbsPath, perm: number): void
  /** A second name for a file; fails with EEXIST where something stands. */
  hardLink(existing: AbsPath, path: AbsPath): void
  /** Replaces a file or link at `to`, in one instant. */
  rename(from: AbsPath, to: AbsPath): void
  unlink(path: AbsPath): void
  /** Only an empty folder. */
  removeFolder(path: AbsPath): void
  /** Of a file or folder; refuses a link. The new mode is on disk when it returns. */
  chmod(path: AbsPath, perm: number): void
  /** Waits until the file's bytes are on disk. */
  syncFile(path: AbsPath): void
  /** Waits until the folder's entries are on disk: a new name lasts only then. */
  syncFolder(path: AbsPath): void
  /** Bytes free for us on the disk that holds `path`; for messages only. */
  freeBytes(path: AbsPath): number
  /** Whether something can be renamed from one folder into the other. Changes nothing. */
  sameVolume(one: AbsPath, other: AbsPath): boolean
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
