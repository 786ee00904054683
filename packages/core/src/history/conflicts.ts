/** Both sides of a conflict, in words a person can decide by. */

import { shown } from '../errors.ts'
import type { TreeConflict } from '../store/merge.ts'
import type { Objects } from '../store/objects.ts'
import type { Leaf } from '../store/trees.ts'
import type { Left } from '../workspace/apply.ts'
import type { Conflict } from './outcome.ts'

const mostText = 2_000

export function conflictOf(objects: Objects, conflict: TreeConflict): Conflict {
  const { path, kind, message } = conflict
  const [ours, theirs] =
    kind === 'content'
      ? overlapOf(objects, conflict)
      : [sideText(objects, conflict.ours), sideText(objects, conflict.theirs)]
  return { path, kind, ours, theirs, message }
}

export function conflictOfLeft({ path, reason }: Left): Conflict {
  const kind = reason === 'changed-meanwhile' ? 'changed-meanwhile' : 'uncaptured'
  return { path, kind, ours: wordsFor[reason], theirs: null, message: `${shown(path)}: ${wordsFor[reason]}.` }
}

const wordsFor: Readonly<Record<Left['reason'], string>> = {
  'changed-meanwhile': 'somebody saved it at this very moment',
  occupied: 'something that was never captured stands there',
  'behind-link': 'a folder above it is a symbolic link now',
}

/** Only what differs: the lines between the first and the last difference of the two sides. */
function overlapOf(objects: Objects, conflict: TreeConflict): readonly [string | null, string | null] {
  const ours = sideText(objects, conflict.ours)
  const theirs = sideText(objects, conflict.theirs)
  if (ours === null || theirs === null) return [ours, theirs]
  const a = ours.split('\n')
  const b = theirs.split('\n')
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1
  return [a.slice(head, a.length - tail).join('\n'), b.slice(head, b.length - tail).join('\n')]
}

function sideText(objects: Objects, leaf: Leaf | undefined): string | null {
  if (leaf === undefined) return null
  const bytes = objects.readBlob(leaf.blob)
  if (bytes.subarray(0, 8_000).includes(0)) return `binary, ${bytes.length} bytes`
  const text = bytes.subarray(0, mostText).toString('utf8')
  return bytes.length > mostText ? `${text}…` : text
}
