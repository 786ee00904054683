/**
 * Taking changes out of the current state and bringing them back, in tree space. Nothing here touches the disk.
 *
 *   take out   result = merge(base = after, ours = current, theirs = before), newest first
 *   bring in   the inverse of the stage that took it out; where that is not to be had, the change itself again
 */

import type { OperationRecord, Stage } from '../log/record.ts'
import type { Operation } from '../log/rows.ts'
import type { Choices, MergeScratch, TreeConflict } from '../store/merge.ts'
import type { RelPath, TurnId } from '../values.ts'
import { changedPaths } from './capture.ts'
import type { Engine } from './engine.ts'
import { partWay } from './part-way.ts'
import { mergeStates, readState, type State, sameSnapshot } from './snapshots.ts'

/** Some operations, or some paths of them, that go one way together. */
export interface Portion {
  readonly turn: TurnId | null
  readonly operations: readonly Operation[]
  /** Only these paths. */
  readonly paths?: readonly RelPath[]
}

/** A state on its way, and what was met so far. */
export interface Composition {
  readonly state: State
  readonly stages: readonly Stage[]
  /** The state after each stage. */
  readonly states: readonly State[]
  readonly conflicts: readonly TreeConflict[]
  readonly merged: ReadonlySet<RelPath>
}

export function composeFrom(state: State): Composition {
  return { state, stages: [], states: [], conflicts: [], merged: new Set() }
}

interface Side {
  readonly base: State
  readonly theirs: State
}

export async function takeOut(
  engine: Engine,
  scratch: MergeScratch,
  so: Composition,
  portion: Portion,
  onConflict: Choices,
): Promise<Composition> {
  const present = portion.operations.filter((operation) => isIn(engine, operation))
  const sides = collapsed(engine, scratch, present, portion.paths).reverse()
  const stage = stageOf(portion, 'out', present)
  return mergeInto(scratch, so, sides, stage, onConflict)
}

export async function bringIn(
  engine: Engine,
  scratch: MergeScratch,
  so: Composition,
  portion: Portion,
  onConflict: Choices,
): Promise<Composition> {
  const absent = portion.operations.filter((operation) => isOutByMove(engine, operation))
  const inverse = inverseStages(engine, absent)
  const sides =
    inverse ??
    collapsed(engine, scratch, absent, portion.paths).map(({ base, theirs }) => ({
      base: theirs,
      theirs: base,
    }))
  return mergeInto(scratch, so, sides, stageOf(portion, 'in', absent), onConflict)
}

/** The inverse of an undo, redo, restore or rollback, stage by stage, so that each turn can be moved alone later. */
export async function invertStages(
  engine: Engine,
  scratch: MergeScratch,
  so: Composition,
  operation: Operation,
  onConflict: Choices,
): Promise<Composition> {
  const stages = 'stages' in operation.record ? operation.record.stages : []
  const snapshots = engine.log.stagesOf(operation)
  let composition = so
  for (let at = snapshots.length - 1; at > 0; at -= 1) {
    const before = snapshots[at - 1]
    const after = snapshots[at]
    if (before === undefined || after === undefined) continue
    const side = { base: readState(engine.objects, after), theirs: readState(engine.objects, before) }
    composition = await mergeInto(scratch, composition, [side], flipped(engine, stages[at - 1]), onConflict)
  }
  return composition
}

// What another move has taken out, or brought back, since then stays with that move: redo undoes the one that counts.
function flipped(engine: Engine, stage: Stage | undefined): Stage {
  if (stage === undefined) return { turn: null, way: 'out', ops: [] }
  const way = stage.way === 'out' ? 'in' : 'out'
  if (stage.paths !== undefined) return { ...stage, way }
  const ops = stage.ops.filter((id) => {
    const operation = engine.log.index.findOperation(id)
    return operation !== undefined && isIn(engine, operation) === (way === 'out')
  })
  return { ...stage, way, ops }
}

async function mergeInto(
  scratch: MergeScratch,
  so: Composition,
  sides: readonly Side[],
  stage: Stage | undefined,
  onConflict: Choices,
): Promise<Composition> {
  let { state } = so
  const conflicts = [...so.conflicts]
  const merged = new Set(so.merged)
  for (const { base, theirs } of sides) {
    const merge = await mergeStates(scratch, { base, ours: state, theirs }, onConflict)
    state = merge.state
    conflicts.push(...merge.conflicts)
    for (const path of merge.merged) merged.add(path)
  }
  if (stage === undefined) return { ...so, state, conflicts, merged }
  return { state, stages: [...so.stages, stage], states: [...so.states, state], conflicts, merged }
}

function stageOf(portion: Portion, way: Stage['way'], moved: readonly Operation[]): Stage {
  const stage = { turn: portion.turn, way, ops: moved.map(({ record }) => record.id) }
  return portion.paths === undefined ? stage : { ...stage, paths: portion.paths }
}

/** Steps that touch each other without foreign changes in between collapse into one merge. Oldest first. */
function collapsed(
  engine: Engine,
  scratch: MergeScratch,
  operations: readonly Operation[],
  paths: readonly RelPath[] | undefined,
): Side[] {
  const sides: Side[] = []
  let open: { first: Operation; last: Operation } | undefined
  const close = () => {
    if (open === undefined) return
    sides.push({
      base: readState(engine.objects, open.last.after),
      theirs: readState(engine.objects, open.first.before),
    })
    open = undefined
  }
  for (const operation of operations) {
    if (sameSnapshot(operation.before, operation.after)) continue
    const narrowed = pathsToMove(engine, operation, paths)
    if (narrowed !== undefined) {
      close()
      sides.push(narrow(engine, scratch, operation, narrowed))
    } else if (open !== undefined && sameSnapshot(open.last.after, operation.before)) open.last = operation
    else {
      close()
      open = { first: operation, last: operation }
    }
  }
  close()
  return sides
}

/** The paths of an operation that are still to be moved, when that is not all of them. */
function pathsToMove(
  engine: Engine,
  operation: Operation,
  wanted: readonly RelPath[] | undefined,
): ReadonlySet<RelPath> | undefined {
  const out = new Set<string>(engine.log.index.outsOf(operation.record.seq).map((row) => row.path))
  out.delete('')
  if (wanted === undefined && out.size === 0) return undefined
  const changed = touchedPaths(engine, operation)
  const kept = changed.filter((path) => !out.has(path) && (wanted === undefined || wanted.includes(path)))
  return new Set(kept)
}

/** Every path that differs between an operation's two snapshots. */
export function touchedPaths(engine: Engine, operation: Operation): readonly RelPath[] {
  const before = readState(engine.objects, operation.before)
  const after = readState(engine.objects, operation.after)
  return changedPaths(engine.objects, before, after)
}

/** `after`, and `after` with only the chosen paths put back. */
function narrow(
  engine: Engine,
  scratch: MergeScratch,
  operation: Operation,
  paths: ReadonlySet<RelPath>,
): Side {
  const before = readState(engine.objects, operation.before)
  const after = readState(engine.objects, operation.after)
  return { base: after, theirs: partWay(scratch, after, before, paths) }
}

function isIn(engine: Engine, operation: Operation): boolean {
  return !engine.log.index.outsOf(operation.record.seq).some((row) => row.path === '')
}

// What a rollback took out stays out when the head comes back: only moves of the head are undone by moving it back.
function isOutByMove(engine: Engine, operation: Operation): boolean {
  const out = engine.log.index.outsOf(operation.record.seq).find((row) => row.path === '')
  const by = out === undefined ? undefined : engine.log.index.operationAt(out.bySeq)?.record
  return by !== undefined && isMove(engine, by)
}

// The inverse of an undo, and the inverse of that, are moves like the undo itself, with the head or without.
function isMove(engine: Engine, record: OperationRecord): boolean {
  if (record.kind === 'baseline') return false // it stands for a rollback that retention has dropped
  if (record.kind !== 'rollback') return true
  const inverted = record.of === undefined ? undefined : engine.log.index.findOperation(record.of)
  return inverted === undefined ? record.to !== undefined : isMove(engine, inverted.record)
}

/**
 * How these operations went out, the other way round, the last one first. Undefined where a stage also took out
 * others, which have to stay where they are.
 */
function inverseStages(engine: Engine, operations: readonly Operation[]): readonly Side[] | undefined {
  const wanted = new Set(operations.map(({ record }) => record.id))
  const stages = new Map<string, { readonly bySeq: number; readonly stage: number }>()
  for (const { record } of operations) {
    for (const row of engine.log.index.outsOf(record.seq))
      if (row.path === '') stages.set(`${row.bySeq}:${row.stage}`, row)
  }
  const sides: Side[] = []
  for (const { bySeq, stage } of [...stages.values()].sort(
    (a, b) => b.bySeq - a.bySeq || b.stage - a.stage,
  )) {
    const side = inverseOf(engine, bySeq, stage, wanted)
    if (side === undefined) return undefined
    sides.push(side)
  }
  return sides
}

function inverseOf(engine: Engine, bySeq: number, at: number, wanted: ReadonlySet<string>): Side | undefined {
  const by = engine.log.index.operationAt(bySeq)
  if (by === undefined || !('stages' in by.record)) return undefined
  const ops = by.record.stages[at]?.ops ?? []
  const snapshots = engine.log.stagesOf(by)
  const before = snapshots[at]
  const after = snapshots[at + 1]
  if (before === undefined || after === undefined || !ops.every((op) => wanted.has(op))) return undefined
  return { base: readState(engine.objects, after), theirs: readState(engine.objects, before) }
}
