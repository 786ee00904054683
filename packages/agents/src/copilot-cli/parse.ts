/** Copilot CLI's hooks. From its documentation, not from a run. It gives no ids for turns and steps. */

import { pathsOfPatch } from '../apply-patch.ts'
import type { AgentEvent, Call, Environment, Heard } from '../events.ts'
import {
  type Fields,
  fieldsOf,
  likenessOf,
  objectOrJson,
  optional,
  processId,
  text,
  texts,
} from '../payload.ts'

export function parse(
  event: string | undefined,
  payload: unknown,
  env: Environment = {},
): readonly AgentEvent[] {
  const fields = fieldsOf(payload)
  const session = text(fields, 'sessionId')
  if (session === undefined) return []
  const heard: Heard = {
    agent: 'copilot-cli',
    session,
    cwd: text(fields, 'cwd') ?? env.PWD ?? '/',
    ...optional('pid', processId(env.UNTURN_AGENT_PID)),
  }
  switch (text(fields, 'hookEventName') ?? event) {
    case 'sessionStart':
      return [
        {
          ...heard,
          kind: 'session-began',
          how: text(fields, 'source') === 'resume' ? 'resumed' : 'new',
        },
      ]
    case 'userPromptSubmitted':
      return [{ ...heard, kind: 'prompted', by: 'user', prompt: text(fields, 'prompt') ?? '' }]
    case 'preToolUse':
      return [{ ...heard, kind: 'step-began', call: callOf(fields) }]
    case 'postToolUse':
      return [{ ...heard, kind: 'step-ended', call: callOf(fields), outcome: 'ok' }]
    case 'postToolUseFailure':
      return [{ ...heard, kind: 'step-ended', call: callOf(fields), outcome: 'failed' }]
    case 'agentStop':
      return [{ ...heard, kind: 'turn-ended', outcome: 'ok', stillRunning: [] }]
    case 'sessionEnd':
      return [{ ...heard, kind: 'session-ended', reason: text(fields, 'reason') ?? 'unknown' }]
    default:
      return []
  }
}

const editTools: ReadonlySet<string> = new Set(['create', 'edit', 'str_replace_editor', 'apply_patch'])
const readTools: ReadonlySet<string> = new Set(['view', 'grep', 'glob', 'web_fetch', 'report_intent'])

function callOf(fields: Fields): Call {
  const tool = text(fields, 'toolName') ?? 'unknown'
  const args = objectOrJson(fields.toolArgs)
  const named = [
    ...texts(args, 'path', 'file_path').map((path) => ({ path })),
    ...texts(args, 'patch', 'input').flatMap(pathsOfPatch),
  ]
  const does = editTools.has(tool) && named.length > 0 ? 'edit' : doesOf(tool)
  return {
    tool,
    does,
    paths: does === 'edit' ? named : [],
    ...optional('command', does === 'shell' ? text(args, 'command') : undefined),
    likeness: likenessOf(args),
  }
}

function doesOf(tool: string): Call['does'] {
  if (tool === 'bash' || tool === 'powershell') return 'shell'
  if (tool === 'task') return 'subagent'
  return readTools.has(tool) ? 'read' : 'unknown'
}
