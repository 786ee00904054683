/** One session while an event of it is carried out: what we remember of it, the clock, and the workspaces that it reaches. */

import type { OpenOptions, SessionId, TurnId, Workspace } from '@unturn/core'
import type { AgentEvent, Environment } from '../events.ts'
import type { Memory } from '../memory.ts'
import { rootOf } from '../places.ts'
import { isProcessAlive } from '../process-alive.ts'

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

export class SessionAtHand {
  readonly memory: Memory
  readonly options: DeliverOptions
  /** It happened a while ago, and nobody looked at the files then. */
  readonly isLate: boolean
  readonly #open: (root: string) => Promise<Workspace>

  constructor(
    memory: Memory,
    options: DeliverOptions,
    isLate: boolean,
    open: (root: string) => Promise<Workspace>,
  ) {
    this.memory = memory
    this.options = options
    this.isLate = isLate
    this.#open = open
  }

  get id(): SessionId {
    return this.memory.session as SessionId
  }

  /** As it is called in the history. */
  get agent(): string {
    return this.memory.called ?? this.memory.agent
  }

  get now(): number {
    return (this.options.now ?? Date.now)()
  }

  isAlive(pid: number): boolean {
    return (this.options.isAlive ?? isProcessAlive)(pid)
  }

  /** The project that the session belongs to. A prompt, or a new start, may come from another one. */
  home(event: AgentEvent): string {
    const mayMove = event.kind === 'prompted' || event.kind === 'session-began'
    if (this.memory.home === undefined || (mayMove && event.subagent === undefined))
      this.memory.home = rootOf(event.root ?? event.cwd, this.options.env)
    return this.memory.home
  }

  workspace(root: string): Promise<Workspace> {
    return this.#open(root)
  }

  /** Whether the session's head stands right behind this turn. */
  async standsAt(root: string, turn: TurnId): Promise<boolean> {
    const workspace = await this.workspace(root)
    const head = workspace.index.findSession(this.id)?.head
    return head?.turn === turn && head.before === undefined
  }
}
