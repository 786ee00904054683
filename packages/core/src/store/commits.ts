/** Git commits, as far as we need them: a tree, its parents, a time and a message. */

import type { CommitId, TreeId } from '../values.ts'
import { internalError, storeDamaged } from './damage.ts'

export interface Commit {
  readonly tree: TreeId
  readonly parents: readonly CommitId[]
  readonly message: string
  readonly atSeconds: number
}

const who = 'unturn <unturn@localhost>'

export function serializeCommit({ tree, parents, message, atSeconds }: Commit): Buffer {
  if (!Number.isSafeInteger(atSeconds) || atSeconds < 0) {
    throw internalError('A commit needs its time in whole seconds.', { atSeconds })
  }
  const lines = [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${who} ${atSeconds} +0000`,
    `committer ${who} ${atSeconds} +0000`,
  ]
  // Git calls a commit with a NUL byte damaged. The message is for people; op.json has the exact prompt.
  return Buffer.from(`${lines.join('\n')}\n\n${message.replaceAll('\0', '\ufffd')}`, 'utf8')
}

/** Strict about the fields we use; others (a signature, an encoding) are passed over. */
export function parseCommit(bytes: Buffer, id: CommitId): Commit {
  const headEnd = bytes.indexOf('\n\n', 0, 'latin1')
  if (headEnd < 0) throw storeDamaged('a commit has no message', id)
  const lines = bytes.toString('latin1', 0, headEnd).split('\n')
  const tree = /^tree ([0-9a-f]{40})$/.exec(lines.shift() ?? '')?.[1]
  if (tree === undefined) throw storeDamaged('a commit names no tree', id)
  const parents: string[] = []
  while (lines[0]?.startsWith('parent ')) parents.push(parentIn(lines.shift() ?? '', id))
  const at = lines.map((line) => /^committer .*> (\d{1,15}) [+-]\d{4}$/.exec(line)?.[1]).find(Boolean)
  if (at === undefined) throw storeDamaged('a commit has no time', id)
  return {
    tree: tree as TreeId,
    parents: parents as CommitId[],
    message: bytes.toString('utf8', headEnd + 2),
    atSeconds: Number(at),
  }
}

function parentIn(line: string, id: CommitId): string {
  const parent = /^parent ([0-9a-f]{40})$/.exec(line)?.[1]
  if (parent === undefined) throw storeDamaged('a commit names a parent that is no id', id)
  return parent
}
