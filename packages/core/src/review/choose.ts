/** From what somebody typed or clicked to hunks. What is no longer there is refused: it never hits another block. */

import { UnturnError } from '../errors.ts'
import type { Engine } from '../history/engine.ts'
import type { RelPath, SessionId, TurnId } from '../values.ts'
import type { Chosen } from './decide.ts'
import type { Folded } from './fold.ts'
import { chooseLines, isShortFor, parseHunkName, partOf } from './hunks.ts'
import type { Hunk, PendingFile } from './pending.ts'
import { partOfTurns } from './turn-part.ts'

/** Which hunks. Several kinds narrow each other, repeats of one kind add up; nothing at all is everything. */
export interface HunkSelection {
  /** Ids, or unique beginnings of them; `ID:2-4,7` means some lines of a hunk. */
  readonly hunks?: readonly string[]
  /** Files, or folders with everything below. */
  readonly paths?: readonly RelPath[]
  readonly turns?: readonly TurnId[]
  readonly agents?: readonly string[]
  /** Proposals that were made as one group. */
  readonly groups?: readonly string[]
  readonly proposals?: readonly string[]
}

export interface ChosenFile {
  readonly file: PendingFile
  readonly chosen: readonly Chosen[]
}

export function chooseHunks(
  engine: Engine,
  folded: Folded,
  files: readonly PendingFile[],
  selection: HunkSelection,
  way: 'accept' | 'reject',
): readonly ChosenFile[] {
  const named = (selection.hunks ?? []).map((typed) => findHunk(files, typed))
  const isChosen = (file: PendingFile, hunk: Hunk): boolean =>
    (named.length === 0 || named.some((one) => one.hunk === hunk)) && fits(engine, selection, file, hunk)
  const all = files.map((file): ChosenFile => {
    const hunks = file.hunks.filter((hunk) => isChosen(file, hunk))
    return { file, chosen: hunks.map((hunk) => withPart(engine, folded, file, hunk, named, selection, way)) }
  })
  const chosen = all.filter((one) => one.chosen.length > 0)
  if (chosen.length === 0) throw nothingToReview(folded.session)
  return chosen
}

/** Whether a hunk is what a selection says, names of hunks aside. */
export function fits(
  engine: Engine,
  selection: Omit<HunkSelection, 'hunks'>,
  file: PendingFile,
  hunk: Hunk,
): boolean {
  return (
    any(selection.paths, (path) => isAt(file, path)) &&
    any(selection.turns, (turn) => hunk.turns.includes(turn)) &&
    any(selection.agents, (agent) => hunk.turns.some((turn) => agentOf(engine, turn) === agent)) &&
    any(selection.groups, (group) => hunk.group === group) &&
    any(selection.proposals, (id) => hunk.proposal === id)
  )
}

function any<T>(wanted: readonly T[] | undefined, fits: (one: T) => boolean): boolean {
  return wanted === undefined || wanted.length === 0 || wanted.some(fits)
}

function isAt({ path, from }: PendingFile, wanted: RelPath): boolean {
  return [path, from].some((at) => at !== undefined && (at === wanted || at.startsWith(`${wanted}/`)))
}

export function agentOf(engine: Engine, turn: TurnId): string | undefined {
  return engine.log.index.findTurn(turn)?.agent
}

interface Named {
  readonly hunk: Hunk
  readonly ranges?: readonly (readonly [number, number])[]
}

function findHunk(files: readonly PendingFile[], typed: string): Named {
  const { id, ranges } = parseHunkName(typed)
  const hunks = files.flatMap((file) => file.hunks)
  const found = hunks.filter((hunk) => hunk.id === id)
  const near = found.length > 0 ? found : hunks.filter((hunk) => isShortFor(id, hunk.id))
  const [hunk, second] = near
  if (hunk === undefined) throw hunkGone(id)
  if (second !== undefined) throw ambiguous(id, near)
  if (ranges !== undefined && hunk.edit === undefined) throw noLines(typed)
  return ranges === undefined ? { hunk } : { hunk, ranges }
}

function withPart(
  engine: Engine,
  folded: Folded,
  file: PendingFile,
  hunk: Hunk,
  named: readonly Named[],
  selection: HunkSelection,
  way: 'accept' | 'reject',
): Chosen {
  const { old = [], fresh = [] } = file
  const ranges = named.filter((one) => one.hunk === hunk).flatMap((one) => one.ranges ?? [])
  if (hunk.edit !== undefined && ranges.length > 0) {
    const { accepted, rejected } = partOf(old, fresh, hunk.edit, chooseLines(hunk.edit, ranges))
    return { hunk, part: way === 'accept' ? accepted : rejected }
  }
  const meant = hunk.turns.filter(
    (turn) =>
      any(selection.turns, (one) => one === turn) &&
      any(selection.agents, (agent) => agentOf(engine, turn) === agent),
  )
  if (meant.length === hunk.turns.length || hunk.proposal !== undefined) return { hunk }
  return partOfTurns(engine, folded, file, hunk, meant, way)
}

export function hunkGone(id: string): UnturnError {
  return new UnturnError(
    'hunk-gone',
    { hunks: [id] },
    {
      message: `There is no pending hunk ${id} (any more): it was decided, or its text has changed. Nothing was changed.`,
      hint: 'Run "unturn review" to see the hunks as they are now.',
    },
  )
}

function ambiguous(id: string, hunks: readonly Hunk[]): UnturnError {
  return new UnturnError(
    'ambiguous-id',
    { id, candidates: hunks.map((hunk) => hunk.id) },
    {
      message: `${id} is the beginning of several hunks' ids: ${hunks.map((hunk) => hunk.id).join(', ')}. Nothing was changed.`,
      hint: 'Write more of it.',
    },
  )
}

function noLines(typed: string): UnturnError {
  return new UnturnError(
    'bad-usage',
    { hunk: typed },
    {
      message: `${typed} names lines of a hunk that has none: it is about the file as a whole. Nothing was changed.`,
      hint: 'Leave out the part from the colon on.',
    },
  )
}

export function nothingToReview(session: SessionId): UnturnError {
  return new UnturnError(
    'nothing-to-review',
    { session },
    {
      message: 'No pending hunk matches. Nothing was changed.',
      hint: 'Run "unturn review" to see what is pending.',
    },
  )
}
