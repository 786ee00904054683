/** Going back to a snapshot that was handed out: whole, or a few of its files. One journaled operation, with an inverse. */

import { UnturnError } from '../errors.ts'
import type { Draft, Stage } from '../log/record.ts'
import { parseSkipped } from '../log/skipped-list.ts'
import type { MergeScratch } from '../store/merge.ts'
import { diffTrees } from '../store/trees.ts'
import type { Exclusive, RelPath, Snapshot } from '../values.ts'
import { type Composition, composeFrom } from './compose.ts'
import { type Enacted, enact } from './enact.ts'
import type { Engine } from './engine.ts'
import { type LastKnown, stoodSkipped } from './observe.ts'
import { partWay } from './part-way.ts'
import { readState, type State, sameSnapshot } from './snapshots.ts'

export interface SnapshotWish {
  readonly dryRun?: boolean
}

/** The whole workspace as in the snapshot. Paths that stood there uncaptured then are left as they are now (P4). */
export function restoreSnapshot(
  engine: Engine,
  snapshot: Snapshot,
  wish: SnapshotWish,
  lock: Exclusive,
): Promise<Enacted> {
  requireSnapshot(engine, snapshot)
  return goTo(engine, wish, (scratch, now) => asThen(engine, scratch, now, snapshot), lock)
}

/** Some paths as in a snapshot. */
export interface PathsOf {
  readonly snapshot: Snapshot
  readonly paths: readonly RelPath[]
}

/** These paths as in their snapshots; of a path that is in several, the first one counts. All else stays. */
export function revertPaths(
  engine: Engine,
  reverts: readonly PathsOf[],
  wish: SnapshotWish,
  lock: Exclusive,
): Promise<Enacted> {
  for (const { snapshot } of reverts) requireSnapshot(engine, snapshot)
  return goTo(engine, wish, (scratch, now) => withReverts(engine, scratch, now, reverts), lock)
}

function goTo(
  engine: Engine,
  wish: SnapshotWish,
  target: (scratch: MergeScratch, now: LastKnown) => State,
  lock: Exclusive,
): Promise<Enacted> {
  return enact(
    engine,
    {
      dryRun: wish.dryRun === true,
      onConflict: 'abort',
      compose: async (scratch, now) => oneStage(now.state, target(scratch, now)),
      draft: ({ stages }): Draft => ({ kind: 'rollback', stages, git: engine.user.position() }),
    },
    lock,
  )
}

function oneStage(now: State, state: State): Composition {
  if (sameSnapshot(now.snapshot, state.snapshot)) return composeFrom(now)
  const stage: Stage = { turn: null, way: 'out', ops: [] }
  return { state, stages: [stage], states: [state], conflicts: [], merged: new Set() }
}

function asThen(engine: Engine, scratch: MergeScratch, now: LastKnown, snapshot: Snapshot): State {
  const state = readState(engine.objects, snapshot)
  const appeared = diffTrees(scratch, state.tree, now.state.tree).filter((diff) => diff.before === undefined)
  const uncaptured = uncapturedThen(
    engine,
    snapshot,
    appeared.map((diff) => diff.path),
  )
  return uncaptured.length === 0 ? state : partWay(scratch, state, now.state, uncaptured)
}

function withReverts(
  engine: Engine,
  scratch: MergeScratch,
  now: LastKnown,
  reverts: readonly PathsOf[],
): State {
  let { state } = now
  const done = new Set<RelPath>()
  for (const { snapshot, paths } of reverts) {
    const kept = new Set(uncapturedThen(engine, snapshot, paths))
    const chosen = paths.filter((path) => !done.has(path) && !kept.has(path))
    state = partWay(scratch, state, readState(engine.objects, snapshot), chosen)
    for (const path of paths) done.add(path)
  }
  return state
}

// A path that stood there uncaptured is missing from the snapshot, and was not missing from the workspace (P4).
function uncapturedThen(engine: Engine, snapshot: Snapshot, paths: readonly RelPath[]): readonly RelPath[] {
  const operation = engine.log.index.findOperationAfter(snapshot)
  if (operation === undefined || paths.length === 0) return []
  const skipped = parseSkipped(engine.objects.readBlob(operation.skipped))
  return paths.filter((path) => stoodSkipped(path, skipped))
}

/** A snapshot that nobody keeps any more is an error, never an empty workspace (P4). */
export function requireSnapshot(engine: Engine, { tree, attrs }: Snapshot): void {
  if (engine.objects.has(tree) && engine.objects.has(attrs)) return
  throw new UnturnError(
    'unknown-id',
    { id: tree },
    {
      message: `The snapshot ${tree} is not in this store (any more). Nothing was changed.`,
      hint: 'Retention drops old sessions with their snapshots. "unturn log --all" shows what is kept.',
    },
  )
}
