/** A project, a server on it as a process of its own, an agent in this process, and pages that look at it all. */

import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openWorkspace, type Workspace, workspaceId } from '@unturn/core'
import { build } from 'esbuild'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { buildStudio } from '../../scripts/build-studio.ts'
import { node } from '../support.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))

export type Files = Readonly<Record<string, string | Uint8Array | null>>

export interface StepWish {
  readonly files: Files
  /** A shell command; otherwise the step is an edit that names its paths. */
  readonly command?: string
}

/** The page and the server, built once. */
export async function buildBoth(): Promise<string> {
  const folder = mkdtempSync(join(repository, 'node_modules/.unturn-studio-'))
  await buildStudio(repository, join(folder, 'page'))
  await build({
    entryPoints: {
      server: join(repository, 'e2e/studio/server.ts'),
      'scan-worker': join(repository, 'packages/core/src/workspace/scan-worker.ts'),
    },
    outdir: folder,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node22.13',
    logLevel: 'warning',
    alias: {
      '@unturn/core': join(repository, 'packages/core/src/index.ts'),
      '@unturn/server': join(repository, 'packages/server/src/index.ts'),
      '@unturn/agents': join(repository, 'packages/agents/src/index.ts'),
    },
    external: ['@parcel/watcher'],
    define: { UNTURN_VERSION: '"0.0.0-test"' },
  })
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  return folder
}

export class Place implements AsyncDisposable {
  readonly base = mkdtempSync(join(tmpdir(), 'unturn-studio-'))
  readonly dir = join(this.base, 'shop')
  readonly env = {
    PATH: process.env.PATH,
    HOME: join(this.base, 'home'),
    UNTURN_HOME: join(this.base, 'store'),
    XDG_RUNTIME_DIR: join(this.base, 'run'),
    GIT_CONFIG_NOSYSTEM: '1',
    TZ: 'UTC',
    LC_ALL: 'C.UTF-8',
  }
  #token = ''
  readonly #built: string
  readonly #browser: Browser
  #server: ChildProcess | undefined
  #port = 0
  #workspace: Workspace | undefined
  /** What the pages asked of others than the server, and what the policy or the console had to say. */
  readonly complaints: string[] = []

  constructor(built: string, browser: Browser, files: Files) {
    this.#built = built
    this.#browser = browser
    for (const folder of [this.dir, this.env.HOME, this.env.XDG_RUNTIME_DIR])
      mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.write(files)
  }

  async open(): Promise<this> {
    this.#workspace = await openWorkspace(this.dir, { env: this.env, explicit: true })
    await this.#workspace.capture()
    await this.startServer()
    return this
  }

  get workspace(): Workspace {
    if (this.#workspace === undefined) throw new Error('the place was not opened')
    return this.#workspace
  }

  get id(): string {
    return workspaceId(this.workspace.root, this.env)
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Of the server that runs now. */
  get token(): string {
    return this.#token
  }

  /** On the same port as before, with another token: as it is when one was killed. */
  async startServer(): Promise<void> {
    this.#token = randomBytes(32).toString('base64url')
    const server = spawn(node, [join(this.#built, 'server.js')], {
      env: {
        ...this.env,
        STUDIO_PORT: String(this.#port),
        STUDIO_TOKEN: this.#token,
        STUDIO_FOLDER: join(this.#built, 'page'),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#server = server
    this.#port = await new Promise<number>((resolve, reject) => {
      server.stdout?.once('data', (data: Buffer) => resolve(Number(data.toString().trim())))
      server.once('exit', (code) => reject(new Error(`the server ended with ${code}`)))
    })
  }

  async killServer(): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    const ended = new Promise((resolve) => server.once('exit', resolve))
    server.kill('SIGKILL')
    await ended
  }

  write(files: Files): void {
    for (const [name, content] of Object.entries(files)) {
      const path = join(this.dir, name)
      mkdirSync(dirname(path), { recursive: true })
      if (content === null) rmSync(path, { force: true })
      else writeFileSync(path, content)
    }
  }

  /** Null: not there. */
  read(name: string): string | null {
    const path = join(this.dir, name)
    return existsSync(path) ? readFileSync(path, 'utf8') : null
  }

  /** The scripted agent: one turn, step by step. */
  async turn(
    prompt: string,
    steps: readonly StepWish[],
    agent = 'claude',
    session = 'chat-1',
  ): Promise<string> {
    const turn = await this.workspace.session(session, { agent }).begin({ prompt })
    for (const { files, command } of steps) {
      const how =
        command === undefined
          ? { tool: 'Edit', paths: Object.keys(files) }
          : { tool: 'Bash', paths: [], command }
      await turn.step(how, () => this.write(files))
    }
    await turn.end()
    return turn.id
  }

  /** The user edits, and something notices. */
  async edit(files: Files): Promise<void> {
    this.write(files)
    await this.workspace.capture()
  }

  async page(options: BrowserContextOptions = {}, view = ''): Promise<Page> {
    const context = await this.#browser.newContext({ viewport: { width: 1360, height: 820 }, ...options })
    return this.pageIn(context, view)
  }

  /** One more tab of the same browser: what "unturn studio" opens. */
  async pageIn(context: BrowserContext, view = ''): Promise<Page> {
    const page = await context.newPage()
    page.setDefaultTimeout(20_000)
    page.on('request', (request) => {
      if (!/^(http:\/\/127\.0\.0\.1:\d+\/|blob:http:\/\/127\.0\.0\.1|data:)/.test(request.url()))
        this.complaints.push(`asked ${request.url()}`)
    })
    page.on('console', (message) => {
      if (/Content Security Policy|Refused to/i.test(message.text())) this.complaints.push(message.text())
    })
    page.on('pageerror', (error) => this.complaints.push(`error in the page: ${error.message}`))
    await page.goto(`${this.url}/#token=${this.token}&workspace=${this.id}`)
    await page.getByRole('navigation', { name: 'Views' }).waitFor()
    if (view !== '') await page.getByRole('button', { name: new RegExp(`^${view}`) }).click()
    return page
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const context of this.#browser.contexts()) await context.close()
    await this.killServer()
    await this.#workspace?.[Symbol.asyncDispose]()
    rmSync(this.base, { recursive: true, force: true, maxRetries: 3 })
  }
}
