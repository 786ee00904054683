/** Points in time that the slider goes through: before the first turn, and after each turn and each edit of the user's. */

import type { Known } from './tree.ts'

export interface Moment {
  readonly key: string
  /** For the server: a turn or an operation. */
  readonly at: string
  readonly side: 'before' | 'after'
  readonly seq: number
  readonly time: string
  readonly what: string
  /** Where a turn is meant: for going back there. */
  readonly turn?: string
}

export function momentsOf({ turns, userEdits }: Known): readonly Moment[] {
  const first = turns[0]
  if (first === undefined) return []
  const moments: Moment[] = [
    ...turns.map(({ id, seq, began, ended, prompt }) => ({
      key: id,
      at: id,
      side: 'after' as const,
      seq,
      time: ended ?? began,
      what: `after “${(prompt ?? 'no prompt').trim().split('\n', 1)[0]}”`,
      turn: id,
    })),
    ...userEdits.map(({ op, seq, at }) => ({
      key: op,
      at: op,
      side: 'after' as const,
      seq,
      time: at,
      what: 'after your own edit',
    })),
  ].sort((a, b) => a.seq - b.seq)
  const start: Moment = {
    key: 'start',
    at: first.id,
    side: 'before',
    seq: 0,
    time: first.began,
    what: 'before the first turn',
    turn: first.id,
  }
  return [start, ...moments]
}
