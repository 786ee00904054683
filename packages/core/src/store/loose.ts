/** Loose objects: one file each. We write none, but git does (merge-tree, gc), and we read them. */

import { inflateSync } from 'node:zlib'
import { errorCode, type Fs } from '../fs.ts'
import { type AbsPath, joinAbs, type ObjectId } from '../values.ts'
import { storeDamaged } from './damage.ts'
import type { AnyKind, RawContent } from './pack-reader.ts'

const head = /^(blob|tree|commit|tag) (0|[1-9][0-9]{0,9})\0/
const largestObject = 2 ** 31

/** The names of the folders below objects/ that hold loose objects. */
export function looseFolders(fs: Fs, objects: AbsPath): readonly string[] {
  return fs.readFolder(objects).filter((name) => /^[0-9a-f]{2}$/.test(name))
}

export function looseIds(fs: Fs, objects: AbsPath, folder: string): readonly ObjectId[] {
  const names = fs.readFolder(joinAbs(objects, folder))
  return names.filter((name) => /^[0-9a-f]{38}$/.test(name)).map((name) => (folder + name) as ObjectId)
}

export function loosePath(objects: AbsPath, id: ObjectId): AbsPath {
  return joinAbs(objects, `${id.slice(0, 2)}/${id.slice(2)}`)
}

/** Throws `store-damaged` where the file is no object. The caller checks the bytes against the id. */
export function readLoose(fs: Fs, objects: AbsPath, id: ObjectId): RawContent {
  const bytes = inflatedFile(fs.readFile(loosePath(objects, id)), id)
  const found = head.exec(bytes.toString('latin1', 0, 32))
  if (found === null) throw storeDamaged('a loose object has no head', id)
  const content = bytes.subarray(found[0].length)
  if (content.length !== Number(found[2])) throw storeDamaged('a loose object is cut short', id)
  return { kind: found[1] as AnyKind, bytes: content }
}

function inflatedFile(deflated: Buffer, id: ObjectId): Buffer {
  try {
    return inflateSync(deflated, { maxOutputLength: largestObject })
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    throw storeDamaged('a loose object is damaged', id, error)
  }
}
