/** A project with an agent in it: a home of its own, a scripted model, and Unturn installed by `unturn init --yes`. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { command, type Files, type Json, node, Project } from '../support.ts'
import type { Action, Driver, Ended, Prompt, Running } from './driver.ts'
import { ModelServer, type Reply } from './model-server.ts'
import { findProgramFolder, pinnedAgents } from './pinned.ts'

/** Nothing is there: whatever tries to leave the machine fails at once. */
const nowhere = 'http://127.0.0.1:9'

export class Place extends Project implements AsyncDisposable {
  driver: Driver
  readonly model: ModelServer
  readonly #scenes: Map<string, readonly Reply[]>
  readonly #started = new Set<ChildProcess>()

  private constructor(
    driver: Driver,
    files: Files,
    model: ModelServer,
    scenes: Map<string, readonly Reply[]>,
  ) {
    super(files)
    this.driver = driver
    this.model = model
    this.#scenes = scenes
  }

  /**
   * A git repository with these files; all agents that are installed are attached, as a user would do it.
   * `alone`: without Unturn.
   */
  static async open(driver: Driver, files: Files, how: { readonly alone?: boolean } = {}): Promise<Place> {
    const scenes = new Map<string, readonly Reply[]>()
    const model = await ModelServer.start({ scene: (name) => scenes.get(name) })
    const place = new Place(driver, files, model, scenes)
    place.git('init', '-q', '-b', 'main')
    place.git('add', '-A')
    place.git('commit', '-q', '-m', 'start')
    driver.prepare(place)
    if (how.alone === true) return place
    const { code, stdout, stderr } = place.unturn(['init', '--yes'], { env: { PATH: pathWithAgents() } })
    if (code !== 0) throw new Error(`unturn init ended with ${code}: ${stdout}${stderr}`)
    return place
  }

  get home(): string {
    return join(this.base, 'home')
  }

  writeHome(name: string, text: string): void {
    const path = join(this.home, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }

  absolute(path: string): string {
    return resolve(this.dir, path)
  }

  /** Each list is one reply of the model: the calls in it are made at once. */
  scene(name: string, ...replies: readonly (readonly Action[])[]): void {
    const wanted = replies.map((actions) => this.#replyOf(actions))
    this.#scenes.set(name, [...wanted.filter((reply) => reply !== undefined), { text: 'Done.' }])
  }

  #replyOf(actions: readonly Action[]): Reply | undefined {
    const calls = actions.flatMap((action) => this.driver.callOf(action, this) ?? [])
    const typed = actions.filter((action) => action.do === 'user')
    if (calls.length === 0) return undefined
    const files = Object.assign({}, ...typed.map((action) => action.files)) as Files
    return { calls, meanwhile: () => this.write(files) }
  }

  /** Plays a scene to its end, and gives the turn that Unturn has recorded. */
  async play(scene: string, session?: string): Promise<Json> {
    const { output } = await this.begin(scene, session).ended
    return this.turnOf(scene, output)
  }

  /** The turn of a scene. OpenCode does not wait for what it tells about the end of a turn; so we do. */
  async turnOf(scene: string, output = ''): Promise<Json> {
    const until = Date.now() + 80_000
    for (;;) {
      const turn = this.turns().find(({ prompt }) => prompt?.includes(`scene:${scene}`))
      if (turn !== undefined && turn.status !== 'open') return turn
      if (Date.now() > until)
        throw new Error(`no turn of ${scene} that has ended: ${JSON.stringify(this.turns())} ${output}`)
      await new Promise((next) => setTimeout(next, 300))
    }
  }

  /** The same with another agent in the same folder. */
  by<T>(driver: Driver, work: () => T): T {
    const own = this.driver
    this.driver = driver
    try {
      return work()
    } finally {
      this.driver = own
    }
  }

  begin(scene: string, session?: string): Running {
    const prompt: Prompt = { text: promptOf(scene), ...(session === undefined ? {} : { session }) }
    return this.driver.start(this, prompt)
  }

  /** All turns, the newest first. */
  turns(): readonly Json[] {
    return this.ask('log', '--all').turns
  }

  changesOf(turn: Json): readonly Json[] {
    return this.ask('log', '--all', '--changes').changes.filter((change: Json) => change.turn === turn.id)
  }

  /** Starts the agent's program, in a process group of its own so that all of it can be ended. */
  spawnAgent(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
    return this.#spawn([programOf(this.driver).program, ...args], 'ignore', env)
  }

  /** The same behind `unturn acp`, as an editor starts it, with a way in. */
  spawnBehindProxy(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
    const { program } = programOf(this.driver)
    return this.#spawn([node, command, 'acp', '--', program, ...args], 'pipe', env)
  }

  /** The same in a terminal of its own; keys go in. */
  spawnInTerminal(args: readonly string[]): ChildProcess {
    const words = [programOf(this.driver).program, ...args].join(' ')
    const inTerminal = `stty cols 120 rows 50; exec ${words}`
    return this.#spawn(['script', '-qfec', inTerminal, '/dev/null'], 'pipe', { TERM: 'xterm-256color' })
  }

  #spawn(
    [program = '', ...args]: readonly string[],
    input: 'ignore' | 'pipe',
    env: Readonly<Record<string, string>>,
  ): ChildProcess {
    const child = spawn(program, args, {
      cwd: this.dir,
      env: {
        ...this.env,
        PATH: pathWithAgents(),
        SHELL: '/bin/bash',
        TERM: 'dumb',
        HTTP_PROXY: nowhere,
        HTTPS_PROXY: nowhere,
        http_proxy: nowhere,
        https_proxy: nowhere,
        NO_PROXY: '127.0.0.1,localhost',
        no_proxy: '127.0.0.1,localhost',
        ...this.driver.env(this),
        ...env,
      },
      stdio: [input, 'pipe', 'pipe'],
      detached: true,
    })
    this.#started.add(child)
    return child
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#started) endTree(child)
    await this.model[Symbol.asyncDispose]()
    this[Symbol.dispose]()
  }
}

export function promptOf(scene: string): string {
  return `Please do it. scene:${scene}`
}

/** One prompt, one process. */
export function running(child: ChildProcess, withinMs = 60_000): Running {
  if (child.pid === undefined) throw new Error('the agent did not start')
  const ended = new Promise<Ended>((done, fail) => {
    let output = ''
    const timer = setTimeout(() => {
      endTree(child)
      fail(new Error(`the agent did not come to its end: ${output}`))
    }, withinMs)
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    child.on('error', fail)
    // Not "close": a background job of the agent's may hold its output open.
    child.on('exit', (code) => {
      clearTimeout(timer)
      done({ code, output })
    })
  })
  return { pid: child.pid, ended }
}

/** Ends an agent and all that it has started: its shells have process groups of their own. */
export function endTree({ pid }: { readonly pid?: number | undefined }): void {
  if (pid === undefined) return
  for (const one of [pid, ...descendantsOf(pid)]) {
    try {
      process.kill(one, 'SIGKILL')
    } catch {
      // it has ended by itself
    }
  }
}

export function descendantsOf(pid: number): readonly number[] {
  const listed = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).stdout
  const pairs = listed.split('\n').map((line) => line.trim().split(/\s+/).map(Number))
  const found = [pid]
  for (const parent of found)
    found.push(...pairs.filter(([, above]) => above === parent).map(([one = 0]) => one))
  return found.slice(1)
}

function programOf({ agent }: Driver): { readonly program: string } {
  const folder = findProgramFolder(agent)
  if (folder === undefined) throw new Error(`${agent} is not installed: run "npm run test:agents"`)
  return { program: join(folder, programs[agent]) }
}

const programs = {
  'claude-code': 'claude',
  codex: 'codex',
  opencode: 'opencode',
  'gemini-cli': 'gemini',
} as const

function pathWithAgents(): string {
  const folders = pinnedAgents.flatMap((agent) => findProgramFolder(agent) ?? [])
  return [...folders, process.env.PATH ?? ''].join(delimiter)
}
