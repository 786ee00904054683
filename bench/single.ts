/** One path that an edit tool named, captured at the end of its step. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RelPath, Workspace } from '../packages/core/src/index.ts'
import { absolute, type Row } from './report.ts'
import { median, timed } from './timing.ts'
import { pathOf, type Tree, textOf } from './tree.ts'
import { openBuilt, session } from './unturn.ts'

export async function singlePaths(tree: Tree, runs: number): Promise<readonly Row[]> {
  const store = tree.ground.place('store')
  await using workspace = await openBuilt(tree.root, tree.ground.env, store)
  const { turn } = await workspace.beginTurn({ session, agent: 'bench', prompt: 'Edit' })
  const steps = Math.max(runs * 4, 20)
  const small = await stepEnds(workspace, turn, steps, (i) => ({
    path: pathOf(i % tree.size),
    content: `${textOf(i)}// edited ${i}\n`,
  }))
  const large = await stepEnds(workspace, turn, steps, (i) => ({
    path: 'large.txt',
    content: textOf(i)
      .repeat(525)
      .slice(0, 1024 * 1024),
  }))
  await workspace.endTurn(turn)
  const row = (work: string, all: readonly number[], mostMs: number) =>
    absolute({ work, files: tree.size, unit: 'ms', ours: median(all), all: { Unturn: all } }, mostMs)
  return [row('exact step, 2 KB', small, 5), row('exact step, 1 MB', large, 25)]
}

async function stepEnds(
  workspace: Workspace,
  turn: Awaited<ReturnType<Workspace['beginTurn']>>['turn'],
  steps: number,
  edit: (step: number) => { readonly path: string; readonly content: string },
): Promise<readonly number[]> {
  const taken: number[] = []
  const warmups = 3
  for (let i = 0; i < steps + warmups; i++) {
    const { path, content } = edit(i)
    const { step } = await workspace.beginStep({ turn, tool: 'edit', paths: [path as RelPath] })
    writeFileSync(join(Buffer.from(workspace.root, 'latin1').toString(), path), content)
    const ms = await timed(() => workspace.endStep(step))
    if (i >= warmups) taken.push(ms)
  }
  return taken
}
