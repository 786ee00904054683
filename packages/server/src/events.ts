/**
 * Live events: one ring per workspace, read by every client at its own pace. A client has only a place in it, so that
 * fifty slow ones take no more memory than one; who falls behind the ring is told to fetch everything anew (`reset`).
 */

import { randomBytes } from 'node:crypto'
import type { Writable } from 'node:stream'
import type { ServerEvent } from './schemas.ts'

export interface RingLimits {
  readonly events: number
  readonly bytes: number
}

// Minutes of a busy workspace. Who was away for longer fetches the state anew, which costs the same however long it was.
const usualLimits: RingLimits = { events: 5_000, bytes: 4 * 1024 * 1024 }

/** A client: where its events go, and which comes next. Undefined: nobody can tell what it has missed. */
interface Reader {
  readonly out: Writable
  at: number | undefined
  /** It has been given as much as it takes for now. */
  isFull: boolean
}

/** Some events in a row, ready to be sent; `end` is where the ring ended then. */
interface Piece {
  readonly at: number
  readonly end: number
  readonly next: number
  readonly bytes: Buffer
}

export class EventRing {
  readonly #limits: RingLimits
  // A server that starts anew counts from one again. Without this an id of the old one would seem to be one of ours.
  readonly #epoch = randomBytes(6).toString('base64url')
  #texts: string[] = []
  /** The number of the first text. */
  #first = 1
  #bytes = 0
  #ended = false
  #isToTell = false
  #last: Piece | undefined
  readonly #streams = new Set<Reader>()

  constructor(limits: Partial<RingLimits> = {}) {
    this.#limits = { ...usualLimits, ...limits }
  }

  /** The id of the newest event. */
  get lastId(): string {
    return this.#idOf(this.#first + this.#texts.length - 1)
  }

  /** How many streams are open. */
  get readers(): number {
    return this.#streams.size
  }

  push(event: ServerEvent): void {
    const text = JSON.stringify(event)
    this.#texts.push(text)
    this.#bytes += text.length
    while (this.#texts.length > 1 && this.#isFull()) {
      this.#bytes -= this.#texts.shift()?.length ?? 0
      this.#first += 1
    }
    this.#tellSoon()
  }

  #isFull(): boolean {
    return this.#texts.length > this.#limits.events || this.#bytes > this.#limits.bytes
  }

  /** All streams end; whoever listens connects again, to whoever comes next. */
  end(): void {
    this.#ended = true
    this.#tellSoon()
  }

  // What happens in one go is written in one go.
  #tellSoon(): void {
    if (this.#isToTell) return
    this.#isToTell = true
    queueMicrotask(() => {
      this.#isToTell = false
      for (const reader of this.#streams) this.#write(reader)
    })
  }

  /** Writes server-sent events from behind `lastId` on, or from now on where there is none, until either side ends. */
  stream(out: Writable, lastId: string | undefined, aliveMs = 15_000): void {
    if (out.destroyed) return
    const reader: Reader = { out, at: this.#placeBehind(lastId), isFull: false }
    // A connection that nobody speaks on is cut by some, and its end goes unnoticed.
    const alive = setInterval(() => this.#say(reader, ': still here\n\n'), aliveMs)
    alive.unref()
    const leave = () => {
      clearInterval(alive)
      this.#streams.delete(reader)
    }
    out.on('close', leave).on('error', leave)
    out.on('drain', () => {
      reader.isFull = false
      this.#write(reader)
    })
    this.#streams.add(reader)
    // An id without an event: who never hears of anything still knows where to go on.
    const greeting = reader.at === undefined ? '' : `id: ${this.#idOf(reader.at - 1)}\n\n`
    this.#say(reader, `retry: 1000\n: unturn\n\n${greeting}`)
    this.#write(reader)
  }

  #say(reader: Reader, text: string | Buffer): void {
    if (!reader.isFull && !reader.out.writableEnded) reader.isFull = !reader.out.write(text)
  }

  // As much as the client takes. What it does not take stays in the ring only: a client that is slow has no queue.
  #write(reader: Reader): void {
    while (!reader.isFull) {
      const next = this.#nextFor(reader)
      if (next === undefined) break
      this.#say(reader, next)
    }
    if (this.#ended && reader.at === this.#end) reader.out.end()
  }

  #nextFor(reader: Reader): string | Buffer | undefined {
    if (reader.at === undefined || reader.at < this.#first) {
      reader.at = this.#end
      return this.#reset('The events since then are no longer kept.')
    }
    if (reader.at === this.#end) return undefined
    const { bytes, next } = this.#from(reader.at)
    reader.at = next
    return bytes
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

  // Nearly all clients are at the same place: what one gets is put together once for all of them.
  #from(at: number): Piece {
    if (this.#last?.at === at && this.#last.end === this.#end) return this.#last
    let text = ''
    let next = at
    while (next < this.#end && text.length < mostAtOnce) {
      text += `id: ${this.#idOf(next)}\ndata: ${this.#texts[next - this.#first]}\n\n`
      next += 1
    }
    this.#last = { at, end: this.#end, next, bytes: Buffer.from(text) }
    return this.#last
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
