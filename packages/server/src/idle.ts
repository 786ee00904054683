/** Ends a server that nobody needs: no request, nobody listening, no turn running, for so many minutes. */

import type { Workspaces } from './workspaces.ts'

export class Idle implements Disposable {
  readonly #workspaces: Workspaces
  readonly #mostMs: number
  readonly #onIdle: () => void
  readonly #timer: NodeJS.Timeout
  #lastMs = Date.now()

  constructor(workspaces: Workspaces, mostMs: number, onIdle: () => void) {
    this.#workspaces = workspaces
    this.#mostMs = mostMs
    this.#onIdle = onIdle
    this.#timer = setInterval(() => void this.#look(), Math.min(30_000, Math.max(20, mostMs / 4)))
    this.#timer.unref()
  }

  touch(): void {
    this.#lastMs = Date.now()
  }

  async #look(): Promise<void> {
    const opened = await this.#workspaces.opened()
    if (opened.some((held) => held.isUsed || held.hasRunningTurn)) this.touch()
    if (Date.now() - this.#lastMs > this.#mostMs) this.#onIdle()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
