/**
 * Capture: the workspace becomes a snapshot, and what changed since the last operation gets an owner.
 *
 * The log is one chain of states over all sessions. What one look finds is split by owner, and each part becomes an
 * operation that begins where the one before it ended: first the user's own edits, then the steps'.
 */

import { type FailureCode, isFailure, UnturnError } from '../errors.ts'
import type { Flight } from '../log/flights.ts'
import { type GitPosition, optional } from '../log/record.ts'
import type { NewChange, Operation } from '../log/rows.ts'
import { readSkipped } from '../log/skipped-list.ts'
import type { Attrs } from '../store/attrs.ts'
import { folderPermIn, permOf } from '../store/attrs.ts'
import type { Objects, SizedObjects } from '../store/objects.ts'
import { plainChanges } from '../store/plain-changes.ts'
import { diffTrees, findLeaf, hasFolder, type Leaf, type PathDiff } from '../store/trees.ts'
import { type Exclusive, joinAbs, type RelPath, type Skipped } from '../values.ts'
import { attribute, type Claim } from './attribution.ts'
import { hearOfUnaudited, isPast, type PastFlight, pastFlights, pastOwner } from './audit.ts'
import type { Engine } from './engine.ts'
import {
  isFolderOnDisk,
  type LastKnown,
  type Observation,
  observe,
  observePaths,
  readLastKnown,
} from './observe.ts'
import { partWay } from './part-way.ts'
import { readState, type State } from './snapshots.ts'

export interface CaptureWish {
  /** Look at these paths only. Absent: at everything. */
  readonly paths?: readonly RelPath[]
  /** The step whose end this is; it gets an operation even if it changed nothing. */
  readonly closing?: Flight
  readonly label?: string
  /** A watcher's word is enough to go by: a turn begins, or something happens inside of one. */
  readonly hint?: 'turn' | 'step'
}

export interface Captured {
  readonly last: LastKnown
  /** What was appended to the log by this capture. */
  readonly operations: readonly Operation[]
}

export async function capture(engine: Engine, wish: CaptureWish, lock: Exclusive): Promise<Captured> {
  const last = readLastKnown(engine)
  if (last === undefined) return firstCapture(engine, wish, lock)
  const { paths } = wish
  const isNarrow = paths !== undefined && !paths.some((path) => isFolder(engine, last, path))
  if (isNarrow) {
    const narrow = await observePaths(engine, last, paths)
    return captured(engine, last, narrow, { ...wish, past: pastFlights(engine) }, lock)
  }
  const look = await engine.watch?.look(wish.hint ?? 'everywhere')
  const seen = await observe(engine, last, paths, look?.dirty)
  const isFull = look?.dirty === undefined
  if (isFull) await hearOfUnaudited(engine)
  const result = await captured(engine, last, seen, { ...wish, past: pastFlights(engine) }, lock)
  look?.done()
  if (isFull) engine.unaudited.clear()
  return result
}

async function captured(
  engine: Engine,
  last: LastKnown,
  seen: Observation,
  wish: RecordWish,
  lock: Exclusive,
): Promise<Captured> {
  const described = record(engine, last, seen, wish, lock)
  seen.remember()
  for (const { operation, changes } of described)
    if (changes !== undefined) noteChanges(engine, operation, await changes)
  const operations = described.map(({ operation }) => operation)
  return { last: { state: seen.state, skipped: seen.skipped, skippedBlob: seen.skippedBlob }, operations }
}

/** Whether anything differs from the last operation. Records nothing, and leaves no trace. */
export async function hasChanged(engine: Engine): Promise<boolean> {
  const last = readLastKnown(engine)
  if (last === undefined) return true
  const seen = await observe(engine, last)
  return changedPaths(seen.batch, last.state, seen.state).length > 0
}

// A tool that names a folder (to move or delete it) touches everything in it.
function isFolder(engine: Engine, last: LastKnown, path: RelPath): boolean {
  if (hasFolder(engine.objects, last.state.tree, path)) return true
  return engine.fs.lstat(joinAbs(engine.root, path))?.kind === 'folder' && isFolderOnDisk(engine, path)
}

async function firstCapture(engine: Engine, wish: CaptureWish, lock: Exclusive): Promise<Captured> {
  const seen = await observe(engine, undefined)
  const git = engine.user.position()
  const taken = { before: seen.state.snapshot, after: seen.state.snapshot, skipped: seen.skippedBlob }
  const baseline = engine.log.append(seen.batch, { kind: 'baseline', git }, taken, lock, [])
  seen.remember()
  const last = { state: seen.state, skipped: seen.skipped, skippedBlob: seen.skippedBlob }
  if (wish.closing === undefined) return { last, operations: [baseline] }
  return capture(engine, wish, lock)
}

interface RecordWish extends CaptureWish {
  /** Steps that have ended, and may have changed what only a full look finds. */
  readonly past?: readonly PastFlight[]
}

interface Recorded {
  readonly operation: Operation
  /** What git has still to tell. */
  readonly changes?: Promise<readonly NewChange[]>
}

function record(
  engine: Engine,
  last: LastKnown,
  seen: Observation,
  wish: RecordWish,
  lock: Exclusive,
): readonly Recorded[] {
  const flights = engine.flights.list()
  const claims = attribute({
    paths: changedPaths(seen.batch, last.state, seen.state),
    flights,
    ...optional('closing', wish.closing),
    adopted: seen.adopted,
    past: (path) => pastOwner(engine, wish.past ?? [], path),
  })
  const all = withClosing(claims, wish.closing)
  if (all.length === 0) return []
  const git = engine.user.position()
  const operations: Recorded[] = []
  let before = last.state
  all.forEach((claim, at) => {
    const isLast = at === all.length - 1
    const after = isLast ? seen.state : partWay(seen.batch, before, seen.state, claim.paths)
    const taken = {
      before: before.snapshot,
      after: after.snapshot,
      skipped: isLast ? seen.skippedBlob : last.skippedBlob,
    }
    const missed = missedBy(engine, claim.flight, last, seen)
    const told = tellPlainly(seen.batch, before, after)
    const unpublished = engine.log.prepare(seen.batch, draftOf(claim, wish, missed, git), taken, lock)
    // Asked as soon as git can read it: it answers while we wait for the disk.
    const changes = told === undefined ? askGit(engine, before, after) : undefined
    changes?.catch(() => {}) // awaited by the caller, unless something else fails before
    operations.push({ operation: engine.log.happen(unpublished, told), ...optional('changes', changes) })
    before = after
  })
  return operations
}

// A step that changed nothing still ran: its command is part of the history.
function withClosing(claims: readonly Claim[], closing: Flight | undefined): readonly Claim[] {
  if (closing === undefined || claims.some((claim) => claim.flight?.step === closing.step)) return claims
  const certainty = closing.paths.length > 0 ? 'exact' : 'inferred'
  return [...claims, { flight: closing, certainty, paths: [] }]
}

function draftOf(
  claim: Claim,
  wish: CaptureWish,
  missed: readonly Skipped[],
  git: GitPosition,
): Parameters<Engine['log']['append']>[1] {
  const { flight } = claim
  if (flight === undefined) return { kind: 'user-edit', git, ...optional('label', wish.label) }
  return {
    kind: 'step',
    git,
    session: flight.session,
    turn: flight.turn,
    step: flight.step,
    tool: flight.tool,
    agent: flight.agent,
    ...optional('agentId', flight.agentId),
    ...optional('part', flight.part),
    ...optional('command', flight.command),
    paths: flight.paths,
    certainty: claim.certainty,
    ended: flight.step === wish.closing?.step || isPast(flight),
    beganMs: flight.beganMs,
    ...optional('missed', missed.length > 0 ? missed : undefined),
  }
}

// Compared with the list of when the step began: what changed before that was somebody else's doing.
function missedBy(
  engine: Engine,
  flight: Flight | undefined,
  last: LastKnown,
  seen: Observation,
): readonly Skipped[] {
  if (flight === undefined || flight.paths.length > 0 || isPast(flight)) return []
  const { skipped } = flight
  const isKept = skipped !== undefined && engine.objects.has(skipped)
  return seen.missedSince(isKept ? readSkipped(engine.objects, skipped) : last.skipped)
}

/** Every path that differs between two states: content, kind, permission bits, and folders of their own. */
export function changedPaths(objects: Objects, before: State, after: State): readonly RelPath[] {
  const paths = new Set(diffTrees(objects, before.tree, after.tree).map((diff) => diff.path))
  for (const { path } of permChanges(objects, before, after)) paths.add(path)
  for (const { path } of folderChanges(objects, before, after)) paths.add(path)
  return [...paths]
}

function permChanges(objects: Objects, before: State, after: State): readonly NewChange[] {
  if (before.snapshot.attrs === after.snapshot.attrs) return []
  const changes: NewChange[] = []
  for (const path of new Set([...before.attrs.files.keys(), ...after.attrs.files.keys()])) {
    if (before.attrs.files.get(path) === after.attrs.files.get(path)) continue
    const old = findLeaf(objects, before.tree, path)
    const now = findLeaf(objects, after.tree, path)
    if (old === undefined || now === undefined || old.blob !== now.blob || old.mode !== now.mode) continue
    if (permOf(before.attrs, path, old) !== permOf(after.attrs, path, now))
      changes.push(bareChange(path, 'mode'))
  }
  return changes
}

// A folder counts as a change of its own only where no file tells of it already.
function folderChanges(objects: Objects, before: State, after: State): readonly NewChange[] {
  if (before.snapshot.attrs === after.snapshot.attrs) return []
  const changes: NewChange[] = []
  for (const path of after.attrs.bare.keys()) {
    if (!before.attrs.bare.has(path) && !hasFolder(objects, before.tree, path))
      changes.push(bareChange(path, 'add'))
  }
  for (const path of before.attrs.bare.keys()) {
    if (!after.attrs.bare.has(path) && !hasFolder(objects, after.tree, path))
      changes.push(bareChange(path, 'delete'))
  }
  for (const path of folderPermPaths(before.attrs, after.attrs)) {
    const old = folderPermIn(objects, before, path)
    const now = folderPermIn(objects, after, path)
    if (old !== undefined && now !== undefined && old !== now) changes.push(bareChange(path, 'mode'))
  }
  return changes
}

function folderPermPaths(before: Attrs, after: Attrs): ReadonlySet<RelPath> {
  return new Set([
    ...before.folders.keys(),
    ...after.folders.keys(),
    ...before.bare.keys(),
    ...after.bare.keys(),
  ])
}

function bareChange(path: RelPath, kind: NewChange['kind']): NewChange {
  return { path, kind, additions: 0, deletions: 0, binary: false }
}

/** What one state differs from another by, in git's words and counts, and in what git does not see. */
export async function describeStates(
  engine: Engine,
  before: State,
  after: State,
): Promise<readonly NewChange[]> {
  return tellPlainly(engine.objects, before, after) ?? (await askGit(engine, before, after))
}

/** The same without git, where its answer is beyond doubt. A damaged object is for git to stumble over: it says more. */
export function tellPlainly(
  objects: SizedObjects,
  before: State,
  after: State,
): readonly NewChange[] | undefined {
  try {
    const told = plainChanges(objects, before.tree, after.tree)
    return told === undefined ? undefined : withUnseen(objects, before, after, told)
  } catch (error) {
    if (!isFailure(error, 'store-damaged')) throw error
    return undefined
  }
}

async function askGit(engine: Engine, before: State, after: State): Promise<readonly NewChange[]> {
  const told = await engine.describer.describe(before.tree, after.tree).catch((error: unknown) => {
    if (!(error instanceof UnturnError) || !damages.has(error.code)) throw error
    return tellUncounted(engine, before, after, error)
  })
  return withUnseen(engine.objects, before, after, told)
}

// Git needs the bytes of every file to count lines and to find renames. One that is damaged, in a pack of the user's that
// we took over, say, must not hide what became of all others (K7).
function tellUncounted(
  engine: Engine,
  before: State,
  after: State,
  cause: UnturnError,
): readonly NewChange[] {
  const changes = diffTrees(engine.objects, before.tree, after.tree).map(uncounted)
  engine.warn(`Lines were not counted, and renames not looked for: ${cause.message}`)
  return changes
}

function uncounted({ path, before, after }: PathDiff): NewChange {
  const sides = { ...optional('before', before), ...optional('after', after) }
  return { path, kind: plainKind(before, after), additions: 0, deletions: 0, binary: false, ...sides }
}

function plainKind(before: Leaf | undefined, after: Leaf | undefined): NewChange['kind'] {
  if (before === undefined) return 'add'
  if (after === undefined) return 'delete'
  if ((before.mode === '120000') !== (after.mode === '120000')) return 'type'
  return before.blob === after.blob ? 'mode' : 'modify'
}

function withUnseen(
  objects: Objects,
  before: State,
  after: State,
  seen: readonly NewChange[],
): readonly NewChange[] {
  const changes = [...seen]
  const told = new Set(changes.map((change) => change.path))
  for (const change of [...permChanges(objects, before, after), ...folderChanges(objects, before, after)]) {
    if (!told.has(change.path)) changes.push(change)
  }
  return changes.sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** Fills the index with the operation's changes. */
export async function describeOperation(engine: Engine, operation: Operation): Promise<void> {
  const before = readState(engine.objects, operation.before)
  const after = readState(engine.objects, operation.after)
  const changes = operation.record.kind === 'baseline' ? [] : await describeStates(engine, before, after)
  noteChanges(engine, operation, changes)
}

function noteChanges(engine: Engine, operation: Operation, changes: readonly NewChange[]): void {
  engine.log.index.atomically(() => engine.log.index.describe(operation, changes))
}

const damages: ReadonlySet<FailureCode> = new Set(['store-damaged', 'git-failed', 'bad-path'])

const undescribedAtOnce = 100

// After a rebuild it is the whole history.
function* undescribed({ log }: Engine): IterableIterator<Operation> {
  for (let behind = 0; ; ) {
    const next = log.index.undescribed(behind, undescribedAtOnce)
    yield* next
    const last = next.at(-1)
    if (last === undefined) return
    behind = last.record.seq
  }
}

/** After a crash or a rebuild some operations have no changes in the index yet. */
export async function describeAll(engine: Engine): Promise<void> {
  for (const operation of undescribed(engine)) {
    try {
      await describeOperation(engine, operation)
    } catch (error) {
      // One damaged operation must not keep all others from being used (K7, M14).
      if (!(error instanceof UnturnError) || !damages.has(error.code)) throw error
      engine.warn(`The changes of operation ${operation.record.id} cannot be told: ${error.message}`)
    }
  }
}
