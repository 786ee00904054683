/** A state of the files with some paths as the review wants them. */

import type { Engine } from '../history/engine.ts'
import type { Maker } from '../history/part-way.ts'
import { readState, type State, stateOf } from '../history/snapshots.ts'
import type { Entry } from '../log/review-record.ts'
import { folderPermIn, permOf } from '../store/attrs.ts'
import type { Objects } from '../store/objects.ts'
import { findLeaf, hasFolder, type Leaf, listTree } from '../store/trees.ts'
import { foldersAbove, type RelPath, type SessionId } from '../values.ts'
import type { Contents } from './contents.ts'

export function place(
  engine: Engine,
  make: Maker,
  contents: Contents,
  session: SessionId,
  files: State,
  wanted: ReadonlyMap<RelPath, Entry>,
): State {
  const leaves = new Map<RelPath, Leaf | undefined>()
  const perms = new Map(files.attrs.files)
  const bare = new Map(files.attrs.bare)
  for (const [path, entry] of wanted) {
    perms.delete(path)
    if (entry === undefined) {
      if (findLeaf(make, files.tree, path) !== undefined) leaves.set(path, undefined)
      continue
    }
    if (!make.has(entry.blob)) make.blob(contents.read(entry.blob))
    const leaf = leafOf(entry)
    leaves.set(path, leaf)
    bare.delete(path)
    if (entry.kind === 'file' && permOf({ ...files.attrs, files: new Map() }, path, leaf) !== entry.perm)
      perms.set(path, entry.perm)
  }
  const tree = make.edit(files.tree, leaves)
  for (const folder of new Set([...wanted.keys()].flatMap(foldersAbove))) {
    if (hasFolder(make, tree, folder)) bare.delete(folder)
    else if (hasFolder(make, files.tree, folder)) {
      const perm = standing(engine, session, folder)
      if (perm !== undefined) bare.set(folder, perm)
    }
  }
  return stateOf(tree, { ...files.attrs, files: perms, bare }, (bytes) => make.blob(bytes))
}

/** Which of the wanted files cannot be, each with what stands in its way. */
export function blockedIn(
  objects: Objects,
  { tree }: State,
  wanted: ReadonlyMap<RelPath, Entry>,
): ReadonlyMap<RelPath, RelPath> {
  const blocked = new Map<RelPath, RelPath>()
  const isThere = (path: RelPath) =>
    wanted.has(path) ? wanted.get(path) !== undefined : findLeaf(objects, tree, path) !== undefined
  const coming = [...wanted].flatMap(([path, entry]) => (entry === undefined ? [] : [path]))
  const filled = new Map(coming.flatMap((path) => foldersAbove(path).map((folder) => [folder, path])))
  for (const path of coming) {
    const other = foldersAbove(path).find(isThere) ?? filled.get(path) ?? firstBelow(path)
    if (other !== undefined) blocked.set(path, other)
  }
  return blocked

  function firstBelow(folder: RelPath): RelPath | undefined {
    for (const [path] of listTree(objects, tree, folder)) if (isThere(path)) return path
    return undefined
  }
}

function leafOf(entry: NonNullable<Entry>): Leaf {
  if (entry.kind === 'link') return { mode: '120000', blob: entry.blob }
  return { mode: (entry.perm & 0o100) === 0 ? '100644' : '100755', blob: entry.blob }
}

// A folder that was there before the session put anything into it stays when the last file in it goes.
function standing(engine: Engine, session: SessionId, folder: RelPath): number | undefined {
  const { index } = engine.log
  const first = index.findChanges({ paths: [folder], session }).at(-1)
  const operation = first === undefined ? undefined : index.operationAt(first.opSeq)
  if (operation === undefined) return undefined
  return folderPermIn(engine.objects, readState(engine.objects, operation.before), folder)
}
