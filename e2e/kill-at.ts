/**
 * Loaded into the command before anything else (`--import`): ends the process with SIGKILL at its n-th change of the
 * disk, so that a kill can be repeated to the call. Without a number it only counts, and tells on stderr at the end.
 */

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread } from 'node:worker_threads'

const changing = [
  'chmodSync',
  'fchmodSync',
  'fsyncSync',
  'linkSync',
  'mkdirSync',
  'renameSync',
  'rmdirSync',
  'symlinkSync',
  'unlinkSync',
  'writeSync',
  'writeFileSync',
  'writevSync',
] as const

const at = Number(process.env.KILL_AT ?? 0)
let calls = 0

if (isMainThread) {
  for (const name of changing) {
    const real: (...args: never[]) => unknown = fs[name]
    Object.assign(fs, {
      [name]: (...args: never[]) => {
        calls += 1
        if (calls === at) process.kill(process.pid, 'SIGKILL')
        return real(...args)
      },
    })
  }
  syncBuiltinESMExports()
  if (at === 0) process.on('exit', () => fs.writeSync(2, `\nchanges of the disk: ${calls}\n`))
}
