/**
 * Git's ignore rules, over bytes, in our process: a scan of 100,000 files cannot ask git about each of them.
 *
 * Reading the files of rules is the caller's work. Git does not follow a `.gitignore` that is a symlink;
 * a caller that does would take rules from outside the workspace.
 */

import {
  compilePattern,
  firstByte,
  foldCase,
  type Glob,
  globMatches,
  lastByte,
  type Pattern,
  parsePattern,
} from '../glob.ts'
import type { ByteString, RelPath } from '../values.ts'

/** One line of rules that says something. */
export type Rule = Pattern

/**
 * One parsed file of rules. `base` is the folder it stands in; '' for the root, and for `info/exclude` and
 * the global excludes.
 */
export interface RuleList {
  readonly base: ByteString
  readonly rules: readonly Rule[]
}

export function parseRules(content: ByteString, base: ByteString): RuleList {
  const rules: Rule[] = []
  const text = content.startsWith('\xef\xbb\xbf') ? content.slice(3) : content
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const rule = parsePattern(trimmed(line))
    if (rule.text !== '') rules.push(rule)
  }
  return { base, rules }
}

/** As git cuts a line: one CR at its end, all from a NUL on, then spaces at the end that no `\` protects. */
function trimmed(line: ByteString): ByteString {
  const withoutReturn = line.endsWith('\r') ? line.slice(0, -1) : line
  const nul = withoutReturn.indexOf('\0')
  const text = nul < 0 ? withoutReturn : withoutReturn.slice(0, nul)
  if (!text.endsWith(' ')) return text
  let end = 0
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === ' ') continue
    if (text[at] === '\\') at += 1
    end = at + 1
  }
  return text.slice(0, end)
}

export type Verdict = 'ignored' | 'included'

export interface IgnoreOptions {
  /** The user's `core.ignorecase`. */
  readonly ignoreCase?: boolean
}

/** Immutable. A later list (a deeper folder) goes before an earlier one; inside a list the last match counts. */
export class IgnoreStack {
  readonly #lists: readonly PreparedRules[]
  readonly #ignoreCase: boolean

  private constructor(lists: readonly PreparedRules[], ignoreCase: boolean) {
    this.#lists = lists
    this.#ignoreCase = ignoreCase
  }

  /** Lowest precedence first: the global excludes, `info/exclude`, then the root's `.gitignore`. */
  static of(lists: readonly RuleList[], options: IgnoreOptions = {}): IgnoreStack {
    const ignoreCase = options.ignoreCase ?? false
    const prepared = lists.filter(saysSomething).map((list) => new PreparedRules(list, ignoreCase))
    return new IgnoreStack(prepared, ignoreCase)
  }

  push(list: RuleList): IgnoreStack {
    if (!saysSomething(list)) return this
    return new IgnoreStack([...this.#lists, new PreparedRules(list, this.#ignoreCase)], this.#ignoreCase)
  }

  /**
   * `undefined`: no rule says anything. The caller walks from the top and does not go into an ignored folder:
   * git never includes again what lies in one. A symlink is no folder, whatever it points to.
   */
  verdict(path: RelPath, isFolder: boolean): Verdict | undefined {
    const lists = this.#lists
    if (lists.length === 0) return undefined
    const asked = this.#ignoreCase ? foldCase(path) : path
    const name = asked.slice(asked.lastIndexOf('/') + 1)
    for (let i = lists.length - 1; i >= 0; i -= 1) {
      const verdict = lists[i]?.verdict(asked, name, isFolder)
      if (verdict !== undefined) return verdict
    }
    return undefined
  }
}

function saysSomething(list: RuleList): boolean {
  return list.rules.length > 0
}

/** For one text, the place in the list of the last rule about it; -1 for none. */
interface LastRule {
  file: number
  folder: number
}

interface WildRule {
  readonly place: number
  readonly folderOnly: boolean
  readonly namesOnly: boolean
  readonly glob: Glob
  readonly first: number
  readonly last: number
}

/** A list sorted for asking: most rules are a plain name or `*.ext`, and are looked up instead of tried. */
class PreparedRules {
  readonly #start: ByteString
  readonly #negated: readonly boolean[]
  readonly #names = new Map<ByteString, LastRule>()
  readonly #endings = new Map<ByteString, LastRule>()
  readonly #paths = new Map<ByteString, LastRule>()
  /** Last one first. */
  readonly #wild: WildRule[] = []

  constructor(list: RuleList, ignoreCase: boolean) {
    const base = ignoreCase ? foldCase(list.base) : list.base
    this.#start = base === '' ? '' : `${base}/`
    this.#negated = list.rules.map((rule) => rule.negated)
    for (const [place, rule] of list.rules.entries()) this.#add(place, rule, compilePattern(rule, ignoreCase))
    this.#wild.reverse()
  }

  #add(place: number, rule: Rule, glob: Glob): void {
    if (glob.kind === 'never') return
    if (glob.kind === 'exact') note(rule.namesOnly ? this.#names : this.#paths, glob.text, place, rule)
    else if (glob.kind === 'suffix' && glob.text.lastIndexOf('.') === 0) {
      note(this.#endings, glob.text, place, rule)
    } else this.#wild.push(wildRule(place, rule, glob))
  }

  verdict(path: ByteString, name: ByteString, isFolder: boolean): Verdict | undefined {
    if (!path.startsWith(this.#start)) return undefined
    const place = this.#lastMatch(path, name, isFolder)
    if (place < 0) return undefined
    return this.#negated[place] === true ? 'included' : 'ignored'
  }

  #lastMatch(path: ByteString, name: ByteString, isFolder: boolean): number {
    let last = -1
    if (this.#names.size > 0) last = later(last, this.#names.get(name), isFolder)
    if (this.#endings.size > 0) {
      const dot = name.lastIndexOf('.')
      if (dot >= 0) last = later(last, this.#endings.get(dot === 0 ? name : name.slice(dot)), isFolder)
    }
    const below = this.#start === '' ? path : path.slice(this.#start.length)
    if (this.#paths.size > 0) last = later(last, this.#paths.get(below), isFolder)
    for (const rule of this.#wild) {
      if (rule.place < last) break
      if (rule.folderOnly && !isFolder) continue
      const text = rule.namesOnly ? name : below
      if (rule.first >= 0 && rule.first !== text.charCodeAt(0)) continue
      if (rule.last >= 0 && rule.last !== text.charCodeAt(text.length - 1)) continue
      if (globMatches(rule.glob, text)) return rule.place
    }
    return last
  }
}

function wildRule(place: number, rule: Rule, glob: Glob): WildRule {
  const { folderOnly, namesOnly } = rule
  return { place, folderOnly, namesOnly, glob, first: firstByte(glob), last: lastByte(glob) }
}

function note(rules: Map<ByteString, LastRule>, text: ByteString, place: number, rule: Rule): void {
  const known = rules.get(text) ?? { file: -1, folder: -1 }
  rules.set(text, { file: rule.folderOnly ? known.file : place, folder: place })
}

function later(last: number, found: LastRule | undefined, isFolder: boolean): number {
  if (found === undefined) return last
  return Math.max(last, isFolder ? found.folder : found.file)
}

const nameGlobs = new Map<ByteString, Glob>()

/** Globs for one name, such as `.env*`: for the protect list and the names of heavy folders. */
export function matchesName(glob: ByteString, name: ByteString): boolean {
  let compiled = nameGlobs.get(glob)
  if (compiled === undefined) {
    compiled = compilePattern({ text: glob, negated: false, folderOnly: false, namesOnly: true }, false)
    if (nameGlobs.size >= 1_000) nameGlobs.clear()
    nameGlobs.set(glob, compiled)
  }
  return globMatches(compiled, name)
}
