/**
 * Retention: which sessions go, and their going. By number, age and size, whichever bites first, the oldest first; never a
 * pinned one, never one that somebody works in, never the one last active. What stays is whole: an operation names
 * everything it needs.
 */

import { readPins } from '../log/pins.ts'
import { type OutNote, optional, type SeqRange } from '../log/record.ts'
import type { Operation, SessionRow } from '../log/rows.ts'
import { type Exclusive, joinAbs, type ObjectId, type OpId, type RelPath, type SessionId } from '../values.ts'
import type { Engine } from './engine.ts'
import { appendNote, whyRunning } from './recording.ts'
import { bytesBySession } from './store-size.ts'
import { storeSize } from './views.ts'

const dayMs = 24 * 60 * 60 * 1000

export interface Limits {
  readonly keepSessions: number
  readonly maxAgeMs: number
  /** Of our own packs; what is shared with the user's repository does not count. */
  readonly maxBytes: number
}

export const defaultLimits: Limits = { keepSessions: 30, maxAgeMs: 30 * dayMs, maxBytes: 2 * 1024 ** 3 }

export interface SessionFacts {
  readonly session: SessionId
  readonly agent: string
  readonly operations: number
  readonly turns: number
  readonly lastMs: number
  readonly pinned: boolean
  /** Last active of all, or somebody works in it: retention leaves it alone. */
  readonly active: boolean
}

/** Newest first. */
export function sessionFacts(engine: Engine): readonly SessionFacts[] {
  const { index } = engine.log
  const isPinned = readPins(engine.objects)
  return index.sessions().map((row, at) => {
    const lastMs = index.operationAt(row.lastSeq)?.record.atMs ?? 0
    return {
      session: row.id,
      agent: row.agent,
      operations: index.countOperations(row.id),
      turns: index.turns(row.id).length,
      lastMs,
      pinned: isPinned(row.id),
      active: at === 0 || isWorkedIn(engine, row, lastMs),
    }
  })
}

// An agent that tells us nothing between its tool calls looks abandoned; for a day it gets the benefit of the doubt.
function isWorkedIn(engine: Engine, { id }: SessionRow, lastMs: number): boolean {
  const open = engine.log.index.openTurns(id)
  if (open.length > 0 && lastMs > engine.now() - dayMs) return true
  return open.some((turn) => whyRunning(engine, turn) !== undefined)
}

export interface SessionSize extends SessionFacts {
  /** What leaves the disk with it, once all behind it in the order of keeping have left. */
  readonly bytes: number
}

/** Sessions in the order in which retention keeps them, with what goes when one goes and all below it have gone. */
export function sessionSizes(engine: Engine): readonly SessionSize[] {
  const order = inOrderOfKeeping(sessionFacts(engine))
  const bytes = bytesBySession(
    engine,
    order.map(({ session }) => session),
  )
  return order.map((facts) => ({ ...facts, bytes: bytes.get(facts.session) ?? 0 }))
}

function inOrderOfKeeping(facts: readonly SessionFacts[]): readonly SessionFacts[] {
  return [...facts.filter(isSafe), ...facts.filter((one) => !isSafe(one))]
}

function isSafe({ pinned, active }: SessionFacts): boolean {
  return pinned || active
}

export type Reason = 'number' | 'age' | 'size'

export interface RetentionPlan {
  /** Oldest first. */
  readonly sessions: readonly { readonly facts: SessionFacts; readonly because: Reason }[]
  /** The user's own operations that only stood between operations of dropped sessions, or are older than all of it. */
  readonly userOperations: readonly Operation[]
}

/** What would go. `size`: only looked at where asked for, since it has to walk the whole history. */
export function planRetention(
  engine: Engine,
  limits: Limits,
  options: { readonly size: boolean },
): RetentionPlan {
  const facts = sessionFacts(engine)
  const loose = facts.filter((one) => !isSafe(one)).toReversed()
  const because = new Map<SessionFacts, Reason>()
  for (const one of loose) if (facts.length - because.size > limits.keepSessions) because.set(one, 'number')
  for (const one of loose)
    if (!because.has(one) && one.lastMs < engine.now() - limits.maxAgeMs) because.set(one, 'age')
  if (options.size) for (const one of tooMuch(engine, limits, loose, because)) because.set(one, 'size')
  const sessions = loose.flatMap((one) => {
    const reason = because.get(one)
    return reason === undefined ? [] : [{ facts: one, because: reason }]
  })
  return { sessions, userOperations: userOperationsToDrop(engine, limits, sessions) }
}

function tooMuch(
  engine: Engine,
  limits: Limits,
  loose: readonly SessionFacts[],
  gone: ReadonlyMap<SessionFacts, Reason>,
): readonly SessionFacts[] {
  let bytes = storeSize(engine).bytes
  if (bytes <= limits.maxBytes) return []
  const sizes = new Map(sessionSizes(engine).map((one) => [one.session, one.bytes]))
  const more: SessionFacts[] = []
  for (const one of loose) {
    if (bytes <= limits.maxBytes) break
    bytes -= sizes.get(one.session) ?? 0
    if (!gone.has(one)) more.push(one)
  }
  return more
}

// What the user did before the oldest session that stays belongs to the time of those that go. Where none goes, it stays
// as long as a session would: the user may still want to take one of these edits back.
function userOperationsToDrop(
  engine: Engine,
  limits: Limits,
  going: RetentionPlan['sessions'],
): readonly Operation[] {
  const { index } = engine.log
  const ids = new Set(going.map(({ facts }) => facts.session))
  const kept = index.sessions().filter(({ id }) => !ids.has(id))
  const seqs = kept.map(({ id }) => index.firstOperationOf(id)?.record.seq ?? 0)
  const oldestKept = Math.min(index.lastSeq(), ...seqs)
  const lastGone = Math.max(0, ...index.sessions().map(({ id, lastSeq }) => (ids.has(id) ? lastSeq : 0)))
  return index
    .operationsOfUser()
    .filter(({ record }) => record.seq < oldestKept)
    .filter(({ record }) => record.seq < lastGone || record.atMs < engine.now() - limits.maxAgeMs)
    .toReversed()
}

/**
 * Drops what the plan says. Cut at any point, each session is there as a whole or gone as a whole.
 *
 * First a baseline carries on what must not go with the dropped operations: the last known state of the workspace, else
 * the next capture would take old changes for the user's; the highest `seq`, so that no number is given twice; and which
 * of the remaining operations are out of the files because of a dropped one.
 */
export function dropOld(engine: Engine, plan: RetentionPlan, lock: Exclusive): void {
  const { log } = engine
  if (plan.sessions.length === 0 && plan.userOperations.length === 0) return
  const seqs = new Set([
    ...plan.userOperations.map(({ record }) => record.seq),
    ...plan.sessions.flatMap(({ facts }) => log.index.seqsOf(facts.session)),
  ])
  appendNote(
    engine,
    {
      kind: 'baseline',
      git: engine.user.position(),
      dropped: rangesOf([...seqs], droppedBefore(engine)),
      ...optional('out', carriedOut(engine, seqs)),
    },
    lock,
  )
  for (const { facts } of plan.sessions) dropSession(engine, facts.session, lock)
  if (plan.userOperations.length > 0) shortenUserHistory(engine, seqs, lock)
}

function dropSession(engine: Engine, session: SessionId, lock: Exclusive): void {
  // A step that was never ended would go on claiming what others change.
  for (const flight of engine.flights.list()) if (flight.session === session) engine.flights.end(flight.step)
  engine.log.dropSession(session, lock)
}

function shortenUserHistory(engine: Engine, gone: ReadonlySet<number>, lock: Exclusive): void {
  const kept = engine.log.index
    .operationsOfUser()
    .filter(({ record }) => !gone.has(record.seq))
    .toReversed()
    .map(({ record: { seq }, commit }) => ({
      seq,
      commit,
      tree: engine.objects.readCommit(commit).tree,
      isDescribed: true,
    }))
  engine.log.rewrite(undefined, kept, engine.objects.newBatch(), lock)
}

function droppedBefore(engine: Engine): readonly SeqRange[] {
  return engine.log.index
    .operationsOfUser()
    .flatMap(({ record }) => (record.kind === 'baseline' ? (record.dropped ?? []) : []))
}

/** Numbers and ranges as few ranges, in order. */
export function rangesOf(seqs: readonly number[], more: readonly SeqRange[] = []): readonly SeqRange[] {
  const all = [...seqs.map((seq) => ({ from: seq, to: seq })), ...more].sort((a, b) => a.from - b.from)
  const ranges: { from: number; to: number }[] = []
  for (const { from, to } of all) {
    const last = ranges.at(-1)
    if (last === undefined || from > last.to + 1) ranges.push({ from, to })
    else last.to = Math.max(last.to, to)
  }
  return ranges
}

function carriedOut(engine: Engine, seqs: ReadonlySet<number>): readonly OutNote[] | undefined {
  const notes = new Map<OpId, { op: OpId; paths?: RelPath[] }>()
  for (const { opSeq, path } of engine.log.index.outBecauseOf(seqs)) {
    const op = engine.log.index.operationAt(opSeq)?.record.id
    if (op === undefined) continue
    const note = notes.get(op) ?? { op }
    if (path !== '') note.paths = [...(note.paths ?? []), path]
    notes.set(op, note)
  }
  return notes.size === 0 ? undefined : [...notes.values()]
}

/** Objects that no operation names and a running step needs (L6). */
export function rootsOf(engine: Engine): readonly ObjectId[] {
  const lists = engine.flights.list().flatMap(({ skipped }) => (skipped === undefined ? [] : [skipped]))
  return lists.filter((id) => engine.objects.has(id))
}

// ---- when it is due ------------------------------------------------------------------------------------------------

const dueOperations = 2_000

/** Whether it is time again: once a day if anything happened, and sooner where very much did. */
export function isGcDue(engine: Engine): boolean {
  const lastSeq = engine.log.index.lastSeq()
  const last = readMark(engine)
  if (last === undefined || lastSeq <= last.seq) return false
  return engine.now() - last.atMs > dayMs || lastSeq - last.seq >= dueOperations
}

/** Written when gc begins: one that fails is tried again a day later, and not after every turn. */
export function markGc(engine: Engine): void {
  const path = joinAbs(engine.folders.folder, 'last-gc')
  if (engine.fs.lstat(path) !== undefined) engine.fs.unlink(path)
  engine.fs.createFile(path, [Buffer.from(`${engine.now()} ${engine.log.index.lastSeq()}\n`)], 0o600)
}

function readMark(engine: Engine): { readonly atMs: number; readonly seq: number } | undefined {
  const path = joinAbs(engine.folders.folder, 'last-gc')
  const text = engine.fs.lstat(path) === undefined ? '' : engine.fs.readFile(path).toString('latin1')
  const [, atMs, seq] = /^(\d+) (\d+)\n$/.exec(text) ?? []
  if (atMs !== undefined) return { atMs: Number(atMs), seq: Number(seq) }
  const first = engine.log.index.firstOperation()
  return first === undefined ? undefined : { atMs: first.record.atMs, seq: 0 }
}
