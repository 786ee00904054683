/** This machine, as the installers of hooks see it. */

import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import type { Machine } from '@unturn/agents'
import { textOfBytes, workspaceAt } from '@unturn/core'

export function machineFor(folder: string): Machine {
  const { env } = process
  return {
    home: env.HOME || homedir(),
    env,
    project: textOfBytes(workspaceAt(folder, { env }).root),
    // Not whatever `node` the agent finds on its path: that one may be too old, or be gone tomorrow.
    command: [process.execPath, realpathSync(process.argv[1] ?? '')],
  }
}
