/**
 * Git's patterns, as `.gitignore` and `.gitattributes` have them, over bytes. A leaf: `workspace/` asks it what
 * is ignored, `store/` what git might convert.
 *
 * Where git is odd, so are we: a user's rules mean what git makes of them. Checked against the real git by the
 * property test beside `workspace/ignore.ts`.
 */

import type { ByteString } from './values.ts'

export interface Pattern {
  /** Without the leading `!` and `/`, and without the trailing `/`. */
  readonly text: ByteString
  readonly negated: boolean
  readonly folderOnly: boolean
  /** Holds no `/`, so it is compared with the last name of a path, in any folder. */
  readonly namesOnly: boolean
}

export function parsePattern(line: ByteString): Pattern {
  const negated = line.startsWith('!')
  const folderOnly = line.length > (negated ? 1 : 0) && line.endsWith('/')
  const body = line.slice(negated ? 1 : 0, folderOnly ? -1 : undefined)
  return {
    text: body.startsWith('/') ? body.slice(1) : body,
    negated,
    folderOnly,
    namesOnly: !body.includes('/'),
  }
}

/**
 * A pattern made ready. With `ignoreCase` the caller hands in text that went through `foldCase`.
 * `exact` and `suffix` are apart from `wild` so that a long list of them can be looked up instead of tried.
 */
export type Glob =
  | { readonly kind: 'never' }
  | { readonly kind: 'exact'; readonly text: ByteString }
  | { readonly kind: 'suffix'; readonly text: ByteString }
  | { readonly kind: 'wild'; readonly prefix: ByteString; readonly program: Program }

export function compilePattern(pattern: Pattern, ignoreCase: boolean): Glob {
  const { text, namesOnly } = pattern
  if (text === '') return { kind: 'never' }
  const simple = simpleLength(text)
  if (simple === text.length) return { kind: 'exact', text: folded(text, ignoreCase) }
  if (namesOnly && text.startsWith('*') && simpleLength(text.slice(1)) === text.length - 1) {
    return { kind: 'suffix', text: folded(text.slice(1), ignoreCase) }
  }
  // Git compares the plain beginning by itself and hands only the rest to its matcher. That shows: in `a**/b`
  // the rest begins with `**/`, which then crosses folders as if it stood alone.
  const program = compileProgram(text.slice(simple), { crossing: !namesOnly, ignoreCase })
  if (program === undefined) return { kind: 'never' }
  return { kind: 'wild', prefix: folded(text.slice(0, simple), ignoreCase), program }
}

export function globMatches(glob: Glob, text: ByteString): boolean {
  switch (glob.kind) {
    case 'never':
      return false
    case 'exact':
      return text === glob.text
    case 'suffix':
      return text.endsWith(glob.text)
    case 'wild':
      return text.startsWith(glob.prefix) && runs(glob.program, text, glob.prefix.length)
  }
}

/** The byte that text must begin with to match; -1 where that is open. Most rules are out after this look. */
export function firstByte(glob: Glob): number {
  if (glob.kind === 'exact') return glob.text.charCodeAt(0)
  if (glob.kind !== 'wild') return -1
  return glob.prefix === '' ? plainByte(glob.program.steps[0]) : glob.prefix.charCodeAt(0)
}

/** The byte that text must end with to match; -1 where that is open. */
export function lastByte(glob: Glob): number {
  if (glob.kind === 'wild') return plainByte(glob.program.steps.at(-1))
  return glob.kind === 'never' || glob.text === '' ? -1 : glob.text.charCodeAt(glob.text.length - 1)
}

function plainByte(step: number | undefined): number {
  return step !== undefined && step >= 0 && step < FIRST_SET ? step : -1
}

/** ASCII only, as git folds. `toLowerCase` would change bytes of UTF-8 names, which are no letters here. */
export function foldCase(text: ByteString): ByteString {
  return /[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text
}

function folded(text: ByteString, ignoreCase: boolean): ByteString {
  return ignoreCase ? foldCase(text) : text
}

/** How many bytes stand for themselves before the first one that does not. */
function simpleLength(text: ByteString): number {
  const special = text.search(/[*?[\\]/)
  return special < 0 ? text.length : special
}

/** One number for each thing to match: a byte, 256 and up for a set of bytes, or one of the names below. */
interface Program {
  readonly steps: Int32Array
  readonly sets: readonly Uint8Array[]
}

const ANY_BYTE = -1
/** Any bytes but `/`. */
const STAR = -2
/** Any bytes. */
const GLOBSTAR = -3
/** Nothing, or any bytes up to and with a `/`. */
const GLOBSTAR_SLASH = -4
const FIRST_SET = 256

const SLASH = 0x2f
const BACKSLASH = 0x5c
const ASTERISK = 0x2a
const QUESTION = 0x3f
const BRACKET = 0x5b

interface Dialect {
  /** Paths are matched, so that `/` and `**` mean something. */
  readonly crossing: boolean
  readonly ignoreCase: boolean
}

/** `undefined` for a pattern that can never match: an open bracket, an unknown class, a lone `\` at the end. */
function compileProgram(text: ByteString, dialect: Dialect): Program | undefined {
  const steps: number[] = []
  const sets: Uint8Array[] = []
  for (let at = 0; at < text.length; ) {
    const byte = text.charCodeAt(at)
    if (byte === ASTERISK) {
      const end = endOfStars(text, at)
      const globstar = dialect.crossing && isGlobstar(text, at, end)
      const slash = globstar && text.charCodeAt(end) === SLASH
      steps.push(slash ? GLOBSTAR_SLASH : globstar ? GLOBSTAR : STAR)
      at = slash ? end + 1 : end
    } else if (byte === BRACKET) {
      const set = parseSet(text, at, dialect)
      if (set === undefined) return undefined
      steps.push(FIRST_SET + sets.length)
      sets.push(set.members)
      at = set.end
    } else if (byte === BACKSLASH) {
      if (at + 1 === text.length) return undefined
      steps.push(text.charCodeAt(at + 1)) // not folded: with ignorecase, git's `\A` matches neither case
      at += 2
    } else {
      steps.push(byte === QUESTION ? ANY_BYTE : dialect.ignoreCase ? lower(byte) : byte)
      at += 1
    }
  }
  return { steps: Int32Array.from(steps), sets }
}

function endOfStars(text: ByteString, start: number): number {
  let end = start
  while (text.charCodeAt(end) === ASTERISK) end += 1
  return end
}

function isGlobstar(text: ByteString, start: number, end: number): boolean {
  if (end - start < 2) return false
  if (start > 0 && text.charCodeAt(start - 1) !== SLASH) return false
  const next = text.charCodeAt(end)
  return end === text.length || next === SLASH || (next === BACKSLASH && text.charCodeAt(end + 1) === SLASH)
}

/**
 * Two points to come back to are enough, the last `*` and the last `**`: whatever an earlier one could still
 * give, the later one gives too. So a hostile `*a*a*a*a*b` costs length times length, not a power of it.
 */
function runs(program: Program, text: ByteString, from: number): boolean {
  const { steps } = program
  let step = 0
  let at = from
  let starStep = -1
  let starAt = 0
  let globStep = -1
  let globAt = 0
  for (;;) {
    const wanted = step < steps.length ? (steps[step] as number) : undefined
    if (wanted === undefined) {
      if (at === text.length) return true
    } else if (wanted === STAR) {
      step += 1
      starStep = step
      starAt = at
      continue
    } else if (wanted === GLOBSTAR || wanted === GLOBSTAR_SLASH) {
      step += 1
      if (wanted === GLOBSTAR && step === steps.length) return true
      globStep = step
      globAt = at
      starStep = -1
      continue
    } else if (at < text.length && takes(program, wanted, text.charCodeAt(at))) {
      step += 1
      at += 1
      continue
    }

    if (starStep >= 0 && starAt < text.length && text.charCodeAt(starAt) !== SLASH) {
      starAt += 1
      at = starAt
      step = starStep
      continue
    }
    if (globStep < 0) return false
    globAt = steps[globStep - 1] === GLOBSTAR_SLASH ? text.indexOf('/', globAt) + 1 : globAt + 1
    if (globAt === 0 || globAt > text.length) return false
    starStep = -1
    at = globAt
    step = globStep
  }
}

function takes(program: Program, wanted: number, byte: number): boolean {
  if (wanted === ANY_BYTE) return byte !== SLASH
  if (wanted < FIRST_SET) return wanted === byte
  return program.sets[wanted - FIRST_SET]?.[byte] === 1
}

interface ParsedSet {
  readonly members: Uint8Array
  readonly end: number
}

const CARET = 0x5e
const BANG = 0x21
const CLOSE = 0x5d
const DASH = 0x2d
const COLON = 0x3a

/** `[...]` beginning at `start`; `undefined` where it does not end or names a class that does not exist. */
function parseSet(text: ByteString, start: number, dialect: Dialect): ParsedSet | undefined {
  const members = new Uint8Array(256)
  let at = start + 1
  const negated = text.charCodeAt(at) === BANG || text.charCodeAt(at) === CARET
  if (negated) at += 1
  const first = at
  let previous = 0 // the byte a `-` could start from; 0 for none
  for (; at === first || text.charCodeAt(at) !== CLOSE; at += 1) {
    if (at >= text.length) return undefined
    let byte = text.charCodeAt(at)
    if (byte === DASH && previous !== 0 && at + 1 < text.length && text.charCodeAt(at + 1) !== CLOSE) {
      at += 1
      if (text.charCodeAt(at) === BACKSLASH) at += 1
      if (at >= text.length) return undefined
      addRange(members, previous, text.charCodeAt(at), dialect)
      previous = 0
      continue
    }
    if (byte === BRACKET && text.charCodeAt(at + 1) === COLON) {
      const close = text.indexOf(']', at + 2)
      if (close < 0) return undefined
      if (close > at + 2 && text.charCodeAt(close - 1) === COLON) {
        const inClass = classes.get(text.slice(at + 2, close - 1))
        if (inClass === undefined) return undefined
        addClass(members, inClass, dialect)
        previous = 0
        at = close
        continue
      }
    } else if (byte === BACKSLASH) {
      at += 1
      if (at >= text.length) return undefined
      byte = text.charCodeAt(at)
    }
    members[byte] = 1
    previous = byte
  }
  return { members: finished(members, negated, dialect), end: at + 1 }
}

function addRange(members: Uint8Array, from: number, to: number, { ignoreCase }: Dialect): void {
  for (let byte = from; byte <= to; byte += 1) {
    members[byte] = 1
    if (ignoreCase) members[lower(byte)] = 1
  }
}

function addClass(members: Uint8Array, inClass: (byte: number) => boolean, { ignoreCase }: Dialect): void {
  for (let byte = 0; byte < 0x80; byte += 1) {
    if (!inClass(byte)) continue
    members[byte] = 1
    if (ignoreCase && inClass === isUpper) members[lower(byte)] = 1
  }
}

function finished(members: Uint8Array, negated: boolean, { crossing }: Dialect): Uint8Array {
  const result = negated ? members.map((member) => 1 - member) : members
  if (crossing) result[SLASH] = 0
  return result
}

function lower(byte: number): number {
  return isUpper(byte) ? byte + 32 : byte
}

const isUpper = (byte: number) => byte >= 0x41 && byte <= 0x5a
const isLower = (byte: number) => byte >= 0x61 && byte <= 0x7a
const isDigit = (byte: number) => byte >= 0x30 && byte <= 0x39
const isAlpha = (byte: number) => isUpper(byte) || isLower(byte)
const isGraph = (byte: number) => byte > 0x20 && byte < 0x7f

/** Git's own idea of them: ASCII only whatever the locale, and `space` without form feed and vertical tab. */
const classes: ReadonlyMap<ByteString, (byte: number) => boolean> = new Map([
  ['alnum', (byte: number) => isAlpha(byte) || isDigit(byte)],
  ['alpha', isAlpha],
  ['blank', (byte: number) => byte === 0x20 || byte === 0x09],
  ['cntrl', (byte: number) => byte < 0x20 || byte === 0x7f],
  ['digit', isDigit],
  ['graph', isGraph],
  ['lower', isLower],
  ['print', (byte: number) => byte === 0x20 || isGraph(byte)],
  ['punct', (byte: number) => isGraph(byte) && !isAlpha(byte) && !isDigit(byte)],
  ['space', (byte: number) => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d],
  ['upper', isUpper],
  [
    'xdigit',
    (byte: number) => isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66),
  ],
])
