/** Our proxy reads the answer, and puts the notice behind the user's own words in the prompt. */

export { answer } from '../opencode/answer.ts'
