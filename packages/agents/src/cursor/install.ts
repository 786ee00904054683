/** `~/.cursor/hooks.json`. From its documentation, not from a run. */

import { join } from 'node:path'
import { detectBy } from '../detect.ts'
import { hookCommand, type Installer, type Machine, type Scope } from '../install.ts'
import { type HooksFile, planHooks, planHooksRemoval } from '../settings/hooks-file.ts'
import type { Json } from '../settings/jsonc.ts'

const agent = 'cursor'
export const events = [
  'sessionStart',
  'beforeSubmitPrompt',
  'preToolUse',
  'postToolUse',
  'postToolUseFailure',
  'stop',
  'sessionEnd',
] as const

export function hooksFile(machine: Machine, scope: Scope): HooksFile {
  const folder = scope === 'user' ? machine.home : machine.project
  const entries = new Map<string, Json>(
    events.map((event) => [event, { command: hookCommand(machine, agent, event), timeout: 10 }]),
  )
  return { agent, path: join(folder, '.cursor', 'hooks.json'), empty: '{\n  "version": 1\n}\n', entries }
}

export const installer: Installer = {
  agent,
  title: 'Cursor',
  known: 'from documentation',
  detect: (machine) =>
    detectBy(
      machine,
      ['cursor-agent', 'cursor'],
      [join(machine.home, '.cursor'), join(machine.project, '.cursor')],
    ),
  files: (machine, scope) => [hooksFile(machine, scope).path],
  planInstall: (machine, scope) => planHooks(hooksFile(machine, scope)),
  planRemoval: (machine, scope) => planHooksRemoval(hooksFile(machine, scope)),
}
