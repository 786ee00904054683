/** What a review says to programs: the command line's JSON, the server's, and the library's are this. */

import { textOfBytes, UnturnError } from '../errors.ts'
import type { Engine } from '../history/engine.ts'
import { conflictJson, fileJson } from '../json.ts'
import { optional } from '../log/record.ts'
import type { Entry, Proposal, Rejection } from '../log/review-record.ts'
import { agentOf, fits, type HunkSelection } from '../review/choose.ts'
import { type ShownLine, unifiedHunk } from '../review/hunks.ts'
import type { Hunk, PendingFile } from '../review/pending.ts'
import type { ReviewView } from '../review/review.ts'
import type { Decided } from '../review/standing.ts'
import type { OpId, SessionId, TurnId } from '../values.ts'
import type { ConflictResult, FileResult } from './words.ts'

/** One line of a hunk, as in a unified diff. */
export interface ReviewLine {
  readonly kind: ' ' | '-' | '+'
  /** With its line ending, where it has one. */
  readonly text: string
  /** Its number in the accepted text, counted from 1. */
  readonly oldLine?: number
  /** Its number in the file, or in what the file would be with the proposal. */
  readonly newLine?: number
}

/** One block that can be accepted or rejected alone. */
export interface ReviewHunk {
  /** Of its content: an id whose text has changed since names nothing, and is refused. */
  readonly id: string
  readonly kind: Hunk['kind']
  /** Somebody else has edited inside it: deciding against them is a conflict. */
  readonly contested: boolean
  readonly turns: readonly TurnId[]
  readonly agents: readonly string[]
  readonly additions: number
  readonly deletions: number
  /** Where `lines` stand, as in `@@ -oldStart,oldLines +newStart,newLines @@`; all 0 where there are no lines. */
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  readonly lines: readonly ReviewLine[]
  readonly group?: string
  /** Not on disk: part of this proposal. */
  readonly proposal?: string
  /** For a rename: the old name. */
  readonly from?: string
  /** For a change of permission bits: both, in octal. */
  readonly oldMode?: string
  readonly newMode?: string
}

export interface ReviewFile {
  readonly path: string
  /** The name under which it was accepted, when the agent has renamed it. */
  readonly from?: string
  readonly additions: number
  readonly deletions: number
  /** Nothing of this is on disk: it is what this proposal offers. */
  readonly proposal?: string
  readonly hunks: readonly ReviewHunk[]
}

/** A change that is offered and not on disk. */
export interface ProposalResult {
  readonly id: string
  readonly turn: TurnId
  readonly agent: string | null
  readonly path: string
  /** What accepting it does to the path. */
  readonly action: 'create' | 'modify' | 'delete'
  readonly group?: string
  readonly contested: boolean
  readonly additions: number
  readonly deletions: number
  readonly hunks: readonly string[]
  /** ISO 8601. */
  readonly at: string
}

/** A hunk that was rejected, in a form that can be handed to the agent. */
export interface RejectionResult {
  readonly hunk: string
  readonly path: string
  readonly comment?: string
  readonly turns: readonly TurnId[]
  readonly removed: string
  readonly added: string
  /** ISO 8601. */
  readonly at: string
}

/** What is pending in a session. */
export interface ReviewResult {
  readonly session: SessionId | null
  /** How many hunks. */
  readonly pending: number
  readonly files: readonly ReviewFile[]
  readonly proposals: readonly ProposalResult[]
  readonly rejected: readonly RejectionResult[]
}

/** What an `accept` or a `reject` has done or would do. */
export interface DecisionResult {
  /** The last of `ops`; absent in a plan, and where nothing was changed. `rollback` takes it back. */
  readonly op?: OpId
  readonly ops: readonly OpId[]
  /** Ids of the hunks that were decided. */
  readonly hunks: readonly string[]
  readonly files: readonly FileResult[]
  readonly conflicts: readonly ConflictResult[]
  /** How many hunks are pending now. */
  readonly pending: number
  /** For a plan: the difference that it would make to the files, as a unified diff. */
  readonly patch?: string
}

export const nothingPending: ReviewResult = {
  session: null,
  pending: 0,
  files: [],
  proposals: [],
  rejected: [],
}

export function reviewJson(engine: Engine, view: ReviewView): ReviewResult {
  return {
    session: view.session,
    pending: view.files.reduce((count, { hunks }) => count + hunks.length, 0),
    files: view.files.map((file) => reviewFileJson(engine, file)),
    proposals: view.proposals.map((proposal) => proposalJson(engine, view, proposal)),
    rejected: view.rejections.map(rejectionJson),
  }
}

/** Only what a selection says; what was rejected is there all the same. */
export function narrowedReview(
  engine: Engine,
  view: ReviewView,
  selection: Omit<HunkSelection, 'hunks'>,
): ReviewView {
  const files = view.files.flatMap((file) => {
    const hunks = file.hunks.filter((hunk) => fits(engine, selection, file, hunk))
    return hunks.length === 0 ? [] : [{ ...file, hunks }]
  })
  const open = new Set(files.flatMap(({ proposal }) => proposal?.id ?? []))
  return { ...view, files, proposals: view.proposals.filter(({ id }) => open.has(id)) }
}

export function reviewFileJson(engine: Engine, file: PendingFile): ReviewFile {
  const sum = (of: 'additions' | 'deletions') => file.hunks.reduce((count, hunk) => count + hunk[of], 0)
  return {
    path: textOfBytes(file.path),
    ...optional('from', file.from === undefined ? undefined : textOfBytes(file.from)),
    additions: sum('additions'),
    deletions: sum('deletions'),
    ...optional('proposal', file.proposal?.id),
    hunks: file.hunks.map((hunk) => hunkJson(engine, file, hunk)),
  }
}

function hunkJson(engine: Engine, file: PendingFile, hunk: Hunk): ReviewHunk {
  const { id, kind, contested, turns, additions, deletions, group, proposal, from } = hunk
  const agents = new Set(turns.flatMap((turn) => agentOf(engine, turn) ?? []))
  return {
    id,
    kind,
    contested,
    turns,
    agents: [...agents],
    additions,
    deletions,
    ...placeOf(linesOf(file, hunk), hunk),
    ...optional('group', group),
    ...optional('proposal', proposal),
    ...optional('from', from === undefined ? undefined : textOfBytes(from)),
    ...(kind === 'mode' ? modesOf(file) : {}),
  }
}

function modesOf({ baseline, current }: PendingFile): Pick<ReviewHunk, 'oldMode' | 'newMode'> {
  const octal = (entry: Entry) => (entry?.kind === 'file' ? entry.perm.toString(8) : undefined)
  return { ...optional('oldMode', octal(baseline)), ...optional('newMode', octal(current)) }
}

function linesOf({ old = [], fresh = [] }: PendingFile, { kind, edit }: Hunk): readonly ShownLine[] {
  if (edit !== undefined) return unifiedHunk(old, fresh, edit).lines
  const isWhole = kind === 'create' || kind === 'delete' || kind === 'link' || kind === 'type'
  return isWhole ? wholeLines(old, fresh) : []
}

// A file that came or went has nothing around it.
function wholeLines(old: readonly string[], fresh: readonly string[]): readonly ShownLine[] {
  return [
    ...old.map((text, i): ShownLine => ({ kind: '-', text, oldLine: i + 1 })),
    ...fresh.map((text, i): ShownLine => ({ kind: '+', text, newLine: i + 1 })),
  ]
}

function placeOf(
  lines: readonly ShownLine[],
  { edit }: Hunk,
): Pick<ReviewHunk, 'oldStart' | 'oldLines' | 'newStart' | 'newLines' | 'lines'> {
  const olds = lines.flatMap(({ oldLine }) => oldLine ?? [])
  const news = lines.flatMap(({ newLine }) => newLine ?? [])
  return {
    // As in `diff -u`: an empty range names the line before it.
    oldStart: olds[0] ?? edit?.start ?? 0,
    oldLines: olds.length,
    newStart: news[0] ?? edit?.from ?? 0,
    newLines: news.length,
    lines: lines.map((line) => ({ ...line, text: textOfBytes(line.text) })),
  }
}

function proposalJson(engine: Engine, { files }: ReviewView, proposal: Proposal): ProposalResult {
  const { id, turn, path, base, content, group, atMs } = proposal
  const hunks = files.filter((file) => file.proposal?.id === id).flatMap((file) => file.hunks)
  const sum = (of: 'additions' | 'deletions') => hunks.reduce((count, hunk) => count + hunk[of], 0)
  return {
    id,
    turn,
    agent: agentOf(engine, turn) ?? null,
    path: textOfBytes(path),
    action: content === undefined ? 'delete' : base === undefined ? 'create' : 'modify',
    ...optional('group', group),
    contested: hunks.some(({ contested }) => contested),
    additions: sum('additions'),
    deletions: sum('deletions'),
    hunks: hunks.map((hunk) => hunk.id),
    at: new Date(atMs).toISOString(),
  }
}

function rejectionJson({ hunk, path, comment, turns, removed, added, atMs }: Rejection): RejectionResult {
  return {
    hunk,
    path: textOfBytes(path),
    ...optional('comment', comment),
    turns,
    removed: textOfBytes(removed),
    added: textOfBytes(added),
    at: new Date(atMs).toISOString(),
  }
}

export function decisionJson(decided: Decided): DecisionResult {
  return {
    ...optional('op', decided.ops.at(-1)),
    ops: decided.ops,
    hunks: decided.hunks.map(({ id }) => id),
    files: decided.files.map(fileJson),
    conflicts: decided.conflicts.map(conflictJson),
    pending: decided.pending,
    ...optional('patch', decided.patch),
  }
}

/** A decision that stopped at somebody's newer text, as the error of a face that cannot ask. */
export function decisionConflicts(verb: 'accept' | 'reject', decided: Decided): UnturnError {
  const { op: _, ...rest } = decisionJson(decided)
  const files = decided.conflicts.length === 1 ? 'one file' : `${decided.conflicts.length} files`
  return new UnturnError(
    'conflicts',
    { decision: verb, ...rest },
    verb === 'reject'
      ? {
          message: `You have edited inside of what was to be rejected, in ${files}. Nothing was changed.`,
          hint: 'Choose with --on-conflict: keep (leave these hunks pending, reject the rest), overwrite (take the old text; yours stays recoverable), or markers (write both into the file). Accepting such a hunk keeps your text.',
        }
      : {
          message: `What was proposed for ${files} overlaps with what was written there since. Nothing was changed.`,
          hint: 'Choose with --on-conflict: keep (leave these proposals pending, accept the rest), overwrite (take what was proposed; yours stays recoverable), or markers (write both into the file).',
        },
  )
}
