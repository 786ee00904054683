/**
 * The one idea (design, section 3): every undo is a three-way merge of trees, and git does it.
 *
 * Merging happens in a scratch folder for objects of its own beside the store, so a dry run leaves no trace,
 * and what a real run keeps goes into the store with its operation, in one pack.
 */

import { randomBytes } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import { shown } from '../errors.ts'
import { errorCode, type Fs } from '../fs.ts'
import { objectId } from '../object-id.ts'
import {
  type AbsPath,
  type BlobId,
  type ByteString,
  type CommitId,
  type Exclusive,
  foldersAbove,
  joinAbs,
  type ObjectId,
  type RelPath,
  type TreeId,
} from '../values.ts'
import { storeDamaged } from './damage.ts'
import { checkedPath, Fields, findRenames, patch, type Rename } from './describe.ts'
import type { Git } from './git.ts'
import { loosePath, readLoose } from './loose.ts'
import { type Commit, ObjectBatch, type ObjectStore, type Objects } from './objects.ts'
import {
  diffTrees,
  editTree,
  findLeaf,
  type Leaf,
  listTree,
  parseTree,
  serializeTree,
  type TreeEntry,
} from './trees.ts'

/** `type`: a file on one side, a symbolic link on the other. `mode`: the same bytes, but for the executable bit. */
export type ConflictKind =
  | 'content'
  | 'binary'
  | 'add-add'
  | 'modify-delete'
  | 'rename-delete'
  | 'rename-rename'
  | 'file-folder'
  | 'mode'
  | 'type'
  | 'other'

export interface TreeConflict {
  /** Where it shows in ours; if it is gone there, in theirs. */
  readonly path: RelPath
  readonly kind: ConflictKind
  /** Every path that is part of it, old and new names of renames included. */
  readonly paths: readonly RelPath[]
  readonly base: Leaf | undefined
  readonly ours: Leaf | undefined
  readonly theirs: Leaf | undefined
  /** For people. */
  readonly message: string
  /** The file with both sides between git's markers, where there is one. */
  readonly marked: BlobId | undefined
  /** What git put into the merged tree for it, and what it took that from. */
  readonly stages: readonly ConflictStages[]
}

export interface ConflictStages {
  /** Not always a path of ours: where a file cannot stand beside a folder, git makes up a name. */
  readonly path: RelPath
  readonly madeUp: boolean
  readonly base: Leaf | undefined
  readonly ours: Leaf | undefined
  readonly theirs: Leaf | undefined
}

export interface TreeMerge {
  /** With conflict markers, and made-up names, where there are conflicts: settle it before use. */
  readonly tree: TreeId
  readonly conflicts: readonly TreeConflict[]
  /** Paths whose content was combined from both sides. */
  readonly autoMerged: readonly RelPath[]
  /** The synthetic commits; git names them in its markers. */
  readonly commits?: SideCommits
}

interface SideCommits {
  readonly ours: CommitId
  readonly theirs: CommitId
}

export type OnConflict = 'abort' | 'keep' | 'overwrite' | 'markers'

/** Somebody has made one text of both sides. */
export interface Resolved {
  readonly content: Uint8Array
}

/** One choice for every conflict, or single paths with a choice, or a content, of their own. */
export type Choices =
  | OnConflict
  | { readonly paths: ReadonlyMap<RelPath, OnConflict | Resolved>; readonly others: OnConflict }

export function choiceFor(choices: Choices, paths: readonly RelPath[]): OnConflict | Resolved {
  if (typeof choices === 'string') return choices
  for (const path of paths) {
    const choice = choices.paths.get(path)
    if (choice !== undefined) return choice
  }
  return choices.others
}

export interface MarkerLabels {
  readonly ours: string
  readonly theirs: string
}

const defaultLabels: MarkerLabels = { ours: 'current', theirs: 'earlier version' }

export class MergeScratch implements AsyncDisposable, Objects {
  readonly #fs: Fs
  readonly #store: ObjectStore
  readonly #git: Git
  /** Does not exist before git is needed for the first time. */
  readonly #folder: AbsPath
  #exists = false
  /** Trees that we made ourselves. Never flushed: what is kept is copied to the operation's own batch. */
  readonly #made: MadeTrees

  private constructor(fs: Fs, store: ObjectStore, git: Git, folder: AbsPath) {
    this.#fs = fs
    this.#store = store
    this.#git = git
    this.#folder = folder
    this.#made = new MadeTrees(store, (id) => this.#findLooseTree(id))
  }

  /** `folder` exists, is ours, and is the parent of all scratches. */
  static open(fs: Fs, store: ObjectStore, git: Git, folder: AbsPath): MergeScratch {
    return new MergeScratch(fs, store, git, joinAbs(folder, scratchName()))
  }

  has(id: ObjectId): boolean {
    return this.#isLoose(id) || this.#made.has(id)
  }

  readBlob(id: BlobId): Buffer {
    return this.#isLoose(id) ? this.#readLoose('blob', id) : this.#made.readBlob(id)
  }

  readTree(id: TreeId): readonly TreeEntry[] {
    return this.#made.readTree(id)
  }

  readCommit(id: CommitId): Commit {
    return this.#made.readCommit(id)
  }

  /** Keeps bytes that go with the merge, such as its attributes, until the operation takes them over. */
  blob(bytes: Uint8Array): BlobId {
    return this.#made.blob(bytes)
  }

  /** Carries what leads from `base` to `theirs` over to `ours`. A conflict is an answer, not a failure. */
  async merge(base: TreeId, ours: TreeId, theirs: TreeId): Promise<TreeMerge> {
    const tree = trivialMerge(base, ours, theirs) ?? this.#mergeApart(base, ours, theirs)
    return tree === undefined
      ? await this.#mergeByGit(base, ours, theirs)
      : { tree, conflicts: [], autoMerged: [] }
  }

  /**
   * The tree after the user's choice.
   *
   * - `keep`: every path of a conflict is as in ours.
   * - `overwrite`: as in theirs. Where ours has renamed the file, its new name stays and gets their content.
   * - `markers`: text has both sides between markers; what cannot hold markers stays as in ours.
   * - `abort`: as `keep`, for now. Whoever asked gets to hear of it, and nothing is written.
   * - a content: that, at the name which the merge found for the file.
   */
  settle(
    merge: TreeMerge,
    ours: TreeId,
    theirs: TreeId,
    choices: Choices,
    labels: MarkerLabels = defaultLabels,
  ): TreeId {
    const edits = new Map<RelPath, Leaf | undefined>()
    for (const conflict of merge.conflicts) {
      for (const { path, madeUp } of conflict.stages) if (madeUp) edits.set(path, undefined)
      const choice = choiceFor(choices, [conflict.path, ...conflict.paths])
      for (const [path, leaf] of this.#chosen(conflict, merge, ours, theirs, choice, labels))
        edits.set(path, leaf)
    }
    return this.#edited(merge.tree, this.#withRoom(merge.tree, edits))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#exists) return
    removeScratch(this.#fs, this.#folder)
    this.#exists = false
  }

  /**
   * Merges without git where the two sides have touched different paths, the usual undo.
   *
   * Git gives the same tree. It looks at a path alone unless a rename connects two: one side's deleted `old`
   * with its added `new`. Both are touched by that side. The rename has a say only if the other side changed
   * `old`, or has a `new` as well, which it then added: either way it has touched the same path, and we do
   * not come here. (Folders are not followed: merge.directoryRenames is off.) A file can get in the way of a
   * folder only if a touched path of one side lies above a touched path of the other; checked, too.
   *
   * A path that both have changed to the same, and that is there before and after, is no rename's end either.
   */
  #mergeApart(base: TreeId, ours: TreeId, theirs: TreeId): TreeId | undefined {
    const mine = new Map(diffTrees(this, base, ours).map((diff) => [diff.path, diff]))
    const above = new Set<ByteString>([...mine.keys()].flatMap(foldersAbove))
    const edits = new Map<RelPath, Leaf | undefined>()
    for (const { path, before, after } of diffTrees(this, base, theirs)) {
      const own = mine.get(path)
      if (own === undefined) {
        if (above.has(path) || foldersAbove(path).some((folder) => mine.has(folder))) return undefined
        edits.set(path, after)
      } else if (before === undefined || after === undefined || !sameLeaf(own.after, after)) {
        return undefined
      }
    }
    return this.#edited(ours, edits)
  }

  tree(entries: readonly TreeEntry[]): TreeId {
    return this.#made.tree(entries)
  }

  /** A commit for git to look at, gone with the scratch. */
  commit(tree: TreeId, parents: readonly CommitId[]): CommitId {
    this.#createFolder()
    this.#publish(tree)
    return this.#writeCommit(tree, parents)
  }

  /** A unified diff, also of trees that are only here. */
  async patch(before: TreeId, after: TreeId): Promise<Buffer> {
    this.#createFolder()
    for (const tree of [before, after]) this.#publish(tree)
    return patch(this.#git, before, after, {}, this.#places())
  }

  /** Asks git about what is here. */
  async ask(args: readonly string[]): Promise<Buffer> {
    return (await this.#git.run(args, this.#places())).stdout
  }

  /** A tree made here, from one that is here or in the store. */
  edit(tree: TreeId, edits: ReadonlyMap<RelPath, Leaf | undefined>): TreeId {
    return this.#edited(tree, edits)
  }

  #edited(tree: TreeId, edits: ReadonlyMap<RelPath, Leaf | undefined>): TreeId {
    return editTree(this.#made, tree, edits)
  }

  async #mergeByGit(base: TreeId, ours: TreeId, theirs: TreeId): Promise<TreeMerge> {
    this.#createFolder()
    for (const tree of [base, ours, theirs]) this.#publish(tree)
    const root = this.#writeCommit(base, [])
    const commits = { ours: this.#writeCommit(ours, [root]), theirs: this.#writeCommit(theirs, [root]) }
    const args = ['merge-tree', '--write-tree', '-z', '--messages', commits.ours, commits.theirs]
    const run = await this.#git.run(args, { ...this.#places(), okCodes: [0, 1] })
    const report = parseReport(run.stdout.toString('latin1'), commits)
    if ((run.exitCode === 1) !== report.stages.length > 0)
      throw storeDamaged('git reports a conflict and names none')

    const sides = { base, ours, theirs }
    const told = report.stages.length === 0 ? [] : await this.#conflictsOf(report, sides)
    const conflicts = [...told, ...(await this.#swallowed(report.tree, sides, told))]
    return { tree: report.tree, conflicts, autoMerged: this.#autoMerged(report, conflicts), commits }
  }

  /**
   * Files that one side changed and that git (2.39, say) dropped without a word: the other side has renamed them to
   * a path that both sides had added alike. Git takes that path as settled, and the change has nowhere to go.
   */
  async #swallowed(
    merged: TreeId,
    sides: Sides,
    told: readonly TreeConflict[],
  ): Promise<readonly TreeConflict[]> {
    const known = new Set(told.flatMap((conflict) => conflict.paths))
    const swallowed: TreeConflict[] = []
    for (const [side, other] of [
      [sides.ours, sides.theirs],
      [sides.theirs, sides.ours],
    ] as const) {
      const missing = diffTrees(this, sides.base, side).filter(
        ({ path, before, after }) =>
          before !== undefined &&
          after !== undefined &&
          !known.has(path) &&
          [other, merged].every((tree) => findLeaf(this, tree, path) === undefined),
      )
      if (missing.length === 0) continue
      const renames = await findRenames(this.#git, sides.base, other, this.#places())
      for (const { path } of missing) {
        const to = renames.find(({ from }) => from === path)?.to
        if (to === undefined || !this.#hasFollowed(merged, side, path, to))
          swallowed.push(changedAndGone(this, path, sides))
      }
    }
    return swallowed
  }

  /** Whether what the side made of a file is where the other one has renamed it to. */
  #hasFollowed(merged: TreeId, side: TreeId, path: RelPath, to: RelPath): boolean {
    if (findLeaf(this, side, to) === undefined) return true
    const [made, found] = [findLeaf(this, side, path), findLeaf(this, merged, to)]
    return made !== undefined && found !== undefined && sameLeaf(made, found)
  }

  #autoMerged(report: Report, conflicts: readonly TreeConflict[]): readonly RelPath[] {
    const inConflict = new Set(conflicts.flatMap((conflict) => conflict.paths))
    const paths = report.notes.filter((note) => note.type === 'Auto-merging').flatMap((note) => note.paths)
    const merged = paths.filter(
      (path) => !inConflict.has(path) && findLeaf(this, report.tree, path) !== undefined,
    )
    return [...new Set(merged)].sort()
  }

  async #conflictsOf(report: Report, sides: Sides): Promise<readonly TreeConflict[]> {
    // Git does not say where a renamed file came from. Without that, "keep" would leave ours at the new name
    // and still carry out the other half of the rename: the file would be gone from the old one.
    const renames = await Promise.all([
      findRenames(this.#git, sides.base, sides.ours, this.#places()),
      findRenames(this.#git, sides.base, sides.theirs, this.#places()),
    ])
    const groups = groupsOf(report, renames.flat(), (folder) => this.#leavesBelow(folder, report, sides))
    return groups
      .map((group) => conflictOf(this, group, sides, report.tree))
      .sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  #leavesBelow(folder: RelPath, report: Report, sides: Sides): readonly RelPath[] {
    const leaves = [sides.ours, sides.theirs, report.tree].flatMap((tree) => [
      ...listTree(this, tree, folder),
    ])
    return leaves.map(([path]) => path)
  }

  #chosen(
    conflict: TreeConflict,
    merge: TreeMerge,
    ours: TreeId,
    theirs: TreeId,
    choice: OnConflict | Resolved,
    labels: MarkerLabels,
  ): Edits {
    if (typeof choice === 'object') return this.#resolved(conflict, ours, choice)
    if (choice === 'overwrite') return this.#theirContent(conflict, theirs) ?? this.#asIn(theirs, conflict)
    if (choice === 'markers') return this.#marked(conflict, merge, labels) ?? this.#asIn(ours, conflict)
    return this.#asIn(ours, conflict)
  }

  #resolved(conflict: TreeConflict, ours: TreeId, { content }: Resolved): Edits {
    const [only, ...more] = conflict.stages
    const isPlain = only !== undefined && more.length === 0 && !only.madeUp
    const mode = (conflict.ours ?? conflict.theirs)?.mode
    const leaf: Leaf = { mode: mode === '100755' ? mode : '100644', blob: this.#made.blob(content) }
    if (isPlain) return [[only.path, leaf]]
    // Several names, or one that git made up: the content goes where it shows in ours, and the rest stays as it is there.
    return [...this.#asIn(ours, conflict), [conflict.path, leaf]]
  }

  #asIn(tree: TreeId, conflict: TreeConflict): Edits {
    return conflict.paths.map((path) => [path, findLeaf(this, tree, path)])
  }

  /** Their bytes at the name that the merge found for the file; `undefined` where it found no single name. */
  #theirContent(conflict: TreeConflict, theirs: TreeId): Edits | undefined {
    const edits: [RelPath, Leaf][] = []
    for (const { path, madeUp, base, ours, theirs: leaf } of conflict.stages) {
      if (madeUp || base === undefined || ours === undefined || leaf === undefined) return undefined
      // In a tangle of renames git may show something half merged as their side; that is not theirs.
      const isTheirs = conflict.paths.some((place) => findLeaf(this, theirs, place)?.blob === leaf.blob)
      if (!isTheirs) return undefined
      edits.push([path, leaf])
    }
    return edits
  }

  /** `undefined` where one of the files has no markers in it. */
  #marked(conflict: TreeConflict, merge: TreeMerge, labels: MarkerLabels): Edits | undefined {
    const edits: [RelPath, Leaf][] = []
    for (const { path, madeUp } of conflict.stages) {
      const leaf = madeUp ? undefined : findLeaf(this, merge.tree, path)
      if (leaf === undefined || merge.commits === undefined) return undefined
      const bytes = relabelled(this.readBlob(leaf.blob), merge.commits, labels)
      if (bytes === undefined) return undefined
      edits.push([path, { mode: leaf.mode, blob: this.#made.blob(bytes) }])
    }
    return edits
  }

  /** A chosen file takes the place of a folder that the merge has put there, and a chosen folder that of a file. */
  #withRoom(
    tree: TreeId,
    chosen: ReadonlyMap<RelPath, Leaf | undefined>,
  ): ReadonlyMap<RelPath, Leaf | undefined> {
    const edits = new Map(chosen)
    for (const [path, leaf] of chosen) {
      if (leaf === undefined) continue
      for (const [below] of listTree(this, tree, path)) if (!chosen.has(below)) edits.set(below, undefined)
      for (const folder of foldersAbove(path)) {
        if (!chosen.has(folder) && findLeaf(this, tree, folder) !== undefined) edits.set(folder, undefined)
      }
    }
    return edits
  }

  #places() {
    return { objectDirectory: this.#folder, alternates: [joinAbs(this.#store.folder, 'objects')] }
  }

  #createFolder(): void {
    if (this.#exists) return
    this.#fs.createFolder(this.#folder, 0o700)
    this.#exists = true
  }

  /** Git sees the store and the scratch, but not what we have only made in memory. */
  #publish(id: TreeId): void {
    if (this.#store.has(id) || this.#isLoose(id)) return
    const entries = this.#made.readTree(id)
    for (const entry of entries) {
      if (entry.mode === '40000') this.#publish(entry.id as TreeId)
      else this.#publishBlob(entry.id as BlobId)
    }
    this.#writeLoose('tree', serializeTree(entries))
  }

  #publishBlob(id: BlobId): void {
    if (!this.#store.has(id) && !this.#isLoose(id)) this.#writeLoose('blob', this.#made.readBlob(id))
  }

  #writeCommit(tree: TreeId, parents: readonly CommitId[]): CommitId {
    const who = 'Unturn <unturn@localhost> 0 +0000'
    const lines = parents.map((parent) => `parent ${parent}\n`).join('')
    const text = `tree ${tree}\n${lines}author ${who}\ncommitter ${who}\n\nmerge\n`
    return this.#writeLoose('commit', Buffer.from(text, 'latin1')) as CommitId
  }

  #writeLoose(kind: 'blob' | 'tree' | 'commit', bytes: Buffer): ObjectId {
    const id = objectId(kind, bytes)
    if (this.#isLoose(id)) return id
    const folder = joinAbs(this.#folder, id.slice(0, 2))
    if (this.#fs.lstat(folder) === undefined) this.#fs.createFolder(folder, 0o700)
    const content = deflateSync(Buffer.concat([Buffer.from(`${kind} ${bytes.length}\0`), bytes]), {
      level: 1,
    })
    this.#fs.createFile(loosePath(this.#folder, id), [content], 0o400)
    return id
  }

  #isLoose(id: ObjectId): boolean {
    return this.#exists && this.#fs.lstat(loosePath(this.#folder, id)) !== undefined
  }

  #findLooseTree(id: TreeId): readonly TreeEntry[] | undefined {
    return this.#isLoose(id) ? parseTree(this.#readLoose('tree', id)) : undefined
  }

  #readLoose(kind: 'blob' | 'tree', id: ObjectId): Buffer {
    const found = readLoose(this.#fs, this.#folder, id)
    if (found.kind === kind && objectId(kind, found.bytes) === id) return found.bytes
    throw storeDamaged('an object of a merge is not what its id says', id)
  }
}

/** New objects in memory, on top of what git has merged into the scratch. */
class MadeTrees extends ObjectBatch {
  readonly #findTree: (id: TreeId) => readonly TreeEntry[] | undefined

  constructor(store: ObjectStore, findTree: (id: TreeId) => readonly TreeEntry[] | undefined) {
    super(store)
    this.#findTree = findTree
  }

  override readTree(id: TreeId): readonly TreeEntry[] {
    return this.#findTree(id) ?? super.readTree(id)
  }
}

type Edits = readonly (readonly [RelPath, Leaf | undefined])[]

interface Sides {
  readonly base: TreeId
  readonly ours: TreeId
  readonly theirs: TreeId
}

function trivialMerge(base: TreeId, ours: TreeId, theirs: TreeId): TreeId | undefined {
  if (base === theirs || ours === theirs) return ours
  return base === ours ? theirs : undefined
}

function sameLeaf(a: Leaf | undefined, b: Leaf | undefined): boolean {
  return a?.blob === b?.blob && a?.mode === b?.mode
}

/** What merge-tree tells: the tree, the files in conflict, and notes about how it came to that. */
interface Report {
  readonly tree: TreeId
  readonly stages: readonly ReportedStages[]
  readonly notes: readonly Note[]
}

/** `place` is the path as the user knows it, without the ending that git makes up. */
type ReportedStages = ConflictStages & { readonly place: RelPath }

interface Note {
  readonly type: string
  readonly paths: readonly RelPath[]
}

// <tree> NUL (<mode> <id> <stage> TAB <path> NUL)* NUL (<count> NUL (<path> NUL)* <type> NUL <text> NUL)*
function parseReport(text: string, commits: SideCommits): Report {
  const fields = new Fields(text)
  const tree = fields.next()
  if (!/^[0-9a-f]{40}$/.test(tree)) throw storeDamaged('git merged into something that is no tree')
  const stages = parseStages(fields, commits)
  const notes: Note[] = []
  while (!fields.done) {
    const paths = Array.from({ length: Number(fields.next()) }, () => placeOf(fields.next(), commits).place)
    notes.push({ paths, type: fields.next() })
    fields.next() // git's sentence names commits that nobody knows; ours are made from the rest
  }
  return { tree: tree as TreeId, stages, notes }
}

function parseStages(fields: Fields, commits: SideCommits): readonly ReportedStages[] {
  const byPath = new Map<string, (Leaf | undefined)[]>()
  for (let line = fields.next(); line !== ''; line = fields.next()) {
    const match = /^([0-7]{6}) ([0-9a-f]{40}) ([123])\t([\s\S]+)$/.exec(line)
    if (match === null) throw storeDamaged('git reports a conflict in words we do not know')
    const [, mode, id, stage, path = ''] = match
    const leaves = byPath.get(path) ?? []
    leaves[Number(stage)] = { mode: mode as Leaf['mode'], blob: id as BlobId }
    byPath.set(path, leaves)
  }
  return Array.from(byPath, ([path, [, base, ours, theirs]]) => ({
    ...placeOf(path, commits),
    base,
    ours,
    theirs,
  }))
}

/** Git sets a file aside as `name~<commit>`, with `_0` behind it if that is taken, too. */
function placeOf(path: ByteString, commits: SideCommits) {
  const ending = /~([0-9a-f]{40})(_[0-9]+)?$/.exec(path)
  const madeUp = ending !== null && (ending[1] === commits.ours || ending[1] === commits.theirs)
  return { path: checkedPath(path), madeUp, place: checkedPath(madeUp ? path.slice(0, ending.index) : path) }
}

interface Group {
  readonly paths: Set<RelPath>
  readonly stages: ReportedStages[]
  readonly types: Set<string>
}

/** Puts together what belongs to one conflict: a path, the names it had, and what stands in its way. */
function groupsOf(
  report: Report,
  renames: readonly Rename[],
  leavesBelow: (folder: RelPath) => readonly RelPath[],
): readonly Group[] {
  const links = new PathLinks()
  for (const { place } of report.stages) links.join([place])
  const notes = report.notes.filter((note) => note.type.startsWith('CONFLICT'))
  for (const note of notes) {
    links.join(note.paths)
    if (note.type === fileFolder) for (const path of note.paths) links.join([path, ...leavesBelow(path)])
  }
  links.follow(renames)

  const groups = new Map<RelPath, Group>()
  for (const path of links.paths()) groupAt(groups, links.rootOf(path)).paths.add(path)
  for (const stages of report.stages) groupAt(groups, links.rootOf(stages.place)).stages.push(stages)
  for (const { type, paths } of notes)
    for (const path of paths) groupAt(groups, links.rootOf(path)).types.add(type)
  return [...groups.values()]
}

function groupAt(groups: Map<RelPath, Group>, root: RelPath): Group {
  const known = groups.get(root)
  if (known !== undefined) return known
  const group: Group = { paths: new Set(), stages: [], types: new Set() }
  groups.set(root, group)
  return group
}

/** Paths that belong together, however long the chain between them. */
class PathLinks {
  readonly #parents = new Map<RelPath, RelPath>()

  paths(): Iterable<RelPath> {
    return this.#parents.keys()
  }

  rootOf(path: RelPath): RelPath {
    const parent = this.#parents.get(path)
    return parent === undefined || parent === path ? path : this.rootOf(parent)
  }

  join(paths: readonly RelPath[]): void {
    for (const path of paths) if (!this.#parents.has(path)) this.#parents.set(path, path)
    const [first, ...others] = paths
    if (first === undefined) return
    for (const other of others) this.#parents.set(this.rootOf(other), this.rootOf(first))
  }

  /** Takes in the other end of every rename that begins or ends at a path in here, and of those that follow from it. */
  follow(renames: readonly Rename[]): void {
    let rest = renames
    for (;;) {
      const near = rest.filter(({ from, to }) => this.#parents.has(from) || this.#parents.has(to))
      if (near.length === 0) return
      for (const { from, to } of near) this.join([from, to])
      rest = rest.filter((rename) => !near.includes(rename))
    }
  }
}

function conflictOf(objects: Objects, group: Group, sides: Sides, merged: TreeId): TreeConflict {
  const kind = kindOf(group)
  const paths = [...group.paths].sort()
  const places = [...group.stages.map((stages) => stages.place), ...(kind === 'file-folder' ? [] : paths)]
  const ours = firstLeaf(objects, sides.ours, places)
  const theirs = firstLeaf(objects, sides.theirs, places)
  const base =
    group.stages.find((stages) => stages.base !== undefined)?.base ??
    firstLeaf(objects, sides.base, places)?.leaf
  const path = (kind === 'file-folder' ? places[0] : (ours?.path ?? theirs?.path)) ?? (paths[0] as RelPath)
  const stages = group.stages.map(({ place, ...rest }) => rest)
  const message = messageOf(kind, path, ours?.leaf, theirs?.leaf)
  const marked = kind === 'content' ? firstLeaf(objects, merged, places)?.leaf.blob : undefined
  return { path, kind, paths, base, ours: ours?.leaf, theirs: theirs?.leaf, message, marked, stages }
}

function changedAndGone(objects: Objects, path: RelPath, sides: Sides): TreeConflict {
  const base = findLeaf(objects, sides.base, path)
  const ours = findLeaf(objects, sides.ours, path)
  const theirs = findLeaf(objects, sides.theirs, path)
  const message = messageOf('modify-delete', path, ours, theirs)
  const stages = [{ path, madeUp: false, base, ours, theirs }]
  const kind = 'modify-delete'
  return { path, kind, paths: [path], base, ours, theirs, message, marked: undefined, stages }
}

function firstLeaf(objects: Objects, tree: TreeId, places: readonly RelPath[]) {
  for (const path of places) {
    const leaf = findLeaf(objects, tree, path)
    if (leaf !== undefined) return { path, leaf }
  }
  return undefined
}

const fileFolder = 'CONFLICT (file/directory)'

const kindsByType: readonly (readonly [string, ConflictKind])[] = [
  [fileFolder, 'file-folder'],
  ['CONFLICT (distinct modes)', 'type'],
  ['CONFLICT (rename/rename)', 'rename-rename'],
  ['CONFLICT (rename/delete)', 'rename-delete'],
  ['CONFLICT (modify/delete)', 'modify-delete'],
  ['CONFLICT (binary)', 'binary'],
]

function kindOf(group: Group): ConflictKind {
  const named = kindsByType.find(([type]) => group.types.has(type))
  if (named !== undefined) return named[1]
  if (!group.types.has('CONFLICT (contents)')) return 'other'
  if (group.stages.some((stages) => stages.base !== undefined)) return 'content'
  return group.stages.every(({ ours, theirs }) => ours?.blob === theirs?.blob) ? 'mode' : 'add-add'
}

function messageOf(
  kind: ConflictKind,
  path: RelPath,
  ours: Leaf | undefined,
  theirs: Leaf | undefined,
): string {
  const name = shown(path)
  if (kind === 'content' && ours?.mode === '120000' && theirs?.mode === '120000') {
    return `Both sides point the link ${name} somewhere else.`
  }
  switch (kind) {
    case 'content':
      return `Both sides changed the same lines of ${name}, or lines next to each other.`
    case 'binary':
      return `Both sides changed ${name}, and it is not a text file, so the changes cannot be combined.`
    case 'add-add':
      return `Both sides added ${name}, with different content.`
    case 'mode':
      return `Both sides added ${name}, and only one of them is executable.`
    case 'type':
      return `${name} is a file on one side and a link on the other.`
    case 'file-folder':
      return `${name} is a file on one side and a folder on the other.`
    case 'rename-rename':
      return `Both sides renamed the same file, one of them to ${name}, the other to another name.`
    case 'rename-delete':
      return ours === undefined
        ? `${name} is gone in the current version, and was renamed on the other side.`
        : `${name} was renamed in the current version, and is gone on the other side.`
    case 'modify-delete':
      return ours === undefined
        ? `${name} is gone in the current version, and was changed on the other side.`
        : `${name} was changed in the current version, and is gone on the other side.`
    case 'other':
      return `The changes of both sides to ${name} cannot be combined.`
  }
}

/** The file with our words instead of git's commit ids behind the markers; `undefined` if it has no markers. */
function relabelled(bytes: Buffer, commits: SideCommits, labels: MarkerLabels): Buffer | undefined {
  const text = bytes.toString('latin1')
  if (!text.includes(`<<<<<<< ${commits.ours}`)) return undefined
  const begin = withLabel(text, '<', commits.ours, labels.ours)
  return Buffer.from(withLabel(begin, '>', commits.theirs, labels.theirs), 'latin1')
}

function withLabel(text: string, sign: '<' | '>', commit: CommitId, label: string): string {
  const words = Buffer.from(label.replace(/[\r\n]+/g, ' '), 'utf8').toString('latin1')
  const marker = new RegExp(`(^|\\n)(${sign}{7,}) ${commit}(?::[^\\n]*?)?(?=\\r?\\n|$)`, 'g')
  return text.replace(marker, (_, start: string, signs: string) => `${start}${signs} ${words}`)
}

function scratchName(): string {
  return `merge-${process.pid}-${randomBytes(6).toString('hex')}`
}

/** Removes what killed processes have left behind. Merges run under the lock: whoever holds it knows that no other does. */
export function removeScratches(fs: Fs, folder: AbsPath, _lock: Exclusive): void {
  for (const name of fs.readFolder(folder)) {
    if (!/^merge-[0-9]+-[0-9a-f]{12}$/.test(name)) continue
    try {
      removeScratch(fs, joinAbs(folder, name))
    } catch (error) {
      if (errorCode(error) === undefined) throw error // a git of the killed process still writes: next time
    }
  }
}

/** A scratch is ours alone and holds nothing but objects; links in it are removed, never followed. */
function removeScratch(fs: Fs, folder: AbsPath): void {
  for (const name of fs.readFolder(folder)) {
    const path = joinAbs(folder, name)
    if (fs.lstat(path)?.kind === 'folder') removeScratch(fs, path)
    else fs.unlink(path)
  }
  fs.removeFolder(folder)
}
