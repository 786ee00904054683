/** The files as they were: any state that an operation left behind, read and never written. */

import { fileStateOf } from '../store/attrs.ts'
import { findLeaf, listTree } from '../store/trees.ts'
import { type BlobId, type RelPath, relPathUnchecked, type SessionId, type Snapshot } from '../values.ts'
import type { Engine } from './engine.ts'
import { unknownId } from './recording.ts'
import { readState } from './snapshots.ts'
import { spanOf } from './views.ts'

/** One file or link as it was. */
export interface PastFile {
  readonly path: RelPath
  readonly kind: 'file' | 'link'
  /** The nine permission bits; of a link they mean nothing. */
  readonly perm: number
  readonly blob: BlobId
  /** The content; of a link its target. */
  readonly bytes: Buffer
}

/** One name in a folder as it was. */
export interface PastEntry {
  readonly path: RelPath
  readonly kind: 'file' | 'link' | 'folder'
  readonly isExecutable: boolean
  /** Names the content: the same bytes have the same one. Absent for a folder. */
  readonly blob?: BlobId
}

/**
 * The state before or after a turn, step, change or operation; `@` is the head turn, `now` what the last operation
 * left behind. Nobody looks at the disk for this.
 */
export function snapshotAt(
  engine: Engine,
  session: SessionId | undefined,
  typed: string,
  side: 'before' | 'after',
): Snapshot {
  if (typed !== 'now') return spanOf(engine, session, typed)[side]
  const last = engine.log.index.lastOperation()
  if (last === undefined) throw unknownId(typed, 'operation')
  return last.after
}

export function readFileAt(engine: Engine, snapshot: Snapshot, path: RelPath): PastFile | undefined {
  const leaf = findLeaf(engine.objects, snapshot.tree, path)
  if (leaf === undefined) return undefined
  const state = fileStateOf(readState(engine.objects, snapshot).attrs, path, leaf)
  return {
    path,
    kind: state.kind,
    perm: state.kind === 'file' ? state.perm : 0o777,
    blob: leaf.blob,
    bytes: engine.objects.readBlob(leaf.blob),
  }
}

/** The names in one folder, sorted; '' is the root. Undefined: there was no such folder. */
export function listFolderAt(
  engine: Engine,
  snapshot: Snapshot,
  folder: RelPath | '',
): readonly PastEntry[] | undefined {
  const { bare } = readState(engine.objects, snapshot).attrs
  const lead = folder === '' ? '' : `${folder}/`
  const entries = new Map<RelPath, PastEntry>()
  for (const [path, leaf] of listTree(engine.objects, snapshot.tree, folder === '' ? undefined : folder)) {
    const end = path.indexOf('/', lead.length)
    const here = end < 0 ? path : relPathUnchecked(path.slice(0, end))
    if (end >= 0) entries.set(here, folderEntry(here))
    else
      entries.set(here, {
        path: here,
        kind: leaf.mode === '120000' ? 'link' : 'file',
        isExecutable: leaf.mode === '100755',
        blob: leaf.blob,
      })
  }
  for (const path of bare.keys()) {
    if (!path.startsWith(lead) || path.length === lead.length) continue
    const end = path.indexOf('/', lead.length)
    const here = end < 0 ? path : relPathUnchecked(path.slice(0, end))
    if (!entries.has(here)) entries.set(here, folderEntry(here))
  }
  if (entries.size === 0 && folder !== '' && !bare.has(folder)) return undefined
  return [...entries.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

function folderEntry(path: RelPath): PastEntry {
  return { path, kind: 'folder', isExecutable: false }
}

/** Every file and link, sorted, at most so many. */
export function listFilesAt(
  engine: Engine,
  snapshot: Snapshot,
  options: { readonly below?: RelPath; readonly limit: number },
): { readonly files: readonly PastEntry[]; readonly isComplete: boolean } {
  const files: PastEntry[] = []
  for (const [path, leaf] of listTree(engine.objects, snapshot.tree, options.below)) {
    if (files.length >= options.limit) return { files, isComplete: false }
    const kind = leaf.mode === '120000' ? 'link' : 'file'
    files.push({ path, kind, isExecutable: leaf.mode === '100755', blob: leaf.blob })
  }
  return { files, isComplete: true }
}
