/** Snapshots as values: a tree together with its attributes, read, compared, merged. */

import type { Attrs } from '../store/attrs.ts'
import { mergeAttrs, parseAttrs, serializeAttrs } from '../store/attrs.ts'
import type { Choices, MergeScratch, TreeConflict } from '../store/merge.ts'
import type { Objects } from '../store/objects.ts'
import type { BlobId, RelPath, Snapshot, TreeId } from '../values.ts'

/** A snapshot with its attributes at hand. */
export interface State {
  readonly tree: TreeId
  readonly attrs: Attrs
  readonly snapshot: Snapshot
}

// Attributes change seldom and are asked for often; a handful of parsed ones is enough.
const parsed = new Map<BlobId, Attrs>()
const parsedLimit = 64

export function readState(objects: Objects, snapshot: Snapshot): State {
  return { tree: snapshot.tree, attrs: readAttrs(objects, snapshot.attrs), snapshot }
}

function readAttrs(objects: Objects, id: BlobId): Attrs {
  const known = parsed.get(id)
  if (known !== undefined) return known
  const attrs = parseAttrs(objects.readBlob(id))
  if (parsed.size >= parsedLimit) parsed.clear()
  parsed.set(id, attrs)
  return attrs
}

export function stateOf(tree: TreeId, attrs: Attrs, keep: (bytes: Buffer) => BlobId): State {
  return { tree, attrs, snapshot: { tree, attrs: keep(serializeAttrs(attrs)) } }
}

export function sameSnapshot(a: Snapshot, b: Snapshot): boolean {
  return a.tree === b.tree && a.attrs === b.attrs
}

export interface StateMerge {
  readonly state: State
  readonly conflicts: readonly TreeConflict[]
  /** Paths whose content is now made of both sides. */
  readonly merged: readonly RelPath[]
}

/** The one idea: `result = merge(base, ours, theirs)`, for trees by git and for attributes by the same rule. */
export async function mergeStates(
  scratch: MergeScratch,
  sides: { readonly base: State; readonly ours: State; readonly theirs: State },
  onConflict: Choices,
): Promise<StateMerge> {
  const { base, ours, theirs } = sides
  if (sameSnapshot(base.snapshot, theirs.snapshot)) return { state: ours, conflicts: [], merged: [] }
  if (sameSnapshot(base.snapshot, ours.snapshot)) return { state: theirs, conflicts: [], merged: [] }
  const merge = await scratch.merge(base.tree, ours.tree, theirs.tree)
  const tree =
    merge.conflicts.length > 0 && onConflict !== 'abort'
      ? scratch.settle(merge, ours.tree, theirs.tree, onConflict)
      : merge.tree
  const trees = { base: base.tree, ours: ours.tree, theirs: theirs.tree, result: tree }
  const attrs = mergeAttrs(scratch, trees, { base: base.attrs, ours: ours.attrs, theirs: theirs.attrs })
  const state = stateOf(tree, attrs, (bytes) => scratch.blob(bytes))
  return { state, conflicts: merge.conflicts, merged: merge.autoMerged }
}
