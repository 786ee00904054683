/** From documentation: context can be added when a session starts, and nowhere else. */

import type { Answer } from '../events.ts'

export const answer: Answer = (event, notice) =>
  event?.kind === 'session-began' && notice !== undefined ? JSON.stringify({ additionalContext: notice }) : ''
