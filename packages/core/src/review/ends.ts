/** Both ends of a move of the baseline, at one path, and the way back. */

import { optional } from '../log/record.ts'
import type { Ends, Entry, PendingPath } from '../log/review-record.ts'
import { type Contents, carriedOn, mergeEntries } from './contents.ts'

/** A path at one moment: what is known of it in the review, and the file. */
export interface Moment {
  readonly pending: PendingPath | undefined
  readonly file: Entry
}

export function endsBetween(was: Moment, is: Moment): Ends {
  const isMixed = was.pending?.undisputed !== undefined || is.pending?.undisputed !== undefined
  const { from, alone } = was.pending ?? {}
  return {
    before: baselineIn(was),
    after: baselineIn(is),
    ...optional('agents', isMixed ? { before: agentsIn(was), after: agentsIn(is) } : undefined),
    ...optional('renamed', from === undefined ? undefined : { from, ...optional('alone', alone) }),
    ...optional('formerly', was.pending?.formerly ?? is.pending?.formerly),
  }
}

// Where nothing is pending, baseline and file are the same.
function baselineIn({ pending, file }: Moment): Entry {
  return pending === undefined ? file : pending.baseline
}

function agentsIn({ pending, file }: Moment): Entry {
  return pending?.undisputed === undefined ? file : pending.undisputed.entry
}

/**
 * The path as it was before the move, with what has happened since kept. That the user had edited inside comes back with
 * the hunk: else rejecting it the next time would take the user's text along.
 */
export function wentBack(
  contents: Contents,
  { before, after, agents, renamed }: Ends,
  now: Moment,
  file: Entry,
): { readonly pending: PendingPath; readonly overlaps: boolean } {
  const { entry, overlaps } = mergeEntries(contents, after, baselineIn(now), before)
  const { undisputed, from = renamed?.from, alone, formerly } = now.pending ?? {}
  const own =
    agents !== undefined
      ? mergeEntries(contents, agents.after, agentsIn(now), agents.before, 'theirs').entry
      : undisputed !== undefined
        ? carriedOn(contents, now.file, undisputed.entry, file)
        : file
  const pending: PendingPath = {
    baseline: entry,
    ...optional('from', from),
    ...optional('alone', renamed?.alone ?? alone),
    ...optional('formerly', from === undefined ? formerly : undefined),
    undisputed: { entry: own },
  }
  return { pending, overlaps }
}
