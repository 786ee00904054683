/** What is pending, file by file: hunks of text, and files that came, went, moved or changed their kind as a whole. */

import { createHash } from 'node:crypto'
import type { Engine } from '../history/engine.ts'
import { optional } from '../log/record.ts'
import type { Entry, KnownHunk, PendingPath, Proposal, ReviewState } from '../log/review-record.ts'
import type { RelPath, TurnId } from '../values.ts'
import { type Contents, sameEntry } from './contents.ts'
import { entryAt, type Folded } from './fold.ts'
import { identify, textHunks } from './hunks.ts'
import { layersOf } from './layers.ts'
import { diffLines, type Edit } from './lines.ts'
import { originsOf } from './origins.ts'
import { oldNames } from './renames.ts'

export type HunkKind = 'text' | 'create' | 'delete' | 'rename' | 'mode' | 'binary' | 'link' | 'type'

/** One block that can be accepted or rejected alone. */
export interface Hunk {
  readonly id: string
  readonly kind: HunkKind
  readonly path: RelPath
  /** For a rename: the name it had. */
  readonly from?: RelPath
  /** The user has edited inside it. */
  readonly contested: boolean
  /** Whose it is; usually one. */
  readonly turns: readonly TurnId[]
  readonly additions: number
  readonly deletions: number
  /** For text: which lines. */
  readonly edit?: Edit
  /** Not on disk: the proposal that it is part of. */
  readonly proposal?: string
  readonly group?: string
}

/** A file with pending hunks. */
export interface PendingFile {
  readonly path: RelPath
  /** The name under which it was accepted, when the agent has renamed it. */
  readonly from?: RelPath
  readonly baseline: Entry
  readonly current: Entry
  /** What it would be without the user's edits that overlap the agent's; only where there are such. */
  readonly undisputed?: { readonly entry: Entry }
  readonly hunks: readonly Hunk[]
  /** The lines of both sides, for text; of a link, where it leads. */
  readonly old?: readonly string[]
  readonly fresh?: readonly string[]
  /** Set: nothing of this is on disk, and `current` is what it would be with the proposal. */
  readonly proposal?: Proposal
}

export interface Pending {
  readonly files: readonly PendingFile[]
  /** The state, with the numbers given to hunks of the same text. */
  readonly state: ReviewState
}

export function pendingOf(engine: Engine, folded: Folded): Pending {
  const known = new Map<RelPath, readonly KnownHunk[]>()
  const files: PendingFile[] = []
  for (const { path, from, ...sides } of pairs(engine, folded)) {
    const file = fileOf(engine, folded, path, from, sides)
    files.push(file.file)
    if (file.known.length > 0) known.set(path, file.known)
  }
  for (const layer of layersOf(engine.objects, folded)) files.push(proposedFile(folded.contents, layer))
  files.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
  return { files, state: { ...folded.state, known } }
}

interface Sides {
  readonly baseline: Entry
  readonly current: Entry
  readonly undisputed?: { readonly entry: Entry }
}

interface Pair extends Sides {
  readonly path: RelPath
  readonly from?: RelPath
}

function pairs(engine: Engine, { state, files }: Folded): readonly Pair[] {
  const now = (path: RelPath) => entryAt(engine.objects, files, path)
  const names = oldNames(state.pending, now)
  const sources = new Set(names.values())
  const pairs: Pair[] = []
  for (const [path, pending] of state.pending) {
    if (sources.has(path)) continue
    const from = names.get(path)
    const isApart = from === undefined && pending.from !== undefined && pending.baseline === undefined
    pairs.push({
      path,
      ...optional('from', from),
      baseline: from === undefined ? pending.baseline : state.pending.get(from)?.baseline,
      current: now(path),
      ...optional('undisputed', disputedSince(isApart ? pending.alone : pending.undisputed, now(path))),
    })
  }
  return pairs
}

function disputedSince(own: PendingPath['undisputed'], current: Entry): PendingPath['undisputed'] {
  return own === undefined || sameEntry(own.entry, current) ? undefined : own
}

function fileOf(
  engine: Engine,
  folded: Folded,
  path: RelPath,
  from: RelPath | undefined,
  sides: Sides,
): { readonly file: PendingFile; readonly known: readonly KnownHunk[] } {
  const { contents, session, state } = folded
  const origins = originsOf(engine, contents, session, path)
  const text = textSides(contents, sides)
  const whole = wholeHunks(contents, path, from, sides, text !== undefined).map((hunk) => ({
    ...hunk,
    turns: origins.of(hunk.kind),
  }))
  const file = { path, ...optional('from', from), ...sides }
  if (text === undefined)
    return { file: { ...file, hunks: whole, ...shownSides(contents, sides) }, known: [] }
  const { old, fresh } = text
  const found = textHunks(old, fresh, path)
  const { ids, known } = identify(found, old, fresh, state.known.get(path) ?? [])
  const disputed = disputedLines(contents, sides, fresh)
  const hunks = found.map(
    ({ edit, removed, added }, at): Hunk => ({
      id: ids[at] ?? '',
      kind: 'text',
      path,
      contested: disputed.some((other) => touches(edit, other)),
      turns: origins.between(edit.from, edit.to),
      additions: added.length,
      deletions: removed.length,
      edit,
    }),
  )
  return { file: { ...file, hunks: [...whole, ...hunks], old, fresh }, known }
}

/** Both sides as lines, where both are text: only then there are hunks inside. */
function textSides(
  contents: Contents,
  { baseline, current }: Sides,
): { readonly old: readonly string[]; readonly fresh: readonly string[] } | undefined {
  if (baseline?.kind !== 'file' || current?.kind !== 'file') return undefined
  const [old, fresh] = [contents.lines(baseline), contents.lines(current)]
  return old === undefined || fresh === undefined ? undefined : { old, fresh }
}

/** What there is to see of a file that came, went or became something else. */
function shownSides(
  contents: Contents,
  { baseline, current }: Sides,
): { readonly old?: readonly string[]; readonly fresh?: readonly string[] } {
  const shown = (entry: Entry) =>
    entry?.kind === 'link' ? [contents.read(entry.blob).toString('latin1')] : contents.lines(entry)
  return { ...optional('old', shown(baseline)), ...optional('fresh', shown(current)) }
}

/** What is pending about the file as a whole. */
function wholeHunks(
  contents: Contents,
  path: RelPath,
  from: RelPath | undefined,
  { baseline, current, undisputed }: Sides,
  isText: boolean,
): readonly Omit<Hunk, 'turns'>[] {
  const contested = undisputed !== undefined
  const make = (kind: HunkKind, wasContested = contested): Omit<Hunk, 'turns'> => ({
    id: wholeId(path, from, kind, baseline, current),
    kind,
    path,
    ...optional('from', kind === 'rename' ? from : undefined),
    contested: wasContested,
    additions: kind === 'create' ? countLines(contents, current) : 0,
    deletions: kind === 'delete' ? countLines(contents, baseline) : 0,
  })
  const hunks = from === undefined ? [] : [make('rename', false)]
  if (baseline === undefined) return [...hunks, make('create')]
  if (current === undefined) return [...hunks, make('delete')]
  if (baseline.kind !== current.kind) return [...hunks, make('type')]
  if (baseline.kind === 'link' || current.kind === 'link')
    return baseline.blob === current.blob ? hunks : [...hunks, make('link')]
  const isOurs = undisputed === undefined || permOf(undisputed.entry) === current.perm
  if (baseline.perm !== current.perm) hunks.push(make('mode', !isOurs))
  if (!isText && baseline.blob !== current.blob) hunks.push(make('binary'))
  return hunks
}

function countLines(contents: Contents, entry: Entry): number {
  return contents.lines(entry)?.length ?? 0
}

function wholeId(
  path: RelPath,
  from: RelPath | undefined,
  kind: HunkKind,
  baseline: Entry,
  current: Entry,
): string {
  const sides =
    kind === 'rename' ? [from] : kind === 'mode' ? [permOf(baseline), permOf(current)] : [baseline, current]
  return createHash('sha256')
    .update(JSON.stringify([path, kind, sides]))
    .digest('hex')
    .slice(0, 16)
}

function permOf(entry: Entry): number | undefined {
  return entry?.kind === 'file' ? entry.perm : undefined
}

/** Where the user's edits stand that overlap the agent's, in the lines of the file as it is. */
function disputedLines(contents: Contents, { undisputed }: Sides, fresh: readonly string[]): readonly Edit[] {
  if (undisputed === undefined) return []
  return diffLines(contents.lines(undisputed.entry) ?? [], fresh)
}

function touches(hunk: Edit, other: Edit): boolean {
  return other.from <= hunk.to && hunk.from <= other.to
}

// ---- proposals -----------------------------------------------------------------------------------------------------

function proposedFile(contents: Contents, layer: ReturnType<typeof layersOf>[number]): PendingFile {
  const { proposal, before, after, contested } = layer
  const { path, turn, group, id } = proposal
  const sides: Sides = { baseline: before, current: after }
  const text = textSides(contents, sides)
  const common = { turns: [turn], contested, proposal: id, ...optional('group', group) }
  const named = (name: string) => createHash('sha256').update(`${id} ${name}`).digest('hex').slice(0, 16)
  const whole = wholeHunks(contents, path, undefined, sides, text !== undefined).map((hunk) => ({
    ...hunk,
    ...common,
    id: named(hunk.id),
  }))
  const file = { path, ...sides, proposal }
  if (text === undefined) return { ...file, hunks: whole, ...shownSides(contents, sides) }
  const { old, fresh } = text
  const found = textHunks(old, fresh, path)
  const { ids } = identify(found, old, fresh, [])
  const hunks = found.map(
    ({ edit, removed, added }, at): Hunk => ({
      ...common,
      id: named(ids[at] ?? ''),
      kind: 'text',
      path,
      additions: added.length,
      deletions: removed.length,
      edit,
    }),
  )
  return { ...file, hunks: [...whole, ...hunks], old, fresh }
}

/** How many hunks are pending, without a look at the files and at who made them: as of the last operation. */
export function countPending(engine: Engine, folded: Folded): number {
  const layers = layersOf(engine.objects, folded).map(({ proposal: { path }, before, after }) => ({
    path,
    baseline: before,
    current: after,
  }))
  const all: readonly Pair[] = [...pairs(engine, folded), ...layers]
  return all.reduce((count, { path, from, ...sides }) => {
    const text = textSides(folded.contents, sides)
    const inside = text === undefined ? 0 : diffLines(text.old, text.fresh).length
    return count + inside + wholeHunks(folded.contents, path, from, sides, text !== undefined).length
  }, 0)
}
