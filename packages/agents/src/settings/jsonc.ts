/**
 * Settings files of other people: JSON, often with comments. They are changed as text, at the one place that is ours, so
 * that comments, order and spacing of everything else stay as they are.
 */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

interface Span {
  readonly start: number
  readonly end: number
}

export type JsonNode = Span &
  (
    | { readonly kind: 'object'; readonly members: readonly Member[] }
    | { readonly kind: 'list'; readonly items: readonly JsonNode[] }
    | { readonly kind: 'value'; readonly value: null | boolean | number | string }
  )

interface Member {
  readonly key: string
  readonly start: number
  readonly value: JsonNode
}

export class JsoncError extends Error {}

/** Comments and commas behind the last entry are allowed, as the agents allow them. */
export function parseJsonc(text: string): JsonNode {
  const reader = new Reader(text)
  const node = reader.node(0)
  reader.end()
  return node
}

export function plainOf(node: JsonNode): Json {
  switch (node.kind) {
    case 'object':
      return Object.fromEntries(node.members.map(({ key, value }) => [key, plainOf(value)]))
    case 'list':
      return node.items.map(plainOf)
    case 'value':
      return node.value
  }
}

const deepest = 200

class Reader {
  readonly #text: string
  #at: number

  constructor(text: string) {
    this.#text = text
    this.#at = text.charCodeAt(0) === 0xfeff ? 1 : 0
  }

  node(depth: number): JsonNode {
    if (depth > deepest) this.#fail('it is nested too deeply')
    this.#skip()
    const start = this.#at
    const sign = this.#text[start]
    if (sign === '{') return this.#object(start, depth)
    if (sign === '[') return this.#list(start, depth)
    const value = sign === '"' ? this.#string() : this.#word()
    return { kind: 'value', value, start, end: this.#at }
  }

  end(): void {
    this.#skip()
    if (this.#at < this.#text.length) this.#fail('something stands behind its end')
  }

  #object(start: number, depth: number): JsonNode {
    const members: Member[] = []
    this.#at += 1
    while (!this.#closes('}')) {
      const keyAt = this.#at
      if (this.#text[keyAt] !== '"') this.#fail('a name in quotes is missing')
      const key = this.#string()
      this.#skip()
      if (this.#text[this.#at] !== ':') this.#fail('a colon is missing')
      this.#at += 1
      members.push({ key, start: keyAt, value: this.node(depth + 1) })
      this.#comma('}')
    }
    return { kind: 'object', members, start, end: this.#at }
  }

  #list(start: number, depth: number): JsonNode {
    const items: JsonNode[] = []
    this.#at += 1
    while (!this.#closes(']')) {
      items.push(this.node(depth + 1))
      this.#comma(']')
    }
    return { kind: 'list', items, start, end: this.#at }
  }

  #closes(sign: string): boolean {
    this.#skip()
    if (this.#at >= this.#text.length) this.#fail(`a ${sign} is missing`)
    if (this.#text[this.#at] !== sign) return false
    this.#at += 1
    return true
  }

  #comma(closing: string): void {
    this.#skip()
    if (this.#text[this.#at] === ',') this.#at += 1
    else if (this.#text[this.#at] !== closing) this.#fail('a comma is missing')
  }

  #string(): string {
    const pattern = /"(?:[^"\\\n]|\\.)*"/y
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found === undefined) this.#fail('a text has no end')
    this.#at += found?.length ?? 0
    return this.#decoded(found ?? '') as string
  }

  #word(): null | boolean | number {
    const pattern = /true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found === undefined) this.#fail('no value is known that begins like this')
    this.#at += found?.length ?? 0
    return this.#decoded(found ?? '') as null | boolean | number
  }

  #decoded(json: string): unknown {
    try {
      return JSON.parse(json)
    } catch {
      return this.#fail('it is no JSON')
    }
  }

  #skip(): void {
    this.#at = skipBlank(this.#text, this.#at)
  }

  #fail(why: string): never {
    const line = this.#text.slice(0, this.#at).split('\n').length
    throw new JsoncError(`line ${line}: ${why}`)
  }
}

/** Behind blanks and comments. */
function skipBlank(text: string, from: number): number {
  const pattern = /(?:[ \t\r\n]+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y
  pattern.lastIndex = from
  pattern.exec(text)
  return pattern.lastIndex
}

// ---- changing ----------------------------------------------------------------------------------------------------------

/** Puts a value at the end of the list below these names; what is missing on the way is made. */
export function appendAt(text: string, names: readonly string[], value: Json): string {
  const root = parseJsonc(text)
  const { node, rest } = descend(root, names)
  if (rest.length === 0) {
    if (node.kind !== 'list') throw new JsoncError(`${names.join('.')} is no list`)
    return insert(text, node, inLast(node.items), (indent) => printed(value, indent, text))
  }
  if (node.kind !== 'object') throw new JsoncError(`${names.join('.')} leads through something else`)
  const [first = '', ...others] = rest
  const nested = others.reduceRight<Json>((inner, name) => ({ [name]: inner }), [value])
  const last = node.members.at(-1)
  return insert(
    text,
    node,
    last === undefined ? undefined : { start: last.start, end: last.value.end },
    (indent) => `${JSON.stringify(first)}: ${printed(nested, indent, text)}`,
  )
}

function inLast(items: readonly JsonNode[]): Span | undefined {
  return items.at(-1)
}

function descend(
  root: JsonNode,
  names: readonly string[],
): { readonly node: JsonNode; readonly rest: readonly string[] } {
  let node = root
  for (let at = 0; at < names.length; at += 1) {
    const next = node.kind === 'object' ? memberOf(node, names[at] ?? '') : undefined
    if (next === undefined) return { node, rest: names.slice(at) }
    node = next
  }
  return { node, rest: [] }
}

export function memberOf(node: JsonNode, key: string): JsonNode | undefined {
  // Of a name that stands twice the last one counts, as for everybody who reads JSON.
  return node.kind === 'object' ? node.members.findLast((member) => member.key === key)?.value : undefined
}

export function nodeAt(text: string, names: readonly string[]): JsonNode | undefined {
  const { node, rest } = descend(parseJsonc(text), names)
  return rest.length === 0 ? node : undefined
}

function insert(
  text: string,
  box: JsonNode,
  last: Span | undefined,
  print: (indent: string | undefined) => string,
): string {
  const close = box.end - 1
  const inner = text.slice(box.start + 1, close)
  const eol = eolOf(text)
  const around = indentAt(text, box.start)
  if (last === undefined) {
    const indent = around + unitOf(text)
    // A comment in an empty object keeps its place, in front of what is new.
    const kept = inner.trimEnd()
    return `${text.slice(0, box.start + 1)}${kept}${eol}${indent}${print(indent)}${eol}${around}${text.slice(close)}`
  }
  const isOneLine = !inner.includes('\n')
  const hasComma = text[skipBlank(text, last.end)] === ','
  const withComma = hasComma
    ? text.slice(0, close)
    : `${text.slice(0, last.end)},${text.slice(last.end, close)}`
  const end = withComma.trimEnd()
  const tail = withComma.slice(end.length)
  if (isOneLine) return `${end} ${print(undefined)}${tail}${text.slice(close)}`
  const indent = indentAt(text, last.start)
  return `${end}${eol}${indent}${print(indent)}${hasComma ? ',' : ''}${tail}${text.slice(close)}`
}

/** Takes every item out of the lists below `names` that is ours, and lists and objects that are empty because of that. */
export function removeWhere(
  text: string,
  names: readonly string[],
  isOurs: (value: Json) => boolean,
): string {
  let current = text
  for (let rounds = 0; rounds < 1_000; rounds += 1) {
    const found = findOurs(current, names, isOurs)
    if (found === undefined) return current
    current = removeEntry(current, found)
  }
  throw new JsoncError('it does not come to an end')
}

/** From the outside in: the boxes around the item, and the item itself. */
function findOurs(
  text: string,
  names: readonly string[],
  isOurs: (value: Json) => boolean,
): readonly JsonNode[] | undefined {
  const root = parseJsonc(text)
  const trail: JsonNode[] = [root]
  for (const name of names) {
    const next = memberOf(trail.at(-1) ?? root, name)
    if (next === undefined) return undefined
    trail.push(next)
  }
  const box = trail.at(-1)
  for (const { value } of box?.kind === 'object' ? box.members : []) {
    const item = value.kind === 'list' ? value.items.find((one) => isOurs(plainOf(one))) : undefined
    if (item !== undefined) return [...trail, value, item]
  }
  return undefined
}

function removeEntry(text: string, trail: readonly JsonNode[]): string {
  let at = trail.length - 1
  // What would be left empty goes as well, but not the document itself.
  while (at > 1 && sizeOf(trail[at - 1]) === 1) at -= 1
  const box = trail[at - 1]
  const entry = trail[at]
  if (box === undefined || entry === undefined) return text
  return cutOut(text, box, entry)
}

function sizeOf(node: JsonNode | undefined): number {
  if (node?.kind === 'object') return node.members.length
  return node?.kind === 'list' ? node.items.length : 0
}

function cutOut(text: string, box: JsonNode, entry: JsonNode): string {
  const start = box.kind === 'object' ? startOfMember(box, entry) : entry.start
  const before = text.slice(0, start).trimEnd()
  const next = skipBlank(text, entry.end)
  const isLast = text[next] !== ','
  if (!isLast) return tidy(`${before}${text.slice(next + 1)}`, box, sizeOf(box) === 1)
  const comma = before.endsWith(',') ? before.slice(0, -1) : withoutLastComma(before, text, box, entry)
  return tidy(`${comma}${text.slice(entry.end)}`, box, sizeOf(box) === 1)
}

function startOfMember(box: JsonNode, value: JsonNode): number {
  return box.kind === 'object'
    ? (box.members.find((member) => member.value === value)?.start ?? value.start)
    : value.start
}

// Between the entry before and this one a comment may stand, with the comma in front of it.
function withoutLastComma(before: string, text: string, box: JsonNode, entry: JsonNode): string {
  const ends = box.kind === 'object' ? box.members.map(({ value }) => value.end) : itemsEnds(box)
  const last = ends.filter((end) => end <= entry.start && end < before.length + 1).at(-1)
  if (last === undefined) return before
  const comma = skipBlank(text, last)
  return text[comma] === ',' ? `${before.slice(0, comma)}${before.slice(comma + 1)}` : before
}

function itemsEnds(box: JsonNode): readonly number[] {
  return box.kind === 'list' ? box.items.map(({ end }) => end) : []
}

// `{` and `}` with nothing but blanks between them.
function tidy(text: string, box: JsonNode, isEmpty: boolean): string {
  if (!isEmpty) return text
  const open = text[box.start]
  const close = open === '{' ? '}' : ']'
  const end = text.indexOf(close, box.start)
  return text.slice(box.start + 1, end).trim() === ''
    ? `${text.slice(0, box.start + 1)}${text.slice(end)}`
    : text
}

/** Puts another text in the place of this node. */
export function replaceNode(text: string, node: Span, value: Json): string {
  return `${text.slice(0, node.start)}${JSON.stringify(value)}${text.slice(node.end)}`
}

function printed(value: Json, indent: string | undefined, text: string): string {
  if (indent === undefined) return JSON.stringify(value)
  return JSON.stringify(value, null, unitOf(text)).replaceAll('\n', `${eolOf(text)}${indent}`)
}

function eolOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n'
}

function unitOf(text: string): string {
  return /^([ \t]+)\S/m.exec(text)?.[1] ?? '  '
}

function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at)
  return /^[ \t]*/.exec(line)?.[0] ?? ''
}
