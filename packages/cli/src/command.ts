/** What a command is, and what it is given. */

import {
  findWorkspace,
  lastActiveSession,
  type OpenOptions,
  openWorkspace,
  resolveSession,
  type SessionId,
  UnturnError,
  type Workspace,
} from '@unturn/core'
import { type Args, type OptionSpec, UsageError } from './args.ts'
import type { Terminal } from './terminal.ts'

export interface Command {
  /** As typed: `undo`, `turn begin`. */
  readonly name: string
  readonly group: 'Recording' | 'Undo and redo' | 'Looking' | 'Store' | 'More'
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
  #workspace: Workspace | undefined

  constructor(args: Args, terminal: Terminal, version: string) {
    this.args = args
    this.terminal = terminal
    this.version = version
  }

  get wantsJson(): boolean {
    return this.args.has('json')
  }

  get folder(): string {
    return this.args.get('C') ?? process.cwd()
  }

  /** The workspace, made if it was never captured: for commands that record. */
  async workspace(): Promise<Workspace> {
    this.#workspace ??= await openWorkspace(this.folder, this.#openOptions())
    return this.#workspace
  }

  /** The workspace, if anything was ever captured in it: a question must not leave a store behind. */
  async knownWorkspace(options: { readonly asFound?: boolean } = {}): Promise<Workspace | undefined> {
    this.#workspace ??= await findWorkspace(this.folder, { ...this.#openOptions(), ...options })
    return this.#workspace
  }

  #openOptions(): OpenOptions {
    const progress = this.terminal.progress()
    return {
      explicit: this.args.has('C'),
      onWarning: (text) => this.terminal.warn(`unturn: ${text}`),
      ...(progress === undefined ? {} : { onProgress: progress }),
    }
  }

  /** The session in force: named, or last active. */
  session(workspace: Workspace): SessionId | undefined {
    const typed = this.args.get('session')
    return typed === undefined ? lastActiveSession(workspace) : resolveSession(workspace.engine, typed)
  }

  /** The session to undo or redo in. Without one there is nothing to take back. */
  requireSession(workspace: Workspace | undefined, what: 'undo' | 'redo' | 'roll back'): SessionId {
    const session = workspace === undefined ? undefined : this.session(workspace)
    if (session === undefined) throw nothingYet(what)
    return session
  }

  async close(): Promise<void> {
    this.terminal.endProgress()
    await this.#workspace?.[Symbol.asyncDispose]()
  }
}

function nothingYet(what: 'undo' | 'redo' | 'roll back'): UnturnError {
  const code =
    what === 'undo' ? 'nothing-to-undo' : what === 'redo' ? 'nothing-to-redo' : 'nothing-to-roll-back'
  return new UnturnError(
    code,
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
