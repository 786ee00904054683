/** A long history: what it takes on disk beside the same one in git, and whether its end is as fast as its beginning. */

import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { atMost, compared, type Row } from './report.ts'
import { median, timed } from './timing.ts'
import { type Ground, runGit, Tree } from './tree.ts'
import { openBuilt, recordTurn } from './unturn.ts'

export async function longHistory(ground: Ground, size: number, turns: number): Promise<readonly Row[]> {
  const tree = Tree.plain(ground, size)
  const store = ground.place('store')
  const mirror = ground.place('mirror.git')
  const git = (...args: readonly string[]) =>
    runGit(tree.root, ground.env, ['--git-dir', mirror, '--work-tree', tree.root, ...args])
  runGit(ground.base, ground.env, ['init', '-q', '--bare', mirror])
  git('add', '-A')
  git('commit', '-q', '-m', 'all')

  await using workspace = await openBuilt(tree.root, ground.env, store)
  await workspace.capture()
  const taken: number[] = []
  for (let turn = 0; turn < turns; turn++) {
    taken.push(await timed(() => recordTurn(workspace, () => tree.editTen())))
    git('add', '-A')
    git('commit', '-q', '-m', 'Change a few lines')
  }
  await workspace.gc()
  git('gc', '-q', '--prune=now')
  return [storeRow(tree.size, turns, bytesBelow(store), bytesBelow(mirror)), flatRow(tree.size, taken)]
}

function storeRow(files: number, turns: number, ours: number, theirs: number): Row {
  const peer = { name: 'git gc', value: theirs / 1024 }
  const work = `store after ${turns} turns of 10 edits`
  return compared({ work, files, unit: 'KB', ours: ours / 1024, peer, all: {} }, atMost(2))
}

function flatRow(files: number, taken: readonly number[]): Row {
  const early = taken.slice(10, 21)
  const late = taken.slice(-11)
  const peer = { name: 'turns 10–20', value: median(early) }
  const work = `turns ${taken.length - 10}–${taken.length}`
  const all = { early, late }
  return compared({ work, files, unit: 'ms', ours: median(late), peer, all }, atMost(1.2))
}

function bytesBelow(folder: string): number {
  let bytes = 0
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) bytes += lstatSync(join(entry.parentPath, entry.name)).size
  }
  return bytes
}
