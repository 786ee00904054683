/** Starts the server: on the loopback interface and on a socket of its own, with a token that nobody else has. */

import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { isAlive } from './ask.ts'
import type { RingLimits } from './events.ts'
import { given, type ServerFacts } from './handlers.ts'
import { type App, createApp } from './http.ts'
import { Idle } from './idle.ts'
import { newToken, type Transport } from './security.ts'
import { StaticFiles } from './static-files.ts'
import type { WatchOptions } from './watch.ts'
import {
  claim,
  type Env,
  makePrivate,
  newSocketName,
  readWhereabouts,
  unclaim,
  type Whereabouts,
} from './whereabouts.ts'
import { Workspaces } from './workspaces.ts'

export interface ServerOptions {
  readonly version: string
  readonly env?: Env
  /** 0, or nothing: any that is free. */
  readonly port?: number
  /** The folder of the built page. */
  readonly studio?: string
  /** Ends after so many minutes in which nobody needed it. Nothing: never. */
  readonly idleMinutes?: number
  readonly onWarning?: (text: string) => void
  readonly ring?: Partial<RingLimits>
  readonly watch?: WatchOptions | 'off'
  readonly token?: string
  /** The agents that could work in a folder; the server itself knows none. */
  readonly agents?: ServerFacts['agents']
}

export interface RunningServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly token: string
  readonly socket: string
  /** The page with its token, which no server sees and no log has: it stands behind the `#`. */
  pageUrl(workspace?: string): string
  /** Settled when the server has ended. */
  readonly ended: Promise<void>
  end(): Promise<void>
}

/** Another server of this user runs already. */
export class AlreadyRunning extends Error {
  readonly at: Whereabouts

  constructor(at: Whereabouts) {
    super('a server runs already')
    this.at = at
  }
}

const loopback = '127.0.0.1'

export function pageUrlOf({ port, token }: Pick<Whereabouts, 'port' | 'token'>, workspace?: string): string {
  const place = workspace === undefined ? '' : `&workspace=${encodeURIComponent(workspace)}`
  return `http://${loopback}:${port}/#token=${token}${place}`
}

/** Throws `AlreadyRunning` where there is one for this store; there is never more than one. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { env = process.env, onWarning = () => {}, version } = options
  const before = readWhereabouts(env)
  if (before !== undefined && (await isAlive(before))) throw new AlreadyRunning(before)
  const token = options.token ?? newToken()
  const startedAt = new Date().toISOString()
  const workspaces = new Workspaces({
    env,
    onWarning,
    ...given({ ring: options.ring, watch: options.watch }),
  })
  const files = options.studio === undefined ? undefined : StaticFiles.open(options.studio)
  const idle =
    options.idleMinutes === undefined
      ? undefined
      : new Idle(workspaces, options.idleMinutes * 60_000, () => void end())
  let port = 0
  const app = createApp({
    gate: { token, port: () => port },
    workspaces,
    version,
    server: {
      info: () => ({
        name: 'unturn',
        version,
        pid: process.pid,
        startedAt,
        idleMinutes: options.idleMinutes ?? null,
      }),
      agents: options.agents ?? (() => ({ agents: [], waitingEvents: 0 })),
      // The answer goes out first.
      stop: () => void setTimeout(() => void end(), 20),
    },
    onRequest: () => idle?.touch(),
    ...(files === undefined ? {} : { files }),
  })
  const tcp = listenerOf(app, 'tcp')
  const local = listenerOf(app, 'socket')
  const socket = newSocketName(env)
  let own: Whereabouts | undefined
  const { promise: ended, resolve: tellEnded } = Promise.withResolvers<void>()
  let ending: Promise<void> | undefined
  const end = () => {
    ending ??= (async () => {
      idle?.[Symbol.dispose]()
      if (own !== undefined) unclaim(env, own)
      const closed = [tcp, local].filter((server) => server.listening).map(closing)
      await workspaces[Symbol.asyncDispose]()
      for (const server of [tcp, local]) server.closeAllConnections()
      await Promise.all(closed)
      tellEnded()
    })()
    return ending
  }
  try {
    // Pages that were open when the last one was killed find the new one there. Its token dies with it: whoever took the
    // port meanwhile has been sent that token by every one of these pages.
    await listening(tcp, options.port ?? 0, options.port === undefined ? before?.port : undefined)
    port = (tcp.address() as AddressInfo).port
    await new Promise<void>((resolve, reject) => local.once('error', reject).listen(socket, resolve))
    makePrivate(socket)
    own = { version, pid: process.pid, port, socket, token, startedAt }
    const claimed = await claim(env, own, isAlive)
    if (claimed !== 'claimed') throw new AlreadyRunning(claimed)
  } catch (error) {
    await end()
    throw error
  }
  return {
    url: `http://${loopback}:${port}`,
    port,
    token,
    socket,
    pageUrl: (workspace) => pageUrlOf({ port, token }, workspace),
    ended,
    end,
    [Symbol.asyncDispose]: end,
  }
}

function listenerOf(app: App, transport: Transport): Server {
  return createAdaptorServer({
    fetch: (request, { outgoing }) => app.fetch(request, { transport, outgoing: outgoing as ServerResponse }),
    overrideGlobalObjects: false,
  }) as Server
}

async function listening(server: Server, port: number, wished: number | undefined): Promise<void> {
  if (wished === undefined) return listenOn(server, port)
  try {
    await listenOn(server, wished)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
    await listenOn(server, port) // somebody else has it by now
  }
}

function listenOn(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, loopback, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function closing(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}
