/** The only place in core that starts a process, and the process is always git, in our own repository. */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, relative } from 'node:path'
import { shown, textOfBytes, UnturnError, visible } from '../errors.ts'
import { errorCode } from '../fs.ts'
import type { AbsPath } from '../values.ts'

/** merge-tree learnt to write trees in this version. */
const oldestGit = [2, 38] as const

const nullDevice = process.platform === 'win32' ? 'NUL' : '/dev/null'

export interface GitRun {
  readonly stdout: Buffer
  readonly stderr: string
  readonly exitCode: number
}

export interface GitRunOptions {
  readonly input?: Uint8Array | string
  /** Where new objects go, and where objects are looked for first. */
  readonly objectDirectory?: AbsPath
  /** Further object folders to read from. */
  readonly alternates?: readonly AbsPath[]
  /** Exit codes that are answers, not failures. Only 0 unless told. */
  readonly okCodes?: readonly number[]
  /** Another repository than ours: the user's, for the branch that a typed `--git` moves (P5). */
  readonly gitDir?: AbsPath
}

export interface GitOptions {
  /** Our bare repository: the working folder and the git folder of every process. */
  readonly folder: AbsPath
  /** The environment of this process. Only PATH and what the system needs is taken from it. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The workspace. A git that lies in there, say in an npm package, is never started (M4). */
  readonly avoid?: AbsPath
}

export class Git {
  readonly folder: AbsPath
  readonly #env: Readonly<Record<string, string>>
  readonly #path: readonly string[]
  readonly #coprocesses = new Set<Coprocess>()
  #program: string | undefined
  #version: Promise<readonly [number, number]> | undefined

  constructor(options: GitOptions) {
    this.folder = options.folder
    this.#path = trustedPath(options)
    this.#env = environment(options.env, this.#path, osPath(options.folder))
  }

  /** Runs git to its end. Fails with `git-missing` if there is none, with `git-failed` if it fails. */
  async run(args: readonly string[], options: GitRunOptions = {}): Promise<GitRun> {
    const run = await finished(this.#start(args, options), options.input)
    if ((options.okCodes ?? [0]).includes(run.exitCode ?? -1)) return { ...run, exitCode: run.exitCode ?? -1 }
    throw gitFailed(args, run.exitCode, run.stderr)
  }

  /** A git that stays and answers many questions. It is started with the first one. */
  coprocess(args: readonly string[]): Coprocess {
    const coprocess = new Coprocess(args, () => this.#start(args, {}))
    this.#coprocesses.add(coprocess)
    return coprocess
  }

  /** Major and minor version. Fails with `git-missing` where git is older than we can use. */
  version(): Promise<readonly [number, number]> {
    this.#version ??= this.run(['version']).then((run) => checkedVersion(run.stdout.toString('latin1')))
    return this.#version
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#coprocesses].map((coprocess) => coprocess[Symbol.asyncDispose]()))
    this.#coprocesses.clear()
  }

  #start(args: readonly string[], options: GitRunOptions): ChildProcessWithoutNullStreams {
    this.#program ??= findGit(this.#path)
    return spawn(this.#program, [...settings, ...args], {
      cwd: osPath(this.folder),
      env: { ...this.#env, ...placesOf(options) },
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
    })
  }
}

/** One long-lived git. Questions are asked one after the other; while none is open, it keeps no program alive. */
export class Coprocess {
  readonly #args: readonly string[]
  readonly #spawn: () => ChildProcessWithoutNullStreams
  #child: ChildProcessWithoutNullStreams | undefined
  #queue: Promise<void> | undefined
  #disposed = false

  constructor(args: readonly string[], start: () => ChildProcessWithoutNullStreams) {
    this.#args = args
    this.#spawn = start
  }

  /**
   * Writes `request` and gives what git says until `end`, without it. `end` must be something that cannot
   * stand in the answer. Fails with `git-failed` if git ends before; the next call starts a new one.
   */
  exchange(request: string, end: string): Promise<Buffer> {
    const ask = () => this.#exchangeNow(request, end)
    // At once where nobody waits: git then works while its caller does.
    const answer = this.#queue === undefined ? ask() : this.#queue.then(ask)
    const over = () => {
      if (this.#queue === ended) this.#queue = undefined
    }
    const ended: Promise<void> = answer.then(over, over) // the caller of that exchange has the failure
    this.#queue = ended
    return answer
  }

  /** Ends git; the next exchange starts a new one, which sees the repository as it is then. */
  stop(): void {
    this.#child?.kill()
    this.#child = undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
    keepsProgramAlive(child, true)
    child.kill()
    await ended
  }

  async #exchangeNow(request: string, end: string): Promise<Buffer> {
    if (this.#disposed) throw gitFailed(this.#args, null, 'git was closed already')
    const child = this.#running()
    keepsProgramAlive(child, true)
    try {
      return await answerOf(child, this.#args, request, Buffer.from(end, 'latin1'))
    } catch (error) {
      this.stop() // half an answer may still be under way; nobody may take it for the next one
      throw error
    } finally {
      keepsProgramAlive(child, false)
    }
  }

  #running(): ChildProcessWithoutNullStreams {
    const child = this.#child
    if (child !== undefined && child.exitCode === null && child.signalCode === null) return child
    const fresh = this.#spawn()
    fresh.on('error', () => undefined) // told by answerOf; without a listener it would end the program
    fresh.stdin.on('error', () => undefined) // likewise
    this.#child = fresh
    return fresh
  }
}

function answerOf(
  child: ChildProcessWithoutNullStreams,
  args: readonly string[],
  request: string,
  end: Buffer,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0)
    const complaints: Buffer[] = []
    const onData = (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      if (!received.subarray(-end.length).equals(end)) return
      stopListening()
      resolve(received.subarray(0, received.length - end.length))
    }
    const onComplaint = (chunk: Buffer) => complaints.push(chunk)
    const onError = (error: Error) => {
      stopListening()
      reject(startFailed(error, args))
    }
    const onClose = (exitCode: number | null) => {
      stopListening()
      reject(gitFailed(args, exitCode, Buffer.concat(complaints).toString('utf8')))
    }
    const stopListening = () => {
      child.stdout.off('data', onData)
      child.stderr.off('data', onComplaint)
      child.off('error', onError)
      child.off('close', onClose)
    }
    child.stdout.on('data', onData)
    child.stderr.on('data', onComplaint)
    child.on('error', onError)
    child.on('close', onClose)
    child.stdin.write(Buffer.from(request, 'latin1'))
  })
}

interface Unrefable {
  ref?(): void
  unref?(): void
}

/** An idle git with open pipes would hang every program that uses the library and comes to its end. */
function keepsProgramAlive(child: ChildProcessWithoutNullStreams, alive: boolean): void {
  const handles: readonly Unrefable[] = [
    child,
    child.stdin as Unrefable,
    child.stdout as Unrefable,
    child.stderr as Unrefable,
  ]
  for (const handle of handles) {
    if (alive) handle.ref?.()
    else handle.unref?.()
  }
}

interface Finished {
  readonly stdout: Buffer
  readonly stderr: string
  readonly exitCode: number | null
}

function finished(
  child: ChildProcessWithoutNullStreams,
  input: Uint8Array | string | undefined,
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const out: Buffer[] = []
    const err: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
    child.on('error', (error) => reject(startFailed(error, child.spawnargs.slice(1 + settings.length))))
    child.on('close', (exitCode) =>
      resolve({ stdout: Buffer.concat(out), stderr: Buffer.concat(err).toString('utf8'), exitCode }),
    )
    // git may end before it has read everything; its exit code tells more than our broken pipe.
    child.stdin.on('error', () => undefined)
    child.stdin.end(typeof input === 'string' ? Buffer.from(input, 'latin1') : input)
  })
}

// What our own repository says in its config is ours; these hold even if somebody wrote into it, and they
// hold in the user's repository, too, when --git moves a branch there: no hook and no monitor runs (P10).
const settings: readonly string[] = [
  ['core.hooksPath', nullDevice],
  ['core.fsmonitor', 'false'],
  ['core.attributesFile', nullDevice],
  ['core.excludesFile', nullDevice],
  ['core.quotePath', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['merge.renames', 'true'],
  // A file that the user put into a folder of the agent's stays there when undo takes that folder's origin
  // away; git's guess that the whole folder has moved would carry it off (F11).
  ['merge.directoryRenames', 'false'],
  ['merge.conflictStyle', 'merge'],
  ['diff.renames', 'true'],
  ['diff.algorithm', 'myers'],
  ['diff.external', ''],
  ['protocol.allow', 'never'],
  // From 2.43 on, a bare repository may take attributes from HEAD's tree. The empty tree has none (M5).
  ['attr.tree', '4b825dc642cb6eb9a060e54bf8d69288fbee4904'],
].flatMap(([name, value]) => ['-c', `${name}=${value}`])

// Taken over as they are: without them programs do not start on Windows, or the compiler tools' git on macOS.
const inherited = ['SYSTEMROOT', 'WINDIR', 'COMSPEC', 'TEMP', 'TMP', 'TMPDIR', 'PATHEXT', 'DEVELOPER_DIR']

// Started from a git hook we inherit GIT_DIR and GIT_INDEX_FILE, and what we write would land in the user's
// own repository (P5, M6). Hence an allow-list.
function environment(
  env: Readonly<Record<string, string | undefined>>,
  path: readonly string[],
  folder: string,
): Readonly<Record<string, string>> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && inherited.includes(name.toUpperCase())) kept[name] = value
  }
  return {
    ...kept,
    PATH: path.join(delimiter),
    HOME: folder,
    LC_ALL: 'C',
    GIT_DIR: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: nullDevice,
    GIT_CONFIG_COUNT: '0',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_AUTHOR_NAME: 'Unturn',
    GIT_AUTHOR_EMAIL: 'unturn@localhost',
    GIT_COMMITTER_NAME: 'Unturn',
    GIT_COMMITTER_EMAIL: 'unturn@localhost',
  }
}

function placesOf(options: GitRunOptions): Record<string, string> {
  const places: Record<string, string> = {}
  if (options.gitDir !== undefined) places.GIT_DIR = osPath(options.gitDir)
  if (options.objectDirectory !== undefined) places.GIT_OBJECT_DIRECTORY = osPath(options.objectDirectory)
  if (options.alternates !== undefined && options.alternates.length > 0) {
    places.GIT_ALTERNATE_OBJECT_DIRECTORIES = options.alternates.map(quotedPath).join(delimiter)
  }
  return places
}

/** As git reads it in a list of folders: in quotes, where the bytes would end it or are not UTF-8. */
function quotedPath(path: AbsPath): string {
  if (!/[\x00-\x1f":\\\x7f-\xff]/.test(path)) return path
  const escaped = path.replace(
    /[\x00-\x1f"\\\x7f-\xff]/g,
    (byte) => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`,
  )
  return process.platform === 'win32' ? osPath(path) : `"${escaped}"`
}

/** Node hands names of programs and folders on as UTF-8 text only. */
function osPath(path: AbsPath): string {
  const text = textOfBytes(path)
  if (!/[\udc80-\udcff]/.test(text.replace(/[\ud800-\udbff][\udc00-\udfff]/g, ''))) return text
  throw new UnturnError(
    'store-unsafe',
    { folder: text, reason: 'its name is not UTF-8' },
    {
      message: `The folder ${shown(path)} has a name that is not UTF-8, and git cannot be started in it. Nothing was changed.`,
      hint: 'Set UNTURN_HOME to a folder with a plain name.',
    },
  )
}

/**
 * The folders that git may be started from. An empty or relative entry of PATH means the folder we happen to
 * be in, which may be the workspace: a file called `git` in there must never run (M4).
 */
function trustedPath(options: GitOptions): readonly string[] {
  const name = Object.keys(options.env).find((key) => key.toUpperCase() === 'PATH')
  const entries = (name === undefined ? '' : (options.env[name] ?? '')).split(delimiter)
  // As Node reads PATH: a workspace whose name is not UTF-8 is spelt there in the same lossy way.
  const avoid =
    options.avoid === undefined ? undefined : realOrSame(Buffer.from(options.avoid, 'latin1').toString())
  return entries.filter(
    (entry) => isAbsolute(entry) && (avoid === undefined || !liesBelow(realOrSame(entry), avoid)),
  )
}

function liesBelow(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === '' || !(way.startsWith('..') || isAbsolute(way))
}

function realOrSame(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path // there is nothing, so nothing can be started from it either
  }
}

function findGit(path: readonly string[]): string {
  const name = process.platform === 'win32' ? 'git.exe' : 'git'
  const found = path.map((folder) => join(folder, name)).find(isProgram)
  if (found !== undefined) return found
  throw gitMissing('there is no git on the PATH', 'Unturn needs git, and there is none on the PATH.')
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false // not there, or not for us: the next folder may have one
  }
}

function checkedVersion(text: string): readonly [number, number] {
  const match = /git version (\d+)\.(\d+)/.exec(text)
  const major = Number(match?.[1] ?? 0)
  const minor = Number(match?.[2] ?? 0)
  if (major > oldestGit[0] || (major === oldestGit[0] && minor >= oldestGit[1])) return [major, minor]
  const found = text.trim().replace(/^git version /, '')
  throw gitMissing(
    `git ${found} is older than ${oldestGit.join('.')}`,
    `The git on the PATH has version ${found}, and Unturn needs ${oldestGit.join('.')} or newer.`,
  )
}

function gitMissing(reason: string, message: string, cause?: unknown): UnturnError {
  return new UnturnError(
    'git-missing',
    { reason },
    {
      message: `${message} Nothing was changed.`,
      hint: 'Install git from https://git-scm.com/downloads, or with your package manager (apt install git, brew install git, winget install Git.Git).',
      cause,
    },
  )
}

function startFailed(error: Error, args: readonly string[]): UnturnError {
  if (errorCode(error) === 'ENOENT')
    return gitMissing('git could not be started', 'Unturn needs git, and it could not be started.', error)
  return gitFailed(args, null, error.message, error)
}

function gitFailed(
  args: readonly string[],
  exitCode: number | null,
  stderr: string,
  cause?: unknown,
): UnturnError {
  const command = ['git', ...args.filter((arg) => !arg.startsWith('-'))].slice(0, 2).join(' ')
  const reason =
    stderr.trim() === ''
      ? `it ended ${exitCode === null ? 'early' : `with exit code ${exitCode}`}`
      : visible(stderr.trim().slice(0, 2000))
  return new UnturnError(
    'git-failed',
    { command, exitCode, stderr: stderr.slice(0, 10_000) },
    {
      message: `"${command}" failed in Unturn's own repository: ${reason}. No file of yours was changed.`,
      hint: 'Run the command again. If it fails again, "unturn doctor" checks the store.',
      cause,
    },
  )
}
