/**
 * Who is calling. The name in a hook's command says for whom it was installed, not who runs it: several agents read the
 * settings of others. So the payload decides, then its transcript, and the name only where nothing else tells.
 */

import type { AgentName, Environment, Teller } from './events.ts'
import { type Fields, fieldsOf, text } from './payload.ts'

export function whoCalls(payload: unknown, env: Environment, installedFor: Teller): Teller {
  if (installedFor === 'acp') return installedFor // our own proxy; nobody else's settings name it
  const fields = fieldsOf(payload)
  return byFields(fields) ?? byEnvironment(fields, env) ?? byTranscript(fields) ?? installedFor
}

const geminiEvents = /^(Before|After)(Agent|Model|Tool|ToolSelection)$/

function byFields(fields: Fields): AgentName | undefined {
  const has = (key: string) => fields[key] !== undefined
  if (has('clineVersion')) return 'cline'
  if (has('conversation_id') && has('cursor_version')) return 'cursor'
  if (has('hook') && has('input')) return 'opencode'
  if (has('sessionId') && !has('session_id')) return 'copilot-cli'
  const event = text(fields, 'hook_event_name') ?? ''
  if (geminiEvents.test(event) || (has('session_id') && isIsoTime(fields.timestamp))) return 'gemini-cli'
  if (has('turn_id') || (event === 'SessionStart' && has('model') && has('permission_mode'))) return 'codex'
  if (has('prompt_id') || has('effort') || (has('permission_mode') && !has('model'))) return 'claude-code'
  return undefined
}

function isIsoTime(value: unknown): boolean {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)
}

// Variables are inherited by whatever an agent starts. A session id counts only where it is the payload's own.
function byEnvironment(fields: Fields, env: Environment): AgentName | undefined {
  const session = text(fields, 'session_id')
  if (session === undefined) return undefined
  if (env.CLAUDE_CODE_SESSION_ID === session) return 'claude-code'
  return env.GEMINI_SESSION_ID === session ? 'gemini-cli' : undefined
}

function byTranscript(fields: Fields): AgentName | undefined {
  const path = text(fields, 'transcript_path')?.replaceAll('\\', '/') ?? ''
  if (/\/projects\/[^/]+\/[^/]+\.jsonl$/.test(path)) return 'claude-code'
  if (/\/sessions\/\d+\/\d+\/\d+\/rollout-[^/]+\.jsonl$/.test(path)) return 'codex'
  return /\/chats\/session-[^/]+\.jsonl?$/.test(path) ? 'gemini-cli' : undefined
}
