/** What the hooks of an agent add to one call of a tool: before it and after it, as the agent runs them. */

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { absolute, atMost, type Row, rowAgainst } from './report.ts'
import { type Contender, compare, median } from './timing.ts'
import type { Tree } from './tree.ts'
import { command } from './unturn.ts'

const script = join(dirname(command), 'unturn-hook.sh')
const edited = 'edited.txt'

/** One conversation with Claude Code, of which the model is left out. */
class Hooked {
  readonly #tree: Tree
  readonly #store: string
  readonly #env: Readonly<Record<string, string | undefined>>
  #calls = 0

  constructor(tree: Tree, attended: boolean) {
    this.#tree = tree
    this.#store = tree.ground.place('store')
    this.#env = {
      ...tree.ground.env,
      UNTURN_HOME: this.#store,
      UNTURN_AUTO_GC: '0',
      ...(attended ? {} : { UNTURN_HOOK_BACKGROUND: '0' }),
    }
    const init = ['init', 'claude-code', '--http', '--yes']
    spawnSync(process.execPath, [command, ...init], { cwd: tree.root, env: this.#env })
    this.#tell('SessionStart', { source: 'startup' })
    this.#tell('UserPromptSubmit', { prompt: 'Go' })
  }

  /** An attendant is at work: the first hook has started it. */
  async attended(): Promise<void> {
    const end = Date.now() + 20_000
    while (!existsSync(this.#pidFile)) {
      if (Date.now() > end) throw new Error('no attendant has come')
      await new Promise((next) => setTimeout(next, 20))
    }
  }

  /** The time that both hooks take; the tool's own work is not in it. */
  call(tool: 'Write' | 'Bash'): number {
    const fields = this.#nextCall(tool)
    const before = this.#tell('PreToolUse', fields)
    this.#write()
    return before + this.#tell('PostToolUse', fields)
  }

  /** The same over HTTP, as `init --http` has it. */
  async callOverHttp(tool: 'Write' | 'Bash'): Promise<number> {
    const fields = this.#nextCall(tool)
    const before = await this.#post('PreToolUse', fields)
    this.#write()
    return before + (await this.#post('PostToolUse', fields))
  }

  #nextCall(tool: 'Write' | 'Bash'): object {
    this.#calls += 1
    const path = join(this.#tree.root, edited)
    const tool_input = tool === 'Write' ? { file_path: path } : { command: `echo >> ${edited}` }
    return { tool_use_id: `c${this.#calls}`, tool_name: tool, tool_input }
  }

  #write(): void {
    writeFileSync(join(this.#tree.root, edited), `call ${this.#calls}\n`)
  }

  #payload(event: string, fields: object): string {
    const session = { session_id: 'bench', prompt_id: 'p1', cwd: this.#tree.root, hook_event_name: event }
    return JSON.stringify({ ...session, ...fields })
  }

  async #post(event: string, fields: object): Promise<number> {
    const { port, token } = JSON.parse(readFileSync(join(this.#store, 'agents', 'http.json'), 'utf8'))
    const url = `http://127.0.0.1:${port}/unturn-hook/${token}/claude-code/${event}`
    const start = performance.now()
    const response = await fetch(url, { method: 'POST', body: this.#payload(event, fields) })
    await response.text()
    if (!response.ok) throw new Error(`the hook for ${event} was answered with ${response.status}`)
    return performance.now() - start
  }

  #tell(event: string, fields: object): number {
    const words = ['/bin/bash', script, process.execPath, command, 'hook', 'claude-code', event]
    const start = performance.now()
    const { status } = spawnSync('sh', ['-c', words.join(' ')], {
      cwd: this.#tree.root,
      env: this.#env,
      input: this.#payload(event, fields),
    })
    if (status !== 0) throw new Error(`the hook for ${event} ended with ${status}`)
    return performance.now() - start
  }

  get #pidFile(): string {
    return join(this.#store, 'agents', 'hook.pid')
  }

  end(): void {
    if (existsSync(this.#pidFile)) process.kill(Number(readFileSync(this.#pidFile, 'utf8')), 'SIGTERM')
  }
}

/** Between two calls the model answers. What the last hook has left to be done is done by then. */
function think(): Promise<void> {
  return new Promise((next) => setTimeout(next, 60))
}

export async function hooks(tree: Tree, runs: number): Promise<readonly Row[]> {
  const attended = new Hooked(tree, true)
  await attended.attended()
  const often = Math.max(runs * 4, 20)
  const call = (hooked: Hooked, tool: 'Write' | 'Bash'): Contender => ({
    name: tool,
    prepare: think,
    work: () => hooked.call(tool),
    timesItself: true,
  })
  const node = {
    name: 'node -e 0',
    work: () => spawnSync(process.execPath, ['-e', '0'], { env: tree.ground.env }),
  }
  const overHttp = (tool: 'Write' | 'Bash'): Contender => ({
    name: `${tool} over HTTP`,
    prepare: think,
    work: () => attended.callOverHttp(tool),
    timesItself: true,
  })
  const all = [node, call(attended, 'Write'), call(attended, 'Bash'), overHttp('Write'), overHttp('Bash')]
  const taken = await compare(all, often, 3)
  attended.end()
  // Not at the same time: each would see what the other does, as work of the user's.
  const alone = await compare([node, call(new Hooked(tree, false), 'Write')], runs, 1)
  const inMs = (work: string, ours: string) =>
    absolute({ work, files: tree.size, unit: 'ms', ours: median(taken[ours] ?? []), all: taken }, 20)
  const sides = (ours: string) => ({ ours, peer: 'node -e 0' })
  return [
    rowAgainst('both hooks of an edit', tree.size, taken, sides('Write'), atMost(1.5)),
    rowAgainst('both hooks of a command', tree.size, taken, sides('Bash'), atMost(1.5)),
    inMs('both hooks of an edit, over HTTP', 'Write over HTTP'),
    inMs('both hooks of a command, over HTTP', 'Bash over HTTP'),
    rowAgainst('both hooks, no attendant', tree.size, alone, sides('Write')),
  ]
}
