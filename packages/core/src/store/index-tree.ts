/** Trees of files that are bytes already, in the order of an index: nothing is made into a string and back. */

import type { SortedPaths } from '../sorted-paths.ts'
import type { TreeId } from '../values.ts'
import { CachedTrees } from './cached-tree.ts'
import type { ObjectBatch } from './objects.ts'

/** Plain files, in the order of their paths' bytes, each path once and checked. */
export interface FileColumns {
  readonly paths: SortedPaths
  /** 20 bytes each. */
  readonly ids: Uint8Array
  readonly executable: Uint8Array
}

/** `cached`: trees that need not be made again where they are those of just these files, and the store has them. */
export function treeOfFiles(batch: ObjectBatch, files: FileColumns, cached?: CachedTrees): TreeId {
  return new TreeWriter(batch, files, cached).folder(0, files.paths.starts.length, 0, CachedTrees.root)
}

const slash = 0x2f
const folderMode = Buffer.from('40000 ', 'latin1')
const fileMode = Buffer.from('100644 ', 'latin1')
const execMode = Buffer.from('100755 ', 'latin1')

/** The order of an index is the order of git's trees: there a folder's name counts as if it ended with a slash. */
class TreeWriter {
  readonly #batch: ObjectBatch
  readonly #files: FileColumns
  readonly #cached: CachedTrees | undefined
  /** Folders lie on each other here, the innermost on top. */
  #bytes = Buffer.allocUnsafe(64 * 1024)
  #end = 0

  constructor(batch: ObjectBatch, files: FileColumns, cached: CachedTrees | undefined) {
    this.#batch = batch
    this.#files = files
    this.#cached = cached
  }

  /** Of the files from `first` on, in a folder whose path, with a slash behind it, is `depth` long. */
  folder(first: number, end: number, depth: number, note: number | undefined): TreeId {
    const known = note === undefined ? undefined : this.#cached?.find(note, end - first)
    // A tree may be in a pack that we took over, and one below it in another that we did not.
    if (known !== undefined && this.#batch.holdsAll(known.all)) return known.id
    const { bytes, starts, names, ends } = this.#files.paths
    const base = this.#end
    for (let file = first; file < end; ) {
      const nameStart = (starts[file] ?? 0) + depth
      if (nameStart === names[file]) {
        const mode = this.#files.executable[file] === 1 ? execMode : fileMode
        this.#write(mode, nameStart, ends[file] ?? 0, this.#files.ids, file * 20)
        file += 1
        continue
      }
      let nameEnd = nameStart
      while (bytes[nameEnd] !== slash) nameEnd += 1
      const below = depth + nameEnd - nameStart + 1
      const next = this.#endOfFolder(file, end, below)
      const inside =
        note === undefined ? undefined : this.#cached?.below(note, this.#name(nameStart, nameEnd))
      const id = this.folder(file, next, below, inside)
      this.#write(folderMode, nameStart, nameEnd, Buffer.from(id, 'hex'), 0)
      file = next
    }
    const id = this.#batch.writtenTree(this.#bytes.subarray(base, this.#end))
    this.#end = base
    return id
  }

  #name(start: number, end: number): string {
    const { buffer, byteOffset } = this.#files.paths.bytes
    return Buffer.from(buffer, byteOffset + start, end - start).toString('latin1')
  }

  /** The first file that has fewer bytes in common with the one before: it lies elsewhere. */
  #endOfFolder(file: number, end: number, below: number): number {
    const { common } = this.#files.paths
    let next = file + 1
    while (next < end && (common[next] ?? 0) >= below) next += 1
    return next
  }

  #write(mode: Buffer, nameStart: number, nameEnd: number, ids: Uint8Array, idAt: number): void {
    this.#makeRoom(mode.length + nameEnd - nameStart + 21)
    const names = this.#files.paths.bytes
    const bytes = this.#bytes
    let end = this.#end
    for (let i = 0; i < mode.length; i += 1) bytes[end++] = mode[i] ?? 0
    for (let i = nameStart; i < nameEnd; i += 1) bytes[end++] = names[i] ?? 0
    bytes[end++] = 0
    for (let i = 0; i < 20; i += 1) bytes[end++] = ids[idAt + i] ?? 0
    this.#end = end
  }

  #makeRoom(length: number): void {
    if (this.#end + length <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe((this.#end + length) * 2)
    this.#bytes.copy(larger, 0, 0, this.#end)
    this.#bytes = larger
  }
}
