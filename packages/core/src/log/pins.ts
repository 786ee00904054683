/**
 * Pins: sessions that retention leaves alone. Each is a ref beside the session's own, so that it is as durable as the
 * history, and pinning an old session does not make it the one last active. What it names says nothing: an empty commit.
 */

import type { ObjectStore } from '../store/objects.ts'
import { deleteRef, listRefs, writeRef } from '../store/refs.ts'
import type { Exclusive, SessionId } from '../values.ts'
import { refOf } from './log.ts'

const prefix = 'refs/unturn/pins/'

export function readPins(objects: ObjectStore): (session: SessionId) => boolean {
  const pins = listRefs(objects.fs, objects.folder, prefix)
  return (session) => pins.has(pinOf(session))
}

export function pin(objects: ObjectStore, session: SessionId, _lock: Exclusive): void {
  const batch = objects.newBatch()
  const commit = batch.commit({ tree: batch.tree([]), parents: [], message: 'pin\n', atSeconds: 0 })
  batch.flush()
  writeRef(objects.fs, objects.folder, pinOf(session), commit)
}

export function unpin(objects: ObjectStore, session: SessionId, _lock: Exclusive): void {
  deleteRef(objects.fs, objects.folder, pinOf(session))
}

function pinOf(session: SessionId): string {
  return prefix + refOf(session).split('/').at(-1)
}
