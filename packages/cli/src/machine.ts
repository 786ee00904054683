/** This machine, as the installers of hooks see it. */

import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Machine } from '@unturn/agents'
import { textOfBytes, workspaceAt } from '@unturn/core'

export function machineFor(folder: string): Machine {
  const { env } = process
  const entry = realpathSync(process.argv[1] ?? '')
  const script = ['/bin/bash', join(dirname(entry), 'unturn-hook.sh')] as const
  return {
    home: env.HOME || homedir(),
    env,
    project: textOfBytes(workspaceAt(folder, { env }).root),
    // Not whatever `node` the agent finds on its path: that one may be too old, or be gone tomorrow.
    command: [process.execPath, entry],
    ...(script.every((path) => existsSync(path)) ? { script } : {}),
  }
}
