/**
 * OpenCode's plugin hooks (recorded from 1.18.18), as our plugin hands them on: `{ hook, input, output }` with the
 * folder, the process and the root of the session beside them. A session with a parent is a subagent.
 */

import { pathsOfPatch, wroteByPatch } from '../apply-patch.ts'
import { doesOf, type Tools } from '../dialect.ts'
import type { AgentEvent, Call, Environment, Heard, NamedPath } from '../events.ts'
import { type Fields, fieldsOf, list, optional, processId, text, texts } from '../payload.ts'
import { camelWords, wroteIn } from '../wrote.ts'

export function parse(
  event: string | undefined,
  payload: unknown,
  env: Environment = {},
): readonly AgentEvent[] {
  const fields = fieldsOf(payload)
  const input = fieldsOf(fields.input)
  const hook = text(fields, 'hook') ?? event
  const own = hook === 'event' ? sessionOfEvent(input) : text(input, 'sessionID')
  if (own === undefined) return []
  const heard = heardOf(fields, own, env)
  switch (hook) {
    case 'chat.message':
      return prompted(heard, fieldsOf(fields.output))
    case 'tool.execute.before':
      return [{ ...heard, kind: 'step-began', call: callOf(input, fieldsOf(fieldsOf(fields.output).args)) }]
    case 'tool.execute.after':
      return [
        {
          ...heard,
          kind: 'step-ended',
          call: callOf(input, fieldsOf(input.args)),
          outcome: outcomeOf(fieldsOf(fields.output)),
        },
      ]
    case 'event':
      return ofBus(heard, input)
    default:
      return []
  }
}

function sessionOfEvent(event: Fields): string | undefined {
  const properties = fieldsOf(event.properties)
  return text(properties, 'sessionID') ?? text(fieldsOf(properties.info), 'id')
}

function heardOf(fields: Fields, own: string, env: Environment): Heard {
  const session = text(fields, 'rootSession') ?? own
  const folder = text(fields, 'directory') ?? env.PWD ?? '/'
  return {
    agent: 'opencode',
    session,
    ...optional('subagent', session === own ? undefined : own),
    cwd: folder,
    root: folder,
    ...optional('pid', processId(typeof fields.pid === 'number' ? fields.pid : undefined)),
  }
}

function prompted(heard: Heard, output: Fields): readonly AgentEvent[] {
  const parts = list(output, 'parts').map(fieldsOf)
  const typed = parts.filter((part) => part.type === 'text' && part.synthetic !== true)
  // A notice that was put in without asking for a reply comes by here like a prompt.
  if (parts.length > 0 && typed.length === 0) return []
  const message = text(fieldsOf(output.message), 'id')
  return [
    {
      ...heard,
      kind: 'prompted',
      by: heard.subagent === undefined ? 'user' : 'parent-agent',
      prompt: typed.map((part) => text(part, 'text') ?? '').join('\n'),
      ...optional('turn', message),
      ...optional('message', message),
    },
  ]
}

const tools: Tools = {
  edit: ['write', 'edit', 'multiedit', 'patch', 'apply_patch'],
  shell: ['bash'],
  subagent: ['task'],
  read: [
    'read',
    'glob',
    'grep',
    'list',
    'webfetch',
    'websearch',
    'codesearch',
    'todowrite',
    'todoread',
    'question',
    'skill',
    'lsp',
  ],
}

function callOf(input: Fields, args: Fields): Call {
  const tool = text(input, 'tool') ?? 'unknown'
  const does = doesOf(tool, tools)
  const paths = does === 'edit' ? editedPaths(args) : []
  return {
    ...optional('id', text(input, 'callID')),
    tool,
    // Which words an edit tool has for its paths depends on the model. Where none is found, anything may have changed.
    does: does === 'edit' && paths.length === 0 ? 'unknown' : does,
    paths,
    ...optional('command', does === 'shell' ? text(args, 'command') : undefined),
    ...(does === 'edit'
      ? { wrote: [...wroteIn(text(args, 'filePath'), args, camelWords), ...wroteByPatch(patchIn(args))] }
      : {}),
  }
}

function patchIn(args: Fields): string {
  return texts(args, 'patchText', 'patch', 'input').join('\n')
}

function editedPaths(args: Fields): readonly NamedPath[] {
  const named = texts(args, 'filePath', 'file_path').map((path) => ({ path }))
  return [...named, ...texts(args, 'patchText', 'patch', 'input').flatMap(pathsOfPatch)]
}

function outcomeOf(output: Fields): 'ok' | 'failed' | 'unknown' {
  const { exit } = fieldsOf(output.metadata)
  return exit === undefined || exit === 0 ? 'ok' : 'failed'
}

function ofBus(heard: Heard, event: Fields): readonly AgentEvent[] {
  const properties = fieldsOf(event.properties)
  switch (text(event, 'type')) {
    case 'session.created':
      return created(heard, text(fieldsOf(properties.info), 'parentID'))
    case 'session.idle':
      return idle(heard)
    case 'session.status':
      return fieldsOf(properties.status).type === 'idle' ? idle(heard) : []
    case 'session.error':
      return heard.subagent === undefined ? [turnEnded(heard, fieldsOf(properties.error))] : []
    case 'session.updated':
      return [ownUndo(heard, fieldsOf(fieldsOf(properties.info).revert))]
    case 'session.deleted':
      return [{ ...heard, kind: 'session-ended', reason: 'deleted' }]
    default:
      return []
  }
}

function created(heard: Heard, parent: string | undefined): readonly AgentEvent[] {
  if (heard.subagent !== undefined) return [{ ...heard, kind: 'subagent-began', of: heard.subagent }]
  return parent === undefined ? [{ ...heard, kind: 'session-began', how: 'new' }] : []
}

// Only the root's idle ends the turn: a subagent that is done hands its answer to its parent, which goes on.
function idle(heard: Heard): readonly AgentEvent[] {
  if (heard.subagent !== undefined) return [{ ...heard, kind: 'subagent-ended', of: heard.subagent }]
  return [{ ...heard, kind: 'turn-ended', outcome: 'ok', stillRunning: [] }]
}

function turnEnded(heard: Heard, error: Fields): AgentEvent {
  const outcome = text(error, 'name') === 'MessageAbortedError' ? 'interrupted' : 'failed'
  return { ...heard, kind: 'turn-ended', outcome, stillRunning: [] }
}

// The plugin hands on only an update whose `revert` came, went or changed.
function ownUndo(heard: Heard, revert: Fields): AgentEvent {
  const to = text(revert, 'partID') ?? text(revert, 'messageID')
  return { ...heard, kind: 'own-undo', undone: to === undefined, ...optional('to', to) }
}
