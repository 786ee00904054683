import type { Checkup } from '../doctor.ts'
import { fieldsOf } from '../payload.ts'
import { installedEvents } from '../settings/hooks-file.ts'
import { parseJsonc, plainOf } from '../settings/jsonc.ts'
import { readText } from '../settings/text-file.ts'
import { events, hooksFile } from './install.ts'

export const checkup: Checkup = {
  wanted: events,
  registered: (machine, scope) => installedEvents(hooksFile(machine, scope)),
  hindrance: (machine) => {
    const text = readText(hooksFile(machine, 'user').path)
    if (text === undefined || text.trim() === '') return undefined
    const settings = fieldsOf(plainOf(parseJsonc(text)))
    return settings.disableAllHooks === true
      ? 'The settings of Claude Code say "disableAllHooks": no hook runs until that is taken out.'
      : undefined
  },
}
