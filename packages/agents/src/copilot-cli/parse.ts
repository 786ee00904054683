/** Copilot CLI's hooks. From its documentation, not from a run. It gives no ids for turns and steps. */

import { pathsOfPatch } from '../apply-patch.ts'
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
import type { Call } from '../events.ts'
import { type Fields, likenessOf, objectOrJson, optional, processId, text, texts } from '../payload.ts'

export const parse = parserOf({
  session: 'sessionId',
  event: 'hookEventName',
  heard: (fields, session, env) => ({
    agent: 'copilot-cli',
    session,
    cwd: text(fields, 'cwd') ?? env.PWD ?? '/',
    ...optional('pid', processId(env.UNTURN_AGENT_PID)),
  }),
  events: {
    sessionStart: (heard, fields) =>
      sessionBegan(heard, text(fields, 'source') === 'resume' ? 'resumed' : 'new'),
    userPromptSubmitted: (heard, fields) => ({
      ...heard,
      kind: 'prompted',
      by: 'user',
      prompt: text(fields, 'prompt') ?? '',
    }),
    preToolUse: (heard, fields) => stepBegan(heard, callOf(fields)),
    postToolUse: (heard, fields) => stepEnded(heard, callOf(fields), 'ok'),
    postToolUseFailure: (heard, fields) => stepEnded(heard, callOf(fields), 'failed'),
    agentStop: (heard) => turnEnded(heard, 'ok'),
    sessionEnd: sessionEnded,
  },
})

const tools: Tools = {
  edit: ['create', 'edit', 'str_replace_editor', 'apply_patch'],
  shell: ['bash', 'powershell'],
  subagent: ['task'],
  read: ['view', 'grep', 'glob', 'web_fetch', 'report_intent'],
}

function callOf(fields: Fields): Call {
  const tool = text(fields, 'toolName') ?? 'unknown'
  const args = objectOrJson(fields.toolArgs)
  const named = [
    ...texts(args, 'path', 'file_path').map((path) => ({ path })),
    ...texts(args, 'patch', 'input').flatMap(pathsOfPatch),
  ]
  const does = doesOf(tool, tools)
  return {
    tool,
    does: does === 'edit' && named.length === 0 ? 'unknown' : does,
    paths: does === 'edit' ? named : [],
    ...optional('command', does === 'shell' ? text(args, 'command') : undefined),
    likeness: likenessOf(args),
  }
}
