/**
 * `npm run bench`: Unturn and its peers on the same trees in the same run. See README.md beside this file.
 *
 *   npm run bench -- [--only NAME]… [--size N]… [--runs N] [--quick]
 */

import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { firstCommitted, firstWithoutGit, undoRedo, warm } from './captures.ts'
import { hooks } from './hooks.ts'
import { longHistory } from './long-history.ts'
import { queries } from './queries.ts'
import { printTable, type Row, writeResults } from './report.ts'
import { review } from './review.ts'
import { singlePaths } from './single.ts'
import { starts } from './start.ts'
import { studio } from './studio.ts'
import { trackedChanges } from './tracker.ts'
import { Ground, Tree } from './tree.ts'
import { watchedSteps } from './watched.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    size: { type: 'string', multiple: true },
    runs: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
})
const quick = values.quick
const runs = Number(values.runs ?? (quick ? 3 : 5))
const sizes = (values.size ?? (quick ? ['20000'] : ['1000', '20000', '100000'])).map(Number)
const small = 1000

/** In this order: undo comes last in a tree, since the peers' redo writes every file of it. */
const inTrees = {
  'first-no-git': firstWithoutGit,
  first: firstCommitted,
  warm,
  watched: watchedSteps,
  undo: undoRedo,
}
const inSmallTree = {
  step: singlePaths,
  start: starts,
  hooks,
  tracker: trackedChanges,
  queries,
  review,
  studio,
}
const names = [...Object.keys(inTrees), ...Object.keys(inSmallTree), 'history']

const wanted = new Set(values.only ?? names)
for (const name of wanted)
  if (!names.includes(name)) throw new Error(`--only ${name}: there is ${names.join(', ')}`)
const started = performance.now()
const rows: Row[] = []

// Without this, Ctrl-C leaves hundreds of megabytes in the temp folder.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

{
  using ground = new Ground()
  process.once('exit', () => ground[Symbol.dispose]())
  await measureSmall(ground)
  for (const size of sizes) await measureTree(ground, size)
  if (wanted.has('history'))
    await take(`history of ${quick ? 150 : 1000} turns`, () => longHistory(ground, small, quick ? 150 : 1000))
}

process.stdout.write('\n')
printTable(rows)
writeResults(new URL('results/', import.meta.url), rows, runs, seconds())
process.stdout.write(`\n${seconds()} s, medians of ${runs}; also in bench/results/latest.json\n`)
if (rows.some((row) => row.pass === false)) process.exitCode = 1

async function measureSmall(ground: Ground): Promise<void> {
  const chosen = Object.entries(inSmallTree).filter(([name]) => wanted.has(name))
  if (chosen.length === 0) return
  const tree = Tree.cloned(ground, small)
  for (const [name, measure] of chosen) await take(`${name} in ${small} files`, () => measure(tree, runs))
  ground.remove(tree.root)
}

async function measureTree(ground: Ground, size: number): Promise<void> {
  const chosen = Object.entries(inTrees).filter(([name]) => wanted.has(name))
  if (chosen.length === 0) return
  tell(`a tree of ${size} files`)
  const tree = Tree.cloned(ground, size)
  for (const [name, measure] of chosen) await take(`${name} in ${size} files`, () => measure(tree, runs))
  ground.remove(tree.root)
}

async function take(what: string, measure: () => Promise<readonly Row[]>): Promise<void> {
  tell(what)
  settle()
  rows.push(...(await measure()))
}

/** What the measurement before left to be written to the disk, gigabytes sometimes, is not on this one's account. */
function settle(): void {
  if (process.platform !== 'win32') execFileSync('sync')
}

function tell(what: string): void {
  process.stderr.write(`${String(seconds()).padStart(4)} s  ${what}\n`)
}

function seconds(): number {
  return Math.round((performance.now() - started) / 1000)
}
