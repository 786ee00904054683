/** What happens in the workspace, as it happens; and whether we would hear of it. */

import {
  type ConnectionState,
  type ServerEvent,
  UnturnRequestError,
  type WorkspaceClient,
} from '@unturn/client'

/** `refused`: trying again cannot help, unless the page is handed another key. */
export type LiveState = ConnectionState | 'refused'
type Hearer = (event: ServerEvent) => void

export class Live {
  readonly #workspace: WorkspaceClient
  readonly #hearers = new Set<Hearer>()
  readonly #watchers = new Set<() => void>()
  #state: LiveState = 'connecting'
  #refusal: UnturnRequestError | undefined

  constructor(workspace: WorkspaceClient) {
    this.#workspace = workspace
  }

  get state(): LiveState {
    return this.#state
  }

  /** Why the server does not want us. */
  get refusal(): UnturnRequestError | undefined {
    return this.#refusal
  }

  /** From behind an event that an answer has named: nothing that came after that answer is missed. Ends with the returned function. */
  begin(lastEventId: string): () => void {
    const ending = new AbortController()
    void this.#listen(lastEventId, ending.signal)
    return () => ending.abort()
  }

  async #listen(lastEventId: string, signal: AbortSignal): Promise<void> {
    const onState = (state: ConnectionState) => {
      // A try that is under way is still a loss, to whoever looks at it.
      const isTrying = state !== 'open' && (this.#state === 'lost' || this.#state === 'refused')
      if (!isTrying) this.#enter(state)
    }
    const onFailure = (error: unknown) => {
      this.#refusal = error instanceof UnturnRequestError && error.status === 401 ? error : undefined
      this.#enter(this.#refusal === undefined ? 'lost' : 'refused')
    }
    const how = { lastEventId, signal, onState, onFailure, longestWaitMs: 2_000 }
    try {
      const events = this.#workspace.events(how)
      for await (const { event } of events) for (const hear of this.#hearers) hear(event)
    } catch (error) {
      if (signal.aborted) return
      this.#refusal = error instanceof UnturnRequestError ? error : undefined
      this.#enter('refused')
    }
  }

  #enter(state: LiveState): void {
    this.#state = state
    for (const watch of this.#watchers) watch()
  }

  readonly hear = (hearer: Hearer): (() => void) => {
    this.#hearers.add(hearer)
    return () => this.#hearers.delete(hearer)
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }
}
