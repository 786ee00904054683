/** What a git tree cannot hold: permission bits that are not the usual ones, and folders without captured content. */

import { type ByteString, type FileState, foldersAbove, type RelPath, type TreeId } from '../values.ts'
import { storeDamaged } from './damage.ts'
import { checkedPath } from './describe.ts'
import type { Objects } from './objects.ts'
import { diffTrees, findLeaf, hasFolder, type Leaf, listTree } from './trees.ts'

export interface Attrs {
  /** The permission bits that are not written down. */
  readonly defaults: { readonly file: number; readonly exec: number; readonly folder: number }
  /** Files with other bits than the default of their git mode. */
  readonly files: ReadonlyMap<RelPath, number>
  /** Folders with captured content below them, and other bits than the default. */
  readonly folders: ReadonlyMap<RelPath, number>
  /** Folders with nothing captured below them, all of them, with their bits. */
  readonly bare: ReadonlyMap<RelPath, number>
}

// unturn-attrs 1 644 755 755 LF, then records sorted by the path's bytes:
// `f 600 path` NUL: a file; `d 700 path` NUL: a folder with content; `e 755 path` NUL: a folder without.

type RecordKind = 'f' | 'd' | 'e'

export function serializeAttrs(attrs: Attrs): Buffer {
  const { file, exec, folder } = attrs.defaults
  const heading = `unturn-attrs 1 ${octal(file)} ${octal(exec)} ${octal(folder)}\n`
  const records = [
    ...recordsOf('f', attrs.files),
    ...recordsOf('d', attrs.folders),
    ...recordsOf('e', attrs.bare),
  ]
  records.sort((a, b) => (a.path < b.path ? -1 : 1))
  const lines = records.map(({ kind, perm, path }) => `${kind} ${octal(perm)} ${path}\0`)
  return Buffer.from(heading + lines.join(''), 'latin1')
}

function recordsOf(kind: RecordKind, perms: ReadonlyMap<RelPath, number>) {
  return Array.from(perms, ([path, perm]) => ({ kind, perm, path }))
}

function octal(perm: number): string {
  return (perm & 0o777).toString(8)
}

/** Refuses what `serializeAttrs` would not have written: a blob that was tampered with must not reach a disk. */
export function parseAttrs(bytes: Buffer): Attrs {
  const text = bytes.toString('latin1')
  const heading = /^unturn-attrs 1 ([0-7]+) ([0-7]+) ([0-7]+)\n/.exec(text)
  if (heading === null) throw attrsDamaged('do not begin as they should')
  const defaults = { file: permFrom(heading[1]), exec: permFrom(heading[2]), folder: permFrom(heading[3]) }
  if (isExec(defaults.file) || !isExec(defaults.exec))
    throw attrsDamaged('have defaults that contradict each other')

  const maps = { f: new Map<RelPath, number>(), d: new Map<RelPath, number>(), e: new Map<RelPath, number>() }
  let previous: ByteString = ''
  for (const record of recordsIn(text.slice(heading[0].length))) {
    const match = /^([fde]) ([0-7]+) ([\s\S]+)$/.exec(record)
    if (match === null) throw attrsDamaged('hold a record that cannot be read')
    const path = checkedPath(match[3] ?? '')
    if (path <= previous) throw attrsDamaged('are not in order')
    maps[match[1] as RecordKind].set(path, permFrom(match[2]))
    previous = path
  }
  return { defaults, files: maps.f, folders: maps.d, bare: maps.e }
}

function recordsIn(text: string): readonly string[] {
  if (text === '') return []
  if (!text.endsWith('\0')) throw attrsDamaged('were cut off')
  return text.slice(0, -1).split('\0')
}

function permFrom(digits: string | undefined): number {
  const perm = Number.parseInt(digits ?? '', 8)
  if (perm <= 0o777 && octal(perm) === digits) return perm
  throw attrsDamaged('hold permission bits that cannot be')
}

function attrsDamaged(what: string) {
  return storeDamaged(`the attributes of a snapshot ${what}`)
}

/** The nine permission bits of a captured file. They always agree with the executable bit that git keeps. */
export function permOf(attrs: Attrs, path: RelPath, leaf: Leaf): number {
  if (leaf.mode === '120000') return 0o777
  const perm = attrs.files.get(path)
  return perm !== undefined && agrees(perm, leaf) ? perm : defaultPerm(attrs, leaf)
}

function agrees(perm: number, leaf: Leaf): boolean {
  return isExec(perm) === (leaf.mode === '100755')
}

function isExec(perm: number): boolean {
  return (perm & 0o100) !== 0
}

function defaultPerm(attrs: Attrs, leaf: Leaf): number {
  return leaf.mode === '100755' ? attrs.defaults.exec : attrs.defaults.file
}

export function folderPermOf(attrs: Attrs, folder: RelPath): number {
  return attrs.folders.get(folder) ?? attrs.bare.get(folder) ?? attrs.defaults.folder
}

export function fileStateOf(attrs: Attrs, path: RelPath, leaf: Leaf): FileState
export function fileStateOf(attrs: Attrs, path: RelPath, leaf: Leaf | undefined): FileState | undefined
export function fileStateOf(attrs: Attrs, path: RelPath, leaf: Leaf | undefined): FileState | undefined {
  if (leaf === undefined) return undefined
  if (leaf.mode === '120000') return { kind: 'link', blob: leaf.blob }
  return { kind: 'file', perm: permOf(attrs, path, leaf), blob: leaf.blob }
}

export interface MergedTrees {
  readonly base: TreeId
  readonly ours: TreeId
  readonly theirs: TreeId
  readonly result: TreeId
}

/**
 * The attributes that go with a merged tree.
 *
 * Permission bits: where only theirs changed them, theirs; else ours. Folders (R11): one that was there before
 * is never removed, even if the merge leaves it without content; one that theirs is the state before of goes.
 */
export function mergeAttrs(
  objects: Objects,
  trees: MergedTrees,
  attrs: { readonly base: Attrs; readonly ours: Attrs; readonly theirs: Attrs },
): Attrs {
  const sides: Sides = {
    base: { tree: trees.base, attrs: attrs.base },
    ours: { tree: trees.ours, attrs: attrs.ours },
    theirs: { tree: trees.theirs, attrs: attrs.theirs },
  }
  const touched = diffTrees(objects, trees.ours, trees.result)
  const files = mergedFiles(
    objects,
    sides,
    trees.result,
    touched.map((diff) => diff.path),
  )
  const left = touched.filter((diff) => diff.after === undefined).map((diff) => diff.path)
  return { defaults: attrs.ours.defaults, files, ...mergedFolders(objects, sides, trees.result, left) }
}

export interface State {
  readonly tree: TreeId
  readonly attrs: Attrs
}

interface Sides {
  readonly base: State
  readonly ours: State
  readonly theirs: State
}

function mergedFiles(
  objects: Objects,
  sides: Sides,
  result: TreeId,
  touched: readonly RelPath[],
): ReadonlyMap<RelPath, number> {
  const files = new Map(sides.ours.attrs.files)
  const { base, theirs } = sides
  const changed = keysOf(base.attrs.files, theirs.attrs.files).filter(
    (path) => base.attrs.files.get(path) !== theirs.attrs.files.get(path),
  )
  for (const path of new Set([...touched, ...changed])) {
    const perm = mergedPerm(objects, sides, result, path)
    if (perm === undefined) files.delete(path)
    else files.set(path, perm)
  }
  return files
}

/** `undefined` where the result has no such file, or the default will do. */
function mergedPerm(objects: Objects, sides: Sides, result: TreeId, path: RelPath): number | undefined {
  const leaf = findLeaf(objects, result, path)
  if (leaf === undefined || leaf.mode === '120000') return undefined
  const perms = inPreference(sides, (side) => filePermIn(objects, side, path))
  const perm = perms.find((candidate) => agrees(candidate, leaf))
  return perm === defaultPerm(sides.ours.attrs, leaf) ? undefined : perm
}

function filePermIn(objects: Objects, side: State, path: RelPath): number | undefined {
  const leaf = findLeaf(objects, side.tree, path)
  return leaf === undefined || leaf.mode === '120000' ? undefined : permOf(side.attrs, path, leaf)
}

/** What each side says, the one that should win first. */
function inPreference(sides: Sides, permIn: (side: State) => number | undefined): readonly number[] {
  const base = permIn(sides.base)
  const ours = permIn(sides.ours)
  const theirs = permIn(sides.theirs)
  const order = ours === base && theirs !== base ? [theirs, ours, base] : [ours, theirs, base]
  return order.filter((perm) => perm !== undefined)
}

function mergedFolders(
  objects: Objects,
  sides: Sides,
  result: TreeId,
  left: readonly RelPath[],
): Pick<Attrs, 'folders' | 'bare'> {
  const { base, ours, theirs } = sides
  const folders = new Map<RelPath, number>()
  const bare = new Map<RelPath, number>()
  const emptied = new Set(left.flatMap((path) => missingFoldersAbove(objects, result, path)))
  const known = [base, ours, theirs].flatMap((side) => keysOf(side.attrs.folders, side.attrs.bare))
  for (const folder of new Set([...emptied, ...known])) {
    const perm =
      inPreference(sides, (side) => folderPermIn(objects, side, folder))[0] ?? ours.attrs.defaults.folder
    if (hasFolder(objects, result, folder)) {
      if (perm !== ours.attrs.defaults.folder) folders.set(folder, perm)
    } else if (staysFolder(objects, sides, folder) && !fileInTheWay(objects, result, folder)) {
      bare.set(folder, perm)
    }
  }
  for (const folder of [...bare.keys()]) keepParents(objects, sides, result, folder, bare)
  return { folders, bare }
}

function staysFolder(objects: Objects, sides: Sides, folder: RelPath): boolean {
  const base = folderIn(objects, sides.base, folder)
  const ours = folderIn(objects, sides.ours, folder)
  const theirs = folderIn(objects, sides.theirs, folder)
  return (ours && !(base && !theirs)) || (theirs && !base)
}

function folderIn(objects: Objects, side: State, folder: RelPath): boolean {
  return side.attrs.bare.has(folder) || hasFolder(objects, side.tree, folder)
}

/** The bits of a folder, with or without content; undefined where there is none. */
export function folderPermIn(objects: Objects, side: State, folder: RelPath): number | undefined {
  return folderIn(objects, side, folder) ? folderPermOf(side.attrs, folder) : undefined
}

/** A folder cannot stand where the merged tree has a file, or below one. */
function fileInTheWay(objects: Objects, result: TreeId, folder: RelPath): boolean {
  return [folder, ...foldersAbove(folder)].some((path) => findLeaf(objects, result, path) !== undefined)
}

/** The user's folder stays, and so do the folders it lies in, whoever made them. */
function keepParents(
  objects: Objects,
  sides: Sides,
  result: TreeId,
  folder: RelPath,
  bare: Map<RelPath, number>,
): void {
  for (const parent of missingFoldersAbove(objects, result, folder)) {
    if (bare.has(parent)) continue
    const perm = inPreference(sides, (side) => folderPermIn(objects, side, parent))[0]
    bare.set(parent, perm ?? sides.ours.attrs.defaults.folder)
  }
}

export interface SnapshotPlan {
  readonly paths: readonly {
    readonly path: RelPath
    readonly from: FileState | undefined
    readonly to: FileState | undefined
  }[]
  readonly folders: {
    /** Shallow first. */
    readonly create: readonly { readonly path: RelPath; readonly perm: number }[]
    /** Deepest first. */
    readonly remove: readonly RelPath[]
    readonly chmod: readonly { readonly path: RelPath; readonly from: number; readonly to: number }[]
  }
}

/** What has to change to come from one snapshot to the other, files and folders. */
export function planBetween(objects: Objects, from: State, to: State): SnapshotPlan {
  const diffs = diffTrees(objects, from.tree, to.tree)
  const paths = diffs.map(({ path, before, after }) => ({
    path,
    from: fileStateOf(from.attrs, path, before),
    to: fileStateOf(to.attrs, path, after),
  }))
  const touched = new Set(diffs.map((diff) => diff.path))
  paths.push(...permChanges(objects, from, to, touched))
  paths.sort((a, b) => (a.path < b.path ? -1 : 1))
  return { paths, folders: planFolders(objects, from, to, touched) }
}

function permChanges(
  objects: Objects,
  from: State,
  to: State,
  touched: ReadonlySet<RelPath>,
): SnapshotPlan['paths'] {
  const candidates = sameDefaults(from.attrs, to.attrs)
    ? keysOf(from.attrs.files, to.attrs.files)
    : [...listTree(objects, to.tree)].map(([path]) => path) // every path without a record has new bits, too
  const changes: { path: RelPath; from: FileState; to: FileState }[] = []
  for (const path of candidates) {
    if (touched.has(path) || recordsAgree(from.attrs, to.attrs, path)) continue
    const leaf = findLeaf(objects, to.tree, path)
    if (leaf === undefined || leaf.mode === '120000') continue
    if (permOf(from.attrs, path, leaf) === permOf(to.attrs, path, leaf)) continue
    changes.push({ path, from: fileStateOf(from.attrs, path, leaf), to: fileStateOf(to.attrs, path, leaf) })
  }
  return changes
}

function recordsAgree(from: Attrs, to: Attrs, path: RelPath): boolean {
  return sameDefaults(from, to) && from.files.get(path) === to.files.get(path)
}

function sameDefaults(a: Attrs, b: Attrs): boolean {
  return (
    a.defaults.file === b.defaults.file &&
    a.defaults.exec === b.defaults.exec &&
    a.defaults.folder === b.defaults.folder
  )
}

function planFolders(
  objects: Objects,
  from: State,
  to: State,
  touched: ReadonlySet<RelPath>,
): SnapshotPlan['folders'] {
  const known = [from, to].flatMap((side) => keysOf(side.attrs.folders, side.attrs.bare))
  const others = sameDefaults(from.attrs, to.attrs)
    ? touched
    : [...listTree(objects, to.tree)].map(([path]) => path)
  const candidates = new Set([...known, ...[...touched, ...others, ...known].flatMap(foldersAbove)])
  const create: { path: RelPath; perm: number }[] = []
  const remove: RelPath[] = []
  const chmod: { path: RelPath; from: number; to: number }[] = []
  for (const path of [...candidates].sort()) {
    const before = folderPermIn(objects, from, path)
    const after = folderPermIn(objects, to, path)
    if (before === undefined && after !== undefined) create.push({ path, perm: after })
    else if (before !== undefined && after === undefined) remove.push(path)
    else if (before !== undefined && after !== undefined && before !== after)
      chmod.push({ path, from: before, to: after })
  }
  return { create, remove: remove.reverse(), chmod }
}

function missingFoldersAbove(objects: Objects, tree: TreeId, path: RelPath): readonly RelPath[] {
  return foldersAbove(path).filter((folder) => !hasFolder(objects, tree, folder))
}

function keysOf(...maps: readonly ReadonlyMap<RelPath, number>[]): readonly RelPath[] {
  return [...new Set(maps.flatMap((map) => [...map.keys()]))]
}
