/** Reading other people's files, as text that can be written back byte for byte. */

import { readFileSync } from 'node:fs'
import { InstallRefused } from '../install.ts'

/** `undefined`: not there. */
export function readText(path: string): string | undefined {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new InstallRefused(
      `${path} cannot be read (${error instanceof Error ? error.message : error}), and was left as it is`,
    )
  }
  const text = bytes.toString('utf8')
  // Written back, such a file would not have the bytes it had.
  if (!Buffer.from(text, 'utf8').equals(bytes))
    throw new InstallRefused(`${path} is not UTF-8, and was left as it is`)
  return text
}
