/** What a hook needs of each agent: to understand it, and to answer. */

import { answer as acpAnswer } from './acp/answer.ts'
import { parse as acpParse } from './acp/parse.ts'
import { answer as claudeCodeAnswer } from './claude-code/answer.ts'
import { parse as claudeCodeParse } from './claude-code/parse.ts'
import { answer as clineAnswer } from './cline/answer.ts'
import { parse as clineParse } from './cline/parse.ts'
import { answer as codexAnswer } from './codex/answer.ts'
import { parse as codexParse } from './codex/parse.ts'
import { answer as copilotAnswer } from './copilot-cli/answer.ts'
import { parse as copilotParse } from './copilot-cli/parse.ts'
import { answer as cursorAnswer } from './cursor/answer.ts'
import { parse as cursorParse } from './cursor/parse.ts'
import type { AgentEvent, Answer, Parse, Teller } from './events.ts'
import { answer as geminiAnswer } from './gemini-cli/answer.ts'
import { parse as geminiParse } from './gemini-cli/parse.ts'
import { answer as opencodeAnswer } from './opencode/answer.ts'
import { parse as opencodeParse } from './opencode/parse.ts'

export interface Ear {
  readonly parse: Parse
  readonly answer: Answer
}

const ears: Readonly<Record<Teller, Ear>> = {
  'claude-code': { parse: claudeCodeParse, answer: claudeCodeAnswer },
  codex: { parse: codexParse, answer: codexAnswer },
  opencode: { parse: opencodeParse, answer: opencodeAnswer },
  'gemini-cli': { parse: geminiParse, answer: geminiAnswer },
  cursor: { parse: cursorParse, answer: cursorAnswer },
  'copilot-cli': { parse: copilotParse, answer: copilotAnswer },
  cline: { parse: clineParse, answer: clineAnswer },
  acp: { parse: acpParse, answer: acpAnswer },
}

export function earOf(agent: Teller): Ear {
  return ears[agent]
}

/** Whether the agent would hear a notice at this event. */
export function canBeTold(event: AgentEvent): boolean {
  const { answer } = earOf(event.agent)
  return answer(event, 'x') !== answer(event, undefined)
}
