/** Hooks that come over HTTP, on loopback only. Nobody gets an answer who does not know the secret of the place. */

import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { findTeller, type Teller } from './events.ts'
import { type HttpPlace, partsOfPath } from './http-place.ts'

export interface HttpCall {
  readonly agent: Teller
  readonly event: string
  readonly payload: unknown
}

const mostBytes = 64 * 1024 * 1024

export class HttpBox {
  readonly #server: Server
  readonly #place: HttpPlace

  /** `onCall` gives the answer for the agent. `onTrouble`: nobody can be heard here; somebody else has the port. */
  constructor(
    place: HttpPlace,
    onCall: (call: HttpCall) => Promise<string>,
    onTrouble: (error: Error) => void,
  ) {
    this.#place = place
    this.#server = createServer((request, response) => {
      this.#serve(request, response, onCall).catch(() => end(response, 500, ''))
    })
    this.#server.on('error', onTrouble)
    this.#server.listen(place.port, '127.0.0.1')
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    onCall: (call: HttpCall) => Promise<string>,
  ): Promise<void> {
    const parts = partsOfPath(request.url ?? '')
    const agent = findTeller(parts?.agent ?? '')
    // A page of the browser's may try any address of this machine, under a name of its own.
    const isForUs = request.headers.host === `127.0.0.1:${this.#place.port}` && request.method === 'POST'
    if (!isForUs || parts === undefined || agent === undefined || !this.#isSecret(parts.token))
      return end(response, 404, '')
    const body = await bodyOf(request)
    if (body === undefined) return end(response, 413, '')
    end(response, 200, await onCall({ agent, event: parts.event, payload: JSON.parse(body) }))
  }

  #isSecret(token: string): boolean {
    const [given, ours] = [Buffer.from(token), Buffer.from(this.#place.token)]
    return given.length === ours.length && timingSafeEqual(given, ours)
  }
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > mostBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function end(response: ServerResponse, status: number, answer: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(answer),
  })
  response.end(answer)
}
