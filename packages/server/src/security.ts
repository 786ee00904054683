/**
 * Who may ask. A web page in the user's browser can send requests to this machine, too: under a name of its own that
 * leads here (DNS rebinding), from another origin, or as a form. Each of these is stopped before any route is looked at.
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Refusal, refused } from './refusals.ts'

export type Transport = 'tcp' | 'socket'

export interface Gate {
  readonly token: string
  /** Where the server listens; known once it does. */
  readonly port: () => number
}

export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

export const mostBodyBytes = 8 * 1024 * 1024

/** Undefined: the request may go on. */
export function refuseStranger(request: Request, transport: Transport, gate: Gate): Response | undefined {
  const why =
    foreignHost(request, transport, gate) ??
    foreignOrigin(request, gate) ??
    wrongMethod(request) ??
    (isOpen(request) ? undefined : withoutToken(request, gate)) ??
    notJson(request)
  return why === undefined ? undefined : refused(why)
}

// A page of evil.example whose name leads to 127.0.0.1 is of the same origin as we are, as far as the browser knows.
// Only the name it asked for gives it away.
function foreignHost(request: Request, transport: Transport, { port }: Gate): Refusal | undefined {
  const host = request.headers.get('host') ?? ''
  const names = transport === 'socket' ? ['localhost'] : hosts(port())
  if (names.includes(host.toLowerCase())) return undefined
  return forbidden('foreign-host', 'The request was sent to another host name than this server has.')
}

function foreignOrigin(request: Request, { port }: Gate): Refusal | undefined {
  const origin = request.headers.get('origin')
  if (origin !== null && !hosts(port()).some((host) => origin.toLowerCase() === `http://${host}`))
    return forbidden('foreign-origin', 'The request comes from a page of another origin.')
  const site = request.headers.get('sec-fetch-site')
  // "same-site" is no better than "cross-site": every other server on this machine counts as the same site.
  if (site !== null && site !== 'same-origin' && !isVisit(request))
    return forbidden('foreign-site', 'The request comes from a page of another site.')
  return undefined
}

/** Somebody opens the page in a window of its own. There is no secret in it, and no frame may hold it. */
function isVisit(request: Request): boolean {
  const { headers } = request
  const isWindow =
    headers.get('sec-fetch-mode') === 'navigate' && headers.get('sec-fetch-dest') === 'document'
  return isOpen(request) && (isWindow || headers.get('sec-fetch-site') === 'none')
}

function hosts(port: number): readonly string[] {
  const names = ['127.0.0.1', 'localhost', '[::1]']
  return port === 80
    ? [...names, ...names.map((name) => `${name}:80`)]
    : names.map((name) => `${name}:${port}`)
}

function wrongMethod({ method }: Request): Refusal | undefined {
  if (method === 'GET' || method === 'POST') return undefined
  return {
    status: 405,
    code: 'wrong-method',
    message: 'This server knows GET and POST. Nothing was changed.',
    hint: 'See /openapi.json for what can be asked.',
  }
}

/** Files of the page, and the description of the API, hold no secret. The page gets its token from whoever opened it. */
function isOpen(request: Request): boolean {
  return request.method === 'GET' && isPage(request)
}

function isPage(request: Request): boolean {
  const { pathname } = new URL(request.url)
  return !/^\/(api|session)(\/|$)/.test(pathname)
}

function withoutToken(request: Request, { token }: Gate): Refusal | undefined {
  const [scheme, given = ''] = (request.headers.get('authorization') ?? '').split(' ')
  if (scheme?.toLowerCase() === 'bearer' && isSame(given, token)) return undefined
  return {
    status: 401,
    code: 'unauthorized',
    message: 'The request has no valid token. Nothing was changed.',
    hint: 'Run "unturn studio" to open the page with the token of the running server.',
  }
}

// Compared as hashes: of equal length whatever was sent, and in a time that tells nothing about where they differ.
function isSame(given: string, token: string): boolean {
  return timingSafeEqual(hashOf(given), hashOf(token))
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

// A form of a foreign page can post text, but not this type, unless we had allowed it to (CORS), which we never do.
function notJson(request: Request): Refusal | undefined {
  if (request.method !== 'POST') return undefined
  const type = (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json')
    return {
      status: 415,
      code: 'not-json',
      message: 'The request body must be JSON (content-type: application/json). Nothing was changed.',
      hint: 'Send an empty object where there is nothing to say.',
    }
  return undefined
}

function forbidden(code: string, message: string): Refusal {
  return {
    status: 403,
    code,
    message: `${message} Nothing was changed.`,
    hint: 'Run "unturn studio" to open the page as it is meant to be.',
  }
}

/** The body as text; undefined where it is longer than anybody needs. Nothing beyond the limit is kept. */
export async function readBody(request: Request): Promise<string | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > mostBodyBytes) return undefined
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > mostBodyBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

export function tooLarge(): Response {
  return refused({
    status: 413,
    code: 'too-large',
    message: `The request body is larger than ${mostBodyBytes / 1024 / 1024} MiB. Nothing was changed.`,
    hint: 'Send less at once.',
  })
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Highlighted code has its colours as style attributes. Style sheets come from files only.
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' blob: data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
]

/** On every answer. */
export const safeHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': policy.join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'cache-control': 'no-store',
}
