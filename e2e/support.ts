/**
 * What the end-to-end tests share: a project, a store and a home folder of their own, and the built command run on
 * them as a process of its own. `npm run build` makes the command.
 */

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const repository = fileURLToPath(new URL('..', import.meta.url))
const bundledNode = join(repository, 'node_modules/node/bin/node')

/** The Node that the command runs with. */
export const node = existsSync(bundledNode) ? bundledNode : process.execPath

/** The built command; another build of it can be put to the test by naming it in the environment. */
export const command = process.env.UNTURN_COMMAND ?? join(repository, 'packages/cli/dist/unturn.js')

export interface Ran {
  /** The exit code; null where a signal ended the process. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** The one document on stdout; throws where there is none, or more. */
  readonly json: Json
}

/** What a program sees: fields are looked up, and the test says what it expects of them. */
// biome-ignore lint/suspicious/noExplicitAny: the answers of eighteen commands, read by tests that check every field
export type Json = any

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly input?: string
  readonly uid?: number
  readonly timeoutMs?: number
}

/** Text of a file; null: not there. */
export type Files = Readonly<Record<string, string | Uint8Array | null>>

export class Project implements Disposable {
  readonly base: string
  readonly dir: string
  readonly env: Readonly<Record<string, string | undefined>>

  /** `given`: in a folder that is there already, with a store that others use, too. */
  constructor(files: Files = {}, given: { readonly dir?: string; readonly env?: Project['env'] } = {}) {
    if (!existsSync(command)) throw new Error(`${command} is not there: run "npm run build" first`)
    this.base = mkdtempSync(join(tmpdir(), 'unturn-e2e-'))
    this.dir = given.dir ?? join(this.base, 'project')
    mkdirSync(this.dir, { recursive: true })
    mkdirSync(join(this.base, 'home'))
    this.env = given.env ?? {
      PATH: process.env.PATH,
      HOME: join(this.base, 'home'),
      UNTURN_HOME: join(this.base, 'store'),
      GIT_CONFIG_NOSYSTEM: '1',
      TZ: 'UTC',
      LC_ALL: 'C.UTF-8',
      // No process of ours may outlive a test; who tests it turns it on.
      UNTURN_AUTO_GC: '0',
      UNTURN_HOOK_BACKGROUND: '0',
      UNTURN_SERVER: '0',
    }
    this.write(files)
  }

  /** Runs `unturn` in the project and waits for it. */
  unturn(args: readonly string[], options: RunOptions = {}): Ran {
    const ran = spawnSync(node, [command, ...args], {
      cwd: options.cwd ?? this.dir,
      env: { ...this.env, ...options.env },
      encoding: 'utf8',
      timeout: options.timeoutMs ?? 60_000,
      maxBuffer: 1 << 28,
      ...(options.input === undefined ? { stdio: ['ignore', 'pipe', 'pipe'] } : { input: options.input }),
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
    })
    if (ran.error !== undefined) throw ran.error
    return answered(args, ran.status, ran.signal, ran.stdout, ran.stderr)
  }

  /** The same with `--json`, for commands that must succeed. */
  ask(...args: string[]): Json {
    const ran = this.unturn([...args, '--json'])
    if (ran.code !== 0)
      throw new Error(`unturn ${args.join(' ')} ended with ${ran.code}: ${ran.stdout}${ran.stderr}`)
    return ran.json
  }

  /** Starts `unturn` and does not wait. `ended` is settled when it has. */
  start(
    args: readonly string[],
    options: RunOptions = {},
  ): { readonly child: ChildProcess; readonly ended: Promise<Ran> } {
    const child = spawn(node, [command, ...args], {
      cwd: options.cwd ?? this.dir,
      env: { ...this.env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
    })
    const ended = new Promise<Ran>((resolve, reject) => {
      let stdout = ''
      let stderr = ''
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        stdout += text
      })
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        stderr += text
      })
      child.on('error', reject)
      child.on('close', (code, signal) => resolve(answered(args, code, signal, stdout, stderr)))
    })
    return { child, ended }
  }

  /** One turn of one step, recorded by the command. Gives the turn's id. */
  turn(files: Files, options: { readonly session?: string; readonly prompt?: string } = {}): string {
    const { turn } = this.ask(
      'turn',
      'begin',
      '--session',
      options.session ?? 's1',
      '--agent',
      'tester',
      '--prompt',
      options.prompt ?? 'do it',
    )
    const { step } = this.ask('step', 'begin', '--turn', turn, '--tool', 'shell')
    this.write(files)
    this.ask('step', 'end', '--step', step)
    this.ask('turn', 'end', '--turn', turn)
    return turn
  }

  pathOf(name: string): string {
    return join(this.dir, name)
  }

  /** Writes without telling anybody: what a user, or an agent's tool, does. */
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

  read(name: string): string {
    return readFileSync(this.pathOf(name), 'utf8')
  }

  /** Every path with its text (latin1), links as `-> target`, empty folders as `/`; without `.git`. */
  files(): Record<string, string> {
    const found: Record<string, string> = {}
    walk(Buffer.from(this.dir), '', found)
    return found
  }

  /** The folder of the project's store. There is exactly one once something was recorded. */
  get store(): string {
    const workspaces = join(this.base, 'store', 'workspaces')
    const names = readdirSync(workspaces)
    if (names.length !== 1) throw new Error(`one store was expected, found: ${names.join(', ')}`)
    return join(workspaces, names[0] ?? '')
  }

  /** Plain git, in the project. */
  git(...args: string[]): string {
    return execFileSync('git', args, {
      cwd: this.dir,
      env: { ...this.env, ...committer },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim()
  }

  /** Plain git, in the store's repository. */
  storeGit(args: readonly string[], input?: string | Uint8Array): string {
    return execFileSync('git', ['--git-dir', join(this.store, 'objects.git'), ...args], {
      env: { ...this.env, ...committer },
      encoding: 'utf8',
      input: input ?? '',
      stdio: ['pipe', 'pipe', 'pipe'],
    }).trim()
  }

  [Symbol.dispose](): void {
    makeWritable(this.base)
    rmSync(this.base, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** The hunks that `review --json` lists. */
export function hunksOf(project: Project, ...args: string[]): Json[] {
  return project.ask('review', ...args).files.flatMap((file: Json) => file.hunks)
}

/** Ids are random; what matters is which ones are the same. */
export function plainIds(text: string): string {
  const names = new Map<string, string>()
  return text.replace(/\b([tsop])[0-9a-hjkmnp-tv-z]{10}\b/g, (id, letter: string) => {
    const known =
      names.get(id) ?? `${letter}${[...names.values()].filter((name) => name.startsWith(letter)).length + 1}`
    names.set(id, known)
    return known
  })
}

const committer = {
  GIT_AUTHOR_NAME: 'u',
  GIT_AUTHOR_EMAIL: 'u@example.org',
  GIT_COMMITTER_NAME: 'u',
  GIT_COMMITTER_EMAIL: 'u@example.org',
}

function answered(
  args: readonly string[],
  code: number | null,
  signal: NodeJS.Signals | null,
  stdout: string,
  stderr: string,
): Ran {
  return {
    code,
    signal,
    stdout,
    stderr,
    get json(): Json {
      if (!/^[^\n]+\n$/.test(stdout))
        throw new Error(`unturn ${args.join(' ')} printed no single document: ${stdout}${stderr}`)
      return JSON.parse(stdout)
    },
  }
}

function walk(folder: Buffer, at: string, found: Record<string, string>): void {
  for (const name of readdirSync(folder, { encoding: 'latin1' })) {
    if (name === '.git') continue
    const path = Buffer.concat([folder, Buffer.from(`/${name}`, 'latin1')])
    const shown = at === '' ? name : `${at}/${name}`
    const stat = lstatSync(path)
    if (stat.isSymbolicLink()) found[shown] = `-> ${readlinkSync(path, 'latin1')}`
    else if (stat.isFile()) found[shown] = readFileSync(path, 'latin1')
    else if (!stat.isDirectory()) found[shown] = 'special'
    else if (readdirSync(path).length === 0) found[`${shown}/`] = '/'
    else walk(path, shown, found)
  }
}

// A test may have locked a folder, and only root could clean up behind it.
function makeWritable(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue
    chmodSync(join(folder, entry.name), 0o700)
    if (entry.name !== 'objects.git') makeWritable(join(folder, entry.name))
  }
}
