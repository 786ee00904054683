/** The second thread. It waits for tasks, takes its share through the cursor, and answers with what it saw. */

import { parentPort } from 'node:worker_threads'
import { type ByteString, unreachable } from '../values.ts'
import { CacheTable } from './cache-table.ts'
import type { PlainRules } from './capture-rules.ts'
import type { ReadShare } from './content.ts'
import { Control, checkFolders, type Ground, type Job, Lister, Marks } from './scan-walk.ts'

interface SharedGround {
  readonly root: ByteString
  readonly table: SharedArrayBuffer
  readonly marks: SharedArrayBuffer
  readonly control: Int32Array
}

export type Task =
  | { readonly kind: 'check'; readonly ground: SharedGround }
  | {
      readonly kind: 'list'
      readonly ground: SharedGround
      readonly rules: PlainRules
      readonly full: boolean
      readonly jobs: readonly Job[]
      readonly folderPaths: string
    }
  | { readonly kind: 'read'; readonly share: ReadShare }

export type Message =
  | { readonly id: number; readonly part: unknown }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string }

const port = parentPort
port?.on('message', ({ id, task }: { readonly id: number; readonly task: Task }) => {
  const part = (value: unknown, owned: readonly ArrayBuffer[]) => port.postMessage({ id, part: value }, owned)
  run(task, part).then(
    (result) => port.postMessage({ id, result }),
    (error: unknown) =>
      port.postMessage({ id, error: error instanceof Error ? error.message : String(error) }),
  )
})

type GivePart = (value: unknown, owned: readonly ArrayBuffer[]) => void

async function run(task: Task, givePart: GivePart): Promise<unknown> {
  switch (task.kind) {
    case 'check':
      return checkFolders(joined(task.ground))
    case 'list': {
      const ground = joined(task.ground)
      ground.table.keepFolderPaths(task.folderPaths.split('\0'))
      const lister = new Lister(ground, task.rules, task.full)
      lister.takeFrom(task.jobs)
      return lister.result()
    }
    case 'read': {
      Atomics.add(task.share.control, Control.joined, 1)
      // Loaded when it is needed: with it come hashing and packing, and most scans read next to nothing.
      const { readShare } = await import('./content.ts')
      return readShare(task.share, givePart)
    }
    default:
      return unreachable(task)
  }
}

// Joining comes before the first share is taken: whoever closed the cursor and sees nobody joined need not wait.
function joined(shared: SharedGround): Ground {
  Atomics.add(shared.control, Control.joined, 1)
  const table = new CacheTable(shared.table)
  return { root: shared.root, table, marks: new Marks(table, shared.marks), control: shared.control }
}
