/** For agents that write files themselves and tell of it: two agents, and the work of one is taken back. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { FileChangeTracker, openWorkspace } from '@unturn/core'

export async function twoAgents(folder: string, print: (line: string) => void): Promise<void> {
  await using workspace = await openWorkspace(folder)
  await using turn = await workspace.session('chat-1', { agent: 'team' }).begin({ prompt: 'Work together' })
  const tracker = new FileChangeTracker(turn)
  tracker.on('file:changed', ({ path, agentId }) => print(`${agentId} changed ${path}`))

  const write = async (path: string, content: string, agentId: string) => {
    await writeFile(join(folder, path), content)
    tracker.captureChange(path, 'create', null, content, { agentId, tool: 'fs_write' })
  }
  await write('plan.md', '# Plan\n', 'planner')
  await write('code.ts', 'export {}\n', 'coder')
  await tracker.settled()

  const plan = await tracker.rollbackAgent('coder', { dryRun: true })
  print(`would remove ${plan.files.map(({ path }) => path).join(', ')}`)
  await tracker.rollbackAgent('coder')
  print(
    `left: ${tracker
      .getChanges()
      .filter((change) => !change.rolledBack)
      .map(({ path }) => path)}`,
  )
  await turn.end()
}
