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
import { bytesPath, isFailure, type OpenOptions, StoreLock, type Workspace } from '@unturn/core'
import { earOf } from './adapters.ts'
import { CallBox, type Posted } from './call-box.ts'
import { Deliverer } from './deliver.ts'
import { privateFolder, withSessionLock } from './desk.ts'
import { attendantSocket, deskFolder } from './desk-folder.ts'
import { type Environment, findTeller, type Teller } from './events.ts'
import { adoptCalls, type HookCall, hear } from './hear.ts'
import { HttpBox, type HttpCall } from './http-box.ts'
import { readHttpPlace } from './http-place.ts'
import { sessionsWithEndedJobs } from './memory.ts'
import { fieldsOf, optional, text } from './payload.ts'
import { noteFailed } from './trace.ts'
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
  /** What the stamp of that Unturn is now: it may have been replaced since. */
  readonly stampOf: (node: string, entry: string) => string
  /** The agent's own process, where the one above a hook is a shell. */
  readonly agentAbove: (parent: string) => string | undefined
  readonly idleMs: number
  readonly afterTurn?: (workspace: Workspace) => void
  /** Somebody who watches the files, where there is one. */
  readonly watch?: OpenOptions['watch']
}

const patienceMs = 3_500
const lookMs = 1_000

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
  readonly #box: CallBox
  #http: HttpBox | undefined
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
    this.#box = new CallBox(deskFolder(options.env), (call) => this.#take(call))
  }

  async work(): Promise<void> {
    rmSync(this.#path, { force: true }) // of one that was killed; the lock says that there is no other
    const left = new Promise<void>((resolve) => {
      this.#leave = resolve
    })
    this.#server.on('error', () => this.#leave())
    adoptCalls(deskFolder(this.#options.env))
    this.#server.listen(this.#path)
    this.#box.open()
    this.#listenIfWanted()
    const looking = setInterval(() => this.#look(), lookMs)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => this.#leave())
    this.#stayAWhile()
    await left
    clearTimeout(this.#idle)
    clearInterval(looking)
    this.#http?.close()
    this.#box.close()
    this.#server.close()
    rmSync(this.#path, { force: true })
    await Promise.allSettled(this.#queues.values())
    await this.#deliverer[Symbol.asyncDispose]()
  }

  // Our folder may be removed, with the stores or with a whole home: then nobody can ever ask us again.
  #look(): void {
    if (!existsSync(this.#path)) return this.#leave()
    this.#listenIfWanted()
    const desk = deskFolder(this.#options.env)
    for (const session of sessionsWithEndedJobs(desk)) this.#takeIn(desk, session)
  }

  // Right when its jobs have ended: whoever changes a file after that is somebody else.
  #takeIn(desk: string, session: string): void {
    const work = () => withSessionLock(desk, session, patienceMs, () => this.#deliverer.takeInJobs(session))
    this.#inTurn(session, work).catch(() => {}) // the next command tries again
  }

  #stayAWhile(): void {
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => this.#leave(), this.#options.idleMs)
  }

  #newDeliverer(): Deliverer {
    const { env, afterTurn, watch } = this.#options
    return new Deliverer({
      desk: deskFolder(env),
      env,
      open: { env, patienceMs, ...optional('watch', watch) },
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
    const agent = findTeller(text(asked, 'agent') ?? '')
    if (agent === undefined || asked.stamp !== this.#options.stamp) {
      reply(socket, { refused: true })
      if (agent !== undefined) this.#leave()
      return
    }
    const event = text(asked, 'event')
    const call = {
      installedFor: agent,
      event,
      payload: asked.payload,
      env: fieldsOf(asked.env) as Environment,
    }
    await this.#hear(call, (answer, after) => reply(socket, { answer }, after))
  }

  // The user may decide for it while we are here.
  #listenIfWanted(): void {
    const desk = deskFolder(this.#options.env)
    const place = this.#http === undefined ? readHttpPlace(desk) : undefined
    if (place === undefined) return
    const heard = async ({ agent, event, payload }: HttpCall) => {
      this.#stayAWhile()
      return new Promise<string>((resolve, reject) => {
        const call = { installedFor: agent, event, payload, env: {} }
        this.#hear(call, (answer, after) => {
          resolve(answer)
          after?.()
        }).catch(reject)
      })
    }
    this.#http = new HttpBox(place, heard, ({ message }) => noteTrouble(desk, message))
  }

  /** A call of a hook that is no Node. */
  #take(call: Posted): void {
    this.#stayAWhile()
    const { stamp, stampOf, agentAbove } = this.#options
    if (stampOf(call.node, call.entry) !== stamp) {
      call.answer(undefined)
      return this.#leave()
    }
    const env = { ...call.env, UNTURN_AGENT_PID: agentAbove(call.parent) }
    const asked = { installedFor: call.agent, event: call.event, payload: call.payload, env }
    const answered = this.#hear(asked, (answer, after) => {
      if (call.answer(answer)) after?.()
    })
    answered.catch(() => call.answer(undefined)) // the hook does it by itself then
  }

  async #hear(call: HookCall, answer: (text: string, after?: () => void) => void): Promise<void> {
    const agent = whoCalls(call.payload, call.env, call.installedFor)
    const [first] = earOf(agent).parse(call.event, call.payload, call.env)
    // When a call has ended the agent goes on at once. Whatever it does next waits behind this in the queue.
    const isBrief = first?.kind === 'step-ended' && !isAnswered(agent)
    if (isBrief) answer('')
    const arrivedMs = Date.now()
    const heard = await this.#inTurn(first?.session ?? '', () =>
      this.#delivered(call, Date.now() - arrivedMs > patienceMs),
    )
    if (!isBrief) answer(heard.answer, () => heard.told())
  }

  async #delivered(call: HookCall, isLate: boolean): ReturnType<typeof hear> {
    const { env } = this.#options
    const options = { desk: deskFolder(env), env, budgetMs: patienceMs, deliverer: this.#deliverer, isLate }
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
function isAnswered(agent: Teller): boolean {
  return agent === 'cursor' || agent === 'cline'
}

/** For `doctor`: tool calls that are told over HTTP are lost. */
function noteTrouble(desk: string, why: string): void {
  const message = `Nobody hears the hooks over HTTP: ${why}. Put them in again, for another port: unturn init claude-code --http`
  noteFailed(desk, { agent: 'claude-code', event: 'http', atMs: Date.now(), code: 'internal', message })
}

function reply(socket: Socket, replied: Replied, after: () => void = () => {}): void {
  socket.end(`${JSON.stringify(replied)}\n`, after)
}
