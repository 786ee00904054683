/**
 * The attendant: one process that keeps the stores of this user open while agents are at work, so that a hook has nothing
 * to load and nothing to open. The first hook starts it, nobody waits for it, and it goes when it has not been needed for a
 * while. Without it everything works the same, only slower.
 *
 * One line of JSON in, one out, over a socket in our own folder, which nobody else may enter.
 */

import { existsSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { bytesPath, isFailure, StoreLock, type Workspace } from '@unturn/core'
import { earOf } from './adapters.ts'
import { Deliverer } from './deliver.ts'
import { privateFolder } from './desk.ts'
import { attendantSocket, deskFolder } from './desk-folder.ts'
import { type AgentName, type Environment, findAgent } from './events.ts'
import { type HookCall, hear } from './hear.ts'
import { fieldsOf, text } from './payload.ts'
import { whoCalls } from './who.ts'

export interface Asked {
  /** Which Unturn asks: after an upgrade the old attendant must not answer for the new one. */
  readonly stamp: string
  readonly agent: string
  readonly event?: string
  readonly payload: unknown
  readonly env: Environment
}

export interface Replied {
  readonly answer?: string
  /** Somebody else has to do it. */
  readonly refused?: boolean
}

export interface AttendOptions {
  readonly env: Environment
  readonly stamp: string
  readonly idleMs: number
  readonly afterTurn?: (workspace: Workspace) => void
}

const patienceMs = 3_500
const lookMs = 5_000

/** Returns when it has not been needed for a while, or at once where there is an attendant already. */
export async function attend(options: AttendOptions): Promise<void> {
  const path = attendantSocket(options.env)
  if (path === undefined) return
  const folder = privateFolder(deskFolder(options.env), 'locks')
  using lock = new StoreLock(bytesPath(join(folder, 'attendant.db')), { patienceMs: 0 })
  try {
    await lock.exclusive(() => new Attendant(options, path).work())
  } catch (error) {
    if (!isFailure(error, 'store-busy')) throw error
  }
}

class Attendant {
  readonly #options: AttendOptions
  readonly #path: string
  readonly #server: Server
  /** By session: one after the other. */
  readonly #queues = new Map<string, Promise<unknown>>()
  #deliverer: Deliverer
  #idle: ReturnType<typeof setTimeout> | undefined
  #leave: () => void = () => {}

  constructor(options: AttendOptions, path: string) {
    this.#options = options
    this.#path = path
    this.#deliverer = this.#newDeliverer()
    this.#server = createServer((socket) => this.#serve(socket))
  }

  async work(): Promise<void> {
    rmSync(this.#path, { force: true }) // of one that was killed; the lock says that there is no other
    const left = new Promise<void>((resolve) => {
      this.#leave = resolve
    })
    this.#server.on('error', () => this.#leave())
    this.#server.listen(this.#path)
    const looking = setInterval(() => this.#leaveIfGone(), lookMs)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => this.#leave())
    this.#stayAWhile()
    await left
    clearTimeout(this.#idle)
    clearInterval(looking)
    this.#server.close()
    rmSync(this.#path, { force: true })
    await Promise.allSettled(this.#queues.values())
    await this.#deliverer[Symbol.asyncDispose]()
  }

  // Our folder may be removed, with the stores or with a whole home: then nobody can ever ask us again.
  #leaveIfGone(): void {
    if (!existsSync(this.#path)) this.#leave()
  }

  #stayAWhile(): void {
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => this.#leave(), this.#options.idleMs)
  }

  #newDeliverer(): Deliverer {
    const { env, afterTurn } = this.#options
    return new Deliverer({
      desk: deskFolder(env),
      env,
      open: { env, patienceMs },
      ...(afterTurn === undefined ? {} : { afterTurn }),
    })
  }

  #serve(socket: Socket): void {
    let received = ''
    socket.setEncoding('utf8')
    socket.on('error', () => socket.destroy())
    socket.on('data', (part: string) => {
      received += part
      if (!received.endsWith('\n')) return
      this.#stayAWhile()
      this.#answer(received, socket).catch(() => socket.destroy()) // the hook does it by itself then
    })
  }

  async #answer(line: string, socket: Socket): Promise<void> {
    const asked = fieldsOf(JSON.parse(line))
    const agent = findAgent(text(asked, 'agent') ?? '')
    if (agent === undefined || asked.stamp !== this.#options.stamp) {
      reply(socket, { refused: true })
      if (agent !== undefined) this.#leave()
      return
    }
    const event = text(asked, 'event')
    await this.#hear(
      { installedFor: agent, event, payload: asked.payload, env: fieldsOf(asked.env) as Environment },
      socket,
    )
  }

  async #hear(call: HookCall, socket: Socket): Promise<void> {
    const agent = whoCalls(call.payload, call.env, call.installedFor)
    const [first] = earOf(agent).parse(call.event, call.payload, call.env)
    // When a call has ended the agent goes on at once. Whatever it does next waits behind this in the queue.
    const isBrief = first?.kind === 'step-ended' && !isAnswered(agent)
    if (isBrief) reply(socket, { answer: '' })
    const heard = await this.#inTurn(first?.session ?? '', () => this.#delivered(call))
    if (!isBrief) reply(socket, { answer: heard.answer }, () => heard.told())
  }

  async #delivered(call: HookCall): ReturnType<typeof hear> {
    const { env } = this.#options
    const options = { desk: deskFolder(env), env, budgetMs: patienceMs, deliverer: this.#deliverer }
    const heard = await hear(call, options)
    // A store may have been moved, removed or mended behind our back. The next event opens it anew.
    if (heard.outcome === 'spooled' || heard.outcome === 'failed') {
      const old = this.#deliverer
      this.#deliverer = this.#newDeliverer()
      await old[Symbol.asyncDispose]()
    }
    return heard
  }

  #inTurn<T>(session: string, work: () => Promise<T>): Promise<T> {
    const before = this.#queues.get(session) ?? Promise.resolve()
    const mine = before.then(work, work)
    this.#queues.set(session, mine)
    const tidy = () => {
      if (this.#queues.get(session) === mine) this.#queues.delete(session)
    }
    mine.then(tidy, tidy)
    return mine
  }
}

/** Some agents hear a notice, or must get an answer, when a call has ended. */
function isAnswered(agent: AgentName): boolean {
  return agent === 'cursor' || agent === 'cline'
}

function reply(socket: Socket, replied: Replied, after: () => void = () => {}): void {
  socket.end(`${JSON.stringify(replied)}\n`, after)
}
