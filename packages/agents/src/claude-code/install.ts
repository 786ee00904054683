/** `~/.claude/settings.json`, or the project's local settings: our lines name this machine's Node. */

import { join } from 'node:path'
import { detectBy } from '../detect.ts'
import { hookUrl } from '../http-place.ts'
import { hookCommand, type Installer, type Machine, type Scope } from '../install.ts'
import { type HooksFile, planHooks, planHooksRemoval } from '../settings/hooks-file.ts'
import type { Json } from '../settings/jsonc.ts'

const agent = 'claude-code'
/** `WorktreeCreate` is left out on purpose: a hook there replaces the creation. */
export const events = [
  'SessionStart',
  'UserPromptSubmit',
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'Stop',
  'StopFailure',
  'SessionEnd',
] as const

const aboutTools: ReadonlySet<string> = new Set(['PreToolUse', 'PostToolUse', 'PostToolUseFailure'])
const onlyReads = '^(?!(Read|Glob|Grep)$).*'

export function hooksFile(machine: Machine, scope: Scope): HooksFile {
  const path =
    scope === 'user'
      ? join(machine.env.CLAUDE_CONFIG_DIR || join(machine.home, '.claude'), 'settings.json')
      : join(machine.project, '.claude', 'settings.local.json')
  const entries = new Map<string, Json>(events.map((event) => [event, entryOf(machine, event)]))
  return { agent, path, empty: '{}\n', entries }
}

function entryOf(machine: Machine, event: string): Json {
  const { http } = machine
  // Over HTTP nobody hears what is told while nobody listens. So that is for tool calls only: the turn around them begins
  // and ends with commands, which start whoever listens, and its end finds what was not told.
  const hook =
    http !== undefined && aboutTools.has(event)
      ? { type: 'http', url: hookUrl(http, agent, event), timeout: 10 }
      : { type: 'command', command: hookCommand(machine, agent, event), timeout: 10 }
  return aboutTools.has(event) ? { matcher: onlyReads, hooks: [hook] } : { hooks: [hook] }
}

export const installer: Installer = {
  agent,
  title: 'Claude Code',
  known: 'from runs',
  detect: (machine) =>
    detectBy(machine, ['claude'], [join(machine.home, '.claude'), join(machine.project, '.claude')]),
  files: (machine, scope) => [hooksFile(machine, scope).path],
  planInstall: (machine, scope) => planHooks(hooksFile(machine, scope)),
  planRemoval: (machine, scope) => planHooksRemoval(hooksFile(machine, scope)),
  afterwards: 'A session of Claude Code that is open now records nothing until it is started again.',
}
