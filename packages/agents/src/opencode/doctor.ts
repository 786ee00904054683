import type { Checkup } from '../doctor.ts'
import { isInstalled } from '../settings/own-file.ts'
import { events, pathOf } from './install.ts'

/** One file, all of it ours: it is there or not. */
export const checkup: Checkup = {
  wanted: events,
  registered: (machine, scope) => (isInstalled(pathOf(machine, scope)) ? events : []),
}
