/** The command line: found once on the path, and run without a shell that could read more into its words. */

import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { homedir } from 'node:os'
import { posix, win32 } from 'node:path'

export type Env = Readonly<Record<string, string | undefined>>

/** The command is not there, or could not do what was asked. Message and hint are for people. */
export class CommandError extends Error {
  readonly reason: 'not-found' | 'failed'
  readonly hint: string

  constructor(reason: 'not-found' | 'failed', message: string, hint: string) {
    super(message)
    this.name = 'CommandError'
    this.reason = reason
    this.hint = hint
  }
}

export interface Place {
  readonly env: Env
  readonly platform: NodeJS.Platform
  readonly isThere: (path: string) => Promise<boolean>
}

const here: Place = { env: process.env, platform: process.platform, isThere: isExecutable }

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

/**
 * The full path of the command. Relative folders of the path are passed over: in a workspace that nobody trusts, a file
 * of the command's name could lie in one of them.
 */
export async function findCommand(typed: string, { env, platform, isThere }: Place = here): Promise<string> {
  for (const path of candidates(typed, env, platform)) if (await isThere(path)) return path
  throw new CommandError(
    'not-found',
    `The command "${typed}" was not found, so the history cannot be shown.`,
    'Install it with "npm install -g unturn", or say where it is in the setting unturn.command',
  )
}

function candidates(typed: string, env: Env, platform: NodeJS.Platform): readonly string[] {
  const { isAbsolute, join, delimiter } = platform === 'win32' ? win32 : posix
  const endings = platform === 'win32' && !/\.(exe|cmd|bat)$/i.test(typed) ? ['.exe', '.cmd'] : ['']
  const name = typed.replace(/^~(?=[/\\])/, env.HOME ?? env.USERPROFILE ?? '~')
  if (isAbsolute(name)) return endings.map((ending) => name + ending)
  if (/[/\\]/.test(name)) return []
  const folders = (env.PATH ?? env.Path ?? '').split(delimiter).filter((folder) => isAbsolute(folder))
  return folders.flatMap((folder) => endings.map((ending) => join(folder, name + ending)))
}

export interface RunOptions {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

/** What it printed as its one JSON document. Runs in the home folder: version managers read files of the current one. */
export async function askCommand(
  command: string,
  args: readonly string[],
  { signal, timeoutMs = 30_000 }: RunOptions = {},
): Promise<unknown> {
  // Windows starts .cmd files by its shell only.
  const isScript = process.platform === 'win32' && /\.(cmd|bat)$/i.test(command)
  const quoted = (text: string) => (isScript ? `"${text}"` : text)
  const { failure, stdout, stderr } = await run(quoted(command), args.map(quoted), {
    cwd: homedir(),
    timeout: timeoutMs,
    shell: isScript,
    ...(signal === undefined ? {} : { signal }),
  })
  const json = parsed(stdout)
  if (failure === undefined && json !== undefined) return json
  throw failed(args, json, stderr, failure)
}

interface Ran {
  readonly failure: Error | undefined
  readonly stdout: string
  readonly stderr: string
}

function run(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly timeout: number; readonly shell: boolean; signal?: AbortSignal },
): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(
      command,
      args,
      { ...options, env: process.env, encoding: 'utf8', maxBuffer: 1 << 26, windowsHide: true },
      (error, stdout, stderr) => resolve({ failure: error ?? undefined, stdout, stderr }),
    )
  })
}

function parsed(stdout: string): unknown {
  try {
    return JSON.parse(stdout)
  } catch {
    return undefined
  }
}

function failed(
  args: readonly string[],
  json: unknown,
  stderr: string,
  failure: Error | undefined,
): CommandError {
  const { error } = (json ?? {}) as {
    readonly error?: { readonly message?: string; readonly hint?: string }
  }
  if (typeof error?.message === 'string') return new CommandError('failed', error.message, error.hint ?? '')
  const said = stderr.trim() || failure?.message || 'it printed no answer'
  return new CommandError('failed', `"unturn ${args.join(' ')}" failed: ${said}`, '')
}
