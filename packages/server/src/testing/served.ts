/** A real project, a real store and a real server on them, for tests. */

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Unturn, type WorkspaceClient } from '@unturn/client'
import { openWorkspace, type Workspace, workspaceId } from '@unturn/core'
import { type RunningServer, type ServerOptions, startServer } from '../main.ts'
import { type RouteName, routes } from '../routes.ts'

export type Files = Readonly<Record<string, string | Uint8Array | null>>

export class Served implements AsyncDisposable {
  readonly base = mkdtempSync(join(tmpdir(), 'unturn-served-'))
  readonly dir = join(this.base, 'project')
  readonly env = {
    PATH: process.env.PATH,
    HOME: join(this.base, 'home'),
    UNTURN_HOME: join(this.base, 'store'),
    GIT_CONFIG_NOSYSTEM: '1',
    TZ: 'UTC',
    LC_ALL: 'C.UTF-8',
  }
  readonly warnings: string[] = []
  /** Routes that have answered. */
  readonly asked = new Set<RouteName>()
  #server: RunningServer | undefined
  #id = ''

  constructor(files: Files) {
    mkdirSync(this.dir)
    mkdirSync(this.env.HOME)
    this.write(files)
  }

  /** Captured once, by a process that is gone by now as far as the server knows. */
  async prepare(dir = this.dir): Promise<string> {
    await using workspace = await openWorkspace(dir, { env: this.env, explicit: true })
    await workspace.capture()
    return workspaceId(workspace.root, this.env)
  }

  async start(options: Partial<ServerOptions> = {}): Promise<RunningServer> {
    this.#id = this.#id === '' ? await this.prepare() : this.#id
    this.#server = await startServer({
      version: '0.0.0-test',
      env: this.env,
      onWarning: (text) => this.warnings.push(text),
      ...options,
    })
    return this.#server
  }

  get server(): RunningServer {
    if (this.#server === undefined) throw new Error('the server was not started')
    return this.#server
  }

  get id(): string {
    return this.#id
  }

  get unturn(): Unturn {
    const { url, token } = this.server
    return new Unturn({ url, token, fetch: (input, init) => this.#checked(String(input), init) })
  }

  /** Every answer is held against its schema: what is not described must not be there. */
  async #checked(url: string, init: RequestInit | undefined): Promise<Response> {
    const response = await fetch(url, init)
    const name = routeOf(init?.method ?? 'GET', new URL(url).pathname)
    if (!response.ok || name === undefined) return response
    const json: unknown = await response.clone().json()
    assert.deepEqual(routes[name].answer.parse(json), json, `the answer of ${name} is not as described`)
    this.asked.add(name)
    return response
  }

  get client(): WorkspaceClient {
    return this.unturn.workspace(this.#id)
  }

  /** The same workspace in another process, as far as the server can tell. */
  another(): Promise<Workspace> {
    return openWorkspace(this.dir, { env: this.env, explicit: true })
  }

  pathOf(name: string): string {
    return join(this.dir, name)
  }

  write(files: Files): void {
    for (const [name, content] of Object.entries(files)) {
      const path = this.pathOf(name)
      if (content === null) rmSync(path, { recursive: true, force: true })
      else {
        mkdirSync(dirname(path), { recursive: true })
        writeFileSync(path, content)
      }
    }
  }

  /** One turn of one open-ended step through the API. */
  async turn(
    prompt: string,
    files: Files,
    more: { readonly session?: string; readonly message?: string } = {},
  ) {
    const { session = 'chat-1', ...rest } = more
    const { turn } = await this.client.beginTurn({ session, agent: 'tester', prompt, ...rest })
    const { step } = await this.client.beginStep({ turn, tool: 'shell', command: `make ${prompt}` })
    this.write(files)
    await this.client.endStep(step)
    const ended = await this.client.endTurn(turn)
    return { step, ...ended }
  }

  /** A request as anybody could send it. */
  raw(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.server.url}${path}`, init)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.end()
    rmSync(this.base, { recursive: true, force: true, maxRetries: 3 })
  }
}

function routeOf(method: string, path: string): RouteName | undefined {
  return (Object.keys(routes) as RouteName[]).find((name) => {
    const route = routes[name]
    const pattern = new RegExp(`^${route.path.replace(/\{\w+\}/g, '[^/]+')}$`)
    return route.method === method.toLowerCase() && pattern.test(path)
  })
}

export async function served(files: Files = {}, options: Partial<ServerOptions> = {}): Promise<Served> {
  const one = new Served(files)
  await one.start(options)
  return one
}
