/** Rollback: takes selected changes out, wherever they are, and keeps all later work. The head stays where it is. */

import { UnturnError } from '../errors.ts'
import type { ChangeSelection } from '../log/index-db.ts'
import { type Draft, optional, type Point } from '../log/record.ts'
import type { ChangeRow, Operation } from '../log/rows.ts'
import type { Choices, MergeScratch } from '../store/merge.ts'
import type { Exclusive, OpId, RelPath, SessionId } from '../values.ts'
import { unreachable } from '../values.ts'
import { capture } from './capture.ts'
import {
  type Composition,
  composeFrom,
  invertStages,
  type Portion,
  takeOut,
  touchedPaths,
} from './compose.ts'
import { type ConflictWish, choicesOf, enact, type Planned } from './enact.ts'
import type { Engine } from './engine.ts'
import { leftoversOf } from './not-undone.ts'
import type { Outcome } from './outcome.ts'
import { readTurnTree, samePoint } from './points.ts'
import { unknownId } from './recording.ts'
import type { State } from './snapshots.ts'

export interface RollbackWish extends ConflictWish {
  readonly dryRun?: boolean
  /** The session whose head the answer names, and the one that selectors without an id of their own look in. */
  readonly session?: SessionId
  readonly selection: Selection
  /** `selected`: looks at the selected paths only, as long as that is enough to tell what to do. */
  readonly look?: 'everywhere' | 'selected'
  /** Told what is about to be written, before a byte is; throwing here leaves everything as it is. */
  readonly onPlan?: (planned: Planned) => void
}

export interface Selection
  extends Omit<ChangeSelection, 'opSeqs' | 'everybody' | 'text' | 'behind' | 'limit' | 'offset' | 'untilMs'> {
  /** Operations to invert: an undo, redo, restore or rollback, or anything else that changed files. */
  readonly ops?: readonly OpId[]
}

export async function rollback(engine: Engine, wish: RollbackWish, lock: Exclusive): Promise<Outcome> {
  const ops = wish.selection.ops ?? []
  const inverted = ops.map((id) => requireOperation(engine, id))
  const only = inverted.length === 1 && isPlain(wish.selection) ? inverted[0] : undefined
  if (only !== undefined && 'stages' in only.record) return rollbackMove(engine, wish, only, lock)
  return rollbackChanges(engine, wish, inverted, lock)
}

function requireOperation(engine: Engine, id: OpId): Operation {
  const operation = engine.log.index.findOperation(id)
  if (operation === undefined) throw unknownId(id, 'operation')
  return operation
}

function isPlain({ ops: _ops, session: _session, ...rest }: Selection): boolean {
  return Object.values(rest).every(
    (value) => value === undefined || (Array.isArray(value) && value.length === 0),
  )
}

// ---- the inverse of an undo, redo, restore or rollback --------------------------------------------------------------

async function rollbackMove(
  engine: Engine,
  wish: RollbackWish,
  operation: Operation,
  lock: Exclusive,
): Promise<Outcome> {
  const onConflict = choicesOf(wish)
  const { record } = operation
  if (!('stages' in record)) throw new Error(`${record.kind} has no stages`)
  const session = record.session
  const back = headBack(engine, operation)
  const enacted = await enact(
    engine,
    {
      dryRun: wish.dryRun === true,
      onConflict,
      ...optional('sides', wish.sides),
      compose: (scratch, now) => invertStages(engine, scratch, composeFrom(now.state), operation, onConflict),
      draft: (composition): Draft => ({
        kind: 'rollback',
        of: record.id,
        stages: composition.stages,
        ...optional('session', session),
        ...(back === undefined ? {} : { from: back.from, to: back.to }),
        git: engine.user.position(),
      }),
      ...optional('onPlan', wish.onPlan),
    },
    lock,
  )
  const head = session === undefined ? null : readTurnTree(engine, session).head.turn
  const nothing = { commands: [], commits: [], skipped: [] }
  return {
    ...enacted,
    head: enacted.kind === 'planned' && back !== undefined ? back.to.turn : head,
    reverted: [],
    redone: [],
    notUndone: nothing,
  }
}

// R7: the head goes back with the files, but only if it has not moved since; a turn that was cleaned up has no place.
function headBack(
  engine: Engine,
  { record }: Operation,
): { readonly from: Point; readonly to: Point } | undefined {
  switch (record.kind) {
    case 'undo':
    case 'redo':
    case 'restore':
    case 'rollback': {
      if (record.session === undefined || record.from === undefined || record.to === undefined)
        return undefined
      const { head, turns } = readTurnTree(engine, record.session)
      const isThere = record.from.turn === null || turns.has(record.from.turn)
      return isThere && samePoint(head, record.to) ? { from: record.to, to: record.from } : undefined
    }
    case 'baseline':
    case 'user-edit':
    case 'turn-begin':
    case 'turn-end':
    case 'step':
    case 'cleanup':
    case 'accept':
    case 'reject':
    case 'propose':
      return undefined
    default:
      return unreachable(record)
  }
}

// ---- selected changes ------------------------------------------------------------------------------------------------

async function rollbackChanges(
  engine: Engine,
  wish: RollbackWish,
  inverted: readonly Operation[],
  lock: Exclusive,
): Promise<Outcome> {
  const onConflict = choicesOf(wish)
  // A step in flight has changes that no operation has yet: they could not be selected.
  if (engine.flights.list().length > 0) await capture(engine, {}, lock)
  const portions = portionsOf(engine, selected(engine, wish, inverted))
  if (portions.length === 0) throw nothingToRollBack(wish.selection)
  const enacted = await enact(
    engine,
    {
      dryRun: wish.dryRun === true,
      onConflict,
      ...optional('sides', wish.sides),
      compose: (scratch, now) => takeOutAll(engine, scratch, now.state, portions, onConflict),
      draft: (composition): Draft => ({
        kind: 'rollback',
        stages: composition.stages,
        ...optional('session', wish.session),
        git: engine.user.position(),
      }),
      ...optional('paths', wish.look === 'selected' ? pathsOf(engine, portions) : undefined),
      ...optional('onPlan', wish.onPlan),
    },
    lock,
  )
  const head = wish.session === undefined ? null : readTurnTree(engine, wish.session).head.turn
  const operations = portions.flatMap((portion) => portion.operations)
  return { ...enacted, head, reverted: [], redone: [], notUndone: leftoversOf(engine, operations) }
}

function pathsOf(engine: Engine, portions: readonly Portion[]): readonly RelPath[] {
  const paths = portions.flatMap(
    (portion) => portion.paths ?? portion.operations.flatMap((operation) => touchedPaths(engine, operation)),
  )
  return [...new Set(paths)]
}

async function takeOutAll(
  engine: Engine,
  scratch: MergeScratch,
  state: State,
  portions: readonly Portion[],
  onConflict: Choices,
): Promise<Composition> {
  let so = composeFrom(state)
  for (const portion of portions) so = await takeOut(engine, scratch, so, portion, onConflict)
  return so
}

function selected(engine: Engine, wish: RollbackWish, inverted: readonly Operation[]): readonly ChangeRow[] {
  const { ops: _ops, ...selection } = wish.selection
  const byId = (selection.changes?.length ?? 0) > 0 || inverted.length > 0
  const reaching = byId || (selection.steps?.length ?? 0) > 0 || (selection.turns?.length ?? 0) > 0
  return engine.log.index.findChanges({
    ...selection,
    ...(inverted.length > 0 ? { opSeqs: inverted.map(({ record }) => record.seq) } : {}),
    ...optional('session', reaching ? undefined : wish.session),
    everybody: byId,
  })
}

/** Newest first; whole operations of one turn stay together, so that they collapse into one merge. */
function portionsOf(engine: Engine, changes: readonly ChangeRow[]): readonly Portion[] {
  const portions: { turn: Portion['turn']; operations: Operation[]; paths?: readonly RelPath[] }[] = []
  for (const [seq, chosen] of byOperation(changes)) {
    const operation = engine.log.index.operationAt(seq)
    if (operation === undefined) continue
    const paths = pathsStillIn(engine, operation, chosen)
    if (paths.length === 0) continue
    const turn = 'turn' in operation.record ? operation.record.turn : null
    const whole = paths.length >= touchedPaths(engine, operation).length
    const open = portions.at(-1)
    if (whole && open !== undefined && open.paths === undefined && open.turn === turn)
      open.operations.unshift(operation)
    else portions.push(whole ? { turn, operations: [operation] } : { turn, operations: [operation], paths })
  }
  return portions
}

function byOperation(changes: readonly ChangeRow[]): ReadonlyMap<number, readonly RelPath[]> {
  const groups = new Map<number, RelPath[]>()
  for (const change of changes) {
    const group = groups.get(change.opSeq) ?? []
    group.push(change.path, ...(change.from === undefined ? [] : [change.from]))
    groups.set(change.opSeq, group)
  }
  return groups
}

// What is out already is not taken out twice.
function pathsStillIn(engine: Engine, operation: Operation, chosen: readonly RelPath[]): readonly RelPath[] {
  const out = new Set<string>(engine.log.index.outsOf(operation.record.seq).map((row) => row.path))
  return out.has('') ? [] : chosen.filter((path) => !out.has(path))
}

function nothingToRollBack(selection: Selection): UnturnError {
  return new UnturnError(
    'nothing-to-roll-back',
    { selection },
    {
      message:
        'There is nothing to roll back: the selection matches no change that is still in the files. Nothing was changed.',
      hint: 'Run "unturn log --changes" to see the changes and their ids.',
    },
  )
}
