/** Looking: what a face shows of the history. Reads only, and mostly the index. */

import type { TurnTotals } from '../log/index-db.ts'
import type { ChangeRow, Operation, SessionRow, StepRow, TurnRow } from '../log/rows.ts'
import { readSkipped } from '../log/skipped-list.ts'
import { patch } from '../store/describe.ts'
import type { ChangeId, RelPath, SessionId, Snapshot, TurnId } from '../values.ts'
import { isFolderSignature } from '../workspace/scan.ts'
import type { Engine } from './engine.ts'
import { pathTo, readTurnTree, revertedTurns, type TurnTree } from './points.ts'
import { requireTurn, unknownId, whyRunning } from './recording.ts'
import { resolveAny } from './resolve.ts'

export interface SessionView {
  readonly session: SessionRow
  readonly turns: number
  readonly reverted: readonly TurnId[]
  readonly running: readonly TurnId[]
  readonly isActive: boolean
}

export interface StatusView {
  readonly sessions: readonly SessionView[]
  readonly lastCapture?: { readonly atMs: number; readonly seq: number }
  readonly operations: number
  readonly store: StoreSize
}

export interface StoreSize {
  readonly bytes: number
  /** Packs linked from the user's own repository: they take no room of their own while that repository has them. */
  readonly borrowedBytes: number
  readonly packs: number
}

export function statusOf(engine: Engine): StatusView {
  const { index } = engine.log
  const last = index.lastOperation()
  return {
    sessions: index.sessions().map((session, at) => sessionView(engine, session, at === 0)),
    ...(last === undefined ? {} : { lastCapture: { atMs: last.record.atMs, seq: last.record.seq } }),
    operations: index.counts().operations,
    store: storeSize(engine),
  }
}

/** One session; undefined where there is none of that id. */
export function sessionViewOf(engine: Engine, id: SessionId): SessionView | undefined {
  const sessions = engine.log.index.sessions()
  const at = sessions.findIndex((session) => session.id === id)
  const session = sessions[at]
  return session === undefined ? undefined : sessionView(engine, session, at === 0)
}

function sessionView(engine: Engine, session: SessionRow, isActive: boolean): SessionView {
  const tree = readTurnTree(engine, session.id)
  const running = engine.log.index
    .openTurns(session.id)
    .filter((turn) => whyRunning(engine, turn) !== undefined)
  return {
    session,
    turns: tree.turns.size,
    reverted: revertedTurns(tree).map((turn) => turn.id),
    running: running.map((turn) => turn.id),
    isActive,
  }
}

export function storeSize(engine: Engine): StoreSize {
  const packs = engine.objects.packSizes().filter((pack) => pack.bytes > 0)
  const own = packs.filter((pack) => !pack.borrowed)
  const sum = (list: typeof packs) => list.reduce((bytes, pack) => bytes + pack.bytes, 0)
  return { bytes: sum(own), borrowedBytes: sum(packs) - sum(own), packs: packs.length }
}

export interface TurnView {
  readonly turn: TurnRow
  readonly isHead: boolean
  readonly isReverted: boolean
  readonly files: number
  readonly additions: number
  readonly deletions: number
  /** How deep it stands in the tree, for drawing. */
  readonly depth: number
}

/** The turns of a session, oldest first. */
export function turnViews(engine: Engine, session: SessionId): readonly TurnView[] {
  return viewsIn(readTurnTree(engine, session), engine.log.index.turnTotals(session))
}

/** One turn: what the others have changed is not summed up for it. */
export function turnViewOf(engine: Engine, id: TurnId): TurnView | undefined {
  const { index } = engine.log
  const session = index.findTurn(id)?.session
  if (session === undefined) return undefined
  const views = viewsIn(readTurnTree(engine, session), new Map([[id, totalsOf(index.changesOfTurn(id))]]))
  return views.find(({ turn }) => turn.id === id)
}

function totalsOf(changes: readonly ChangeRow[]): TurnTotals {
  const sum = (key: 'additions' | 'deletions') => changes.reduce((all, change) => all + change[key], 0)
  const files = new Set(changes.map(({ path }) => path)).size
  return { files, additions: sum('additions'), deletions: sum('deletions') }
}

function viewsIn(tree: TurnTree, totals: ReadonlyMap<TurnId, TurnTotals>): readonly TurnView[] {
  const onPath = new Set(pathTo(tree, tree.head).map((point) => point.turn))
  const depths = depthsIn(tree)
  return [...tree.turns.values()].map((turn) => ({
    turn,
    isHead: tree.head.turn === turn.id,
    isReverted: !onPath.has(turn.id),
    depth: depths.get(turn.id) ?? 0,
    ...(totals.get(turn.id) ?? noChanges),
  }))
}

const noChanges = { files: 0, additions: 0, deletions: 0 } as const

// A parent began before its children, so it comes first. To walk up from each turn would take seconds for thousands.
function depthsIn(tree: TurnTree): ReadonlyMap<TurnId, number> {
  const depths = new Map<TurnId, number>()
  for (const { id, parent } of tree.turns.values())
    depths.set(id, parent.turn === null ? 0 : (depths.get(parent.turn) ?? -1) + 1)
  return depths
}

// ---- points in time, for diffs -------------------------------------------------------------------------------------

/** Before and after of anything that has an id. */
export function spanOf(engine: Engine, session: SessionId | undefined, typed: string): Span {
  const resolved = resolveAny(engine, session, typed)
  switch (resolved.kind) {
    case 'turn':
      return spanOfOperations(engine.log.index.operationsOfTurn(requireTurn(engine, resolved.id).id), typed)
    case 'step':
      return spanOfOperations(engine.log.index.operationsOfStep(resolved.id), typed)
    case 'operation':
      return spanOfOperations([engine.log.index.findOperation(resolved.id)].filter(isThere), typed)
    case 'change':
      return spanOfChange(engine, resolved.id, typed)
  }
}

export interface Span {
  readonly before: Snapshot
  readonly after: Snapshot
  readonly paths?: readonly RelPath[]
}

function spanOfOperations(operations: readonly Operation[], typed: string): Span {
  const first = operations[0]
  const last = operations.at(-1)
  if (first === undefined || last === undefined) throw unknownId(typed, 'operation')
  return { before: first.before, after: last.after }
}

function spanOfChange(engine: Engine, id: ChangeId, typed: string): Span {
  const change = engine.log.index.findChanges({ changes: [id], everybody: true })[0]
  const operation = change === undefined ? undefined : engine.log.index.operationAt(change.opSeq)
  if (change === undefined || operation === undefined) throw unknownId(typed, 'change')
  const paths = change.from === undefined ? [change.path] : [change.path, change.from]
  return { before: operation.before, after: operation.after, paths }
}

function isThere<T>(value: T | undefined): value is T {
  return value !== undefined
}

/**
 * What a turn itself changed, as a patch: its own operations only, so that what the user did in between is not in it.
 * Operations that touch each other are shown as one.
 */
export async function patchOfTurn(engine: Engine, turn: TurnId, options: PatchOptions = {}): Promise<Buffer> {
  return patchOfOperations(engine, engine.log.index.stepOperations(turn), options)
}

export interface PatchOptions {
  readonly paths?: readonly RelPath[]
  readonly stat?: boolean
  /** Lines that differ in their spaces alone count as the same. */
  readonly ignoreWhitespace?: boolean
}

export async function patchOfOperations(
  engine: Engine,
  operations: readonly Operation[],
  options: PatchOptions,
): Promise<Buffer> {
  const parts: Buffer[] = []
  let open: Span | undefined
  for (const { before, after } of operations) {
    if (open !== undefined && open.after.tree === before.tree) open = { before: open.before, after }
    else {
      if (open !== undefined) parts.push(await patchBetween(engine, open.before, open.after, options))
      open = { before, after }
    }
  }
  if (open !== undefined) parts.push(await patchBetween(engine, open.before, open.after, options))
  return Buffer.concat(parts)
}

export function patchBetween(
  engine: Engine,
  before: Snapshot,
  after: Snapshot,
  options: PatchOptions,
): Promise<Buffer> {
  return patch(engine.git, before.tree, after.tree, options)
}

export function stepsOf(engine: Engine, turn: TurnId): readonly StepRow[] {
  return engine.log.index.steps(turn)
}

/** Folders that the last capture left out as ignored, `node_modules` and its like; topmost ones only. */
export function ignoredFolders(engine: Engine): readonly RelPath[] {
  const last = engine.log.index.lastOperation()
  if (last === undefined) return []
  return [...readSkipped(engine.objects, last.skipped).values()]
    .filter(({ skipped, signature }) => skipped.reason === 'ignored' && isFolderSignature(signature))
    .map(({ skipped }) => skipped.path)
}
