/** A file of our own in `~/.copilot/hooks`. From its documentation, not from a run. */

import { join } from 'node:path'
import { detectBy } from '../detect.ts'
import { hookCommand, type Installer, type Machine, type Scope } from '../install.ts'
import { mark, planOwnFile, planOwnFileRemoval } from '../settings/own-file.ts'

const agent = 'copilot-cli'
/** Names in camel case: with the others the payload would look like Claude Code's. */
export const events = [
  'sessionStart',
  'userPromptSubmitted',
  'preToolUse',
  'postToolUse',
  'postToolUseFailure',
  'agentStop',
  'sessionEnd',
] as const

export function pathOf(machine: Machine, scope: Scope): string {
  return scope === 'user'
    ? join(machine.home, '.copilot', 'hooks', 'unturn.json')
    : join(machine.project, '.github', 'hooks', 'unturn.json')
}

function contentOf(machine: Machine): string {
  const hooks = Object.fromEntries(
    events.map((event) => [
      event,
      [{ type: 'command', bash: hookCommand(machine, agent, event), timeoutSec: 10 }],
    ]),
  )
  return `${JSON.stringify({ version: 1, comment: mark, hooks }, null, 2)}\n`
}

export const installer: Installer = {
  agent,
  title: 'Copilot CLI',
  known: 'from documentation',
  detect: (machine) => detectBy(machine, ['copilot'], [join(machine.home, '.copilot')]),
  files: (machine, scope) => [pathOf(machine, scope)],
  planInstall: (machine, scope) => planOwnFile({ path: pathOf(machine, scope), content: contentOf(machine) }),
  planRemoval: (machine, scope) => planOwnFileRemoval(pathOf(machine, scope)),
}
