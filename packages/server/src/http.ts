/** The HTTP app: strangers are refused first, then a route is found, its request checked, and its handler asked. */

import type { ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { asUnturnError, isFailure, textOfBytes } from '@unturn/core'
import { type Context, Hono } from 'hono'
import type { z } from 'zod'
import { type Handlers, handlersOf, type ServerFacts } from './handlers.ts'
import { openApi } from './openapi.ts'
import { answer, failed, refused } from './refusals.ts'
import { type RouteName, type RouteSpec, routes } from './routes.ts'
import { type Gate, readBody, refuseStranger, safeHeaders, type Transport, tooLarge } from './security.ts'
import type { StaticFiles } from './static-files.ts'
import type { Workspaces } from './workspaces.ts'

export interface AppOptions {
  readonly gate: Gate
  readonly workspaces: Workspaces
  readonly server: ServerFacts
  readonly version: string
  /** The page; absent where it was not built. */
  readonly files?: StaticFiles
  /** Told of every request that was let in. */
  readonly onRequest?: () => void
}

interface Bindings {
  readonly Bindings: { readonly transport: Transport; readonly outgoing: ServerResponse }
}

export type App = Hono<Bindings>

export function createApp(options: AppOptions): App {
  const { gate, workspaces, files } = options
  const app: App = new Hono<Bindings>()
  app.use('*', async (context, next) => {
    const refusal = refuseStranger(context.req.raw, context.env.transport, gate)
    if (refusal === undefined) {
      options.onRequest?.()
      await next()
    } else context.res = refusal
    for (const [name, value] of Object.entries(safeHeaders))
      if (!context.res.headers.has(name)) context.res.headers.set(name, value)
  })
  const handlers = handlersOf(workspaces, options.server)
  for (const name of Object.keys(routes) as RouteName[]) addRoute(app, name, handlers)
  app.get('/api/workspaces/:workspace/events', async (context) => {
    try {
      const { events } = await workspaces.open(context.req.param('workspace'))
      const lastId = context.req.header('last-event-id') ?? queryOf(context.req.url).lastEventId
      return streamed(context.env.outgoing, (out) =>
        events.stream(out, typeof lastId === 'string' ? lastId : undefined),
      )
    } catch (error) {
      return failed(asUnturnError(error))
    }
  })
  const description = openApi(options.version)
  app.get('/openapi.json', () => answer(200, description))
  app.get('*', async (context) => (await files?.find(context.req.path)) ?? noSuchRoute())
  app.notFound(noSuchRoute)
  app.onError((error) => failed(asUnturnError(error)))
  return app
}

// Not as the body of a `Response`: the adapter hangs every piece of such a body onto the piece before it, and all that
// a client has ever heard would stay in memory for as long as it listens.
export function streamed(outgoing: ServerResponse, stream: (out: ServerResponse) => void): Response {
  outgoing.writeHead(200, {
    ...safeHeaders,
    'content-type': 'text/event-stream; charset=utf-8',
    'x-accel-buffering': 'no',
  })
  stream(outgoing)
  return new Response(null, { headers: RESPONSE_ALREADY_SENT.headers })
}

function noSuchRoute(): Response {
  return refused({
    status: 404,
    code: 'no-such-route',
    message: 'There is nothing here. Nothing was changed.',
    hint: 'See /openapi.json for what can be asked.',
  })
}

function addRoute<Name extends RouteName>(app: App, name: Name, handlers: Handlers): void {
  const route: RouteSpec = routes[name]
  const handle = handlers[name] as (call: unknown) => Promise<unknown>
  app.on(route.method.toUpperCase(), route.path.replace(/\{(\w+)\}/g, ':$1'), async (context) => {
    if (route.only === 'socket' && context.env.transport !== 'socket') return onlyBySocket()
    const call = await parsedCall(route, context)
    if (call instanceof Response) return call
    try {
      return answer(200, await handle(call))
    } catch (error) {
      if (!isFailure(error, 'internal')) return failed(asUnturnError(error))
      throw error
    }
  })
}

function onlyBySocket(): Response {
  return refused({
    status: 403,
    code: 'socket-only',
    message: 'This can be asked through the local socket only. Nothing was changed.',
    hint: 'Use the command line.',
  })
}

async function parsedCall(route: RouteSpec, context: Context<Bindings>): Promise<object | Response> {
  const params = Object.fromEntries(
    [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, context.req.param(name) ?? '']),
  )
  const query = parsed(route.query, queryOf(context.req.url), 'query')
  if (query instanceof Response) return query
  const json = route.body === undefined ? {} : await jsonOf(context.req.raw)
  if (json instanceof Response) return json
  const body = parsed(route.body, json, 'body')
  return body instanceof Response ? body : { params, query, body }
}

async function jsonOf(request: Request): Promise<unknown> {
  const text = await readBody(request)
  if (text === undefined) return tooLarge()
  try {
    return JSON.parse(text)
  } catch {
    return notUnderstood('the body is not JSON', [])
  }
}

function parsed(schema: z.ZodType | undefined, value: unknown, what: string): unknown {
  if (schema === undefined) return {}
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issues = result.error.issues.map(({ path, message }) => ({ where: path.join('.'), message }))
  const first = issues[0]
  const where = first === undefined || first.where === '' ? `the ${what}` : first.where
  return notUnderstood(`${where}: ${first?.message ?? 'not as expected'}`, issues)
}

function notUnderstood(why: string, issues: readonly unknown[]): Response {
  return refused({
    status: 400,
    code: 'bad-usage',
    message: `The request was not understood (${why}). Nothing was changed.`,
    hint: 'See /openapi.json for what can be asked.',
    data: { issues },
  })
}

/** Percent signs stand for bytes, and bytes are what file names are made of: they need not be UTF-8. */
export function queryOf(url: string): Readonly<Record<string, string | readonly string[]>> {
  const query: Record<string, string | string[]> = Object.create(null)
  const [, search = ''] = /\?([^#]*)/.exec(url) ?? []
  for (const pair of search.split('&')) {
    if (pair === '') continue
    const [name = '', ...rest] = pair.split('=')
    const key = decoded(name)
    const value = decoded(rest.join('='))
    const known = query[key]
    query[key] = known === undefined ? value : [known, value].flat()
  }
  return query
}

function decoded(text: string): string {
  const bytes = Buffer.from(text, 'utf8').toString('latin1')
  return textOfBytes(
    bytes
      .replaceAll('+', ' ')
      .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
  )
}
