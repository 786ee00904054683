/** Undo, redo, restore: the head of a session moves in its tree of turns, and the files follow. */

import { UnturnError } from '../errors.ts'
import type { Draft, Point } from '../log/record.ts'
import { optional } from '../log/record.ts'
import { parseSkipped } from '../log/skipped-list.ts'
import type { Choices, MergeScratch } from '../store/merge.ts'
import { diffTrees } from '../store/trees.ts'
import type { BlobId, Exclusive, RelPath, SessionId, Snapshot, StepId, TurnId } from '../values.ts'
import { moveUserBranch } from './branch.ts'
import { capture } from './capture.ts'
import { bringIn, type Composition, composeFrom, takeOut, touchedPaths } from './compose.ts'
import { type ConflictWish, choicesOf, enact, type Planned } from './enact.ts'
import type { Engine } from './engine.ts'
import { notUndoneOf } from './not-undone.ts'
import { type LastKnown, stoodSkipped } from './observe.ts'
import type { Outcome } from './outcome.ts'
import { partWay } from './part-way.ts'
import {
  pathTo,
  pointAtStep,
  pointBack,
  pointForward,
  readTurnTree,
  type TurnTree,
  type Way,
  wayBetween,
} from './points.ts'
import { closeTurn, commitsSince, requireTurn, unknownId, whyRunning } from './recording.ts'
import { readState, type State, sameSnapshot } from './snapshots.ts'

export interface MoveWish extends ConflictWish {
  readonly session: SessionId
  readonly dryRun?: boolean
  /** Go ahead although a turn is running: it is closed as interrupted. */
  readonly evenIfRunning?: boolean
  /** Also move the user's branch back over commits that the undone turns made. */
  readonly git?: boolean
  /** Told what is about to be written, before a byte is; throwing here leaves everything as it is. */
  readonly onPlan?: (planned: PlannedMove) => void
}

/** Where the head would go, and what that does to the files. */
export interface PlannedMove extends Planned {
  readonly from: Point
  readonly to: Point
}

export interface UndoWish extends MoveWish {
  /** How many turns; 1 if nothing is said. */
  readonly turns?: number
  /** Everything from this turn on. */
  readonly to?: TurnId
}

export interface RedoWish extends MoveWish {
  readonly turns?: number
  readonly all?: boolean
}

export interface RestoreWish extends MoveWish {
  readonly turn: TurnId
  readonly side: 'before' | 'after'
  readonly step?: StepId
  /** The workspace exactly as it was then: later edits by anybody go, too, and stay recoverable. */
  readonly exact?: boolean
}

export async function undo(engine: Engine, wish: UndoWish, lock: Exclusive): Promise<Outcome> {
  const tree = await settledTree(engine, wish, lock)
  const to = wish.to === undefined ? pointBack(tree, wish.turns ?? 1) : pointBefore(engine, tree, wish.to)
  if (to === undefined) throw nothingToUndo(wish.session)
  return move(engine, 'undo', tree, to, wish, lock)
}

function pointBefore(engine: Engine, tree: TurnTree, id: TurnId): Point | undefined {
  const turn = requireTurn(engine, id)
  return pathTo(tree, tree.head).some((point) => point.turn === id) ? turn.parent : undefined
}

export async function redo(engine: Engine, wish: RedoWish, lock: Exclusive): Promise<Outcome> {
  const tree = await settledTree(engine, wish, lock)
  const to = pointForward(tree, wish.all === true ? Number.POSITIVE_INFINITY : (wish.turns ?? 1))
  if (to === undefined) throw nothingToRedo(wish.session)
  return move(engine, 'redo', tree, to, wish, lock)
}

export async function restore(engine: Engine, wish: RestoreWish, lock: Exclusive): Promise<Outcome> {
  const tree = await settledTree(engine, wish, lock)
  const turn = tree.turns.get(wish.turn)
  if (turn === undefined) throw unknownId(wish.turn, 'turn of this session')
  if (wish.step !== undefined && engine.log.index.findStep(wish.step)?.turn !== turn.id)
    throw unknownId(wish.step, 'step of this turn')
  const to =
    wish.step === undefined
      ? wish.side === 'after'
        ? { turn: turn.id }
        : turn.parent
      : pointAtStep(engine, turn, wish.step, wish.side)
  const exactly = wish.exact === true ? momentOf(engine, wish) : undefined
  return move(engine, 'restore', tree, to, { ...wish, ...optional('exactly', exactly) }, lock)
}

// R1: somebody at work is not undone under his hands; a turn that nobody works at any more is closed first.
async function settledTree(engine: Engine, wish: MoveWish, lock: Exclusive): Promise<TurnTree> {
  engine.log.requireSound(wish.session)
  for (const turn of engine.log.index.openTurns(wish.session)) {
    const why = whyRunning(engine, turn)
    if (why !== undefined && wish.evenIfRunning !== true) throw turnRunning(turn.id, why)
    // A plan must not end a turn that somebody works at: what it did so far is captured, and it goes on.
    if (why !== undefined && wish.dryRun === true) await capture(engine, {}, lock)
    else await closeTurn(engine, turn, 'interrupted', lock)
  }
  return withCommitsSoFar(engine, readTurnTree(engine, wish.session))
}

// The commits of a turn are in the log when it ends. A plan for one that goes on would leave them out.
async function withCommitsSoFar(engine: Engine, tree: TurnTree): Promise<TurnTree> {
  const turns = new Map(tree.turns)
  for (const turn of tree.turns.values()) {
    if (turn.status !== 'open') continue
    const commits = await commitsSince(engine, turn, engine.user.position().head)
    turns.set(turn.id, { ...turn, commits })
  }
  return { ...tree, turns }
}

async function move(
  engine: Engine,
  kind: 'undo' | 'redo' | 'restore',
  tree: TurnTree,
  to: Point,
  wish: MoveWish & { readonly exactly?: Moment },
  lock: Exclusive,
): Promise<Outcome> {
  const way = wayBetween(engine, tree, tree.head, to)
  const onConflict = choicesOf(wish)
  const { exactly } = wish
  const enacted = await enact(
    engine,
    {
      dryRun: wish.dryRun === true,
      onConflict,
      ...optional('sides', wish.sides),
      compose: (scratch, now) =>
        exactly === undefined
          ? follow(engine, scratch, now, way, onConflict)
          : goExactly(engine, scratch, now, way, exactly),
      draft: (composition): Draft => ({
        kind,
        session: tree.session,
        from: tree.head,
        to,
        stages: composition.stages,
        exact: exactly !== undefined,
        git: engine.user.position(),
      }),
      onPlan: (planned) => wish.onPlan?.({ ...planned, from: tree.head, to }),
      ...optional('paths', exactly === undefined ? pathsOn(engine, way) : undefined),
    },
    lock,
  )
  const moved = enacted.kind === 'done'
  const reverted = way.out.map((leg) => leg.turn).filter((turn) => turn !== to.turn)
  const git = wish.git === true && moved ? await moveUserBranch(engine, tree, way) : undefined
  return {
    ...enacted,
    head: moved || enacted.kind === 'planned' ? to.turn : tree.head.turn,
    reverted: enacted.kind === 'conflicts' ? [] : reverted,
    redone: enacted.kind === 'conflicts' ? [] : way.in.map((leg) => leg.turn),
    ...optional('prompt', promptToEdit(tree, reverted)),
    notUndone: notUndoneOf(engine, tree, way),
    ...optional('git', git),
  }
}

const mostNarrowPaths = 500

/** What the operations on the way have touched; undefined where looking at everything is as quick. */
function pathsOn(engine: Engine, way: Way): readonly RelPath[] | undefined {
  const paths = new Set<RelPath>()
  for (const { operations } of [...way.out, ...way.in]) {
    for (const operation of operations) for (const path of touchedPaths(engine, operation)) paths.add(path)
    if (paths.size > mostNarrowPaths) return undefined
  }
  return [...paths]
}

/** Moving over several turns is composed in tree space, turn by turn, and applied once. */
async function follow(
  engine: Engine,
  scratch: MergeScratch,
  now: LastKnown,
  way: Way,
  onConflict: Choices,
): Promise<Composition> {
  let so = composeFrom(now.state)
  for (const leg of way.out) so = await takeOut(engine, scratch, so, leg, onConflict)
  for (const leg of way.in) so = await bringIn(engine, scratch, so, leg, onConflict)
  return so
}

// The turns on the way are taken out one by one all the same, so that each can be redone alone later.
async function goExactly(
  engine: Engine,
  scratch: MergeScratch,
  now: LastKnown,
  way: Way,
  then: Moment,
): Promise<Composition> {
  const composed = await follow(engine, scratch, now, way, 'overwrite')
  const state = asThen(engine, scratch, composed.state, then)
  if (sameSnapshot(state.snapshot, composed.state.snapshot)) return { ...composed, conflicts: [] }
  const rest = { turn: null, way: 'out', ops: [] } as const
  return {
    state,
    stages: [...composed.stages, rest],
    states: [...composed.states, state],
    conflicts: [],
    merged: new Set(),
  }
}

// A path that stood there uncaptured is missing from the snapshot, and was not missing from the workspace (P4).
function asThen(engine: Engine, scratch: MergeScratch, composed: State, then: Moment): State {
  const state = readState(engine.objects, then.snapshot)
  const skipped = parseSkipped(engine.objects.readBlob(then.skipped))
  if (skipped.size === 0) return state
  const later = diffTrees(scratch, state.tree, composed.tree).filter((diff) => diff.before === undefined)
  const uncaptured = later.map((diff) => diff.path).filter((path) => stoodSkipped(path, skipped))
  return uncaptured.length === 0 ? state : partWay(scratch, state, composed, uncaptured)
}

/** The whole workspace as it was captured at some time, and what was there beside it. */
interface Moment {
  readonly snapshot: Snapshot
  readonly skipped: BlobId
}

/** When the turn, or the step, began or ended. */
function momentOf(engine: Engine, wish: RestoreWish): Moment | undefined {
  const { index } = engine.log
  const operations =
    wish.step === undefined ? index.operationsOfTurn(wish.turn) : index.operationsOfStep(wish.step)
  const operation = wish.side === 'before' ? operations[0] : operations.at(-1)
  if (operation === undefined) return undefined
  const snapshot = wish.side === 'before' ? operation.before : operation.after
  return { snapshot, skipped: operation.skipped }
}

function promptToEdit(tree: TurnTree, reverted: readonly TurnId[]): string | undefined {
  const oldest = reverted.at(-1)
  return oldest === undefined ? undefined : tree.turns.get(oldest)?.prompt
}

function nothingToUndo(session: SessionId): UnturnError {
  return new UnturnError(
    'nothing-to-undo',
    { session },
    {
      message: 'There is nothing to undo: this session has no turn left to take out. No file was changed.',
      hint: 'Run "unturn log" to see its turns, or "unturn log --all" for other sessions.',
    },
  )
}

function nothingToRedo(session: SessionId): UnturnError {
  return new UnturnError(
    'nothing-to-redo',
    { session },
    {
      message: 'There is nothing to redo: no undone turn follows the head. No file was changed.',
      hint: 'Run "unturn log --tree" to see all branches; "unturn restore TURN --after" goes to any of them.',
    },
  )
}

function turnRunning(turn: TurnId, reason: string): UnturnError {
  return new UnturnError(
    'turn-running',
    { turn, reason },
    {
      message: `Turn ${turn} is running: ${reason}. Nothing was changed.`,
      hint: 'Wait for the agent, or stop it, and try again. --force goes ahead now and closes the turn as interrupted.',
    },
  )
}
