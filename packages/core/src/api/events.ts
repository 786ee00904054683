/**
 * Events: what happens in a workspace, told to whoever listens.
 *
 * They are read from the log after each operation, so what another process did is told, too, as soon as this one
 * looks (`workspace.catchUp()` is enough). An event is delivered before the call that caused it returns.
 */

import type { TurnStatus } from '../log/record.ts'
import type { Repacked } from '../store/repack.ts'
import type { OpId, SessionId, StepId, TurnId } from '../values.ts'
import type { Change, ConflictResult } from './words.ts'

/** One file of a session, against the session's start. */
export interface FileDiff {
  readonly path: string
  readonly kind: Change['kind']
  readonly from?: string
  readonly additions: number
  readonly deletions: number
}

interface Moved {
  readonly op: OpId
  readonly session: SessionId | null
  /** Turns that went out of the files, and turns that came back in. */
  readonly reverted: readonly TurnId[]
  readonly redone: readonly TurnId[]
  readonly changes: readonly Change[]
}

export type WorkspaceEvent =
  | {
      readonly type: 'session.updated'
      readonly session: SessionId
      readonly head: TurnId | null
      readonly turns: number
      readonly reverted: readonly TurnId[]
    }
  | { readonly type: 'session.diff'; readonly session: SessionId; readonly files: readonly FileDiff[] }
  | {
      readonly type: 'turn.began'
      readonly session: SessionId
      readonly turn: TurnId
      readonly agent: string
      readonly prompt?: string
      readonly message?: string
    }
  | {
      readonly type: 'turn.ended'
      readonly session: SessionId
      readonly turn: TurnId
      readonly status: TurnStatus
      readonly message?: string
    }
  | {
      readonly type: 'step.began'
      readonly session: SessionId
      readonly turn: TurnId
      readonly step: StepId
      readonly tool: string
      readonly paths: readonly string[]
      readonly part?: string
    }
  | {
      readonly type: 'step.ended'
      readonly session: SessionId
      readonly turn: TurnId
      readonly step: StepId
      readonly tool: string
      readonly part?: string
      readonly changes: readonly Change[]
    }
  | { readonly type: 'change'; readonly change: Change }
  | ({ readonly type: 'undo' | 'redo' | 'restore' | 'rollback' } & Moved)
  | {
      readonly type: 'accept' | 'reject'
      readonly op: OpId
      readonly session: SessionId
      readonly hunks: readonly { readonly hunk: string; readonly path: string }[]
      readonly changes: readonly Change[]
    }
  | {
      readonly type: 'propose'
      readonly op: OpId
      readonly session: SessionId
      readonly turn: TurnId
      readonly proposal: string
      readonly paths: readonly string[]
    }
  | {
      readonly type: 'message.removed'
      readonly session: SessionId
      readonly turn: TurnId
      /** The agent's own id of the message, where it gave one. */
      readonly message?: string
    }
  | {
      readonly type: 'part.removed'
      readonly session: SessionId
      readonly turn: TurnId
      readonly step: StepId
      readonly message?: string
      readonly part?: string
    }
  | {
      readonly type: 'conflict'
      readonly session: SessionId | null
      readonly conflicts: readonly ConflictResult[]
    }
  | ({ readonly type: 'gc' } & Repacked)
  /** An iterator was too slow: so many events were dropped here, the oldest first. */
  | { readonly type: 'missed'; readonly count: number }

export type EventName = WorkspaceEvent['type']
export type EventOf<Name extends EventName> = Extract<WorkspaceEvent, { readonly type: Name }>
export type Listener<Name extends EventName> = (event: EventOf<Name>) => void

export interface EventOptions {
  /** How many events may wait for a slow reader. Beyond that the oldest go, and a `missed` event says how many. 1,000. */
  readonly buffer?: number
}

/** Events for one `for await` loop. Leaving the loop, or disposing of it, ends it. */
export interface Events extends AsyncIterableIterator<WorkspaceEvent>, Disposable {
  [Symbol.asyncIterator](): Events
}

/** Passes events on. A listener that throws hurts neither the operation nor the other listeners. */
export class EventHub {
  readonly #listeners = new Map<EventName, Set<(event: WorkspaceEvent) => void>>()
  readonly #streams = new Set<EventStream>()
  readonly #onError: (error: unknown) => void
  #ended = false

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  get isUsed(): boolean {
    return this.#streams.size > 0 || this.#listeners.size > 0
  }

  wants(name: EventName): boolean {
    return this.#streams.size > 0 || this.#listeners.has(name)
  }

  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    // One and the same function may be registered twice, and taken away once.
    const registered = (event: WorkspaceEvent) => listener(event as EventOf<Name>)
    this.#listeners.set(name, listeners.add(registered))
    return () => {
      listeners.delete(registered)
      if (listeners.size === 0 && this.#listeners.get(name) === listeners) this.#listeners.delete(name)
    }
  }

  stream(options: EventOptions = {}): EventStream {
    const stream = new EventStream(options.buffer ?? 1_000, () => this.#streams.delete(stream))
    if (this.#ended) stream.end()
    else this.#streams.add(stream)
    return stream
  }

  emit(event: WorkspaceEvent): void {
    for (const stream of this.#streams) stream.push(event)
    for (const listener of [...(this.#listeners.get(event.type) ?? [])]) {
      try {
        listener(event)
      } catch (error) {
        this.#onError(error)
      }
    }
  }

  end(): void {
    this.#ended = true
    for (const stream of [...this.#streams]) stream.end()
    this.#listeners.clear()
  }
}

/** Holds what was not read yet. */
export class EventStream implements Events {
  readonly #most: number
  readonly #onEnd: () => void
  #waiting: WorkspaceEvent[] = []
  #missed = 0
  #ended = false
  readonly #readers: ((result: IteratorResult<WorkspaceEvent, undefined>) => void)[] = []

  constructor(most: number, onEnd: () => void) {
    this.#most = Math.max(1, most)
    this.#onEnd = onEnd
  }

  push(event: WorkspaceEvent): void {
    if (this.#ended) return
    const reader = this.#readers.shift()
    if (reader !== undefined) return reader({ value: event, done: false })
    this.#waiting.push(event)
    if (this.#waiting.length <= this.#most) return
    this.#waiting.shift()
    this.#missed += 1
  }

  async next(): Promise<IteratorResult<WorkspaceEvent, undefined>> {
    const event = this.#take()
    if (event !== undefined) return { value: event, done: false }
    if (this.#ended) return { value: undefined, done: true }
    return new Promise((resolve) => this.#readers.push(resolve))
  }

  #take(): WorkspaceEvent | undefined {
    if (this.#missed === 0) return this.#waiting.shift()
    const count = this.#missed
    this.#missed = 0
    return { type: 'missed', count }
  }

  /** What waits is still delivered; then the loop is over. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#onEnd()
    for (const reader of this.#readers.splice(0)) reader({ value: undefined, done: true })
  }

  async return(): Promise<IteratorResult<WorkspaceEvent, undefined>> {
    this.#waiting = []
    this.#missed = 0
    this.end()
    return { value: undefined, done: true }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  [Symbol.dispose](): void {
    void this.return()
  }
}
