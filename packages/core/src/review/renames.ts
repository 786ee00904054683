/** Files that the agent renamed: each is one file, not one that went and one that came. */

import type { Entry, PendingPath } from '../log/review-record.ts'
import type { RelPath } from '../values.ts'

/**
 * New names, with the name under which the file was accepted. With another file under the old name there is none: then
 * it cannot be told what belongs to which, and each path is looked at by itself.
 */
export function oldNames(
  pending: ReadonlyMap<RelPath, PendingPath>,
  now: (path: RelPath) => Entry,
): ReadonlyMap<RelPath, RelPath> {
  const names = new Map<RelPath, RelPath>()
  const taken = new Set<RelPath>()
  for (const [path, { baseline, from }] of pending) {
    if (from === undefined || baseline !== undefined || taken.has(from)) continue
    if (pending.get(from)?.baseline === undefined || now(from) !== undefined) continue
    names.set(path, from)
    taken.add(from)
  }
  return names
}
