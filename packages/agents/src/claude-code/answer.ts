/** A notice goes in with the prompt, in the same request to the model. */

import type { Answer } from '../events.ts'
import { withPrompt } from '../notice-answers.ts'

export const answer: Answer = withPrompt('UserPromptSubmit')
