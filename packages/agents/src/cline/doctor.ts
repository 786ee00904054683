import { join } from 'node:path'
import type { Checkup } from '../doctor.ts'
import { isInstalled } from '../settings/own-file.ts'
import { events, folderOf } from './install.ts'

export const checkup: Checkup = {
  wanted: events,
  registered: (machine, scope) =>
    events.filter((event) => isInstalled(join(folderOf(machine, scope), event))),
}
