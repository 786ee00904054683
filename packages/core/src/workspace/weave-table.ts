/** A new table from an old one and what has come since: entries and folders that have no place in the old one yet. */

import { type BlobId, type ByteString, nameOf, parentOf, type RelPath } from '../values.ts'
import {
  copyRecords,
  type FolderPatch,
  NameWriter,
  noBlob,
  type StatFields,
  skippedBits,
  writeEntry,
  writeFolderStat,
} from './cache-records.ts'
import { Bits, byBytes, CacheTable, isWide, noParent, State } from './cache-table.ts'

/** A captured path that the old table has no place for. */
export interface AddedEntry extends StatFields {
  readonly bits: number
  readonly blob: BlobId
}

export interface Incoming {
  /** By folder, then by name. */
  readonly added: ReadonlyMap<ByteString, readonly (readonly [ByteString, AddedEntry])[]>
  readonly patches: ReadonlyMap<ByteString, FolderPatch>
  readonly removed: ReadonlySet<ByteString>
  /** Folders in which an entry was forgotten. */
  readonly touched: ReadonlySet<ByteString>
}

/** Where an entry of the new table comes from: a place in the old one, or what has been added. */
type Source = { readonly name: ByteString } & (
  | { readonly from: number }
  | { readonly stat: StatFields; readonly bits: number; readonly blob: BlobId }
)

/** A run of folders as they were, or one folder with new entries. */
type Piece =
  | { readonly from: number; readonly to: number }
  | { readonly path: ByteString; readonly old: number; readonly entries: readonly Source[] }

/** A new table from the old one and what came since. Runs of untouched folders are copied as they are. */
export function weave(old: CacheTable, incoming: Incoming): CacheTable {
  const pieces = piecesOf(old, incoming)
  const table = tableFor(old, pieces)
  const names = new NameWriter(table, old)
  let folder = 0
  let entry = 0
  for (const piece of pieces) {
    if ('from' in piece) {
      entry += copyRun(old, table, piece, folder, entry)
      folder += piece.to - piece.from
      continue
    }
    writeFolder(old, table, piece, folder, entry, incoming.patches.get(piece.path), names)
    for (const source of piece.entries) writeSource(old, table, entry++, source, names)
    folder++
  }
  const tidy = isWasteful(table) ? withLiveNames(table) : table
  linkParents(tidy)
  return tidy
}

/** Names of forgotten entries stay in the table until they make up half of it. */
function isWasteful(table: CacheTable): boolean {
  return table.end - table.namesAt > 65_536 + 2 * liveNameBytes(table)
}

function liveNameBytes(table: CacheTable): number {
  let bytes = 0
  for (const word of recordWords(table)) bytes += table.u32[word + 9] ?? 0
  return bytes
}

function withLiveNames(table: CacheTable): CacheTable {
  const tidy = CacheTable.of(table.folderCount, table.entryCount, liveNameBytes(table))
  copyRecords(table, tidy, 16, 16, table.folderCount + table.entryCount)
  const names = new NameWriter(tidy)
  for (const word of recordWords(table)) names.write(word, table.nameOfRecord(word))
  return tidy
}

/** Folders and entries lie behind each other, so that one step leads through all of them. */
function* recordWords(table: CacheTable): Iterable<number> {
  for (let word = 16; word < table.namesAt >> 2; word += 16) yield word
}

function piecesOf(old: CacheTable, incoming: Incoming): readonly Piece[] {
  const needed = withFoldersAbove([...incoming.added.keys(), ...incoming.patches.keys()])
  const touched = new Set([
    ...incoming.touched,
    ...incoming.removed,
    ...incoming.added.keys(),
    ...incoming.patches.keys(),
    ...[...needed].filter((path) => old.indexOfFolder(path) < 0),
  ])
  const pieces: Piece[] = []
  let done = 0
  for (const path of [...touched].sort(byBytes)) {
    const place = lowerBound(old, path)
    if (place > done) pieces.push({ from: done, to: place })
    const isOld = old.indexOfFolder(path) >= 0
    done = isOld ? place + 1 : place
    const isRemoved = !isOld || incoming.removed.has(path)
    if (isRemoved && !needed.has(path)) continue
    const base = isRemoved ? -1 : place
    pieces.push({ path, old: base, entries: entriesOf(old, base, path, incoming) })
  }
  if (done < old.folderCount) pieces.push({ from: done, to: old.folderCount })
  return pieces
}

function withFoldersAbove(folders: readonly ByteString[]): ReadonlySet<ByteString> {
  const all = new Set(folders)
  for (const folder of folders)
    for (let path = folder; path !== ''; ) {
      path = parentOf(path)
      all.add(path)
    }
  return all
}

function lowerBound(table: CacheTable, path: ByteString): number {
  const exact = table.indexOfFolder(path)
  if (exact >= 0) return exact
  let low = 0
  let high = table.folderCount
  while (low < high) {
    const middle = (low + high) >> 1
    if (table.folderPath(middle) < path) low = middle + 1
    else high = middle
  }
  return low
}

/** Captured entries win over skipped ones of the same name: what is known stays known. */
function entriesOf(old: CacheTable, folder: number, path: ByteString, incoming: Incoming): readonly Source[] {
  const patch = incoming.patches.get(path)
  const added = incoming.added.get(path) ?? []
  if (folder < 0 && patch === undefined) return sourcesOf(added).sort((a, b) => byBytes(a.name, b.name))
  const byName = new Map<ByteString, Source>()
  for (const skipped of patch?.skipped ?? [])
    byName.set(skipped.name, { name: skipped.name, stat: skipped, bits: skippedBits(skipped), blob: noBlob })
  if (folder >= 0)
    for (let from = old.firstEntry(folder); from < old.endEntry(folder); from++) {
      const isSkipped = old.stateOf(from) >= State.ignored
      const keep = isSkipped ? patch === undefined : old.isCaptured(from)
      if (keep) byName.set(old.entryName(from), { name: old.entryName(from), from })
    }
  for (const source of sourcesOf(added)) byName.set(source.name, source)
  return [...byName.values()].sort((a, b) => byBytes(a.name, b.name))
}

function sourcesOf(added: readonly (readonly [ByteString, AddedEntry])[]): Source[] {
  return added.map(([name, entry]) => ({ name, stat: entry, bits: entry.bits, blob: entry.blob }))
}

function tableFor(old: CacheTable, pieces: readonly Piece[]): CacheTable {
  let folders = 0
  let entries = 0
  let newNames = 0
  for (const piece of pieces) {
    if ('from' in piece) {
      folders += piece.to - piece.from
      entries += runEntries(old, piece)
    } else {
      folders++
      entries += piece.entries.length
      if (piece.old < 0) newNames += piece.path.length
      for (const source of piece.entries) if (!('from' in source)) newNames += source.name.length
    }
  }
  return CacheTable.of(folders, entries, old.end - old.namesAt + newNames)
}

function runEntries(old: CacheTable, run: { readonly from: number; readonly to: number }): number {
  return run.to === run.from ? 0 : old.endEntry(run.to - 1) - old.firstEntry(run.from)
}

function copyRun(
  old: CacheTable,
  table: CacheTable,
  run: { readonly from: number; readonly to: number },
  folder: number,
  entry: number,
): number {
  const count = runEntries(old, run)
  copyRecords(old, table, old.folderAt(run.from), table.folderAt(folder), run.to - run.from)
  copyRecords(old, table, old.entryAt(old.firstEntry(run.from)), table.entryAt(entry), count)
  const shift = entry - old.firstEntry(run.from)
  for (let i = 0; i < run.to - run.from; i++) {
    const word = table.folderAt(folder + i) + 11
    table.u32[word] = (table.u32[word] ?? 0) + shift
  }
  return count
}

function writeFolder(
  old: CacheTable,
  table: CacheTable,
  piece: { readonly path: ByteString; readonly old: number; readonly entries: readonly Source[] },
  folder: number,
  entry: number,
  patch: FolderPatch | undefined,
  names: NameWriter,
): void {
  const word = table.folderAt(folder)
  if (piece.old >= 0) copyRecords(old, table, old.folderAt(piece.old), word, 1)
  else {
    names.write(word, piece.path)
    const wide = isWide(piece.path) ? Bits.wide : 0
    table.u32[word + 10] = Bits.racy | Bits.unseen | wide
  }
  if (patch !== undefined) writeFolderStat(table, folder, patch)
  table.u32[word + 11] = entry
  table.u32[word + 12] = piece.entries.length
}

function writeSource(
  old: CacheTable,
  table: CacheTable,
  entry: number,
  source: Source,
  names: NameWriter,
): void {
  const word = table.entryAt(entry)
  if ('from' in source) {
    copyRecords(old, table, old.entryAt(source.from), word, 1)
    return
  }
  names.write(word, source.name)
  writeEntry(table, entry, source.stat, source.bits, source.blob)
}

function linkParents(table: CacheTable): void {
  for (let i = 0; i < table.folderCount; i++) {
    const path = table.folderPath(i)
    const parent = path === '' ? -1 : table.indexOfFolder(parentOf(path))
    table.u32[table.folderAt(i) + 13] = parent < 0 ? noParent : parent
  }
}

/** By folder, with the names that the entries have there. */
export function groupByFolder(
  added: Iterable<readonly [RelPath, AddedEntry]>,
): ReadonlyMap<ByteString, readonly (readonly [ByteString, AddedEntry])[]> {
  const groups = new Map<ByteString, (readonly [ByteString, AddedEntry])[]>()
  for (const [path, entry] of added) {
    const folder = parentOf(path)
    const group = groups.get(folder)
    if (group === undefined) groups.set(folder, [[nameOf(path), entry]])
    else group.push([nameOf(path), entry])
  }
  return groups
}
