/**
 * The one parser's tools: outside data (op.json, flights, journals' notes) is `unknown` until a `Shape` has
 * looked at it. Each function says what it expected and where, so that a damaged record has a clear error.
 */

export class ShapeError extends Error {}

export class Shape {
  readonly #value: Readonly<Record<string, unknown>>
  readonly #where: string

  constructor(value: unknown, where: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new ShapeError(`${where} is not an object`)
    }
    this.#value = value as Readonly<Record<string, unknown>>
    this.#where = where
  }

  static parse(json: string, where: string): Shape {
    try {
      return new Shape(JSON.parse(json), where)
    } catch (error) {
      if (error instanceof ShapeError) throw error
      throw new ShapeError(`${where} is not JSON`)
    }
  }

  has(key: string): boolean {
    return this.#value[key] !== undefined
  }

  text(key: string): string {
    const value = this.#value[key]
    return typeof value === 'string' ? value : this.#fail(key, 'a text')
  }

  maybeText(key: string): string | undefined {
    return this.has(key) ? this.text(key) : undefined
  }

  /** A text or null. */
  nullableText(key: string): string | null {
    return this.#value[key] === null ? null : this.text(key)
  }

  number(key: string): number {
    const value = this.#value[key]
    return typeof value === 'number' && Number.isFinite(value) ? value : this.#fail(key, 'a number')
  }

  /** A whole number within these bounds: an absurd one would break whoever counts on from it. */
  whole(key: string, least: number, most: number): number {
    const value = this.number(key)
    return Number.isInteger(value) && value >= least && value <= most
      ? value
      : this.#fail(key, `a whole number from ${least} to ${most}`)
  }

  maybeNumber(key: string): number | undefined {
    return this.has(key) ? this.number(key) : undefined
  }

  flag(key: string): boolean {
    const value = this.#value[key]
    if (value === undefined) return false
    return typeof value === 'boolean' ? value : this.#fail(key, 'true or false')
  }

  oneOf<Word extends string>(key: string, words: readonly Word[]): Word {
    const value = this.#value[key]
    for (const word of words) if (word === value) return word
    return this.#fail(key, `one of ${words.join(', ')}`)
  }

  object(key: string): Shape {
    return new Shape(this.#value[key], `${this.#where}.${key}`)
  }

  maybeObject(key: string): Shape | undefined {
    return this.has(key) ? this.object(key) : undefined
  }

  texts(key: string): readonly string[] {
    return this.#list(key).map((item, at) =>
      typeof item === 'string' ? item : this.#fail(`${key}[${at}]`, 'a text'),
    )
  }

  objects(key: string): readonly Shape[] {
    return this.#list(key).map((item, at) => new Shape(item, `${this.#where}.${key}[${at}]`))
  }

  #list(key: string): readonly unknown[] {
    const value = this.#value[key]
    if (value === undefined) return []
    return Array.isArray(value) ? value : this.#fail(key, 'a list')
  }

  #fail(key: string, expected: string): never {
    throw new ShapeError(`${this.#where}.${key} is not ${expected}`)
  }
}
