/** Payloads of Claude Code for the tests of situations: as short to write as they are to read. */

import { resolve } from 'node:path'
import type { Environment } from '../events.ts'
import { type Answered, hear } from '../hear.ts'
import type { Place } from './place.ts'

export interface Talk {
  readonly session?: string
  readonly cwd?: string
  readonly env?: Environment
  readonly budgetMs?: number
}

/** One conversation. Each event is heard by a hook of its own, as in real life. */
export class Claude {
  readonly #place: Place
  readonly #talk: Talk
  readonly session: string
  #turns = 0
  #calls = 0

  constructor(place: Place, talk: Talk = {}) {
    this.#place = place
    this.#talk = talk
    this.session = talk.session ?? 'claude-1'
  }

  get #turn(): string {
    return `${this.session}-prompt-${this.#turns}`
  }

  async tell(event: string, fields: object = {}): Promise<Answered> {
    const { cwd = this.#place.dir, env = {}, budgetMs = 30_000 } = this.#talk
    const payload = { session_id: this.session, cwd, hook_event_name: event, ...fields }
    const { desk, env: ours } = this.#place
    const answered = await hear(
      { installedFor: 'claude-code', event, payload, env },
      { desk, env: ours, budgetMs },
    )
    answered.told()
    return answered
  }

  prompt(text: string, fields: object = {}): Promise<Answered> {
    this.#turns += 1
    return this.tell('UserPromptSubmit', { prompt_id: this.#turn, prompt: text, ...fields })
  }

  pre(tool: string, input: object, fields: object = {}): Promise<Answered> {
    this.#calls += 1
    return this.tell('PreToolUse', this.#call(tool, input, fields))
  }

  post(tool: string, input: object, fields: object = {}): Promise<Answered> {
    return this.tell('PostToolUse', this.#call(tool, input, fields))
  }

  #call(tool_name: string, tool_input: object, fields: object): object {
    return {
      prompt_id: this.#turn,
      tool_use_id: `${this.session}-call-${this.#calls}`,
      tool_name,
      tool_input,
      ...fields,
    }
  }

  /** A whole call of the Write tool. */
  async write(path: string, content: string, fields: object = {}): Promise<void> {
    const file_path = resolve(this.#place.dir, path)
    await this.pre('Write', { file_path }, fields)
    this.#place.write({ [file_path]: content }, '/')
    await this.post('Write', { file_path }, fields)
  }

  /** A whole call of the Bash tool. */
  async bash(command: string, fields: object = {}): Promise<void> {
    await this.pre('Bash', { command }, fields)
    this.#place.shell(command, this.#talk.cwd ?? this.#place.dir)
    await this.post('Bash', { command }, fields)
  }

  stop(fields: object = {}): Promise<Answered> {
    return this.tell('Stop', { prompt_id: this.#turn, background_tasks: [], ...fields })
  }
}
