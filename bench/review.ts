/** Hunks of one large file: what a person waits for before anything is shown. */

import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { identify, textHunks } from '../packages/core/src/review/hunks.ts'
import { splitLines } from '../packages/core/src/review/lines.ts'
import { compared, type Row } from './report.ts'
import { type Contender, compare, median } from './timing.ts'
import type { Ground, Tree } from './tree.ts'

const lines = 50_000
const hunks = 500
const mostMs = 150

export async function review(tree: Tree, runs: number): Promise<readonly Row[]> {
  const old = Array.from({ length: lines }, (_, i) => lineOf(i))
  return [
    await row(
      tree.ground,
      `${hunks} hunks in ${lines.toLocaleString('en')} lines`,
      old,
      scattered(old),
      runs,
    ),
    await row(tree.ground, `${lines.toLocaleString('en')} lines written anew`, old, rewritten(), runs, 300),
  ]
}

/** Code has the same short lines again and again. */
function lineOf(i: number): string {
  if (i % 9 === 8) return '\n'
  if (i % 9 === 7) return '}\n'
  return i % 9 === 0 ? `function part${i}(value) {\n` : `  const step${i} = value.next(${i % 1000})\n`
}

/** By turns a line changed, one added, one removed. */
function scattered(old: readonly string[]): readonly string[] {
  const every = lines / hunks
  return old.flatMap((line, i) => {
    if (i % every !== 12) return [line]
    const kind = Math.floor(i / every) % 3
    return kind === 0 ? [`  return ${i}\n`] : kind === 1 ? [line, '  // added\n'] : []
  })
}

function rewritten(): readonly string[] {
  return Array.from({ length: lines }, (_, i) => (i % 9 > 6 ? lineOf(i) : `  other${i}()\n`))
}

async function row(
  ground: Ground,
  work: string,
  old: readonly string[],
  fresh: readonly string[],
  runs: number,
  most = mostMs,
): Promise<Row> {
  const [before, after] = [ground.place('old'), ground.place('new')]
  const [oldText, freshText] = [old.join(''), fresh.join('')]
  writeFileSync(before, oldText)
  writeFileSync(after, freshText)
  const ours: Contender = { name: 'Unturn', work: () => hunksOf(oldText, freshText) }
  const git: Contender = { name: 'git diff', work: () => gitDiff(ground, before, after) }
  const taken = await compare([ours, git], runs, 1)
  const peer = { name: 'git diff', value: median(taken['git diff'] ?? []) }
  const value = median(taken.Unturn ?? [])
  const plain = compared({ work, files: 1, unit: 'ms', ours: value, peer, all: taken })
  return { ...plain, bar: { most, words: `≤ ${most} ms` }, pass: value <= most }
}

function hunksOf(oldText: string, freshText: string): unknown {
  const [old, fresh] = [splitLines(oldText), splitLines(freshText)]
  return identify(textHunks(old, fresh, 'large.ts'), old, fresh, [])
}

function gitDiff(ground: Ground, before: string, after: string): void {
  const args = ['diff', '--no-index', '--histogram', before, after]
  const { status } = spawnSync('git', args, { cwd: ground.base, env: ground.env, maxBuffer: 1 << 30 })
  if (status !== 1) throw new Error(`git diff ended with ${status}`) // 1: there are differences
}
