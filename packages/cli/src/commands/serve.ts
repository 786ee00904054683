/** `serve` and `studio`: the server in this terminal, and the page in the browser. */

import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { workspaceId } from '@unturn/core'
import { type Command, type Context, UsageError } from '../command.ts'

export const serveCommand: Command = {
  name: 'serve',
  group: 'More',
  usage: 'serve [--port N] [--idle MINUTES]',
  summary: 'run the server: HTTP, live events and file watching, on this machine only',
  details:
    'Prints the address of the page with its token; whoever has the token may do what you may do here. Captures cost what\nchanged while a server runs. It is started by itself where looking at a workspace takes longer than 150 ms, and ends\nwhen nobody needed it for half an hour; UNTURN_SERVER=0 turns that off.',
  options: [
    { name: 'port', value: 'N', help: 'the port (default: any that is free)' },
    { name: 'idle', value: 'MINUTES', help: 'end after so long without use (default: never)' },
  ],
  run: async (context) => {
    const { args, terminal, version } = context
    const port = args.has('port') ? portOf(args.require('port')) : undefined
    const idleMinutes = args.count('idle')
    const { AlreadyRunning, pageUrlOf, startServer } = await import('@unturn/server')
    try {
      await using server = await startServer({
        version,
        onWarning: (text) => terminal.warn(`unturn: ${text}`),
        agents: async (folder) => (await import('../agents-seen.ts')).agentsSeen(folder),
        ...(port === undefined ? {} : { port }),
        ...(idleMinutes === undefined ? {} : { idleMinutes }),
        ...studioFolder(),
      })
      tell(context, server.pageUrl(), server.port, false)
      await terminal.flush() // whoever waits for the address does not wait for the end
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
        process.once(signal, () => void server.end())
      await server.ended
      return 0
    } catch (error) {
      if (!(error instanceof AlreadyRunning)) throw error
      if (error.at.version === version) {
        tell(context, pageUrlOf(error.at), error.at.port, true)
        return 0
      }
      const { ask } = await import('@unturn/server/ask')
      await ask(error.at, { method: 'POST', path: '/api/server/stop', body: {} })
      await gone(error.at.pid)
      return serveCommand.run(context)
    }
  },
}

function portOf(typed: string): number {
  const port = Number(typed)
  if (!/^\d{1,5}$/.test(typed) || port > 65_535)
    throw new UsageError(`--port takes a number from 0 to 65535, not ${JSON.stringify(typed)}`)
  return port
}

/** The page lies beside the command; while it is developed, where it is built. */
function studioFolder(): { readonly studio?: string } {
  const folders = ['./studio/', '../../studio/dist/', '../../../studio/dist/'].map((place) =>
    fileURLToPath(new URL(place, import.meta.url)),
  )
  const studio = folders.find((folder) => existsSync(`${folder}index.html`))
  return studio === undefined ? {} : { studio }
}

function tell({ wantsJson, terminal }: Context, url: string, port: number, wasRunning: boolean): void {
  if (wantsJson)
    return terminal.json({ url, port, pid: wasRunning ? null : process.pid, running: wasRunning })
  terminal.line(wasRunning ? 'A server is running already.' : 'The server is running. Ctrl-C ends it.')
  terminal.line(url)
}

async function gone(pid: number): Promise<void> {
  for (let tries = 0; tries < 100 && isThere(pid); tries += 1) await pause(100)
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

// ---- studio ----------------------------------------------------------------------------------------------------------

export const studioCommand: Command = {
  name: 'studio',
  group: 'More',
  usage: 'studio [--no-open]',
  summary: 'open the history of this workspace in the browser',
  details:
    'Starts a server if none is running; it ends by itself when nobody needed it for half an hour. The address has a token\nbehind the #: it never leaves your browser, and whoever has it may do what you may do here.',
  options: [{ name: 'no-open', help: 'only print the address' }],
  run: async (context) => {
    const { terminal, wantsJson } = context
    const workspace = await context.knownWorkspace()
    const id = workspace === undefined ? undefined : workspaceId(workspace.root)
    const { readWhereabouts, serverFolder } = await import('@unturn/server/whereabouts')
    const at = await runningServer(context, () => readWhereabouts(process.env))
    const place = id === undefined ? '' : `&workspace=${encodeURIComponent(id)}`
    const url = `http://127.0.0.1:${at.port}/#token=${at.token}${place}`
    const wantsWindow = !context.args.has('no-open') && !wantsJson && process.stdout.isTTY === true
    if (wantsJson) terminal.json({ url, port: at.port, pid: at.pid, workspace: id ?? null })
    else {
      if (id === undefined)
        terminal.line('Nothing has been captured here yet; the page shows your other workspaces.')
      terminal.line(url)
    }
    if (wantsWindow) {
      const { openPage } = await import('../open-page.ts')
      await openPage(url, serverFolder(process.env))
    }
    return 0
  },
}

async function runningServer<At extends { readonly version: string }>(
  { version }: Context,
  read: () => At | undefined,
): Promise<At> {
  const { isAlive } = await import('@unturn/server/ask')
  const known = read()
  const isOurs = (at: At | undefined): at is At => at?.version === version
  if (isOurs(known) && (await isAlive(known as never))) return known
  const { startServer } = await import('../server-hints.ts')
  startServer(process.env)
  for (let tries = 0; tries < 150; tries += 1) {
    await pause(100)
    const at = read()
    if (isOurs(at) && (await isAlive(at as never))) return at
  }
  throw new Error('the server did not come up within 15 seconds; run "unturn serve" to see why')
}
