/** A stream of server-sent events that goes on where it broke off. Not `EventSource`: that cannot send a token. */

import { UnturnRequestError } from './failure.ts'

export interface LiveEvent<Event> {
  readonly event: Event
  /** Hand it back as `lastEventId` to go on behind this event. */
  readonly id: string
}

/** `lost`: the next try is under way or waiting; what happens meanwhile is told once it succeeds. */
export type ConnectionState = 'connecting' | 'open' | 'lost'

export interface EventOptions {
  /** Where to begin: behind this event. Absent: from now on. */
  readonly lastEventId?: string | undefined
  /** Ends the stream. */
  readonly signal?: AbortSignal
  readonly onState?: (state: ConnectionState) => void
  /** Told why a try did not succeed. */
  readonly onFailure?: (error: unknown) => void
  /** The longest wait between two tries, in milliseconds. 5,000. */
  readonly longestWaitMs?: number
}

type Connect = (lastId: string | undefined, signal: AbortSignal) => Promise<Response>

const shortestWaitMs = 250

/**
 * Events in order, each once. Connects again after every loss, from behind the last event. A `reset` event means that
 * the server no longer knows what came since: fetch the state anew, and go on listening.
 *
 * Throws where trying again cannot help: the request is refused (403), no such workspace (404), the token is wrong (401)
 * and nobody knows another one.
 */
export async function* liveEvents<Event>(
  connect: Connect,
  options: EventOptions,
  finalStatuses: readonly number[],
): AsyncGenerator<LiveEvent<Event>, void, undefined> {
  const { onState = () => {}, onFailure = () => {}, longestWaitMs = 5_000 } = options
  const ending = new AbortController()
  const end = () => ending.abort()
  options.signal?.addEventListener('abort', end)
  if (options.signal?.aborted === true) end()
  let lastId = options.lastEventId
  let waitMs = shortestWaitMs
  try {
    while (!ending.signal.aborted) {
      onState('connecting')
      try {
        const response = await connect(lastId, ending.signal)
        onState('open')
        waitMs = shortestWaitMs
        for await (const { id, data } of readEvents(response, ending.signal)) {
          if (id !== undefined) lastId = id
          if (data !== undefined) yield { event: JSON.parse(data) as Event, id: lastId ?? '' }
        }
      } catch (error) {
        if (error instanceof UnturnRequestError && finalStatuses.includes(error.status)) throw error
        if (!ending.signal.aborted) onFailure(error)
      }
      if (ending.signal.aborted) return
      onState('lost')
      await pause(waitMs, ending.signal)
      waitMs = Math.min(waitMs * 2, longestWaitMs)
    }
  } finally {
    options.signal?.removeEventListener('abort', end)
    end() // whoever leaves the loop leaves the connection, too
  }
}

interface Block {
  readonly id: string | undefined
  readonly data: string | undefined
}

// The server says something every 15 seconds. A machine that slept may have lost the connection without knowing.
const silenceMs = 45_000

async function* readEvents(response: Response, signal: AbortSignal): AsyncGenerator<Block, void, undefined> {
  const reader = response.body?.getReader()
  if (reader === undefined) return
  const stop = () => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', stop)
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await within(silenceMs, reader.read(), stop)
      if (done) return
      text += decoder.decode(value, { stream: true })
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) yield parseBlock(block)
    }
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

function parseBlock(block: string): Block {
  let id: string | undefined
  const data: string[] = []
  for (const line of block.split('\n')) {
    const [, field, value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? []
    if (field === 'id') id = value
    else if (field === 'data') data.push(value)
  }
  return { id, data: data.length === 0 ? undefined : data.join('\n') }
}

async function within<T>(ms: number, work: Promise<T>, onLate: () => void): Promise<T> {
  const timer = setTimeout(onLate, ms)
  try {
    return await work
  } finally {
    clearTimeout(timer)
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}
