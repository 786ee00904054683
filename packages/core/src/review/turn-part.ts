/** The part of a hunk that some of its turns made, where several turns have worked on the same block. */

import { shown, UnturnError } from '../errors.ts'
import type { Engine } from '../history/engine.ts'
import type { Entry } from '../log/review-record.ts'
import type { Operation } from '../log/rows.ts'
import type { TurnId } from '../values.ts'
import { mergeEntries, sameEntry } from './contents.ts'
import type { Chosen } from './decide.ts'
import type { Folded } from './fold.ts'
import { applyEdits, diffLines, type Edit } from './lines.ts'
import { entryUnder, historyOf } from './origins.ts'
import type { Hunk, PendingFile } from './pending.ts'

/** What accepting or rejecting some turns' part of a hunk makes of the hunk's place. */
export function partOfTurns(
  engine: Engine,
  folded: Folded,
  file: PendingFile,
  hunk: Hunk,
  turns: readonly TurnId[],
  way: 'accept' | 'reject',
): Chosen {
  const { old = [], fresh = [] } = file
  const { edit } = hunk
  const others = hunk.turns.filter((turn) => !turns.includes(turn))
  if (hunk.kind === 'rename' || hunk.kind === 'mode') throw entangled(file, others)
  const operations = turns
    .flatMap((turn) => engine.log.index.stepOperations(turn))
    .sort((a, b) => a.record.seq - b.record.seq)
  const entry =
    way === 'accept'
      ? through(engine, folded, file, operations, 'in', file.baseline)
      : through(engine, folded, file, operations.toReversed(), 'out', file.current)
  if (entry === 'overlaps') throw entangled(file, others)
  if (edit === undefined) return { hunk, whole: { entry } }
  const lines = folded.contents.lines(entry)
  const part =
    way === 'accept' ? within(old, lines, edit.start, edit.end) : within(fresh, lines, edit.from, edit.to)
  if (part === undefined) throw entangled(file, others)
  return { hunk, part }
}

/** The file with what these operations did brought in, or taken out; `overlaps` where others' work overlaps it. */
function through(
  engine: Engine,
  { contents }: Folded,
  file: PendingFile,
  operations: readonly Operation[],
  way: 'in' | 'out',
  start: Entry,
): Entry | 'overlaps' {
  const { names } = historyOf(engine, file.path)
  let entry = start
  for (const { before, after } of operations) {
    const [was, is] = [before, after].map((snapshot) => entryUnder(engine, names, snapshot))
    if (sameEntry(was, is)) continue
    const [base, theirs] = way === 'in' ? [was, is] : [is, was]
    const merged = mergeEntries(contents, base, entry, theirs)
    if (merged.overlaps) return 'overlaps'
    entry = merged.entry
  }
  return entry
}

/** What the lines [from, to) became. Undefined: a change reaches over their edges, so that nobody can tell. */
function within(
  lines: readonly string[],
  next: readonly string[] | undefined,
  from: number,
  to: number,
): readonly string[] | undefined {
  if (next === undefined) return undefined
  const inside: Edit[] = []
  for (const edit of diffLines(lines, next)) {
    if (edit.end < from || edit.start > to) continue
    if (edit.start < from || edit.end > to) return undefined
    inside.push({ ...edit, start: edit.start - from, end: edit.end - from })
  }
  return applyEdits(lines.slice(from, to), next, inside)
}

function entangled({ path }: PendingFile, others: readonly TurnId[]): UnturnError {
  const conflict = {
    path,
    kind: 'content',
    ours: null,
    theirs: null,
    message: `${shown(path)}: turn ${others.join(', ')} has changed the same lines.`,
    later: others.map((turn) => ({ turn })),
  }
  return new UnturnError(
    'conflicts',
    { conflicts: [conflict] },
    {
      message: `In ${shown(path)} several turns have changed the same lines, and they cannot be told apart. Nothing was changed.`,
      hint: 'Decide on the hunk by its id, or on all of its turns together.',
    },
  )
}
