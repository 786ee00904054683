/** Gemini CLI's hooks (recorded from 0.61.0). It gives no ids for turns, steps or subagents. */

import {
  doesOf,
  howBegan,
  parserOf,
  sessionBegan,
  sessionEnded,
  stepBegan,
  stepEnded,
  type Tools,
  turnEnded,
} from '../dialect.ts'
import type { Call, Environment, Heard } from '../events.ts'
import { type Fields, fieldsOf, likenessOf, optional, processId, text, texts } from '../payload.ts'
import { snakeWords, wroteIn } from '../wrote.ts'

export const parse = parserOf({
  session: 'session_id',
  event: 'hook_event_name',
  heard: heardOf,
  events: {
    SessionStart: (heard, fields) => sessionBegan(heard, howBegan(text(fields, 'source'))),
    BeforeAgent: (heard, fields) => ({
      ...heard,
      kind: 'prompted',
      by: 'user',
      prompt: text(fields, 'prompt') ?? '',
    }),
    BeforeTool: (heard, fields) => stepBegan(heard, callOf(fields)),
    AfterTool: (heard, fields) => stepEnded(heard, callOf(fields), outcomeOf(fields)),
    AfterAgent: (heard) => turnEnded(heard, 'ok'),
    SessionEnd: sessionEnded,
  },
})

function heardOf(fields: Fields, session: string, env: Environment): Heard {
  const isOurs = env.GEMINI_SESSION_ID === session
  return {
    agent: 'gemini-cli',
    session,
    cwd: text(fields, 'cwd') ?? env.PWD ?? '/',
    ...optional('root', isOurs ? env.GEMINI_PROJECT_DIR || undefined : undefined),
    ...optional('pid', processId(env.UNTURN_AGENT_PID)),
  }
}

const tools: Tools = {
  edit: ['write_file', 'replace'],
  shell: ['run_shell_command'],
  subagent: ['invoke_agent'],
  mcp: 'mcp_',
  read: [
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
  ],
}

function callOf(fields: Fields): Call {
  const tool = text(fields, 'tool_name') ?? 'unknown'
  const input = fieldsOf(fields.tool_input)
  const does = doesOf(tool, tools)
  return {
    tool,
    does,
    paths: does === 'edit' ? texts(input, 'file_path').map((path) => ({ path })) : [],
    ...optional('command', does === 'shell' ? text(input, 'command') : undefined),
    ...optional('wrote', does === 'edit' ? wroteIn(text(input, 'file_path'), input, snakeWords) : undefined),
    likeness: likenessOf(input),
  }
}

// The exit code of a command is in the text for the model, and only where it is not zero.
function outcomeOf(fields: Fields): 'ok' | 'failed' | 'launched' {
  const response = fieldsOf(fields.tool_response)
  if (response.error !== undefined) return 'failed'
  const said = `${text(response, 'llmContent') ?? ''}\n${text(response, 'returnDisplay') ?? ''}`
  if (said.includes('Command moved to background')) return 'launched'
  return /^Exit Code: (?!0$)/m.test(said) ? 'failed' : 'ok'
}
