/** From the log to events: what was appended since the last look, in order. */

import { textOfBytes } from '../errors.ts'
import { describeStates } from '../history/capture.ts'
import type { Engine } from '../history/engine.ts'
import type { Outcome } from '../history/outcome.ts'
import { readTurnTree, revertedTurns, samePoint } from '../history/points.ts'
import { readState } from '../history/snapshots.ts'
import { conflictJson } from '../json.ts'
import type { Flight } from '../log/flights.ts'
import type { IndexDb } from '../log/index-db.ts'
import { optional, type Point, type Stage } from '../log/record.ts'
import type { NewChange, Operation } from '../log/rows.ts'
import type { Repacked } from '../store/repack.ts'
import { type SessionId, type StepId, type TurnId, unreachable } from '../values.ts'
import {
  EventHub,
  type EventName,
  type EventOptions,
  type EventStream,
  type FileDiff,
  type Listener,
  type WorkspaceEvent,
} from './events.ts'
import { changeOf } from './words.ts'

export class Telling {
  readonly #engine: Engine
  readonly #hub: EventHub
  readonly #begun = new Set<StepId>()
  readonly #standings = new Map<SessionId, Standing>()
  /** The last operation that was told; undefined while nobody listens. */
  #seen: number | undefined
  #queue: Promise<void> = Promise.resolve()

  constructor(engine: Engine) {
    this.#engine = engine
    this.#hub = new EventHub((error) => engine.warn(`A listener failed: ${wordsOf(error)}`))
  }

  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void {
    this.#seen ??= this.#engine.log.index.lastSeq()
    return this.#hub.on(name, listener)
  }

  stream(options: EventOptions): EventStream {
    this.#seen ??= this.#engine.log.index.lastSeq()
    return this.#hub.stream(options)
  }

  /** Tells what the log has got since. Never fails: the operation has happened, whoever hears of it. */
  async news(): Promise<void> {
    if (this.#seen === undefined) return
    this.#queue = this.#queue.then(() => this.#tellNew())
    await this.#queue
  }

  async #tellNew(): Promise<void> {
    if (!this.#hub.isUsed) {
      this.#seen = undefined
      return
    }
    try {
      const operations = this.#engine.log.index.operationsSince(this.#seen ?? 0)
      this.#seen = operations.at(-1)?.record.seq ?? this.#seen
      for (const operation of operations) for (const event of this.#eventsOf(operation)) this.#hub.emit(event)
      await this.#tellSessions(operations)
    } catch (error) {
      this.#engine.warn(`Events could not be told: ${wordsOf(error)}`)
    }
  }

  get wantsSteps(): boolean {
    return this.#hub.wants('step.began')
  }

  stepBegan({ session, turn, step, tool, paths, part }: Flight): void {
    if (this.#begun.has(step)) return
    this.#begun.add(step)
    this.#hub.emit({
      type: 'step.began',
      session,
      turn,
      step,
      tool,
      paths: paths.map(textOfBytes),
      ...optional('part', part),
    })
  }

  conflicts(session: SessionId | undefined, { kind, conflicts }: Pick<Outcome, 'kind' | 'conflicts'>): void {
    if (conflicts.length === 0 || kind === 'planned') return
    this.#hub.emit({ type: 'conflict', session: session ?? null, conflicts: conflicts.map(conflictJson) })
  }

  gc(repacked: Repacked): void {
    this.#hub.emit({ type: 'gc', ...repacked })
  }

  end(): void {
    this.#hub.end()
  }

  // ---- one operation -----------------------------------------------------------------------------------------------

  #eventsOf(operation: Operation): readonly WorkspaceEvent[] {
    const { record } = operation
    switch (record.kind) {
      case 'baseline':
        return []
      case 'user-edit':
        return this.#changesOf(operation).map((change) => ({ type: 'change', change }))
      case 'turn-begin':
        return [
          {
            type: 'turn.began',
            session: record.session,
            turn: record.turn,
            agent: record.agent,
            ...optional('prompt', record.prompt),
            ...optional('message', record.message),
          },
        ]
      case 'turn-end': {
        const { session, turn, status } = record
        return [{ type: 'turn.ended', session, turn, status, ...optional('message', this.#messageOf(turn)) }]
      }
      case 'step':
        return this.#stepEvents(operation, record)
      case 'undo':
      case 'redo':
      case 'restore':
      case 'rollback':
        return [
          {
            type: record.kind,
            op: record.id,
            session: record.session ?? null,
            reverted: turnsIn(record.stages, 'out'),
            redone: turnsIn(record.stages, 'in'),
            changes: this.#changesOf(operation),
          },
        ]
      case 'cleanup':
        return [
          ...record.turns.map((turn) => this.#messageRemoved(record.session, turn)),
          ...record.steps.map((step) => this.#partRemoved(record.session, step)),
        ]
      case 'accept':
      case 'reject': {
        const hunks = record.decisions.map(({ hunk, path }) => ({ hunk, path: textOfBytes(path) }))
        const changes = this.#changesOf(operation)
        return [{ type: record.kind, op: record.id, session: record.session, hunks, changes }]
      }
      case 'propose': {
        const { id: op, session, turn, proposal } = record
        return [{ type: 'propose', op, session, turn, proposal, paths: record.paths.map(textOfBytes) }]
      }
      default:
        return unreachable(record)
    }
  }

  #stepEvents(
    operation: Operation,
    record: Extract<Operation['record'], { kind: 'step' }>,
  ): WorkspaceEvent[] {
    const events: WorkspaceEvent[] = this.#changesOf(operation).map((change) => ({ type: 'change', change }))
    if (!record.ended) return events
    this.#begun.delete(record.step)
    const { session, turn, step, tool } = record
    const changes = this.#engine.log.index.changesOfStep(step).map(changeOf)
    events.push({ type: 'step.ended', session, turn, step, tool, ...optional('part', record.part), changes })
    return events
  }

  #messageRemoved(session: SessionId, turn: TurnId): WorkspaceEvent {
    return { type: 'message.removed', session, turn, ...optional('message', this.#messageOf(turn)) }
  }

  #partRemoved(session: SessionId, id: StepId): WorkspaceEvent {
    const step = this.#engine.log.index.findStepEvenRemoved(id)
    const turn = step?.turn ?? ('' as TurnId)
    return {
      type: 'part.removed',
      session,
      turn,
      step: id,
      ...optional('message', this.#messageOf(turn)),
      ...optional('part', step?.part),
    }
  }

  #messageOf(turn: TurnId): string | undefined {
    return this.#engine.log.index.findTurnEvenRemoved(turn)?.message
  }

  #changesOf({ record }: Operation) {
    return this.#engine.log.index.changesOfOperation(record.seq).map(changeOf)
  }

  // ---- sessions ------------------------------------------------------------------------------------------------------

  // To read ten thousand turns takes a tenth of a second, and every operation of an agent is told. Most of them leave all
  // turns but the newest as they were.
  #sessionUpdated(session: SessionId, operations: readonly Operation[]): WorkspaceEvent {
    const own = operations.filter(({ record }) => record.session === session)
    const { index } = this.#engine.log
    const told = own.reduce(standingAfter, this.#standings.get(session))
    const standing = isStill(index, session, told) ? told : standingOf(this.#engine, session)
    this.#standings.delete(session)
    this.#standings.set(session, standing) // behind the others: the one that was told longest ago is dropped first
    for (const oldest of this.#standings.keys())
      if (this.#standings.size > mostStandings) this.#standings.delete(oldest)
    const { head, turns, reverted } = standing
    return { type: 'session.updated', session, head: head.turn, turns, reverted }
  }

  async #tellSessions(operations: readonly Operation[]): Promise<void> {
    const touched = new Set(operations.flatMap(({ record }) => record.session ?? []))
    if (touched.size > 0 && this.#hub.wants('session.updated')) {
      // To read a long session takes a while. What has just been told goes out to those who wait for it first.
      await new Promise((resolve) => setImmediate(resolve))
      for (const session of touched) this.#hub.emit(this.#sessionUpdated(session, operations))
    }
    if (!this.#hub.wants('session.diff')) return
    const moved = operations.some(({ before, after }) => before.tree !== after.tree)
    if (!moved) return
    for (const session of touched)
      this.#hub.emit({ type: 'session.diff', session, files: await sessionDiff(this.#engine, session) })
  }
}

const mostStandings = 64

/** What is told of a session after every operation of it. */
interface Standing {
  readonly head: Point
  readonly turns: number
  readonly reverted: readonly TurnId[]
  /** As of this operation of the session; and the first one that it had. */
  readonly seq: number
  readonly firstSeq: number
}

function standingOf(engine: Engine, session: SessionId): Standing {
  const { index } = engine.log
  const tree = readTurnTree(engine, session)
  return {
    head: tree.head,
    turns: tree.turns.size,
    reverted: revertedTurns(tree).map((turn) => turn.id),
    seq: index.findSession(session)?.lastSeq ?? 0,
    firstSeq: firstSeqOf(index, session),
  }
}

function firstSeqOf(index: IndexDb, session: SessionId): number {
  return index.firstOperationOf(session)?.record.seq ?? 0
}

/** Undefined: the operation moves the head or removes turns, and only a look at all of them tells how things stand. */
function standingAfter(before: Standing | undefined, { record }: Operation): Standing | undefined {
  if (before === undefined || record.seq <= before.seq) return before
  const { seq } = record
  switch (record.kind) {
    case 'turn-begin': {
      const { parent, turn } = record
      if (!samePoint(parent, before.head)) return undefined
      return { ...before, seq, head: { turn }, turns: before.turns + 1 }
    }
    case 'turn-end':
    case 'step':
    case 'accept':
    case 'reject':
    case 'propose':
      return { ...before, seq }
    default:
      return undefined
  }
}

// Another process may have gone on meanwhile, or have dropped the session: what is there under its name is another one.
function isStill(index: IndexDb, session: SessionId, told: Standing | undefined): told is Standing {
  const row = index.findSession(session)
  return (
    told !== undefined &&
    row?.lastSeq === told.seq &&
    samePoint(row.head, told.head) &&
    firstSeqOf(index, session) === told.firstSeq
  )
}

/** The files that a session has touched, as they are now against how they were when it began. */
export async function sessionDiff(engine: Engine, session: SessionId): Promise<readonly FileDiff[]> {
  const { index } = engine.log
  const first = index.firstOperationOf(session)
  const last = index.lastOperation()
  if (first === undefined || last === undefined) return []
  const changes = await describeStates(
    engine,
    readState(engine.objects, first.before),
    readState(engine.objects, last.after),
  )
  return changes.filter((change) => isOf(engine, session, change)).map(diffOf)
}

// Other sessions and the user have worked in the same folder meanwhile: their files are not this session's diff.
function isOf(engine: Engine, session: SessionId, { path, from }: NewChange): boolean {
  const paths = from === undefined ? [path] : [path, from]
  return engine.log.index.findChanges({ session, paths, limit: 1 }).length > 0
}

function diffOf({ path, kind, from, additions, deletions }: NewChange): FileDiff {
  const old = from === undefined ? undefined : textOfBytes(from)
  return { path: textOfBytes(path), kind, ...optional('from', old), additions, deletions }
}

function turnsIn(stages: readonly Stage[], way: Stage['way']): readonly TurnId[] {
  return stages.flatMap((stage) => (stage.way === way && stage.turn !== null ? [stage.turn] : []))
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
