/**
 * Snapshots by hash, for agents that keep their own history: take one, see what changed since, put files back.
 *
 * A snapshot is the state that some operation of the log left behind, so it stays restorable as long as that
 * operation is kept: retention drops old sessions with their snapshots, and a dropped one is an error, never an
 * empty workspace.
 */

import { textOfBytes } from '../errors.ts'
import { changedPaths } from '../history/capture.ts'
import { unknownId } from '../history/recording.ts'
import { readState } from '../history/snapshots.ts'
import { requireSnapshot } from '../history/to-snapshot.ts'
import { skippedJson } from '../json.ts'
import { type OperationKind, optional } from '../log/record.ts'
import type { Operation } from '../log/rows.ts'
import { patch } from '../store/describe.ts'
import type { Repacked } from '../store/repack.ts'
import { listTree } from '../store/trees.ts'
import type { BlobId, OpId, RelPath, SessionId, Snapshot, TreeId, TurnId } from '../values.ts'
import { type MoveResult, relPathOf, resultOfEnacted, type SkippedResult } from './words.ts'
import type { WorkspacePort } from './workspace-port.ts'

/** Names a snapshot: its tree, and what a git tree cannot hold. Equal states have equal hashes. */
export type SnapshotHash = string

/** The files that changed since a snapshot. */
export interface SnapshotPatch {
  readonly hash: SnapshotHash
  readonly files: readonly string[]
}

export interface FullDiff {
  readonly path: string
  readonly status: 'added' | 'deleted' | 'modified' | 'renamed'
  readonly from?: string
  /** The whole text; empty where there is no file, and for binary ones. */
  readonly before: string
  readonly after: string
  readonly binary: boolean
  readonly additions: number
  readonly deletions: number
}

export interface SnapshotInfo {
  readonly hash: SnapshotHash
  /** The operation that left this state behind. */
  readonly op: OpId
  readonly kind: OperationKind
  readonly session?: SessionId
  readonly turn?: TurnId
  /** ISO 8601. */
  readonly at: string
}

export interface Capture extends SnapshotInfo {
  /** Files that are captured although the user's git does not track them: what was there before the agent came. */
  readonly untracked: readonly string[]
  /** What is there and was not captured; no restore touches it. */
  readonly skipped: readonly SkippedResult[]
}

export interface SnapshotFilter {
  readonly session?: string
  readonly turn?: string
  readonly limit?: number
}

export class Snapshots {
  readonly #workspace: WorkspacePort

  constructor(workspace: WorkspacePort) {
    this.#workspace = workspace
  }

  /** The state of now, by its hash. */
  async track(): Promise<SnapshotHash> {
    return hashOf(await this.#now())
  }

  /** What changed since a snapshot, whoever did it. */
  async patch(hash: SnapshotHash): Promise<SnapshotPatch> {
    const { objects } = this.#workspace.engine
    const then = this.#read(hash)
    const now = await this.#now()
    const paths = changedPaths(objects, readState(objects, then), readState(objects, now))
    return { hash, files: [...paths].sort().map(textOfBytes) }
  }

  /**
   * Puts the files of patches back as they were in the patch's snapshot; a file that was not there then goes. Of a file
   * that is in several patches the first one counts. What was written since is overwritten, and recoverable:
   * `session.rollback({ ops: [result.op] })`.
   */
  async revert(patches: readonly SnapshotPatch[], options: SnapshotMove = {}): Promise<MoveResult> {
    const reverts = patches.map(({ hash, files }) => ({
      snapshot: this.#read(hash),
      paths: files.map((path) => this.#pathOf(path)),
    }))
    return resultOfEnacted(await this.#workspace.revertPaths(reverts, options))
  }

  /** The whole workspace exactly as it was; recoverable like every operation. */
  async restore(hash: SnapshotHash, options: SnapshotMove = {}): Promise<MoveResult> {
    return resultOfEnacted(await this.#workspace.restoreSnapshot(this.#read(hash), options))
  }

  /** From a snapshot to now, as a unified diff. */
  async diff(hash: SnapshotHash): Promise<string> {
    const then = this.#read(hash)
    const now = await this.#now()
    return (await patch(this.#workspace.engine.git, then.tree, now.tree)).toString('utf8')
  }

  /** From one snapshot to another, with the whole text of both sides. */
  async diffFull(from: SnapshotHash, to: SnapshotHash): Promise<readonly FullDiff[]> {
    const { describer } = this.#workspace.engine
    const changes = await describer.describe(this.#read(from).tree, this.#read(to).tree)
    return changes.map((change) => ({
      path: textOfBytes(change.path),
      status: statusOf(change),
      ...optional('from', change.from === undefined ? undefined : textOfBytes(change.from)),
      before: this.#textOf(change.before?.blob, change.binary),
      after: this.#textOf(change.after?.blob, change.binary),
      binary: change.binary,
      additions: change.additions,
      deletions: change.deletions,
    }))
  }

  /** Drops what retention does not keep, and packs the rest. */
  cleanup(): Promise<Repacked> {
    return this.gc()
  }

  /** The same with limits of your own: sessions that were last active longer ago than `gcMaxAge` go, too. */
  gc({ gcMaxAge }: GcOptions = {}): Promise<Repacked> {
    return this.#workspace.gc(optional('maxAgeMs', gcMaxAge))
  }

  /** Takes a snapshot and says what it holds. What a running turn has changed by then is recorded as that turn's. */
  async capture(options: { readonly label?: string } = {}): Promise<Capture> {
    const { skipped } = await this.#workspace.capture(options.label)
    const operation = this.#last()
    return {
      ...infoOf(operation),
      untracked: this.#untracked(operation.after.tree),
      skipped: skipped.map(skippedJson),
    }
  }

  /** States that the workspace was in, newest first; by session or turn. */
  list({ session, turn, limit = 100 }: SnapshotFilter = {}): readonly SnapshotInfo[] {
    const { index } = this.#workspace
    const operations =
      turn === undefined
        ? index.operations(optional('session', session as SessionId | undefined))
        : [...index.operationsOfTurn(turn as TurnId)].reverse()
    const infos: SnapshotInfo[] = []
    for (const operation of operations) {
      const info = infoOf(operation)
      if (infos.at(-1)?.hash === info.hash)
        infos.pop() // nothing changed in between: the older one made this state
      else if (infos.length >= limit) break
      infos.push(info)
    }
    return infos
  }

  async #now(): Promise<Snapshot> {
    await this.#workspace.capture()
    return this.#last().after
  }

  #last(): Operation {
    const operation = this.#workspace.index.lastOperation()
    if (operation === undefined) throw new Error('a capture leaves an operation behind')
    return operation
  }

  #read(hash: SnapshotHash): Snapshot {
    const ids = /^([0-9a-f]{40})-([0-9a-f]{40})$/.exec(hash)
    if (ids === null) throw unknownId(hash, 'snapshot')
    const snapshot = { tree: ids[1] as TreeId, attrs: ids[2] as BlobId }
    requireSnapshot(this.#workspace.engine, snapshot)
    return snapshot
  }

  #pathOf(path: string): RelPath {
    return relPathOf(this.#workspace.root, path)
  }

  #textOf(blob: BlobId | undefined, binary: boolean): string {
    return blob === undefined || binary ? '' : this.#workspace.engine.objects.readBlob(blob).toString('utf8')
  }

  #untracked(tree: TreeId): readonly string[] {
    const { engine } = this.#workspace
    const tracked = engine.user.tracked()
    const paths: string[] = []
    for (const [path] of listTree(engine.objects, tree))
      if (tracked?.entry(path) === undefined) paths.push(textOfBytes(path))
    return paths
  }
}

export interface GcOptions {
  /** In milliseconds; 30 days. */
  readonly gcMaxAge?: number
}

export interface SnapshotMove {
  /** Only say what would be done. */
  readonly dryRun?: boolean
}

function hashOf({ tree, attrs }: Snapshot): SnapshotHash {
  return `${tree}-${attrs}`
}

function infoOf({ record, after }: Operation): SnapshotInfo {
  return {
    hash: hashOf(after),
    op: record.id,
    kind: record.kind,
    ...optional('session', record.session),
    ...optional('turn', 'turn' in record ? record.turn : undefined),
    at: new Date(record.atMs).toISOString(),
  }
}

function statusOf(change: { readonly kind: string; readonly from?: RelPath }): FullDiff['status'] {
  if (change.from !== undefined) return 'renamed'
  if (change.kind === 'add') return 'added'
  return change.kind === 'delete' ? 'deleted' : 'modified'
}
