/** Files that are ours as a whole: a plugin, a script. They carry a mark; a file of the same name without it is not ours. */

import { type FileEdit, InstallRefused } from '../install.ts'
import { readText } from './text-file.ts'

export const mark = 'Installed by unturn init.'

export interface OwnFile {
  readonly path: string
  readonly content: string
  readonly isExecutable?: boolean
}

export function planOwnFile({ path, content, isExecutable }: OwnFile): readonly FileEdit[] {
  const before = readText(path)
  if (before === content) return []
  if (before !== undefined && !before.includes(mark))
    throw new InstallRefused(`${path} is there already and not from Unturn; it was left as it is`)
  return [{ path, before, after: content, ...(isExecutable === true ? { isExecutable } : {}) }]
}

export function planOwnFileRemoval(path: string): readonly FileEdit[] {
  const before = readText(path)
  return before === undefined || !before.includes(mark) ? [] : [{ path, before, after: undefined }]
}

export function isInstalled(path: string): boolean {
  return readText(path)?.includes(mark) === true
}
