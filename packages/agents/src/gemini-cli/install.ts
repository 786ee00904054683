/** `~/.gemini/settings.json`. Timeouts are in milliseconds here. */

import { join } from 'node:path'
import { detectBy } from '../detect.ts'
import { hookCommand, type Installer, type Machine, type Scope } from '../install.ts'
import { type HooksFile, planHooks, planHooksRemoval } from '../settings/hooks-file.ts'
import type { Json } from '../settings/jsonc.ts'

const agent = 'gemini-cli'
/** The events about the model are left out: each carries the whole conversation. */
export const events = [
  'SessionStart',
  'BeforeAgent',
  'BeforeTool',
  'AfterTool',
  'AfterAgent',
  'SessionEnd',
] as const

const aboutTools: ReadonlySet<string> = new Set(['BeforeTool', 'AfterTool'])
const onlyReads = '^(?!(read_file|grep_search|glob|list_directory)$).*'

export function hooksFile(machine: Machine, scope: Scope): HooksFile {
  const folder = scope === 'user' ? machine.home : machine.project
  const entries = new Map<string, Json>(events.map((event) => [event, entryOf(machine, event)]))
  return { agent, path: join(folder, '.gemini', 'settings.json'), empty: '{}\n', entries }
}

function entryOf(machine: Machine, event: string): Json {
  const command = hookCommand(machine, agent, event)
  const hook = { name: 'unturn', type: 'command', command, timeout: 10_000 }
  return aboutTools.has(event) ? { matcher: onlyReads, hooks: [hook] } : { hooks: [hook] }
}

export const installer: Installer = {
  agent,
  title: 'Gemini CLI',
  known: 'from runs',
  detect: (machine) =>
    detectBy(machine, ['gemini'], [join(machine.home, '.gemini'), join(machine.project, '.gemini')]),
  files: (machine, scope) => [hooksFile(machine, scope).path],
  planInstall: (machine, scope) => planHooks(hooksFile(machine, scope)),
  planRemoval: (machine, scope) => planHooksRemoval(hooksFile(machine, scope)),
}
