/** How long the command takes to start, beside a Node that does nothing. */

import { execFileSync } from 'node:child_process'
import { atMost, type Row, rowAgainst } from './report.ts'
import { type Contender, compare } from './timing.ts'
import type { Tree } from './tree.ts'
import { command, openBuilt, recordTurn } from './unturn.ts'

export async function starts(tree: Tree, runs: number): Promise<readonly Row[]> {
  const store = tree.ground.place('store')
  {
    await using workspace = await openBuilt(tree.root, tree.ground.env, store)
    await recordTurn(workspace, () => tree.editTen())
  }
  const env = { ...tree.ground.env, UNTURN_HOME: store }
  const start = (name: string, args: readonly string[]): Contender => ({
    name,
    work: () => execFileSync(process.execPath, args, { cwd: tree.root, env, stdio: 'pipe' }),
  })
  const taken = await compare(
    [
      start('node -e 0', ['-e', '0']),
      start('--version', [command, '--version']),
      start('status', [command, 'status']),
    ],
    Math.max(runs * 4, 20),
    2,
  )
  const row = (ours: string, most: number) =>
    rowAgainst(`unturn ${ours}`, tree.size, taken, { ours, peer: 'node -e 0' }, atMost(most))
  return [row('--version', 1.3), row('status', 2.5)]
}
