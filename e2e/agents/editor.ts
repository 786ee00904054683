/** An editor, as far as an ACP agent can tell: asks, answers, writes files, and says yes to everything. */

import type { ChildProcess } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Json } from '../support.ts'
import { endTree, type Place } from './place.ts'

export class Editor {
  /** What came in, line by line. */
  readonly lines: string[] = []
  /** What came in on the side. */
  errors = ''
  readonly child: ChildProcess
  readonly #waiting = new Map<number, (message: Json) => void>()
  #count = 0
  #rest = ''

  constructor(child: ChildProcess) {
    this.child = child
    child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#take(text))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text
    })
    child.stdin?.on('error', () => {}) // the agent has gone; whoever waits for it is told by its exit
    child.on('exit', () => {
      for (const answered of this.#waiting.values()) answered({ error: { message: 'the agent has gone' } })
    })
  }

  /** Introduces itself, and opens a session in the project; or goes on with one. */
  static async open(place: Place, args: readonly string[], session?: string): Promise<[Editor, string]> {
    const editor = new Editor(place.spawnBehindProxy(args))
    await editor.ask('initialize', {
      protocolVersion: 1,
      // Gemini CLI wants to be told of a missing file in one editor's own words; so it may read by itself.
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: true }, terminal: false },
      clientInfo: { name: 'a-test', version: '1' },
    })
    const where = { cwd: place.dir, mcpServers: [] }
    if (session === undefined) {
      const { sessionId } = await editor.ask('session/new', where)
      return [editor, sessionId]
    }
    try {
      await editor.ask('session/load', { ...where, sessionId: session })
    } catch (error) {
      endTree(editor.child)
      throw error
    }
    return [editor, session]
  }

  async prompt(session: string, text: string): Promise<Json> {
    return this.ask('session/prompt', { sessionId: session, prompt: [{ type: 'text', text }] })
  }

  ask(method: string, params: object): Promise<Json> {
    this.#count += 1
    const id = this.#count
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        endTree(this.child)
        reject(new Error(`no answer to ${method}: ${this.lines.slice(-5).join('\n')} ${this.errors}`))
      }, 60_000)
      this.#waiting.set(id, (message) => {
        clearTimeout(timer)
        this.#waiting.delete(id)
        if (message.error === undefined) resolve(message.result)
        else reject(new Error(`${method}: ${JSON.stringify(message.error)} ${this.errors}`))
      })
      this.say({ jsonrpc: '2.0', id, method, params })
    })
  }

  say(message: object): void {
    this.child.stdin?.write(`${JSON.stringify(message)}\n`)
  }

  /** Closes its end, as an editor does that is closed; gives the exit code. */
  close(): Promise<number | null> {
    const ended = new Promise<number | null>((resolve) => {
      this.child.once('exit', resolve)
    })
    this.child.stdin?.end()
    return ended
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) {
      this.lines.push(line)
      if (line.startsWith('{')) this.#hear(JSON.parse(line))
    }
  }

  #hear(message: Json): void {
    if (message.method === undefined) return this.#waiting.get(message.id)?.(message)
    if (message.id === undefined) return
    try {
      this.say({ jsonrpc: '2.0', id: message.id, result: this.#serve(message.method, message.params) })
    } catch (error) {
      this.say({ jsonrpc: '2.0', id: message.id, error: { code: -32_002, message: String(error) } })
    }
  }

  #serve(method: string, params: Json): object | null {
    switch (method) {
      case 'session/request_permission':
        return { outcome: { outcome: 'selected', optionId: allowing(params.options) } }
      case 'fs/write_text_file':
        mkdirSync(dirname(params.path), { recursive: true })
        writeFileSync(params.path, params.content)
        return null
      default:
        throw new Error(`an editor without ${method}`)
    }
  }
}

function allowing(options: Json): string {
  return options.find((option: Json) => option.kind === 'allow_once').optionId
}
