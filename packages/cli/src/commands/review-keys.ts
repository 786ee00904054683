/** Single keys, and lines typed by them, from a terminal that hands over every key at once. */

/** Ctrl-C, Ctrl-D, or nobody is there any more. */
export class Interrupted extends Error {}

/** A stream of text: standard input, or what a test types. */
export interface KeySource {
  on(event: 'data', listener: (text: string) => void): unknown
  on(event: 'end' | 'close', listener: () => void): unknown
}

/** An arrow key comes as several characters, and is one key. */
const oneKey = /\u001b(?:\[[0-9;]*[A-Za-z~]|O[A-Z])?|[\s\S]/gu

const names: Readonly<Record<string, string>> = {
  '\u001b[A': 'k',
  '\u001bOA': 'k',
  '\u001b[B': 'j',
  '\u001bOB': 'j',
}

const [interrupt, endOfText, enter, newline, escapeKey, backspace, erase, eraseLine] = [
  '\u0003',
  '\u0004',
  '\r',
  '\n',
  '\u001b',
  '\u007f',
  '\b',
  '\u0015',
]

export class Keys {
  #typed: string[] = []
  #isOver = false
  #wake: (() => void) | undefined

  constructor(source: KeySource) {
    source.on('data', (text) => {
      this.#typed.push(...(text.match(oneKey) ?? []))
      this.#wake?.()
    })
    for (const event of ['end', 'close'] as const)
      source.on(event, () => {
        this.#isOver = true
        this.#wake?.()
      })
  }

  /**
   * The next key that is pressed. What was typed before is not an answer to a question that nobody had seen: a key that
   * was pressed twice must not decide about the next hunk.
   */
  async fresh(): Promise<string> {
    this.#refuseInterrupt()
    this.#typed = []
    return this.#next()
  }

  /** A line of text; undefined: thought better of it (Escape). */
  async line(echo: (text: string) => void): Promise<string | undefined> {
    let text: readonly string[] = []
    this.#refuseInterrupt()
    this.#typed = []
    for (;;) {
      const key = await this.#next()
      if (key === enter || key === newline) return text.join('').trim()
      if (key === escapeKey) return undefined
      if (key === backspace || key === erase) {
        if (text.length > 0) echo('\b \b')
        text = text.slice(0, -1)
      } else if (key === eraseLine) {
        echo('\b \b'.repeat(text.length))
        text = []
      } else if (!/^[\u0000-\u001f]/.test(key)) {
        text = [...text, key]
        echo(key)
      }
    }
  }

  async #next(): Promise<string> {
    while (this.#typed.length === 0 && !this.#isOver)
      await new Promise<void>((wake) => {
        this.#wake = wake
      })
    this.#refuseInterrupt()
    const key = this.#typed.shift()
    if (key === undefined) throw new Interrupted()
    return names[key] ?? key
  }

  // Also one that waits behind other keys: whoever wants out has waited long enough.
  #refuseInterrupt(): void {
    if (this.#typed.some((key) => key === interrupt || key === endOfText)) throw new Interrupted()
  }
}

/** Every key at once while the work lasts; the terminal as it was on every way out. */
export async function withRawTerminal<T>(
  input: NodeJS.ReadStream,
  work: (keys: Keys) => Promise<T>,
): Promise<T> {
  const wasRaw = input.isRaw
  const restore = () => {
    input.setRawMode(wasRaw)
    input.pause()
  }
  // Without this, a shell whose window was closed or whose command was ended from elsewhere would show nothing of what is typed.
  const ended = (signal: NodeJS.Signals) => {
    restore()
    unlisten()
    process.kill(process.pid, signal)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const unlisten = () => {
    process.off('exit', restore)
    for (const signal of signals) process.off(signal, ended)
  }
  process.on('exit', restore)
  for (const signal of signals) process.on(signal, ended)
  try {
    input.setEncoding('utf8')
    input.setRawMode(true)
    const keys = new Keys(input)
    input.resume()
    return await work(keys)
  } finally {
    restore()
    unlisten()
  }
}
