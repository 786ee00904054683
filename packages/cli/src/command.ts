/** What a command is, and what it is given. */

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  findWorkspace,
  lastActiveSession,
  type OpenOptions,
  openWorkspace,
  resolveSession,
  type SessionId,
  storeHome,
  textOfBytes,
  UnturnError,
  type Workspace,
} from '@unturn/core'
import { type Args, type OptionSpec, UsageError } from './args.ts'
import { currentFolder } from './current-folder.ts'
import { ServerHints } from './server-hints.ts'
import type { Terminal } from './terminal.ts'

export interface Command {
  /** As typed: `undo`, `turn begin`. */
  readonly name: string
  readonly group: 'Recording' | 'Undo and redo' | 'Review' | 'Looking' | 'Store' | 'More'
  readonly usage: string
  readonly summary: string
  /** Further paragraphs of the help. */
  readonly details?: string
  readonly options: readonly OptionSpec[]
  /** Most words that may stand without an option. */
  readonly words?: number
  /** Words behind `--` belong to this command. */
  readonly takesRest?: boolean
  readonly run: (context: Context) => Promise<number>
}

export const commonOptions: readonly OptionSpec[] = [
  {
    name: 'C',
    short: 'C',
    value: 'DIR',
    help: 'the workspace (default: the nearest one around the current folder)',
  },
  { name: 'session', value: 'ID', help: 'the session (default: the one last active here)' },
  { name: 'json', help: 'print one JSON document' },
  { name: 'quiet', help: 'print nothing but errors (and JSON)' },
  { name: 'help', short: 'h', help: 'show this help' },
]

export class Context {
  readonly args: Args
  readonly terminal: Terminal
  readonly version: string
  readonly #hints = new ServerHints(process.env)
  #workspace: Workspace | undefined
  #records = false

  constructor(args: Args, terminal: Terminal, version: string) {
    this.args = args
    this.terminal = terminal
    this.version = version
  }

  get wantsJson(): boolean {
    return this.args.has('json')
  }

  get folder(): string {
    return this.args.get('C') ?? currentFolder()
  }

  /** The workspace, made if it was never captured: for commands that record. */
  async workspace(): Promise<Workspace> {
    await catchUpHooks()
    this.#records = true
    this.#workspace ??= await openWorkspace(this.folder, this.#openOptions())
    return this.#workspace
  }

  /** The workspace, if anything was ever captured in it: a question must not leave a store behind. */
  async knownWorkspace(options: { readonly asFound?: boolean } = {}): Promise<Workspace | undefined> {
    if (options.asFound !== true) await catchUpHooks()
    this.#workspace ??= await findWorkspace(this.folder, { ...this.#openOptions(), ...options })
    return this.#workspace
  }

  #openOptions(): OpenOptions {
    const progress = this.terminal.progress()
    return {
      explicit: this.args.has('C'),
      watch: this.#hints.watch,
      onWarning: (text) => this.terminal.warn(`unturn: ${text}`),
      ...(progress === undefined ? {} : { onProgress: progress }),
    }
  }

  /** The session in force: named, or last active. */
  session(workspace: Workspace): SessionId | undefined {
    const typed = this.args.get('session')
    return typed === undefined ? lastActiveSession(workspace) : resolveSession(workspace.engine, typed)
  }

  /** The session to undo, redo or review in. Without one there is nothing to do. */
  requireSession(workspace: Workspace | undefined, what: keyof typeof nothingCodes): SessionId {
    const session = workspace === undefined ? undefined : this.session(workspace)
    if (session === undefined) throw nothingYet(what)
    return session
  }

  async close(): Promise<void> {
    this.terminal.endProgress()
    if (this.#records && this.#workspace !== undefined) this.#hints.startServerIfSlow(this.#workspace)
    await this.#workspace?.[Symbol.asyncDispose]()
  }
}

const nothingCodes = {
  undo: 'nothing-to-undo',
  redo: 'nothing-to-redo',
  'roll back': 'nothing-to-roll-back',
  review: 'nothing-to-review',
} as const

// What a hook could not deliver in time comes first, and what a job wrote after its turn, or undo would not know of it.
// Usually there is nothing, and the look costs less than opening a store.
async function catchUpHooks(): Promise<void> {
  const desk = join(textOfBytes(storeHome(process.env)), 'agents')
  const isWaiting = (folder: string) =>
    existsSync(join(desk, folder)) && readdirSync(join(desk, folder)).length > 0
  if (!isWaiting('spool') && !isWaiting('jobs') && !isWaiting('calls')) return
  const { catchUp, deskFolder } = await import('@unturn/agents')
  try {
    await catchUp({ desk: deskFolder(process.env), env: process.env, patienceMs: 10_000 })
  } catch {
    // It stays where it is, and "unturn doctor" tells of it. What was asked for may work all the same.
  }
}

function nothingYet(what: keyof typeof nothingCodes): UnturnError {
  return new UnturnError(
    nothingCodes[what],
    {},
    {
      message: `There is nothing to ${what}: no turn has been recorded in this workspace. No file was changed.`,
      hint: 'Record a turn first, for instance with: unturn run -- COMMAND',
    },
  )
}

export function noSession(): UnturnError {
  return new UnturnError(
    'unknown-id',
    { id: '' },
    {
      message: 'No turn has been recorded in this workspace yet.',
      hint: 'Record one, for instance with: unturn run -- COMMAND',
    },
  )
}

export { UsageError }
