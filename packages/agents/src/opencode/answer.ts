/** Our plugin reads the answer and puts the notice beside the prompt, as a part of the same message. */

import type { Answer } from '../events.ts'
import { isUsersPrompt } from '../notice-answers.ts'

export const answer: Answer = (event, notice) =>
  isUsersPrompt(event) && notice !== undefined ? JSON.stringify({ notice }) : ''
