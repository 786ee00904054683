import { join } from 'node:path'
import type { Checkup } from '../doctor.ts'
import { installedEvents } from '../settings/hooks-file.ts'
import { readText } from '../settings/text-file.ts'
import { codexHome, events, hooksFile } from './install.ts'

export const checkup: Checkup = {
  wanted: events,
  registered: (machine, scope) => installedEvents(hooksFile(machine, scope)),
  /**
   * Codex keeps in its configuration which hooks it trusts, by file and place. Nothing there about ours: they are left
   * out. Something there: the text may have changed since, and only Codex can tell.
   */
  trusted: (machine, scope) => {
    const config = readText(join(codexHome(machine), 'config.toml')) ?? ''
    return config.includes(hooksFile(machine, scope).path) && config.includes('trusted_hash')
      ? 'unknown'
      : 'no'
  },
}
