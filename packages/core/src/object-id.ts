/** Git's object ids, computed here: a capture must not start a process to learn that a file is unchanged. */

import { createHash, hash } from 'node:crypto'
import type { BlobId, CommitId, ObjectId, TreeId } from './values.ts'

export type ObjectKind = 'blob' | 'tree' | 'commit'

export function objectId(kind: 'blob', bytes: Uint8Array): BlobId
export function objectId(kind: 'tree', bytes: Uint8Array): TreeId
export function objectId(kind: 'commit', bytes: Uint8Array): CommitId
export function objectId(kind: ObjectKind, bytes: Uint8Array): ObjectId
export function objectId(kind: ObjectKind, bytes: Uint8Array): ObjectId {
  if (bytes.length > mostInOneGo)
    return createHash('sha1').update(`${kind} ${bytes.length}\0`).update(bytes).digest('hex') as ObjectId
  const start = scratch.write(`${kind} ${bytes.length}\0`, 0, 'latin1')
  scratch.set(bytes, start)
  return hash('sha1', scratch.subarray(0, start + bytes.length), 'hex') as ObjectId
}

// To make a hash object takes three times as long as to hash a folder of a few files.
const mostInOneGo = 16 * 1024
const scratch = Buffer.allocUnsafeSlow(mostInOneGo + 64)
