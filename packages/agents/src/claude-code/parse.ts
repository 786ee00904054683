/** Claude Code's hooks (recorded from 2.1.325). */

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
import type { AgentEvent, Call, Environment, Heard } from '../events.ts'
import { type Fields, fieldsOf, list, optional, processId, text, texts } from '../payload.ts'
import { snakeWords, wroteIn } from '../wrote.ts'

export const parse = parserOf({
  session: 'session_id',
  event: 'hook_event_name',
  heard: heardOf,
  events: {
    SessionStart: (heard, fields) => sessionBegan(heard, howBegan(text(fields, 'source'))),
    UserPromptSubmit: (heard, fields) => prompted(heard, text(fields, 'prompt') ?? ''),
    PreToolUse: (heard, fields) => stepBegan(heard, callOf(fields)),
    PostToolUse: (heard, fields) => stepEnded(heard, callOf(fields), isLaunched(fields) ? 'launched' : 'ok'),
    PostToolUseFailure: (heard, fields) => stepEnded(heard, callOf(fields), 'failed'),
    SubagentStart: (heard, fields) => subagent(heard, 'subagent-began', fields),
    SubagentStop: (heard, fields) => subagent(heard, 'subagent-ended', fields),
    Stop: (heard, fields) => turnEnded(heard, 'ok', stillRunning(fields)),
    StopFailure: (heard) => turnEnded(heard, 'failed'),
    CwdChanged: (heard) => ({ ...heard, kind: 'moved' }),
    SessionEnd: sessionEnded,
  },
})

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

const tools: Tools = {
  edit: ['Write', 'Edit', 'MultiEdit', 'NotebookEdit'],
  shell: ['Bash'],
  subagent: ['Agent', 'Task'],
  mcp: 'mcp__',
  read: [
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
  ],
}

function callOf(fields: Fields): Call {
  const tool = text(fields, 'tool_name') ?? 'unknown'
  const input = fieldsOf(fields.tool_input)
  const named = texts(input, 'file_path', 'notebook_path').map((path) => ({ path }))
  const does = doesOf(tool, tools)
  return {
    ...optional('id', text(fields, 'tool_use_id')),
    tool,
    does,
    paths: does === 'edit' ? named : [],
    ...optional('command', does === 'shell' ? text(input, 'command') : undefined),
    ...optional('wrote', does === 'edit' ? wroteIn(text(input, 'file_path'), input, snakeWords) : undefined),
  }
}

// The tool has returned and its work goes on: a command in the background, a subagent that was sent off.
function isLaunched(fields: Fields): boolean {
  const response = fieldsOf(fields.tool_response)
  return text(response, 'backgroundTaskId') !== undefined || text(response, 'status') === 'async_launched'
}

function stillRunning(fields: Fields): readonly string[] {
  return list(fields, 'background_tasks')
    .map(fieldsOf)
    .filter((task) => task.status === 'running')
    .map(
      (task) => text(task, 'command') ?? text(task, 'description') ?? text(task, 'id') ?? 'a background task',
    )
}
