/** The first table of a repository, made of what its index knows: many files at once, and no object for each. */

import type { SortedPaths } from '../sorted-paths.ts'
import type { ByteString } from '../values.ts'
import { NameWriter } from './cache-records.ts'
import { Bits, byBytes, CacheTable, isWide, noParent, State } from './cache-table.ts'

/** Files in the order of their paths' bytes, each once. */
export interface Seeds {
  readonly paths: SortedPaths
  /** Size, mtime, ctime and ino of each. */
  readonly stats: Float64Array
  readonly executable: Uint8Array
  /** The permission bits of files that are executable, and of those that are not. */
  readonly perms: { readonly file: number; readonly exec: number }
  /** 20 bytes each. */
  readonly ids: Uint8Array
}

/** The same as weaving all of them into an empty table, without an object for each. */
export function seededTable(seeds: Seeds): CacheTable {
  const { folders, folderOf, nameBytes } = foldersOfSeeds(seeds.paths)
  const table = CacheTable.of(folders.length, folderOf.length, nameBytes)
  const names = new NameWriter(table)
  const next = writeSeedFolders(table, names, folders)
  writeSeeds(table, names, seeds, folderOf, next)
  return table
}

/** Gives the place of the first entry of each folder, by the number that the folder has. */
function writeSeedFolders(table: CacheTable, names: NameWriter, folders: readonly SeedFolder[]): Uint32Array {
  const inOrder = folders.toSorted((a, b) => byBytes(a.path, b.path))
  table.keepFolderPaths(inOrder.map(({ path }) => path))
  const places = new Uint32Array(folders.length)
  inOrder.forEach(({ number }, place) => {
    places[number] = place
  })
  const next = new Uint32Array(folders.length)
  let first = 0
  inOrder.forEach(({ path, number, parent, files }, place) => {
    const word = table.folderAt(place)
    names.write(word, path)
    table.u32[word + 10] = Bits.racy | Bits.unseen | (isWide(path) ? Bits.wide : 0)
    table.u32[word + 11] = first
    table.u32[word + 12] = files
    table.u32[word + 13] = parent < 0 ? noParent : (places[parent] ?? noParent)
    next[number] = first
    first += files
  })
  return next
}

// Files of one folder come in the order of their names, though others may come between them.
function writeSeeds(
  table: CacheTable,
  names: NameWriter,
  { paths, stats, executable, perms, ids }: Seeds,
  folderOf: Uint32Array,
  next: Uint32Array,
): void {
  const { f64, u32 } = table
  const idWords = wordsOf(ids)
  for (let seed = 0; seed < folderOf.length; seed++) {
    const folder = folderOf[seed] ?? 0
    const entry = next[folder] ?? 0
    next[folder] = entry + 1
    const word = table.entryAt(entry)
    const isWideName = names.writeBytes(word, paths.bytes, paths.names[seed] ?? 0, paths.ends[seed] ?? 0)
    const double = word >> 1
    const stat = seed * 4
    f64[double] = stats[stat] ?? 0
    f64[double + 1] = stats[stat + 1] ?? 0
    f64[double + 2] = stats[stat + 2] ?? 0
    f64[double + 3] = stats[stat + 3] ?? 0
    const perm = executable[seed] === 1 ? perms.exec : perms.file
    u32[word + 10] = perm | (State.file << Bits.stateAt) | (isWideName ? Bits.wide : 0)
    const id = seed * 5
    for (let i = 0; i < 5; i++) u32[word + 11 + i] = idWords[id + i] ?? 0
  }
}

/** The same bytes, four at a time; copied if they do not lie so that this is possible. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice()
  return new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.length >> 2)
}

interface SeedFolder {
  readonly path: ByteString
  readonly number: number
  /** -1 for the root. */
  readonly parent: number
  /** Directly in it. */
  files: number
}

interface SeedFolders {
  /** In the order of their numbers. */
  readonly folders: readonly SeedFolder[]
  readonly folderOf: Uint32Array
  /** What the names of all files, and the paths of all folders, take. */
  readonly nameBytes: number
}

/** All paths below a folder come one after the other: the folders around a path are those around the last one, or new. */
function foldersOfSeeds({ bytes, starts, names, ends, common }: SortedPaths): SeedFolders {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const folders: SeedFolder[] = []
  const folderOf = new Uint32Array(starts.length)
  const around: SeedFolder[] = []
  let folder: SeedFolder | undefined
  let nameBytes = 0
  const enter = (path: ByteString): SeedFolder => {
    const found = { path, number: folders.length, parent: around.at(-1)?.number ?? -1, files: 0 }
    folders.push(found)
    around.push(found)
    nameBytes += path.length
    return found
  }
  if (starts.length > 0) folder = enter('')
  for (let seed = 0; seed < starts.length; seed++) {
    const start = starts[seed] ?? 0
    const name = names[seed] ?? 0
    const shared = common[seed] ?? 0
    // Of a folder around the last path this one has to share the slash behind it, too.
    while (folder !== undefined && folder.path.length > 0 && folder.path.length >= shared) {
      around.pop()
      folder = around.at(-1)
    }
    const known: number = folder === undefined || folder.path === '' ? 0 : folder.path.length + 1
    for (let at = start + known; at < name; at++)
      if (bytes[at] === slash) folder = enter(buffer.toString('latin1', start, at))
    if (folder === undefined) throw new Error('unreachable: every path lies in a folder')
    folder.files += 1
    folderOf[seed] = folder.number
    nameBytes += (ends[seed] ?? 0) - name
  }
  return { folders, folderOf, nameBytes }
}

const slash = 0x2f
