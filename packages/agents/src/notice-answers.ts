/** How a notice is handed over, where several agents have it alike. */

import type { AgentEvent, Answer } from './events.ts'

export function isUsersPrompt(event: AgentEvent | undefined): boolean {
  return event?.kind === 'prompted' && event.by === 'user'
}

/** Plain text on stdout would go to the model as well, unmarked, or to the user's screen: it is JSON or nothing. */
export function withPrompt(hookEventName: string): Answer {
  return (event, notice) =>
    isUsersPrompt(event) && notice !== undefined
      ? JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext: notice } })
      : ''
}
