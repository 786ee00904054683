/** Gc by itself: after a turn, when it is due, in a process of its own that nobody waits for. */

import { spawn } from 'node:child_process'
import { textOfBytes, type Workspace } from '@unturn/core'

/** An agent's hook must not wait for packing, and must not fail because of it. `UNTURN_AUTO_GC=0` turns it off. */
export function startGcIfDue(workspace: Workspace): void {
  if (process.env.UNTURN_AUTO_GC === '0' || !workspace.isGcDue) return
  const script = process.argv[1]
  const root = textOfBytes(workspace.root)
  // An argument cannot carry bytes that are not UTF-8; whoever has such a folder runs gc there himself.
  if (script === undefined || /[\udc80-\udcff]/.test(root)) return
  const child = spawn(process.execPath, [script, 'gc', '--if-due', '--quiet', '-C', root], {
    detached: true,
    stdio: 'ignore',
    windowsHide: true,
  })
  child.on('error', () => {}) // the next turn tries again
  child.unref()
}
