/**
 * `@unturn/core`: the engine. Open a workspace, record what an agent does in turns and steps, and take it back.
 *
 * ```ts
 * await using workspace = await openWorkspace('.')
 * const session = workspace.session('chat-1', { agent: 'my-agent' })
 * const turn = await session.begin({ prompt: 'Tidy up' })
 * await turn.step({ tool: 'edit', paths: ['notes.txt'] }, () => writeFile('notes.txt', 'tidy'))
 * await turn.end()
 * await session.undo()
 * ```
 *
 * docs/library.md tells the rest. In `session`, `turn`, `snapshots`, events and the tracker paths are text; where a
 * type says `RelPath`, a path is bytes (`textOfBytes` makes text of it).
 */

export type {
  EventName,
  EventOf,
  EventOptions,
  Events,
  FileDiff,
  Listener,
  WorkspaceEvent,
} from './api/events.ts'
export {
  type ChangeFilter,
  type ChangeMetadata,
  type Content,
  FileChangeTracker,
  type FileOperation,
  type RollbackOptions,
  type TrackedChange,
  type TrackerEvents,
} from './api/file-change-tracker.ts'
export { Plan } from './api/plan.ts'
export {
  type DecisionResult,
  decisionConflicts,
  decisionJson,
  narrowedReview,
  nothingPending,
  type ProposalResult,
  type RejectionResult,
  type ReviewFile,
  type ReviewHunk,
  type ReviewLine,
  type ReviewResult,
  reviewFileJson,
  reviewJson,
} from './api/review-words.ts'
export {
  type BeginOptions,
  type ConflictOptions,
  type DecideOptions,
  type Decision,
  type Head,
  type MessageOptions,
  type MoveOptions,
  type PlannedDecideOptions,
  type RedoOptions,
  type RestoreOptions,
  type Reverted,
  type ReviewSelection,
  type RollbackSelection,
  type RunningTurn,
  Session,
  type SessionOptions,
  type TurnInfo,
  type UndoOptions,
} from './api/session.ts'
export {
  type Capture,
  type FullDiff,
  type GcOptions,
  type SnapshotFilter,
  type SnapshotHash,
  type SnapshotInfo,
  type SnapshotMove,
  type SnapshotPatch,
  Snapshots,
} from './api/snapshots.ts'
export { type ProposeOptions, type StepOptions, type StepResult, Turn, type TurnResult } from './api/turn.ts'
export type { Change, ConflictResult, FileResult, MoveResult, SkippedResult } from './api/words.ts'
export type { WorkspacePort } from './api/workspace-port.ts'
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
export type { BlamedLine, BlameOptions } from './history/blame.ts'
export type { Cleaned } from './history/cleanup.ts'
export type { Finding } from './history/doctor.ts'
export {
  type ConflictWish,
  conflictsError,
  type Enacted,
  type OnConflict,
  type Planned,
} from './history/enact.ts'
export type { FileWatch, Progress, WatchedLook } from './history/engine.ts'
export type { MoveWish, PlannedMove, RedoWish, RestoreWish, UndoWish } from './history/moves.ts'
export type {
  BranchOutcome,
  Conflict,
  ConflictVersions,
  FileOutcome,
  LaterAuthor,
  NotUndone,
  Outcome,
} from './history/outcome.ts'
export {
  listFilesAt,
  listFolderAt,
  type PastEntry,
  type PastFile,
  readFileAt,
  snapshotAt,
} from './history/past.ts'
export type { ToldChange, ToldShare } from './history/record-change.ts'
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
export {
  defaultLimits,
  type Limits,
  type RetentionPlan,
  type SessionFacts,
  type SessionSize,
} from './history/retention.ts'
export type { RollbackWish, Selection } from './history/rollback.ts'
export type { PathsOf, SnapshotWish } from './history/to-snapshot.ts'
export {
  ignoredFolders,
  type PatchOptions,
  patchBetween,
  patchOfOperations,
  patchOfTurn,
  type SessionView,
  type StatusView,
  type StoreSize,
  sessionViewOf,
  spanOf,
  statusOf,
  stepsOf,
  type TurnView,
  turnViewOf,
  turnViews,
} from './history/views.ts'
export type { WentBack } from './history/went-back.ts'
export { asUnturnError, changeJson, conflictJson, errorJson, outcomeJson, skippedJson } from './json.ts'
export { type KnownWorkspace, knownWorkspaces, workspaceId } from './known-workspaces.ts'
export type { ChangeSelection, CountedOperation, OperationFilter, TurnTotals } from './log/index-db.ts'
export { type LockOptions, StoreLock } from './log/lock.ts'
export type { CommitNote, OperationKind, OperationRecord, Point, TurnStatus } from './log/record.ts'
export type { Proposal, Rejection } from './log/review-record.ts'
export type { ChangeRow, Operation, SessionRow, StepRow, TurnRow } from './log/rows.ts'
export { adoptHistory, lostWorkspaces } from './moved-workspaces.ts'
export type { HunkSelection } from './review/choose.ts'
export type { Hunk, HunkKind, PendingFile } from './review/pending.ts'
export type { Proposed, ProposeWish } from './review/proposals.ts'
export type { PendingSide, ReviewOptions, ReviewView } from './review/review.ts'
export type { Decided, DecideWish } from './review/standing.ts'
export { type Span, type WordDiff, wordDiff } from './review/words-diff.ts'
export type { Repacked } from './store/repack.ts'
export type {
  AbsPath,
  ByteString,
  ChangeId,
  ChangeKind,
  OpId,
  RelPath,
  SessionId,
  Skipped,
  Snapshot,
  StepId,
  TurnId,
} from './values.ts'
export { bytesPath, locate, relPathFrom, storeHome } from './workspace/locate.ts'
export type { DirtyFolders } from './workspace/scan.ts'
export {
  type Collected,
  findWorkspace,
  lastActiveSession,
  type OpenOptions,
  openWorkspace,
  type Purged,
  Workspace,
  workspaceAt,
} from './workspace.ts'
