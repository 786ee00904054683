/**
 * The one hermetic fixture that all tests share: a temp folder of its own, with its own HOME and store, no git
 * configuration of the machine, a clock and ids that count. Real files, real git.
 */

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Outcome } from '../history/outcome.ts'
import type { TurnEnd } from '../history/recording.ts'
import type { ChangeRow } from '../log/rows.ts'
import type { RelPath, SessionId, TurnId } from '../values.ts'
import { type OpenOptions, openWorkspace, type Workspace } from '../workspace.ts'
import { honestly, type Move } from './honest.ts'

/** What a path shall be: text, bytes, null for gone, or one of the makers below. */
export type Wanted = string | Uint8Array | null | Made

export interface Made {
  readonly make: (path: string) => void
}

export function linkTo(target: string): Made {
  return { make: (path) => symlinkSync(target, path) }
}

export function withMode(content: string | Uint8Array, mode: number): Made {
  return {
    make: (path) => {
      writeFileSync(path, content)
      chmodSync(path, mode)
    },
  }
}

export const emptyFolder: Made = { make: (path) => mkdirSync(path) }

export type Files = Readonly<Record<string, Wanted>>

export interface FixtureOptions extends OpenOptions {
  readonly git?: boolean
  /** False: undo, redo, restore and rollback run once, without a dry run before them and a look at the disk after. */
  readonly honest?: boolean
}

export class Fixture implements AsyncDisposable {
  readonly base: string
  readonly dir: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly #options: FixtureOptions
  #workspace: Workspace | undefined
  #session = 'agent-1' as SessionId
  #clock = Date.parse('2026-01-01T10:00:00Z')
  #ids = 0
  readonly warnings: string[] = []

  constructor(options: FixtureOptions = {}) {
    this.base = mkdtempSync(join(tmpdir(), 'unturn-'))
    this.dir = join(this.base, 'project')
    mkdirSync(this.dir)
    mkdirSync(join(this.base, 'home'))
    this.env = {
      PATH: process.env.PATH,
      HOME: join(this.base, 'home'),
      UNTURN_HOME: join(this.base, 'store'),
      GIT_CONFIG_NOSYSTEM: '1',
      TZ: 'UTC',
      LC_ALL: 'C',
    }
    this.#options = options
  }

  async open(options: OpenOptions = {}): Promise<Workspace> {
    this.#workspace ??= await openWorkspace(this.dir, {
      explicit: true,
      env: this.env,
      now: () => {
        this.#clock += 1_000
        return this.#clock
      },
      newId: (letter) => {
        this.#ids += 1
        return `${letter}${String(this.#ids).padStart(6, '0')}`
      },
      onWarning: (text) => this.warnings.push(text),
      ...this.#options,
      ...options,
    })
    return this.#workspace
  }

  /** As if the process had ended and another one begun. */
  async reopen(options: OpenOptions = {}): Promise<Workspace> {
    await this.close()
    return this.open(options)
  }

  async close(): Promise<void> {
    await this.#workspace?.[Symbol.asyncDispose]()
    this.#workspace = undefined
  }

  get workspace(): Workspace {
    if (this.#workspace === undefined) throw new Error('the fixture is not open')
    return this.#workspace
  }

  get session(): SessionId {
    return this.#session
  }

  /** Further turns belong to this session. */
  inSession(id: string): this {
    this.#session = id as SessionId
    return this
  }

  pathOf(name: string): string {
    return join(this.dir, name)
  }

  /** Writes without telling anybody: what a user does. */
  userWrites(files: Files): void {
    for (const [name, wanted] of Object.entries(files)) this.#put(this.pathOf(name), wanted)
  }

  #put(path: string, wanted: Wanted): void {
    if (wanted === null) return removeEntry(path)
    mkdirSync(dirname(path), { recursive: true })
    if (typeof wanted === 'string' || wanted instanceof Uint8Array) return writeOver(path, wanted)
    removeEntry(path)
    wanted.make(path)
  }

  /** One turn of one open-ended step (a shell command, say). */
  async turn(
    prompt: string,
    files: Files | (() => void | Promise<void>),
    command?: string,
  ): Promise<TurnEnd & { readonly turn: TurnId }> {
    const turn = await this.beginTurn(prompt)
    await this.step(turn, files, command === undefined ? {} : { command })
    return { turn, ...(await this.workspace.endTurn(turn)) }
  }

  async beginTurn(
    prompt: string,
    more: { readonly agent?: string; readonly pid?: number; readonly message?: string } = {},
  ): Promise<TurnId> {
    return (await this.workspace.beginTurn({ session: this.#session, agent: 'test-agent', prompt, ...more }))
      .turn
  }

  /** A step; with `paths`, an edit tool that names what it touches. */
  async step(
    turn: TurnId,
    files: Files | (() => void | Promise<void>),
    how: {
      readonly paths?: readonly string[]
      readonly command?: string
      readonly tool?: string
      readonly agentId?: string
    } = {},
  ): Promise<readonly ChangeRow[]> {
    const { step } = await this.workspace.beginStep({
      turn,
      tool: how.tool ?? (how.paths === undefined ? 'shell' : 'edit'),
      paths: (how.paths ?? []) as readonly RelPath[],
      ...(how.command === undefined ? {} : { command: how.command }),
      ...(how.agentId === undefined ? {} : { agentId: how.agentId }),
    })
    if (typeof files === 'function') await files()
    else this.userWrites(files)
    return this.workspace.endStep(step)
  }

  undo(wish: Partial<Parameters<Workspace['undo']>[0]> = {}): Promise<Outcome> {
    return this.#moves(wish, (dryRun) => this.workspace.undo({ session: this.#session, ...wish, ...dryRun }))
  }

  redo(wish: Partial<Parameters<Workspace['redo']>[0]> = {}): Promise<Outcome> {
    return this.#moves(wish, (dryRun) => this.workspace.redo({ session: this.#session, ...wish, ...dryRun }))
  }

  restore(
    turn: TurnId,
    side: 'before' | 'after' = 'before',
    wish: Partial<Parameters<Workspace['restore']>[0]> = {},
  ): Promise<Outcome> {
    return this.#moves(wish, (dryRun) =>
      this.workspace.restore({ session: this.#session, turn, side, ...wish, ...dryRun }),
    )
  }

  rollback(
    selection: Parameters<Workspace['rollback']>[0]['selection'],
    wish: Partial<Parameters<Workspace['rollback']>[0]> = {},
  ): Promise<Outcome> {
    return this.#moves(wish, (dryRun) =>
      this.workspace.rollback({ session: this.#session, selection, ...wish, ...dryRun }),
    )
  }

  // A dry run would use up the faults of a file system that fails on purpose, so there the move runs alone.
  #moves(
    wish: { readonly dryRun?: boolean; readonly git?: boolean },
    move: (dryRun: { readonly dryRun?: boolean }) => Promise<Outcome>,
  ): Promise<Outcome> {
    const { honest = this.#options.fs === undefined } = this.#options
    if (!honest || wish.dryRun !== undefined || wish.git === true) return move({})
    const both: Move = (dryRun) => move({ dryRun })
    return honestly(this.workspace, this.dir, both)
  }

  /** The whole tree without `.git`: text of files, `-> target` for links, `/` for empty folders; modes if asked for. */
  files(options: { readonly modes?: boolean } = {}): Record<string, string> {
    const found: Record<string, string> = {}
    walk(this.dir, '', found, options.modes === true)
    return found
  }

  git(...args: string[]): string {
    return execFileSync('git', args, {
      cwd: this.dir,
      env: {
        ...this.env,
        GIT_AUTHOR_NAME: 'u',
        GIT_AUTHOR_EMAIL: 'u@x',
        GIT_COMMITTER_NAME: 'u',
        GIT_COMMITTER_EMAIL: 'u@x',
      },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
    rmSync(this.base, { recursive: true, force: true })
  }
}

/** A workspace with these files, opened and captured once. */
export async function workspace(files: Files = {}, options: FixtureOptions = {}): Promise<Fixture> {
  const fixture = new Fixture(options)
  if (options.git === true) fixture.git('init', '-q', '-b', 'main')
  fixture.userWrites(files)
  await fixture.open()
  await fixture.workspace.capture()
  return fixture
}

function removeEntry(path: string): void {
  rmSync(path, { recursive: true, force: true })
}

function writeOver(path: string, content: string | Uint8Array): void {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat?.isSymbolicLink()) unlinkSync(path)
  else if (stat?.isDirectory()) removeEntry(path)
  writeFileSync(path, content)
}

function walk(folder: string, at: string, found: Record<string, string>, modes: boolean): void {
  for (const entry of readdirSync(folder, { withFileTypes: true, encoding: 'latin1' })) {
    const path = Buffer.from(
      `${folder}/${entry.name}`,
      folder.includes('/') && !/[^\x00-\x7f]/.test(folder) ? 'latin1' : 'latin1',
    )
    const name = at === '' ? entry.name : `${at}/${entry.name}`
    if (entry.name === '.git') continue
    const mode = modes ? `${(lstatSync(path).mode & 0o777).toString(8)} ` : ''
    if (entry.isSymbolicLink()) found[name] = `-> ${readlinkSync(path)}`
    else if (entry.isFile()) found[name] = mode + readFileSync(path, 'latin1')
    else if (entry.isDirectory()) {
      const before = Object.keys(found).length
      walk(`${folder}/${entry.name}`, name, found, modes)
      if (Object.keys(found).length === before) found[name] = `${mode}/`
      else if (modes) found[`${name}/`] = mode
    } else found[name] = 'special'
  }
}
