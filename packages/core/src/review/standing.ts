/** Where a review stands, what somebody wants of it, and how his word gets into the log. */

import type { Engine } from '../history/engine.ts'
import type { Conflict, FileOutcome } from '../history/outcome.ts'
import { unknownId } from '../history/recording.ts'
import type { State } from '../history/snapshots.ts'
import { type Draft, optional } from '../log/record.ts'
import {
  type BaselineMove,
  type Ends,
  type KnownHunk,
  proposalMoves,
  type ReviewState,
  self,
  storeReview,
  trimmed,
} from '../log/review-record.ts'
import type { Objects } from '../store/objects.ts'
import type { Exclusive, OpId, RelPath, SessionId } from '../values.ts'
import type { HunkSelection } from './choose.ts'
import { sameEntry } from './contents.ts'
import type { ContestWish } from './decide.ts'
import { endsBetween } from './ends.ts'
import { entryAt, type Folded, foldReview, rememberReview } from './fold.ts'
import { withoutKnown } from './hunks.ts'
import { type Hunk, type PendingFile, pendingOf } from './pending.ts'

export interface DecideWish extends ContestWish {
  readonly session: SessionId
  readonly selection: HunkSelection
  readonly comment?: string
  readonly dryRun?: boolean
  /** For a rejection: files whose text somebody has made of both sides. Used only where the user has edited inside. */
  readonly results?: ReadonlyMap<RelPath, Uint8Array>
  /** Conflicts come with the whole of each side, where it is text. */
  readonly sides?: boolean
  /** Told what is about to be decided, before anything is; throwing here leaves everything as it is. */
  readonly onPlan?: (planned: Decided) => void
}

export interface Decided {
  readonly kind: 'done' | 'planned' | 'conflicts'
  /** Usually one; none for a plan, and where nothing was changed. */
  readonly ops: readonly OpId[]
  readonly hunks: readonly Hunk[]
  readonly files: readonly FileOutcome[]
  readonly conflicts: readonly Conflict[]
  readonly patch?: string
  /** How many hunks are pending now. */
  readonly pending: number
}

/** Thrown inside a composition; never leaves this folder. */
export class Contested extends Error {
  readonly conflicts: readonly Conflict[]
  constructor(conflicts: readonly Conflict[]) {
    super('contested')
    this.conflicts = conflicts
  }
}

export interface Standing {
  readonly folded: Folded
  readonly pending: readonly PendingFile[]
}

/** The review as of the last operation. */
export function standingOf(engine: Engine, session: SessionId): Standing {
  const folded = foldReview(engine, session)
  if (folded === undefined) throw unknownId(session, 'session')
  const { files: pending, state } = pendingOf(engine, folded)
  // Only with these numbers the ids of hunks that are alike stay the same.
  const isKnown = state.known.size === 0 && folded.state.known.size === 0
  if (!isKnown) rememberReview(engine, { ...folded, state })
  return { folded: { ...folded, state }, pending }
}

/** With what the decision did to the baseline written down, so that it can be taken back. */
export function decidedState(
  engine: Engine,
  { state: old, files }: Folded,
  state: ReviewState,
  hunks: readonly Hunk[],
  result: State,
  objects: Objects,
): ReviewState {
  const touched = new Set(hunks.flatMap((hunk) => [hunk.path, hunk.from]))
  const paths = new Map<RelPath, Ends>()
  for (const path of new Set([...old.pending.keys(), ...state.pending.keys()])) {
    const ends = endsBetween(
      { pending: old.pending.get(path), file: entryAt(engine.objects, files, path) },
      { pending: state.pending.get(path), file: entryAt(objects, result, path) },
    )
    if (touched.has(path) || !sameEntry(ends.before, ends.after)) paths.set(path, ends)
  }
  const known = new Map(state.known)
  const before = new Map<RelPath, readonly KnownHunk[]>()
  for (const { path, id } of hunks) {
    const entries = known.get(path)
    if (entries === undefined) continue
    before.set(path, old.known.get(path) ?? entries)
    known.set(path, withoutKnown(entries, id))
  }
  const rejected = state.rejections.filter((one) => !old.rejections.includes(one)).map(({ hunk }) => hunk)
  const move: BaselineMove = {
    ops: [self],
    way: 'in',
    paths,
    ...optional('proposals', proposalMoves(old.proposals, state.proposals)),
    ...optional('rejected', rejected.length === 0 ? undefined : rejected),
    ...optional('known', before.size === 0 ? undefined : before),
  }
  return trimmed({ ...state, known, moves: [...state.moves, move] })
}

/** A decision that changes no file. */
export function appendDecision(
  engine: Engine,
  { contents }: Folded,
  state: ReviewState,
  draft: Draft,
  lock: Exclusive,
): OpId {
  const last = engine.log.index.lastOperation()
  if (last === undefined) throw new Error('a decision needs a capture before it')
  const batch = engine.objects.newBatch()
  const tree = storeReview(batch, state, (blob) => contents.read(blob))
  const taken = { before: last.after, after: last.after, skipped: last.skipped, review: tree }
  const operation = engine.log.append(batch, { ...draft, git: engine.user.position() } as Draft, taken, lock)
  engine.log.index.describe(operation, [])
  return operation.record.id
}
