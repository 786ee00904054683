/** `store`, `gc`, `doctor`: the folder that holds the history. */

import { shown, statusOf, textOfBytes } from '@unturn/core'
import type { Command } from '../command.ts'
import { counted, size } from '../words.ts'

export const storeCommand: Command = {
  name: 'store',
  group: 'Store',
  usage: 'store',
  summary: 'where the history is and how large',
  options: [],
  run: async (context) => {
    const workspace = await context.knownWorkspace()
    const { terminal } = context
    if (workspace === undefined) {
      if (context.wantsJson) terminal.json({ folder: null, bytes: 0, borrowedBytes: 0, packs: 0 })
      else terminal.line('Nothing has been captured here yet.')
      return 0
    }
    const { store, sessions, operations } = statusOf(workspace.engine)
    const folder = workspace.engine.folders.folder
    if (context.wantsJson) {
      terminal.json({ folder: textOfBytes(folder), ...store, sessions: sessions.length, operations })
      return 0
    }
    terminal.line(shown(folder))
    terminal.line(
      `${size(store.bytes)} in ${counted(store.packs, 'pack')}, ${counted(operations, 'operation')} of ${counted(sessions.length, 'session')}`,
    )
    if (store.borrowedBytes > 0)
      terminal.line(`${size(store.borrowedBytes)} more are shared with your git repository`)
    return 0
  },
}

export const gcCommand: Command = {
  name: 'gc',
  group: 'Store',
  usage: 'gc',
  summary: 'pack the history tightly; nothing that an operation names goes',
  options: [],
  run: async (context) => {
    const workspace = await context.knownWorkspace()
    const packed = workspace === undefined ? { bytesBefore: 0, bytesAfter: 0 } : await workspace.gc()
    if (context.wantsJson) context.terminal.json(packed)
    else context.terminal.line(`Packed ${size(packed.bytesBefore)} into ${size(packed.bytesAfter)}.`)
    return 0
  },
}

export const doctorCommand: Command = {
  name: 'doctor',
  group: 'Store',
  usage: 'doctor [--repair]',
  summary: 'check every object that the history names',
  options: [{ name: 'repair', help: 'rebuild the index and write lost refs again' }],
  run: async (context) => {
    const workspace = await context.knownWorkspace({ asFound: true })
    const findings =
      workspace === undefined ? [] : await workspace.doctor({ repair: context.args.has('repair') })
    const isWell = !findings.some((finding) => finding.severity === 'error')
    const { terminal } = context
    if (context.wantsJson) terminal.json({ ok: isWell, findings })
    else {
      for (const { severity, what, operation } of findings) {
        const colour = severity === 'error' ? 'red' : severity === 'warning' ? 'yellow' : 'green'
        terminal.line(
          `${terminal.style(colour, severity)}  ${what}${operation === undefined ? '' : ` (operation ${operation})`}`,
        )
      }
      terminal.line(
        isWell
          ? 'All is well: every object that the history names is there and whole.'
          : 'Something is damaged. No file was changed. Turns that do not need the damaged parts can still be undone.',
      )
    }
    return isWell ? 0 : 1
  },
}
