/**
 * Live events: one ring per workspace, read by every client at its own pace. A client has only a place in it, so that
 * fifty slow ones take no more memory than one; who falls behind the ring is told to fetch everything anew (`reset`).
 */

import { randomBytes } from 'node:crypto'
import type { ServerEvent } from './schemas.ts'

export interface RingLimits {
  readonly events: number
  readonly bytes: number
}

const usualLimits: RingLimits = { events: 20_000, bytes: 16 * 1024 * 1024 }

export class EventRing {
  readonly #limits: RingLimits
  // A server that starts anew counts from one again. Without this an id of the old one would seem to be one of ours.
  readonly #epoch = randomBytes(6).toString('base64url')
  #texts: string[] = []
  /** The number of the first text. */
  #first = 1
  #bytes = 0
  #waiting = new Set<() => void>()
  #readers = 0
  #ended = false

  constructor(limits: Partial<RingLimits> = {}) {
    this.#limits = { ...usualLimits, ...limits }
  }

  /** The id of the newest event. */
  get lastId(): string {
    return this.#idOf(this.#first + this.#texts.length - 1)
  }

  /** How many streams are open. */
  get readers(): number {
    return this.#readers
  }

  push(event: ServerEvent): void {
    const text = JSON.stringify(event)
    this.#texts.push(text)
    this.#bytes += text.length
    while (this.#texts.length > 1 && this.#isFull()) {
      this.#bytes -= this.#texts.shift()?.length ?? 0
      this.#first += 1
    }
    this.#wake()
  }

  #isFull(): boolean {
    return this.#texts.length > this.#limits.events || this.#bytes > this.#limits.bytes
  }

  /** All streams end; whoever listens connects again, to whoever comes next. */
  end(): void {
    this.#ended = true
    this.#wake()
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = new Set()
    for (const wake of waiting) wake()
  }

  /** Server-sent events from behind `lastId` on; from now on where there is none. */
  stream(lastId: string | undefined, aliveMs = 15_000): ReadableStream<Uint8Array> {
    let at = this.#placeBehind(lastId)
    let leave = () => {}
    this.#readers += 1
    let isOpen = true
    const close = () => {
      if (isOpen) this.#readers -= 1
      isOpen = false
      leave()
    }
    return new ReadableStream(
      {
        start: (controller) => {
          // An id without an event: who never hears of anything still knows where to go on.
          const greeting = at === undefined ? '' : `id: ${this.#idOf(at - 1)}\n\n`
          controller.enqueue(encoded(`retry: 1000\n: unturn\n\n${greeting}`))
        },
        pull: async (controller) => {
          if (at === undefined) {
            at = this.#end
            return controller.enqueue(encoded(this.#reset('The events since then are no longer kept.')))
          }
          if (at === this.#end && !this.#ended) {
            await this.#news(aliveMs, (stop) => {
              leave = stop
            })
          }
          if (!isOpen) return
          if (this.#ended && at === this.#end) {
            close()
            return controller.close()
          }
          if (at < this.#first) {
            at = undefined
            return controller.enqueue(encoded(': behind\n\n'))
          }
          const { text, next } = this.#from(at)
          at = next
          controller.enqueue(encoded(text))
        },
        cancel: close,
      },
      { highWaterMark: 1 },
    )
  }

  get #end(): number {
    return this.#first + this.#texts.length
  }

  /** Undefined: nobody can tell any more what came after it. */
  #placeBehind(lastId: string | undefined): number | undefined {
    if (lastId === undefined || lastId === '') return this.#end
    const [epoch, number = ''] = lastId.split('.')
    const next = Number(number) + 1
    const isKept =
      epoch === this.#epoch && /^\d{1,15}$/.test(number) && next >= this.#first && next <= this.#end
    return isKept ? next : undefined
  }

  #news(aliveMs: number, onStop: (stop: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        resolve()
      }
      // A connection that nobody speaks on is cut by some, and its end goes unnoticed.
      const timer = setTimeout(done, aliveMs)
      timer.unref()
      this.#waiting.add(done)
      onStop(done)
    })
  }

  #from(at: number): { readonly text: string; readonly next: number } {
    let text = ''
    let next = at
    while (next < this.#end && text.length < mostAtOnce) {
      text += `id: ${this.#idOf(next)}\ndata: ${this.#texts[next - this.#first]}\n\n`
      next += 1
    }
    return { text: text === '' ? ': still here\n\n' : text, next }
  }

  #reset(reason: string): string {
    const event: ServerEvent = { type: 'reset', reason }
    return `id: ${this.lastId}\ndata: ${JSON.stringify(event)}\n\n`
  }

  #idOf(number: number): string {
    return `${this.#epoch}.${number}`
  }
}

const mostAtOnce = 64 * 1024
const encoder = new TextEncoder()

function encoded(text: string): Uint8Array {
  return encoder.encode(text)
}
