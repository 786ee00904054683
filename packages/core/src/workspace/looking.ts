/** How a walk asks the disk. It only reads, and never follows a link below the root. */

import { closeSync, constants, lstatSync, openSync, readdirSync, readFileSync, type Stats } from 'node:fs'
import { errorCode } from '../fs.ts'
import type { ByteString } from '../values.ts'
import { type CacheTable, isWide } from './cache-table.ts'

/** What a walk wants to know of a path. */
export type Look = Pick<Stats, 'mode' | 'size' | 'mtimeMs' | 'ctimeMs' | 'ino'>

/** lstat, with the answers a walk can go on with. */
export function lookAt(path: string | Buffer): Stats | 'gone' | 'unreadable' {
  try {
    return lstatSync(path, quiet) ?? 'gone'
  } catch (error) {
    const code = errorCode(error)
    return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' ? 'gone' : 'unreadable'
  }
}

const quiet = { throwIfNoEntry: false } as const

export function typeOf(stat: Pick<Look, 'mode'>): number {
  return stat.mode & constants.S_IFMT
}

export function asNodePath(path: ByteString): string | Buffer {
  return isWide(path) ? Buffer.from(path, 'latin1') : path
}

/**
 * Ends with a slash, for names to be added. An lstat of it would follow a link: right for the root, which may
 * be reached through one, and for nothing below it.
 */
export function folderPathBelow(root: ByteString, folder: ByteString): ByteString {
  const start = root.endsWith('/') ? root : `${root}/`
  return folder === '' ? start : `${start}${folder}/`
}

/**
 * The bytes of a path, built in one place. As strings the paths of a large tree take longer to make, and to
 * turn into bytes again inside Node, than half of the lstat itself.
 */
export class PathBytes {
  #bytes = Buffer.allocUnsafeSlow(4096)
  #folderEnd = 0
  /** The same memory as a path of each length: to make a Buffer for every file took a tenth of a scan. */
  #byLength: (Buffer | undefined)[] = []

  /** `path` ends with a slash. */
  setFolder(path: ByteString): void {
    this.#folderEnd = 0
    this.#makeRoom(path.length)
    this.#folderEnd = this.#bytes.write(path, 0, 'latin1')
  }

  folder(): Buffer {
    return this.#ofLength(this.#folderEnd)
  }

  folderItself(): Buffer {
    return this.#ofLength(this.#folderEnd - 1)
  }

  /** Good until the next path is asked for. */
  withName(name: ByteString): Buffer {
    const { length } = name
    this.#makeRoom(length)
    const bytes = this.#bytes
    const end = this.#folderEnd
    for (let i = 0; i < length; i++) bytes[end + i] = name.charCodeAt(i)
    return this.#ofLength(end + length)
  }

  /** The same, if this is the name that the record has: both are gone through once. */
  withNameOfRecord(name: ByteString, table: CacheTable, word: number): Buffer | undefined {
    const { length } = name
    if (table.u32[word + 9] !== length) return undefined
    const start = table.namesAt + (table.u32[word + 8] ?? 0)
    this.#makeRoom(length)
    const bytes = this.#bytes
    const end = this.#folderEnd
    for (let i = 0; i < length; i++) {
      const byte = name.charCodeAt(i)
      if (byte !== table.bytes[start + i]) return undefined
      bytes[end + i] = byte
    }
    return this.#ofLength(end + length)
  }

  /** Good until the next path is asked for. */
  withRecord(table: CacheTable, word: number): Buffer {
    const start = table.namesAt + (table.u32[word + 8] ?? 0)
    const length = table.u32[word + 9] ?? 0
    this.#makeRoom(length)
    const bytes = this.#bytes
    const end = this.#folderEnd
    for (let i = 0; i < length; i++) bytes[end + i] = table.bytes[start + i] ?? 0
    return this.#ofLength(end + length)
  }

  #ofLength(length: number): Buffer {
    const known = this.#byLength[length]
    if (known !== undefined) return known
    const made = this.#bytes.subarray(0, length)
    this.#byLength[length] = made
    return made
  }

  #makeRoom(length: number): void {
    if (this.#folderEnd + length <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow((this.#folderEnd + length) * 2)
    this.#bytes.copy(larger, 0, 0, this.#folderEnd)
    this.#bytes = larger
    this.#byLength = []
  }
}

export function namesIn(path: Buffer): readonly ByteString[] | 'gone' | 'unreadable' {
  try {
    return readdirSync(path, 'latin1')
  } catch (error) {
    const code = errorCode(error)
    return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' ? 'gone' : 'unreadable'
  }
}

const largestIgnoreFile = 100 * 1024 * 1024

/**
 * Git does not follow an ignore file that is a link, so that rules cannot come from outside; nor do we. One
 * that cannot be read has no rules, as in git.
 */
export function readIgnoreFile(path: ByteString): ByteString | undefined {
  const stat = lookAt(asNodePath(path))
  if (typeof stat === 'string' || !stat.isFile() || stat.size > largestIgnoreFile) return undefined
  try {
    const handle = openSync(
      asNodePath(path),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    )
    try {
      return readFileSync(handle, 'latin1')
    } finally {
      closeSync(handle)
    }
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return undefined
  }
}
