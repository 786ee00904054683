/** Codex's hooks (recorded from 0.166.0). */

import { pathsOfPatch, wroteByPatch } from '../apply-patch.ts'
import {
  doesOf,
  howBegan,
  parserOf,
  sessionBegan,
  sessionEnded,
  stepBegan,
  stepEnded,
  subagent,
  type Tools,
  turnEnded,
} from '../dialect.ts'
import type { AgentEvent, Call, Heard } from '../events.ts'
import { type Fields, fieldsOf, optional, processId, text } from '../payload.ts'

export const parse = parserOf({
  session: 'session_id',
  event: 'hook_event_name',
  heard: (fields, session, env) => ({
    agent: 'codex',
    session,
    ...optional('subagent', text(fields, 'agent_id')),
    ...optional('turn', text(fields, 'turn_id')),
    cwd: text(fields, 'cwd') ?? env.PWD ?? '/',
    ...optional('pid', processId(env.UNTURN_AGENT_PID)),
  }),
  events: {
    SessionStart: (heard, fields) => sessionBegan(heard, howBegan(text(fields, 'source'))),
    UserPromptSubmit: (heard, fields) => prompted(heard, text(fields, 'prompt') ?? ''),
    PreToolUse: (heard, fields) => stepBegan(heard, callOf(fields)),
    // A command's exit code is not told, and one that still runs gets no such event at all.
    PostToolUse: (heard, fields) => stepEnded(heard, callOf(fields), 'unknown'),
    SubagentStart: (heard, fields) => subagent(heard, 'subagent-began', fields),
    SubagentStop: (heard, fields) => subagent(heard, 'subagent-ended', fields),
    Stop: (heard) => turnEnded(heard, 'ok'),
    Interrupt: (heard) => turnEnded(heard, 'interrupted'),
    SessionEnd: sessionEnded,
  },
})

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

const tools: Tools = {
  edit: ['apply_patch'],
  shell: ['Bash'],
  subagent: ['spawn_agent'],
  mcp: 'mcp__',
  read: ['update_plan', 'view_image', 'web_search', 'wait_agent', 'close_agent'],
}

function callOf(fields: Fields): Call {
  const tool = text(fields, 'tool_name') ?? 'unknown'
  const command = text(fieldsOf(fields.tool_input), 'command')
  const does = doesOf(tool, tools)
  return {
    ...optional('id', text(fields, 'tool_use_id')),
    tool,
    does,
    paths: does === 'edit' ? pathsOfPatch(command ?? '') : [],
    ...optional('command', does === 'shell' ? command : undefined),
    ...optional('wrote', does === 'edit' ? wroteByPatch(command ?? '') : undefined),
  }
}
