/** Committed is reviewed: content that the user has put into a commit since the last time counts as accepted. */

import type { Engine } from '../history/engine.ts'
import type { Entry } from '../log/review-record.ts'
import { readCommitted } from '../store/user-commits.ts'
import { joinAbs, type RelPath } from '../values.ts'
import type { ChosenFile } from './choose.ts'
import type { Contents } from './contents.ts'
import { diffLines, type Edit, splitLines } from './lines.ts'
import type { Hunk, PendingFile } from './pending.ts'
import type { Standing } from './standing.ts'

export interface Committed {
  readonly head: string
  /** Pending hunks that are in the commit. */
  readonly chosen: readonly ChosenFile[]
}

/** Undefined: there is no new commit of the user's. */
export async function findCommitted(
  engine: Engine,
  { folded, pending }: Standing,
): Promise<Committed | undefined> {
  const { head } = engine.user.position()
  const git = engine.user.find()
  const last = folded.state.committed
  if (head === undefined || git === undefined || head === last) return undefined
  const byAgents = commitsByAgents(engine)
  if (byAgents === undefined || byAgents.has(head)) return undefined
  const onDisk = pending.filter(({ proposal }) => proposal === undefined)
  const paths = onDisk.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from]))
  if (paths.length === 0) return { head, chosen: [] }
  const read = (commit: string) => readCommitted(engine.git, joinAbs(git.commonDir, 'objects'), commit, paths)
  const found = await read(head)
  if (found === undefined) return undefined
  // What was in a commit before tells nothing: it got there without anybody's word, or has come back from there.
  const before = await Promise.all(
    [...(last === undefined ? [] : [last]), ...byAgents].slice(0, mostBefore).map(read),
  )
  const known = before.filter((one) => one !== undefined)
  if (last !== undefined && before[0] === undefined) return { head, chosen: [] }
  const isNew = (file: PendingFile, hunk: Hunk) =>
    isIn(folded.contents, file, hunk, found) &&
    !known.some((one) => isIn(folded.contents, file, hunk, one)) &&
    (hunk.kind !== 'delete' || known.length > 0)
  const chosen = onDisk.flatMap((file) => {
    const hunks = file.hunks.filter((hunk) => isNew(file, hunk))
    return hunks.length === 0 ? [] : [{ file, chosen: hunks.map((hunk) => ({ hunk })) }]
  })
  return { head, chosen }
}

const mostBefore = 8

/** What agents have committed themselves, the newest first: nobody has looked at that yet. Undefined: one is at it. */
function commitsByAgents(engine: Engine): ReadonlySet<string> | undefined {
  const { index } = engine.log
  const turns = index.sessions().flatMap(({ id }) => index.turns(id).toReversed())
  if (turns.some(({ status }) => status === 'open')) return undefined
  return new Set(turns.flatMap(({ commits }) => commits.map(({ id }) => id)))
}

type Found = ReadonlyMap<RelPath, { readonly mode: string; readonly bytes: Buffer }>

function isIn(contents: Contents, file: PendingFile, hunk: Hunk, found: Found): boolean {
  const there = found.get(file.path)
  switch (hunk.kind) {
    case 'delete':
      return there === undefined
    case 'rename':
      return there !== undefined && file.from !== undefined && !found.has(file.from)
    case 'mode': {
      // Of the permission bits, a commit has only one.
      const isTold = isExec(file.baseline) !== isExec(file.current)
      return isTold && there !== undefined && isExec(file.current) === (there.mode === '100755')
    }
    case 'text':
      return there !== undefined && hunk.edit !== undefined && hasEdit(file, hunk.edit, there.bytes)
    case 'create':
    case 'binary':
    case 'link':
    case 'type':
      return there !== undefined && isSame(contents, file.current, there)
  }
}

function isExec(entry: Entry): boolean {
  return entry?.kind === 'file' && (entry.perm & 0o100) !== 0
}

function isSame(contents: Contents, entry: Entry, there: NonNullable<ReturnType<Found['get']>>): boolean {
  if (entry === undefined || (entry.kind === 'link') !== (there.mode === '120000')) return false
  return contents.read(entry.blob).equals(there.bytes)
}

/** Whether the commit has the same lines in the place of the same old ones. */
function hasEdit({ old = [], fresh = [] }: PendingFile, edit: Edit, bytes: Buffer): boolean {
  const committed = linesOf(bytes)
  const text = fresh.slice(edit.from, edit.to).join('')
  return diffLines(old, committed).some(
    (other) =>
      other.start === edit.start &&
      other.end === edit.end &&
      committed.slice(other.from, other.to).join('') === text,
  )
}

function linesOf(bytes: Buffer): readonly string[] {
  return splitLines(bytes.toString('latin1'))
}
