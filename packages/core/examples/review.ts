/** Review: somebody decides block by block on what an agent wrote, and the agent reads why. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openWorkspace } from '@unturn/core'

export async function reviewed(folder: string, print: (line: string) => void): Promise<void> {
  await writeFile(join(folder, 'list.txt'), 'one\ntwo\nthree\nfour\n')
  await using workspace = await openWorkspace(folder)
  const session = workspace.session('chat-1', { agent: 'example-agent' })
  const turn = await session.begin({ prompt: 'Shout' })
  await turn.step({ tool: 'edit', paths: ['list.txt'] }, () =>
    writeFile(join(folder, 'list.txt'), 'ONE\ntwo\nthree\nFOUR\n'),
  )
  await turn.propose({ path: 'notes.md', content: 'Louder!\n' })
  await turn.end()

  const { files, pending } = await session.review()
  print(`${pending} hunks are pending`)
  for (const { path, proposal, hunks } of files)
    for (const { kind, lines } of hunks) {
      const text = lines.filter((line) => line.kind === '+').map((line) => line.text.trim())
      print(`${path}: ${kind} ${text}${proposal === undefined ? '' : ' (not on disk)'}`)
    }

  const [first, second] = files[0]?.hunks ?? []
  await session.accept({ hunks: [first?.id ?? ''] })
  const { op } = await session.reject({ hunks: [second?.id ?? ''] }, { comment: 'Not so loud.' })
  await session.accept({ paths: ['notes.md'] })

  for (const { path, added, comment } of (await session.review()).rejected)
    print(`for the agent: ${path} ${added.trim()}: ${comment}`)
  if (op !== undefined) await session.rollback({ ops: [op] })
  print(`pending again: ${(await session.review()).pending}`)
}
