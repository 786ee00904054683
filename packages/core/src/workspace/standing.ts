/** What stands at a place right now, compared with what a plan expects there. Never follows a link. */

import { createHash } from 'node:crypto'
import type { FileStat, Fs } from '../fs.ts'
import { objectId } from '../object-id.ts'
import {
  type AbsPath,
  type BlobId,
  type FileState,
  joinAbs,
  type RelPath,
  relPathUnchecked,
} from '../values.ts'

export type Standing =
  | { readonly is: 'absent' }
  | { readonly is: 'folder'; readonly stat: FileStat }
  /** One of the states that were asked about. */
  | { readonly is: 'known'; readonly state: FileState; readonly stat: FileStat }
  | { readonly is: 'unknown'; readonly stat: FileStat }

/** Which of the candidates stands there. Content is read only where kind and mode leave the question open. */
export function standingAt(fs: Fs, place: AbsPath, candidates: readonly (FileState | undefined)[]): Standing {
  const stat = fs.lstat(place)
  if (stat === undefined) return { is: 'absent' }
  if (stat.kind === 'folder') return { is: 'folder', stat }
  const possible = candidates.filter((state) => state !== undefined).filter((state) => fits(stat, state))
  if (possible.length === 0) return { is: 'unknown', stat }
  const blob = stat.kind === 'link' ? linkId(fs, place) : contentId(fs, place, stat.size)
  const state = possible.find((candidate) => candidate.blob === blob)
  return state === undefined ? { is: 'unknown', stat } : { is: 'known', state, stat }
}

function fits(stat: FileStat, state: FileState): boolean {
  return state.kind === 'link' ? stat.kind === 'link' : stat.kind === 'file' && stat.perm === state.perm
}

function linkId(fs: Fs, place: AbsPath): BlobId {
  return objectId('blob', Buffer.from(fs.readLink(place), 'latin1'))
}

const partBytes = 16 * 1024 * 1024

// A file of some gigabytes does not fit into one buffer.
function contentId(fs: Fs, place: AbsPath, size: number): BlobId {
  if (size <= partBytes) return objectId('blob', fs.readFile(place))
  const hash = createHash('sha1').update(`blob ${size}\0`)
  for (let position = 0; position < size; position += partBytes) {
    hash.update(fs.readPart(place, position, partBytes))
  }
  return hash.digest('hex') as BlobId // git's id of these bytes, as objectId computes it
}

export function sameState(one: FileState | undefined, other: FileState | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return sameContent(one, other) && (one.kind === 'link' || other.kind === 'link' || one.perm === other.perm)
}

export function sameContent(one: FileState, other: FileState): boolean {
  return one.kind === other.kind && one.blob === other.blob
}

/** Whether two looks saw the same file. */
export function sameFile(one: FileStat, other: FileStat): boolean {
  return one.ino === other.ino && one.dev === other.dev
}

export type Way =
  | { readonly kind: 'open' }
  /** A parent folder is not there. */
  | { readonly kind: 'missing' }
  /** A parent is a link, which may lead anywhere, or no folder at all. */
  | { readonly kind: 'blocked'; readonly by: RelPath }

/** Looks at every folder between the root and the path. */
export function wayTo(fs: Fs, root: AbsPath, path: RelPath): Way {
  for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1)) {
    const parent = path.slice(0, slash)
    const stat = fs.lstat(joinAbs(root, parent))
    if (stat === undefined) return { kind: 'missing' }
    if (stat.kind !== 'folder') return { kind: 'blocked', by: relPathUnchecked(parent) }
  }
  return { kind: 'open' }
}

/** Whether the path is there in exactly this spelling: a disk that ignores case finds `a` under `A`. */
export function isSpelled(fs: Fs, root: AbsPath, path: RelPath): boolean {
  let folder = root
  for (const name of path.split('/')) {
    if (!fs.readFolder(folder).includes(name)) return false
    folder = joinAbs(folder, name)
  }
  return true
}
