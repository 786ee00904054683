/** A state with some of its paths taken from another one: how a look is split between owners, and a change narrowed. */

import { type Attrs, folderPermIn } from '../store/attrs.ts'
import type { Objects } from '../store/objects.ts'
import { findLeaf, hasFolder, type Leaf } from '../store/trees.ts'
import { type BlobId, foldersAbove, type RelPath, type TreeId } from '../values.ts'
import { type State, stateOf } from './snapshots.ts'

/** Where new trees and blobs are made: an operation's batch, or the scratch of a merge. */
export interface Maker extends Objects {
  blob(bytes: Uint8Array): BlobId
  edit(tree: TreeId, edits: ReadonlyMap<RelPath, Leaf | undefined>): TreeId
}

/** `state`, with these paths as they are in `other`. */
export function partWay(make: Maker, state: State, other: State, paths: Iterable<RelPath>): State {
  const chosen = [...paths]
  const edits = new Map<RelPath, Leaf | undefined>()
  for (const path of chosen) {
    const leaf = findLeaf(make, other.tree, path)
    if (leaf !== undefined || findLeaf(make, state.tree, path) !== undefined) edits.set(path, leaf)
  }
  const tree = make.edit(state.tree, edits)
  const attrs: Attrs = {
    defaults: state.attrs.defaults,
    files: filePerms(state.attrs, other.attrs, chosen),
    ...folders(make, state, other, tree, chosen),
  }
  return stateOf(tree, attrs, (bytes) => make.blob(bytes))
}

function filePerms(state: Attrs, other: Attrs, paths: readonly RelPath[]): Attrs['files'] {
  const files = new Map(state.files)
  for (const path of paths) {
    const perm = other.files.get(path)
    if (perm === undefined) files.delete(path)
    else files.set(path, perm)
  }
  return files
}

// The folders around a path belong to it. Left to the next owner of a look, one that the user emptied would count as
// the agent's, and go with its turn.
function folders(
  make: Maker,
  state: State,
  other: State,
  tree: TreeId,
  paths: readonly RelPath[],
): Pick<Attrs, 'folders' | 'bare'> {
  const folders = new Map(state.attrs.folders)
  const bare = new Map(state.attrs.bare)
  for (const folder of new Set(paths.flatMap((path) => [path, ...foldersAbove(path)]))) {
    folders.delete(folder)
    bare.delete(folder)
    const old = folderPermIn(make, state, folder)
    const now = folderPermIn(make, other, folder)
    if (hasFolder(make, tree, folder)) {
      const perm = now ?? old ?? state.attrs.defaults.folder
      if (perm !== state.attrs.defaults.folder) folders.set(folder, perm)
    } else if (now !== undefined && (old !== undefined || other.attrs.bare.has(folder))) bare.set(folder, now)
  }
  return { folders, bare }
}
