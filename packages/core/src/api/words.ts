/**
 * What the library says to people who build agents: the engine's answers with paths as text. A name that is not
 * UTF-8 has lone surrogates in it (see `textOfBytes`) and finds its file again when it is handed back.
 */

import { bytesOfText, isFailure, type UnturnError } from '../errors.ts'
import type { Enacted } from '../history/enact.ts'
import type { BranchOutcome, ConflictVersions, LaterAuthor, NotUndone, Outcome } from '../history/outcome.ts'
import { changeJson, conflictJson, fileJson, skippedJson } from '../json.ts'
import { type CommitNote, optional } from '../log/record.ts'
import type { ChangeRow } from '../log/rows.ts'
import type {
  AbsPath,
  ChangeId,
  ChangeKind,
  OpId,
  RelPath,
  SessionId,
  Skipped,
  StepId,
  TurnId,
} from '../values.ts'
import { relPathFrom } from '../workspace/locate.ts'

/** One file that one operation changed. */
export interface Change {
  readonly id: ChangeId
  readonly path: string
  readonly kind: ChangeKind
  /** Where a rename came from. */
  readonly from?: string
  readonly additions: number
  readonly deletions: number
  readonly binary: boolean
  /** `exact`: a tool named the path. `inferred`: it changed while one ran. `shared`: while several did. */
  readonly certainty: string
  /** The agent's name, `user`, or `unturn`. */
  readonly actor: string
  readonly agentId?: string
  readonly session: SessionId | null
  readonly turn: TurnId | null
  readonly step: StepId | null
  /** ISO 8601. */
  readonly at: string
}

/** What became, or would become, of one file. */
export interface FileResult {
  readonly path: string
  readonly action: 'write' | 'delete' | 'rename' | 'mode'
  readonly from?: string
  /** The content is made of both: the old version, and what came after it. */
  readonly merged: boolean
}

/** Where newer work and the old version overlap. */
export interface ConflictResult {
  readonly path: string
  readonly kind: string
  /** What stands there now; null: nothing. */
  readonly ours: string | null
  /** What would have come; null: the path would have gone. */
  readonly theirs: string | null
  readonly message: string
  readonly later: readonly LaterAuthor[]
  /** The whole of each side, where `sides` asked for it. */
  readonly versions?: ConflictVersions
}

/** A path that was not captured, and why. */
export interface SkippedResult {
  readonly path: string
  readonly reason: Skipped['reason']
  readonly size?: number
}

/**
 * What an undo, redo, restore or rollback has done or would do.
 *
 * - `done`: the files are changed, `op` names the operation; `session.rollback({ ops: [op] })` takes it back.
 * - `planned`: nothing was changed; this is what would be.
 * - `conflicts`: nothing was changed, because newer work overlaps; say `onConflict` to decide.
 * - `nothing`: there is nothing to undo, redo or roll back. An answer, not a failure; `message` says it in words.
 */
export interface MoveResult {
  readonly kind: 'done' | 'planned' | 'conflicts' | 'nothing'
  readonly op: OpId | null
  /** The turn that the session stands at now. */
  readonly head: TurnId | null
  readonly files: readonly FileResult[]
  readonly conflicts: readonly ConflictResult[]
  /** Turns that were taken out, newest first. */
  readonly reverted: readonly TurnId[]
  /** Turns that were brought back, oldest first. */
  readonly redone: readonly TurnId[]
  /** The prompt of the oldest turn taken out, for editing. */
  readonly prompt?: string
  /** What could not be taken back. */
  readonly notUndone: {
    readonly commands: readonly string[]
    readonly commits: readonly CommitNote[]
    readonly skipped: readonly SkippedResult[]
    /** The turns left another branch checked out than they found; null: a detached HEAD. */
    readonly branch?: NonNullable<NotUndone['branch']>
  }
  /** What became of the user's branch, where it was to be moved, too. */
  readonly git?: BranchOutcome
  /** For a plan: the difference that it would make, as a unified diff. */
  readonly patch?: string
  /** For `nothing`: why. */
  readonly message?: string
}

export function changeOf(row: ChangeRow): Change {
  return changeJson(row)
}

export function resultOf(outcome: Outcome): MoveResult {
  return {
    kind: outcome.kind,
    op: outcome.op ?? null,
    head: outcome.head,
    files: outcome.files.map(fileJson),
    conflicts: outcome.conflicts.map(conflictJson),
    reverted: outcome.reverted,
    redone: outcome.redone,
    ...optional('prompt', outcome.prompt),
    notUndone: { ...outcome.notUndone, skipped: outcome.notUndone.skipped.map(skippedJson) },
    ...optional('git', outcome.git),
    ...optional('patch', outcome.patch),
  }
}

const nothingElse = {
  head: null,
  reverted: [],
  redone: [],
  notUndone: { commands: [], commits: [], skipped: [] },
} as const

/** For operations that belong to no session. */
export function resultOfEnacted(enacted: Enacted): MoveResult {
  return resultOf({ ...nothingElse, ...enacted })
}

/** Nothing to undo, redo or roll back is a plain answer in the library. */
export async function orNothing(head: TurnId | null, work: () => Promise<Outcome>): Promise<MoveResult> {
  try {
    return resultOf(await work())
  } catch (error) {
    if (!isNothing(error)) throw error
    return nothing(head, error.message)
  }
}

export function nothing(head: TurnId | null, message: string): MoveResult {
  return { ...nothingElse, kind: 'nothing', op: null, head, files: [], conflicts: [], message }
}

function isNothing(error: unknown): error is UnturnError {
  return (
    isFailure(error, 'nothing-to-undo') ||
    isFailure(error, 'nothing-to-redo') ||
    isFailure(error, 'nothing-to-roll-back')
  )
}

/** A path as somebody gave it, relative to the workspace or absolute; refuses what lies outside. */
export function relPathOf(root: AbsPath, path: string): RelPath {
  return relPathFrom(root, root, bytesOfText(path))
}
