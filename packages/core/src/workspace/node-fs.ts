/** The real disk behind the `Fs` port. What a platform does differently is settled here; no caller learns of it. */

import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  rmdirSync,
  type Stats,
  statfsSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { errorCode, type FileKind, type FileStat, type Fs } from '../fs.ts'
import type { AbsPath, ByteString } from '../values.ts'

const onWindows = process.platform === 'win32'

// Not on every platform; 0 changes nothing there.
const noFollow = constants.O_NOFOLLOW ?? 0
const noBlock = constants.O_NONBLOCK ?? 0

// Without O_NONBLOCK, opening a named pipe that took the file's place in this instant would hang for ever.
const forReading = constants.O_RDONLY | noFollow | noBlock
const forWriting = constants.O_WRONLY | noFollow | noBlock
const forCreating = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noFollow

export const nodeFs: Fs = {
  lstat(path) {
    try {
      const stat = lstatSync(native(path), { throwIfNoEntry: false })
      return stat === undefined ? undefined : statOf(stat)
    } catch (error) {
      if (isNothing(error)) return undefined
      throw error
    }
  },

  readFile(path) {
    const file = openSync(native(path), forReading)
    try {
      return readFileSync(file)
    } finally {
      closeSync(file)
    }
  },

  readPart(path, position, length, into) {
    const file = openSync(native(path), forReading)
    try {
      return readAt(file, position, length, into)
    } finally {
      closeSync(file)
    }
  },

  readLink(path) {
    return readlinkSync(native(path), { encoding: 'buffer' }).toString('latin1')
  },

  readFolder(path) {
    return readdirSync(native(path), { encoding: 'latin1' })
  },

  createFile(path, chunks, perm) {
    const file = openSync(native(path), forCreating, perm & 0o600)
    try {
      try {
        for (const chunk of chunks) writeAll(file, chunk)
        // A read-only file cannot be opened for syncing on Windows any more; so it is done before.
        if (onWindows && (perm & 0o200) === 0) fsyncSync(file)
        fchmodSync(file, perm)
      } finally {
        closeSync(file)
      }
    } catch (error) {
      removeHalfWritten(path)
      throw error
    }
  },

  overwrite(path, bytes) {
    const file = openSync(native(path), forWriting)
    try {
      writeAll(file, bytes)
      ftruncateSync(file, bytes.length)
    } finally {
      closeSync(file)
    }
  },

  createLink(path, target) {
    symlinkSync(native(target), native(path))
  },

  createFolder(path, perm) {
    mkdirSync(native(path), perm & 0o700)
    try {
      chmodSync(native(path), perm)
    } catch (error) {
      rmdirSync(native(path))
      throw error
    }
  },

  hardLink(existing, path) {
    linkSync(native(existing), native(path))
  },

  rename(from, to) {
    patiently(() => renameSync(native(from), native(to)))
  },

  unlink(path) {
    patiently(() => unlinkSync(native(path)))
  },

  removeFolder(path) {
    patiently(() => rmdirSync(native(path)))
  },

  chmod(path, perm) {
    const file = openForChange(path)
    if (file === undefined) {
      chmodUnopened(path, perm)
      return
    }
    try {
      fchmodSync(file, perm)
      fsyncUnlessWindows(file)
    } finally {
      closeSync(file)
    }
  },

  syncFile(path) {
    const file = openForSync(path)
    if (file === undefined) return
    try {
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
  },

  syncFolder(path) {
    // Windows does not let a folder be opened like this, and its entries are in the volume's own journal.
    if (onWindows) return
    const folder = openSync(native(path), constants.O_RDONLY)
    try {
      fsyncSync(folder)
    } finally {
      closeSync(folder)
    }
  },

  freeBytes(path) {
    const stat = statfsSync(native(path))
    return stat.bavail * stat.bsize
  },

  sameVolume(one, other) {
    if (lstatSync(native(one)).dev !== lstatSync(native(other)).dev) return false
    return onWindows || !mountedApart(one, other)
  },
}

// Two bind mounts of one disk (a container's home and project) have the same device number, and a rename
// between them still fails. Linux looks at the mounts before it looks at the names: a rename of nothing onto
// a folder's own `.` says EXDEV then, and something else otherwise. It can never succeed.
function mountedApart(one: AbsPath, other: AbsPath): boolean {
  try {
    renameSync(native(`${one}/.unturn-no-such-name`), native(`${other}/.`))
    return false
  } catch (error) {
    return errorCode(error) === 'EXDEV'
  }
}

/** What node:fs takes: text where it is plain, bytes where a name may not be UTF-8. */
function native(path: ByteString): string | Buffer {
  return /[\x80-\xff]/.test(path) ? Buffer.from(path, 'latin1') : path
}

function isNothing(error: unknown): boolean {
  const code = errorCode(error)
  return code === 'ENOENT' || code === 'ENOTDIR'
}

function statOf(stat: Stats): FileStat {
  return {
    kind: kindOf(stat),
    perm: stat.mode & 0o777,
    size: stat.size,
    mtimeMs: stat.mtimeMs,
    ctimeMs: stat.ctimeMs,
    ino: stat.ino,
    dev: stat.dev,
    nlink: stat.nlink,
    uid: stat.uid,
  }
}

function kindOf(stat: Stats): FileKind {
  if (stat.isFile()) return 'file'
  if (stat.isSymbolicLink()) return 'link'
  if (stat.isDirectory()) return 'folder'
  return 'special'
}

function readAt(file: number, position: number, length: number, into?: Buffer): Buffer {
  const bytes = into ?? Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const count = readSync(file, bytes, filled, length - filled, position + filled)
    if (count === 0) break
    filled += count
  }
  return bytes.subarray(0, filled)
}

// write(2) may take less than it was given, and says so only in its return value.
function writeAll(file: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(file, bytes, written, bytes.length - written)
  }
}

// Half a file would be taken for a whole one later. Why it could not be written is the news, not that it
// could not be removed either.
function removeHalfWritten(path: AbsPath): void {
  try {
    unlinkSync(native(path))
  } catch {
    // the caller throws the first error
  }
}

// chmod(2) follows a link that took the file's place in this instant, and would change a file outside of the
// workspace; through an opened file it cannot.
function openForChange(path: AbsPath): number | undefined {
  for (const flags of onWindows ? [constants.O_RDWR] : [forReading, forWriting]) {
    try {
      return openSync(native(path), flags)
    } catch (error) {
      if (!isRefused(error)) throw error
    }
  }
  return undefined
}

function chmodUnopened(path: AbsPath, perm: number): void {
  if (lstatSync(native(path)).isSymbolicLink()) throw refusedLink(path)
  chmodSync(native(path), perm)
}

function refusedLink(path: AbsPath): NodeJS.ErrnoException {
  const error: NodeJS.ErrnoException = new Error(`ELOOP: a link stands at ${path}`)
  error.code = 'ELOOP'
  return error
}

function openForSync(path: AbsPath): number | undefined {
  if (!onWindows) {
    try {
      return openSync(native(path), forReading)
    } catch (error) {
      if (!isRefused(error)) throw error
      return openSync(native(path), forWriting) // a write-only file
    }
  }
  try {
    return openSync(native(path), constants.O_RDWR)
  } catch (error) {
    if (!isRefused(error)) throw error
    return undefined // read-only on Windows: createFile has synced it
  }
}

function isRefused(error: unknown): boolean {
  const code = errorCode(error)
  return code === 'EACCES' || code === 'EPERM' || (onWindows && code === 'EISDIR')
}

function fsyncUnlessWindows(file: number): void {
  if (!onWindows) fsyncSync(file)
}

// A virus scanner or an indexer holds a file open for a moment, and Windows refuses to rename or remove it
// in that time.
function patiently(attempt: () => void): void {
  for (const wait of onWindows ? [5, 20, 80, 200] : []) {
    try {
      attempt()
      return
    } catch (error) {
      const code = errorCode(error)
      if (code !== 'EPERM' && code !== 'EBUSY' && code !== 'EACCES') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, wait)
    }
  }
  attempt()
}
