/** Whether an agent is on this machine: its program on the path, or its folder. */

import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Detected, Machine } from './install.ts'

export function detectBy(
  machine: Machine,
  programs: readonly string[],
  folders: readonly string[],
): Detected {
  for (const program of programs) {
    const found = findProgram(machine, program)
    if (found !== undefined) return { found: true, because: found }
  }
  const folder = folders.find((path) => existsSync(path))
  return folder === undefined ? { found: false } : { found: true, because: folder }
}

export function findProgram({ env }: Pick<Machine, 'env'>, program: string): string | undefined {
  const endings = process.platform === 'win32' ? ['.cmd', '.exe', ''] : ['']
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    if (folder === '') continue
    for (const ending of endings) {
      const path = join(folder, `${program}${ending}`)
      if (isExecutable(path)) return path
    }
  }
  return undefined
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
