/**
 * Cline's hooks. Payloads recorded once from CLI 2.18.0; the rest, and everything about 3.x, from its source and
 * documentation. Paths are relative to the first workspace root; there are no ids for calls in 2.x.
 */

import { doesOf, parserOf, sessionBegan, stepBegan, stepEnded, type Tools, turnEnded } from '../dialect.ts'
import type { Call, Environment, Heard } from '../events.ts'
import { type Fields, fieldsOf, likenessOf, list, optional, processId, text, texts } from '../payload.ts'

export const parse = parserOf({
  session: 'taskId',
  event: 'hookName',
  heard: heardOf,
  events: {
    TaskStart: (heard) => sessionBegan(heard, 'new'),
    TaskResume: (heard) => sessionBegan(heard, 'resumed'),
    UserPromptSubmit: (heard, fields) => ({
      ...heard,
      kind: 'prompted',
      by: 'user',
      prompt: text(fieldsOf(fields.userPromptSubmit), 'prompt') ?? '',
    }),
    PreToolUse: (heard, fields) => stepBegan(heard, callOf(fieldsOf(fields.preToolUse), fields)),
    PostToolUse: (heard, fields) => {
      const done = fieldsOf(fields.postToolUse)
      return stepEnded(heard, callOf(done, fields), done.success === false ? 'failed' : 'ok')
    },
    TaskComplete: (heard) => turnEnded(heard, 'ok'),
    TaskError: (heard) => turnEnded(heard, 'failed'),
    // Comes after a success, too; a turn that has ended does not end again.
    TaskCancel: (heard) => turnEnded(heard, 'interrupted'),
  },
})

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

const tools: Tools = {
  edit: ['write_to_file', 'replace_in_file', 'new_rule'],
  shell: ['execute_command'],
  subagent: ['new_task'],
  mcp: 'use_mcp_tool',
  read: [
    'read_file',
    'list_files',
    'search_files',
    'list_code_definition_names',
    'ask_followup_question',
    'attempt_completion',
    'plan_mode_respond',
    'web_fetch',
  ],
}

function callOf(use: Fields, fields: Fields): Call {
  const tool = text(use, 'toolName') ?? 'unknown'
  const parameters = fieldsOf(use.parameters)
  const named = texts(parameters, 'path', 'absolutePath').map((path) => ({ path }))
  const does = doesOf(tool, tools)
  return {
    ...optional('id', text(fieldsOf(fields.tool_call), 'id')),
    tool,
    does: does === 'edit' && named.length === 0 ? 'unknown' : does,
    paths: does === 'edit' ? named : [],
    ...optional('command', does === 'shell' ? text(parameters, 'command') : undefined),
    // Seen at the announcement: the new file stands there already, empty.
    ...optional('hasBegun', tool === 'write_to_file' ? true : undefined),
    likeness: likenessOf(parameters),
  }
}
