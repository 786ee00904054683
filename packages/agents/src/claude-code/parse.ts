/** Claude Code's hooks (recorded from 2.1.325). */

import type { AgentEvent, Call, Environment, Heard } from '../events.ts'
import { type Fields, fieldsOf, list, optional, processId, text, texts } from '../payload.ts'

export function parse(
  event: string | undefined,
  payload: unknown,
  env: Environment = {},
): readonly AgentEvent[] {
  const fields = fieldsOf(payload)
  const session = text(fields, 'session_id')
  if (session === undefined) return []
  const heard = heardOf(fields, session, env)
  switch (text(fields, 'hook_event_name') ?? event) {
    case 'SessionStart':
      return [{ ...heard, kind: 'session-began', how: howBegan(text(fields, 'source')) }]
    case 'UserPromptSubmit':
      return [prompted(heard, text(fields, 'prompt') ?? '')]
    case 'PreToolUse':
      return [{ ...heard, kind: 'step-began', call: callOf(fields) }]
    case 'PostToolUse':
      return [
        {
          ...heard,
          kind: 'step-ended',
          call: callOf(fields),
          outcome: isLaunched(fields) ? 'launched' : 'ok',
        },
      ]
    case 'PostToolUseFailure':
      return [{ ...heard, kind: 'step-ended', call: callOf(fields), outcome: 'failed' }]
    case 'SubagentStart':
      return subagent(heard, 'subagent-began', fields)
    case 'SubagentStop':
      return subagent(heard, 'subagent-ended', fields)
    case 'Stop':
      return [{ ...heard, kind: 'turn-ended', outcome: 'ok', stillRunning: stillRunning(fields) }]
    case 'StopFailure':
      return [{ ...heard, kind: 'turn-ended', outcome: 'failed', stillRunning: [] }]
    case 'CwdChanged':
      return [{ ...heard, kind: 'moved' }]
    case 'SessionEnd':
      return [{ ...heard, kind: 'session-ended', reason: text(fields, 'reason') ?? 'unknown' }]
    default:
      return []
  }
}

function heardOf(fields: Fields, session: string, env: Environment): Heard {
  // Variables are inherited: another agent, started from Claude's shell, has them too. The session says whose they are.
  const isOurs = env.CLAUDE_CODE_SESSION_ID === session
  return {
    agent: 'claude-code',
    session,
    ...optional('subagent', text(fields, 'agent_id')),
    ...optional('turn', text(fields, 'prompt_id')),
    cwd: text(fields, 'cwd') ?? env.PWD ?? '/',
    ...optional('root', isOurs ? env.CLAUDE_PROJECT_DIR || undefined : undefined),
    ...optional('pid', isOurs ? processId(env.CLAUDE_PID) : undefined),
  }
}

function howBegan(source: string | undefined) {
  switch (source) {
    case 'startup':
      return 'new'
    case 'resume':
      return 'resumed'
    case 'fork':
      return 'forked'
    case 'compact':
      return 'compacted'
    case 'clear':
      return 'cleared'
    default:
      return 'unknown'
  }
}

// When a background task ends, Claude Code prompts itself. Nothing but the text tells it from the user.
function prompted(heard: Heard, prompt: string): AgentEvent {
  const isMachine = prompt.startsWith('<task-notification>')
  const about = isMachine ? /<tool-use-id>([^<]+)<\/tool-use-id>/.exec(prompt)?.[1] : undefined
  return {
    ...heard,
    kind: 'prompted',
    by: isMachine ? 'machine' : 'user',
    prompt,
    ...optional('message', heard.turn),
    ...optional('about', about),
  }
}

const editTools: ReadonlySet<string> = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit'])
const readTools: ReadonlySet<string> = new Set([
  'Read',
  'Glob',
  'Grep',
  'LS',
  'WebFetch',
  'WebSearch',
  'TodoWrite',
  'TaskOutput',
  'BashOutput',
  'AskUserQuestion',
  'ExitPlanMode',
  'ToolSearch',
])

function callOf(fields: Fields): Call {
  const tool = text(fields, 'tool_name') ?? 'unknown'
  const input = fieldsOf(fields.tool_input)
  const named = texts(input, 'file_path', 'notebook_path').map((path) => ({ path }))
  const does = doesOf(tool)
  return {
    ...optional('id', text(fields, 'tool_use_id')),
    tool,
    does,
    paths: does === 'edit' ? named : [],
    ...optional('command', does === 'shell' ? text(input, 'command') : undefined),
  }
}

function doesOf(tool: string): Call['does'] {
  if (editTools.has(tool)) return 'edit'
  if (tool === 'Bash') return 'shell'
  if (tool === 'Agent' || tool === 'Task') return 'subagent'
  if (tool.startsWith('mcp__')) return 'mcp'
  return readTools.has(tool) ? 'read' : 'unknown'
}

// The tool has returned and its work goes on: a command in the background, a subagent that was sent off.
function isLaunched(fields: Fields): boolean {
  const response = fieldsOf(fields.tool_response)
  return text(response, 'backgroundTaskId') !== undefined || text(response, 'status') === 'async_launched'
}

function subagent(
  heard: Heard,
  kind: 'subagent-began' | 'subagent-ended',
  fields: Fields,
): readonly AgentEvent[] {
  const of = text(fields, 'agent_id')
  return of === undefined ? [] : [{ ...heard, kind, of, ...optional('type', text(fields, 'agent_type')) }]
}

function stillRunning(fields: Fields): readonly string[] {
  return list(fields, 'background_tasks')
    .map(fieldsOf)
    .filter((task) => task.status === 'running')
    .map(
      (task) => text(task, 'command') ?? text(task, 'description') ?? text(task, 'id') ?? 'a background task',
    )
}
