/** Recording: an agent's turns and steps, as they begin and end. */

import { UnturnError } from '../errors.ts'
import type { Flight } from '../log/flights.ts'
import { type CommitNote, optional, type TurnStatus } from '../log/record.ts'
import type { ChangeRow, Operation, TurnRow } from '../log/rows.ts'
import { serializeSkipped } from '../log/skipped-list.ts'
import { listCommits } from '../store/user-commits.ts'
import { headMovesSince, type UserGit } from '../store/user-git.ts'
import {
  type BlobId,
  type Exclusive,
  flawOfRelPath,
  joinAbs,
  type RelPath,
  type SessionId,
  type Skipped,
  type StepId,
  type TreeId,
  type TurnId,
} from '../values.ts'
import { badPath } from '../workspace/locate.ts'
import { type CaptureWish, capture } from './capture.ts'
import type { Engine } from './engine.ts'
import { type LastKnown, readLastKnown } from './observe.ts'

export interface TurnWish {
  readonly session: SessionId
  readonly agent: string
  readonly agentId?: string
  readonly prompt?: string
  /** The agent's own id for the prompt: the same one again is the same turn. */
  readonly message?: string
  /** The agent's process: while it lives, the turn counts as running. */
  readonly pid?: number
  /** Told afterwards: what changed since the last operation is the turn's already, and not the user's. */
  readonly late?: boolean
}

export interface StepWish {
  readonly turn: TurnId
  readonly tool: string
  /** None: anything may change while the step runs. */
  readonly paths: readonly RelPath[]
  readonly part?: string
  readonly command?: string
  readonly agentId?: string
  /** Told afterwards: the tool may have written already, so nothing that changed since is taken for the user's. */
  readonly late?: boolean
}

export async function beginTurn(
  engine: Engine,
  { late, ...wish }: TurnWish,
  lock: Exclusive,
): Promise<{ readonly turn: TurnId; readonly seq: number }> {
  const { index } = engine.log
  const again = wish.message === undefined ? undefined : index.findTurnByMessage(wish.session, wish.message)
  if (again !== undefined) return { turn: again.id, seq: again.beginSeq }
  for (const open of index.openTurns(wish.session)) await closeTurn(engine, open, 'interrupted', lock)
  const last = await baselineOf(engine, { hint: 'turn' }, late, lock)
  const turn = engine.newId('t') as TurnId
  const parent = index.findSession(wish.session)?.head ?? { turn: null }
  const begun = appendNote(
    engine,
    { kind: 'turn-begin', turn, parent, git: engine.user.position(), ...wish },
    lock,
  )
  engine.flights.begin({ ...implicitFlight(engine, wish, turn), skipped: keepSkipped(engine, last) })
  return { turn, seq: begun.record.seq }
}

// A hook that could not deliver in time is heard later. To capture then would make the user's of what the agent did.
async function baselineOf(
  engine: Engine,
  wish: CaptureWish,
  late: boolean | undefined,
  lock: Exclusive,
): Promise<LastKnown> {
  const known = late === true ? readLastKnown(engine) : undefined
  return known ?? (await capture(engine, wish, lock)).last
}

// Something ignored may have changed since the last operation. Nobody's step did that, and no operation tells of it.
function keepSkipped(engine: Engine, last: LastKnown): BlobId {
  if (engine.objects.has(last.skippedBlob)) return last.skippedBlob
  const batch = engine.objects.newBatch()
  const kept = batch.blob(serializeSkipped(last.skipped))
  batch.flush()
  return kept
}

// Many agents report no steps. Until this one reports its first, the whole turn counts as one (R2).
function implicitFlight(engine: Engine, wish: TurnWish, turn: TurnId): Flight {
  return {
    step: engine.newId('s') as StepId,
    session: wish.session,
    turn,
    tool: 'turn',
    agent: wish.agent,
    ...optional('agentId', wish.agentId),
    paths: [],
    beganMs: engine.now(),
    implicit: true,
  }
}

export async function beginStep(
  engine: Engine,
  wish: StepWish,
  lock: Exclusive,
): Promise<{ readonly step: StepId }> {
  const turn = requireTurn(engine, wish.turn)
  for (const path of wish.paths) refuseUnsafe(engine, path)
  const again = wish.part === undefined ? undefined : findByPart(engine, wish.turn, wish.part)
  if (again !== undefined) return { step: again }
  endImplicit(engine, wish.turn)
  const openEnded = wish.paths.length === 0
  const look = openEnded ? { hint: 'step' as const } : { paths: wish.paths }
  const last = await baselineOf(engine, look, wish.late, lock)
  const step = engine.newId('s') as StepId
  engine.flights.begin({
    step,
    session: turn.session,
    turn: turn.id,
    tool: wish.tool,
    agent: turn.agent,
    ...optional('agentId', wish.agentId ?? turn.agentId),
    ...optional('part', wish.part),
    ...optional('command', wish.command),
    paths: wish.paths,
    ...optional('skipped', openEnded ? keepSkipped(engine, last) : undefined),
    beganMs: engine.now(),
    implicit: false,
    ...optional('late', wish.late),
  })
  return { step }
}

// The type promises it; an agent's own words, cast on the way, are where it matters: `..` would be read and captured.
function refuseUnsafe(engine: Engine, path: RelPath): void {
  const flaw = flawOfRelPath(path)
  if (flaw !== undefined) throw badPath(engine.root, path, flaw)
}

function findByPart(engine: Engine, turn: TurnId, part: string): StepId | undefined {
  const flying = engine.flights.list().find((flight) => flight.turn === turn && flight.part === part)
  return flying?.step ?? engine.log.index.findStepByPart(turn, part)?.id
}

/** A turn that reports what it does is no longer taken for one step. */
export function endImplicit(engine: Engine, turn: TurnId): void {
  for (const flight of engine.flights.list())
    if (flight.implicit && flight.turn === turn) engine.flights.end(flight.step)
}

export async function endStep(engine: Engine, step: StepId, lock: Exclusive): Promise<readonly ChangeRow[]> {
  const flight = engine.flights.find(step)
  if (flight !== undefined) await closeFlight(engine, flight, lock)
  else if (engine.log.index.findStep(step) === undefined) throw unknownId(step, 'step')
  return engine.log.index.changesOfStep(step)
}

async function closeFlight(engine: Engine, flight: Flight, lock: Exclusive): Promise<void> {
  const look = flight.paths.length > 0 ? { paths: flight.paths } : { hint: 'step' as const }
  await capture(engine, { ...look, closing: flight }, lock)
  engine.flights.end(flight.step)
}

export interface TurnEnd {
  readonly changes: readonly ChangeRow[]
  readonly skipped: readonly Skipped[]
}

export async function endTurn(
  engine: Engine,
  id: TurnId,
  status: TurnStatus,
  lock: Exclusive,
): Promise<TurnEnd> {
  const turn = requireTurn(engine, id)
  const skipped = await closeTurn(engine, turn, status, lock)
  return { changes: engine.log.index.changesOfTurn(id), skipped }
}

/** Ends a turn: steps that never ended are closed with it, and what changed with nothing in flight is the user's. */
export async function closeTurn(
  engine: Engine,
  turn: TurnRow,
  status: TurnStatus,
  lock: Exclusive,
): Promise<readonly Skipped[]> {
  for (const flight of engine.flights.list())
    if (flight.turn === turn.id) await closeFlight(engine, flight, lock)
  // Before the look: if it turns out to be a full one, it is the audit.
  if (engine.watch !== undefined) engine.unaudited.add(turn.id)
  const { last } = await capture(engine, { hint: 'step' }, lock)
  if (turn.status === 'open') {
    const git = engine.user.position()
    const commits = await commitsSince(engine, turn, git.head)
    appendNote(
      engine,
      {
        kind: 'turn-end',
        session: turn.session,
        turn: turn.id,
        status,
        git,
        commits,
        ...optional('gitBefore', turn.gitBefore),
      },
      lock,
    )
  }
  return [...last.skipped.values()].map((entry) => entry.skipped)
}

/** What the user's repository got since the turn began. */
export async function commitsSince(
  engine: Engine,
  turn: TurnRow,
  head: string | undefined,
): Promise<readonly CommitNote[]> {
  const git = engine.user.find()
  if (git === undefined || head === undefined || head === turn.gitBefore?.head) return []
  const { head: before, logged } = turn.gitBefore ?? {}
  const older = before === undefined ? [] : [before, ...(logged === undefined ? [] : switchedTo(git, logged))]
  const listed = await listCommits(engine.git, joinAbs(git.commonDir, 'objects'), older, head, 200)
  return listed ?? [{ id: head, subject: '' }]
}

// The commits of a branch that was only checked out are nobody's new ones.
function switchedTo(git: UserGit, logged: number): readonly string[] {
  const made = new Set<string>()
  const found: string[] = []
  for (const { to, isSwitch } of headMovesSince(git, logged)) {
    if (!isSwitch) made.add(to)
    else if (!made.has(to)) found.push(to)
  }
  return found
}

export interface UserCapture {
  readonly snapshot: TreeId
  readonly changes: readonly ChangeRow[]
  readonly skipped: readonly Skipped[]
}

/** Takes in what changed since the last operation. With no step in flight it is the user's own. */
export async function captureNow(
  engine: Engine,
  label: string | undefined,
  lock: Exclusive,
): Promise<UserCapture> {
  const { last, operations } = await capture(engine, { ...optional('label', label), hint: 'step' }, lock)
  return {
    snapshot: last.state.tree,
    changes: operations.flatMap((operation) => engine.log.index.changesOfOperation(operation.record.seq)),
    skipped: [...last.skipped.values()].map((entry) => entry.skipped),
  }
}

/** An operation that changes no file: something was said, and the log keeps it. */
export function appendNote(
  engine: Engine,
  draft: Parameters<Engine['log']['append']>[1],
  lock: Exclusive,
): Operation {
  const last = engine.log.index.lastOperation()
  if (last === undefined) throw new Error('a note needs a capture before it')
  const taken = { before: last.after, after: last.after, skipped: last.skipped }
  return engine.log.append(engine.objects.newBatch(), draft, taken, lock, [])
}

// ---- running turns -----------------------------------------------------------------------------------------------

/** Why this turn counts as running (R1), or undefined if nobody is at it any more. */
export function whyRunning(engine: Engine, turn: TurnRow): string | undefined {
  if (turn.status !== 'open') return undefined
  const flight = engine.flights.list().find((one) => one.turn === turn.id && !one.implicit)
  if (flight !== undefined) return `its step ${flight.step} (${flight.tool}) has not ended`
  if (turn.pid !== undefined && engine.isAlive(turn.pid)) return `its agent, process ${turn.pid}, is alive`
  return undefined
}

export function requireTurn(engine: Engine, id: TurnId): TurnRow {
  const turn = engine.log.index.findTurn(id)
  if (turn === undefined) throw unknownId(id, 'turn')
  return turn
}

export function unknownId(id: string, what: string): UnturnError {
  return new UnturnError(
    'unknown-id',
    { id },
    {
      message: `There is no ${what} ${JSON.stringify(id)} in this workspace. Nothing was changed.`,
      hint: 'Run "unturn log --all" to see the turns and their ids.',
    },
  )
}
