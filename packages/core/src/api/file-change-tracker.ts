/**
 * A recorder for agents that write files themselves (`fs_write`, `fs_patch`) and tell of it afterwards.
 *
 * Telling costs the agent next to nothing: `captureChange` returns at once, and the changes are put into the log in
 * the background, in the order in which they were told. The bytes are kept in memory until then.
 */

import { textOfBytes } from '../errors.ts'
import type { OnConflict } from '../history/enact.ts'
import { unknownId } from '../history/recording.ts'
import type { Selection } from '../history/rollback.ts'
import { optional } from '../log/record.ts'
import type { ListedChange } from '../log/rows.ts'
import { findLeaf } from '../store/trees.ts'
import type { SessionId, StepId, TreeId, TurnId } from '../values.ts'
import type { Turn } from './turn.ts'
import { type MoveResult, orNothing, relPathOf } from './words.ts'
import type { WorkspacePort } from './workspace-port.ts'

export type FileOperation = 'create' | 'modify' | 'delete'

/** Text is stored as UTF-8. Null: the file is not there. */
export type Content = string | Uint8Array | null

export interface ChangeMetadata {
  /** Which agent or subagent made the change: `rollbackAgent` goes by it. */
  readonly agentId?: string
  /** `fs_write`, `fs_patch`, …; the operation if nothing is said. */
  readonly tool?: string
  /** The agent's own id of the call. */
  readonly part?: string
}

export interface TrackedChange {
  /** Also the id of the step in the history: `unturn rollback --step` takes it. */
  readonly id: StepId
  readonly path: string
  readonly operation: FileOperation
  readonly agentId?: string
  readonly tool: string
  /** When it was told, in milliseconds. */
  readonly timestamp: number
  /** Lines; 0 until the change is recorded. */
  readonly additions: number
  readonly deletions: number
  /** False: told, and not in the log yet. */
  readonly recorded: boolean
  readonly rolledBack: boolean
}

export interface ChangeFilter {
  readonly path?: string
  readonly agentId?: string
  /** Told at or after this moment. */
  readonly after?: number | Date
  /** 100 if nothing is said. */
  readonly limit?: number
}

export interface RollbackOptions {
  readonly dryRun?: boolean
  readonly onConflict?: OnConflict
}

export interface TrackerEvents {
  /** The change is in the log. */
  readonly 'file:changed': TrackedChange
  /** A change could not be recorded. The file on disk is not affected. */
  readonly 'record:failed': { readonly id: StepId; readonly path: string; readonly error: unknown }
  readonly 'rollback:done': MoveResult
  readonly 'rollback:conflicts': MoveResult
}

type Listeners = { readonly [Name in keyof TrackerEvents]: Set<(event: TrackerEvents[Name]) => void> }

export class FileChangeTracker {
  readonly #workspace: WorkspacePort
  readonly #session: SessionId
  readonly #turn: TurnId
  /** Told, in this order, and not in the log yet. */
  readonly #waiting = new Map<StepId, TrackedChange>()
  readonly #failures: unknown[] = []
  #queue: Promise<void> = Promise.resolve()
  readonly #listeners: Listeners = {
    'file:changed': new Set(),
    'record:failed': new Set(),
    'rollback:done': new Set(),
    'rollback:conflicts': new Set(),
  }

  /** Records into this turn, which waits for it when it ends. */
  constructor(turn: Turn) {
    this.#workspace = turn.workspace
    this.#session = turn.session
    this.#turn = turn.id
    turn.finishFirst(() => this.settled())
  }

  /**
   * Tells that a file was changed, with its content from before and after. Returns at once; a path outside the
   * workspace is refused at once, too. `undefined`: you do not know what was there before; then it counts as what the
   * history last saw. Permission bits are taken from the file on disk.
   */
  captureChange(
    path: string,
    operation: FileOperation,
    before: Content | undefined,
    after: Content,
    metadata: ChangeMetadata = {},
  ): TrackedChange {
    const { engine, root } = this.#workspace
    const place = relPathOf(root, path)
    const change: TrackedChange = {
      id: engine.newId('s') as StepId,
      path: textOfBytes(place),
      operation,
      ...optional('agentId', metadata.agentId),
      tool: metadata.tool ?? operation,
      timestamp: engine.now(),
      additions: 0,
      deletions: 0,
      recorded: false,
      rolledBack: false,
    }
    this.#waiting.set(change.id, change)
    const told = {
      turn: this.#turn,
      step: change.id,
      path: place,
      ...optional('before', before === undefined ? undefined : bytesOf(before)),
      after: bytesOf(after),
      tool: change.tool,
      ...optional('agentId', metadata.agentId),
      ...optional('part', metadata.part),
      atMs: change.timestamp,
    }
    // Not before the agent's own code has run on: the lock is a call into SQLite, which blocks.
    this.#queue = this.#queue
      .then(() => new Promise<void>((resolve) => setImmediate(resolve)))
      .then(() => this.#workspace.recordChange(told))
      .then(
        () => this.#recorded(change),
        (error: unknown) => this.#failed(change, error),
      )
    return change
  }

  #recorded(change: TrackedChange): void {
    this.#waiting.delete(change.id)
    this.#emit('file:changed', this.#find(change.id) ?? { ...change, recorded: true })
  }

  #failed(change: TrackedChange, error: unknown): void {
    this.#waiting.delete(change.id)
    this.#failures.push(error)
    this.#emit('record:failed', { id: change.id, path: change.path, error })
  }

  /** Waits until everything that was told is in the log. Throws where something could not be recorded. */
  async settled(): Promise<void> {
    await this.#queue
    const failures = this.#failures.splice(0)
    if (failures.length === 1) throw failures[0]
    if (failures.length > 1)
      throw new AggregateError(failures, `${failures.length} changes could not be recorded.`)
  }

  // ---- looking -----------------------------------------------------------------------------------------------------

  /** The session's changes, newest first, those included that still wait to be recorded. */
  getChanges(filter: ChangeFilter = {}): readonly TrackedChange[] {
    const { limit = 100 } = filter
    const matches = matcher(filter, this.#workspace)
    const waiting = [...this.#waiting.values()].reverse().filter(matches)
    const rows = this.#workspace.index.listChanges({
      session: this.#session,
      ...optional(
        'paths',
        filter.path === undefined ? undefined : [relPathOf(this.#workspace.root, filter.path)],
      ),
      ...optional('agentIds', filter.agentId === undefined ? undefined : [filter.agentId]),
      ...(filter.after === undefined ? { limit } : {}),
    })
    const recorded = rows.map(trackedOf).filter(matches)
    return [...waiting, ...recorded].slice(0, limit)
  }

  /** The bytes of a recorded change. Null: no file there. */
  readChange(id: string): { readonly before: Buffer | null; readonly after: Buffer | null } {
    const row = this.#workspace.index.changesOfStep(id as StepId)[0]
    const operation = row === undefined ? undefined : this.#workspace.index.operationAt(row.opSeq)
    if (row === undefined || operation === undefined) throw unknownId(id, 'recorded change')
    const { objects } = this.#workspace.engine
    const read = (tree: TreeId) => {
      const leaf = findLeaf(objects, tree, row.path)
      return leaf === undefined ? null : objects.readBlob(leaf.blob)
    }
    return { before: read(operation.before.tree), after: read(operation.after.tree) }
  }

  #find(id: StepId): TrackedChange | undefined {
    const row = this.#workspace.index.listChanges({ steps: [id], limit: 1 })[0]
    return row === undefined ? undefined : trackedOf(row)
  }

  // ---- taking back -------------------------------------------------------------------------------------------------

  /** Takes one change out and keeps what came later. */
  rollbackFile(changeId: string, options: RollbackOptions = {}): Promise<MoveResult> {
    return this.#rollback(() => ({ steps: [changeId as StepId] }), options)
  }

  /** Takes out everything that one agent or subagent has changed in this session. */
  rollbackAgent(agentId: string, options: RollbackOptions = {}): Promise<MoveResult> {
    return this.#rollback(() => ({ agentIds: [agentId] }), options)
  }

  /** Takes out everything that was told at or after a moment. */
  rollbackAfter(timestamp: number | Date, options: RollbackOptions = {}): Promise<MoveResult> {
    return this.#rollback(() => ({ steps: this.#stepsSince(Number(timestamp)) }), options)
  }

  async #rollback(selection: () => Selection, options: RollbackOptions): Promise<MoveResult> {
    await this.settled()
    const result = await orNothing(null, () =>
      this.#workspace.rollback({
        session: this.#session,
        selection: selection(),
        look: 'selected',
        ...options,
      }),
    )
    if (result.kind === 'done') this.#emit('rollback:done', result)
    if (result.kind === 'conflicts') this.#emit('rollback:conflicts', result)
    return result
  }

  // The moment it was told counts, not the one when it came into the log.
  #stepsSince(ms: number): readonly StepId[] {
    const { index } = this.#workspace
    const steps = index.turns(this.#session).flatMap((turn) => index.steps(turn.id))
    const since = steps.filter((step) => step.beganMs >= ms).map((step) => step.id)
    return since.length > 0 ? since : ['none' as StepId] // an empty selection would mean everything
  }

  // ---- events ------------------------------------------------------------------------------------------------------

  /** Listens; the answer ends it. A listener that throws hurts nobody else. */
  on<Name extends keyof TrackerEvents>(
    name: Name,
    listener: (event: TrackerEvents[Name]) => void,
  ): () => void {
    const registered = (event: TrackerEvents[Name]) => listener(event)
    this.#listeners[name].add(registered)
    return () => this.#listeners[name].delete(registered)
  }

  #emit<Name extends keyof TrackerEvents>(name: Name, event: TrackerEvents[Name]): void {
    for (const listener of [...this.#listeners[name]]) {
      try {
        listener(event)
      } catch (error) {
        this.#workspace.engine.warn(`A listener failed: ${error instanceof Error ? error.message : error}`)
      }
    }
  }
}

function trackedOf(row: ListedChange): TrackedChange {
  return {
    id: row.step,
    path: textOfBytes(row.path),
    operation: row.kind === 'add' ? 'create' : row.kind === 'delete' ? 'delete' : 'modify',
    ...optional('agentId', row.agentId),
    tool: row.tool,
    timestamp: row.beganMs,
    additions: row.additions,
    deletions: row.deletions,
    recorded: true,
    rolledBack: row.isOut,
  }
}

function bytesOf(content: Content): Uint8Array | null {
  return typeof content === 'string' ? Buffer.from(content, 'utf8') : content
}

function matcher(filter: ChangeFilter, { root }: WorkspacePort): (change: TrackedChange) => boolean {
  const path = filter.path === undefined ? undefined : textOfBytes(relPathOf(root, filter.path))
  const after = filter.after === undefined ? Number.NEGATIVE_INFINITY : Number(filter.after)
  return (change) =>
    (path === undefined || change.path === path || change.path.startsWith(`${path}/`)) &&
    (filter.agentId === undefined || change.agentId === filter.agentId) &&
    change.timestamp >= after
}
