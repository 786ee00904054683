/**
 * Where the attendant listens. The engine knows where the stores are, but to ask it would load it, and a hook that is
 * answered by the attendant takes less time than that. A test holds this against the engine's own answer.
 */

import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'

/** `undefined`: not on this system, or too long a path for a socket. */
export function attendantPlace(env: NodeJS.ProcessEnv): string | undefined {
  if (process.platform === 'win32') return undefined
  const path = join(resolve(env.UNTURN_HOME || join(dataFolder(env), 'unturn')), 'agents', 'hook.sock')
  return Buffer.byteLength(path) > 100 ? undefined : path
}

function dataFolder(env: NodeJS.ProcessEnv): string {
  const home = env.HOME || homedir()
  if (process.platform === 'darwin') return join(home, 'Library', 'Application Support')
  const data = env.XDG_DATA_HOME
  return data !== undefined && isAbsolute(data) ? data : join(home, '.local', 'share')
}
