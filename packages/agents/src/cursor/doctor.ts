import type { Checkup } from '../doctor.ts'
import { installedEvents } from '../settings/hooks-file.ts'
import { events, hooksFile } from './install.ts'

export const checkup: Checkup = {
  wanted: events,
  registered: (machine, scope) => installedEvents(hooksFile(machine, scope)),
}
