/**
 * Cline's hooks. Payloads recorded once from CLI 2.18.0; the rest, and everything about 3.x, from its source and
 * documentation. Paths are relative to the first workspace root; there are no ids for calls in 2.x.
 */

import type { AgentEvent, Call, Environment, Heard } from '../events.ts'
import { type Fields, fieldsOf, likenessOf, list, optional, processId, text, texts } from '../payload.ts'

export function parse(
  event: string | undefined,
  payload: unknown,
  env: Environment = {},
): readonly AgentEvent[] {
  const fields = fieldsOf(payload)
  const session = text(fields, 'taskId')
  if (session === undefined) return []
  const heard = heardOf(fields, session, env)
  switch (text(fields, 'hookName') ?? event) {
    case 'TaskStart':
    case 'TaskResume':
      return [
        {
          ...heard,
          kind: 'session-began',
          how: text(fields, 'hookName') === 'TaskResume' ? 'resumed' : 'new',
        },
      ]
    case 'UserPromptSubmit': {
      const prompt = text(fieldsOf(fields.userPromptSubmit), 'prompt') ?? ''
      return [{ ...heard, kind: 'prompted', by: 'user', prompt }]
    }
    case 'PreToolUse':
      return [{ ...heard, kind: 'step-began', call: callOf(fieldsOf(fields.preToolUse), fields) }]
    case 'PostToolUse': {
      const done = fieldsOf(fields.postToolUse)
      const outcome = done.success === false ? 'failed' : 'ok'
      return [{ ...heard, kind: 'step-ended', call: callOf(done, fields), outcome }]
    }
    case 'TaskComplete':
      return [{ ...heard, kind: 'turn-ended', outcome: 'ok', stillRunning: [] }]
    case 'TaskError':
      return [{ ...heard, kind: 'turn-ended', outcome: 'failed', stillRunning: [] }]
    // Comes after a success, too; a turn that has ended does not end again.
    case 'TaskCancel':
      return [{ ...heard, kind: 'turn-ended', outcome: 'interrupted', stillRunning: [] }]
    default:
      return []
  }
}

function heardOf(fields: Fields, session: string, env: Environment): Heard {
  const root = list(fields, 'workspaceRoots').find((one): one is string => typeof one === 'string')
  const folder = root ?? env.PWD ?? '/'
  return {
    agent: 'cline',
    session,
    ...optional('subagent', text(fields, 'agent_id')),
    cwd: folder,
    root: folder,
    ...optional('pid', processId(env.UNTURN_AGENT_PID)),
  }
}

const editTools: ReadonlySet<string> = new Set(['write_to_file', 'replace_in_file', 'new_rule'])
const readTools: ReadonlySet<string> = new Set([
  'read_file',
  'list_files',
  'search_files',
  'list_code_definition_names',
  'ask_followup_question',
  'attempt_completion',
  'plan_mode_respond',
  'web_fetch',
])

function callOf(use: Fields, fields: Fields): Call {
  const tool = text(use, 'toolName') ?? 'unknown'
  const parameters = fieldsOf(use.parameters)
  const named = texts(parameters, 'path', 'absolutePath').map((path) => ({ path }))
  const does = editTools.has(tool) && named.length > 0 ? 'edit' : doesOf(tool)
  return {
    ...optional('id', text(fieldsOf(fields.tool_call), 'id')),
    tool,
    does,
    paths: does === 'edit' ? named : [],
    ...optional('command', does === 'shell' ? text(parameters, 'command') : undefined),
    // Seen at the announcement: the new file stands there already, empty.
    ...optional('hasBegun', tool === 'write_to_file' ? true : undefined),
    likeness: likenessOf(parameters),
  }
}

function doesOf(tool: string): Call['does'] {
  if (tool === 'execute_command') return 'shell'
  if (tool === 'use_mcp_tool') return 'mcp'
  if (tool === 'new_task') return 'subagent'
  return readTools.has(tool) ? 'read' : 'unknown'
}
