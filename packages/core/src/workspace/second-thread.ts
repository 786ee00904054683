/** The other thread of a scan: one task at a time is given to it, and its answers are waited for. */

import { Worker } from 'node:worker_threads'
import type { Message, Task } from './scan-worker.ts'

export class ThreadLost extends Error {}

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
  readonly onPart: ((part: unknown) => void) | undefined
}

/** The second thread as this one sees it. Never keeps the process alive by itself. */
export class SecondThread {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #next = 1
  #isLost = false
  #isEnding = false

  private constructor(worker: Worker) {
    this.#worker = worker
    worker.on('message', (message: Message) => this.#hear(message))
    worker.on('error', (error) => this.#lose(error))
    worker.on('exit', () => this.#lose(new Error('the thread ended')))
    worker.unref() // in the end: who listens for messages keeps the process alive for them
  }

  static start(file: URL): SecondThread | undefined {
    try {
      return new SecondThread(new Worker(file))
    } catch {
      return undefined // no second thread to be had: one is enough, only slower
    }
  }

  give<Result>(task: Task, onPart?: (part: unknown) => void): Promise<Result> {
    if (this.#isLost) return Promise.reject(new ThreadLost('the second thread is gone'))
    const id = this.#next++
    // While somebody waits for an answer the process must not end for want of other work.
    this.#worker.ref()
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.set(id, { resolve: (result) => resolve(result as Result), reject, onPart })
      this.#worker.postMessage({ id, task })
    })
  }

  async end(): Promise<void> {
    this.#isEnding = true
    await this.#worker.terminate()
  }

  #hear(message: Message): void {
    const waiting = this.#waiting.get(message.id)
    if (waiting === undefined) return
    if ('part' in message) {
      waiting.onPart?.(message.part)
      return
    }
    this.#forget(message.id)
    if ('error' in message) waiting.reject(new ThreadLost(message.error))
    else waiting.resolve(message.result)
  }

  #forget(id: number): void {
    this.#waiting.delete(id)
    // A late answer must not let go of a thread whose end somebody waits for: the program would end first.
    if (this.#waiting.size === 0 && !this.#isEnding) this.#worker.unref()
  }

  #lose(cause: unknown): void {
    this.#isLost = true
    for (const [id, { reject }] of this.#waiting) {
      this.#forget(id)
      reject(new ThreadLost('the second thread was lost', { cause }))
    }
  }
}
