/** One path that an edit tool named: what the agent waits for before its call, and the capture after it. */

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
  const steps = Math.max(runs * 12, 60)
  const small = await measured(workspace, turn, steps, (i) => ({
    path: pathOf(i % tree.size),
    content: `${textOf(i)}// edited ${i}\n`,
  }))
  const large = await measured(workspace, turn, steps, (i) => ({
    path: 'large.txt',
    content: textOf(i)
      .repeat(525)
      .slice(0, 1024 * 1024),
  }))
  await workspace.endTurn(turn)
  const plain = (work: string, all: readonly number[]): Row => {
    return { work, files: tree.size, unit: 'ms', ours: median(all), all: { Unturn: all } }
  }
  return [
    absolute(plain('exact step, 2 KB', small.ends), 5),
    plain('exact step, 2 KB, with its beginning', small.whole),
    absolute(plain('exact step, 1 MB', large.ends), 25),
    plain('exact step, 1 MB, with its beginning', large.whole),
  ]
}

interface Measured {
  readonly ends: readonly number[]
  /** Beginning and end together; what the tool itself does in between is not ours. */
  readonly whole: readonly number[]
}

async function measured(
  workspace: Workspace,
  turn: Awaited<ReturnType<Workspace['beginTurn']>>['turn'],
  steps: number,
  edit: (step: number) => { readonly path: string; readonly content: string },
): Promise<Measured> {
  const ends: number[] = []
  const whole: number[] = []
  const warmups = 10
  for (let i = 0; i < steps + warmups; i++) {
    const { path, content } = edit(i)
    const start = performance.now()
    const { step } = await workspace.beginStep({ turn, tool: 'edit', paths: [path as RelPath] })
    const begun = performance.now() - start
    writeFileSync(join(Buffer.from(workspace.root, 'latin1').toString(), path), content)
    const ended = await timed(() => workspace.endStep(step))
    if (i < warmups) continue
    ends.push(ended)
    whole.push(begun + ended)
  }
  return { ends, whole }
}
