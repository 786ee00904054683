/** A user interface that follows along: events as a loop, and as a listener. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openWorkspace } from '@unturn/core'

export async function follow(folder: string, print: (line: string) => void): Promise<void> {
  const workspace = await openWorkspace(folder)
  const dispose = workspace.on('session.diff', ({ files }) => {
    for (const { path, additions, deletions } of files) print(`  ${path} +${additions} -${deletions}`)
  })
  const shown = (async () => {
    for await (const event of workspace.events({ buffer: 100 }))
      if (event.type === 'turn.began' || event.type === 'turn.ended' || event.type === 'undo')
        print(event.type)
  })()

  const session = workspace.session('chat-1', { agent: 'example-agent' })
  const turn = await session.begin({ prompt: 'Write a list' })
  await turn.step({ tool: 'shell', command: 'seq 3' }, () => writeFile(join(folder, 'list.txt'), '1\n2\n3\n'))
  await turn.end()
  await session.undo()

  dispose()
  await workspace[Symbol.asyncDispose]()
  await shown
}
