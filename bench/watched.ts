/** A shell step with ten edited files: by a look at everything, and by what a watcher knows; in one process each. */

import { Watch } from '../packages/server/src/watch.ts'
import { type Row, rowAgainst } from './report.ts'
import { type Contender, compare } from './timing.ts'
import type { Tree } from './tree.ts'
import { loadBuilt, session } from './unturn.ts'

const watched = 'with a watcher'
const looked = 'full looks'

export async function watchedSteps(tree: Tree, runs: number): Promise<readonly Row[]> {
  const { openWorkspace } = await loadBuilt()
  const contenders: (Contender & AsyncDisposable)[] = []
  for (const name of [watched, looked]) {
    const env = { ...tree.ground.env, UNTURN_HOME: tree.ground.place('store') }
    const watch = name === watched ? new Watch({ hintAboveMs: -1 }, () => {}) : undefined
    const workspace = await openWorkspace(tree.root, {
      explicit: true,
      env,
      ...(watch === undefined ? {} : { watch }),
    })
    await workspace.capture()
    watch?.start(workspace)
    await watch?.started()
    await workspace.audit()
    const { turn } = await workspace.beginTurn({ session, agent: 'bench', prompt: 'Run commands' })
    contenders.push({
      name,
      prepare: () => tree.editTen(),
      work: async () => {
        const { step } = await workspace.beginStep({ turn, tool: 'shell', paths: [] })
        tree.editTen()
        await workspace.endStep(step)
      },
      [Symbol.asyncDispose]: async () => {
        await workspace.endTurn(turn)
        await watch?.[Symbol.asyncDispose]()
        await workspace[Symbol.asyncDispose]()
      },
    })
  }
  const taken = await compare(contenders, runs, 1)
  for (const contender of contenders) await contender[Symbol.asyncDispose]()
  return [rowAgainst('shell step, begin to end', tree.size, taken, { ours: watched, peer: looked })]
}
