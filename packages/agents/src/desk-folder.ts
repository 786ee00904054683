/** Where our own folder is. Apart from the rest: a hook that is answered by the attendant loads nothing else. */

import { join } from 'node:path'
import { storeHome, textOfBytes } from '@unturn/core'
import type { Environment } from './events.ts'

/** Where the hooks keep what they remember. */
export function deskFolder(env: Environment): string {
  return join(textOfBytes(storeHome(env)), 'agents')
}

/** Where the attendant listens. `undefined`: not on this system, or too long a path for a socket. */
export function attendantSocket(env: Environment): string | undefined {
  const path = join(deskFolder(env), 'hook.sock')
  return process.platform === 'win32' || Buffer.byteLength(path) > 100 ? undefined : path
}
