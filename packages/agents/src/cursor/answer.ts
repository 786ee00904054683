/** From documentation: context can be added after a tool and when a session starts, not with a prompt. */

import type { Answer } from '../events.ts'

export const answer: Answer = (event, notice) =>
  (event?.kind === 'step-ended' || event?.kind === 'session-began') && notice !== undefined
    ? JSON.stringify({ additional_context: notice })
    : ''
