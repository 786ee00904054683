/** Proposals in the order in which they were made, each on top of the one before, over the files as they are. */

import type { Entry, Proposal } from '../log/review-record.ts'
import type { Objects } from '../store/objects.ts'
import type { RelPath } from '../values.ts'
import { mergeEntries, sameEntry } from './contents.ts'
import { entryAt, type Folded } from './fold.ts'

export interface Layer {
  readonly proposal: Proposal
  /** What it stands on: the file, with the proposals before it. */
  readonly before: Entry
  readonly after: Entry
  /** Somebody has edited the same lines since it was made. */
  readonly contested: boolean
}

/** A proposal whose content has come to be on disk anyway has nothing left to offer, and is not among them. */
export function layersOf(objects: Objects, { state, files, contents }: Folded): readonly Layer[] {
  const tops = new Map<RelPath, Entry>()
  const layers: Layer[] = []
  for (const proposal of state.proposals) {
    const { path, base, content } = proposal
    const before = tops.has(path) ? tops.get(path) : entryAt(objects, files, path)
    const { entry: after, overlaps } = mergeEntries(contents, base, before, content, 'theirs')
    tops.set(path, after)
    if (!sameEntry(before, after)) layers.push({ proposal, before, after, contested: overlaps })
  }
  return layers
}

/** The file as it would be with everything that is proposed. */
export function topOf(objects: Objects, folded: Folded, path: RelPath): Entry {
  const layers = layersOf(objects, folded).filter(({ proposal }) => proposal.path === path)
  const top = layers.at(-1)
  return top === undefined ? entryAt(objects, folded.files, path) : top.after
}
