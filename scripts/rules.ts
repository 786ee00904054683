/**
 * Finds rules without tests, and tests without rules.
 *
 * Rules are the numbered sentences of each package's SPEC.md; a test cites them in its name: `[H7] undo keeps …`.
 * A red test is then a question with two honest answers: the code is wrong, or the rule is.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
/**
 * Letters of our own rules; other letters in brackets are scenarios from elsewhere and may be cited freely. A, D and X
 * have both: the rules of the agents begin at A100, those of Studio at D100, those of the extension at X100, below are
 * scenarios.
 */
const ruleLetters = 'WSLHRPUAVDX'
const scenariosBelow: Readonly<Record<string, number>> = { A: 100, D: 100, X: 100 }

interface TestName {
  readonly file: string
  readonly line: number
  readonly name: string
}

export function rulesIn(spec: string): readonly string[] {
  return [...spec.matchAll(/^- \*\*([A-Z]\d+)\*\*/gm)].map((match) => match[1] ?? '')
}

export function citedIn(name: string): readonly string[] {
  return [...name.matchAll(/\[([A-Z])(\d+)\]/g)].flatMap(([, letter = '', number]) =>
    ruleLetters.includes(letter) && Number(number) >= (scenariosBelow[letter] ?? 0)
      ? [`${letter}${number}`]
      : [],
  )
}

/**
 * Names of tests: the text behind a `test(` that begins a line, and any text that begins with a rule, which is how the
 * names of tables and suites are written. A name made of variables is taken on trust.
 */
export function testNamesIn(source: string): readonly { readonly line: number; readonly name: string }[] {
  const direct = source.matchAll(/^\s*(?:test|it|faultSim)(?:\.\w+)*\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/gm)
  const citing = source.matchAll(/(['"`])(\[[A-Z]\d+\](?:\\.|(?!\1)[^\\\n])*)\1/g)
  const names = new Map<number, string>()
  for (const match of [...direct, ...citing])
    names.set(match.index + match[0].indexOf(match[1] ?? ''), match[2] ?? '')
  return [...names]
    .filter(([, name]) => !name.startsWith('${'))
    .map(([at, name]) => ({ line: source.slice(0, at).split('\n').length, name }))
}

export function problemsOf(rules: readonly string[], tests: readonly TestName[]): readonly string[] {
  const known = new Set(rules)
  const cited = new Set(tests.flatMap(({ name }) => citedIn(name)))
  const twice = rules.filter((rule, at) => rules.indexOf(rule) !== at)
  return [
    ...twice.map((rule) => `the rule ${rule} stands twice in the specs`),
    ...rules.filter((rule) => !cited.has(rule)).map((rule) => `the rule ${rule} has no test`),
    ...tests.flatMap((test) => problemsOfTest(test, known)),
  ]
}

function problemsOfTest({ file, line, name }: TestName, known: ReadonlySet<string>): readonly string[] {
  const cites = citedIn(name)
  if (cites.length === 0) return [`${file}:${line}: the test "${name}" names no rule`]
  return cites
    .filter((rule) => !known.has(rule))
    .map((rule) => `${file}:${line}: the test names ${rule}, which no spec has`)
}

function filesBelow(folder: string, wanted: (name: string) => boolean): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory())
      return ['node_modules', 'dist', '.git'].includes(entry.name) ? [] : filesBelow(path, wanted)
    return wanted(entry.name) ? [path] : []
  })
}

if (import.meta.main) {
  const specs = filesBelow(join(root, 'packages'), (name) => name === 'SPEC.md')
  const rules = specs.flatMap((path) => rulesIn(readFileSync(path, 'utf8')))
  const tests = filesBelow(root, (name) => name.endsWith('.test.ts')).flatMap((path) =>
    testNamesIn(readFileSync(path, 'utf8')).map((test) => ({ file: relative(root, path), ...test })),
  )
  const problems = problemsOf(rules, tests)
  for (const problem of problems) console.error(problem)
  console.log(`${rules.length} rules, ${tests.length} tests, ${problems.length} problems`)
  process.exitCode = problems.length === 0 ? 0 : 1
}
