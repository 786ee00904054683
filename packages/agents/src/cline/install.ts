/** One script for each event, named like it. Payloads were recorded from one run of CLI 2.18.0; the rest is documentation. */

import { join } from 'node:path'
import { detectBy } from '../detect.ts'
import { hookCommand, type Installer, type Machine, type Scope } from '../install.ts'
import { mark, planOwnFile, planOwnFileRemoval } from '../settings/own-file.ts'

const agent = 'cline'
export const events = [
  'TaskStart',
  'TaskResume',
  'UserPromptSubmit',
  'PreToolUse',
  'PostToolUse',
  'TaskComplete',
  'TaskCancel',
] as const

export function folderOf(machine: Machine, scope: Scope): string {
  return scope === 'user'
    ? join(machine.home, '.cline', 'hooks')
    : join(machine.project, '.clinerules', 'hooks')
}

// The script itself gives an answer if the command cannot even be started: Cline waits for one.
function contentOf(machine: Machine, event: string): string {
  return `#!/bin/sh\n# ${mark}\n${hookCommand(machine, agent, event)} || echo '{"cancel":false}'\n`
}

export const installer: Installer = {
  agent,
  title: 'Cline',
  known: 'from documentation',
  detect: (machine) =>
    detectBy(machine, ['cline'], [join(machine.home, '.cline'), join(machine.project, '.clinerules')]),
  files: (machine, scope) => events.map((event) => join(folderOf(machine, scope), event)),
  planInstall: (machine, scope) =>
    events.flatMap((event) =>
      planOwnFile({
        path: join(folderOf(machine, scope), event),
        content: contentOf(machine, event),
        isExecutable: true,
      }),
    ),
  planRemoval: (machine, scope) =>
    events.flatMap((event) => planOwnFileRemoval(join(folderOf(machine, scope), event))),
}
