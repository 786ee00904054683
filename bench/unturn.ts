/** Unturn as a user of the library gets it: the built package, a store of its own for each workspace. */

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { RelPath, SessionId, Workspace } from '../packages/core/src/index.ts'
import type { Ground, Tree } from './tree.ts'

const library = new URL('../packages/core/dist/index.js', import.meta.url).href
export const command = fileURLToPath(new URL('../packages/cli/dist/unturn.js', import.meta.url))
export const session = 'bench' as SessionId

export async function loadBuilt(): Promise<typeof import('../packages/core/src/index.ts')> {
  return (await import(library)) as typeof import('../packages/core/src/index.ts')
}

export async function openBuilt(root: string, env: Ground['env'], store: string): Promise<Workspace> {
  const { openWorkspace } = await loadBuilt()
  return openWorkspace(root, { explicit: true, env: { ...env, UNTURN_HOME: store } })
}

/** One turn of one step, which changes what `work` changes. With paths: an edit tool that named them. */
export async function recordTurn(
  workspace: Workspace,
  work: () => unknown,
  paths: readonly string[] = [],
): Promise<void> {
  const { turn } = await workspace.beginTurn({ session, agent: 'bench', prompt: 'Change a few lines' })
  const { step } = await workspace.beginStep({ turn, tool: 'edit', paths: paths as readonly RelPath[] })
  await work()
  await workspace.endStep(step)
  await workspace.endTurn(turn)
}

/** One capture of a tree that was never seen, in a process of its own: what the first command of a user costs. */
export function firstCapture(tree: Tree, store: string): Promise<number> {
  const child = fileURLToPath(new URL('first-capture.ts', import.meta.url))
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [child, tree.root, store], { env: tree.ground.env }, (error, stdout) => {
      if (error !== null) reject(error)
      else resolve(Number(stdout))
    })
  })
}
