import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { type ByteString, joinRel, relPathUnchecked } from '../values.ts'
import { IgnoreStack, matchesName, parseRules, type RuleList, type Verdict } from './ignore.ts'

const soak = process.env.UNTURN_SOAK !== undefined

function stack(...contents: readonly string[]): IgnoreStack {
  return IgnoreStack.of(contents.map((content) => parseRules(bytes(content), '')))
}

function bytes(text: string): ByteString {
  return Buffer.from(text, 'utf8').toString('latin1')
}

function verdict(rules: string, path: string, isFolder = false): Verdict | undefined {
  return stack(rules).verdict(relPathUnchecked(bytes(path)), isFolder)
}

/** `+` before a path that is ignored, `-` before one that is not; a `/` at the end makes it a folder. */
function expectRules(rules: string, ...paths: readonly string[]): void {
  const found = paths.map((marked) => {
    const isFolder = marked.endsWith('/')
    const path = isFolder ? marked.slice(1, -1) : marked.slice(1)
    return `${verdict(rules, path, isFolder) === 'ignored' ? '+' : '-'}${marked.slice(1)}`
  })
  expect({ rules, paths: found }).toEqual({ rules, paths })
}

test('[W1] blank lines and comments say nothing; \\# and \\! are plain bytes', () => {
  expectRules('\n# note\n\\#a\n\\!b\n', '+#a', '+!b', '-# note', '-a', '-b')
})

test('[W2] spaces at the end of a line go, unless a backslash protects them; a tab stays', () => {
  expectRules('a  \nb\\ \nc\\  \nd\t\n', '+a', '-a  ', '+b ', '-b', '+c ', '-c  ', '-d', '+d\t')
})

test('[W3] CRLF line ends and a byte order mark are not part of a rule; a CR elsewhere is', () => {
  expectRules('\ufeffa\r\n\r\nb\\\r\nc\rd\n*.log\r\n', '+a', '-a\r', '-b', '-b\r', '+c\rd', '+x.log')
})

test('[W4] a trailing slash matches folders only', () => {
  expectRules(
    'build/\n/out/\n*.d/\n',
    '+build/',
    '-build',
    '+a/build/',
    '+out/',
    '-out',
    '-a/out/',
    '+x.d/',
    '-x.d',
  )
})

test('[W5] a slash at the start or inside anchors a rule to the folder of its file', () => {
  expectRules('/a\nb/c\nd\n', '+a', '-x/a', '+b/c', '-x/b/c', '+d', '+x/y/d')
  const nested = IgnoreStack.of([]).push(parseRules('/a\nb/c\nd\n', 'x'))
  const ask = (path: string) => nested.verdict(relPathUnchecked(path), false)
  expect(['a', 'x/a', 'x/b/c', 'b/c', 'd', 'x/d', 'x/y/d'].map(ask)).toEqual([
    undefined,
    'ignored',
    'ignored',
    undefined,
    undefined,
    'ignored',
    'ignored',
  ])
})

test('[W6] * and ? and [...] do not match a slash; ** crosses folders', () => {
  expectRules('a/*/c\n', '+a/b/c', '-a/c', '-a/b/b/c')
  expectRules('a?b/x\n', '-a/b/x', '+acb/x')
  expectRules('a[/]b/x\n', '-a/b/x')
  expectRules('**/foo/x\n', '+foo/x', '+a/foo/x', '+a/b/foo/x', '-afoo/x')
  expectRules('a/**\n', '+a/b', '+a/b/c', '-a')
  expectRules('a/**/b\n', '+a/b', '+a/x/b', '+a/x/y/b', '-ab', '-a/xb')
  expectRules('/**/b\n', '+b', '+a/b')
  expectRules('x/a**b\n', '+x/ab', '+x/acb', '-x/a/b')
})

test('[W7] bracket expressions: ranges, both negations, classes, a first ], escapes', () => {
  expectRules('[a-c]1\n', '+a1', '+c1', '-d1', '--1')
  expectRules('[!a]2\n[^a]3\n', '-a2', '+b2', '-a3', '+b3')
  expectRules('[[:alpha:]_][[:digit:]]\n', '+x1', '+_1', '-11', '-xx')
  expectRules('[]x]4\n', '+]4', '+x4', '-[4')
  expectRules('[\\]x]5\n', '+]5', '+x5', '-\\5')
  expectRules('[a-]6\n', '+a6', '+-6', '-b6')
  expectRules('[[:upper:]\\-z]7\n', '+Q7', '+-7', '+z7', '-q7')
})

test('[W8] a rule that is no valid pattern never matches', () => {
  expectRules('a[\n[a\nb\\\n[[:nope:]]\n[[:alpha:]\n', '-a[', '-[a', '-a', '-b', '-b\\', '-x', '-n', '-[')
})

test('[W9] the last matching rule counts, and ! includes again', () => {
  expectRules('*.log\n!keep.log\n', '+a.log', '-keep.log')
  expectRules('!keep.log\n*.log\n', '+keep.log')
  expectRules('keep\n!keep\n/keep\n!*eep\n', '-keep')
  expectRules('a.x\n!*.x\n/a.x\n', '+a.x', '-b/a.x')
  expectRules('/a.x\n!*.x\n', '-a.x')
  expectRules('*.x\n!a.x\n', '-a.x', '+b.x')
  expectRules('!a.x/\n*.x\n!/a.x/\n', '+a.x', '-a.x/', '+b/a.x/')
  expect(verdict('*.log\n!keep.log\n', 'keep.log')).toBe('included')
  expect(verdict('*.log\n!keep.log\n', 'other')).toBe(undefined)
})

test('[W10] a deeper list goes before a higher one, .gitignore before info/exclude before global excludes', () => {
  const lists = stack('*.o\n', '!a.o\n', 'a.o\n!b.o\n').push(parseRules('!a.o\nb.o\n', 'sub'))
  const ask = (path: string) => lists.verdict(relPathUnchecked(path), false)
  expect(['x.o', 'a.o', 'b.o', 'sub/a.o', 'sub/b.o', 'sub/x.o', 'c'].map(ask)).toEqual([
    'ignored',
    'ignored',
    'included',
    'included',
    'ignored',
    'ignored',
    undefined,
  ])
})

test('[W11] names that are not UTF-8 are matched byte by byte', () => {
  const lists = IgnoreStack.of([parseRules('\xff?\n*.\xe9\n[\xf0-\xff]z\n', '')])
  const ask = (path: ByteString) => lists.verdict(relPathUnchecked(path), false)
  expect(['\xffa', '\xffab', 'x.\xe9', 'x.\xc9', '\xf8z', '\xc0z'].map(ask)).toEqual([
    'ignored',
    undefined,
    'ignored',
    undefined,
    'ignored',
    undefined,
  ])
})

test('[W12] with ignoreCase ASCII letters match in either case, other bytes do not', () => {
  const lists = IgnoreStack.of([parseRules('Build\n*.LOG\n/Src/X*\n\xc9\n', '')], { ignoreCase: true })
  const ask = (path: ByteString) => lists.verdict(relPathUnchecked(path), false)
  expect(['bUILD', 'a.log', 'src/xy', '\xc9', '\xe9'].map(ask)).toEqual([
    'ignored',
    'ignored',
    'ignored',
    'ignored',
    undefined,
  ])
})

test('[W12] what git does not fold after a backslash or inside brackets, we do not fold', () => {
  const lists = IgnoreStack.of([parseRules('\\Ax\n[B]x\n[C-D]x\n[[:upper:]]y\n', '')], { ignoreCase: true })
  const ask = (path: ByteString) => lists.verdict(relPathUnchecked(path), false)
  expect(['ax', 'Ax', 'bx', 'Bx'].map(ask)).toEqual([undefined, undefined, undefined, undefined])
  expect(['cx', 'Dx', 'ey', 'Ey'].map(ask)).toEqual(['ignored', 'ignored', 'ignored', 'ignored'])
})

test('[W13] a hostile pattern costs no more than a moment', () => {
  const started = performance.now()
  const name = 'a'.repeat(250)
  const deep = Array.from({ length: 1_000 }, () => 'aa').join('/')
  for (const pattern of [
    `${'*a'.repeat(100)}*b`,
    `x/${'*a'.repeat(100)}*b`,
    `${'**/'.repeat(200)}b`,
    `${'**/*a'.repeat(200)}/b`,
    `**${'\\/**'.repeat(200)}b`,
    `${'[a-z]*'.repeat(100)}b`,
  ]) {
    expectRules(`${pattern}\n`, `-${name}`, `-x/${name}`, `-${deep}`)
  }
  expect(performance.now() - started).toBeLessThan(2_000)
})

test('[W14] matchesName takes a glob for one name', () => {
  const hit = (glob: string, name: string) => matchesName(glob, name)
  expect(hit('.env*', '.env')).toBe(true)
  expect(hit('.env*', '.env.local')).toBe(true)
  expect(hit('.env*', 'x.env')).toBe(false)
  expect(hit('node_modules', 'node_modules')).toBe(true)
  expect(hit('node_modules', 'node_modules2')).toBe(false)
  expect(hit('*.egg-info', 'a.egg-info')).toBe(true)
  expect(hit('[', '[')).toBe(false)
  expect(hit('', '')).toBe(false)
})

const world = mkdtempSync(join(tmpdir(), 'unturn-ignore-'))
afterAll(() => rmSync(world, { recursive: true, force: true }))

const hermetic = {
  PATH: process.env.PATH,
  HOME: world,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  LC_ALL: 'C.UTF-8',
}

test('[W16] [scenario H1] any rules over any tree get the verdicts of git', () => {
  const repo = join(world, 'repo')
  mkdirSync(repo)
  execFileSync('git', ['init', '-q', repo], { env: hermetic })
  fc.assert(
    fc.property(someCase, (drawn) => {
      build(repo, drawn)
      const paths = pathsOf(drawn.tree)
      expect(ourVerdicts(drawn)).toEqual(gitVerdicts(repo, paths, drawn.ignoreCase))
    }),
    { numRuns: soak ? 20_000 : 400, interruptAfterTimeLimit: soak ? 240_000 : 8_000 },
  )
}, 1_000_000)

interface Folder {
  readonly [name: string]: Folder | null
}

interface Case {
  readonly tree: Folder
  /** Contents of `.gitignore` by folder; those of folders that do not exist are left out. */
  readonly rules: readonly ByteString[]
  readonly infoExclude: ByteString
  readonly globalExcludes: ByteString
  readonly ignoreCase: boolean
}

const letters = [
  'a',
  'a',
  'a',
  'b',
  'b',
  'c',
  'A',
  '.',
  '-',
  ' ',
  '[',
  ']',
  '\\',
  '!',
  '#',
  '*',
  '?',
  '\xc3\xa9',
  '\xff',
  '~',
  '1',
  '\t',
  '\r',
]

const someName = fc
  .array(fc.constantFrom(...letters), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join(''))
  .filter((name) => name !== '.' && name !== '..')

const someTree = fc.letrec<{ folder: Folder; entry: Folder | null }>((tie) => ({
  folder: fc.dictionary(someName, tie('entry'), { minKeys: 1, maxKeys: 4, noNullPrototype: true }),
  entry: fc.oneof({ maxDepth: 3, withCrossShrink: true }, fc.constant(null), tie('folder')),
})).folder

const somePiece = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...letters) },
  { weight: 5, arbitrary: fc.constantFrom('*', '*', '**', '**/', '/**', '/**/', '/', '?', '***') },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '[ab]',
      '[!a]',
      '[^a]',
      '[a-c]',
      '[A-C]',
      '[]a]',
      '[[:alpha:]]',
      '[[:upper:]]',
      '[[:punct:]b]',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('[[:space:]]', '[[:x:]]', '[\\]a]', '[a-', '[\\', '[a\\-c]', '[--a]', '[/a]'),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('[[:a]', '[[:]', '[[::]]', '[!-b]', '[^]]', '[[:graph:][:cntrl:]]'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom('\\a', '\\A', '\\*', '\\[', '\\\\', '\\ ', '\\/', '\\', ' ', '  '),
  },
)

const someMark = fc
  .tuple(fc.constantFrom('\x01', '\x02', '\x03'), fc.nat({ max: 9 }))
  .map(([kind, place]) => kind + place)

const somePattern = fc
  .tuple(
    fc.constantFrom('', '', '', '!', '!', '/', '!/', '#', '\\#', '\\!'),
    fc.oneof(
      { weight: 2, arbitrary: fc.array(somePiece, { minLength: 1, maxLength: 5 }) },
      { weight: 1, arbitrary: fc.tuple(someMark) },
    ),
    fc.constantFrom('', '', '', '/', ' ', '  ', '\\ ', '\r', '/ ', '//', '\0b'),
  )
  .map(([start, pieces, end]) => start + pieces.join('') + end)

const someRules = fc
  .tuple(
    fc.constantFrom('', '', '', '\xef\xbb\xbf'),
    fc.array(somePattern, { maxLength: 4 }),
    fc.constantFrom('\n', '\n', '', '\r\n'),
  )
  .map(([mark, patterns, end]) => mark + patterns.join('\n') + end)

const someCase: fc.Arbitrary<Case> = fc
  .record({
    tree: someTree,
    rules: fc.array(someRules, { minLength: 1, maxLength: 5 }),
    infoExclude: someRules,
    globalExcludes: someRules,
    ignoreCase: fc.constantFrom(false, false, true),
  })
  .map((drawn) => {
    const paths = pathsOf(drawn.tree).map((listed) => listed.path)
    const named = (rules: ByteString) => rules.replace(/[\x01-\x03]\d/g, (mark) => placeFor(mark, paths))
    return {
      ...drawn,
      rules: drawn.rules.map(named),
      infoExclude: named(drawn.infoExclude),
      globalExcludes: named(drawn.globalExcludes),
    }
  })

/** Random rules seldom meet a random tree: \x01 stands for a name in it, \x02 for a path, \x03 for an ending. */
function placeFor(mark: string, paths: readonly ByteString[]): ByteString {
  const path = paths[Number(mark[1]) % paths.length] ?? ''
  if (mark.startsWith('\x02')) return path
  const name = path.slice(path.lastIndexOf('/') + 1)
  return mark.startsWith('\x01') ? name : `*${name.slice(-2)}`
}

interface Listed {
  readonly path: ByteString
  readonly isFolder: boolean
}

function pathsOf(tree: Folder, below = ''): readonly Listed[] {
  return Object.entries(tree).flatMap(([name, entry]) => {
    const path = joinRel(below, name)
    return [{ path, isFolder: entry !== null }, ...(entry === null ? [] : pathsOf(entry, path))]
  })
}

function foldersOf(tree: Folder): readonly ByteString[] {
  return ['', ...pathsOf(tree).flatMap((listed) => (listed.isFolder ? [listed.path] : []))]
}

/** The first list is the root's; the others go to the folders as they come. */
function rulesByFolder(drawn: Case): ReadonlyMap<ByteString, RuleList & { readonly content: ByteString }> {
  const folders = foldersOf(drawn.tree)
  return new Map(
    drawn.rules.slice(0, folders.length).map((content, i) => {
      const folder = folders[i] ?? ''
      return [folder, { content, ...parseRules(content, folder) }]
    }),
  )
}

function build(repo: string, drawn: Case): void {
  for (const name of readdirSync(repo, 'buffer')) {
    if (name.toString() !== '.git')
      rmSync(Buffer.concat([Buffer.from(`${repo}/`), name]), { recursive: true })
  }
  for (const { path, isFolder } of pathsOf(drawn.tree)) {
    if (isFolder) mkdirSync(place(repo, path))
    else writeFileSync(place(repo, path), '')
  }
  for (const [folder, list] of rulesByFolder(drawn))
    write(place(repo, joinRel(folder, '.gitignore')), list.content)
  write(join(repo, '.git/info/exclude'), drawn.infoExclude)
  write(join(world, 'excludes'), drawn.globalExcludes)
}

function place(repo: string, path: ByteString): Buffer {
  return Buffer.concat([Buffer.from(`${repo}/`), Buffer.from(path, 'latin1')])
}

function write(path: string | Buffer, content: ByteString): void {
  writeFileSync(path, content, 'latin1')
}

type Verdicts = Record<ByteString, Verdict | undefined>

function gitVerdicts(repo: string, paths: readonly Listed[], ignoreCase: boolean): Verdicts {
  const options = [
    '-c',
    `core.ignorecase=${ignoreCase}`,
    '-c',
    `core.excludesFile=${join(world, 'excludes')}`,
  ]
  const output = outputOf(
    ['-C', repo, ...options, 'check-ignore', '--no-index', '--verbose', '--non-matching', '-z', '--stdin'],
    paths.map((listed) => `${listed.path}\0`).join(''),
  )
  const fields = output.split('\0')
  const verdicts: Verdicts = {}
  for (let i = 0; i + 3 < fields.length; i += 4) {
    const [source, , pattern, path] = fields.slice(i, i + 4)
    verdicts[path ?? ''] = source === '' ? undefined : pattern?.startsWith('!') ? 'included' : 'ignored'
  }
  return verdicts
}

/** check-ignore ends with 1 where nothing is ignored. */
function outputOf(args: readonly string[], input: ByteString): ByteString {
  try {
    return execFileSync('git', args, { env: hermetic, input: Buffer.from(input, 'latin1') }).toString(
      'latin1',
    )
  } catch (error) {
    const failed = error as { readonly status?: number; readonly stdout: Buffer }
    if (failed.status === 1) return failed.stdout.toString('latin1')
    throw error
  }
}

/** Walks as the scanner does: from the top, never into an ignored folder. */
function ourVerdicts(drawn: Case): Verdicts {
  const lists = rulesByFolder(drawn)
  const verdicts: Verdicts = {}
  const walk = (tree: Folder, folder: ByteString, above: IgnoreStack) => {
    const own = lists.get(folder)
    const rules = own === undefined ? above : above.push(own)
    for (const [name, entry] of Object.entries(tree)) {
      const path = joinRel(folder, name)
      const found = rules.verdict(path, entry !== null)
      verdicts[path] = found
      if (entry === null) continue
      if (found === 'ignored') for (const below of pathsOf(entry, path)) verdicts[below.path] = 'ignored'
      else walk(entry, path, rules)
    }
  }
  const outer = [parseRules(drawn.globalExcludes, ''), parseRules(drawn.infoExclude, '')]
  walk(drawn.tree, '', IgnoreStack.of(outer, { ignoreCase: drawn.ignoreCase }))
  return verdicts
}
