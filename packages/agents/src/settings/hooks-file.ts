/** A settings file with hooks in it, by event: Claude Code, Codex, Gemini CLI and Cursor have nearly the same form. */

import type { AgentName } from '../events.ts'
import { type FileEdit, InstallRefused, isOurCommand } from '../install.ts'
import {
  appendAt,
  type Json,
  JsoncError,
  type JsonNode,
  memberOf,
  nodeAt,
  removeWhere,
  replaceNode,
} from './jsonc.ts'
import { readText } from './text-file.ts'

export interface HooksFile {
  readonly agent: AgentName
  readonly path: string
  /** What a file that is not there begins with. */
  readonly empty: string
  /** By event: what is put at the end of its list. The command stands in it under `command`, at any depth. */
  readonly entries: ReadonlyMap<string, Json>
}

export function planHooks(file: HooksFile): readonly FileEdit[] {
  const before = readText(file.path)
  const after = reading(file, () => withHooks(before, file))
  return before === after ? [] : [{ path: file.path, before, after }]
}

function withHooks(before: string | undefined, file: HooksFile): string {
  let text = before === undefined || before.trim() === '' ? file.empty : before
  if (isOfAnotherKind(text, file)) text = withoutHooks(text, file)
  for (const [event, entry] of file.entries) {
    const there = ourCommands(text, file.agent, event)
    const command = commandIn(entry)
    if (there.length === 0) text = appendAt(text, ['hooks', event], entry)
    else if (there[0]?.value !== command && there[0] !== undefined)
      text = replaceNode(text, there[0].node, command)
  }
  return text
}

// A hook that runs a command and one that is sent over HTTP have different fields: one is not made from the other.
function isOfAnotherKind(text: string, file: HooksFile): boolean {
  const isHttp = (command: string) => command.startsWith('http:')
  return [...file.entries].some(([event, entry]) =>
    ourCommands(text, file.agent, event).some(({ value }) => isHttp(value) !== isHttp(commandIn(entry))),
  )
}

function withoutHooks(text: string, { agent }: HooksFile): string {
  return removeWhere(text, ['hooks'], (value) => isOurCommand(commandIn(value), agent))
}

export function planHooksRemoval(file: HooksFile): readonly FileEdit[] {
  const before = readText(file.path)
  if (before === undefined || before.trim() === '') return []
  const after = reading(file, () => withoutHooks(before, file))
  return before === after ? [] : [{ path: file.path, before, after }]
}

/** Our commands by event, as they stand in the file. */
export function installedEvents(file: HooksFile): readonly string[] {
  const text = readText(file.path)
  if (text === undefined || text.trim() === '') return []
  return [...file.entries.keys()].filter((event) => ourCommands(text, file.agent, event).length > 0)
}

interface Found {
  readonly node: JsonNode
  readonly value: string
}

function ourCommands(text: string, agent: AgentName, event: string): readonly Found[] {
  const list = nodeAt(text, ['hooks', event])
  return list === undefined ? [] : commandsBelow(list).filter(({ value }) => isOurCommand(value, agent))
}

function commandsBelow(node: JsonNode): readonly Found[] {
  if (node.kind === 'list') return node.items.flatMap(commandsBelow)
  if (node.kind !== 'object') return []
  const command = memberOf(node, 'command') ?? memberOf(node, 'url')
  const own =
    command?.kind === 'value' && typeof command.value === 'string'
      ? [{ node: command, value: command.value }]
      : []
  return [...own, ...node.members.flatMap(({ value }) => commandsBelow(value))]
}

/** The first command in an entry, or the address that stands for one. */
function commandIn(entry: Json): string {
  if (typeof entry !== 'object' || entry === null) return ''
  const { command, url } = entry as Readonly<Record<string, Json | undefined>>
  if (typeof command === 'string') return command
  if (typeof url === 'string') return url
  return (
    Object.values(entry)
      .map(commandIn)
      .find((command) => command !== '') ?? ''
  )
}

function reading<T>({ path }: HooksFile, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error
    throw new InstallRefused(`${path} cannot be read as settings (${error.message}), and was left as it is`)
  }
}
