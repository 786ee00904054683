/** Codex's hooks (recorded from 0.166.0). */

import { pathsOfPatch } from '../apply-patch.ts'
import type { AgentEvent, Call, Environment, Heard } from '../events.ts'
import { type Fields, fieldsOf, optional, processId, text } from '../payload.ts'

export function parse(
  event: string | undefined,
  payload: unknown,
  env: Environment = {},
): readonly AgentEvent[] {
  const fields = fieldsOf(payload)
  const session = text(fields, 'session_id')
  if (session === undefined) return []
  const heard: Heard = {
    agent: 'codex',
    session,
    ...optional('subagent', text(fields, 'agent_id')),
    ...optional('turn', text(fields, 'turn_id')),
    cwd: text(fields, 'cwd') ?? env.PWD ?? '/',
    ...optional('pid', processId(env.UNTURN_AGENT_PID)),
  }
  switch (text(fields, 'hook_event_name') ?? event) {
    case 'SessionStart':
      return [{ ...heard, kind: 'session-began', how: howBegan(text(fields, 'source')) }]
    case 'UserPromptSubmit':
      return [prompted(heard, text(fields, 'prompt') ?? '')]
    case 'PreToolUse':
      return [{ ...heard, kind: 'step-began', call: callOf(fields) }]
    case 'PostToolUse':
      // A command's exit code is not told, and one that still runs gets no such event at all.
      return [{ ...heard, kind: 'step-ended', call: callOf(fields), outcome: 'unknown' }]
    case 'SubagentStart':
      return subagent(heard, 'subagent-began', fields)
    case 'SubagentStop':
      return subagent(heard, 'subagent-ended', fields)
    case 'Stop':
      return [{ ...heard, kind: 'turn-ended', outcome: 'ok', stillRunning: [] }]
    case 'Interrupt':
      return [{ ...heard, kind: 'turn-ended', outcome: 'interrupted', stillRunning: [] }]
    case 'SessionEnd':
      return [{ ...heard, kind: 'session-ended', reason: text(fields, 'reason') ?? 'unknown' }]
    default:
      return []
  }
}

function howBegan(source: string | undefined) {
  if (source === 'startup') return 'new'
  if (source === 'resume') return 'resumed'
  return source === 'clear' ? 'cleared' : source === 'compact' ? 'compacted' : 'unknown'
}

// A subagent gets its task as a prompt of its own; its work belongs to the turn of its parent.
function prompted(heard: Heard, prompt: string): AgentEvent {
  return {
    ...heard,
    kind: 'prompted',
    by: heard.subagent === undefined ? 'user' : 'parent-agent',
    prompt,
    ...optional('message', heard.turn),
  }
}

const readTools: ReadonlySet<string> = new Set([
  'update_plan',
  'view_image',
  'web_search',
  'wait_agent',
  'close_agent',
])

function callOf(fields: Fields): Call {
  const tool = text(fields, 'tool_name') ?? 'unknown'
  const command = text(fieldsOf(fields.tool_input), 'command')
  const does = doesOf(tool)
  return {
    ...optional('id', text(fields, 'tool_use_id')),
    tool,
    does,
    paths: does === 'edit' ? pathsOfPatch(command ?? '') : [],
    ...optional('command', does === 'shell' ? command : undefined),
  }
}

function doesOf(tool: string): Call['does'] {
  if (tool === 'apply_patch') return 'edit'
  if (tool === 'Bash') return 'shell'
  if (tool === 'spawn_agent') return 'subagent'
  if (tool.startsWith('mcp__')) return 'mcp'
  return readTools.has(tool) ? 'read' : 'unknown'
}

function subagent(
  heard: Heard,
  kind: 'subagent-began' | 'subagent-ended',
  fields: Fields,
): readonly AgentEvent[] {
  const of = text(fields, 'agent_id')
  return of === undefined ? [] : [{ ...heard, kind, of, ...optional('type', text(fields, 'agent_type')) }]
}
