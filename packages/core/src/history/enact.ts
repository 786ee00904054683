/** From a composed state to the disk: plan, one journaled apply, one operation. The only way into the workspace. */

import { isFailure, shown, textOfBytes, UnturnError } from '../errors.ts'
import { failureOf } from '../failures.ts'
import type { Unpublished } from '../log/log.ts'
import { type Draft, type OperationRecord, optional } from '../log/record.ts'
import type { Operation } from '../log/rows.ts'
import { Shape } from '../log/shape.ts'
import { serializeSkipped } from '../log/skipped-list.ts'
import { folderPermOf, planBetween, type SnapshotPlan } from '../store/attrs.ts'
import { type Choices, choiceFor, MergeScratch, type Resolved } from '../store/merge.ts'
import type { ObjectBatch, Objects } from '../store/objects.ts'
import { hasFolder, listTree } from '../store/trees.ts'
import {
  type BlobId,
  type ByteString,
  type CommitId,
  type Exclusive,
  foldersAbove,
  type OpId,
  parentOf,
  type RelPath,
  relPathUnchecked,
  type TreeId,
} from '../values.ts'
import { type ApplyContext, apply, type Left, obstacles, recover } from '../workspace/apply.ts'
import { capture, describeOperation } from './capture.ts'
import type { Composition } from './compose.ts'
import { conflictOf, conflictOfLeft } from './conflicts.ts'
import type { Engine } from './engine.ts'
import { areAsLeft, isFileOnDisk, type LastKnown, readLastKnown } from './observe.ts'
import { type Conflict, type FileOutcome, filesOf } from './outcome.ts'
import { partWay } from './part-way.ts'
import { type State, stateOf } from './snapshots.ts'

export type OnConflict = 'abort' | 'keep' | 'overwrite' | 'markers'

export interface EnactWish {
  readonly dryRun: boolean
  readonly onConflict: Choices
  /** Conflicts come with the whole of each side, for somebody who is to decide. */
  readonly sides?: boolean
  /** Composes the wanted state from the one that was just captured. May be asked again after somebody saved a file. */
  readonly compose: (scratch: MergeScratch, now: LastKnown) => Promise<Composition>
  readonly draft: (composition: Composition) => Draft
  /**
   * Look at these paths only: cost does not grow with the workspace. Good as long as they are as they were left, and
   * nothing else is needed; otherwise (somebody edited or moved one, a conflict, a folder that comes or goes) the
   * whole workspace is looked at after all. What the user changed elsewhere is taken in by the next capture: nothing
   * that happens until then is recorded as anybody else's, since every step begins with a capture of its own.
   */
  readonly paths?: readonly RelPath[]
  /** Told what is about to be written, before a byte is; throwing here leaves everything as it is. */
  readonly onPlan?: (planned: Planned) => void
  /** Stores what belongs beside the record, once it is certain what the files will be. */
  readonly beside?: (batch: ObjectBatch, result: State) => TreeId
  /** Operations that lead up to this one: they happen with it, or not at all. */
  readonly earlier?: () => readonly EarlierPart[]
}

/** One of several operations that happen at once: what it leads to, on the way to the composed state. */
export interface EarlierPart {
  readonly state: State
  readonly draft: Draft
  readonly beside?: (batch: ObjectBatch, result: State) => TreeId
  /** Told its id, before what comes after it is asked for anything. */
  readonly named?: (op: OpId) => void
}

/** What somebody said about conflicts: for all of them, and for single paths. */
export interface ConflictWish {
  readonly onConflict?: OnConflict
  /** Single paths with a choice, or a content, of their own; one that is left at `abort` stops everything. */
  readonly choices?: ReadonlyMap<RelPath, OnConflict | Resolved>
  /** Conflicts come with the whole of each side, for somebody who is to decide. */
  readonly sides?: boolean
}

export function choicesOf({ onConflict = 'abort', choices }: ConflictWish): Choices {
  return choices === undefined || choices.size === 0 ? onConflict : { paths: choices, others: onConflict }
}

/** What an operation is about to do to the files; in a dry run, what it would do. */
export interface Planned {
  readonly plan: SnapshotPlan
  readonly conflicts: readonly Conflict[]
}

export interface Enacted {
  readonly kind: 'done' | 'planned' | 'conflicts'
  readonly op?: OpId
  /** Operations that happened with it, before it. */
  readonly earlier?: readonly OpId[]
  readonly files: readonly FileOutcome[]
  readonly conflicts: readonly Conflict[]
  readonly patch?: string
}

const mostTries = 4

export async function enact(
  engine: Engine,
  { paths, ...wish }: EnactWish,
  lock: Exclusive,
): Promise<Enacted> {
  if (paths !== undefined) {
    const enacted = await tryOnce(engine, { ...wish, paths }, false, lock)
    if (enacted !== 'again') return enacted
  }
  for (let attempt = 1; ; attempt += 1) {
    const enacted = await tryOnce(engine, wish, attempt >= mostTries, lock)
    if (enacted !== 'again') return enacted
  }
}

/** `again`: somebody saved a file between the look and the write. A new look merges it in, too. */
async function tryOnce(
  engine: Engine,
  wish: EnactWish,
  isLast: boolean,
  lock: Exclusive,
): Promise<Enacted | 'again'> {
  const narrow = wish.paths !== undefined
  const now = await lookAround(engine, wish.paths, lock)
  if (now === undefined) return 'again'
  await using scratch = MergeScratch.open(engine.fs, engine.objects, engine.git, engine.folders.scratch)
  const composition = await wish.compose(scratch, now)
  const conflicts = composition.conflicts.map((conflict) =>
    conflictOf(engine, scratch, conflict, composition.stages, wish.sides === true),
  )
  const isOpen = (paths: readonly RelPath[]) => choiceFor(wish.onConflict, paths) === 'abort'
  if (conflicts.length > 0 && narrow) return 'again'
  if (composition.conflicts.some(({ path, paths }) => isOpen([path, ...paths])))
    return { kind: 'conflicts', files: [], conflicts }

  const planned = planBetween(scratch, now.state, composition.state)
  if (wish.paths !== undefined && needsMore(engine, now, planned, wish.paths)) return 'again'
  const blocked = obstacles(contextOf(engine, scratch), planned)
  if (narrow && blocked.length > 0) return 'again'
  if (await adopt(engine, blocked, lock)) return 'again'
  conflicts.push(...blocked.map(conflictOfLeft))
  if (blocked.some(({ path }) => isOpen([path]))) return { kind: 'conflicts', files: [], conflicts }

  const left = blocked.map(({ path }) => path)
  const possible = (wanted: State) => {
    const open = left.length === 0 ? wanted : partWay(scratch, wanted, now.state, left)
    return withFullFolders(scratch, open, now)
  }
  const state = possible(composition.state)
  const plan = state === composition.state ? planned : planBetween(scratch, now.state, state)
  const files = filesOf(plan, composition.merged)
  wish.onPlan?.({ plan, conflicts })
  if (wish.dryRun) {
    requireContents(scratch, plan)
    const patch = (await scratch.patch(now.state.tree, state.tree)).toString('utf8')
    return { kind: 'planned', files, conflicts, patch }
  }

  const earlier = (wish.earlier?.() ?? []).map((part) => ({ ...part, state: possible(part.state) }))
  const last = { state, draft: wish.draft(composition), ...optional('beside', wish.beside) }
  const work = { plan, scratch, now, composition, parts: [...earlier, last] }
  const done = namingPath(plan, () => carryOut(engine, work, lock))
  if (done === 'blocked') {
    if (!isLast) return 'again'
    throw keepsChanging()
  }
  for (const { commit } of done.operations) await describeLater(engine, commit)
  conflicts.push(...done.left.map(conflictOfLeft))
  const untouched = new Set(done.left.map(({ path }) => path))
  const ops = done.operations.map(({ record }) => record.id)
  return {
    kind: 'done',
    ...optional('op', ops.at(-1)),
    ...optional('earlier', ops.length > 1 ? ops.slice(0, -1) : undefined),
    files: files.filter(({ path }) => !untouched.has(path)),
    conflicts,
  }
}

/**
 * Undefined: one of the paths is not as it was left. Nothing is recorded then, since only a look at everything tells
 * what happened: a file that is gone may have been renamed, and its new name is not among the paths.
 */
async function lookAround(
  engine: Engine,
  paths: readonly RelPath[] | undefined,
  lock: Exclusive,
): Promise<LastKnown | undefined> {
  if (paths === undefined) return (await capture(engine, {}, lock)).last
  const last = readLastKnown(engine)
  return last !== undefined && (await areAsLeft(engine, last, paths)) ? last : undefined
}

// What else lies in a folder, a look at a few paths does not know; and a path that nobody looked at may be anything.
function needsMore(
  engine: Engine,
  now: LastKnown,
  { paths, folders }: SnapshotPlan,
  looked: readonly RelPath[],
): boolean {
  if (folders.create.length > 0 || folders.remove.length > 0 || folders.chmod.length > 0) return true
  const known = new Set(looked)
  if (paths.some(({ path }) => !known.has(path))) return true
  const going = new Set(paths.filter(({ to }) => to === undefined).map(({ path }) => path))
  return ![...new Set([...going].map(parentOf))].every((folder) => staysFilled(engine, now, folder, going))
}

const mostSiblings = 20

// The snapshot has other files in the folder, but the user may have removed them since. Then the folder has to go, too.
function staysFilled(
  engine: Engine,
  now: LastKnown,
  folder: ByteString,
  going: ReadonlySet<RelPath>,
): boolean {
  if (folder === '') return true
  let looked = 0
  for (const [path] of listTree(engine.objects, now.state.tree, relPathUnchecked(folder))) {
    if (going.has(path)) continue
    if (isFileOnDisk(engine, path)) return true
    looked += 1
    if (looked === mostSiblings) break
  }
  return false
}

// The operation has happened. Its changes in the index are derived data: the next command makes up for them, and a
// failure reported now would make somebody undo twice.
async function describeLater(engine: Engine, commit: CommitId): Promise<void> {
  try {
    await describeOperation(engine, engine.log.readOperation(commit))
  } catch (error) {
    const failure = failureOf(error)
    if (failure === undefined) throw error
    engine.warn(`What this changed could not be counted yet: ${failure.message}`)
  }
}

// A file that no capture has seen stands where one is to come back: an ignored one, say. Once it is captured, it is a
// conflict like any other, and can even be overwritten without being lost (P4).
async function adopt(engine: Engine, blocked: readonly Left[], lock: Exclusive): Promise<boolean> {
  const occupied = blocked.filter(({ reason }) => reason === 'occupied').map(({ path }) => path)
  if (occupied.length === 0) return false
  const { operations } = await capture(engine, { paths: occupied, label: 'found in the way' }, lock)
  return operations.length > 0
}

// A folder in which something uncaptured lies, a nested repository's .git for instance, stays when all else in it goes.
// Taken for removed, it would look like a new folder of the user's at the next capture.
function withFullFolders(scratch: MergeScratch, state: State, now: LastKnown): State {
  const full = new Set([...now.skipped.keys()].flatMap(foldersAbove))
  const bare = new Map(state.attrs.bare)
  for (const folder of full) {
    const wasThere = now.state.attrs.bare.has(folder) || hasFolder(scratch, now.state.tree, folder)
    const isThere = bare.has(folder) || hasFolder(scratch, state.tree, folder)
    if (wasThere && !isThere) bare.set(folder, folderPermOf(now.state.attrs, folder))
  }
  if (bare.size === state.attrs.bare.size) return state
  return stateOf(state.tree, { ...state.attrs, bare }, (bytes) => scratch.blob(bytes))
}

interface Work {
  readonly plan: SnapshotPlan
  readonly scratch: MergeScratch
  readonly now: LastKnown
  readonly composition: Composition
  /** The operations that happen at once, each from where the one before has led. */
  readonly parts: readonly EarlierPart[]
}

type CarriedOut = { readonly operations: readonly Operation[]; readonly left: readonly Left[] } | 'blocked'

/** P1: everything that is about to go is in `before`, stored and synced, when the first file is touched. */
function carryOut(engine: Engine, work: Work, lock: Exclusive): CarriedOut {
  const prepared = prepare(engine, work, lock)
  const last = prepared.at(-1)
  if (last === undefined) throw new Error('unreachable: there is one operation at least')
  const note = JSON.stringify({ commit: last.commit, ref: last.ref })
  const outcome = apply(contextOf(engine, engine.objects), work.plan, note, publisher(engine, lock), lock)
  if (outcome.kind === 'blocked') return 'blocked'
  return { operations: prepared.map(({ operation }) => operation), left: outcome.left }
}

function prepare(
  engine: Engine,
  { parts, scratch, now, composition }: Work,
  lock: Exclusive,
): readonly Unpublished[] {
  const batch = engine.objects.newBatch()
  for (const kept of [...parts.map((part) => part.state), ...composition.states]) keep(batch, scratch, kept)
  // The look before may have found nothing to record, and then it has stored nothing, not even this list.
  const skipped = batch.blob(serializeSkipped(now.skipped))
  const prepared: Unpublished[] = []
  for (const { state, draft, beside, named } of parts) {
    const before = prepared.at(-1)
    const taken = {
      before: before?.operation.after ?? now.state.snapshot,
      after: state.snapshot,
      skipped,
      stages: composition.states.map((stage) => stage.snapshot),
      ...optional('review', beside?.(batch, state)),
    }
    const next = engine.log.prepare(batch, draft, taken, lock, before)
    named?.(next.operation.record.id)
    prepared.push(next)
  }
  return prepared
}

// The real run would fail: a plan that cannot be carried out is none.
function requireContents(objects: Objects, plan: SnapshotPlan): void {
  namingPath(plan, () => {
    for (const { to } of plan.paths) if (to !== undefined) objects.readBlob(to.blob)
  })
}

/** A damaged object means nothing to anybody; the file that it was does. */
function namingPath<T>(plan: SnapshotPlan, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!isFailure(error, 'store-damaged')) throw error
    const { id } = error.data
    const damaged = plan.paths.find(({ to }) => to !== undefined && to.blob === id)
    throw damaged === undefined || id === undefined ? error : snapshotDamaged(damaged.path, id, error)
  }
}

function snapshotDamaged(path: RelPath, object: string, cause: unknown): UnturnError {
  return new UnturnError(
    'snapshot-damaged',
    { path: textOfBytes(path), object },
    {
      message: `The stored copy of ${shown(path)} is missing or damaged. No file was changed.`,
      hint: 'Run "unturn doctor" to see what else is affected. Other files can be taken back one by one: unturn rollback --turn TURN --file PATH',
      cause,
    },
  )
}

function keep(batch: ObjectBatch, scratch: MergeScratch, state: State): void {
  batch.addFrom(scratch, state.tree)
  batch.blob(scratch.readBlob(state.snapshot.attrs))
}

function contextOf(engine: Engine, objects: Objects): ApplyContext {
  return {
    fs: engine.fs,
    root: engine.root,
    journal: engine.folders.journal,
    staging: engine.folders.staging,
    bytesOf: (blob: BlobId) => objects.readBlob(blob),
  }
}

function publisher(engine: Engine, lock: Exclusive): (note: string) => void {
  return (note) => {
    const shape = Shape.parse(note, 'journal note')
    engine.log.publish(shape.text('commit') as CommitId, shape.text('ref'), lock)
  }
}

/** Finishes, or takes back, what a killed process had begun. Runs before anything else does. */
export async function recoverApply(engine: Engine, lock: Exclusive): Promise<void> {
  const recovery = recover(contextOf(engine, engine.objects), publisher(engine, lock), lock)
  switch (recovery.kind) {
    case 'clean':
      return
    case 'finished':
      return engine.warn(
        `An interrupted ${kindOf(engine, recovery.note)} was finished.${leftWords(recovery.left)}`,
      )
    case 'rolled-back':
      return engine.warn(
        `An interrupted ${kindOf(engine, recovery.note)} was taken back.${leftWords(recovery.left)}`,
      )
    case 'damaged':
      return engine.warn(
        `The journal of an interrupted operation is damaged (${recovery.reason}). Nothing was applied from it; it was put aside. "unturn status" shows what differs.`,
      )
  }
}

function kindOf(engine: Engine, note: string): OperationRecord['kind'] | 'operation' {
  try {
    return engine.log.readOperation(Shape.parse(note, 'note').text('commit') as CommitId).record.kind
  } catch {
    return 'operation' // only for the sentence that tells of it
  }
}

function leftWords(left: readonly Left[]): string {
  return left.length === 0 ? '' : ` ${left.length} path(s) that somebody changed since were left as they are.`
}

function keepsChanging(): UnturnError {
  return new UnturnError(
    'apply-failed',
    { path: '', reason: 'files keep changing', state: 'old' },
    {
      message: 'Some of the files keep changing while Unturn looks at them. No file was changed.',
      hint: 'Stop what is writing to them (a build, a running agent) and run the same command again.',
    },
  )
}

export function conflictsError(
  conflicts: readonly unknown[],
  rest: Readonly<Record<string, unknown>>,
): UnturnError {
  const count = conflicts.length === 1 ? 'One file was' : `${conflicts.length} files were`
  return new UnturnError(
    'conflicts',
    { ...rest, conflicts },
    {
      message: `${count} changed again where the old version would go. Nothing was changed.`,
      hint: 'Choose with --on-conflict: keep (leave these files, undo the rest), overwrite (take the old version; the newer one stays recoverable), or markers (write both into the file).',
    },
  )
}
