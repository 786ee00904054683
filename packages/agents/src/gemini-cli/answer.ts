/** A notice arrives as the context of a hook, in the same request as the prompt. */

import type { Answer } from '../events.ts'
import { withPrompt } from '../notice-answers.ts'

export const answer: Answer = withPrompt('BeforeAgent')
