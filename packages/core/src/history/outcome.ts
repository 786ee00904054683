/** What an undo, redo, restore or rollback has done, would do, or could not do: the same shape for all of them. */

import type { CommitNote } from '../log/record.ts'
import type { SnapshotPlan } from '../store/attrs.ts'
import type { ConflictKind } from '../store/merge.ts'
import type { FileState, OpId, RelPath, SessionId, Skipped, TurnId } from '../values.ts'

export interface FileOutcome {
  readonly path: RelPath
  readonly action: 'write' | 'delete' | 'rename' | 'mode'
  /** Where a rename came from; the old name is listed as deleted, too. */
  readonly from?: RelPath
  /** The content is made of both sides: the old version, and what came after the turn. */
  readonly merged: boolean
}

export interface Conflict {
  readonly path: RelPath
  readonly kind: ConflictKind | 'uncaptured' | 'changed-meanwhile'
  /** The text that stands there now, where the two overlap; null: nothing stands there. */
  readonly ours: string | null
  /** The text that would have come; null: the path would have gone. */
  readonly theirs: string | null
  /** For people. */
  readonly message: string
  /** Who has changed the path since: the turns that stand on what would be taken out, or the user. */
  readonly later: readonly LaterAuthor[]
  /** The whole of each side, where somebody asked for it. */
  readonly versions?: ConflictVersions
}

/** Text; null: the file is not there. */
export interface ConflictVersions {
  /** As the change left it that is being taken out, or as it was when the change was taken out. */
  readonly base: string | null
  readonly ours: string | null
  readonly theirs: string | null
}

export interface LaterAuthor {
  readonly actor: string
  readonly turn?: TurnId
  readonly session?: SessionId
}

/** What could not be taken back, honestly. */
export interface NotUndone {
  readonly commands: readonly string[]
  readonly commits: readonly CommitNote[]
  readonly skipped: readonly Skipped[]
  /** The turns left another branch checked out than they found; null: a detached HEAD. */
  readonly branch?: { readonly from: string | null; readonly to: string | null }
}

/** What became of a typed `--git`. */
export type BranchOutcome =
  | { readonly moved: true; readonly branch: string; readonly from: string; readonly to: string }
  | { readonly moved: false; readonly reason: string }

export interface Outcome {
  readonly kind: 'done' | 'planned' | 'conflicts'
  /** Absent for a plan, and where nothing was changed. */
  readonly op?: OpId
  readonly head: TurnId | null
  readonly files: readonly FileOutcome[]
  readonly conflicts: readonly Conflict[]
  /** Turns taken out by this, newest first. */
  readonly reverted: readonly TurnId[]
  /** Turns brought back by this, oldest first. */
  readonly redone: readonly TurnId[]
  readonly prompt?: string
  readonly notUndone: NotUndone
  readonly git?: BranchOutcome
  /** For a plan: the difference it would make to the files, as a unified diff. */
  readonly patch?: string
}

export function filesOf(plan: SnapshotPlan, merged: ReadonlySet<RelPath>): readonly FileOutcome[] {
  const goneBlobs = new Map<string, RelPath>()
  for (const { path, from, to } of plan.paths)
    if (from?.kind === 'file' && to === undefined) goneBlobs.set(from.blob, path)
  const files: FileOutcome[] = []
  for (const { path, from, to } of plan.paths)
    files.push(fileOutcome(path, from, to, merged.has(path), goneBlobs))
  for (const { path } of plan.folders.chmod) files.push({ path, action: 'mode', merged: false })
  const told = new Set(files.map(({ path }) => path))
  for (const folder of foldersAlone(plan)) if (!told.has(folder.path)) files.push(folder)
  return files.sort((a, b) => (a.path < b.path ? -1 : 1))
}

function fileOutcome(
  path: RelPath,
  from: FileState | undefined,
  to: FileState | undefined,
  merged: boolean,
  goneBlobs: ReadonlyMap<string, RelPath>,
): FileOutcome {
  if (to === undefined) return { path, action: 'delete', merged }
  if (from !== undefined && from.kind === to.kind && from.blob === to.blob)
    return { path, action: 'mode', merged }
  const oldName = from === undefined && to.kind === 'file' ? goneBlobs.get(to.blob) : undefined
  return oldName === undefined
    ? { path, action: 'write', merged }
    : { path, action: 'rename', from: oldName, merged }
}

// Folders come and go with their files, or change places with one; only one that does so by itself is worth a line.
function foldersAlone(plan: SnapshotPlan): readonly FileOutcome[] {
  const written = plan.paths.filter(({ to }) => to !== undefined).map(({ path }) => path)
  const deleted = plan.paths.filter(({ to }) => to === undefined).map(({ path }) => path)
  const isAbove = (folder: RelPath) => (path: RelPath) => path.startsWith(`${folder}/`)
  const made = plan.folders.create.map(({ path }) => path).filter((path) => !written.some(isAbove(path)))
  const gone = plan.folders.remove.filter((path) => !deleted.some(isAbove(path)))
  return [
    ...made.map((path) => ({ path, action: 'write' as const, merged: false })),
    ...gone.map((path) => ({ path, action: 'delete' as const, merged: false })),
  ]
}
