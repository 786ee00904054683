/** Where words go: stdout for answers, stderr for progress and warnings, colour only on a terminal. */

import type { Progress } from '@unturn/core'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'blue' | 'magenta' | 'inverse'

const codes: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
  inverse: [7, 27],
}

export class Terminal {
  readonly #colour: boolean
  readonly #quiet: boolean
  #chunks: string[] = []
  #bar: ReturnType<typeof progressBar> | undefined

  constructor(options: {
    readonly quiet: boolean
    readonly env: Readonly<Record<string, string | undefined>>
  }) {
    const { env } = options
    const asked = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '0'
    const refused = (env.NO_COLOR !== undefined && env.NO_COLOR !== '') || env.TERM === 'dumb'
    this.#colour = !refused && (asked || process.stdout.isTTY === true)
    this.#quiet = options.quiet
  }

  get width(): number {
    return process.stdout.columns ?? 100
  }

  style(style: Style, text: string): string {
    if (!this.#colour || text === '') return text
    const [on, off] = codes[style]
    return `\u001b[${on}m${text}\u001b[${off}m`
  }

  get hasColour(): boolean {
    return this.#colour
  }

  /** An answer for a person. */
  line(text = ''): void {
    if (!this.#quiet) this.#chunks.push(`${text}\n`)
  }

  json(document: unknown): void {
    this.#chunks.push(`${JSON.stringify(document)}\n`)
  }

  bytes(text: string): void {
    if (!this.#quiet) this.#chunks.push(text)
  }

  warn(text: string): void {
    this.endProgress()
    if (!this.#quiet) process.stderr.write(`${text}\n`)
  }

  /** Waits until everything is written: a pipe may be slow, and exiting early would cut the answer. */
  async flush(): Promise<void> {
    this.endProgress()
    const text = this.#chunks.join('')
    this.#chunks = []
    if (text === '') return
    const error = await written(text)
    // Who pipes into `head` has read enough: that is no failure.
    if (error !== undefined && error.code !== 'EPIPE') throw error
  }

  /** A bar on stderr, on a terminal only, and only once the work has taken half a second. */
  progress(): Progress | undefined {
    if (this.#quiet || process.stderr.isTTY !== true) return undefined
    this.#bar = progressBar((text) => process.stderr.write(text))
    return this.#bar
  }

  /** A half-drawn bar must not stand in front of the next line, whoever writes it. */
  endProgress(): void {
    this.#bar?.end()
  }
}

function written(text: string): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    // Node tells twice: without a listener the second time would end the process with a stack trace.
    process.stdout.once('error', resolve)
    process.stdout.write(text, (error) => {
      if (error == null) process.stdout.off('error', resolve)
      resolve(error ?? undefined)
    })
  })
}

const patienceMs = 500
const frameMs = 80

export function progressBar(
  write: (text: string) => void,
  now: () => number = () => performance.now(),
): Progress & { readonly end: () => void } {
  let started = now()
  let drawn = 0
  let shown = false
  const draw = (report: Parameters<Progress>[0]) => {
    const at = now()
    const finished = report.total !== undefined && report.done >= report.total
    if (at - started < patienceMs || (at - drawn < frameMs && !finished)) return
    drawn = at
    shown = true
    write(`\r\u001b[2K${finished ? '' : barText(report)}`)
  }
  return Object.assign(draw, {
    end: () => {
      if (shown) write('\r\u001b[2K')
      shown = false
      // What comes next is other work, and may be short: in a dialogue a bar would flash up at every answer.
      started = now()
    },
  })
}

function barText({ what, done, total }: Parameters<Progress>[0]): string {
  const label = what === 'looking' ? 'Looking at files' : 'Storing files'
  if (total === undefined || total === 0) return `${label} ${done}`
  const filled = Math.round((24 * done) / total)
  return `${label} [${'#'.repeat(filled)}${'.'.repeat(24 - filled)}] ${done}/${total}`
}
