/**
 * Asks the running server through its socket, for commands and hooks. Written on `node:net` alone: to load `node:http`
 * takes longer than most of these requests.
 */

import { connect } from 'node:net'
import { type Env, readWhereabouts, type Whereabouts } from './whereabouts.ts'

export interface Question {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: object
}

export interface SocketAnswer {
  readonly status: number
  readonly json: unknown
}

export interface Patience {
  /** How long to wait for the connection; 1 s. */
  readonly connectMs?: number
  /** How long to wait for the answer; as long as it takes. */
  readonly answerMs?: number
}

export interface AskOptions extends Patience {
  readonly env: Env
  /** A server of another version is not asked. */
  readonly version: string
}

/** Undefined: there is no server to ask, so the caller does it himself. Nothing has been done then. */
export async function askServer(
  question: Question,
  { env, version, ...patience }: AskOptions,
): Promise<SocketAnswer | undefined> {
  const at = readWhereabouts(env)
  return at?.version === version ? ask(at, question, patience) : undefined
}

/** A server that was killed leaves its whereabouts behind. */
export async function isAlive(at: Whereabouts): Promise<boolean> {
  const answer = await ask(at, { method: 'GET', path: '/api/server' }, { answerMs: 10_000 }).catch(
    () => undefined,
  )
  const { pid } = (answer?.json ?? {}) as { readonly pid?: number }
  return answer?.status === 200 && pid === at.pid
}

/** Undefined where nobody takes the connection. Once the question is out, every trouble is an error: it may have been heard. */
export function ask(
  { socket, token }: Pick<Whereabouts, 'socket' | 'token'>,
  { method, path, body }: Question,
  { connectMs = 1_000, answerMs }: Patience = {},
): Promise<SocketAnswer | undefined> {
  const text = body === undefined ? '' : JSON.stringify(body)
  const head = [
    `${method} ${path} HTTP/1.1`,
    'host: localhost',
    `authorization: Bearer ${token}`,
    ...(body === undefined ? [] : ['content-type: application/json']),
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
  ].join('\r\n')
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let isConnected = false
    const connection = connect(socket)
    let timer = setTimeout(() => connection.destroy(new Error('no connection in time')), connectMs)
    connection.on('connect', () => {
      isConnected = true
      clearTimeout(timer)
      if (answerMs !== undefined)
        timer = setTimeout(() => connection.destroy(new Error('no answer in time')), answerMs)
      connection.write(`${head}\r\n\r\n${text}`)
    })
    connection.on('data', (chunk: Buffer) => chunks.push(chunk))
    connection.on('error', (error) => {
      clearTimeout(timer)
      if (isConnected) reject(lost(error))
      else resolve(undefined)
    })
    connection.on('close', () => {
      clearTimeout(timer)
      if (!isConnected) return resolve(undefined)
      try {
        resolve(parseAnswer(Buffer.concat(chunks)))
      } catch (error) {
        reject(lost(error))
      }
    })
  })
}

function lost(cause: unknown): Error {
  return new Error('The server ended in the middle of an answer, and may have done what it was asked', {
    cause,
  })
}

function parseAnswer(bytes: Buffer): SocketAnswer {
  const end = bytes.indexOf('\r\n\r\n')
  const [first = '', ...headers] = bytes.toString('latin1', 0, Math.max(0, end)).split('\r\n')
  const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(first) ?? []
  if (end < 0 || status === undefined) throw new Error('the answer is cut short')
  const rest = bytes.subarray(end + 4)
  const isChunked = headers.some((line) => /^transfer-encoding: *chunked/i.test(line))
  const body = isChunked ? joinedChunks(rest) : wholeBody(rest, headers)
  return { status: Number(status), json: JSON.parse(body.toString('utf8')) }
}

function wholeBody(rest: Buffer, headers: readonly string[]): Buffer {
  const [, length] = /^content-length: *(\d+)/im.exec(headers.join('\n')) ?? []
  if (length !== undefined && rest.length < Number(length)) throw new Error('the answer is cut short')
  return rest
}

function joinedChunks(bytes: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at)
    const size = end < 0 ? Number.NaN : Number.parseInt(bytes.toString('latin1', at, end), 16)
    if (!Number.isInteger(size) || end + 2 + size > bytes.length) throw new Error('the answer is cut short')
    if (size === 0) return Buffer.concat(parts)
    parts.push(bytes.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}
