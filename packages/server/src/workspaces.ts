/** Engines that are held open, by the id of their workspace. A request never names a folder. */

import {
  asUnturnError,
  type EventName,
  findWorkspace,
  knownWorkspaces,
  type OpenOptions,
  openWorkspace,
  type Plan,
  statusOf,
  textOfBytes,
  UnturnError,
  type Workspace,
  workspaceId,
} from '@unturn/core'
import { EventRing, type RingLimits } from './events.ts'
import { News } from './news.ts'
import type { Hints, ServerEvent, WorkspaceEntry } from './schemas.ts'
import { Watch, type WatchOptions } from './watch.ts'
import type { Env } from './whereabouts.ts'

export interface WorkspacesOptions {
  readonly env: Env
  readonly onWarning: (text: string) => void
  readonly ring?: Partial<RingLimits>
  readonly watch?: WatchOptions | 'off'
}

interface Opened {
  readonly workspace: Workspace
  readonly watch: Watch | undefined
}

/** One workspace, open, with what its clients need beside it. */
export class Held implements AsyncDisposable {
  readonly id: string
  readonly workspace: Workspace
  readonly watch: Watch | undefined
  readonly events: EventRing
  readonly plans = new Plans()
  readonly #news: News
  readonly #begun = new Set<string>()
  #usedMs = Date.now()

  constructor(id: string, { workspace, watch }: Opened, ring: Partial<RingLimits> = {}) {
    this.id = id
    this.workspace = workspace
    this.watch = watch
    watch?.start(workspace)
    this.events = new EventRing(ring)
    for (const name of toldEvents) workspace.on(name, (event) => this.events.push(event as ServerEvent))
    workspace.on('turn.ended', ({ turn }) => watch?.turnEnded(turn))
    workspace.on('step.began', ({ step }) => this.#begun.add(step))
    workspace.on('step.ended', ({ step }) => this.#begun.delete(step))
    this.#news = new News(workspace, () => this.#tellSteps())
  }

  // Only the process that begins a step hears of it. Hooks and commands are other processes.
  #tellSteps(): void {
    const flights = this.workspace.engine.flights.list()
    // A step whose end nobody tells, since its agent was killed, would be remembered for ever.
    const flying = new Set<string>(flights.map(({ step }) => step))
    for (const step of this.#begun) if (!flying.has(step)) this.#begun.delete(step)
    for (const { implicit, step, session, turn, tool, paths, part } of flights) {
      if (implicit || this.#begun.has(step)) continue
      this.#begun.add(step)
      const where = paths.map(textOfBytes)
      const more = part === undefined ? {} : { part }
      this.events.push({ type: 'step.began', session, turn, step, tool, paths: where, ...more })
    }
  }

  get root(): string {
    return textOfBytes(this.workspace.root)
  }

  get name(): string {
    return nameOf(this.root)
  }

  /** As after a turn on the command line. Nobody waits for it. */
  collectIfDue(env: Env): void {
    if (env.UNTURN_AUTO_GC === '0' || !this.workspace.isGcDue) return
    this.workspace.gc().catch((error: unknown) => this.workspace.engine.warn(asUnturnError(error).message))
  }

  use(): void {
    this.#usedMs = Date.now()
  }

  get isUsed(): boolean {
    return this.events.readers > 0
  }

  /** Some turn of some session is at work, as far as one can tell. */
  get hasRunningTurn(): boolean {
    return statusOf(this.workspace.engine).sessions.some(({ running }) => running.length > 0)
  }

  get unusedMs(): number {
    return Date.now() - this.#usedMs
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#news[Symbol.asyncDispose]()
    await this.watch?.[Symbol.asyncDispose]()
    this.events.end()
    await this.workspace[Symbol.asyncDispose]()
  }
}

// Not `session.diff`: it compares the whole session after every operation. Who wants it asks for it.
const toldEvents = [
  'session.updated',
  'turn.began',
  'turn.ended',
  'step.began',
  'step.ended',
  'change',
  'undo',
  'redo',
  'restore',
  'rollback',
  'accept',
  'reject',
  'propose',
  'message.removed',
  'part.removed',
  'conflict',
  'gc',
] as const satisfies readonly EventName[]

const mostPlans = 64

/** Dry runs that somebody may still want to apply; the oldest go first. */
export class Plans {
  readonly #plans = new Map<string, Plan>()
  #made = 0

  keep(plan: Plan): string {
    this.#made += 1
    const id = `p${this.#made}`
    this.#plans.set(id, plan)
    for (const old of this.#plans.keys()) {
      if (this.#plans.size <= mostPlans) break
      this.#plans.delete(old)
    }
    return id
  }

  /** A plan is applied once. */
  take(id: string): Plan | undefined {
    const plan = this.#plans.get(id)
    this.#plans.delete(id)
    return plan
  }
}

const closeAfterMs = 15 * 60_000
const openSoonMs = 50

export class Workspaces implements AsyncDisposable {
  readonly #options: WorkspacesOptions
  readonly #held = new Map<string, Promise<Held>>()
  readonly #ready = new Map<string, Held>()
  readonly #tidying: NodeJS.Timeout

  constructor(options: WorkspacesOptions) {
    this.#options = options
    this.#tidying = setInterval(() => void this.#closeUnused(), 60_000)
    this.#tidying.unref()
  }

  get env(): Env {
    return this.#options.env
  }

  list(): readonly WorkspaceEntry[] {
    return knownWorkspaces(this.#options.env).map(({ id, root, createdMs }) => ({
      id,
      name: nameOf(textOfBytes(root)),
      root: textOfBytes(root),
      createdAt: new Date(createdMs).toISOString(),
      isOpen: this.#held.has(id),
    }))
  }

  /** By id; only what has a history already. */
  async open(id: string): Promise<Held> {
    const held = await (this.#held.get(id) ?? this.#hold(id, () => this.#find(id)))
    held.use()
    return held
  }

  /** The workspace of a folder, for whoever may name one. */
  async openFolder(folder: string, explicit: boolean): Promise<Held> {
    const opened = await this.#opened((options) => openWorkspace(folder, { ...options, explicit }))
    const id = workspaceId(opened.workspace.root, this.#options.env)
    if (this.#held.has(id)) await opened.workspace[Symbol.asyncDispose]()
    else void this.#hold(id, async () => opened)
    return this.open(id)
  }

  /** Never waits for a store; what is not watched yet is opened behind the answer. */
  async hints(id: string, at: 'everywhere' | 'turn' | 'step'): Promise<Hints> {
    const held = this.#ready.get(id)
    if (held === undefined) {
      setTimeout(() => void this.open(id).catch(() => {}), openSoonMs).unref()
      return { dirty: null, unaudited: [] }
    }
    held.use()
    const dirty = (await held.watch?.hints(at)) ?? null
    return { dirty, unaudited: [...held.workspace.engine.unaudited] }
  }

  /** All that are open now. */
  async opened(): Promise<readonly Held[]> {
    const settled = await Promise.allSettled(this.#held.values())
    return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  }

  #hold(id: string, find: () => Promise<Opened>): Promise<Held> {
    const opening = find().then((opened) => {
      const held = new Held(id, opened, this.#options.ring)
      this.#ready.set(id, held)
      return held
    })
    this.#held.set(id, opening)
    // One that could not be opened is tried again by the next request.
    opening.catch(() => this.#held.delete(id))
    return opening
  }

  async #find(id: string): Promise<Opened> {
    const known = knownWorkspaces(this.#options.env).find((one) => one.id === id)
    if (known === undefined) throw unknownWorkspace(id)
    const root = textOfBytes(known.root)
    return this.#opened(async (options) => {
      const workspace = await findWorkspace(root, { ...options, explicit: true })
      if (workspace === undefined) throw unknownWorkspace(id)
      return workspace
    })
  }

  async #opened(open: (options: OpenOptions) => Promise<Workspace>): Promise<Opened> {
    const { env, onWarning, watch: wish = {} } = this.#options
    const watch = wish === 'off' ? undefined : new Watch(wish, onWarning)
    const workspace = await open({ env, onWarning, ...(watch === undefined ? {} : { watch }) })
    return { workspace, watch }
  }

  async #closeUnused(): Promise<void> {
    for (const held of await this.opened()) {
      if (held.isUsed || held.hasRunningTurn || held.unusedMs < closeAfterMs) continue
      this.#held.delete(held.id)
      this.#ready.delete(held.id)
      await this.#close(held)
    }
  }

  async #close(held: Held): Promise<void> {
    try {
      await held[Symbol.asyncDispose]()
    } catch (error) {
      this.#options.onWarning(asUnturnError(error).message)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#tidying)
    const all = await this.opened()
    this.#held.clear()
    this.#ready.clear()
    for (const held of all) await this.#close(held)
  }
}

function nameOf(root: string): string {
  return root.split(/[\\/]/).findLast((part) => part !== '') ?? root
}

function unknownWorkspace(id: string): UnturnError {
  return new UnturnError(
    'unknown-id',
    { id },
    {
      message: `There is no workspace ${JSON.stringify(id)} with a history on this machine. Nothing was changed.`,
      hint: 'Ask for /api/workspaces to see their ids; "unturn capture" in a folder makes it one.',
    },
  )
}
