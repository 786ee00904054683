/**
 * The public surface of `@unturn/core` as text: every exported name with its signature, in a stable order.
 *
 *   node scripts/api-report.ts [--write]
 *
 * A test compares it with packages/core/api-report.md, so that each change of the surface is a diff that somebody reads.
 */

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const source = join(root, 'packages/core/src')
export const reportFile = join(root, 'packages/core/api-report.md')

const heading = `# API report

Every name that \`@unturn/core\` exports, with its signature. Made by \`node scripts/api-report.ts --write\`; a test fails when it does not match the source.
`

export function apiReport(): string {
  const folder = mkdtempSync(join(tmpdir(), 'unturn-api-'))
  try {
    emitTypes(folder)
    const exported = exportsOf(join(folder, 'index.d.ts')).sort((a, b) => (a.name < b.name ? -1 : 1))
    const entries = exported.map(
      ({ name, file }) => `## ${name}\n\n\`\`\`ts\n${signatureOf(name, file)}\n\`\`\`\n`,
    )
    return [heading, ...entries].join('\n')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function emitTypes(folder: string): void {
  const config = join(folder, 'tsconfig.json')
  const compilerOptions = {
    noEmit: false,
    emitDeclarationOnly: true,
    declaration: true,
    removeComments: true,
    rootDir: source,
    outDir: folder,
    paths: {},
    typeRoots: [join(root, 'node_modules/@types')],
  }
  const files = [join(source, 'index.ts')]
  writeFileSync(
    config,
    JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, include: [], files }),
  )
  const tsc = join(createRequire(import.meta.url).resolve('typescript/package.json'), '../bin/tsc')
  const run = spawnSync(process.execPath, [tsc, '-p', config], { encoding: 'utf8' })
  if (!existsSync(join(folder, 'index.d.ts')))
    throw new Error(`tsc made no types:\n${run.stdout}${run.stderr}`)
}

interface Exported {
  readonly name: string
  readonly file: string
}

/** `export { a, type B } from './x.ts'`, which is all that the index has. */
function exportsOf(index: string): Exported[] {
  const text = readFileSync(index, 'utf8')
  return [...text.matchAll(/export (?:type )?\{([^}]*)\} from '([^']+)'/g)].flatMap(
    ([, names = '', from = '']) =>
      names
        .split(',')
        .map((name) => name.trim().replace(/^type /, ''))
        .filter((name) => name !== '')
        .map((name) => ({ name, file: join(dirname(index), from.replace(/\.[jt]s$/, '.d.ts')) })),
  )
}

/** The declaration, with its overloads; without what is private. */
function signatureOf(name: string, file: string): string {
  const text = readFileSync(file, 'utf8')
  const start = new RegExp(
    `^export (?:declare )?(?:abstract )?(?:class|interface|type|function|const|let) ${name}\\b`,
    'gm',
  )
  const found = [...text.matchAll(start)].map(({ index }) => statementAt(text, index))
  if (found.length === 0) throw new Error(`${name} is not declared in ${file}`)
  return found.map(tidied).join('\n')
}

/** From here to the end of the statement: a `;` or a closing `}` outside of all brackets. */
function statementAt(text: string, start: number): string {
  let depth = 0
  for (let at = start; at < text.length; at += 1) {
    const char = text[at] ?? ''
    if ('{[('.includes(char)) depth += 1
    if ('}])'.includes(char)) depth -= 1
    if (depth !== 0) continue
    if (char === ';') return text.slice(start, at + 1)
    if (
      char === '}' &&
      /^\s*\n(?:export|declare|interface|type|import|$)/.test(`${text.slice(at + 1, at + 40)}\n`)
    )
      return text.slice(start, at + 1)
  }
  return text.slice(start)
}

function tidied(statement: string): string {
  return statement
    .split('\n')
    .filter((line) => !/^\s*(?:#private;|private )/.test(line))
    .map((line) => line.replace(/^( {4})+/, (indent) => '  '.repeat(indent.length / 4)))
    .join('\n')
    .replace(/^export (?:declare )?/, '')
}

if (import.meta.main) {
  const report = apiReport()
  if (process.argv.includes('--write')) writeFileSync(reportFile, report)
  else process.stdout.write(report)
}
