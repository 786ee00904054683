/** Always an answer: without one Cline takes the hook for broken. It never cancels; context goes in with a tool call. */

import type { Answer } from '../events.ts'

export const answer: Answer = (event, notice) => {
  const hasChannel = event?.kind === 'step-began' || event?.kind === 'step-ended'
  return JSON.stringify(
    hasChannel && notice !== undefined ? { cancel: false, contextModification: notice } : { cancel: false },
  )
}
