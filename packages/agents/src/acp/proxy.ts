/**
 * `unturn acp -- AGENT`: between an editor and its agent, on standard input and output. Every byte goes through as it came.
 * Three kinds of message wait, for a moment at most, until what was there before them is recorded: a prompt, the answer to
 * a question for permission, and a write or a command that the agent asks the editor for. A prompt carries a notice of ours
 * when there is one. Recording happens in other processes, and whatever goes wrong there, the conversation goes on.
 */

import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { constants } from 'node:os'
import { basename } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { AgentEvent } from '../events.ts'
import { fieldsOf, list } from '../payload.ts'
import { Conversation, type Overheard, usualName } from './conversation.ts'
import { passLines, type Seen } from './lines.ts'

export interface ProxyOptions {
  readonly command: readonly [program: string, ...args: string[]]
  /** What the user calls the agent. */
  readonly called?: string
  readonly editor: { readonly input: Readable; readonly output: Writable; readonly errors: Writable }
  /** Records events, one after the other; gives a notice for the agent where there is one. */
  readonly tell: (events: readonly AgentEvent[]) => Promise<string | undefined>
  /** Nothing is held longer than this. */
  readonly patienceMs: number
}

/** What is still to be recorded when the agent has gone. */
const lastPatienceMs = 15_000

/** Ends with the agent, and gives its exit code. */
export function proxy(options: ProxyOptions): Promise<number> {
  return new Proxying(options).run()
}

class Proxying {
  readonly #options: ProxyOptions
  #recorded: Promise<unknown> = Promise.resolve()
  /** Notices that came too late for their prompt, for the next one of the session. */
  readonly #overdue = new Map<string, string>()

  constructor(options: ProxyOptions) {
    this.#options = options
  }

  async run(): Promise<number> {
    const { command, called, editor } = this.#options
    const [program, ...args] = command
    const agent = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    const conversation = new Conversation({
      called: called ?? usualName(basename(program)),
      isNamed: called !== undefined,
      proxy: process.pid,
      ...(agent.pid === undefined ? {} : { agent: agent.pid }),
      cwd: process.cwd(),
      nonce: randomUUID().slice(0, 8),
    })
    const ended = new Promise<number>((resolve) => {
      agent.on('error', (error) => {
        editor.errors.write(`unturn: ${program} cannot be started: ${error.message}\n`)
        resolve(127)
      })
      agent.on('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal ?? 'SIGTERM'] ?? 0)))
    })
    const pass = (signal: NodeJS.Signals) => agent.kill(signal)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, pass)
    passLines({
      from: editor.input,
      to: agent.stdin,
      look: (line, isWhole) => this.#look(line, isWhole, (message) => conversation.fromEditor(message)),
      onBroken: () => {},
    }).then(() => agent.stdin.end())
    const answered = passLines({
      from: agent.stdout,
      to: editor.output,
      look: (line, isWhole) => this.#look(line, isWhole, (message) => conversation.fromAgent(message)),
      onBroken: () => agent.stdout.destroy(), // as the agent would notice it without us
    })
    const code = await ended
    await Promise.race([answered, afterMs(lastPatienceMs)]) // a child of the agent's may hold its output open
    this.#tell(conversation.over())
    await Promise.race([this.#recorded, afterMs(lastPatienceMs)])
    editor.input.destroy() // an editor that waits for the end of its agent keeps it open, and would keep us
    return code
  }

  #look(line: Buffer, isWhole: boolean, hear: (message: ReturnType<typeof fieldsOf>) => Overheard): Seen {
    const first = line.find((byte) => byte > 0x20)
    if (first !== openBrace) return {}
    const message = fieldsOf(JSON.parse(line.toString('utf8')))
    const { events, holds } = hear(message)
    const told = this.#tell(events)
    return holds && isWhole ? { held: () => this.#held(line, message, told) } : {}
  }

  /** In order. What fails is lost here; where it could be kept for later, those who record have done so. */
  #tell(events: readonly AgentEvent[]): Promise<string | undefined> {
    const work = async () => (events.length === 0 ? undefined : this.#options.tell(events))
    const told = this.#recorded.then(work).catch(() => undefined)
    this.#recorded = told
    return told
  }

  async #held(
    line: Buffer,
    message: ReturnType<typeof fieldsOf>,
    told: Promise<string | undefined>,
  ): Promise<Buffer> {
    const session = String(fieldsOf(message.params).sessionId ?? '')
    const isPrompt = message.method === 'session/prompt'
    let isInTime = true
    const inTime = told.then((notice) => {
      if (!isInTime && notice !== undefined) this.#overdue.set(session, notice)
      return notice
    })
    const notice = await Promise.race([inTime, afterMs(this.#options.patienceMs)])
    isInTime = false
    const due = [this.#overdue.get(session), notice].filter((one) => one !== undefined).join('\n\n')
    const plain = Buffer.concat([line, lineEnd])
    if (!isPrompt || due === '') return plain
    const noted = withNotice(message, due)
    if (noted === undefined) return plain
    this.#overdue.delete(session)
    return noted
  }
}

const openBrace = 0x7b
const lineEnd = Buffer.from('\n')

/** Behind the user's words: at their beginning an agent looks for its commands. */
function withNotice(message: ReturnType<typeof fieldsOf>, notice: string): Buffer | undefined {
  // A number that JavaScript cannot hold would come out as another one.
  if (typeof message.id === 'number' && !Number.isSafeInteger(message.id)) return undefined
  const params = fieldsOf(message.params)
  const prompt = [...list(params, 'prompt'), { type: 'text', text: notice }]
  return Buffer.from(`${JSON.stringify({ ...message, params: { ...params, prompt } })}\n`)
}

function afterMs(ms: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms, undefined).unref()
  })
}
