/** Where the command was called. */

import { readlinkSync } from 'node:fs'
import { textOfBytes, UnturnError } from '@unturn/core'

/** Fails with `not-a-workspace` where the folder was deleted under the shell that calls from it. */
export function currentFolder(): string {
  try {
    return asTyped(process.cwd())
  } catch (cause) {
    throw new UnturnError(
      'not-a-workspace',
      { folder: '.' },
      {
        message: 'The current folder is not there any more. Nothing was changed.',
        hint: 'Go into a folder that is there, or name one with -C. The history of a folder that was deleted is kept; make the folder again and run "unturn log" in it.',
        cause,
      },
    )
  }
}

// Node decodes the name as UTF-8 and loses bytes that are not; Linux lets us read it as it is.
function asTyped(folder: string): string {
  if (process.platform !== 'linux' || !folder.includes('\ufffd')) return folder
  return textOfBytes(readlinkSync('/proc/self/cwd', 'latin1'))
}
