/** One file in OpenCode's own folder. In the project's it would make OpenCode install a package there first. */

import { join } from 'node:path'
import { detectBy } from '../detect.ts'
import type { Installer, Machine, Scope } from '../install.ts'
import { planOwnFile, planOwnFileRemoval } from '../settings/own-file.ts'
import { pluginSource } from './plugin.ts'

/** What our plugin hands on. */
export const events = ['chat.message', 'tool.execute.before', 'tool.execute.after', 'event'] as const

function userFolder({ env, home }: Machine): string {
  return join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode')
}

export function pathOf(machine: Machine, scope: Scope): string {
  return scope === 'user'
    ? join(userFolder(machine), 'plugins', 'unturn.js')
    : join(machine.project, '.opencode', 'plugins', 'unturn.js')
}

export const installer: Installer = {
  agent: 'opencode',
  title: 'OpenCode',
  known: 'from runs',
  detect: (machine) =>
    detectBy(machine, ['opencode'], [userFolder(machine), join(machine.project, '.opencode')]),
  files: (machine, scope) => [pathOf(machine, scope)],
  planInstall: (machine, scope) =>
    planOwnFile({ path: pathOf(machine, scope), content: pluginSource(machine.command) }),
  planRemoval: (machine, scope) => planOwnFileRemoval(pathOf(machine, scope)),
}
