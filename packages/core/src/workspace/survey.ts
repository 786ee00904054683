/** Compares a plan with the disk, before anything is touched. */

import { shown, UnturnError } from '../errors.ts'
import type { FileStat, Fs } from '../fs.ts'
import {
  type AbsPath,
  type ByteString,
  flawOfRelPath,
  joinAbs,
  joinRel,
  parentOf,
  type RelPath,
  relPathUnchecked,
} from '../values.ts'
import type { FolderChange, FolderMode, Left } from './journal.ts'
import type { PathPlan, Plan } from './plan.ts'
import { isSpelled, sameState, standingAt, wayTo } from './standing.ts'

/** What stands in the way, and what of the plan is still to be done. */
export interface Survey {
  readonly left: readonly Left[]
  readonly paths: readonly PathPlan[]
  readonly create: readonly FolderMode[]
  readonly remove: readonly FolderMode[]
  readonly chmod: readonly FolderChange[]
  /** Paths that this disk takes for another path of the plan: only case or normal form differ. */
  readonly respelled: ReadonlySet<RelPath>
}

interface Field {
  readonly fs: Fs
  readonly root: AbsPath
  /** Files and links that the plan removes. */
  readonly going: ReadonlySet<ByteString>
  readonly goingFolders: ReadonlySet<ByteString>
  readonly coming: ReadonlySet<ByteString>
  /** The same by inode, to see through other spellings. */
  readonly goingFiles: ReadonlyMap<string, RelPath>
  readonly left: Left[]
  readonly respelled: Set<RelPath>
}

export function surveyOf(fs: Fs, root: AbsPath, plan: Plan): Survey {
  refuseUnsafe(plan)
  const field = fieldOf(fs, root, plan)
  const paths = plan.paths.filter((entry) => isToDo(field, entry))
  const create = plan.folders.create.filter((folder) => isToCreate(field, folder.path))
  const remove = plan.folders.remove.flatMap((path) => folderToRemove(field, path))
  const chmod = plan.folders.chmod.filter((folder) => isToChange(field, folder))
  return { left: field.left, paths, create, remove, chmod, respelled: field.respelled }
}

function fieldOf(fs: Fs, root: AbsPath, plan: Plan): Field {
  const going = plan.paths.filter((entry) => entry.to === undefined).map((entry) => entry.path)
  const goingFiles = new Map<string, RelPath>()
  for (const path of [...going, ...plan.folders.remove]) {
    if (wayTo(fs, root, path).kind !== 'open') continue
    const stat = fs.lstat(joinAbs(root, path))
    if (stat !== undefined) goingFiles.set(identity(stat), path)
  }
  return {
    fs,
    root,
    going: new Set(going),
    goingFolders: new Set(plan.folders.remove),
    coming: new Set(plan.folders.create.map((folder) => folder.path)),
    goingFiles,
    left: [],
    respelled: new Set(),
  }
}

function identity(stat: FileStat): string {
  return `${stat.dev}:${stat.ino}`
}

function isToDo(field: Field, entry: PathPlan): boolean {
  const { fs, root } = field
  const { path, from, to } = entry
  if (sameState(from, to)) return false
  const way = wayTo(fs, root, path)
  if (way.kind === 'blocked' && !(from === undefined && field.going.has(way.by))) {
    return refuse(field, path, 'behind-link')
  }
  if (way.kind !== 'open') return isToDoWithoutFolder(field, entry)

  const standing = standingAt(fs, joinAbs(root, path), [from, to])
  if (standing.is === 'absent') {
    return from === undefined || (to !== undefined && refuse(field, path, 'changed-meanwhile'))
  }
  if (from === undefined && isOtherSpelling(field, path, standing.stat)) return true
  if (standing.is === 'known') return standing.state === from
  if (from !== undefined) return refuse(field, path, 'changed-meanwhile')
  const clears = standing.is === 'folder' && isGoing(field, path)
  return clears || refuse(field, path, 'occupied')
}

function isToDoWithoutFolder(field: Field, { path, from, to }: PathPlan): boolean {
  if (to === undefined) return false
  if (from === undefined && field.coming.has(parentOf(path))) return true
  return refuse(field, path, 'changed-meanwhile')
}

// Found under its old spelling, since this disk ignores case: what stands there goes before this comes.
function isOtherSpelling(field: Field, path: RelPath, stat: FileStat): boolean {
  const other = field.goingFiles.get(identity(stat))
  if (other === undefined || other === path || isSpelled(field.fs, field.root, path)) return false
  field.respelled.add(path).add(other)
  return true
}

/** Whether a folder will be empty when the plan has removed what it removes. */
function isGoing(field: Field, path: RelPath): boolean {
  if (!field.goingFolders.has(path)) return false
  return field.fs.readFolder(joinAbs(field.root, path)).every((name) => {
    const child = joinRel(path, name)
    return field.going.has(child) || isGoing(field, child)
  })
}

function isToCreate(field: Field, path: RelPath): boolean {
  const way = wayTo(field.fs, field.root, path)
  if (way.kind === 'blocked') return field.going.has(way.by) || refuse(field, path, 'behind-link')
  if (way.kind === 'missing') {
    return field.coming.has(parentOf(path)) || refuse(field, path, 'changed-meanwhile')
  }
  const stat = field.fs.lstat(joinAbs(field.root, path))
  if (stat === undefined || field.going.has(path)) return true
  if (stat.kind === 'folder') return isOtherSpelling(field, path, stat)
  return refuse(field, path, 'occupied')
}

function folderToRemove(field: Field, path: RelPath): readonly FolderMode[] {
  if (wayTo(field.fs, field.root, path).kind !== 'open') return []
  const stat = field.fs.lstat(joinAbs(field.root, path))
  return stat?.kind === 'folder' ? [{ path, perm: stat.perm }] : []
}

function isToChange(field: Field, { path, from, to }: FolderChange): boolean {
  const way = wayTo(field.fs, field.root, path)
  if (way.kind === 'blocked') return refuse(field, path, 'behind-link')
  const stat = field.fs.lstat(joinAbs(field.root, path))
  if (stat?.kind === 'folder' && stat.perm === to) return false
  if (stat?.kind === 'folder' && stat.perm === from) return true
  return refuse(field, path, 'changed-meanwhile')
}

function refuse(field: Field, path: RelPath, reason: Left['reason']): false {
  field.left.push({ path, reason })
  return false
}

// The type promises it; a plan made from a damaged or hostile tree is where it matters.
function refuseUnsafe(plan: Plan): void {
  const { create, remove, chmod } = plan.folders
  for (const path of [...plan.paths, ...create, ...chmod].map((entry) => entry.path).concat(remove)) {
    const flaw = flawOfRelPath(path)
    if (flaw !== undefined) throw unsafePath(path, flaw)
  }
}

function unsafePath(path: ByteString, flaw: string): UnturnError {
  return new UnturnError(
    'bad-path',
    { path: shown(path), flaw },
    {
      message: `Unturn does not write to ${shown(path)} because ${flaw}. No file was changed.`,
      hint: 'The stored history names an unsafe path. Run "unturn doctor" to see what else is affected.',
    },
  )
}

/** The nearest folder above a path that exists and is no link. */
export function nearestFolder(fs: Fs, root: AbsPath, path: RelPath): ByteString {
  for (let folder = parentOf(path); folder !== ''; folder = parentOf(folder)) {
    const rel = relPathUnchecked(folder)
    if (wayTo(fs, root, rel).kind === 'open' && fs.lstat(joinAbs(root, rel))?.kind === 'folder') return folder
  }
  return ''
}
