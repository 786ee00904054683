/** Cursor's hooks. From its documentation, not from a run. */

import {
  doesOf,
  parserOf,
  sessionBegan,
  sessionEnded,
  stepBegan,
  stepEnded,
  type Tools,
  turnEnded,
} from '../dialect.ts'
import type { Call, Environment, Heard } from '../events.ts'
import { type Fields, list, objectOrJson, optional, processId, text, texts } from '../payload.ts'

export const parse = parserOf({
  session: 'conversation_id',
  event: 'hook_event_name',
  heard: heardOf,
  events: {
    sessionStart: (heard) => sessionBegan(heard, 'unknown'),
    beforeSubmitPrompt: (heard, fields) => ({
      ...heard,
      kind: 'prompted',
      by: 'user',
      prompt: text(fields, 'prompt') ?? '',
      ...optional('message', heard.turn),
    }),
    preToolUse: (heard, fields) => stepBegan(heard, callOf(fields)),
    postToolUse: (heard, fields) => stepEnded(heard, callOf(fields), 'ok'),
    postToolUseFailure: (heard, fields) => stepEnded(heard, callOf(fields), 'failed'),
    stop: (heard, fields) => turnEnded(heard, outcomeOf(text(fields, 'status'))),
    sessionEnd: sessionEnded,
  },
})

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

const tools: Tools = {
  edit: ['Write', 'Edit', 'StrReplace', 'Delete', 'EditNotebook'],
  shell: ['Shell', 'Bash'],
  subagent: ['Task'],
  mcp: 'MCP',
  read: ['Read', 'Grep', 'Glob', 'LS', 'SemanticSearch', 'WebSearch'],
}

function callOf(fields: Fields): Call {
  const tool = text(fields, 'tool_name') ?? 'unknown'
  const input = objectOrJson(fields.tool_input)
  const named = texts(input, 'file_path', 'path', 'target_file', 'notebook_path').map((path) => ({
    path: plainPath(path),
  }))
  const does = doesOf(tool, tools)
  return {
    ...optional('id', text(fields, 'tool_use_id')?.replaceAll('\n', ' ')),
    tool,
    // Anything may have changed where an edit does not say what.
    does: does === 'edit' && named.length === 0 ? 'unknown' : does,
    paths: does === 'edit' ? named : [],
    ...optional('command', does === 'shell' ? text(input, 'command') : undefined),
  }
}

function outcomeOf(status: string | undefined): 'ok' | 'interrupted' | 'failed' {
  return status === 'aborted' ? 'interrupted' : status === 'error' ? 'failed' : 'ok'
}
