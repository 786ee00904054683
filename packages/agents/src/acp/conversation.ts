/**
 * What is said between an editor and its agent, in the Agent Client Protocol, in our words. It remembers who asked what,
 * since an answer names nothing but the number of its question; and what is known of each call, since an agent tells that
 * bit by bit.
 *
 *   editor  session/prompt ──────────►          a turn begins
 *           ◄── session/update tool_call        a call, and later where it stands
 *           ◄── session/request_permission      the call has not begun: what is there now, was there before it
 *           ◄── fs/write_text_file              the agent has the editor write
 *           ◄── terminal/create                 the agent has the editor run a command
 *           ◄────────── its answer              the turn has ended
 */

import { pathsOfPatch, touchedPaths } from '../apply-patch.ts'
import type { AgentEvent, AgentName, Call, Heard, NamedPath } from '../events.ts'
import { type Fields, fieldsOf, list, optional, text, texts } from '../payload.ts'

export interface Overheard {
  readonly events: readonly AgentEvent[]
  /** What this message sets off must wait until all that was heard has been recorded. */
  readonly holds: boolean
}

export interface ConversationOptions {
  /** What to call the agent until it says so itself. */
  readonly called: string
  /** True: the user has named it, whatever it calls itself. */
  readonly isNamed: boolean
  readonly proxy: number
  readonly agent?: number
  readonly cwd: string
  /** Tells this conversation's questions from those of another one, which are numbered alike. */
  readonly nonce: string
}

interface Question {
  readonly method: string
  readonly params: Fields
}

interface CallState {
  readonly id: string
  readonly session: string
  fields: Fields
  state: 'announced' | 'begun' | 'ended'
}

const nothing: Overheard = { events: [], holds: false }
const isHeld: Overheard = { events: [], holds: true }

export class Conversation {
  readonly #options: ConversationOptions
  #called: string
  readonly #folders = new Map<string, string>()
  readonly #prompts = new Map<string, string>()
  readonly #askedByEditor = new Map<unknown, Question>()
  readonly #askedByAgent = new Map<unknown, Question>()
  readonly #calls = new Map<string, CallState>()
  /** What the editor was asked to do, where no call stands for it; and which terminal that is. */
  readonly #own = new Map<string, { readonly session: string; readonly call: Call }>()
  readonly #terminals = new Map<string, string>()

  constructor(options: ConversationOptions) {
    this.#options = options
    this.#called = options.called
  }

  fromEditor(message: Fields): Overheard {
    const method = text(message, 'method')
    const params = fieldsOf(message.params)
    if (method === undefined) return this.#answeredByEditor(message)
    if (message.id !== undefined) this.#askedByEditor.set(message.id, { method, params })
    return method === 'session/prompt' ? this.#prompted(message.id, params) : nothing
  }

  fromAgent(message: Fields): Overheard {
    const method = text(message, 'method')
    const params = fieldsOf(message.params)
    if (method === undefined) return this.#answeredByAgent(message)
    if (message.id !== undefined) this.#askedByAgent.set(message.id, { method, params })
    switch (method) {
      case 'session/update':
        return this.#updated(params)
      case 'session/request_permission':
        return this.#wantsPermission(params)
      case 'fs/write_text_file':
        return this.#writes(message.id, params)
      case 'terminal/create':
        return this.#runs(message.id, params)
      case 'terminal/release':
        return this.#terminalEnded(params)
      default:
        return nothing
    }
  }

  /** The agent has gone; what it left open will not be ended by anybody else. */
  over(): readonly AgentEvent[] {
    const open = [...this.#prompts.keys()].map(
      (session): AgentEvent => ({
        ...this.#heard(session),
        kind: 'turn-ended',
        outcome: 'interrupted',
        stillRunning: [],
      }),
    )
    const ended = [...this.#folders.keys()].map(
      (session): AgentEvent => ({ ...this.#heard(session), kind: 'session-ended', reason: 'exit' }),
    )
    return [...open, ...ended]
  }

  #heard(session: string): Heard {
    const folder = this.#folders.get(session) ?? this.#options.cwd
    return {
      agent: 'acp',
      called: this.#called,
      proxy: this.#options.proxy,
      session,
      ...optional('turn', this.#prompts.get(session)),
      cwd: folder,
      root: folder,
      ...optional('pid', this.#options.agent),
    }
  }

  // ---- sessions and turns --------------------------------------------------------------------------------------------

  #prompted(id: unknown, params: Fields): Overheard {
    const session = text(params, 'sessionId')
    if (session === undefined || id === undefined) return nothing
    const turn = `${this.#options.nonce}:${String(id)}`
    this.#prompts.set(session, turn)
    const prompt = list(params, 'prompt')
      .map(fieldsOf)
      .flatMap((block) => (block.type === 'text' ? (text(block, 'text') ?? []) : []))
      .join('\n')
    const event: AgentEvent = { ...this.#heard(session), kind: 'prompted', by: 'user', prompt, message: turn }
    return { events: [event], holds: true }
  }

  #answeredByAgent(message: Fields): Overheard {
    const question = this.#askedByEditor.get(message.id)
    this.#askedByEditor.delete(message.id)
    const result = fieldsOf(message.result)
    switch (question?.method) {
      case 'initialize':
        this.#introduced(text(fieldsOf(result.agentInfo), 'name'))
        return nothing
      case 'session/new':
      case 'session/load':
      case 'session/resume':
      case 'session/fork':
        return message.error === undefined ? this.#began(question, result) : nothing
      case 'session/prompt':
        return this.#turnEnded(question.params, message.error === undefined ? result : undefined)
      default:
        return nothing
    }
  }

  #introduced(name: string | undefined): void {
    if (name !== undefined && !this.#options.isNamed) this.#called = usualName(name)
  }

  #began({ method, params }: Question, result: Fields): Overheard {
    const session = text(result, 'sessionId') ?? text(params, 'sessionId')
    if (session === undefined) return nothing
    this.#folders.set(session, text(params, 'cwd') ?? this.#options.cwd)
    const how = method === 'session/new' ? 'new' : method === 'session/fork' ? 'forked' : 'resumed'
    return { events: [{ ...this.#heard(session), kind: 'session-began', how }], holds: false }
  }

  #turnEnded(params: Fields, result: Fields | undefined): Overheard {
    const session = text(params, 'sessionId')
    if (session === undefined) return nothing
    const outcome = result === undefined ? 'failed' : outcomeOf(text(result, 'stopReason'))
    const event: AgentEvent = { ...this.#heard(session), kind: 'turn-ended', outcome, stillRunning: [] }
    this.#prompts.delete(session)
    for (const [key, call] of this.#calls) if (call.session === session) this.#calls.delete(key)
    return { events: [event], holds: false }
  }

  // ---- calls ---------------------------------------------------------------------------------------------------------

  #updated(params: Fields): Overheard {
    const update = fieldsOf(params.update)
    const kind = text(update, 'sessionUpdate')
    if (kind !== 'tool_call' && kind !== 'tool_call_update') return nothing
    // Outside of a turn an agent tells what happened long ago: a session that is loaded is told once more, call by call.
    if (!this.#prompts.has(text(params, 'sessionId') ?? '')) return nothing
    const call = this.#know(params, update)
    if (call === undefined || call.state === 'ended') return nothing
    const status = text(call.fields, 'status') ?? 'pending'
    if (status === 'pending') return nothing
    const isOver = status === 'completed' || status === 'failed'
    // The agent does not wait for us: it may have written while we read this.
    const begun = call.state === 'begun' ? [] : [this.#begin(call, { hasBegun: true })]
    return { events: isOver ? [...begun, this.#end(call, status === 'failed')] : begun, holds: false }
  }

  // The agent waits for the answer, and the answer waits for us.
  #wantsPermission(params: Fields): Overheard {
    const call = this.#know(params, fieldsOf(params.toolCall))
    if (call === undefined || call.state !== 'announced') return nothing
    return { events: [this.#begin(call, {})], holds: false }
  }

  #writes(id: unknown, params: Fields): Overheard {
    const path = text(params, 'path')
    const session = text(params, 'sessionId')
    if (path === undefined || session === undefined) return nothing
    const call = this.#openCall(session, (one) => one.paths.some((named) => named.path === path))
    if (call !== undefined) return this.#beginHeld(call)
    const own = { tool: 'fs/write_text_file', does: 'edit', paths: [{ path }] } as const
    return this.#ownBegan(session, { id: this.#ownId(id), ...own })
  }

  #runs(id: unknown, params: Fields): Overheard {
    const session = text(params, 'sessionId')
    if (session === undefined) return nothing
    const call = this.#openCall(session, (one) => one.does === 'shell')
    if (call !== undefined) return this.#beginHeld(call)
    const command = [text(params, 'command') ?? '', ...list(params, 'args').map(String)].join(' ')
    const own = { tool: 'terminal/create', does: 'shell', paths: [], command } as const
    return this.#ownBegan(session, { id: this.#ownId(id), ...own })
  }

  #openCall(session: string, fits: (call: Call) => boolean): CallState | undefined {
    return [...this.#calls.values()].find(
      (call) => call.session === session && call.state !== 'ended' && fits(callOf(call)),
    )
  }

  #beginHeld(call: CallState): Overheard {
    return call.state === 'begun' ? isHeld : { events: [this.#begin(call, {})], holds: true }
  }

  #begin(call: CallState, how: { readonly hasBegun?: boolean }): AgentEvent {
    call.state = 'begun'
    return { ...this.#heard(call.session), kind: 'step-began', call: { ...callOf(call), ...how } }
  }

  #end(call: CallState, hasFailed: boolean): AgentEvent {
    call.state = 'ended'
    const outcome = hasFailed ? 'failed' : 'ok'
    return { ...this.#heard(call.session), kind: 'step-ended', call: callOf(call), outcome }
  }

  /** What is new about a call, put to what was known of it. */
  #know(params: Fields, news: Fields): CallState | undefined {
    const session = text(params, 'sessionId')
    const id = text(news, 'toolCallId')
    if (session === undefined || id === undefined) return undefined
    const key = `${session} ${id}`
    const call = this.#calls.get(key) ?? { id, session, fields: {}, state: 'announced' }
    call.fields = { ...call.fields, ...onlyNews(news) }
    this.#calls.set(key, call)
    return call
  }

  // ---- what the editor does for the agent, without a call that says so -----------------------------------------------

  #ownId(id: unknown): string {
    return `${this.#options.nonce}:asked:${String(id)}`
  }

  #ownBegan(session: string, call: Call & { readonly id: string }): Overheard {
    this.#own.set(call.id, { session, call })
    return { events: [{ ...this.#heard(session), kind: 'step-began', call }], holds: true }
  }

  #ownEnded(id: string | undefined): Overheard {
    const own = id === undefined ? undefined : this.#own.get(id)
    if (id === undefined || own === undefined) return nothing
    this.#own.delete(id)
    const event: AgentEvent = {
      ...this.#heard(own.session),
      kind: 'step-ended',
      call: own.call,
      outcome: 'unknown',
    }
    return { events: [event], holds: false }
  }

  #answeredByEditor(message: Fields): Overheard {
    const question = this.#askedByAgent.get(message.id)
    this.#askedByAgent.delete(message.id)
    switch (question?.method) {
      case 'session/request_permission':
        return isHeld
      case 'fs/write_text_file':
        return this.#ownEnded(this.#ownId(message.id))
      case 'terminal/create': {
        const terminal = text(fieldsOf(message.result), 'terminalId')
        if (terminal !== undefined) this.#terminals.set(terminal, this.#ownId(message.id))
        return nothing
      }
      case 'terminal/wait_for_exit':
        return this.#terminalEnded(question.params)
      default:
        return nothing
    }
  }

  #terminalEnded(params: Fields): Overheard {
    return this.#ownEnded(this.#terminals.get(text(params, 'terminalId') ?? ''))
  }
}

// An update leaves out what is as before; some agents send an empty list for it.
function onlyNews(news: Fields): Fields {
  return Object.fromEntries(
    Object.entries(news).filter(
      ([, value]) => value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0),
    ),
  )
}

function callOf({ id, fields }: CallState): Call {
  const input = fieldsOf(fields.rawInput)
  const does = doesOf(text(fields, 'kind'))
  const paths = does === 'edit' ? pathsOf(fields, input) : []
  return {
    id,
    tool: text(fields, 'kind') ?? 'other',
    // Anything may have changed where an edit does not say what.
    does: does === 'edit' && paths.length === 0 ? 'unknown' : does,
    paths,
    ...optional('command', does === 'shell' ? commandOf(fields, input) : undefined),
  }
}

function doesOf(kind: string | undefined): Call['does'] {
  switch (kind) {
    case 'edit':
    case 'delete':
    case 'move':
      return 'edit'
    case 'execute':
      return 'shell'
    case 'read':
    case 'search':
    case 'fetch':
    case 'think':
    case 'switch_mode':
      return 'read'
    default:
      return 'unknown'
  }
}

function pathsOf(fields: Fields, input: Fields): readonly NamedPath[] {
  const places = [...list(fields, 'locations'), ...list(fields, 'content')].map(fieldsOf)
  const named = [
    ...places.flatMap((place) => text(place, 'path') ?? []),
    ...texts(input, 'filePath', 'file_path', 'abs_path', 'path'),
    ...texts(input, 'patchText', 'patch').flatMap((patch) => touchedPaths(pathsOfPatch(patch))),
  ]
  return [...new Set(named)].map((path) => ({ path }))
}

function commandOf(fields: Fields, input: Fields): string | undefined {
  const words = list(input, 'command').map(String)
  return text(input, 'command') ?? (words.length > 0 ? words.join(' ') : text(fields, 'title'))
}

function outcomeOf(reason: string | undefined): 'ok' | 'interrupted' | 'failed' {
  return reason === 'cancelled' ? 'interrupted' : reason === 'refusal' ? 'failed' : 'ok'
}

const known: readonly (readonly [RegExp, AgentName])[] = [
  [/opencode/i, 'opencode'],
  [/gemini/i, 'gemini-cli'],
  [/claude/i, 'claude-code'],
  [/codex/i, 'codex'],
  [/copilot/i, 'copilot-cli'],
  [/cursor/i, 'cursor'],
  [/cline/i, 'cline'],
]

/** The same agent has one name in the history, whether its hooks tell of it or a proxy. */
export function usualName(name: string): string {
  return known.find(([pattern]) => pattern.test(name))?.[1] ?? name
}
