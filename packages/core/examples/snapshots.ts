/** For agents with a history of their own: snapshots by hash. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openWorkspace } from '@unturn/core'

export async function snapshotByHash(folder: string, print: (line: string) => void): Promise<void> {
  await writeFile(join(folder, 'a.txt'), 'first\n')
  await using workspace = await openWorkspace(folder)
  const { snapshots } = workspace

  const before = await snapshots.track()
  await writeFile(join(folder, 'a.txt'), 'second\n')
  await writeFile(join(folder, 'b.txt'), 'new\n')

  const patch = await snapshots.patch(before)
  print(`changed: ${patch.files.join(', ')}`)
  for (const { path, status, additions, deletions } of await snapshots.diffFull(
    before,
    await snapshots.track(),
  ))
    print(`${status} ${path} +${additions} -${deletions}`)

  await snapshots.revert([patch])
  print(`as before: ${(await snapshots.track()) === before}`)
}
