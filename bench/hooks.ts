/** What the hooks of an agent add to one call of a tool: before it and after it, as the agent runs them. */

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { atMost, type Row, rowAgainst } from './report.ts'
import { type Contender, compare } from './timing.ts'
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
    this.#calls += 1
    const path = join(this.#tree.root, edited)
    const tool_input = tool === 'Write' ? { file_path: path } : { command: `echo >> ${edited}` }
    const fields = { tool_use_id: `c${this.#calls}`, tool_name: tool, tool_input }
    const before = this.#tell('PreToolUse', fields)
    writeFileSync(path, `call ${this.#calls}\n`)
    return before + this.#tell('PostToolUse', fields)
  }

  #tell(event: string, fields: object): number {
    const session = { session_id: 'bench', prompt_id: 'p1', cwd: this.#tree.root, hook_event_name: event }
    const words = ['/bin/bash', script, process.execPath, command, 'hook', 'claude-code', event]
    const start = performance.now()
    const { status } = spawnSync('sh', ['-c', words.join(' ')], {
      cwd: this.#tree.root,
      env: this.#env,
      input: JSON.stringify({ ...session, ...fields }),
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

export async function hooks(tree: Tree, runs: number): Promise<readonly Row[]> {
  const attended = new Hooked(tree, true)
  await attended.attended()
  const often = Math.max(runs * 4, 20)
  const call = (hooked: Hooked, tool: 'Write' | 'Bash'): Contender => ({
    name: tool,
    work: () => hooked.call(tool),
    timesItself: true,
  })
  const node = {
    name: 'node -e 0',
    work: () => spawnSync(process.execPath, ['-e', '0'], { env: tree.ground.env }),
  }
  const taken = await compare([node, call(attended, 'Write'), call(attended, 'Bash')], often, 3)
  attended.end()
  // Not at the same time: each would see what the other does, as work of the user's.
  const alone = await compare([node, call(new Hooked(tree, false), 'Write')], runs, 1)
  const sides = (ours: string) => ({ ours, peer: 'node -e 0' })
  return [
    rowAgainst('both hooks of an edit', tree.size, taken, sides('Write'), atMost(1.5)),
    rowAgainst('both hooks of a command', tree.size, taken, sides('Bash'), atMost(1.5)),
    rowAgainst('both hooks, no attendant', tree.size, alone, sides('Write')),
  ]
}
