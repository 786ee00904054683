/**
 * Arguments of one command. A value option always takes the next word, whatever it begins with: a prompt may well
 * start with `--`.
 */

export interface OptionSpec {
  readonly name: string
  readonly short?: string
  /** What to call the value in the help; absent: a switch. */
  readonly value?: string
  readonly repeats?: boolean
  readonly help: string
}

export class UsageError extends Error {}

export class Args {
  readonly #values: ReadonlyMap<string, readonly string[]>
  readonly words: readonly string[]
  /** Everything behind `--`; undefined where there was no `--`. */
  readonly rest: readonly string[] | undefined

  constructor(
    values: ReadonlyMap<string, readonly string[]>,
    words: readonly string[],
    rest: readonly string[] | undefined,
  ) {
    this.#values = values
    this.words = words
    this.rest = rest
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  get(name: string): string | undefined {
    return this.#values.get(name)?.at(-1)
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? []
  }

  require(name: string): string {
    const value = this.get(name)
    if (value === undefined) throw new UsageError(`--${name} is missing`)
    return value
  }

  oneOf<Word extends string>(name: string, words: readonly Word[], fallback: Word): Word {
    const value = this.get(name)
    if (value === undefined) return fallback
    for (const word of words) if (word === value) return word
    throw new UsageError(`--${name} is one of ${words.join(', ')}, not ${JSON.stringify(value)}`)
  }

  count(name: string): number | undefined {
    const value = this.get(name)
    if (value === undefined) return undefined
    if (!/^\d{1,9}$/.test(value) || Number(value) < 1)
      throw new UsageError(`--${name} takes a number from 1, not ${JSON.stringify(value)}`)
    return Number(value)
  }
}

export function parseArgs(argv: readonly string[], options: readonly OptionSpec[]): Args {
  const values = new Map<string, string[]>()
  const words: string[] = []
  const byName = new Map<string, OptionSpec>(
    options.flatMap((spec) => [
      [`--${spec.name}`, spec] as const,
      ...(spec.short === undefined ? [] : [[`-${spec.short}`, spec] as const]),
    ]),
  )
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? ''
    if (word === '--') return new Args(values, words, argv.slice(at + 1))
    if (!word.startsWith('-') || word === '-') {
      words.push(word)
      continue
    }
    const equals = word.startsWith('--') ? word.indexOf('=') : -1
    const spec = byName.get(equals < 0 ? word : word.slice(0, equals))
    if (spec === undefined)
      throw new UsageError(`the option ${equals < 0 ? word : word.slice(0, equals)} is not known here`)
    at = take(spec, equals < 0 ? undefined : word.slice(equals + 1), argv, at, values)
  }
  return new Args(values, words, undefined)
}

function take(
  spec: OptionSpec,
  inline: string | undefined,
  argv: readonly string[],
  at: number,
  values: Map<string, string[]>,
): number {
  if (spec.value === undefined) {
    if (inline !== undefined) throw new UsageError(`--${spec.name} takes no value`)
    values.set(spec.name, [''])
    return at
  }
  const value = inline ?? argv[at + 1]
  if (value === undefined) throw new UsageError(`--${spec.name} needs a value (${spec.value})`)
  if (values.has(spec.name) && spec.repeats !== true) throw new UsageError(`--${spec.name} is given twice`)
  values.set(spec.name, [...(values.get(spec.name) ?? []), value])
  return inline === undefined ? at + 1 : at
}
