/**
 * One direction of a conversation: bytes come in, and go out as they came, at once. Each line is looked at on its way, and
 * some are held until somebody has seen to them; what comes behind a line that is held waits behind it.
 */

import type { Readable, Writable } from 'node:stream'

/** What becomes of a line. `held`: what goes out instead of it, when it may; it never takes for ever, and never fails. */
export interface Seen {
  readonly held?: () => Promise<Buffer>
}

export interface WayOptions {
  readonly from: Readable
  readonly to: Writable
  /** Called with each line, without its end. `whole` is false where a part of it is on its way already. */
  readonly look: (line: Buffer, whole: boolean) => Seen
  /** Called when the other end takes nothing any more. */
  readonly onBroken: () => void
}

/** A line that has not ended after this time is passed on as far as it goes: perhaps it is none. */
const quietMs = 250
/** What is longer than this is passed on and not looked at. */
const longest = 64 * 1024 * 1024
const newline = 0x0a

/** Settled when all that came in is out. */
export function passLines(options: WayOptions): Promise<void> {
  return new Way(options).done
}

class Way {
  readonly done: Promise<void>
  readonly #options: WayOptions
  /** Of the line that has not ended: what has gone out, and what has not. */
  #passed: Buffer[] = []
  #rest: Buffer[] = []
  #length = 0
  #quiet: ReturnType<typeof setTimeout> | undefined
  #queue: Promise<void> = Promise.resolve()
  #waiting = 0

  constructor(options: WayOptions) {
    this.#options = options
    const { from, to } = options
    this.done = new Promise((resolve) => {
      const end = () => {
        this.#passRest()
        this.#queue.then(resolve)
      }
      from.on('data', (bytes: Buffer) => this.#take(bytes))
      from.once('end', end)
      from.once('close', end)
      from.on('error', end)
      to.on('error', () => {
        options.onBroken()
        resolve()
      })
    })
  }

  #take(bytes: Buffer): void {
    clearTimeout(this.#quiet)
    let start = 0
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      this.#line(bytes.subarray(start, end + 1))
      start = end + 1
    }
    if (start === bytes.length) return
    this.#rest.push(bytes.subarray(start))
    this.#length += bytes.length - start
    if (this.#length > longest) this.#passRest()
    else this.#quiet = setTimeout(() => this.#passRest(), quietMs)
  }

  #passRest(): void {
    clearTimeout(this.#quiet)
    const rest = this.#rest
    this.#rest = []
    if (rest.length === 0) return
    if (this.#length <= longest) this.#passed.push(...rest)
    else this.#passed = []
    this.#send(Buffer.concat(rest))
  }

  #line(end: Buffer): void {
    const unsent = this.#rest.length === 0 ? end : Buffer.concat([...this.#rest, end])
    const isWhole = this.#passed.length === 0 && this.#length <= longest
    const line = isWhole ? unsent : Buffer.concat([...this.#passed, unsent])
    const isTooLong = this.#length > longest
    this.#rest = []
    this.#passed = []
    this.#length = 0
    const { held } = isTooLong ? {} : this.#look(line.subarray(0, -1), isWhole)
    this.#send(unsent, isWhole ? held : undefined)
  }

  // Whatever is wrong with a line, or with us, it goes on as it is.
  #look(line: Buffer, isWhole: boolean): Seen {
    try {
      return this.#options.look(line, isWhole)
    } catch {
      return {}
    }
  }

  #send(bytes: Buffer, held?: () => Promise<Buffer>): void {
    if (this.#waiting === 0 && held === undefined) return this.#write(bytes)
    this.#waiting += 1
    this.#queue = this.#queue
      .then(() => held?.() ?? bytes)
      .catch(() => bytes)
      .then((out) => {
        this.#waiting -= 1
        this.#write(out)
      })
  }

  // Nobody may make us keep more than the system keeps between two programs.
  #write(bytes: Buffer): void {
    const { from, to } = this.#options
    if (to.destroyed || to.writableEnded || to.write(bytes)) return
    if (from.isPaused()) return
    from.pause()
    to.once('drain', () => from.resume())
  }
}
