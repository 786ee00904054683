import { once } from 'node:events'
import { get, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createAdaptorServer } from '@hono/node-server'
import { type LiveEvent, type ServerEvent, Unturn, UnturnRequestError } from '@unturn/client'
import { expect, test } from 'vitest'
import { EventRing } from './events.ts'
import { streamed } from './http.ts'
import { served } from './testing/served.ts'

/** Listens in the background; `until` waits for a certain event. */
class Listener implements Disposable {
  readonly heard: LiveEvent<ServerEvent>[] = []
  readonly states: string[] = []
  readonly #ending = new AbortController()
  readonly #waiting = new Set<() => void>()
  readonly done: Promise<unknown>

  constructor(
    events: (options: {
      readonly signal: AbortSignal
      readonly lastEventId?: string | undefined
      readonly longestWaitMs: number
      readonly onState: (state: string) => void
    }) => AsyncIterable<LiveEvent<ServerEvent>>,
    lastEventId?: string,
  ) {
    const stream = events({
      signal: this.#ending.signal,
      lastEventId,
      longestWaitMs: 300,
      onState: (state) => {
        this.states.push(state)
        this.#wake()
      },
    })
    this.done = this.#listen(stream).catch((error: unknown) => error)
  }

  async #listen(stream: AsyncIterable<LiveEvent<ServerEvent>>): Promise<void> {
    for await (const one of stream) {
      this.heard.push(one)
      this.#wake()
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
  }

  get types(): readonly string[] {
    return this.heard.map(({ event }) => event.type)
  }

  async until(isThere: () => boolean): Promise<void> {
    const deadline = Date.now() + 10_000
    while (!isThere()) {
      if (Date.now() > deadline) throw new Error(`waited in vain; heard ${this.types.join(', ')}`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, 100)
        const waiting = this.#waiting
        function done() {
          clearTimeout(timer)
          waiting.delete(done)
          resolve()
        }
        waiting.add(done)
      })
    }
  }

  stop(): void {
    this.#ending.abort()
  }

  [Symbol.dispose](): void {
    this.stop()
  }
}

const wholeTurn = [
  'turn.began',
  'session.updated',
  'step.began',
  'change',
  'step.ended',
  'session.updated',
  'turn.ended',
  'session.updated',
]

test('[V120] every client hears the same events in the same order, each with an id', async () => {
  await using s = await served({ 'a.txt': '0\n' })
  const listeners = [1, 2, 3].map(() => new Listener((options) => s.client.events(options)))
  for (const one of listeners) await one.until(() => one.states.includes('open'))
  await s.turn('One', { 'a.txt': '1\n' })
  await s.client.undo()
  for (const one of listeners) await one.until(() => one.types.includes('undo') && one.types.length >= 10)
  const [first, ...others] = listeners
  expect(first?.types).toEqual([...wholeTurn, 'undo', 'session.updated'])
  for (const other of others) expect(other.heard).toEqual(first?.heard)
  expect(new Set(first?.heard.map(({ id }) => id)).size).toBe(10)
  expect((await s.client.status()).eventId).toBe(first?.heard.at(-1)?.id)
  for (const one of listeners) one.stop()
  for (const one of listeners) expect(await one.done).toBeUndefined()
})

test('[V121] who comes back with the last id gets exactly what came since', async () => {
  await using s = await served({ 'a.txt': '0\n' })
  const { eventId } = await s.client.status()
  await s.turn('One', { 'a.txt': '1\n' })
  using first = new Listener((options) => s.client.events(options), eventId)
  await first.until(() => first.types.length >= 8)
  expect(first.types).toEqual(wholeTurn)
  first.stop()
  await s.turn('Two', { 'a.txt': '2\n' })
  using second = new Listener((options) => s.client.events(options), first.heard[2]?.id)
  await second.until(() => second.types.length >= 13)
  expect(second.types).toEqual([...wholeTurn.slice(3), ...wholeTurn])
  expect(second.heard.slice(0, 5)).toEqual(first.heard.slice(3))
  using last = new Listener((options) => s.client.events(options), second.heard.at(-1)?.id)
  await last.until(() => last.states.includes('open'))
  await s.client.undo()
  await last.until(() => last.types.length >= 2)
  expect(last.types).toEqual(['undo', 'session.updated'])
})

test('[V122] an id that is gone, or of another server, gives a reset and then what happens', async () => {
  await using s = await served({ 'a.txt': '0\n' }, { ring: { events: 5 } })
  const { eventId } = await s.client.status()
  await s.turn('One', { 'a.txt': '1\n' })
  for (const id of [eventId, 'another.7', 'nonsense', `${eventId.split('.')[0]}.999999`]) {
    using one = new Listener((options) => s.client.events(options), id)
    await one.until(() => one.types.length >= 1)
    expect(one.types).toEqual(['reset'])
    expect(one.heard[0]?.id).toBe((await s.client.status()).eventId)
    await s.client.undo()
    await one.until(() => one.types.length >= 3)
    expect(one.types).toEqual(['reset', 'undo', 'session.updated'])
    await s.client.redo()
  }
})

test('[V123] a reader that does not read takes no memory of its own and is told when it fell behind', async () => {
  const ring = new EventRing({ events: 10, bytes: 10_000 })
  const slow = new PassThrough({ highWaterMark: 1_000 })
  ring.stream(slow, undefined)
  const filling = 'x'.repeat(500)
  for (let i = 0; i < 1_000; i += 1) {
    ring.push({ type: 'reset', reason: `${i} ${filling}` })
    await undefined
  }
  expect(slow.writableLength + slow.readableLength).toBeLessThan(4_000)
  let heard = ''
  slow.setEncoding('utf8').on('data', (part: string) => {
    heard += part
  })
  await expect.poll(() => heard).toContain('no longer kept')
  expect(heard.length).toBeLessThan(8_000)
  ring.push({ type: 'reset', reason: 'and so on' })
  await expect.poll(() => heard).toContain('and so on')
  expect(ring.readers).toBe(1)
  slow.destroy()
  await expect.poll(() => ring.readers).toBe(0)
})

test('[V123] a stream ends with its ring, and one that was left is forgotten', async () => {
  const ring = new EventRing()
  const [out, gone] = [new PassThrough(), new PassThrough()]
  gone.destroy()
  ring.stream(gone, undefined)
  expect(ring.readers).toBe(0)
  ring.stream(out, undefined)
  expect(ring.readers).toBe(1)
  ring.push({ type: 'reset', reason: 'last words' })
  ring.end()
  expect(await text(out)).toContain('last words')
  await expect.poll(() => ring.readers).toBe(0)
})

test('[V123] a client that listens for long leaves nothing behind of what it has heard', async () => {
  const ring = new EventRing({ events: 4 })
  const server = createAdaptorServer({
    fetch: (_, { outgoing }) => streamed(outgoing as ServerResponse, (out) => ring.stream(out, undefined)),
    overrideGlobalObjects: false,
  }) as Server
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let heard = 0
  const request = get({ port, host: '127.0.0.1' }, (answer) => {
    answer.on('data', (part: Buffer) => {
      heard += part.length
    })
  })
  await expect.poll(() => heard).toBeGreaterThan(0)
  const listenFor = async (events: number) => {
    for (let at = 0; at < events; at += 1) {
      const before = heard
      ring.push({ type: 'reset', reason: 'one more' })
      while (heard === before) await new Promise((resolve) => setImmediate(resolve))
    }
    return heapUsed()
  }
  const beginning = await listenFor(500)
  expect((await listenFor(8_000)) - beginning).toBeLessThan(400_000)
  request.destroy()
  await expect.poll(() => ring.readers).toBe(0)
  server.close()
})

// Without garbage: otherwise it would say what happened to be lying around.
function heapUsed(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

test('[V124] what another process records is told, too', async () => {
  await using s = await served({ 'a.txt': '0\n' })
  using one = new Listener((options) => s.client.events(options))
  await one.until(() => one.states.includes('open'))
  await using other = await s.another()
  const session = other.session('elsewhere', { agent: 'other' })
  const turn = await session.begin({ prompt: 'Over there' })
  await turn.step({ tool: 'edit', paths: ['a.txt'] }, async () => {
    s.write({ 'a.txt': '1\n' })
    await one.until(() => one.types.includes('step.began'))
  })
  await turn.end()
  await session.undo()
  await one.until(() => one.types.includes('undo'))
  expect(one.types.filter((type) => type !== 'session.updated')).toEqual([
    'turn.began',
    'step.began',
    'change',
    'step.ended',
    'turn.ended',
    'undo',
  ])
  expect((await s.client.tree()).session.reverted).toHaveLength(1)
})

test('[V125] after a kill and a new start the client is back by itself, with the new token, and consistent', async () => {
  await using s = await served({ 'a.txt': '0\n' })
  const { port, url } = s.server
  const client = new Unturn({ url, token: () => s.server.token }).workspace(s.id)
  using one = new Listener((options) => client.events(options))
  await one.until(() => one.states.includes('open'))
  await s.turn('One', { 'a.txt': '1\n' })
  await one.until(() => one.types.length >= 8)
  await s.server.end()
  await one.until(() => one.states.at(-1) === 'lost')
  await using other = await s.another()
  await other.session('chat-1', { agent: 'tester' }).undo()
  const { token } = s.server
  await s.start({ port })
  expect(s.server.token).not.toBe(token)
  await one.until(() => one.types.includes('reset'))
  const { turns, eventId } = await s.client.tree()
  expect(turns.map(({ reverted }) => reverted)).toEqual([true])
  expect(one.heard.at(-1)?.id).toBe(eventId)
  await s.client.redo()
  await one.until(() => one.types.length >= 11)
  expect(one.types.slice(8)).toEqual(['reset', 'redo', 'session.updated'])
})

test('[V125] a token that is not known yet is asked for until it is, and whoever listens is told why', async () => {
  await using s = await served()
  let token = 'of the server before'
  const client = new Unturn({ url: s.server.url, token: async () => token }).workspace(s.id)
  const failures: unknown[] = []
  using one = new Listener((options) =>
    client.events({ ...options, onFailure: (error) => failures.push(error) }),
  )
  await one.until(() => failures.length >= 2)
  expect(failures[0]).toMatchObject({ status: 401, code: 'unauthorized' })
  expect(one.states).not.toContain('open')
  token = s.server.token
  await one.until(() => one.states.includes('open'))
})

test('[V126] the client gives up where trying again cannot help', async () => {
  await using s = await served()
  using wrong = new Listener((options) => s.unturn.workspace('no-such').events(options))
  const error = await wrong.done
  expect(error).toBeInstanceOf(UnturnRequestError)
  expect((error as UnturnRequestError).status).toBe(404)
  const old = new Unturn({ url: s.server.url, token: 'old' }).workspace(s.id)
  using refused = new Listener((options) => old.events(options))
  expect(await refused.done).toMatchObject({ status: 401 })
  using stopped = new Listener((options) => s.client.events(options))
  await stopped.until(() => stopped.states.includes('open'))
  stopped.stop()
  expect(await stopped.done).toBeUndefined()
})
