/**
 * `@unturn/core`: the engine. Open a workspace, record what an agent does in turns and steps, and take it back.
 *
 * ```ts
 * await using workspace = await openWorkspace('.')
 * const { turn } = await workspace.beginTurn({ session, agent: 'my-agent', prompt: 'Tidy up' })
 * const { step } = await workspace.beginStep({ turn, tool: 'shell', paths: [] })
 * // … the agent works …
 * await workspace.endStep(step)
 * await workspace.endTurn(turn)
 * await workspace.undo({ session })
 * ```
 */

export {
  bytesOfText,
  type FailureCode,
  type Failures,
  isFailure,
  shown,
  textOfBytes,
  UnturnError,
  visible,
} from './errors.ts'
export type { BlamedLine } from './history/blame.ts'
export type { Cleaned } from './history/cleanup.ts'
export type { Finding } from './history/doctor.ts'
export { conflictsError, type OnConflict } from './history/enact.ts'
export type { Progress } from './history/engine.ts'
export type { MoveWish, RedoWish, RestoreWish, UndoWish } from './history/moves.ts'
export type { BranchOutcome, Conflict, FileOutcome, NotUndone, Outcome } from './history/outcome.ts'
export type { StepWish, TurnEnd, TurnWish, UserCapture } from './history/recording.ts'
export {
  type Resolved,
  resolveAny,
  resolveChange,
  resolveOperation,
  resolveSession,
  resolveStep,
  resolveTurn,
} from './history/resolve.ts'
export type { RollbackWish, Selection } from './history/rollback.ts'
export {
  type PatchOptions,
  patchBetween,
  patchOfOperations,
  patchOfTurn,
  type SessionView,
  type StatusView,
  type StoreSize,
  spanOf,
  statusOf,
  stepsOf,
  type TurnView,
  turnViews,
} from './history/views.ts'
export { asUnturnError, changeJson, conflictJson, errorJson, outcomeJson, skippedJson } from './json.ts'
export type { ChangeSelection } from './log/index-db.ts'
export type { OperationKind, OperationRecord, Point, TurnStatus } from './log/record.ts'
export type { ChangeRow, Operation, SessionRow, StepRow, TurnRow } from './log/rows.ts'
export type { Repacked } from './store/repack.ts'
export type {
  AbsPath,
  ByteString,
  ChangeId,
  OpId,
  RelPath,
  SessionId,
  Skipped,
  Snapshot,
  StepId,
  TurnId,
} from './values.ts'
export { bytesPath, locate, relPathFrom, storeHome } from './workspace/locate.ts'
export { findWorkspace, lastActiveSession, type OpenOptions, openWorkspace, Workspace } from './workspace.ts'
