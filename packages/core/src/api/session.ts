/** A session: one conversation with one agent. Its turns form a tree, and its head stands at a point of it. */

import { isFailure } from '../errors.ts'
import type { Cleaned } from '../history/cleanup.ts'
import type { ConflictWish, OnConflict } from '../history/enact.ts'
import type { Outcome } from '../history/outcome.ts'
import { readTurnTree, revertedTurns } from '../history/points.ts'
import { unknownId, whyRunning } from '../history/recording.ts'
import type { Selection } from '../history/rollback.ts'
import { turnViews } from '../history/views.ts'
import { optional } from '../log/record.ts'
import type { TurnRow } from '../log/rows.ts'
import type { HunkSelection } from '../review/choose.ts'
import type { SessionId, StepId, TurnId } from '../values.ts'
import type { FileDiff } from './events.ts'
import { Plan, type Run } from './plan.ts'
import type { DecisionResult, ReviewResult } from './review-words.ts'
import { sessionDiff } from './telling.ts'
import { Turn } from './turn.ts'
import { type MoveResult, nothing, orNothing, relPathOf } from './words.ts'
import type { WorkspacePort } from './workspace-port.ts'

export interface SessionOptions {
  /** The agent's name, as it is shown in the history. */
  readonly agent: string
  readonly agentId?: string
}

export interface BeginOptions {
  readonly prompt?: string
  /** The agent's own id of the prompt: the same one again is the same turn. */
  readonly message?: string
  /** The agent's process: while it lives, the turn counts as running. */
  readonly pid?: number
  /** Reverted turns leave the transcript for good before this one begins; the removals are told as events. */
  readonly cleanupFirst?: boolean
}

export interface MoveOptions {
  /** What to do where newer work overlaps: `abort` (change nothing), `keep`, `overwrite`, or `markers`. */
  readonly onConflict?: OnConflict
  /** Single paths with a choice of their own; one that is left at `abort` stops everything. */
  readonly choices?: Readonly<Record<string, OnConflict>>
  /** Single paths whose text somebody has made of both sides. Used only where there is a conflict. */
  readonly results?: Readonly<Record<string, string | Uint8Array>>
  /** Conflicts come with the whole of each side, for somebody who is to decide. */
  readonly sides?: boolean
  /** Also move the user's branch back over commits that the turns made. */
  readonly git?: boolean
  /**
   * Called first for a turn that is running: stop the agent, and come back when it has stopped. Then its turn ends as
   * interrupted and the move goes ahead. Without it a running turn is the error `turn-running`.
   */
  readonly abort?: (running: RunningTurn) => void | Promise<void>
}

/** What may be said about conflicts. */
export type ConflictOptions = Pick<MoveOptions, 'onConflict' | 'choices' | 'results' | 'sides'>

export interface RunningTurn {
  readonly turn: TurnId
  readonly message?: string
  readonly reason: string
}

export interface UndoOptions extends MoveOptions {
  /** How many turns; 1 if nothing is said. */
  readonly turns?: number
  /** Everything from this turn on. */
  readonly to?: string
}

export interface RedoOptions extends MoveOptions {
  readonly turns?: number
  readonly all?: boolean
}

export interface RestoreOptions extends MoveOptions {
  readonly turn: string
  /** A step of that turn: the boundary is inside it. */
  readonly step?: string
  /** `before` if nothing is said. */
  readonly side?: 'before' | 'after'
  /** The workspace exactly as it was then: later edits by anybody go, too, and stay recoverable. */
  readonly exact?: boolean
}

export interface MessageOptions extends Omit<RestoreOptions, 'turn' | 'step'> {
  /** The agent's own id of a part of the message (a tool call): the boundary is inside the message. */
  readonly part?: string
}

/** Which changes; several kinds narrow each other, repeats of one kind add up. */
export interface RollbackSelection {
  readonly changes?: readonly string[]
  readonly steps?: readonly string[]
  readonly turns?: readonly string[]
  /** Names of agents. */
  readonly agents?: readonly string[]
  /** Subagents by their id. */
  readonly agentIds?: readonly string[]
  /** Files, or folders with everything below. */
  readonly paths?: readonly string[]
  readonly after?: number | Date
  /** Operations to invert: an undo, redo, restore or rollback, or anything else that changed files. */
  readonly ops?: readonly string[]
}

/** Which pending hunks; several kinds narrow each other, repeats of one kind add up. */
export interface ReviewSelection {
  /** Ids, or unique beginnings of them; `ID:2-4,7` means some lines of a hunk. */
  readonly hunks?: readonly string[]
  /** Files, or folders with everything below. */
  readonly paths?: readonly string[]
  readonly turns?: readonly string[]
  /** Names of agents. */
  readonly agents?: readonly string[]
  /** Proposals that were made as one group. */
  readonly groups?: readonly string[]
  readonly proposals?: readonly string[]
}

export interface DecideOptions {
  /** For the agent to read. */
  readonly comment?: string
  /** What becomes of hunks that somebody has edited inside; `abort` (change nothing) if nothing is said. */
  readonly onConflict?: OnConflict
  /** Single paths with a choice of their own; one that is left at `abort` stops everything. */
  readonly choices?: Readonly<Record<string, OnConflict>>
  /** Only say what would be done. */
  readonly dryRun?: boolean
}

/** A plan is a dry run already. */
export type PlannedDecideOptions = Omit<DecideOptions, 'dryRun'>

/**
 * What `accept` or `reject` has done or would do.
 *
 * - `done`: decided; `session.rollback({ ops: [op] })` takes it back, one of `ops` at a time, the last one first.
 * - `planned`: nothing was changed; this is what would be.
 * - `conflicts`: nothing was changed, because newer edits overlap; say `onConflict` to decide.
 * - `nothing`: no pending hunk is what was selected; `message` says it in words.
 */
export interface Decision extends DecisionResult {
  readonly kind: 'done' | 'planned' | 'conflicts' | 'nothing'
  readonly message?: string
}

/** Where a session stands. */
export interface Head {
  /** Null: before its first turn. */
  readonly turn: TurnId | null
  readonly message?: string
  /** Inside the turn: this step and all later ones are out. */
  readonly before?: StepId
  readonly part?: string
}

export interface TurnInfo {
  readonly id: TurnId
  readonly parent: TurnId | null
  readonly prompt?: string
  readonly message?: string
  readonly status: TurnRow['status']
  readonly isHead: boolean
  readonly isReverted: boolean
  readonly files: number
  readonly additions: number
  readonly deletions: number
  /** ISO 8601. */
  readonly began: string
}

export interface Reverted {
  readonly count: number
  readonly turns: readonly TurnId[]
  /** The agent's own ids, where it gave some. */
  readonly messages: readonly string[]
}

export class Session {
  readonly id: SessionId
  readonly workspace: WorkspacePort
  readonly #options: SessionOptions

  constructor(workspace: WorkspacePort, id: string, options: SessionOptions) {
    this.workspace = workspace
    this.id = id as SessionId
    this.#options = options
  }

  /** Begins a turn. One that was left open is closed as interrupted; what it changed is kept as its own. */
  async begin(options: BeginOptions = {}): Promise<Turn> {
    if (options.cleanupFirst === true) await this.cleanup()
    const { agent, agentId } = this.#options
    const { turn } = await this.workspace.beginTurn({
      session: this.id,
      agent,
      ...optional('agentId', agentId),
      ...optional('prompt', options.prompt),
      ...optional('message', options.message),
      ...optional('pid', options.pid),
    })
    return new Turn(this.workspace, this.id, turn)
  }

  // ---- moving ------------------------------------------------------------------------------------------------------

  /** Takes the last turn out of the files, or several. Everybody else's work stays. */
  async undo(options: UndoOptions = {}): Promise<MoveResult> {
    return this.#undo(options, {})
  }

  /** What `undo` would do, and the means to do exactly that. */
  planUndo(options: UndoOptions = {}): Promise<Plan> {
    return Plan.make((run) => this.#undo(options, run))
  }

  async redo(options: RedoOptions = {}): Promise<MoveResult> {
    return this.#redo(options, {})
  }

  planRedo(options: RedoOptions = {}): Promise<Plan> {
    return Plan.make((run) => this.#redo(options, run))
  }

  /** Goes to before or after any turn, or to a step inside of it, on whatever branch of the tree. */
  async restore(options: RestoreOptions): Promise<MoveResult> {
    return this.#restore(options, {})
  }

  planRestore(options: RestoreOptions): Promise<Plan> {
    return Plan.make((run) => this.#restore(options, run))
  }

  /** The same by the agent's own ids: to before a message, or to a part inside of it. */
  async restoreToMessage(message: string, options: MessageOptions = {}): Promise<MoveResult> {
    return this.restore({ ...options, ...this.#placeOf(message, options.part) })
  }

  /**
   * Takes selected changes out, wherever they are, and keeps all later work; the head stays. Changes, steps, turns and
   * operations are found in any session by their ids; the other kinds look in this one.
   */
  rollback(selection: RollbackSelection, options: ConflictOptions = {}): Promise<MoveResult> {
    return this.#rollback(selection, options, {})
  }

  planRollback(selection: RollbackSelection, options: ConflictOptions = {}): Promise<Plan> {
    return Plan.make((run) => this.#rollback(selection, options, run))
  }

  /** Reverted turns, and reverted steps of the turn that the head stands in, leave the transcript for good. */
  cleanup(): Promise<Cleaned> {
    return this.workspace.cleanup(this.id)
  }

  #undo({ turns, to, ...move }: UndoOptions, run: Partial<Run>): Promise<MoveResult> {
    const wish = { ...optional('turns', turns), ...optional('to', to as TurnId | undefined) }
    return this.#moving(move, run, (how) => this.workspace.undo({ session: this.id, ...wish, ...how }))
  }

  #redo({ turns, all, ...move }: RedoOptions, run: Partial<Run>): Promise<MoveResult> {
    const wish = { ...optional('turns', turns), ...optional('all', all) }
    return this.#moving(move, run, (how) => this.workspace.redo({ session: this.id, ...wish, ...how }))
  }

  #restore(
    { turn, step, side = 'before', exact, ...move }: RestoreOptions,
    run: Partial<Run>,
  ): Promise<MoveResult> {
    const place = { turn: turn as TurnId, side, ...optional('step', step as StepId | undefined) }
    const wish = { ...place, ...optional('exact', exact) }
    return this.#moving(move, run, (how) => this.workspace.restore({ session: this.id, ...wish, ...how }))
  }

  #rollback(chosen: RollbackSelection, options: ConflictOptions, run: Partial<Run>): Promise<MoveResult> {
    const { workspace } = this
    const { paths, after, ...ids } = chosen
    // For the engine an empty list is no wish at all. A host that filtered its list down to nothing must not lose
    // the whole session's work for it.
    const wishes = Object.values(chosen).filter((wish) => wish !== undefined)
    if (wishes.length === 0 || wishes.some((wish) => Array.isArray(wish) && wish.length === 0))
      return Promise.resolve(nothing(this.head().turn, 'Nothing is selected. No file was changed.'))
    const selection = {
      ...(ids as Selection),
      ...optional(
        'paths',
        paths?.map((path) => relPathOf(workspace.root, path)),
      ),
      ...optional('afterMs', after === undefined ? undefined : Number(after)),
    }
    return orNothing(this.head().turn, () =>
      workspace.rollback({ session: this.id, selection, ...this.#conflictWish(options), ...run }),
    )
  }

  #conflictWish({ onConflict, choices, results, sides }: ConflictOptions): ConflictWish {
    const made = Object.entries(results ?? {}).map(
      ([path, text]) => [path, { content: typeof text === 'string' ? Buffer.from(text) : text }] as const,
    )
    const paths = [...Object.entries(choices ?? {}), ...made].map(
      ([path, choice]) => [relPathOf(this.workspace.root, path), choice] as const,
    )
    return {
      ...optional('onConflict', onConflict),
      ...optional('choices', paths.length === 0 ? undefined : new Map(paths)),
      ...optional('sides', sides),
    }
  }

  // A plan does not stop anybody: the agent is aborted when the plan is applied.
  async #moving(
    { abort, git, ...conflicts }: MoveOptions,
    run: Partial<Run>,
    move: (
      how: Partial<Run> & ConflictWish & Pick<MoveOptions, 'git'> & { readonly evenIfRunning?: boolean },
    ) => Promise<Outcome>,
  ): Promise<MoveResult> {
    if (abort !== undefined && run.dryRun !== true) await this.#abortRunning(abort)
    const evenIfRunning = abort !== undefined && run.dryRun === true
    const how = { ...run, ...this.#conflictWish(conflicts), ...optional('git', git) }
    return orNothing(this.head().turn, () => move({ ...how, evenIfRunning }))
  }

  async #abortRunning(abort: NonNullable<MoveOptions['abort']>): Promise<void> {
    const { engine } = this.workspace
    for (const turn of engine.log.index.openTurns(this.id)) {
      const reason = whyRunning(engine, turn)
      if (reason === undefined) continue
      await abort({ turn: turn.id, reason, ...optional('message', turn.message) })
      await this.workspace.endTurn(turn.id, 'interrupted')
    }
  }

  #placeOf(message: string, part: string | undefined): Pick<RestoreOptions, 'turn' | 'step'> {
    const { index } = this.workspace
    const turn = index.findTurnByMessage(this.id, message)
    if (turn === undefined) throw unknownId(message, 'message of this session')
    if (part === undefined) return { turn: turn.id }
    const step = index.findStepByPart(turn.id, part)
    if (step === undefined) throw unknownId(part, 'part of this message')
    return { turn: turn.id, step: step.id }
  }

  // ---- review ------------------------------------------------------------------------------------------------------

  /** What is pending: the agent's changes that nobody has accepted or rejected, hunk by hunk, and its proposals. */
  async review(): Promise<ReviewResult> {
    const { nothingPending, reviewJson } = await import('./review-words.ts')
    if (this.workspace.index.findSession(this.id) === undefined)
      return { ...nothingPending, session: this.id }
    return reviewJson(this.workspace.engine, await this.workspace.review(this.id))
  }

  /** Takes hunks off the list; proposals are written to the disk. A hunk that is no longer there is the error `hunk-gone`. */
  accept(selection: ReviewSelection | 'all', options: DecideOptions = {}): Promise<Decision> {
    return this.#decide('accept', selection, options)
  }

  /** What `accept` would do, and the means to do exactly that. */
  planAccept(
    selection: ReviewSelection | 'all',
    options: PlannedDecideOptions = {},
  ): Promise<Plan<Decision>> {
    return Plan.make((run) => this.#decide('accept', selection, { ...options, ...run }))
  }

  /** Takes hunks out of the files again; what the user wrote is kept. The comment is for the agent: `review` lists it. */
  reject(selection: ReviewSelection | 'all', options: DecideOptions = {}): Promise<Decision> {
    return this.#decide('reject', selection, options)
  }

  planReject(
    selection: ReviewSelection | 'all',
    options: PlannedDecideOptions = {},
  ): Promise<Plan<Decision>> {
    return Plan.make((run) => this.#decide('reject', selection, { ...options, ...run }))
  }

  async #decide(
    way: 'accept' | 'reject',
    selection: ReviewSelection | 'all',
    { choices = {}, ...options }: DecideOptions & Partial<Run>,
  ): Promise<Decision> {
    const wishes = Object.values(selection === 'all' ? {} : selection).filter((wish) => wish !== undefined)
    // For the engine an empty list is no wish at all, and no wish is everything. A host that filtered its list down to
    // nothing has not decided about the whole session.
    if (selection !== 'all' && (wishes.length === 0 || wishes.some((wish) => wish.length === 0)))
      return this.#nothingDecided('Nothing is selected. Nothing was changed.')
    if (this.workspace.index.findSession(this.id) === undefined)
      return this.#nothingDecided('This session has no turn yet. Nothing was changed.')
    const { decisionJson } = await import('./review-words.ts')
    try {
      const byPath = Object.entries(choices).map(
        ([path, choice]) => [relPathOf(this.workspace.root, path), choice] as const,
      )
      const wish = {
        session: this.id,
        selection: this.#hunkSelection(selection),
        choices: new Map(byPath),
        ...options,
      }
      const decided = await this.workspace[way](wish)
      return { kind: decided.kind, ...decisionJson(decided) }
    } catch (error) {
      if (!isFailure(error, 'nothing-to-review')) throw error
      return this.#nothingDecided(error.message)
    }
  }

  async #nothingDecided(message: string): Promise<Decision> {
    const pending = await this.workspace.countPending(this.id)
    return { kind: 'nothing', ops: [], hunks: [], files: [], conflicts: [], pending, message }
  }

  #hunkSelection(selection: ReviewSelection | 'all'): HunkSelection {
    if (selection === 'all') return {}
    const { paths, turns, ...rest } = selection
    return {
      ...rest,
      ...optional('turns', turns as readonly TurnId[] | undefined),
      ...optional(
        'paths',
        paths?.map((path) => relPathOf(this.workspace.root, path)),
      ),
    }
  }

  // ---- looking -----------------------------------------------------------------------------------------------------

  head(): Head {
    const { index, engine } = this.workspace
    const { turn, before } = readTurnTree(engine, this.id).head
    return {
      turn,
      ...optional('message', turn === null ? undefined : index.findTurn(turn)?.message),
      ...optional('before', before),
      ...optional('part', before === undefined ? undefined : index.findStep(before)?.part),
    }
  }

  /** Oldest first, reverted ones included. */
  turns(): readonly TurnInfo[] {
    return turnViews(this.workspace.engine, this.id).map(({ turn, isHead, isReverted, ...counts }) => ({
      id: turn.id,
      parent: turn.parent.turn,
      ...optional('prompt', turn.prompt),
      ...optional('message', turn.message),
      status: turn.status,
      isHead,
      isReverted,
      files: counts.files,
      additions: counts.additions,
      deletions: counts.deletions,
      began: new Date(turn.beganMs).toISOString(),
    }))
  }

  /** Turns that are off the head's path: undone, or left for another branch. */
  reverted(): Reverted {
    const turns = revertedTurns(readTurnTree(this.workspace.engine, this.id))
    return {
      count: turns.length,
      turns: turns.map((turn) => turn.id),
      messages: turns.flatMap((turn) => turn.message ?? []),
    }
  }

  /** The files that this session has touched, as of the last capture, against how they were when it began. */
  diff(): Promise<readonly FileDiff[]> {
    return sessionDiff(this.workspace.engine, this.id)
  }
}
