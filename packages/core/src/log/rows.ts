/** What the index answers: the rows of its tables as values, and how they are read. */

import { UnturnError } from '../errors.ts'
import type {
  BlobId,
  ChangeId,
  ChangeKind,
  CommitId,
  OpId,
  RelPath,
  SessionId,
  Snapshot,
  StepId,
  TreeId,
  TurnId,
} from '../values.ts'
import type { CommitNote, GitPosition, OperationRecord, Point, TurnStatus } from './record.ts'
import { optional, parseRecord } from './record.ts'

export type Row = Readonly<Record<string, string | number | bigint | null | Uint8Array>>

/** An operation as the log knows it: its record, its commit, its snapshots. */
export interface Operation {
  readonly record: OperationRecord
  readonly commit: CommitId
  readonly before: Snapshot
  readonly after: Snapshot
  /** The list of paths that were not captured, as a blob; see skipped-list.ts. */
  readonly skipped: BlobId
}

export interface SessionRow {
  readonly id: SessionId
  readonly agent: string
  readonly head: Point
  readonly lastSeq: number
}

export interface TurnRow {
  readonly id: TurnId
  readonly session: SessionId
  readonly parent: Point
  readonly agent: string
  readonly agentId?: string
  readonly prompt?: string
  readonly message?: string
  readonly pid?: number
  readonly status: TurnStatus | 'open'
  readonly beginSeq: number
  readonly endSeq?: number
  readonly beganMs: number
  readonly endedMs?: number
  readonly visitedSeq: number
  readonly commits: readonly CommitNote[]
  readonly gitBefore?: GitPosition
  readonly gitAfter?: GitPosition
}

export interface StepRow {
  readonly id: StepId
  readonly session: SessionId
  readonly turn: TurnId
  readonly tool: string
  readonly agent: string
  readonly agentId?: string
  readonly part?: string
  readonly command?: string
  readonly firstSeq: number
  readonly beganMs: number
}

/** One path of one operation, with git's own counts. */
export interface ChangeRow {
  readonly id: ChangeId
  readonly op: OpId
  readonly opSeq: number
  readonly path: RelPath
  readonly kind: ChangeKind
  readonly from?: RelPath
  readonly additions: number
  readonly deletions: number
  readonly binary: boolean
  readonly certainty: string
  readonly actor: string
  readonly agentId?: string
  readonly session?: SessionId
  readonly turn?: TurnId
  readonly step?: StepId
  readonly atMs: number
}

/** A change as a list shows it. */
export interface ListedChange
  extends Pick<ChangeRow, 'path' | 'kind' | 'additions' | 'deletions' | 'agentId'> {
  readonly step: StepId
  readonly tool: string
  /** When the step began. */
  readonly beganMs: number
  /** Something has taken it out of the files. */
  readonly isOut: boolean
}

export type NewChange = Pick<ChangeRow, 'path' | 'kind' | 'from' | 'additions' | 'deletions' | 'binary'>

/** A step operation, or some paths of it, that is out of the files now, and which stage of which operation took it out. */
export interface OutRow {
  readonly opSeq: number
  readonly path: RelPath | ''
  readonly bySeq: number
  readonly stage: number
}

export function maybe<T>(row: Row | undefined, make: (row: Row) => T): T | undefined {
  return row === undefined ? undefined : make(row)
}

export function text(row: Row, key: string): string {
  const value = row[key]
  if (typeof value === 'string') return value
  throw new UnturnError(
    'store-damaged',
    { what: `index.db: ${key}` },
    {
      message: `The query index has no ${key} where one belongs. The history itself is not affected.`,
      hint: 'Run "unturn doctor --repair" to rebuild the index.',
    },
  )
}

function id(row: Row, key: string): string {
  const value = row[key]
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : text(row, key)
}

function maybeText(row: Row, key: string): string | undefined {
  const value = row[key]
  return typeof value === 'string' ? value : undefined
}

function maybeNumber(row: Row, key: string): number | undefined {
  const value = row[key]
  return value === null || value === undefined ? undefined : Number(value)
}

export function operationOf(row: Row): Operation {
  return {
    record: parseRecord(Buffer.from(text(row, 'record'), 'utf8'), text(row, 'id')),
    commit: id(row, 'commit_id') as CommitId,
    before: { tree: id(row, 'before_tree') as TreeId, attrs: id(row, 'before_attrs') as BlobId },
    after: { tree: id(row, 'after_tree') as TreeId, attrs: id(row, 'after_attrs') as BlobId },
    skipped: id(row, 'skipped') as BlobId,
  }
}

function pointOf(turn: string | undefined, before: string | undefined): Point {
  return { turn: (turn ?? null) as TurnId | null, ...optional('before', before as StepId | undefined) }
}

export function sessionOf(row: Row): SessionRow {
  return {
    id: text(row, 'id') as SessionId,
    agent: text(row, 'agent'),
    head: pointOf(maybeText(row, 'head_turn'), maybeText(row, 'head_before')),
    lastSeq: Number(row.last_seq),
  }
}

export function turnOf(row: Row): TurnRow {
  return {
    id: text(row, 'id') as TurnId,
    session: text(row, 'session') as SessionId,
    parent: pointOf(maybeText(row, 'parent_turn'), maybeText(row, 'parent_before')),
    agent: text(row, 'agent'),
    ...optional('agentId', maybeText(row, 'agent_id')),
    ...optional('prompt', maybeText(row, 'prompt')),
    ...optional('message', maybeText(row, 'message')),
    ...optional('pid', maybeNumber(row, 'pid')),
    status: text(row, 'status') as TurnRow['status'],
    beginSeq: Number(row.begin_seq),
    ...optional('endSeq', maybeNumber(row, 'end_seq')),
    beganMs: Number(row.began_ms),
    ...optional('endedMs', maybeNumber(row, 'ended_ms')),
    visitedSeq: Number(row.visited_seq),
    commits: JSON.parse(text(row, 'commits')) as readonly CommitNote[],
    ...optional('gitBefore', positionOf(maybeText(row, 'git_before'))),
    ...optional('gitAfter', positionOf(maybeText(row, 'git_after'))),
  }
}

function positionOf(json: string | undefined): GitPosition | undefined {
  return json === undefined ? undefined : (JSON.parse(json) as GitPosition)
}

export function stepOf(row: Row): StepRow {
  return {
    id: text(row, 'id') as StepId,
    session: text(row, 'session') as SessionId,
    turn: text(row, 'turn') as TurnId,
    tool: text(row, 'tool'),
    agent: text(row, 'agent'),
    ...optional('agentId', maybeText(row, 'agent_id')),
    ...optional('part', maybeText(row, 'part')),
    ...optional('command', maybeText(row, 'command')),
    firstSeq: Number(row.first_seq),
    beganMs: Number(row.began_ms),
  }
}

// The changes of one operation are numbered, so their ids can be made again at every rebuild.
export function changeId(op: OpId, at: number): ChangeId {
  return `c${op.slice(1)}.${at + 1}` as ChangeId
}

export function changeOf(row: Row): ChangeRow {
  const op = text(row, 'op_id') as OpId
  return {
    id: changeId(op, Number(row.ord)),
    op,
    opSeq: Number(row.op_seq),
    path: text(row, 'path') as RelPath,
    kind: text(row, 'kind') as ChangeKind,
    ...optional('from', maybeText(row, 'from_path') as RelPath | undefined),
    additions: Number(row.additions),
    deletions: Number(row.deletions),
    binary: row.is_binary === 1,
    certainty: text(row, 'certainty'),
    actor: text(row, 'actor'),
    ...optional('agentId', maybeText(row, 'agent_id')),
    ...optional('session', maybeText(row, 'session') as SessionId | undefined),
    ...optional('turn', maybeText(row, 'turn') as TurnId | undefined),
    ...optional('step', maybeText(row, 'step') as StepId | undefined),
    atMs: Number(row.at_ms),
  }
}

export function listedOf(row: Row): ListedChange {
  return {
    step: text(row, 'step') as StepId,
    path: text(row, 'path') as RelPath,
    kind: text(row, 'kind') as ChangeKind,
    additions: Number(row.additions),
    deletions: Number(row.deletions),
    ...optional('agentId', maybeText(row, 'agent_id')),
    tool: text(row, 'tool'),
    beganMs: Number(row.began_ms),
    isOut: row.is_out === 1,
  }
}

export function outOf(row: Row): OutRow {
  return {
    opSeq: Number(row.op_seq),
    path: text(row, 'path') as RelPath | '',
    bySeq: Number(row.by_seq),
    stage: Number(row.stage),
  }
}
