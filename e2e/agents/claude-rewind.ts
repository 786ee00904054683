/** Claude Code's own undo: from the command line, and in its terminal. */

import { type ChildProcess, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { claudeCode } from './claude-code.ts'
import type { Driver } from './driver.ts'
import { type Place, running } from './place.ts'

/** Without a terminal it keeps copies for a rewind only if it is told to. */
export const rewindingClaude: Driver = {
  ...claudeCode,
  env: (place) => ({ ...claudeCode.env(place), CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING: 'true' }),
}

/** Back to before the first message. */
export async function rewindFiles(place: Place, session: string, withinMs = 60_000): Promise<void> {
  const args = ['-p', '--resume', session, '--rewind-files', firstMessage(place, session)]
  const { code, output } = await running(place.spawnAgent(args), withinMs).ended
  if (code !== 0) throw new Error(`the rewind ended with ${code}: ${output}`)
}

/** The id of the user's message, which only the transcript has. */
function firstMessage(place: Place, session: string): string {
  const projects = join(place.home, '.claude', 'projects')
  for (const name of readdirSync(projects)) {
    const entries = readFileSync(join(projects, name, `${session}.jsonl`), 'utf8')
      .trim()
      .split('\n')
    for (const entry of entries.map((line) => JSON.parse(line)))
      if (entry.type === 'user' && entry.isSidechain !== true) return entry.uuid
  }
  throw new Error('the transcript has no message of the user')
}

/** The program that gives another one a terminal. */
export function hasTerminal(): boolean {
  return spawnSync('script', ['--version'], { stdio: 'ignore' }).status === 0
}

/** Claude Code as a person uses it, by keys. */
export class ClaudeTerminal {
  readonly #child: ChildProcess
  #screen = ''
  #isReady = false

  constructor(place: Place) {
    place.writeHome(
      '.claude.json',
      JSON.stringify({
        hasCompletedOnboarding: true,
        theme: 'dark',
        customApiKeyResponses: { approved: ['placeholder'], rejected: [] },
        projects: { [place.dir]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
      }),
    )
    this.#child = place.spawnInTerminal(['--allowedTools', 'Write,Edit,Read,Bash'])
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#screen += text
    })
  }

  async type(prompt: string): Promise<void> {
    if (!this.#isReady) await this.#seen('for agents')
    this.#isReady = true
    await this.#press(prompt)
    await this.#seen(prompt.slice(-5))
    await this.#press('\r')
  }

  /** Back to before the last prompt: the files and the conversation. */
  async rewindCode(): Promise<void> {
    await this.#press('/rewind')
    await this.#seen('Restore')
    await this.#press('\r')
    await this.#seen('Enter')
    await this.#press('\u001b[A')
    await this.#press('\r')
    await this.#seen('Confirm')
    await this.#press('1')
    await this.#seen('shift+tab')
    await this.#press('\u0015') // it offers the prompt again: away with it
  }

  /** A key that comes too early is lost; and what is drawn at once comes in pieces. */
  async #press(keys: string): Promise<void> {
    await new Promise((next) => setTimeout(next, 500))
    this.#screen = ''
    this.#child.stdin?.write(keys)
  }

  async #seen(text: string): Promise<void> {
    const until = Date.now() + 20_000
    while (!this.#plain.includes(text.replaceAll(' ', ''))) {
      if (Date.now() > until) throw new Error(`not on the screen: ${text}\n${this.#plain.slice(-2000)}`)
      await new Promise((next) => setTimeout(next, 50))
    }
  }

  // Words are placed by moving the cursor, so spaces are not to be relied on.
  get #plain(): string {
    return this.#screen
      .replace(/\u001b(\[[0-9;?>]*[a-zA-Z]|\][^\u0007]*\u0007|[()][A-Z0-9]|[=>])/g, '')
      .replace(/\s/g, '')
  }
}
