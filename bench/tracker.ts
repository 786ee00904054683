/** The recorder for agents that write files themselves: what it adds to a write, and what taking back costs. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FileChangeTracker } from '../packages/core/src/index.ts'
import { absolute, type Row } from './report.ts'
import { median, timed } from './timing.ts'
import { pathOf, type Tree, textOf } from './tree.ts'
import { loadBuilt, openBuilt } from './unturn.ts'

const small = (i: number) => `${textOf(i)}// edited ${i}\n`
const large = (i: number) =>
  textOf(i)
    .repeat(525)
    .slice(0, 1024 * 1024)

/** In a tree of any size: none of this looks at more than the files concerned. */
export async function trackedChanges(tree: Tree, runs: number): Promise<readonly Row[]> {
  const { FileChangeTracker: Tracker } = await loadBuilt()
  await using workspace = await openBuilt(tree.root, tree.ground.env, tree.ground.place('store'))
  await using turn = await workspace.session('bench', { agent: 'bench' }).begin({ prompt: 'Change files' })
  const tracker = new Tracker(turn)
  const times = Math.max(runs * 8, 40)
  const row = (work: string, all: readonly number[], mostMs: number) =>
    absolute({ work, files: tree.size, unit: 'ms', ours: median(all), all: { Unturn: all } }, mostMs)

  const plain = (work: string, all: readonly number[]): Row => ({
    work,
    files: tree.size,
    unit: 'ms',
    ours: median(all),
    all: { Unturn: all },
  })

  const smallTold = await tellings(tree, tracker, times, 'small.txt', small)
  const largeTold = await tellings(tree, tracker, times, 'large.txt', large)
  return [
    row('tracker: added to a write, 2 KB', smallTold.added, 3),
    plain('tracker: in the log after, 2 KB', smallTold.recorded),
    row('tracker: added to a write, 1 MB', largeTold.added, 20),
    plain('tracker: in the log after, 1 MB', largeTold.recorded),
    row('tracker: roll back one file', await oneFile(tree, tracker, times), 10),
    row('tracker: roll back 10 files of an agent', await tenFiles(tree, tracker, times >> 1), 40),
    row('tracker: list 100 changes', await listings(tracker, times), 2),
  ]
}

interface Told {
  /** Until the agent goes on. */
  readonly added: readonly number[]
  /** Until the change is in the log, for an agent that waits for it. */
  readonly recorded: readonly number[]
}

async function tellings(
  tree: Tree,
  tracker: FileChangeTracker,
  times: number,
  path: string,
  textOf: (i: number) => string,
): Promise<Told> {
  const added: number[] = []
  const recorded: number[] = []
  let before: string | null = null
  for (let i = 0; i < times + 5; i++) {
    const after = textOf(i)
    writeFileSync(join(tree.root, path), after)
    const told = await timed(() => {
      tracker.captureChange(path, before === null ? 'create' : 'modify', before, after)
    })
    const settled = await timed(() => tracker.settled())
    before = after
    if (i < 5) continue
    added.push(told)
    recorded.push(told + settled)
  }
  return { added, recorded }
}

async function oneFile(tree: Tree, tracker: FileChangeTracker, times: number): Promise<readonly number[]> {
  const taken: number[] = []
  for (let i = 0; i < times; i++) {
    const [change] = await edit(tree, tracker, [i], 'one')
    await edit(tree, tracker, [i + 500], 'another') // later work that stays
    taken.push(await timed(() => tracker.rollbackFile(change ?? '')))
  }
  return taken
}

async function tenFiles(tree: Tree, tracker: FileChangeTracker, times: number): Promise<readonly number[]> {
  const taken: number[] = []
  for (let i = 0; i < times; i++) {
    const files = Array.from({ length: 10 }, (_, at) => i * 10 + at)
    for (const file of files) {
      await edit(tree, tracker, [file], `agent ${i}`)
      await edit(tree, tracker, [file + 500], 'another') // in between, so that nothing collapses
    }
    taken.push(await timed(() => tracker.rollbackAgent(`agent ${i}`)))
  }
  return taken
}

async function edit(
  tree: Tree,
  tracker: FileChangeTracker,
  files: readonly number[],
  agentId: string,
): Promise<readonly string[]> {
  const ids = files.map((file) => {
    const path = pathOf(file % tree.size)
    const before = readFileSync(join(tree.root, path), 'utf8')
    const after = `${before}// ${agentId} ${Math.random()}\n`
    writeFileSync(join(tree.root, path), after)
    return tracker.captureChange(path, 'modify', before, after, { agentId }).id
  })
  await tracker.settled()
  return ids
}

async function listings(tracker: FileChangeTracker, times: number): Promise<readonly number[]> {
  const taken: number[] = []
  for (let i = 0; i < times; i++) {
    taken.push(
      await timed(() => {
        if (tracker.getChanges({ limit: 100 }).length !== 100) throw new Error('fewer than 100 changes')
      }),
    )
  }
  return taken
}
