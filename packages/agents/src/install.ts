/** Attaching to an agent: which files change, and how. Nothing is written here; what is planned is shown first. */

import type { AgentName, Environment } from './events.ts'
import { type HttpPlace, partsOfPath } from './http-place.ts'

export type Scope = 'user' | 'project'

export interface Machine {
  readonly home: string
  readonly env: Environment
  /** The project's folder. */
  readonly project: string
  /** What the hooks start: this Node, and the command's own file. */
  readonly command: readonly [node: string, entry: string]
  /** What is quicker to start than Node, and starts it when it must: a shell, and its script. */
  readonly script?: readonly [shell: string, script: string]
  /** Where hooks are heard over HTTP, if the user wants that. */
  readonly http?: HttpPlace
}

/** One file, before and after; undefined: not there. */
export interface FileEdit {
  readonly path: string
  readonly before: string | undefined
  readonly after: string | undefined
  readonly isExecutable?: boolean
}

export interface Detected {
  readonly found: boolean
  /** By what: a program, a folder. */
  readonly because?: string
}

export interface Installer {
  readonly agent: AgentName
  readonly title: string
  /** Whether what we know of it was seen in runs, or read. */
  readonly known: 'from runs' | 'from documentation'
  detect(machine: Machine): Detected
  files(machine: Machine, scope: Scope): readonly string[]
  planInstall(machine: Machine, scope: Scope): readonly FileEdit[]
  planRemoval(machine: Machine, scope: Scope): readonly FileEdit[]
  /** What the user must still do, in one sentence. */
  readonly afterwards?: string
}

/** Something about a file makes it unwise to touch. */
export class InstallRefused extends Error {}

/** One command line for a shell, the same every time: an agent may trust it by its text. */
export function hookCommand({ command, script }: Machine, agent: AgentName, event: string): string {
  return [...(script ?? []), ...command, 'hook', agent, event].map(quoted).join(' ')
}

export function quoted(word: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** A command, or an address, that we have put there, whichever Node and whichever place it names. */
export function isOurCommand(command: string, agent: AgentName): boolean {
  if (command.startsWith('http:')) return partsOfPath(command.replace(/^http:\/\/[^/]*/, ''))?.agent === agent
  return /unturn/.test(command) && new RegExp(` hook ${agent} [A-Za-z.]+$`).test(command)
}
