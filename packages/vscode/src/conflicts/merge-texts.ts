/** What can be merged by hand, and what somebody made of it. Pure. */

import type { Conflict } from '@unturn/client'
import { mergeLines, splitLines, withMarkers } from '@unturn/core/text'

/** Three whole texts; null: not there. */
export interface Versions {
  readonly base: string | null
  readonly ours: string | null
  readonly theirs: string | null
}

// The server cuts off what is longer. A text that was cut must never become a file.
const mostBytes = 512 * 1024

const mergeable: ReadonlySet<string> = new Set(['content', 'add-add', 'modify-delete'])

/** The three texts of a conflict, where all of them are there as a whole and nothing in them was lost on the way. */
export function versionsOf({ kind, versions }: Conflict): Versions | undefined {
  if (versions === undefined || !mergeable.has(kind)) return undefined
  const texts = [versions.base, versions.ours, versions.theirs].filter((text) => text !== null)
  // A byte that is no UTF-8 came as this sign, and would be written as it.
  const isWhole = texts.every((text) => Buffer.byteLength(text) <= mostBytes && !text.includes('\ufffd'))
  return isWhole ? versions : undefined
}

/** Merged as far as it goes, with markers where it does not: what the merge editor, or a plain one, begins with. */
export function startingText({ base, ours, theirs }: Versions, names: { readonly theirs: string }): string {
  const [b, o, t] = [base, ours, theirs].map((text) => splitLines(text ?? ''))
  return withMarkers(mergeLines(b ?? [], o ?? [], t ?? [], 'ours'), names.theirs).join('')
}

/** Whether somebody has left a conflict as it was. */
export function hasMarkers(text: string): boolean {
  return /^<{7} /m.test(text) && /^={7}\r?$/m.test(text) && /^>{7} /m.test(text)
}
