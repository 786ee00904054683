/** A minimal agent with undo: one prompt is one turn, one tool call is one step. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openWorkspace } from '@unturn/core'

export async function agentLoop(folder: string, print: (line: string) => void): Promise<void> {
  await using workspace = await openWorkspace(folder)
  const session = workspace.session('chat-1', { agent: 'example-agent' })

  const turn = await session.begin({ prompt: 'Greet the world', message: 'msg-1' })
  const { changes } = await turn.step({ tool: 'write', paths: ['hello.txt'], part: 'call-1' }, () =>
    writeFile(join(folder, 'hello.txt'), 'Hello, world\n'),
  )
  await turn.end()
  for (const { path, kind, additions } of changes) print(`${kind} ${path} +${additions}`)

  const plan = await session.planUndo()
  print(`undo would touch ${plan.outcome.files.map(({ path }) => path).join(', ')}`)
  const undone = await plan.apply()
  print(`undone; the prompt was: ${undone.prompt}`)
  print(`reverted turns: ${session.reverted().count}`)

  await session.redo()
  print(`redone; nothing more: ${(await session.redo()).kind}`)
}
