/** A notice becomes a message of the developer, in front of the prompt. */

import type { Answer } from '../events.ts'
import { withPrompt } from '../notice-answers.ts'

export const answer: Answer = withPrompt('UserPromptSubmit')
