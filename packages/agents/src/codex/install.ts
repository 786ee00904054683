/** `$CODEX_HOME/hooks.json`. Our groups go to the end of each list: Codex knows the others by their place in it. */

import { join } from 'node:path'
import { detectBy } from '../detect.ts'
import { hookCommand, type Installer, type Machine, type Scope } from '../install.ts'
import { type HooksFile, planHooks, planHooksRemoval } from '../settings/hooks-file.ts'
import type { Json } from '../settings/jsonc.ts'

const agent = 'codex'
export const events = [
  'SessionStart',
  'UserPromptSubmit',
  'PreToolUse',
  'PostToolUse',
  'Stop',
  'Interrupt',
  'SessionEnd',
] as const

export function codexHome(machine: Pick<Machine, 'env' | 'home'>): string {
  return machine.env.CODEX_HOME || join(machine.home, '.codex')
}

export function hooksFile(machine: Machine, scope: Scope): HooksFile {
  const folder = scope === 'user' ? codexHome(machine) : join(machine.project, '.codex')
  // No matcher: the one that leaves out tools that only read is invalid here, and the hook would not be loaded.
  const entries = new Map<string, Json>(
    events.map((event) => [
      event,
      { hooks: [{ type: 'command', command: hookCommand(machine, agent, event), timeout: 10 }] },
    ]),
  )
  return { agent, path: join(folder, 'hooks.json'), empty: '{}\n', entries }
}

export const installer: Installer = {
  agent,
  title: 'Codex',
  known: 'from runs',
  detect: (machine) => detectBy(machine, ['codex'], [codexHome(machine), join(machine.project, '.codex')]),
  files: (machine, scope) => [hooksFile(machine, scope).path],
  planInstall: (machine, scope) => planHooks(hooksFile(machine, scope)),
  planRemoval: (machine, scope) => planHooksRemoval(hooksFile(machine, scope)),
  afterwards:
    'Codex leaves new hooks out until you trust them: start codex, type /hooks, and trust the ones of Unturn.',
}
