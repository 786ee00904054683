/**
 * What sessions, turns and snapshots need of the workspace that they belong to: the engine to read from, and the operations
 * that change something, each of which takes the lock. The front door is what stands behind it; api/ does not know that one.
 */

import type { Cleaned } from '../history/cleanup.ts'
import type { Enacted } from '../history/enact.ts'
import type { Engine } from '../history/engine.ts'
import type { RedoWish, RestoreWish, UndoWish } from '../history/moves.ts'
import type { Outcome } from '../history/outcome.ts'
import type { ToldChange } from '../history/record-change.ts'
import type { StepWish, TurnEnd, TurnWish, UserCapture } from '../history/recording.ts'
import type { Limits } from '../history/retention.ts'
import type { RollbackWish } from '../history/rollback.ts'
import type { PathsOf, SnapshotWish } from '../history/to-snapshot.ts'
import type { IndexDb } from '../log/index-db.ts'
import type { TurnStatus } from '../log/record.ts'
import type { ChangeRow } from '../log/rows.ts'
import type { Proposed, ProposeWish } from '../review/proposals.ts'
import type { ReviewView } from '../review/review.ts'
import type { Decided, DecideWish } from '../review/standing.ts'
import type { Repacked } from '../store/repack.ts'
import type { AbsPath, SessionId, Snapshot, StepId, TurnId } from '../values.ts'

export interface WorkspacePort {
  readonly root: AbsPath
  readonly engine: Engine
  readonly index: IndexDb

  beginTurn(wish: TurnWish): Promise<{ readonly turn: TurnId }>
  beginStep(wish: StepWish): Promise<{ readonly step: StepId }>
  endStep(step: StepId): Promise<readonly ChangeRow[]>
  endTurn(turn: TurnId, status?: TurnStatus): Promise<TurnEnd>
  recordChange(told: ToldChange): Promise<readonly ChangeRow[]>
  capture(label?: string): Promise<UserCapture>

  undo(wish: UndoWish): Promise<Outcome>
  redo(wish: RedoWish): Promise<Outcome>
  restore(wish: RestoreWish): Promise<Outcome>
  rollback(wish: RollbackWish): Promise<Outcome>
  restoreSnapshot(snapshot: Snapshot, wish?: SnapshotWish): Promise<Enacted>
  revertPaths(reverts: readonly PathsOf[], wish?: SnapshotWish): Promise<Enacted>

  propose(wish: ProposeWish): Promise<Proposed>
  review(session: SessionId): Promise<ReviewView>
  accept(wish: DecideWish): Promise<Decided>
  reject(wish: DecideWish): Promise<Decided>
  countPending(session: SessionId): Promise<number>

  cleanup(session: SessionId): Promise<Cleaned>
  gc(limits?: Partial<Limits>): Promise<Repacked>
}
