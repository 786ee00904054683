/** File events of a folder tree, from @parcel/watcher. The only file that knows it; where it cannot be loaded, nobody watches. */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface FileEvent {
  readonly type: 'create' | 'update' | 'delete'
  /** Absolute, as text: a name that is not UTF-8 has replacement characters in it. */
  readonly path: string
}

export interface Subscription {
  /** Waits until everything that happened before the call has been told; false: it cannot be had in that time. */
  flush(mostMs: number): Promise<boolean>
  close(): Promise<void>
}

export interface SourceOptions {
  readonly root: string
  /** Folders that are not watched, absolute. */
  readonly without: readonly string[]
  /** A folder of our own beside it, for marks. */
  readonly marks: string
  readonly onEvents: (events: readonly FileEvent[]) => void
  readonly onError: (error: Error) => void
}

export type WatchSource = (options: SourceOptions) => Promise<Subscription>

/** Throws where there is no such watcher for this machine. */
export const parcelSource: WatchSource = async (options) => {
  const { subscribe } = await import('@parcel/watcher')
  mkdirSync(options.marks, { recursive: true, mode: 0o700 })
  const marks = new Marks(options.marks)
  let isClosed = false
  const watched = await subscribe(
    options.root,
    (error, events) => {
      if (isClosed) return
      if (error === null) options.onEvents(events)
      else options.onError(error)
    },
    { ignore: [...options.without] },
  )
  // All folders share one queue of the kernel's and one thread that reads it. A mark that has come through says that
  // everything before it has, too.
  const marked = await subscribe(options.marks, (_, events) => marks.seen(events))
  return {
    flush: (mostMs) => marks.flush(mostMs),
    close: async () => {
      isClosed = true
      for (const subscription of [marked, watched]) await ended(subscription)
      marks.clear()
    },
  }
}

// Of a folder that was moved or removed meanwhile the kernel knows no watch any more, and the watcher fails over it.
// All that is left behind is a number, and we no longer listen.
async function ended(subscription: { readonly unsubscribe: () => Promise<void> }): Promise<void> {
  try {
    await subscription.unsubscribe()
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes('remove watcher')) throw error
  }
}

class Marks {
  readonly #folder: string
  readonly #waiting = new Map<string, () => void>()
  #made = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  seen(events: readonly FileEvent[]): void {
    for (const { path } of events) {
      const waiting = this.#waiting.get(path)
      this.#waiting.delete(path)
      waiting?.()
    }
  }

  async flush(mostMs: number): Promise<boolean> {
    this.#made += 1
    const path = join(this.#folder, `${process.pid}-${this.#made}`)
    const isThrough = await this.#through(path, mostMs)
    rmSync(path, { force: true })
    // What was read from the queue together with the mark is told by calls of its own, right behind.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    return isThrough
  }

  #through(path: string, mostMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(path)
        resolve(false)
      }, mostMs)
      this.#waiting.set(path, () => {
        clearTimeout(timer)
        resolve(true)
      })
      writeFileSync(path, '', { mode: 0o600 })
    })
  }

  clear(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
