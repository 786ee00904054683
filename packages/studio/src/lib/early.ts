/** The tree of the session last active, asked for together with the status: good once, and only until something happens. */

import type { Tree, WorkspaceClient } from '@unturn/client'
import type { Live } from './live.ts'

export class Early {
  #asked: Promise<Tree | undefined> | undefined

  constructor(workspace: WorkspaceClient, live: Live) {
    this.#asked = workspace.tree({}).catch(() => undefined) // there is no session yet, or whoever asks next is told why
    live.hear(() => {
      this.#asked = undefined
    })
  }

  /** Undefined: ask yourself. `since` names the event from which on everything is heard. */
  async take(session: string, since: string): Promise<Tree | undefined> {
    const asked = this.#asked
    this.#asked = undefined
    const tree = await asked
    return tree?.session.id === session && tree.eventId === since ? tree : undefined
  }
}
