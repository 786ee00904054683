/** What changed between two trees, in git's own words: kinds, renames, line counts, patches. */

import { randomBytes } from 'node:crypto'
import { isFailure, shown, UnturnError } from '../errors.ts'
import {
  type BlobId,
  type ByteString,
  type ChangeKind,
  flawOfRelPath,
  type RelPath,
  relPathUnchecked,
  type TreeId,
} from '../values.ts'
import { storeDamaged } from './damage.ts'
import type { Coprocess, Git, GitRunOptions } from './git.ts'
import type { Leaf } from './trees.ts'

// Whatever git's defaults may become: no program, no attribute and no colour has a say in a diff of ours.
const diffOptions = ['-M50%', '--no-ext-diff', '--no-textconv', '--no-color', '--diff-algorithm=myers']

export interface PathChange {
  readonly path: RelPath
  readonly kind: ChangeKind
  /** Where it was before, for a rename. */
  readonly from?: RelPath
  readonly additions: number
  readonly deletions: number
  readonly binary: boolean
  readonly before?: Leaf
  readonly after?: Leaf
}

/** Describes many pairs of trees with one git that stays. */
export class Describer implements AsyncDisposable {
  readonly #diff: Coprocess
  // git gives back a line that is no object id, and flushes: that is how we know that an answer is complete.
  // Random, because a file name may contain whatever somebody can guess.
  readonly #end = `unturn ${randomBytes(16).toString('hex')}\n`

  constructor(git: Git) {
    this.#diff = git.coprocess(['diff-tree', '--stdin', '-r', '-z', '--raw', '--numstat', ...diffOptions])
  }

  /** Every path that differs, in git's order. Renames are those that git sees (half of the content or more). */
  async describe(before: TreeId, after: TreeId): Promise<readonly PathChange[]> {
    if (before === after) return []
    const answer = (await this.#ask(before, after)) ?? (await this.#askAgain(before, after))
    if (answer === undefined) throw treesMissing(before, after)
    return parseChanges(answer.toString('latin1'))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#diff[Symbol.asyncDispose]()
  }

  // A git that has run for long may hold on to packs that were replaced meanwhile. A new one knows better.
  #askAgain(before: TreeId, after: TreeId): Promise<Buffer | undefined> {
    this.#diff.stop()
    return this.#ask(before, after)
  }

  /** `undefined` where git does not know the trees: it passes over them without a word then. */
  async #ask(before: TreeId, after: TreeId): Promise<Buffer | undefined> {
    const heading = `${before} ${after}\n`
    const answer = await this.#exchange(`${heading}${this.#end}`)
    if (answer.toString('latin1', 0, heading.length) !== heading) return undefined
    return answer.subarray(heading.length)
  }

  async #exchange(request: string): Promise<Buffer> {
    try {
      return await this.#diff.exchange(request, this.#end)
    } catch (error) {
      if (!isFailure(error, 'git-failed')) throw error
      return await this.#diff.exchange(request, this.#end) // it was killed, or an object came too late: once more
    }
  }
}

export interface PatchOptions {
  readonly paths?: readonly RelPath[]
  readonly context?: number
  readonly stat?: boolean
  /** Lines that differ in their spaces alone count as the same. For looking: it cannot be applied. */
  readonly ignoreWhitespace?: boolean
}

/**
 * A unified diff for people and for `git apply`; with `stat`, a table of how much changed. With `paths`, only
 * what touches one of them, also as the old name of a rename.
 */
export async function patch(
  git: Git,
  before: TreeId,
  after: TreeId,
  options: PatchOptions = {},
  places: ReadOptions = {},
): Promise<Buffer> {
  if (before === after || options.paths?.length === 0) return Buffer.alloc(0)
  const trees = [...diffOptions, before, after]
  const spaces = options.ignoreWhitespace === true ? ['--ignore-all-space'] : []
  const asPatch = ['diff-tree', '-r', '--patch', `--unified=${options.context ?? 3}`, ...spaces, ...trees]
  const asTable = ['diff-tree', '-r', '--stat=100', ...trees]
  if (options.paths === undefined)
    return (await git.run(options.stat === true ? asTable : asPatch, places)).stdout

  const touched = await rawChanges(git, before, after, places)
  const chosen = sectionsOf((await git.run(asPatch, places)).stdout, touched, new Set(options.paths))
  if (options.stat !== true || chosen.length === 0) return chosen
  return (await git.run(['apply', '--stat'], { input: chosen })).stdout
}

/** The renames git sees from one tree to the other: old path, new path. */
export async function findRenames(
  git: Git,
  from: TreeId,
  to: TreeId,
  options: ReadOptions = {},
): Promise<readonly Rename[]> {
  const renames: Rename[] = []
  for (const raw of await rawChanges(git, from, to, options)) {
    if (raw.from !== undefined) renames.push({ from: raw.from, to: raw.path })
  }
  return renames
}

export interface Rename {
  readonly from: RelPath
  readonly to: RelPath
}

export type ReadOptions = Pick<GitRunOptions, 'objectDirectory' | 'alternates'>

async function rawChanges(
  git: Git,
  before: TreeId,
  after: TreeId,
  options: ReadOptions = {},
): Promise<readonly RawChange[]> {
  const run = await git.run(['diff-tree', '-r', '-z', '--raw', ...diffOptions, before, after], options)
  return parseRaw(new Fields(run.stdout.toString('latin1')))
}

/**
 * The sections of a patch that belong to chosen paths. They stand in the order of the raw changes, and we go
 * by that: names in a patch are quoted, and pathspecs would neither take names that are not UTF-8 nor see
 * where a renamed file came from.
 */
function sectionsOf(whole: Buffer, touched: readonly RawChange[], chosen: ReadonlySet<RelPath>): Buffer {
  const sections = whole.toString('latin1').split(/^(?=diff --git )/m)
  const kept: string[] = []
  let next = 0
  for (const raw of touched) {
    const count = raw.status === 'T' ? 2 : 1 // another type is shown as a deletion and an addition
    if (chosen.has(raw.path) || (raw.from !== undefined && chosen.has(raw.from)))
      kept.push(...sections.slice(next, next + count))
    next += count
  }
  if (next !== sections.length) throw storeDamaged('the changes and the patch of two trees do not match')
  return Buffer.from(kept.join(''), 'latin1')
}

interface RawChange {
  readonly status: string
  readonly path: RelPath
  readonly from?: RelPath
  readonly before?: Leaf
  readonly after?: Leaf
}

/** Raw changes first, then the line counts of the same paths in the same order. */
function parseChanges(answer: string): readonly PathChange[] {
  const fields = new Fields(answer)
  return parseRaw(fields).map((raw) => changeOf(raw, nextCounts(fields, raw)))
}

function changeOf(raw: RawChange, counts: Counts): PathChange {
  const { status, ...rest } = raw
  return { ...rest, kind: kindOf(raw), ...counts }
}

function kindOf(raw: RawChange): ChangeKind {
  if (raw.before === undefined) return 'add'
  if (raw.after === undefined) return 'delete'
  if (raw.from !== undefined) return 'rename'
  if (raw.status === 'T') return 'type'
  return raw.before.blob === raw.after.blob ? 'mode' : 'modify'
}

// `:100644 100755 <id> <id> M` NUL path NUL, and for a rename one more path: old, then new.
function parseRaw(fields: Fields): readonly RawChange[] {
  const changes: RawChange[] = []
  while (fields.peek().startsWith(':')) {
    const [oldMode, newMode, oldBlob, newBlob, status] = fields.next().slice(1).split(' ')
    const before = leafOf(oldMode, oldBlob)
    const after = leafOf(newMode, newBlob)
    const first = checkedPath(fields.next())
    const renamed = status?.startsWith('R') ?? false
    const names = renamed ? { from: first, path: checkedPath(fields.next()) } : { path: first }
    changes.push({
      status: status?.charAt(0) ?? '',
      ...names,
      ...(before === undefined ? {} : { before }),
      ...(after === undefined ? {} : { after }),
    })
  }
  return changes
}

interface Counts {
  readonly additions: number
  readonly deletions: number
  readonly binary: boolean
}

// `3 TAB 1 TAB path` NUL; binary: `- TAB - TAB path` NUL; renamed: `3 TAB 1 TAB` NUL old NUL new NUL.
function nextCounts(fields: Fields, raw: RawChange): Counts {
  const [additions = '', deletions = ''] = fields.next().split('\t', 2)
  if (raw.from !== undefined) {
    fields.next()
    fields.next()
  }
  if (additions === '-') return { additions: 0, deletions: 0, binary: true }
  return { additions: Number(additions), deletions: Number(deletions), binary: false }
}

function leafOf(mode: string | undefined, blob: string | undefined): Leaf | undefined {
  if (mode === '000000') return undefined
  if (blob !== undefined && (mode === '100644' || mode === '100755' || mode === '120000'))
    return { mode, blob: blob as BlobId }
  throw storeDamaged(`a tree holds an entry of mode ${mode}, which Unturn never writes`)
}

/** NUL-terminated fields, one after the other. */
export class Fields {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  get done(): boolean {
    return this.#at >= this.#text.length
  }

  /** The next field without taking it; '' at the end. */
  peek(): string {
    return this.#text.slice(this.#at, this.#endOfField())
  }

  next(): string {
    if (this.done) throw storeDamaged('git said less than it should have')
    const end = this.#endOfField()
    const field = this.#text.slice(this.#at, end)
    this.#at = end + 1
    return field
  }

  #endOfField(): number {
    const end = this.#text.indexOf('\0', this.#at)
    return end < 0 ? this.#text.length : end
  }
}

/** A path out of a tree. Git keeps an entry called `..` without complaint; we do not take it over (M2). */
export function checkedPath(bytes: ByteString): RelPath {
  const flaw = flawOfRelPath(bytes)
  if (flaw === undefined) return relPathUnchecked(bytes)
  throw new UnturnError(
    'bad-path',
    { path: bytes, flaw },
    {
      message: `The store names a path that Unturn does not touch, ${shown(bytes)}: ${flaw}. Nothing was changed.`,
      hint: 'Run "unturn doctor": a store that was not written by Unturn, or was damaged, can contain such names.',
    },
  )
}

function treesMissing(before: TreeId, after: TreeId): UnturnError {
  return storeDamaged(`git does not find the trees ${before} and ${after}`, after)
}
