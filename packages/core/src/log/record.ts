/**
 * `op.json`: what an operation says about itself. Its snapshots are not in here but beside it, as trees of the
 * same commit. Fields are only ever added, and optional; see docs/store-format.md.
 */

import { bytesOfText, textOfBytes, UnturnError } from '../errors.ts'
import {
  type Certainty,
  flawOfRelPath,
  type OpId,
  type RelPath,
  relPathUnchecked,
  type SessionId,
  type Skipped,
  type StepId,
  type TurnId,
  unreachable,
} from '../values.ts'
import { Shape, ShapeError } from './shape.ts'

export const recordVersion = 1

// Far above anything real; a number or a size beyond these was not written by Unturn.
const mostSeq = 2 ** 48
const mostBytes = 256 * 1024 * 1024
const mostMs = 8.64e15 // the last moment that a Date can hold

/** Where a session stands in its tree of turns. `before`: inside the turn, that step and all later ones are out. */
export interface Point {
  readonly turn: TurnId | null
  readonly before?: StepId
}

/** What the user's git looked like. Read, never written. */
export interface GitPosition {
  readonly head?: string
  readonly branch?: string
  /** How long HEAD's own log was: what came later tells which commits were made and which only checked out. */
  readonly logged?: number
}

export interface CommitNote {
  readonly id: string
  readonly subject: string
}

export type TurnStatus = 'ok' | 'interrupted' | 'failed'

/** One stretch of a move: these operations went out of the files, or came back in. Its result is a snapshot of its own. */
export interface Stage {
  readonly turn: TurnId | null
  readonly way: 'out' | 'in'
  /** The step operations that this stage moved. A path list narrows an operation to these paths. */
  readonly ops: readonly OpId[]
  readonly paths?: readonly RelPath[]
}

interface Common {
  readonly id: OpId
  readonly seq: number
  readonly atMs: number
  /** Absent: the user's own operation. */
  readonly session?: SessionId
  readonly git?: GitPosition
  /** Paths that changed here, as far as one can tell, without being captured (P9). */
  readonly missed?: readonly Skipped[]
  /** What the session's review is after this stands beside the record; see review-record.ts. */
  readonly reviewed?: boolean
}

/** The state that everything after it begins with: the first look, and again where older history was dropped. */
export interface BaselineRecord extends Common {
  readonly kind: 'baseline'
  /** Numbers of operations that retention has dropped, so far: `doctor` does not miss them. */
  readonly dropped?: readonly SeqRange[]
  /** Operations that are out of the files because of one that was dropped. */
  readonly out?: readonly OutNote[]
}

/** Both ends belong to it. */
export interface SeqRange {
  readonly from: number
  readonly to: number
}

export interface OutNote {
  readonly op: OpId
  readonly paths?: readonly RelPath[]
}

export interface UserEditRecord extends Common {
  readonly kind: 'user-edit'
  readonly label?: string
}

export interface TurnBeginRecord extends Common {
  readonly kind: 'turn-begin'
  readonly session: SessionId
  readonly turn: TurnId
  readonly parent: Point
  readonly agent: string
  readonly agentId?: string
  readonly prompt?: string
  readonly message?: string
  readonly pid?: number
}

export interface TurnEndRecord extends Common {
  readonly kind: 'turn-end'
  readonly session: SessionId
  readonly turn: TurnId
  readonly status: TurnStatus
  readonly commits: readonly CommitNote[]
  /** The user's branch and commit when the turn began, when either moved during it. */
  readonly gitBefore?: GitPosition
}

export interface StepRecord extends Common {
  readonly kind: 'step'
  readonly session: SessionId
  readonly turn: TurnId
  readonly step: StepId
  readonly tool: string
  readonly agent: string
  readonly agentId?: string
  readonly part?: string
  readonly command?: string
  /** What the tool said it would touch. */
  readonly paths: readonly RelPath[]
  readonly certainty: Certainty
  /** False: seen while the step was still running; more may follow. */
  readonly ended: boolean
  readonly beganMs: number
}

export interface MoveRecord extends Common {
  readonly kind: 'undo' | 'redo' | 'restore'
  readonly session: SessionId
  readonly from: Point
  readonly to: Point
  readonly stages: readonly Stage[]
  readonly exact: boolean
}

export interface RollbackRecord extends Common {
  readonly kind: 'rollback'
  readonly stages: readonly Stage[]
  /** The operation that was inverted (`--op`). */
  readonly of?: OpId
  /** The head it moved along with, when `of` was a move. */
  readonly from?: Point
  readonly to?: Point
}

export interface CleanupRecord extends Common {
  readonly kind: 'cleanup'
  readonly session: SessionId
  readonly turns: readonly TurnId[]
  readonly steps: readonly StepId[]
}

/** Somebody's word on one hunk. */
export interface Decision {
  readonly hunk: string
  readonly path: RelPath
  readonly turns: readonly TurnId[]
  readonly comment?: string
}

/** Accept moves the review's baseline, reject moves the files. What the review is after it stands beside the record. */
export interface DecisionRecord extends Common {
  readonly kind: 'accept' | 'reject'
  readonly session: SessionId
  readonly decisions: readonly Decision[]
  /** Why, when nobody typed it: the user has committed the content. */
  readonly because?: 'committed'
}

/** A change that is offered and not on disk. */
export interface ProposeRecord extends Common {
  readonly kind: 'propose'
  readonly session: SessionId
  readonly turn: TurnId
  readonly proposal: string
  readonly paths: readonly RelPath[]
}

export type OperationRecord =
  | BaselineRecord
  | UserEditRecord
  | TurnBeginRecord
  | TurnEndRecord
  | StepRecord
  | MoveRecord
  | RollbackRecord
  | CleanupRecord
  | DecisionRecord
  | ProposeRecord

export type OperationKind = OperationRecord['kind']

const kinds: readonly OperationKind[] = [
  'baseline',
  'user-edit',
  'turn-begin',
  'turn-end',
  'step',
  'undo',
  'redo',
  'restore',
  'rollback',
  'cleanup',
  'accept',
  'reject',
  'propose',
]

/** What a caller hands in; the log adds `id`, `seq` and `atMs`. */
export type Draft = OperationRecord extends infer Record
  ? Record extends OperationRecord
    ? Omit<Record, 'id' | 'seq' | 'atMs'>
    : never
  : never

export function serializeRecord(record: OperationRecord): Buffer {
  const json = JSON.stringify({ version: recordVersion, ...record }, (key, value: unknown) =>
    pathKeys.has(key) ? textsOfPaths(value) : value,
  )
  return Buffer.from(`${json}\n`, 'utf8')
}

// Paths are bytes; JSON is text. These keys hold paths wherever they appear in a record.
const pathKeys: ReadonlySet<string> = new Set(['paths', 'path'])

function textsOfPaths(value: unknown): unknown {
  if (typeof value === 'string') return textOfBytes(value)
  return Array.isArray(value) ? value.map(textsOfPaths) : value
}

/** The only door for `op.json`. A record of a newer version or a broken one is an error for that record alone (M14). */
export function parseRecord(json: Buffer, operation: string): OperationRecord {
  try {
    if (json.length > mostBytes) throw new ShapeError(`op.json is absurdly large, ${json.length} bytes`)
    const shape = Shape.parse(json.toString('utf8'), 'op.json')
    const version = shape.number('version')
    if (version !== recordVersion)
      throw new ShapeError(`its version is ${version}, known is ${recordVersion}`)
    return recordOf(shape)
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error
    throw new UnturnError(
      'record-unreadable',
      { operation, reason: error.message },
      {
        message: `The record of operation ${operation} cannot be read: ${error.message}. No file was changed; other operations stay usable.`,
        hint: 'A newer Unturn may have written it: upgrade, or run "unturn doctor" to see what is affected.',
        cause: error,
      },
    )
  }
}

function recordOf(shape: Shape): OperationRecord {
  const common = commonOf(shape)
  const kind = shape.oneOf('kind', kinds)
  switch (kind) {
    case 'baseline':
      return {
        ...common,
        kind,
        ...(shape.has('dropped') ? { dropped: shape.objects('dropped').map(rangeOf) } : {}),
        ...(shape.has('out') ? { out: shape.objects('out').map(outNoteOf) } : {}),
      }
    case 'user-edit':
      return { ...common, kind, ...optional('label', shape.maybeText('label')) }
    case 'turn-begin':
      return turnBeginOf(shape, common)
    case 'turn-end':
      return {
        ...common,
        kind,
        session: sessionOf(shape),
        turn: shape.text('turn') as TurnId,
        status: shape.oneOf('status', ['ok', 'interrupted', 'failed']),
        commits: shape
          .objects('commits')
          .map((commit) => ({ id: commit.text('id'), subject: commit.text('subject') })),
        ...optional('gitBefore', gitOf(shape.maybeObject('gitBefore'))),
      }
    case 'step':
      return stepOf(shape, common)
    case 'undo':
    case 'redo':
    case 'restore':
      return {
        ...common,
        kind,
        session: sessionOf(shape),
        from: pointOf(shape.object('from')),
        to: pointOf(shape.object('to')),
        stages: shape.objects('stages').map(stageOf),
        exact: shape.flag('exact'),
      }
    case 'rollback':
      return {
        ...common,
        kind,
        stages: shape.objects('stages').map(stageOf),
        ...optional('of', shape.maybeText('of') as OpId | undefined),
        ...optional('from', maybePoint(shape.maybeObject('from'))),
        ...optional('to', maybePoint(shape.maybeObject('to'))),
      }
    case 'cleanup':
      return {
        ...common,
        kind,
        session: sessionOf(shape),
        turns: shape.texts('turns') as readonly TurnId[],
        steps: shape.texts('steps') as readonly StepId[],
      }
    case 'accept':
    case 'reject':
      return {
        ...common,
        kind,
        session: sessionOf(shape),
        decisions: shape.objects('decisions').map(decisionOf),
        ...(shape.has('because') ? { because: shape.oneOf('because', ['committed']) } : {}),
      }
    case 'propose':
      return {
        ...common,
        kind,
        session: sessionOf(shape),
        turn: shape.text('turn') as TurnId,
        proposal: shape.text('proposal'),
        paths: shape.texts('paths').map(pathOf),
      }
    default:
      return unreachable(kind)
  }
}

function commonOf(shape: Shape): Common {
  return {
    id: shape.text('id') as OpId,
    seq: shape.whole('seq', 1, mostSeq),
    atMs: timeOf(shape, 'atMs'),
    ...optional('session', shape.maybeText('session') as SessionId | undefined),
    ...optional('git', gitOf(shape.maybeObject('git'))),
    ...(shape.has('missed') ? { missed: shape.objects('missed').map(skippedOf) } : {}),
    ...(shape.flag('reviewed') ? { reviewed: true } : {}),
  }
}

function timeOf(shape: Shape, key: string): number {
  const ms = shape.number(key)
  if (Math.abs(ms) > mostMs) throw new ShapeError(`op.json.${key} is no time`)
  return ms
}

function turnBeginOf(shape: Shape, common: Common): TurnBeginRecord {
  return {
    ...common,
    kind: 'turn-begin',
    session: sessionOf(shape),
    turn: shape.text('turn') as TurnId,
    parent: pointOf(shape.object('parent')),
    agent: shape.text('agent'),
    ...optional('agentId', shape.maybeText('agentId')),
    ...optional('prompt', shape.maybeText('prompt')),
    ...optional('message', shape.maybeText('message')),
    ...optional('pid', shape.maybeNumber('pid')),
  }
}

function stepOf(shape: Shape, common: Common): StepRecord {
  return {
    ...common,
    kind: 'step',
    session: sessionOf(shape),
    turn: shape.text('turn') as TurnId,
    step: shape.text('step') as StepId,
    tool: shape.text('tool'),
    agent: shape.text('agent'),
    ...optional('agentId', shape.maybeText('agentId')),
    ...optional('part', shape.maybeText('part')),
    ...optional('command', shape.maybeText('command')),
    paths: shape.texts('paths').map(pathOf),
    certainty: shape.oneOf('certainty', ['exact', 'inferred', 'shared']),
    ended: shape.flag('ended'),
    beganMs: timeOf(shape, 'beganMs'),
  }
}

function decisionOf(shape: Shape): Decision {
  return {
    hunk: shape.text('hunk'),
    path: pathOf(shape.text('path')),
    turns: shape.texts('turns') as readonly TurnId[],
    ...optional('comment', shape.maybeText('comment')),
  }
}

function rangeOf(shape: Shape): SeqRange {
  return { from: shape.number('from'), to: shape.number('to') }
}

function outNoteOf(shape: Shape): OutNote {
  return {
    op: shape.text('op') as OpId,
    ...(shape.has('paths') ? { paths: shape.texts('paths').map(pathOf) } : {}),
  }
}

function stageOf(shape: Shape): Stage {
  return {
    turn: shape.nullableText('turn') as TurnId | null,
    way: shape.oneOf('way', ['out', 'in']),
    ops: shape.texts('ops') as readonly OpId[],
    ...(shape.has('paths') ? { paths: shape.texts('paths').map(pathOf) } : {}),
  }
}

export function pointOf(shape: Shape): Point {
  const before = shape.maybeText('before') as StepId | undefined
  return { turn: shape.nullableText('turn') as TurnId | null, ...optional('before', before) }
}

function maybePoint(shape: Shape | undefined): Point | undefined {
  return shape === undefined ? undefined : pointOf(shape)
}

function gitOf(shape: Shape | undefined): GitPosition | undefined {
  if (shape === undefined) return undefined
  return {
    ...optional('head', shape.maybeText('head')),
    ...optional('branch', shape.maybeText('branch')),
    ...optional('logged', shape.maybeNumber('logged')),
  }
}

export function skippedOf(shape: Shape): Skipped {
  const path = pathOf(shape.text('path'))
  const reason = shape.oneOf('reason', [
    'ignored',
    'too-large',
    'unreadable',
    'special',
    'nested-git',
    'purged',
  ])
  return reason === 'too-large' ? { path, reason, size: shape.number('size') } : { path, reason }
}

function sessionOf(shape: Shape): SessionId {
  return shape.text('session') as SessionId
}

export function pathOf(text: string): RelPath {
  const bytes = bytesOfText(text)
  // `.git` below a nested repository is listed as skipped, so it may be named here; it is never written to.
  const flaw = flawOfRelPath(bytes.replace(/(^|\/)\.git$/, '$1git'))
  if (flaw !== undefined) throw new ShapeError(`the path ${JSON.stringify(text)} is unsafe: ${flaw}`)
  return relPathUnchecked(bytes)
}

/** An optional field, present only when there is a value: `exactOptionalPropertyTypes` keeps absent and undefined apart. */
export function optional<Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): { readonly [K in Key]?: Value } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [K in Key]: Value })
}
