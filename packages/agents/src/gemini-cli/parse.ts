/** Gemini CLI's hooks (recorded from 0.61.0). It gives no ids for turns, steps or subagents. */

import type { AgentEvent, Call, Environment, Heard } from '../events.ts'
import { type Fields, fieldsOf, likenessOf, optional, processId, text, texts } from '../payload.ts'

export function parse(
  event: string | undefined,
  payload: unknown,
  env: Environment = {},
): readonly AgentEvent[] {
  const fields = fieldsOf(payload)
  const session = text(fields, 'session_id')
  if (session === undefined) return []
  const isOurs = env.GEMINI_SESSION_ID === session
  const heard: Heard = {
    agent: 'gemini-cli',
    session,
    cwd: text(fields, 'cwd') ?? env.PWD ?? '/',
    ...optional('root', isOurs ? env.GEMINI_PROJECT_DIR || undefined : undefined),
    ...optional('pid', processId(env.UNTURN_AGENT_PID)),
  }
  switch (text(fields, 'hook_event_name') ?? event) {
    case 'SessionStart':
      return [{ ...heard, kind: 'session-began', how: howBegan(text(fields, 'source')) }]
    case 'BeforeAgent':
      return [{ ...heard, kind: 'prompted', by: 'user', prompt: text(fields, 'prompt') ?? '' }]
    case 'BeforeTool':
      return [{ ...heard, kind: 'step-began', call: callOf(fields) }]
    case 'AfterTool':
      return [{ ...heard, kind: 'step-ended', call: callOf(fields), outcome: outcomeOf(fields) }]
    case 'AfterAgent':
      return [{ ...heard, kind: 'turn-ended', outcome: 'ok', stillRunning: [] }]
    case 'SessionEnd':
      return [{ ...heard, kind: 'session-ended', reason: text(fields, 'reason') ?? 'unknown' }]
    default:
      return []
  }
}

function howBegan(source: string | undefined) {
  if (source === 'startup') return 'new'
  return source === 'resume' ? 'resumed' : source === 'clear' ? 'cleared' : 'unknown'
}

const editTools: ReadonlySet<string> = new Set(['write_file', 'replace'])
const readTools: ReadonlySet<string> = new Set([
  'read_file',
  'read_many_files',
  'grep_search',
  'search_file_content',
  'glob',
  'list_directory',
  'google_web_search',
  'web_fetch',
  'complete_task',
  'write_todos',
])

function callOf(fields: Fields): Call {
  const tool = text(fields, 'tool_name') ?? 'unknown'
  const input = fieldsOf(fields.tool_input)
  const does = doesOf(tool)
  return {
    tool,
    does,
    paths: does === 'edit' ? texts(input, 'file_path').map((path) => ({ path })) : [],
    ...optional('command', does === 'shell' ? text(input, 'command') : undefined),
    likeness: likenessOf(input),
  }
}

function doesOf(tool: string): Call['does'] {
  if (editTools.has(tool)) return 'edit'
  if (tool === 'run_shell_command') return 'shell'
  if (tool === 'invoke_agent') return 'subagent'
  if (tool.startsWith('mcp_')) return 'mcp'
  return readTools.has(tool) ? 'read' : 'unknown'
}

// The exit code of a command is in the text for the model, and only where it is not zero.
function outcomeOf(fields: Fields): 'ok' | 'failed' | 'launched' {
  const response = fieldsOf(fields.tool_response)
  if (response.error !== undefined) return 'failed'
  const said = `${text(response, 'llmContent') ?? ''}\n${text(response, 'returnDisplay') ?? ''}`
  if (said.includes('Command moved to background')) return 'launched'
  return /^Exit Code: (?!0$)/m.test(said) ? 'failed' : 'ok'
}
