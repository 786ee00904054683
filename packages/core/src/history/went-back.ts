/**
 * Whether an agent's files stand as they did before one of its turns. An agent that has an undo of its own puts back what
 * its edit tools wrote, all of it, and says so to nobody.
 */

import { errorCode } from '../fs.ts'
import { objectId } from '../object-id.ts'
import { findLeaf } from '../store/trees.ts'
import { type BlobId, joinAbs, type RelPath, type SessionId, type TreeId, type TurnId } from '../values.ts'
import type { Engine } from './engine.ts'

export interface WentBack {
  /** All that was written in this turn, and since, is as it was before it. */
  readonly turn: TurnId
  /** What has changed for that since the last operation. */
  readonly paths: readonly RelPath[]
}

/** Nobody rewinds further than this by hand; and each turn costs a look into its steps. */
const mostTurns = 50

/** The latest such turn on the way to the session's head. Reads the files that the turns wrote, and records nothing. */
export function findWentBack(engine: Engine, session: SessionId): WentBack | undefined {
  const last = engine.log.index.lastOperation()?.after.tree
  if (last === undefined) return undefined
  const before = new Map<RelPath, BlobId | undefined>()
  const now = new Map<RelPath, BlobId | undefined>()
  for (const turn of turnsFromHead(engine, session)) {
    noteBefore(engine, turn, before)
    for (const path of before.keys()) if (!now.has(path)) now.set(path, blobOnDisk(engine, path))
    const paths = [...before.keys()]
    const moved = paths.filter((path) => now.get(path) !== blobIn(engine, last, path))
    if (moved.length > 0 && paths.every((path) => now.get(path) === before.get(path)))
      return { turn, paths: moved }
  }
  return undefined
}

function turnsFromHead(engine: Engine, session: SessionId): readonly TurnId[] {
  const { index } = engine.log
  const turns: TurnId[] = []
  const head = index.findSession(session)?.head
  // In front of a turn, or in the middle of it: Unturn itself has gone back, and knows it.
  let at = head?.before === undefined ? head?.turn : undefined
  while (at !== undefined && at !== null && turns.length < mostTurns) {
    turns.push(at)
    at = index.findTurn(at)?.parent.turn
  }
  return turns
}

/** From the last step to the first: what stays is what was there before all of them. */
function noteBefore(engine: Engine, turn: TurnId, before: Map<RelPath, BlobId | undefined>): void {
  for (const { record, before: snapshot } of engine.log.index.stepOperations(turn).toReversed()) {
    if (record.kind !== 'step' || record.certainty !== 'exact') continue
    for (const path of record.paths) before.set(path, blobIn(engine, snapshot.tree, path))
  }
}

function blobIn(engine: Engine, tree: TreeId, path: RelPath): BlobId | undefined {
  return findLeaf(engine.objects, tree, path)?.blob
}

function blobOnDisk(engine: Engine, path: RelPath): BlobId | undefined {
  const place = joinAbs(engine.root, path)
  try {
    return engine.fs.lstat(place)?.kind === 'file' ? objectId('blob', engine.fs.readFile(place)) : undefined
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'EACCES') return undefined
    throw error
  }
}
