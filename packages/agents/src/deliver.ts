/**
 * Events in, turns and steps out. This is the one place with memory; the adapters have none.
 *
 *   a prompt by the user       closes what is still open, and begins a turn
 *   a call that may write      begins a step, in every workspace that it can reach
 *   the end of a call          ends it; one that was never begun is begun late
 *   the end of a turn          ends it in every workspace that it touched
 *
 * Agents leave things out: a call never ends, a turn is cut, a session is killed. Whatever comes next closes it.
 */

import { lstatSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  bytesOfText,
  bytesPath,
  isFailure,
  type OpenOptions,
  openWorkspace,
  type RelPath,
  relPathFrom,
  type SessionId,
  type StepId,
  type TurnId,
  type TurnStatus,
  type TurnWish,
  type Workspace,
} from '@unturn/core'
import { canBeTold } from './adapters.ts'
import { touchedPaths } from './apply-patch.ts'
import { hasReadBackups } from './claude-code/rewind.ts'
import {
  type AgentEvent,
  type AgentName,
  type Call,
  type Environment,
  type EventKind,
  findAgent,
  type Wrote,
} from './events.ts'
import { filesWrittenBy, findJobs, isRunning, type Job, type Process } from './jobs.ts'
import {
  type Background,
  type Memory,
  noteJobs,
  type OpenStep,
  recall,
  remember,
  type TurnMemory,
} from './memory.ts'
import { noticeOf } from './notice.ts'
import { likenessOf, optional } from './payload.ts'
import { rootOf, workspaceOfPath } from './places.ts'
import { shareOf } from './share.ts'

export interface DeliverOptions {
  readonly desk: string
  readonly env: Environment
  readonly now?: () => number
  readonly isAlive?: (pid: number) => boolean
  /** Told of a path that an edit tool names and nobody watches over. */
  readonly onOutside?: (path: string) => void
  /** Called when a turn has ended; what it does must not take long. */
  readonly afterTurn?: (workspace: Workspace) => void
  readonly open?: OpenOptions
}

export interface Delivered {
  /** What to tell the agent with this event, if anything. */
  readonly notice?: string
  /** To be called once the agent has been told. */
  readonly told: () => void
}

type Of<Kind extends EventKind> = Extract<AgentEvent, { readonly kind: Kind }>

/** Opens workspaces as they are needed, and closes them all. */
export class Deliverer implements AsyncDisposable {
  readonly #options: DeliverOptions
  readonly #opened = new Map<string, Promise<Workspace>>()

  constructor(options: DeliverOptions) {
    this.#options = options
  }

  /** The caller holds the session's lock. `late`: it happened a while ago, and nobody looked at the files then. */
  async deliver(event: AgentEvent, how: { readonly late: boolean }): Promise<Delivered> {
    const { desk } = this.#options
    const memory = recall(desk, event.agent, event.session)
    if (this.#isToldByProxy(event, memory)) return { told: () => {} }
    const delivery = new Delivery(this, this.#options, memory, how.late)
    const hadJobs = memory.background !== undefined
    try {
      await delivery.carryOut(event)
      return await this.#notice(event, memory)
    } finally {
      remember(desk, memory) // also after a failure: what has begun must be found again
      const hasJobs = memory.background !== undefined
      if (hasJobs !== hadJobs) noteJobs(desk, memory.session, hasJobs)
    }
  }

  /** What a job has written since its turn ended. The caller holds the session's lock. */
  async takeInJobs(session: string): Promise<void> {
    const { desk } = this.#options
    const memory = recall(desk, 'acp', session)
    try {
      await new Delivery(this, this.#options, memory, false).takeInBackground({ isOver: false })
      remember(desk, memory)
    } finally {
      if (memory.background === undefined) noteJobs(desk, session, false)
    }
  }

  // The agent's own hooks fire behind a proxy, too, some of them. What the proxy hears is all there is to record; only the
  // agent's own revert is not said to an editor.
  #isToldByProxy({ kind, proxy }: AgentEvent, memory: Memory): boolean {
    const isAlive = this.#options.isAlive ?? isProcessAlive
    return proxy === undefined && kind !== 'own-undo' && memory.proxy !== undefined && isAlive(memory.proxy)
  }

  async #notice(event: AgentEvent, memory: Memory): Promise<Delivered> {
    if (!canBeTold(event)) return { told: () => {} }
    const found = await noticeOf(memory, (root) => this.workspace(root))
    const told = () => {
      const { desk } = this.#options
      const now = recall(desk, memory.agent, memory.session)
      remember(desk, { ...now, told: { ...now.told, ...found.upTo } })
    }
    return { ...optional('notice', found.text), told }
  }

  workspace(root: string): Promise<Workspace> {
    const known = this.#opened.get(root)
    if (known !== undefined) return known
    const opening = openWorkspace(root, { env: this.#options.env, explicit: true, ...this.#options.open })
    this.#opened.set(root, opening)
    opening.catch(() => this.#opened.delete(root)) // the caller gets the failure; the next event tries again
    return opening
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const opening of this.#opened.values()) {
      const workspace = await opening.catch(() => undefined)
      await workspace?.[Symbol.asyncDispose]()
    }
    this.#opened.clear()
  }
}

/** The same prompt again within this time, without an id to tell: one hook, installed twice. */
const sameWithinMs = 2_000
/** A formatter that was started by the edit writes within this time. */
const formatterMs = 3_000
/** Files that a turn's commands say they write: the last ones. */
const mostWrites = 200
/** Times of files and the clock are not the same to the millisecond. */
const clockMs = 5

class Delivery {
  readonly #deliverer: Deliverer
  readonly #options: DeliverOptions
  readonly #memory: Memory
  readonly #late: boolean

  constructor(deliverer: Deliverer, options: DeliverOptions, memory: Memory, late: boolean) {
    this.#deliverer = deliverer
    this.#options = options
    this.#memory = memory
    this.#late = late
  }

  get #now(): number {
    return (this.#options.now ?? Date.now)()
  }

  /** As it is called in the history. */
  get #agent(): string {
    return this.#memory.called ?? this.#memory.agent
  }

  get #session(): SessionId {
    return this.#memory.session as SessionId
  }

  async carryOut(event: AgentEvent): Promise<void> {
    if (event.called !== undefined) this.#memory.called = event.called
    if (event.proxy !== undefined) this.#memory.proxy = event.proxy
    await this.#takeInFormatting()
    await this.#carryOut(event)
    if (!this.#late) this.#memory.heardMs = this.#now
  }

  async #carryOut(event: AgentEvent): Promise<void> {
    switch (event.kind) {
      case 'session-began':
        return this.#sessionBegan(event)
      case 'prompted':
        return this.#prompted(event)
      case 'step-began':
        return this.#stepBegan(event)
      case 'step-ended':
        return this.#stepEnded(event)
      case 'turn-ended':
        return this.#endTurn(event.outcome, event.stillRunning)
      case 'own-undo':
        return this.#ownUndo(event)
      case 'session-ended':
        return this.#sessionEnded(event)
      case 'subagent-began':
      case 'subagent-ended':
      case 'moved':
        return // every event of a session proves that it is alive; these say nothing else that we need
      default:
        return unreachable(event)
    }
  }

  // ---- sessions ------------------------------------------------------------------------------------------------------

  async #sessionBegan(event: Of<'session-began'>): Promise<void> {
    // Compaction happens in the middle of a turn; any other start means that what was open is over.
    if (event.how === 'compacted') return
    await this.#closeLeftOpen()
    const workspace = await this.#in(this.#home(event))
    await this.#closeTurnsOfTheDead(workspace)
    // The first look at a large project takes a while: it begins here, before anybody waits for it. And what changes while
    // an agent runs without being asked for anything can be told only from what was there when it started.
    this.#memory.isUnasked = event.how === 'resumed' && event.agent === 'claude-code' && !this.#late
    if (workspace.index.lastOperation() === undefined || this.#memory.isUnasked) await workspace.capture()
  }

  async #sessionEnded(event: Of<'session-ended'>): Promise<void> {
    await this.#closeLeftOpen()
    await this.takeInBackground({ isOver: false })
    if (this.#memory.isUnasked === true) await this.#takeInRewind(event)
    this.#memory.isUnasked = false
  }

  /** A turn that never ended: its agent was interrupted or killed. It keeps all that it changed. */
  async #closeLeftOpen(): Promise<void> {
    const { turn } = this.#memory
    if (turn === undefined) return
    if (!turn.ended || Object.keys(turn.steps).length > 0) await this.#endTurn('interrupted', [])
  }

  // A session that says nothing more would keep its turn open, and be given whatever the user writes.
  async #closeTurnsOfTheDead(workspace: Workspace): Promise<void> {
    const isAlive = this.#options.isAlive ?? isProcessAlive
    for (const { id, session, pid } of workspace.index.openTurns())
      if (session !== this.#session && pid !== undefined && !isAlive(pid))
        await workspace.endTurn(id, 'interrupted')
  }

  // ---- turns ---------------------------------------------------------------------------------------------------------

  async #prompted(event: Of<'prompted'>): Promise<void> {
    const { by } = event
    if (by === 'parent-agent' || by === 'us') return
    if (by === 'machine') return this.#promptedByMachine(event)
    if (this.#isSamePrompt(event)) return
    await this.#closeLeftOpen()
    await this.takeInBackground({ isOver: true })
    const home = this.#home(event)
    await this.#closeTurnsOfTheDead(await this.#in(home))
    await this.#takeInRewind(event)
    this.#memory.isUnasked = false
    this.#memory.within = []
    this.#memory.turn = { ...newTurn(event.message ?? event.turn, event.prompt), beganMs: this.#now }
    await this.#beginTurn(home, event)
  }

  // The agent wakes up because its background task is over. What it does now belongs to the turn that started the task.
  async #promptedByMachine(event: Of<'prompted'>): Promise<void> {
    const { turn } = this.#memory
    if (turn !== undefined && event.turn !== undefined) turn.also.push(event.turn)
    // What goes on after this is told of again when the turn ends once more.
    await this.takeInBackground({ isOver: true })
  }

  #isSamePrompt(event: Of<'prompted'>): boolean {
    const { turn, lastPrompt } = this.#memory
    const message = event.message ?? event.turn
    if (message !== undefined) return turn?.message === message
    const likeness = likenessOf(event.prompt)
    const isSame = lastPrompt?.likeness === likeness && this.#now - lastPrompt.atMs < sameWithinMs
    this.#memory.lastPrompt = { likeness, atMs: this.#now }
    return isSame
  }

  async #beginTurn(root: string, event: AgentEvent): Promise<TurnId> {
    const memory = this.#memory
    const turn = memory.turn ?? newTurn(event.turn, undefined)
    memory.turn = turn
    const workspace = await this.#in(root)
    const wish: TurnWish = {
      session: this.#session,
      agent: this.#agent,
      ...optional('prompt', turn.prompt),
      ...optional('message', turn.message),
      ...optional('pid', event.pid),
      late: this.#late,
    }
    const { turn: id } = await workspace.beginTurn(wish)
    turn.turns[root] = id
    if (!memory.roots.includes(root)) memory.roots.push(root)
    return id
  }

  /** The turn that this event belongs to, in this workspace; begun there if it has not been. */
  async #turnIn(root: string, event: AgentEvent): Promise<TurnId> {
    const { turn } = this.#memory
    if (turn === undefined) return this.#beginTurn(root, event)
    if (isOfAnother(turn, event)) {
      await this.#closeLeftOpen()
      this.#memory.turn = newTurn(event.turn, undefined)
      return this.#beginTurn(root, event)
    }
    const known = turn.turns[root]
    if (known === undefined) return this.#beginTurn(root, event)
    if (!turn.ended || (await this.#isHead(root, known))) return known
    // The turn was undone, or another branch is in force: what comes now cannot be part of it any more.
    this.#memory.turn = newTurn(undefined, undefined)
    return this.#beginTurn(root, event)
  }

  async #isHead(root: string, turn: TurnId): Promise<boolean> {
    const workspace = await this.#in(root)
    const head = workspace.index.findSession(this.#session)?.head
    return head?.turn === turn && head.before === undefined
  }

  async #endTurn(status: TurnStatus, stillRunning: readonly string[]): Promise<void> {
    const { turn } = this.#memory
    if (turn === undefined) return
    // An agent may say several times that it is done; each would look at every file again.
    const isNews = !turn.ended || Object.keys(turn.steps).length > 0
    for (const [root, id] of Object.entries(isNews ? turn.turns : {})) {
      const workspace = await this.#in(root)
      await workspace.endTurn(id, status)
      this.#options.afterTurn?.(workspace)
    }
    turn.ended = true
    turn.steps = {}
    this.#memory.within = []
    this.#memory.touched = []
    const processes = isNews ? this.#jobsOf(turn) : []
    if (stillRunning.length > 0 || processes.length > 0)
      this.#memory.background = {
        told: stillRunning,
        processes,
        writes: turn.writes ?? [],
        sinceMs: this.#now,
      }
    else if (isNews) delete this.#memory.background
  }

  // ---- steps ---------------------------------------------------------------------------------------------------------

  async #stepBegan(event: Of<'step-began'>): Promise<void> {
    const { call } = event
    if (call.does === 'read') return
    if (call.does === 'subagent') return this.#subagentBegan(event)
    const key = this.#newKey(call)
    await this.#beginSteps(event, key, this.#late || call.hasBegun === true)
    const { turn } = this.#memory
    if (turn !== undefined && call.command !== undefined)
      turn.writes = [...(turn.writes ?? []), ...filesWrittenBy(call.command, event.cwd)].slice(-mostWrites)
  }

  /** A call in each workspace that it can reach: the named paths where they are, anything else where the agent is. */
  async #beginSteps(
    event: Of<'step-began'> | Of<'step-ended'>,
    key: string,
    late: boolean,
  ): Promise<readonly OpenStep[]> {
    const { call } = event
    const begun: OpenStep[] = []
    for (const [root, paths] of await this.#reach(event)) {
      const turn = await this.#turnIn(root, event)
      const workspace = await this.#in(root)
      const { step } = await workspace.beginStep({
        turn,
        tool: call.tool,
        paths,
        part: key,
        ...optional('command', call.command),
        ...optional('agentId', this.#actorOf(event)),
        late,
      })
      begun.push({ root, step })
      this.#stepsOf(key, begun)
    }
    return begun
  }

  #stepsOf(key: string, begun: readonly OpenStep[]): void {
    const { turn } = this.#memory
    if (turn !== undefined) turn.steps[key] = [...begun]
  }

  async #stepEnded(event: Of<'step-ended'>): Promise<void> {
    const { call, outcome } = event
    if (call.does === 'read') return
    if (call.does === 'subagent') return this.#subagentEnded(event)
    // Its work goes on. The step stays open until the turn ends, so that what it still writes is its own.
    if (outcome === 'launched') return
    const key = this.#openKey(call)
    const open = key === undefined ? undefined : this.#memory.turn?.steps[key]
    const steps = open ?? (await this.#beginUnannounced(event))
    for (const { root, step } of steps) await this.#endStep(root, step, event)
    if (key !== undefined && this.#memory.turn !== undefined) delete this.#memory.turn.steps[key]
  }

  // Its beginning was lost, or it was closed with its turn. Only the first of these has something left to record.
  async #beginUnannounced(event: Of<'step-ended'>): Promise<readonly OpenStep[]> {
    const { call } = event
    if (call.id !== undefined && (await this.#isRecorded(call.id))) return []
    const key = this.#newKey(call)
    const begun = await this.#beginSteps(event, key, true)
    if (this.#memory.turn !== undefined) delete this.#memory.turn.steps[key]
    return begun
  }

  async #isRecorded(part: string): Promise<boolean> {
    for (const [root, turn] of Object.entries(this.#memory.turn?.turns ?? {})) {
      const workspace = await this.#in(root)
      if (workspace.index.findStepByPart(turn, part) !== undefined) return true
    }
    return false
  }

  async #endStep(root: string, step: StepId, event: Of<'step-ended'>): Promise<void> {
    const endedMs = this.#now
    const workspace = await this.#in(root)
    for (const wrote of event.call.wrote ?? [])
      await this.#shareOut(workspace, step, wrote, resolve(event.cwd, wrote.path))
    await workspace.endStep(step)
    const turn = this.#memory.turn?.turns[root]
    if (turn === undefined || event.call.does !== 'edit') return
    for (const path of touchedPaths(event.call.paths))
      this.#memory.touched.push({
        root,
        turn,
        path: resolve(event.cwd, path),
        endedMs,
        tool: event.call.tool,
      })
  }

  // Another agent has the same file in hand. What the tool says that it did tells the two apart.
  async #shareOut(workspace: Workspace, step: StepId, wrote: Wrote, path: string): Promise<void> {
    const place = placeIn(workspace, path)
    if (place === undefined || !workspace.isContested(step, place)) return
    const now = readIfText(path)
    const share = now === undefined ? undefined : shareOf(now, wrote)
    if (share === undefined) return
    const { before, after } = share
    await workspace.recordShare(step, {
      path: place,
      ...optional('before', before === undefined ? undefined : Buffer.from(before)),
      after: Buffer.from(after),
    })
  }

  // A formatter, started by the edit, writes the file once more when its step has been recorded already. Nobody says so.
  async #takeInFormatting(): Promise<void> {
    const { touched } = this.#memory
    if (touched.length === 0) return
    this.#memory.touched = []
    for (const { root, turn, path, endedMs, tool } of touched) {
      if (workspaceOfPath(path, root, this.#options.env) !== root) continue
      const mtimeMs = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
      if (mtimeMs <= endedMs + clockMs || mtimeMs > endedMs + formatterMs) continue
      const workspace = await this.#in(root)
      const place = placeIn(workspace, path)
      if (place === undefined) continue
      const wish = { turn, tool: `${tool} (reformatted)`, paths: [place], late: true }
      await workspace.endStep((await workspace.beginStep(wish)).step)
    }
  }

  async #reach(event: Of<'step-began'> | Of<'step-ended'>): Promise<ReadonlyMap<string, readonly RelPath[]>> {
    const home = this.#home(event)
    const { call, cwd } = event
    const reach = new Map<string, RelPath[]>()
    if (call.paths.length === 0) {
      const here = workspaceOfPath(resolve(cwd, 'any'), home, this.#options.env)
      const roots = [home, ...(here === undefined ? [] : [here]), ...this.#rootsOfTurn()]
      for (const root of roots) reach.set(root, [])
      return reach
    }
    for (const typed of touchedPaths(call.paths)) {
      const path = resolve(cwd, typed)
      const root = workspaceOfPath(path, home, this.#options.env)
      const place = root === undefined ? undefined : placeIn(await this.#in(root), path)
      if (root === undefined || place === undefined) this.#options.onOutside?.(path)
      else reach.set(root, [...(reach.get(root) ?? []), place])
    }
    return reach
  }

  #rootsOfTurn(): readonly string[] {
    const { turn } = this.#memory
    return turn === undefined || turn.ended ? [] : Object.keys(turn.turns)
  }

  /** A call without an id gets a number: the same call twice is two steps. */
  #newKey(call: Call): string {
    if (call.id !== undefined) return call.id
    const like = `${call.tool}:${call.likeness ?? ''}`
    const turn = this.#memory.turn ?? newTurn(undefined, undefined)
    this.#memory.turn = turn
    const count = (turn.counts[like] ?? 0) + 1
    turn.counts[like] = count
    return `${like}:${count}`
  }

  /** Without an id: the last of its kind that is still open. */
  #openKey(call: Call): string | undefined {
    if (call.id !== undefined) return call.id
    const like = `${call.tool}:${call.likeness ?? ''}:`
    return Object.keys(this.#memory.turn?.steps ?? {})
      .filter((key) => key.startsWith(like))
      .at(-1)
  }

  // ---- subagents -----------------------------------------------------------------------------------------------------

  // To send off a subagent changes nothing by itself, and its own calls are told. A step for it would be open all the
  // while, and would be given what the user writes beside it.
  #subagentBegan({ call }: Of<'step-began'>): void {
    if (call.id === undefined) this.#memory.within.push(`${call.tool}:${call.likeness ?? ''}`)
  }

  #subagentEnded({ call }: Of<'step-ended'>): void {
    const at = this.#memory.within.lastIndexOf(`${call.tool}:${call.likeness ?? ''}`)
    if (at >= 0) this.#memory.within.splice(at)
  }

  #actorOf(event: AgentEvent): string | undefined {
    return event.subagent ?? this.#memory.within.at(-1)
  }

  // ---- what nobody announced -----------------------------------------------------------------------------------------

  /**
   * What a job writes when its turn is over is still the turn's, where its command says so; what else has changed beside it
   * is the user's, and its operation says what was running (P3). `isOver`: nobody will look after these jobs any more.
   */
  async takeInBackground({ isOver }: { readonly isOver: boolean }): Promise<void> {
    const { background, turn } = this.#memory
    if (background === undefined || turn === undefined) return
    const goesOn = !isOver && (background.processes.length === 0 || background.processes.some(isRunning))
    if (goesOn) this.#memory.background = { ...background, sinceMs: this.#now }
    else delete this.#memory.background
    // A server may run for hours: a look at its few files must do until it has ended.
    if (goesOn && !background.writes.some((path) => mayBeWritten(path, background.sinceMs))) return
    for (const [root, id] of Object.entries(turn.turns)) {
      const workspace = await this.#in(root)
      const paths = background.writes.flatMap((path) => placeIfWritten(workspace, path, background.sinceMs))
      if (paths.length > 0 && (await this.#isHead(root, id))) {
        const wish = { turn: id, tool: 'background job', paths, late: true }
        await workspace.endStep((await workspace.beginStep(wish)).step)
      }
      await workspace.capture(`beside background work of ${this.#agent}: ${wordsFor(background)}`)
    }
  }

  #jobsOf(turn: TurnMemory): readonly Process[] {
    const { session, home } = this.#memory
    const agent = findAgent(this.#agent)
    const marks = agent === undefined ? [] : (jobMarks[agent]?.(session, home ?? '/') ?? [])
    return this.#late || turn.beganMs === undefined ? [] : findJobs(marks, turn.beganMs, this.#now)
  }

  /**
   * The agent has put files back by itself, a moment ago. That is a turn of its own: not the user's edit, and it can be
   * undone like any other.
   */
  async #ownUndo(event: Of<'own-undo'>): Promise<void> {
    const id = `${event.undone ? 'unrevert' : 'revert'}:${event.to ?? ''}`
    const was = this.#memory.lastOwnUndo
    // A session that was never reverted says of every update that there is no revert.
    if (was === id || (event.undone && (was === undefined || was.startsWith('unrevert')))) return
    this.#memory.lastOwnUndo = id
    await this.#closeLeftOpen()
    const words = event.undone ? 'took its own revert back' : `reverted to before ${event.to}`
    await this.#recordOwnUndo(event, words, event.undone ? 'unrevert' : 'revert', [])
    delete this.#memory.turn
  }

  /**
   * Claude Code says nothing of a rewind. All that it wrote since a turn is as it was before that turn, and it has read its
   * copies of those files meanwhile, or has been at work without being asked for anything: then it was its rewind.
   */
  async #takeInRewind(event: AgentEvent): Promise<void> {
    const { agent, session, heardMs, isUnasked } = this.#memory
    if (agent !== 'claude-code' || this.#late || heardMs === undefined) return
    if (isUnasked !== true && !hasReadBackups(session, heardMs, this.#options.env)) return
    const workspace = await this.#in(this.#home(event))
    const back = await workspace.findWentBack(this.#session)
    if (back === undefined) return
    await this.#recordOwnUndo(event, `went back to before ${back.turn} by itself`, 'rewind', back.paths)
  }

  async #recordOwnUndo(
    event: AgentEvent,
    words: string,
    tool: string,
    paths: readonly RelPath[],
  ): Promise<void> {
    const home = this.#home(event)
    const workspace = await this.#in(home)
    const { turn } = await workspace.beginTurn({
      session: this.#session,
      agent: this.#agent,
      prompt: `(${this.#agent} ${words})`,
      late: true,
    })
    const { step } = await workspace.beginStep({ turn, tool, paths, late: true })
    await workspace.endStep(step)
    await workspace.endTurn(turn)
    if (!this.#memory.roots.includes(home)) this.#memory.roots.push(home)
  }

  // ---- places --------------------------------------------------------------------------------------------------------

  #home(event: AgentEvent): string {
    const mayMove = event.kind === 'prompted' || event.kind === 'session-began'
    if (this.#memory.home === undefined || (mayMove && event.subagent === undefined))
      this.#memory.home = rootOf(event.root ?? event.cwd, this.#options.env)
    return this.#memory.home
  }

  #in(root: string): Promise<Workspace> {
    return this.#deliverer.workspace(root)
  }
}

/** What each agent gives to the commands that it starts, as far as it was seen. */
const jobMarks: Partial<Readonly<Record<AgentName, (session: string, home: string) => readonly Job[]>>> = {
  'claude-code': (session) => [{ mark: `CLAUDE_CODE_SESSION_ID=${session}` }],
  codex: (session) => [{ mark: `CODEX_THREAD_ID=${session}` }],
  opencode: (session) => [{ mark: `UNTURN_AGENT_SESSION=${session}` }],
  'gemini-cli': (_session, home) => [{ mark: 'GEMINI_CLI=1', inside: home }],
}

function wordsFor({ told, processes }: Background): string {
  if (told.length > 0) return told.join('; ')
  return `${processes.length === 1 ? 'process' : 'processes'} ${processes.map(({ pid }) => pid).join(', ')}`
}

// A folder stands for all that is in it, and that is more than the job has said.
function mayBeWritten(path: string, sinceMs: number): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat === undefined || (!stat.isDirectory() && stat.ctimeMs >= sinceMs - clockMs)
}

function placeIfWritten(workspace: Workspace, path: string, sinceMs: number): readonly RelPath[] {
  const place = mayBeWritten(path, sinceMs) ? placeIn(workspace, path) : undefined
  if (place === undefined) return []
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined
  return isThere || workspace.hasCaptured(place) ? [place] : []
}

/** Undefined where its bytes would not come out as they went in. */
function readIfText(path: string): string | undefined {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined
  const bytes = readFileSync(path)
  const text = bytes.toString('utf8')
  return Buffer.from(text).equals(bytes) ? text : undefined
}

function newTurn(message: string | undefined, prompt: string | undefined): TurnMemory {
  return {
    ...optional('message', message),
    ...optional('prompt', prompt),
    also: [],
    turns: {},
    ended: false,
    steps: {},
    counts: {},
  }
}

// The prompt of a new turn may have been lost; its id on a call tells. A subagent has ids of its own.
function isOfAnother(turn: TurnMemory, event: AgentEvent): boolean {
  if (event.subagent !== undefined || event.turn === undefined || turn.message === undefined) return false
  return event.turn !== turn.message && !turn.also.includes(event.turn)
}

// Below a `.git` nothing is captured, whoever writes there.
function placeIn(workspace: Workspace, path: string): RelPath | undefined {
  try {
    return relPathFrom(workspace.root, bytesPath('/'), bytesOfText(path))
  } catch (error) {
    if (isFailure(error, 'bad-path')) return undefined
    throw error
  }
}

export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function unreachable(event: never): never {
  throw new Error(`an event that nobody knows: ${JSON.stringify(event)}`)
}
