/**
 * Which files git may convert between disk and blob. A blob is borrowed only for the others (P6).
 *
 * Line endings are not asked about: converting them changes the size, and sizes are compared before borrowing.
 * A filter, a keyword or an encoding can leave the size as it is.
 *
 * TODO: attributes are read as they stand now. A file that was added under a filter of equal size (rot13, say)
 * which has since left `.gitattributes` is not recognised, until git looks at the file again.
 */

import { compilePattern, foldCase, type Glob, globMatches, parsePattern } from '../glob.ts'
import {
  type AbsPath,
  absPathUnchecked,
  type ByteString,
  joinAbs,
  nameOf,
  parentOf,
  type RelPath,
} from '../values.ts'
import { type ConfigPlace, type Env, expandPath, isTrue, readUserConfig, xdgPath } from './user-git-config.ts'
import { readUserFile } from './user-git-read.ts'

interface ConvertingRule {
  /** The folder the rule holds in, with a `/` at its end; '' for the root. */
  readonly start: ByteString
  readonly namesOnly: boolean
  readonly glob: Glob
}

export class Attributes {
  readonly #rules: readonly ConvertingRule[]
  readonly #ignoreCase: boolean

  private constructor(rules: readonly ConvertingRule[], ignoreCase: boolean) {
    this.#rules = rules
    this.#ignoreCase = ignoreCase
  }

  /**
   * `gitattributesFiles` are all `.gitattributes` that are tracked or on disk. One that cannot be read now
   * makes everything in its folder doubtful: git then takes what it said last from the index.
   */
  static read(
    git: ConfigPlace | undefined,
    root: AbsPath,
    env: Env,
    gitattributesFiles: readonly RelPath[],
  ): Attributes {
    const config = readUserConfig(git, env)
    const ignoreCase = isTrue(config.get('core.ignorecase'))
    const outer = outerFiles(git, root, env, config.get('core.attributesfile'))
    const sources = [
      ...outer.flatMap((path) => readSource(path, '', 'nothing')),
      ...gitattributesFiles.flatMap((path) => readSource(joinAbs(root, path), parentOf(path), 'doubt')),
    ]
    return new Attributes(convertingRules(sources, ignoreCase), ignoreCase)
  }

  /** Nothing is converted, whatever the path. */
  get isEmpty(): boolean {
    return this.#rules.length === 0
  }

  mayConvert(path: RelPath): boolean {
    if (this.#rules.length === 0) return false
    const asked = this.#ignoreCase ? foldCase(path) : path
    const name = nameOf(asked)
    return this.#rules.some((rule) => {
      if (!asked.startsWith(rule.start)) return false
      return globMatches(rule.glob, rule.namesOnly ? name : asked.slice(rule.start.length))
    })
  }
}

function outerFiles(
  git: ConfigPlace | undefined,
  root: AbsPath,
  env: Env,
  configured: ByteString | undefined,
): readonly AbsPath[] {
  const system = isTrue(env.GIT_ATTR_NOSYSTEM) ? undefined : absPathUnchecked('/etc/gitattributes')
  const user = configured === undefined ? xdgPath(env, 'attributes') : expandPath(configured, root, env)
  const own = git === undefined ? undefined : joinAbs(git.commonDir, 'info/attributes')
  return [system, user, own].filter((path) => path !== undefined)
}

/** The lines of one file; `everything` stands for a file whose lines we do not know. */
interface Source {
  readonly base: ByteString
  readonly lines: readonly AttributeLine[] | 'everything'
}

function readSource(path: AbsPath, base: ByteString, ifMissing: 'nothing' | 'doubt'): readonly Source[] {
  const reading = readUserFile(path)
  if (reading.kind === 'bytes') return [{ base, lines: parseAttributes(reading.bytes.toString('latin1')) }]
  return reading.kind === 'missing' && ifMissing === 'nothing' ? [] : [{ base, lines: 'everything' }]
}

interface AttributeLine {
  readonly kind: 'pattern' | 'macro'
  /** The pattern, or the macro's name. */
  readonly subject: ByteString
  /** The attributes that the line sets to something. */
  readonly names: readonly ByteString[]
}

function parseAttributes(text: ByteString): readonly AttributeLine[] {
  return text
    .replace(/^\xef\xbb\xbf/, '')
    .split('\n')
    .flatMap((line) => parseAttributeLine(line))
}

const MAX_LINE = 2048

function parseAttributeLine(line: ByteString): readonly AttributeLine[] {
  const text = line.replace(/^[ \t\r]+/, '')
  if (text === '' || text.startsWith('#')) return []
  // Newer gits pass over such a line, older ones obey it: whatever it says, it may convert.
  if (text.length > MAX_LINE) return [{ kind: 'pattern', subject: '*', names: ['filter'] }]
  const quoted = unquoted(text)
  const subject = quoted?.value ?? /^[^ \t\r]*/.exec(text)?.[0] ?? ''
  const words = (quoted?.rest ?? text.slice(subject.length)).split(/[ \t\r]+/).filter((word) => word !== '')
  if (quoted === undefined && subject.startsWith('[attr]')) {
    const [name = '', ...names] = subject === '[attr]' ? words : [subject.slice(6), ...words]
    return [{ kind: 'macro', subject: name, names: namesSet(names) }]
  }
  return [{ kind: 'pattern', subject, names: namesSet(words) }]
}

/** `-filter` and `!filter` take a conversion away; all other forms may bring one. */
function namesSet(words: readonly ByteString[]): readonly ByteString[] {
  return words.filter((word) => !/^[-!]/.test(word)).map((word) => word.split('=', 1)[0] ?? word)
}

const escapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '"': '"',
  '\\': '\\',
}

/** A pattern in quotes, as C writes strings; `undefined` where it is not one, and then it is taken as it stands. */
function unquoted(text: ByteString): { readonly value: ByteString; readonly rest: ByteString } | undefined {
  const found = /^"((?:[^"\\]|\\(?:[abfnrtv"\\]|[0-3][0-7]{2}))*)"/.exec(text)
  if (found === null) return undefined
  const value = (found[1] ?? '').replace(/\\([0-3][0-7]{2}|.)/g, (_, code: string) =>
    code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : (escapes[code] ?? code),
  )
  return { value, rest: text.slice(found[0].length) }
}

function convertingRules(sources: readonly Source[], ignoreCase: boolean): readonly ConvertingRule[] {
  const converting = convertingNames(sources)
  return sources.flatMap(({ base, lines }) => {
    const folder = ignoreCase ? foldCase(base) : base
    const start = folder === '' ? '' : `${folder}/`
    if (lines === 'everything')
      return [{ start, namesOnly: true, glob: { kind: 'suffix', text: '' } } as const]
    return lines.flatMap((line): readonly ConvertingRule[] => {
      if (line.kind !== 'pattern' || !line.names.some((name) => converting.has(name))) return []
      const pattern = parsePattern(line.subject)
      // Git drops a pattern with `!` here, and one with a `/` at its end is about the folder, not what is in it.
      if (pattern.negated || pattern.folderOnly) return []
      return [{ start, namesOnly: pattern.namesOnly, glob: compilePattern(pattern, ignoreCase) }]
    })
  })
}

// Each pass over the macros resolves one more level. A file built to need thousands of passes gets no more.
const MAX_PASSES = 20

/** The three attributes that convert, and every macro that leads to one of them, or may. */
function convertingNames(sources: readonly Source[]): ReadonlySet<ByteString> {
  const names = new Set(['filter', 'ident', 'working-tree-encoding'])
  const macros = sources.flatMap(({ lines }) =>
    lines === 'everything' ? [] : lines.filter((line) => line.kind === 'macro'),
  )
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const before = names.size
    for (const macro of macros) if (macro.names.some((name) => names.has(name))) names.add(macro.subject)
    if (names.size === before) return names
  }
  for (const macro of macros) names.add(macro.subject)
  return names
}
