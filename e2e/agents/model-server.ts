/**
 * A model that plays scenes, for real agents. It listens on loopback only and speaks the four languages that the agents
 * speak: Messages (Claude Code), Responses (Codex), chat completions (OpenCode) and Gemini's own.
 *
 * A prompt names its scene: `Shout. scene:mixed`. A scene is a list of replies, and which one is next is counted from the
 * conversation that comes with every request. So the server remembers nothing, and sessions at once, resumed ones and
 * subagents need no care.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'

/** One call of a tool, in the agent's own words. Text as input: a tool that takes no JSON. */
export interface ToolCall {
  readonly tool: string
  readonly input: object | string
  /** Codex keeps some of its tools in groups. */
  readonly group?: string
}

/** What the model says at one time it is asked. */
export interface Reply {
  readonly text?: string
  readonly calls?: readonly ToolCall[]
  /** Happens while the agent waits for this reply. */
  readonly meanwhile?: () => void
}

/** One request of an agent. `scene`: absent where it is none of a turn's, for a title or a summary. */
export interface Asked {
  readonly path: string
  readonly scene?: string
  readonly body: string
}

export interface ModelServerOptions {
  readonly scene: (name: string) => readonly Reply[] | undefined
}

export class ModelServer implements AsyncDisposable {
  readonly asked: Asked[] = []
  readonly #server: Server
  readonly #scene: ModelServerOptions['scene']

  private constructor({ scene }: ModelServerOptions) {
    this.#scene = scene
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        if (!response.headersSent) sendJson(response, 500, refusal(String(error)))
        response.destroy()
      })
    })
  }

  static async start(options: ModelServerOptions): Promise<ModelServer> {
    const model = new ModelServer(options)
    await new Promise<void>((resolve) => model.#server.listen(0, '127.0.0.1', resolve))
    return model
  }

  get url(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the model server does not listen')
    return `http://127.0.0.1:${address.port}`
  }

  /** The requests of one scene, oldest first. */
  askedIn(scene: string): readonly Asked[] {
    return this.asked.filter((one) => one.scene === scene)
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://loopback')
    const body = await bodyOf(request)
    const language = request.method === 'POST' ? languages.find(({ path }) => path.test(pathname)) : undefined
    if (language === undefined) {
      this.asked.push({ path: pathname, body })
      sendJson(response, request.method === 'HEAD' ? 200 : 404, refusal(`nothing is at ${pathname}`))
      return
    }
    const fields = fieldsOf(JSON.parse(body))
    const fixed = language.fixed(pathname, fields)
    const line = fixed === undefined ? nextLine(language.read(fields), this.#scene) : undefined
    const number = this.asked.push({
      path: pathname,
      body,
      ...(line?.scene === undefined ? {} : { scene: line.scene }),
    })
    line?.reply.meanwhile?.()
    if (fixed !== undefined) sendJson(response, 200, fixed)
    else
      language.say(
        response,
        { number, ...line?.reply },
        { fields, pathname, isEvents: searchParams.get('alt') === 'sse' },
      )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeAllConnections() // agents keep theirs open, and would keep us waiting
    await closed
  }
}

// ---- which reply is next -----------------------------------------------------------------------------------------------

/** One entry of a conversation. Of what is not the model's only what a user may have typed has text. */
interface Entry {
  readonly isModels: boolean
  readonly text: string
}

interface Talk {
  readonly entries: readonly Entry[]
  /** Agents ask for titles and the like on the side, without tools. That must not use up a reply. */
  readonly isAside: boolean
}

interface Line {
  readonly scene?: string
  readonly reply: Reply
}

function nextLine({ entries, isAside }: Talk, sceneOf: ModelServerOptions['scene']): Line {
  if (isAside) return { reply: { text: 'ok' } }
  const at = entries.findLastIndex((entry) => !entry.isModels && sceneNamed(entry.text) !== undefined)
  const scene = at < 0 ? undefined : sceneNamed(entries[at]?.text ?? '')
  if (scene === undefined) return { reply: { text: 'The prompt names no scene.' } }
  const replies = sceneOf(scene) ?? [{ text: `There is no scene ${scene}.` }]
  return { scene, reply: replies[repliesIn(entries.slice(at + 1))] ?? { text: 'That is all.' } }
}

function sceneNamed(text: string): string | undefined {
  return [...text.matchAll(/scene:([a-z0-9-]+)/g)].at(-1)?.[1]
}

// A reply with a text and two calls may be three entries; what lies between two replies is never the model's.
function repliesIn(entries: readonly Entry[]): number {
  return entries.filter((entry, at) => entry.isModels && entries[at - 1]?.isModels !== true).length
}

// ---- the languages -----------------------------------------------------------------------------------------------------

interface Spoken extends Reply {
  /** Of the request: it makes ids unique. */
  readonly number: number
}

interface Request {
  readonly fields: Fields
  readonly pathname: string
  /** Gemini says in the address how it wants the answer. */
  readonly isEvents: boolean
}

interface Language {
  readonly path: RegExp
  /** The answer where it does not depend on the scene. */
  fixed(pathname: string, fields: Fields): object | undefined
  read(fields: Fields): Talk
  say(response: ServerResponse, spoken: Spoken, request: Request): void
}

const messages: Language = {
  path: /\/v1\/messages(\/count_tokens)?$/,
  fixed: (pathname) => (pathname.endsWith('count_tokens') ? { input_tokens: 10 } : undefined),
  read: (fields) => ({
    entries: entriesOf(fields.messages),
    isAside: list(fields.tools).length === 0,
  }),
  say(response, { number, text, calls = [] }, { fields }) {
    const blocks = [
      ...(text === undefined ? [] : [{ type: 'text', text }]),
      ...calls.map(({ tool, input }, at) => ({
        type: 'tool_use',
        id: `toolu_${number}_${at}`,
        name: tool,
        input,
      })),
    ]
    const stop_reason = calls.length === 0 ? 'end_turn' : 'tool_use'
    const usage = { input_tokens: 10, output_tokens: 10 }
    const message = {
      id: `msg_${number}`,
      type: 'message',
      role: 'assistant',
      model: fields.model,
      content: blocks,
      stop_reason,
      stop_sequence: null,
      usage,
    }
    if (fields.stream !== true) {
      sendJson(response, 200, message)
      return
    }
    const events = new EventStream(response)
    const send = (type: string, data: object) => events.send({ type, ...data }, type)
    send('message_start', { message: { ...message, content: [], stop_reason: null } })
    blocks.forEach((block, index) => {
      send('content_block_start', { index, content_block: hollow(block) })
      send('content_block_delta', { index, delta: deltaOf(block) })
      send('content_block_stop', { index })
    })
    send('message_delta', { delta: { stop_reason, stop_sequence: null }, usage })
    send('message_stop', {})
    events.end()
  },
}

type Block = { readonly type: string; readonly text?: string; readonly input?: object | string }

function hollow(block: Block): object {
  return block.type === 'text' ? { ...block, text: '' } : { ...block, input: {} }
}

function deltaOf({ type, text, input }: Block): object {
  return type === 'text'
    ? { type: 'text_delta', text }
    : { type: 'input_json_delta', partial_json: JSON.stringify(input) }
}

const chatCompletions: Language = {
  path: /\/chat\/completions$/,
  fixed: () => undefined,
  read: (fields) => ({ entries: entriesOf(fields.messages), isAside: list(fields.tools).length === 0 }),
  say(response, { number, text, calls = [] }, { fields }) {
    const tool_calls = calls.map(({ tool, input }, index) => ({
      index,
      id: `call_${number}_${index}`,
      type: 'function',
      function: { name: tool, arguments: JSON.stringify(input) },
    }))
    const about = { id: `chat_${number}`, object: 'chat.completion.chunk', created: 1, model: fields.model }
    const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 }
    const delta = { role: 'assistant', content: text ?? '', ...(calls.length === 0 ? {} : { tool_calls }) }
    const events = new EventStream(response)
    events.send({ ...about, choices: [{ index: 0, delta, finish_reason: null }] })
    const finish_reason = calls.length === 0 ? 'stop' : 'tool_calls'
    events.send({ ...about, choices: [{ index: 0, delta: {}, finish_reason }], usage })
    events.end('[DONE]')
  },
}

const responses: Language = {
  path: /\/responses$/,
  fixed: () => undefined,
  // Some models of Codex are offered no tools and call them all the same: there is nothing on the side here.
  read: (fields) => ({ entries: list(fields.input).map(fieldsOf).map(entryOfItem), isAside: false }),
  say(response, { number, text, calls = [] }, { fields }) {
    const output = [
      ...(text === undefined ? [] : [messageItem(number, text)]),
      ...calls.map((call, at) => callItem(call, `${number}_${at}`)),
    ]
    const usage = { input_tokens: 10, output_tokens: 10, total_tokens: 20 }
    const whole = {
      id: `resp_${number}`,
      object: 'response',
      model: fields.model,
      status: 'completed',
      output,
      usage,
    }
    const events = new EventStream(response)
    const send = (type: string, data: object) => events.send({ type, ...data }, type)
    send('response.created', { response: { ...whole, status: 'in_progress', output: [] } })
    output.forEach((item, output_index) => {
      send('response.output_item.added', { output_index, item })
      send('response.output_item.done', { output_index, item })
    })
    send('response.completed', { response: whole })
    events.end()
  },
}

function entryOfItem({ type, role, content }: Fields): Entry {
  const isModels =
    role === 'assistant' || type === 'reasoning' || (typeof type === 'string' && type.endsWith('_call'))
  return { isModels, text: role === 'user' ? textOf(content) : '' }
}

function messageItem(number: number, text: string): object {
  const content = [{ type: 'output_text', text, annotations: [] }]
  return { type: 'message', id: `msg_${number}`, role: 'assistant', content }
}

function callItem({ tool, input, group }: ToolCall, id: string): object {
  const call = { id: `item_${id}`, call_id: `call_${id}`, name: tool }
  if (typeof input === 'string') return { ...call, type: 'custom_tool_call', input }
  const named = group === undefined ? {} : { namespace: group }
  return { ...call, ...named, type: 'function_call', arguments: JSON.stringify(input) }
}

const gemini: Language = {
  path: /\/models\/[^/]+:(generateContent|streamGenerateContent|countTokens)$/,
  // It asks a small model which large one to take, and wants JSON.
  fixed: (pathname, fields) => {
    if (pathname.endsWith(':countTokens')) return { totalTokens: 10 }
    const wanted = fieldsOf(fields.generationConfig).responseMimeType
    return wanted === 'application/json' ? candidate([{ text: routed }]) : undefined
  },
  read: (fields) => ({
    entries: list(fields.contents)
      .map(fieldsOf)
      .map(({ role, parts }) => ({ isModels: role === 'model', text: textOf(parts) })),
    isAside: list(fields.tools).length === 0,
  }),
  say(response, { number, text, calls = [] }, { pathname, isEvents }) {
    const whole = candidate([
      ...(text === undefined ? [] : [{ text }]),
      ...calls.map(({ tool, input }, at) => ({
        functionCall: { id: `${number}_${at}`, name: tool, args: input },
      })),
    ])
    if (pathname.endsWith(':streamGenerateContent') && isEvents) {
      const events = new EventStream(response)
      events.send(whole)
      events.end()
    } else sendJson(response, 200, whole)
  },
}

const routed = JSON.stringify({
  reasoning: 'a test',
  model_choice: 'flash',
  complexity_reasoning: 'a test',
  complexity_score: 1,
  next_speaker: 'user',
})

function candidate(parts: readonly object[]): object {
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20 },
  }
}

const languages: readonly Language[] = [messages, chatCompletions, responses, gemini]

// ---- small parts -------------------------------------------------------------------------------------------------------

type Fields = Readonly<Record<string, unknown>>

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function entriesOf(value: unknown): readonly Entry[] {
  return list(value)
    .map(fieldsOf)
    .map(({ role, content }) => ({
      isModels: role === 'assistant',
      text: role === 'user' ? textOf(content) : '',
    }))
}

/** What was typed. Results of tools are left out: a file that mentions a scene would change the play. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return list(content)
    .map((part) => fieldsOf(part).text)
    .filter((text) => typeof text === 'string')
    .join('\n')
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

/** One shape that all four read as an error. */
function refusal(message: string): object {
  return { type: 'error', error: { type: 'not_found_error', code: 404, status: 'NOT_FOUND', message } }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

class EventStream {
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  }

  send(data: object, name?: string): void {
    this.#response.write(`${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`)
  }

  end(last?: string): void {
    this.#response.end(last === undefined ? undefined : `data: ${last}\n\n`)
  }
}
