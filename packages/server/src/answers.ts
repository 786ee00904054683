/** What the engine says, in the words of the wire. Nothing is decided here. */

import {
  type BlamedLine,
  type ChangeRow,
  type Collected,
  type CountedOperation,
  changeJson,
  type PastEntry,
  type PastFile,
  type Purged,
  type RelPath,
  type RetentionPlan,
  type SessionSize,
  type SessionView,
  type StepRow,
  skippedJson,
  statusOf,
  type TurnView,
  textOfBytes,
} from '@unturn/core'
import type * as wire from './schemas.ts'
import type { Held } from './workspaces.ts'

export async function statusAnswer(held: Held): Promise<wire.Status> {
  const { engine } = held.workspace
  const status = statusOf(engine)
  const sessions = await sessionAnswers(held, status.sessions)
  return {
    id: held.id,
    name: held.name,
    root: held.root,
    sessions,
    lastCapture: status.lastCapture === undefined ? null : iso(status.lastCapture.atMs),
    operations: status.operations,
    pendingHunks: sessions.reduce((sum, { pendingHunks }) => sum + pendingHunks, 0),
    store: status.store,
    watch: held.watch?.state ?? { state: 'off', reason: 'it is turned off', isHintUsed: false },
    eventId: held.events.lastId,
  }
}

export async function sessionAnswer({ workspace }: Held, view: SessionView): Promise<wire.Session> {
  const { session, turns, reverted, running, isActive } = view
  return {
    id: session.id,
    agent: session.agent,
    head: session.head.turn,
    headBefore: session.head.before ?? null,
    turns,
    reverted: [...reverted],
    running: [...running],
    active: isActive,
    lastSeq: session.lastSeq,
    pendingHunks: await workspace.countPending(session.id),
  }
}

export async function sessionAnswers(held: Held, views: readonly SessionView[]): Promise<wire.Session[]> {
  return Promise.all(views.map((view) => sessionAnswer(held, view)))
}

export function turnAnswer(view: TurnView): wire.Turn {
  const { turn } = view
  return { ...treeTurnAnswer(view), session: turn.session, commits: [...turn.commits] }
}

export function treeTurnAnswer(view: TurnView, promptLength = Number.POSITIVE_INFINITY): wire.TreeTurn {
  const { turn, isHead, isReverted, depth, files, additions, deletions } = view
  return {
    id: turn.id,
    parent: turn.parent.turn,
    parentBefore: turn.parent.before ?? null,
    agent: turn.agent,
    ...(turn.agentId === undefined ? {} : { agentId: turn.agentId }),
    prompt: turn.prompt?.slice(0, promptLength) ?? null,
    message: turn.message ?? null,
    status: turn.status,
    seq: turn.beginSeq,
    endSeq: turn.endSeq ?? null,
    began: iso(turn.beganMs),
    ended: turn.endedMs === undefined ? null : iso(turn.endedMs),
    head: isHead,
    reverted: isReverted,
    depth,
    files,
    additions,
    deletions,
  }
}

export function stepAnswer(
  step: StepRow,
  is: { readonly running: boolean; readonly reverted: boolean },
  changes: readonly ChangeRow[],
): wire.Step {
  return {
    id: step.id,
    turn: step.turn,
    tool: step.tool,
    agent: step.agent,
    ...(step.agentId === undefined ? {} : { agentId: step.agentId }),
    part: step.part ?? null,
    command: step.command ?? null,
    began: iso(step.beganMs),
    running: is.running,
    reverted: is.reverted,
    changes: changes.map(changeJson),
  }
}

export function operationAnswer(counted: CountedOperation): wire.Operation {
  const { operation, files, additions, deletions } = counted
  const { record, before, after } = operation
  const stages = 'stages' in record ? record.stages : []
  const turnsOf = (way: 'out' | 'in') =>
    stages.flatMap((stage) => (stage.way === way && stage.turn !== null ? [stage.turn] : []))
  return {
    id: record.id,
    seq: record.seq,
    kind: record.kind,
    at: iso(record.atMs),
    session: record.session ?? null,
    turn: 'turn' in record ? record.turn : null,
    step: 'step' in record ? record.step : null,
    ...(record.kind === 'step' ? { tool: record.tool } : {}),
    ...(record.kind === 'step' && record.command !== undefined ? { command: record.command } : {}),
    ...('label' in record && record.label !== undefined ? { label: record.label } : {}),
    reverted: turnsOf('out'),
    redone: turnsOf('in'),
    ...('of' in record && record.of !== undefined ? { of: record.of } : {}),
    files,
    additions,
    deletions,
    before: before.tree,
    after: after.tree,
  }
}

export function userEditAnswer(counted: CountedOperation): wire.UserEdit {
  const { record } = counted.operation
  return {
    op: record.id,
    seq: record.seq,
    at: iso(record.atMs),
    label: 'label' in record ? (record.label ?? null) : null,
    files: counted.files,
    additions: counted.additions,
    deletions: counted.deletions,
  }
}

export function blameAnswer(path: RelPath, lines: readonly BlamedLine[]): wire.Blame {
  return { path: textOfBytes(path), lines: lines.map(lineAnswer) }
}

function lineAnswer({ text, by, agent, agentId, turn, operation }: BlamedLine, at: number): wire.BlameLine {
  return {
    line: at + 1,
    text,
    by,
    agent: agent ?? null,
    ...(agentId === undefined ? {} : { agentId }),
    session: operation?.record.session ?? null,
    turn: turn?.id ?? null,
    prompt: turn?.prompt ?? null,
    op: operation?.record.id ?? null,
    at: operation === undefined ? null : iso(operation.record.atMs),
  }
}

export function entryAnswer({ path, kind, isExecutable, blob }: PastEntry): wire.PastEntry {
  return {
    path: textOfBytes(path),
    kind,
    executable: isExecutable,
    ...(blob === undefined ? {} : { blob }),
  }
}

export function fileAnswer({ path, kind, perm, blob, bytes }: PastFile, most: number): wire.PastFile {
  const binary = isBinary(bytes)
  const facts = {
    path: textOfBytes(path),
    kind,
    mode: perm.toString(8).padStart(3, '0'),
    size: bytes.length,
    blob,
    binary,
    tooLarge: bytes.length > most,
  }
  if (facts.tooLarge) return facts
  return binary ? { ...facts, base64: bytes.toString('base64') } : { ...facts, text: bytes.toString('utf8') }
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

// As git tells it, and beyond that: what is not UTF-8 would not come back from text as it was.
function isBinary(bytes: Buffer): boolean {
  if (bytes.subarray(0, 8_000).includes(0)) return true
  try {
    strictUtf8.decode(bytes)
    return false
  } catch {
    return true // that is the answer, not a failure
  }
}

export function sizeAnswer({ lastMs, ...rest }: SessionSize): wire.SessionSize {
  return { ...rest, lastAt: iso(lastMs) }
}

export function plannedGcAnswer({ sessions, userOperations }: RetentionPlan): wire.Collected {
  return { dryRun: true, dropped: sessions.map(droppedAnswer), userOperations: userOperations.length }
}

export function gcAnswer({ dropped, userOperations, bytesBefore, bytesAfter }: Collected): wire.Collected {
  return { dryRun: false, dropped: dropped.map(droppedAnswer), userOperations, bytesBefore, bytesAfter }
}

function droppedAnswer({ facts, because }: RetentionPlan['sessions'][number]) {
  const { session, turns, operations, lastMs } = facts
  return { session, because, turns, operations, lastAt: iso(lastMs) }
}

export function purgeAnswer(paths: readonly RelPath[], purged: Purged): wire.Purged {
  const { operations, versions, proof, bytesBefore, bytesAfter } = purged
  return {
    paths: paths.map(textOfBytes),
    operations,
    versions,
    stay: [...new Set(proof.stay.values())].map(textOfBytes),
    objects: proof.objects,
    bytesBefore,
    bytesAfter,
  }
}

export function missedAnswer(operations: readonly CountedOperation['operation'][]): wire.Skipped[] {
  const seen = new Map<string, wire.Skipped>()
  for (const { record } of operations)
    for (const missed of record.missed ?? []) seen.set(missed.path, skippedJson(missed))
  return [...seen.values()]
}

export function iso(ms: number): string {
  return new Date(ms).toISOString()
}
