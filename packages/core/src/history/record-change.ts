/**
 * Recording a change that an agent has made itself and tells of afterwards, with the bytes from before and after.
 * The disk is not asked for content: by the time this runs the agent may have written the same file again.
 */

import type { Flight } from '../log/flights.ts'
import type { Taken } from '../log/log.ts'
import { type Draft, type GitPosition, optional } from '../log/record.ts'
import type { ChangeRow, Operation, TurnRow } from '../log/rows.ts'
import { folderPermOf, permOf } from '../store/attrs.ts'
import type { ObjectBatch } from '../store/objects.ts'
import { findLeaf, hasFolder, type Leaf } from '../store/trees.ts'
import { type Exclusive, foldersAbove, type RelPath, type StepId, type TurnId } from '../values.ts'
import type { Looked } from '../workspace/scan.ts'
import { capture, describeOperation, tellPlainly } from './capture.ts'
import type { Engine } from './engine.ts'
import { isFolderOnDisk, type LastKnown, readLastKnown } from './observe.ts'
import { endImplicit, requireTurn } from './recording.ts'
import { type State, sameSnapshot, stateOf } from './snapshots.ts'

/** One file that an agent has changed. Null: it was, or is, not there. No `before`: as the last operation left it. */
export interface ToldChange {
  readonly turn: TurnId
  readonly step: StepId
  readonly path: RelPath
  readonly before?: Uint8Array | null
  readonly after: Uint8Array | null
  readonly tool: string
  readonly agentId?: string
  readonly part?: string
  readonly command?: string
  readonly atMs: number
}

/**
 * Puts the change into the log as a step of its turn. What the file was before is taken from the agent, too: where
 * that is not what the last operation left, somebody wrote in between, and it becomes that somebody's own operation.
 */
export async function recordChange(
  engine: Engine,
  told: ToldChange,
  lock: Exclusive,
): Promise<readonly ChangeRow[]> {
  const flight = flightOf(requireTurn(engine, told.turn), told)
  endImplicit(engine, told.turn)
  const last = readLastKnown(engine) ?? (await capture(engine, {}, lock)).last
  const look = engine.scanner.look(engine.stat.cache, [told.path])[0]
  if (isPlain(engine, look, last, told.path)) await recordTold(engine, told, flight, last, look, lock)
  else await recordSeen(engine, flight, lock)
  return engine.log.index.changesOfStep(told.step)
}

/** A file that two steps have at the same time, as the one that ends tells it: what it found, and what it made of it. */
export interface ToldShare {
  readonly path: RelPath
  /** No `before`: as the last operation left it. */
  readonly before?: Uint8Array
  readonly after: Uint8Array
}

/** Another step that may be writing the same file right now: one that names it, before one that names nothing. */
export function findRival(engine: Engine, step: StepId, path: RelPath): Flight | undefined {
  const others = engine.flights.list().filter((flight) => flight.step !== step && !flight.implicit)
  return (
    others.find((flight) => flight.paths.includes(path)) ?? others.find((flight) => flight.paths.length === 0)
  )
}

/**
 * Gives each of two steps its own part of a file, while both are in flight. Without this, the one that ends first would be
 * given the work of both, and its undo would take the other's along (P11). Does nothing where there is no other.
 */
export async function recordShare(
  engine: Engine,
  step: StepId,
  told: ToldShare,
  lock: Exclusive,
): Promise<void> {
  const flight = engine.flights.find(step)
  const rival = findRival(engine, step, told.path)
  const last = readLastKnown(engine)
  const look = engine.scanner.look(engine.stat.cache, [told.path])[0]
  if (flight === undefined || rival === undefined || last === undefined) return
  if (isPlain(engine, look, last, told.path)) await recordTold(engine, told, flight, last, look, lock, rival)
}

// An agent that writes through a link tells the bytes of the link's target, which are not what stands at this path.
function isPlain(engine: Engine, look: Looked | undefined, last: LastKnown, path: RelPath): boolean {
  if (look === undefined || !('kind' in look) || look.kind === 'link' || look.kind === 'folder') return false
  return findLeaf(engine.objects, last.state.tree, path)?.mode !== '120000'
}

async function recordSeen(engine: Engine, flight: Flight, lock: Exclusive): Promise<void> {
  engine.flights.begin(flight)
  await capture(engine, { paths: flight.paths, closing: flight }, lock)
  engine.flights.end(flight.step)
}

async function recordTold(
  engine: Engine,
  told: Pick<ToldChange, 'path' | 'before' | 'after'>,
  flight: Flight,
  last: LastKnown,
  look: Looked | undefined,
  lock: Exclusive,
  rival?: Flight,
): Promise<void> {
  const batch = engine.objects.newBatch()
  const git = engine.user.position()
  const perm = look !== undefined && 'kind' in look && look.kind === 'file' ? look.perm : undefined
  const before = withContent(engine, batch, last.state, told.path, told.before, perm)
  const after = withContent(engine, batch, before, told.path, told.after, perm)
  const foreign = foreignEdit(last, before, git, rival)
  // Where two are at it, the step goes on: its end is recorded like any other.
  const step = stepOf(flight, { before, after, last, git }, rival === undefined)
  const untold: Operation[] = []
  for (const { draft, taken, from, to } of [...foreign, step]) {
    const told = tellPlainly(batch, from, to)
    const operation = engine.log.append(batch, draft, taken, lock, told)
    if (told === undefined) untold.push(operation)
  }
  for (const operation of untold) await describeOperation(engine, operation)
}

interface Appended {
  readonly draft: Draft
  readonly taken: Taken
  readonly from: State
  readonly to: State
}

function foreignEdit(
  last: LastKnown,
  before: State,
  git: GitPosition,
  rival: Flight | undefined,
): readonly Appended[] {
  if (sameSnapshot(last.state.snapshot, before.snapshot)) return []
  if (rival !== undefined) return [stepOf(rival, { before: last.state, after: before, last, git }, false)]
  const taken = { before: last.state.snapshot, after: before.snapshot, skipped: last.skippedBlob }
  return [{ draft: { kind: 'user-edit', git }, taken, from: last.state, to: before }]
}

interface Span {
  readonly before: State
  readonly after: State
  readonly last: LastKnown
  readonly git: GitPosition
}

function stepOf(flight: Flight, { before, after, last, git }: Span, ended: boolean): Appended {
  const { implicit: _, late, skipped: __, ...step } = flight
  const certainty = late === true || flight.paths.length === 0 ? 'inferred' : 'exact'
  const draft = { kind: 'step', git, ...step, certainty, ended } as const
  const taken = { before: before.snapshot, after: after.snapshot, skipped: last.skippedBlob }
  return { draft, taken, from: before, to: after }
}

function flightOf(turn: TurnRow, told: ToldChange): Flight {
  return {
    step: told.step,
    session: turn.session,
    turn: turn.id,
    tool: told.tool,
    agent: turn.agent,
    ...optional('agentId', told.agentId ?? turn.agentId),
    ...optional('part', told.part),
    ...optional('command', told.command),
    paths: [told.path],
    beganMs: told.atMs,
    implicit: false,
  }
}

/** The state with these bytes at the path. Permission bits are those on disk, or else those that were there. */
function withContent(
  engine: Engine,
  batch: ObjectBatch,
  state: State,
  path: RelPath,
  content: Uint8Array | null | undefined,
  onDisk: number | undefined,
): State {
  if (content === undefined) return state
  const known = findLeaf(batch, state.tree, path)
  if (content === null) return known === undefined ? state : withoutFile(engine, batch, state, path)
  const blob = batch.blob(content)
  if (known?.blob === blob) return state
  const usual = known === undefined ? state.attrs.defaults.file : permOf(state.attrs, path, known)
  return withFile(batch, state, path, blob, onDisk ?? usual)
}

function withFile(batch: ObjectBatch, state: State, path: RelPath, blob: Leaf['blob'], perm: number): State {
  const { defaults } = state.attrs
  const isExec = (perm & 0o100) !== 0
  const tree = batch.edit(state.tree, new Map([[path, { mode: isExec ? '100755' : '100644', blob }]]))
  const files = new Map(state.attrs.files)
  if (perm === (isExec ? defaults.exec : defaults.file)) files.delete(path)
  else files.set(path, perm)
  const bare = new Map(state.attrs.bare)
  for (const folder of foldersAbove(path)) bare.delete(folder)
  return stateOf(tree, { ...state.attrs, files, bare }, (bytes) => batch.blob(bytes))
}

function withoutFile(engine: Engine, batch: ObjectBatch, state: State, path: RelPath): State {
  const tree = batch.edit(state.tree, new Map([[path, undefined]]))
  const files = new Map(state.attrs.files)
  files.delete(path)
  const bare = new Map(state.attrs.bare)
  for (const folder of foldersAbove(path)) {
    if (!hasFolder(batch, tree, folder) && isFolderOnDisk(engine, folder))
      bare.set(folder, folderPermOf(state.attrs, folder))
  }
  return stateOf(tree, { ...state.attrs, files, bare }, (bytes) => batch.blob(bytes))
}
