/**
 * A real VS Code (code-server) with the extension in it, and a browser that looks at it. Each desk is a window of its
 * own with a project of its own; all desks of an editor share one store and so one server of Unturn's.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openWorkspace, type Session, type Workspace } from '@unturn/core'
import type { Browser, Page } from 'playwright-core'
import type * as vscode from 'vscode'
import { buildExtension } from '../../scripts/build-vscode.ts'
import { findBrowser, launch } from '../studio/browser.ts'
import { command, type Files, type Json, node, Project } from '../support.ts'
import { findEditor } from './pinned.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))

export interface EditorOptions {
  /** Settings of the user's. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** Windows open in restricted mode. */
  readonly untrusted?: boolean
  /** Without it the extension cannot find the command. */
  readonly withCommand?: boolean
}

export class Editor implements AsyncDisposable {
  readonly base: string
  readonly port: number
  readonly browser: Browser
  readonly #server: ChildProcess
  readonly #secret: string
  readonly #env: Readonly<Record<string, string | undefined>>

  private constructor(made: {
    readonly base: string
    readonly port: number
    readonly browser: Browser
    readonly server: ChildProcess
    readonly secret: string
    readonly env: Readonly<Record<string, string | undefined>>
  }) {
    this.base = made.base
    this.port = made.port
    this.browser = made.browser
    this.#server = made.server
    this.#secret = made.secret
    this.#env = made.env
  }

  static async start(options: EditorOptions = {}): Promise<Editor> {
    const program = findEditor()
    const browserProgram = findBrowser()
    if (program === undefined || browserProgram === undefined)
      throw new Error('the editor or the browser is not installed: npm run test:vscode')
    const base = mkdtempSync(join(realpathSync(tmpdir()), 'unturn-vscode-'))
    const secret = randomBytes(16).toString('hex')
    const env = environment(base, secret)
    await layOut(base, options)
    const port = await freePort()
    // Older ones need an older Node.
    const server = spawn(
      process.env.UNTURN_EDITOR_NODE ?? node,
      [program, ...argumentsOf(base, port, options)],
      {
        env,
        stdio: 'ignore',
        detached: true,
      },
    )
    const [browser] = await Promise.all([launch(browserProgram), isReady(port)])
    return new Editor({ base, port, browser, server, secret, env })
  }

  /** A project of its own, in the store that all windows share. */
  project(files: Files = {}): Project {
    const dir = join(this.base, 'projects', randomBytes(3).toString('hex'), 'shop')
    return new Project(files, { dir, env: this.#env })
  }

  /** A window with a project. */
  async open(files: Files = {}, options: OpenOptions = {}): Promise<Desk> {
    const project = this.project(files)
    const agent = new Agent(project)
    await options.prepare?.(agent, project)
    return this.openFolder(project, agent, options)
  }

  async openFolder(
    project: Project,
    agent: Agent,
    { viewport, workspaceFile, below = '' }: OpenOptions = {},
  ): Promise<Desk> {
    const context = await this.browser.newContext({ viewport: viewport ?? { width: 1360, height: 860 } })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const page = await context.newPage()
    page.setDefaultTimeout(20_000)
    const folder = join(project.dir, below)
    const place = workspaceFile === undefined ? `folder=${folder}` : `workspace=${workspaceFile}`
    await page.goto(`http://127.0.0.1:${this.port}/?${place}`, { waitUntil: 'domcontentloaded' })
    await page.locator('.monaco-workbench').waitFor()
    const port = await this.#driverOf(folder)
    return new Desk(project, agent, page, port, this.#secret)
  }

  /** The driver of the window that was opened last on this folder. */
  async #driverOf(folder: string): Promise<number> {
    const drivers = join(this.base, 'drivers')
    for (let tries = 0; tries < 300; tries += 1) {
      for (const name of existsSync(drivers) ? readdirSync(drivers) : []) {
        if (!name.endsWith('.json')) continue
        const { port, roots } = JSON.parse(readFileSync(join(drivers, name), 'utf8')) as Json
        if (!roots.includes(folder)) continue
        rmSync(join(drivers, name))
        return port
      }
      await pause(100)
    }
    throw new Error(`no extension host came up for ${folder}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close()
    if (this.#server.pid !== undefined && this.#server.exitCode === null) {
      const ended = new Promise((resolve) => this.#server.once('exit', resolve))
      process.kill(-this.#server.pid, 'SIGKILL')
      await ended
    }
    endServer(this.base)
    rmSync(this.base, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }
}

export interface OpenOptions {
  readonly viewport?: { readonly width: number; readonly height: number }
  /** Before the window opens. */
  readonly prepare?: (agent: Agent, project: Project) => void | Promise<void>
  /** A folder of the project, opened alone. */
  readonly below?: string
  /** A `.code-workspace` file instead of the project's folder; the project must be one of its folders. */
  readonly workspaceFile?: string
}

export interface StepWish {
  readonly files: Files
  /** A shell command; otherwise the step is an edit that names its paths. */
  readonly command?: string
}

/** A scripted agent that records what it does in the engine, in this process: the server and the window hear of it. */
export class Agent implements AsyncDisposable {
  readonly #project: Project
  readonly #workspace: Promise<Workspace>

  constructor(project: Project) {
    this.#project = project
    this.#workspace = openWorkspace(project.dir, { env: project.env, explicit: true })
  }

  async session(id = 'chat-1', agent = 'claude'): Promise<Session> {
    return (await this.#workspace).session(id, { agent })
  }

  /** One turn; each set of files is an edit of its own, unless it is a command. */
  async turn(
    prompt: string,
    steps: Files | readonly StepWish[],
    { session = 'chat-1', agent = 'claude' } = {},
  ): Promise<string> {
    const turn = await (await this.session(session, agent)).begin({ prompt })
    for (const { files, command } of Array.isArray(steps)
      ? (steps as readonly StepWish[])
      : [{ files: steps as Files }])
      await turn.step(
        command === undefined
          ? { tool: 'Edit', paths: Object.keys(files) }
          : { tool: 'Bash', paths: [], command },
        () => this.#project.write(files),
      )
    await turn.end()
    return turn.id
  }

  /** The user edits, and something notices. */
  async userEdits(files: Files): Promise<void> {
    this.#project.write(files)
    await (await this.#workspace).capture()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#workspace)[Symbol.asyncDispose]()
  }
}

/** One window. */
export class Desk implements AsyncDisposable {
  readonly project: Project
  readonly agent: Agent
  readonly page: Page
  readonly #port: number
  readonly #secret: string

  constructor(project: Project, agent: Agent, page: Page, port: number, secret: string) {
    this.project = project
    this.agent = agent
    this.page = page
    this.#port = port
    this.#secret = secret
  }

  /**
   * Runs a function inside the extension host. It is handed over as text, so it sees nothing but its arguments; they and
   * its answer are JSON.
   */
  async host<Value, Args = undefined>(
    body: (api: typeof vscode, args: Args) => Value | PromiseLike<Value>,
    ...[args]: Args extends undefined ? [] : [args: Args]
  ): Promise<Value> {
    const response = await fetch(`http://127.0.0.1:${this.#port}/`, {
      method: 'POST',
      headers: { authorization: this.#secret },
      body: JSON.stringify({ source: body.toString(), args }),
      signal: AbortSignal.timeout(30_000),
    })
    const { value, error } = (await response.json()) as { value: Value; error?: string }
    if (error !== undefined) throw new Error(`in the extension host: ${error}`)
    return value
  }

  run(commandId: string, ...args: readonly unknown[]): Promise<void> {
    return this.host(
      async (api, wish: { readonly commandId: string; readonly args: readonly unknown[] }) => {
        await api.commands.executeCommand(wish.commandId, ...wish.args)
      },
      { commandId, args },
    )
  }

  /** Starts a command that waits for the user, and does not wait for it. */
  begin(commandId: string, ...args: readonly unknown[]): Promise<void> {
    return this.host(
      (api, wish: { readonly commandId: string; readonly args: readonly unknown[] }) => {
        void api.commands.executeCommand(wish.commandId, ...wish.args)
      },
      { commandId, args },
    )
  }

  openFile(name: string): Promise<void> {
    return this.host(async (api, path: string) => {
      await api.window.showTextDocument(api.Uri.file(path), { preview: false })
    }, this.project.pathOf(name))
  }

  /** Puts a picture where `UNTURN_SHOTS` says, for somebody to look at. */
  async shot(name: string): Promise<void> {
    const folder = process.env.UNTURN_SHOTS
    if (folder === undefined) return
    mkdirSync(folder, { recursive: true })
    await this.page.screenshot({ path: join(folder, `${name}.png`) })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close()
    await this.agent[Symbol.asyncDispose]()
    this.project[Symbol.dispose]()
  }
}

/** Until it holds. The last value is in the message where it never does. */
export async function eventually<Value>(
  look: () => Value | Promise<Value>,
  holds: (value: Value) => boolean,
  withinMs = 15_000,
): Promise<Value> {
  const until = Date.now() + withinMs
  for (;;) {
    const value = await look()
    if (holds(value)) return value
    if (Date.now() > until)
      throw new Error(`it did not come to that within ${withinMs} ms: ${JSON.stringify(value)}`)
    await pause(100)
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function environment(base: string, secret: string): Readonly<Record<string, string | undefined>> {
  return {
    PATH: process.env.PATH,
    HOME: join(base, 'home'),
    XDG_CONFIG_HOME: join(base, 'home/.config'),
    XDG_DATA_HOME: join(base, 'home/.local/share'),
    UNTURN_HOME: join(base, 'store'),
    GIT_CONFIG_NOSYSTEM: '1',
    TZ: 'UTC',
    LC_ALL: 'C.UTF-8',
    UNTURN_AUTO_GC: '0',
    UNTURN_HOOK_BACKGROUND: '0',
    UNTURN_SERVER: '0',
    EXTENSIONS_GALLERY: '{"serviceUrl":""}',
    UNTURN_TEST_DRIVER: join(base, 'drivers'),
    UNTURN_TEST_SECRET: secret,
  }
}

const quietly = {
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.enableExperiments': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.reduceMotion': 'on',
  'chat.disableAIFeatures': true,
  'extensions.ignoreRecommendations': true,
  'extensions.autoCheckUpdates': false,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'git.enabled': false,
  'window.restoreWindows': 'none',
  'files.hotExit': 'off',
  'files.autoSave': 'off',
  'editor.minimap.enabled': false,
}

async function layOut(base: string, { settings, untrusted, withCommand = true }: EditorOptions) {
  const user = join(base, 'data/User')
  for (const folder of [user, join(base, 'home/.config'), join(base, 'extensions'), join(base, 'bin')])
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(base, 'config.yaml'), '')
  const path = join(base, 'bin/unturn')
  writeFileSync(path, `#!/bin/sh\nexec '${node}' '${command}' "$@"\n`)
  chmodSync(path, 0o755)
  const trust = untrusted === true ? { 'security.workspace.trust.startupPrompt': 'never' } : {}
  const whereCommand = withCommand ? { 'unturn.command': path } : { 'unturn.command': 'unturn-is-missing' }
  writeFileSync(
    join(user, 'settings.json'),
    JSON.stringify({ ...quietly, ...trust, ...whereCommand, ...settings }),
  )
  await layOutExtensions(base)
}

/** The extension as it would be installed, built anew, and the tests' own way into the extension host. */
async function layOutExtensions(base: string): Promise<void> {
  const source = join(repository, 'packages/vscode')
  const { publisher, name, version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as Json
  const installed = join(base, 'extensions', `${publisher}.${name}-${version}`)
  mkdirSync(installed)
  for (const part of ['package.json', 'media', 'README.md', 'walkthrough'])
    if (existsSync(join(source, part))) cpSync(join(source, part), join(installed, part), { recursive: true })
  await buildExtension(join(installed, 'dist/extension.cjs'))
  symlinkSync(
    join(repository, 'e2e/vscode/driver'),
    join(base, 'extensions', 'unturn-test.driver-0.0.1'),
    'dir',
  )
}

function argumentsOf(base: string, port: number, { untrusted }: EditorOptions): readonly string[] {
  return [
    ...['--auth', 'none', '--bind-addr', `127.0.0.1:${port}`, '--config', join(base, 'config.yaml')],
    ...['--user-data-dir', join(base, 'data'), '--extensions-dir', join(base, 'extensions')],
    ...['--disable-telemetry', '--disable-update-check', '--disable-getting-started-override'],
    ...(untrusted === true ? [] : ['--disable-workspace-trust']),
  ]
}

async function isReady(port: number): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    const response = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined)
    if (response?.ok === true) return
    await pause(100)
  }
  throw new Error('the editor did not come up within a minute')
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}

/** The server of Unturn's that the extension started; it would live on for half an hour. */
export function endServer(base: string): void {
  const path = join(base, 'store/server/server.json')
  if (!existsSync(path)) return
  const { pid } = JSON.parse(readFileSync(path, 'utf8')) as { readonly pid: number }
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
