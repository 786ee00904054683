import type { Checkup } from '../doctor.ts'
import { installedEvents } from '../settings/hooks-file.ts'
import { events, hooksFile } from './install.ts'

export const checkup: Checkup = {
  wanted: events,
  registered: (machine, scope) => installedEvents(hooksFile(machine, scope)),
  // Hooks of the user always run; those of a project only in a folder that Gemini CLI was told to trust.
  trusted: (_machine, scope) => (scope === 'user' ? 'yes' : 'unknown'),
}
