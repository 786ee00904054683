/** Activity comes in bursts: one begins with a change, and is over when nothing has changed for a while. */

export interface BurstOptions {
  readonly quietMs: number
  /** The burst is over. The next one is not recorded before this is done. */
  readonly onBurst: () => Promise<void>
}

export class Bursts {
  readonly #options: BurstOptions
  #timer: ReturnType<typeof setTimeout> | undefined
  #recording: Promise<void> = Promise.resolve()

  constructor(options: BurstOptions) {
    this.#options = options
  }

  /** Something has changed. */
  activity(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#over(), this.#options.quietMs)
  }

  #over(): void {
    this.#timer = undefined
    this.#recording = this.#recording.then(this.#options.onBurst)
  }

  /** A burst that is still going on is recorded as it is. */
  async end(): Promise<void> {
    const isOpen = this.#timer !== undefined
    clearTimeout(this.#timer)
    if (isOpen) this.#over()
    await this.#recording
  }
}
