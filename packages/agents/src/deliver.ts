/**
 * Events in, turns and steps out. This is the one place with memory; the adapters have none.
 *
 *   a prompt by the user       closes what is still open, and begins a turn
 *   a call that may write      begins a step, in every workspace that it can reach
 *   the end of a call          ends it; one that was never begun is begun late
 *   the end of a turn          ends it in every workspace that it touched
 *
 * Agents leave things out: a call never ends, a turn is cut, a session is killed. Whatever comes next closes it. What
 * each event leads to is in delivery/; here a session is taken out of the memory, and put back.
 */

import { openWorkspace, type Workspace } from '@unturn/core'
import { canBeTold } from './adapters.ts'
import { takeInBackground } from './delivery/background.ts'
import { carryOut } from './delivery/carry-out.ts'
import { type DeliverOptions, SessionAtHand } from './delivery/session-at-hand.ts'
import type { AgentEvent } from './events.ts'
import { type Memory, noteJobs, recall, remember } from './memory.ts'
import { noticeOf } from './notice.ts'
import { optional } from './payload.ts'

export interface Delivered {
  /** What to tell the agent with this event, if anything. */
  readonly notice?: string
  /** To be called once the agent has been told. */
  readonly told: () => void
}

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
    const session = this.#atHand(memory, how.late)
    if (isToldByProxy(event, session)) return { told: () => {} }
    const hadJobs = memory.background !== undefined
    try {
      await carryOut(session, event)
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
      await takeInBackground(this.#atHand(memory, false), { isOver: false })
      remember(desk, memory)
    } finally {
      if (memory.background === undefined) noteJobs(desk, session, false)
    }
  }

  #atHand(memory: Memory, isLate: boolean): SessionAtHand {
    return new SessionAtHand(memory, this.#options, isLate, (root) => this.#workspace(root))
  }

  async #notice(event: AgentEvent, memory: Memory): Promise<Delivered> {
    if (!canBeTold(event)) return { told: () => {} }
    const found = await noticeOf(memory, (root) => this.#workspace(root))
    const told = () => {
      const { desk } = this.#options
      const now = recall(desk, memory.agent, memory.session)
      remember(desk, { ...now, told: { ...now.told, ...found.upTo } })
    }
    return { ...optional('notice', found.text), told }
  }

  #workspace(root: string): Promise<Workspace> {
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

// The agent's own hooks fire behind a proxy, too, some of them. What the proxy hears is all there is to record; only the
// agent's own revert is not said to an editor.
function isToldByProxy({ kind, proxy }: AgentEvent, session: SessionAtHand): boolean {
  const heardBy = session.memory.proxy
  return proxy === undefined && kind !== 'own-undo' && heardBy !== undefined && session.isAlive(heardBy)
}
