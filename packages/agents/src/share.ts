/** One file, two agents at it: which part of what stands there now is this call's own, by what the call says that it did. */

import type { Wrote } from './events.ts'

export interface Share {
  /** What the file was without this call. Absent: as it was known before. */
  readonly before?: string
  /** What this call made of it. */
  readonly after: string
}

/** `undefined`: it cannot be told, or there is nothing to tell apart. */
export function shareOf(now: string, { places, whole }: Wrote): Share | undefined {
  if (whole !== undefined) return whole === now ? undefined : { after: whole }
  if (places === undefined || places.length === 0) return undefined
  let before = now
  for (const { was, is } of places.toReversed()) {
    const at = before.indexOf(is)
    // What stands there twice, or not any more, cannot be put back for certain.
    if (is === '' || at < 0 || before.indexOf(is, at + 1) >= 0) return undefined
    before = before.slice(0, at) + was + before.slice(at + is.length)
  }
  return { before, after: now }
}
