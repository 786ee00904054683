/** Notices what other processes do to a store (hooks and commands that work without the server), and has it told. */

import { type FSWatcher, watch } from 'node:fs'
import { textOfBytes, type Workspace } from '@unturn/core'

const atMostEveryMs = 25
// Some file systems report no changes at all. Then clients hear of it this much later.
const inAnyCaseMs = 2_000

export class News implements AsyncDisposable {
  readonly #workspace: Workspace
  readonly #onLook: () => void
  readonly #watchers: readonly (FSWatcher | undefined)[]
  readonly #timer: NodeJS.Timeout
  #looking: Promise<void> | undefined
  #again = false
  #ended = false

  constructor(workspace: Workspace, onLook: () => void = () => {}) {
    this.#workspace = workspace
    this.#onLook = onLook
    const { folder, flights } = workspace.engine.folders
    this.#watchers = [folder, flights].map((path) => watching(textOfBytes(path), () => this.look()))
    this.#timer = setInterval(() => this.look(), inAnyCaseMs)
    this.#timer.unref()
  }

  /** Soon, and never twice at once. */
  look(): void {
    if (this.#ended) return
    if (this.#looking === undefined) this.#looking = this.#look()
    else this.#again = true
  }

  async #look(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, atMostEveryMs))
    this.#again = false
    try {
      if (!this.#ended) await this.#workspace.catchUp()
      if (!this.#ended) this.#onLook()
    } catch (error) {
      // The next look, or the next request, meets the same and says so to somebody who can do something about it.
      this.#workspace.engine.warn(error instanceof Error ? error.message : String(error))
    }
    this.#looking = undefined
    if (this.#again) this.look()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true
    clearInterval(this.#timer)
    for (const watcher of this.#watchers) watcher?.close()
    await this.#looking
  }
}

function watching(folder: string, onChange: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, onChange)
    watcher.on('error', () => watcher.close()) // the timer goes on
    return watcher
  } catch {
    return undefined // too many watches, or none on this file system: the timer is enough
  }
}
