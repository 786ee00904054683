/** All installers, in the order in which they are shown. */

import { installer as claudeCode } from './claude-code/install.ts'
import { installer as cline } from './cline/install.ts'
import { installer as codex } from './codex/install.ts'
import { installer as copilotCli } from './copilot-cli/install.ts'
import { installer as cursor } from './cursor/install.ts'
import type { AgentName } from './events.ts'
import { installer as geminiCli } from './gemini-cli/install.ts'
import type { Installer } from './install.ts'
import { installer as opencode } from './opencode/install.ts'

export const installers: Readonly<Record<AgentName, Installer>> = {
  'claude-code': claudeCode,
  codex,
  opencode,
  'gemini-cli': geminiCli,
  cursor,
  'copilot-cli': copilotCli,
  cline,
}
