/** Cursor's hooks. From its documentation, not from a run. */

import type { AgentEvent, Call, Environment, Heard } from '../events.ts'
import { type Fields, fieldsOf, list, objectOrJson, optional, processId, text, texts } from '../payload.ts'

export function parse(
  event: string | undefined,
  payload: unknown,
  env: Environment = {},
): readonly AgentEvent[] {
  const fields = fieldsOf(payload)
  const session = text(fields, 'conversation_id')
  if (session === undefined) return []
  const heard = heardOf(fields, session, env)
  switch (text(fields, 'hook_event_name') ?? event) {
    case 'sessionStart':
      return [{ ...heard, kind: 'session-began', how: 'unknown' }]
    case 'beforeSubmitPrompt':
      return [
        {
          ...heard,
          kind: 'prompted',
          by: 'user',
          prompt: text(fields, 'prompt') ?? '',
          ...optional('message', heard.turn),
        },
      ]
    case 'preToolUse':
      return [{ ...heard, kind: 'step-began', call: callOf(fields) }]
    case 'postToolUse':
      return [{ ...heard, kind: 'step-ended', call: callOf(fields), outcome: 'ok' }]
    case 'postToolUseFailure':
      return [{ ...heard, kind: 'step-ended', call: callOf(fields), outcome: 'failed' }]
    case 'stop':
      return [{ ...heard, kind: 'turn-ended', outcome: outcomeOf(text(fields, 'status')), stillRunning: [] }]
    case 'sessionEnd':
      return [{ ...heard, kind: 'session-ended', reason: text(fields, 'reason') ?? 'unknown' }]
    default:
      return []
  }
}

function heardOf(fields: Fields, session: string, env: Environment): Heard {
  const roots = list(fields, 'workspace_roots').filter((root): root is string => typeof root === 'string')
  const root = roots[0]
  return {
    agent: 'cursor',
    session,
    ...optional('subagent', text(fields, 'subagent_id')),
    ...optional('turn', text(fields, 'generation_id')),
    cwd: plainPath(text(fields, 'cwd') ?? root ?? env.PWD ?? '/'),
    ...optional('root', root === undefined ? undefined : plainPath(root)),
    ...optional('pid', processId(env.UNTURN_AGENT_PID)),
  }
}

// On Windows its paths look like `/c:/folder`.
function plainPath(path: string): string {
  return /^\/[a-z]:\//i.test(path) ? path.slice(1) : path
}

const editTools: ReadonlySet<string> = new Set(['Write', 'Edit', 'StrReplace', 'Delete', 'EditNotebook'])
const readTools: ReadonlySet<string> = new Set(['Read', 'Grep', 'Glob', 'LS', 'SemanticSearch', 'WebSearch'])

function callOf(fields: Fields): Call {
  const tool = text(fields, 'tool_name') ?? 'unknown'
  const input = objectOrJson(fields.tool_input)
  const named = texts(input, 'file_path', 'path', 'target_file', 'notebook_path').map((path) => ({
    path: plainPath(path),
  }))
  const does = editTools.has(tool) && named.length > 0 ? 'edit' : doesOf(tool)
  return {
    ...optional('id', text(fields, 'tool_use_id')?.replaceAll('\n', ' ')),
    tool,
    does,
    paths: does === 'edit' ? named : [],
    ...optional('command', does === 'shell' ? text(input, 'command') : undefined),
  }
}

function doesOf(tool: string): Call['does'] {
  if (tool === 'Shell' || tool === 'Bash') return 'shell'
  if (tool === 'Task') return 'subagent'
  if (tool.startsWith('MCP')) return 'mcp'
  return readTools.has(tool) ? 'read' : 'unknown'
}

function outcomeOf(status: string | undefined): 'ok' | 'interrupted' | 'failed' {
  return status === 'aborted' ? 'interrupted' : status === 'error' ? 'failed' : 'ok'
}
