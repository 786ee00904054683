/** A patch on the terminal. */

import { visible } from '@unturn/core'
import type { Terminal } from './terminal.ts'

/** Colours lines of a patch, and makes control characters in it visible: a file's content must not drive the terminal. */
export function colouredPatch(patch: string, terminal: Terminal): string {
  return patch
    .split('\n')
    .map((line) => colourOf(line.replace(/[^\t\P{Cc}]/gu, visible), terminal))
    .join('\n')
}

function colourOf(line: string, terminal: Terminal): string {
  if (line.startsWith('diff ') || line.startsWith('+++') || line.startsWith('---'))
    return terminal.style('bold', line)
  if (line.startsWith('@@')) return terminal.style('cyan', line)
  if (line.startsWith('+')) return terminal.style('green', line)
  return line.startsWith('-') ? terminal.style('red', line) : line
}
