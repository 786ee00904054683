/** The OpenAPI document, made of the schemas that check the requests. */

import { z } from 'zod'
import { type RouteSpec, routes } from './routes.ts'
import { failure, serverEvent } from './schemas.ts'

type Json = Readonly<Record<string, unknown>>

export function openApi(version: string): Json {
  const schemas = new Schemas()
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [name, route] of Object.entries<RouteSpec>(routes)) {
    paths[route.path] = { ...paths[route.path], [route.method]: operation(name, route, schemas) }
  }
  const events = '/api/workspaces/{workspace}/events'
  paths[events] = { get: eventStream(schemas) }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Unturn',
      version,
      description:
        'Undo for AI coding agents. On this machine only; the token is given to whoever started the server.',
    },
    paths,
    components: {
      schemas: schemas.named,
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
    security: [{ token: [] }],
  }
}

function operation(name: string, route: RouteSpec, schemas: Schemas): Json {
  return {
    operationId: name,
    summary: route.summary,
    ...(route.only === 'socket' ? { description: 'Through the local socket only.' } : {}),
    parameters: [...pathParameters(route.path), ...queryParameters(route.query, schemas)],
    ...(route.body === undefined
      ? {}
      : { requestBody: { required: true, content: jsonOf(schemas.take(route.body, 'input')) } }),
    responses: {
      200: { description: 'done', content: jsonOf(schemas.take(route.answer, 'output')) },
      default: { description: 'not done', content: jsonOf(schemas.take(failure, 'output')) },
    },
  }
}

function eventStream(schemas: Schemas): Json {
  return {
    operationId: 'events',
    summary:
      'what happens, as server-sent events with ids; Last-Event-ID goes on where the last stream ended',
    parameters: [
      ...pathParameters('/{workspace}'),
      { name: 'Last-Event-ID', in: 'header', schema: { type: 'string' } },
    ],
    responses: {
      200: {
        description: 'events; `data` of each is one of these as JSON',
        content: { 'text/event-stream': { schema: schemas.take(serverEvent, 'output') } },
      },
    },
  }
}

function pathParameters(path: string): readonly Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function queryParameters(query: z.ZodObject | undefined, schemas: Schemas): readonly Json[] {
  if (query === undefined) return []
  return Object.entries(query.shape).map(([name, schema]) => ({
    name,
    in: 'query',
    required: !schema.safeParse(undefined).success,
    schema: schemas.take(schema as z.ZodType, 'input'),
  }))
}

function jsonOf(schema: Json): Json {
  return { 'application/json': { schema } }
}

/** Schemas with a name of their own are told once, and referred to. */
class Schemas {
  readonly named: Record<string, unknown> = {}

  take(schema: z.ZodType, io: 'input' | 'output'): Json {
    const {
      $schema: _,
      $defs = {},
      ...json
    } = z.toJSONSchema(schema, {
      io,
      unrepresentable: 'any',
      reused: 'inline',
    }) as Json & { readonly $defs?: Readonly<Record<string, unknown>> }
    for (const [name, one] of Object.entries($defs)) this.named[name] = pointed(one)
    const name = z.globalRegistry.get(schema)?.id
    if (typeof name !== 'string') return pointed(json) as Json
    this.named[name] = pointed(json)
    return { $ref: `#/components/schemas/${name}` }
  }
}

function pointed(json: unknown): unknown {
  return JSON.parse(JSON.stringify(json).replaceAll('"#/$defs/', '"#/components/schemas/'))
}
