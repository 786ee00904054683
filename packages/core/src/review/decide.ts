/** What accepting or rejecting some hunks makes of one file. Pure: reads contents, writes nothing. */

import { shown } from '../errors.ts'
import type { Conflict, LaterAuthor } from '../history/outcome.ts'
import { optional } from '../log/record.ts'
import type { Entry, Proposal } from '../log/review-record.ts'
import type { RelPath } from '../values.ts'
import { type Contents, mergeEntries } from './contents.ts'
import { diffLines, type Edit } from './lines.ts'
import type { Hunk, PendingFile } from './pending.ts'
import { mergeLines, type Overlap, withMarkers } from './text-merge.ts'

/** A hunk that was chosen, or a part of it. */
export interface Chosen {
  readonly hunk: Hunk
  /** The lines that stand in its place afterwards: in the baseline when it is accepted, in the file when rejected. */
  readonly part?: readonly string[]
  /** The same for a hunk that is about the file as a whole. */
  readonly whole?: { readonly entry: Entry }
}

export type OnContest = 'abort' | 'keep' | 'overwrite' | 'markers'

/** What is to become of files into which somebody has edited: of all of them, and of single ones. */
export interface ContestWish {
  readonly onConflict?: OnContest
  /** Single files with a choice of their own; one that is left at `abort` stops everything. */
  readonly choices?: ReadonlyMap<RelPath, OnContest>
}

export function contestChoice({ onConflict = 'abort', choices }: ContestWish, path: RelPath): OnContest {
  return choices?.get(path) ?? onConflict
}

/** The baseline of a file with these hunks in it; its name there is `from` unless the rename is accepted. */
export interface AcceptedFile {
  readonly entry: Entry
  readonly rename: boolean
}

export function acceptIn(contents: Contents, file: PendingFile, chosen: readonly Chosen[]): AcceptedFile {
  const entry = moved(contents, file.baseline, file.current, chosen, () =>
    joined(file, (edit) => {
      const choice = chosen.find(({ hunk }) => hunk.edit === edit)
      if (choice === undefined) return file.old?.slice(edit.start, edit.end) ?? []
      return choice.part ?? file.fresh?.slice(edit.from, edit.to) ?? []
    }),
  )
  return { entry, rename: chosen.some(({ hunk }) => hunk.kind === 'rename') }
}

export interface RejectedFile {
  readonly entry: Entry
  /** The agent's version without what was rejected; only where the user's edits overlap it. */
  readonly undisputed?: { readonly entry: Entry }
  readonly rename: boolean
  readonly conflicts: readonly Conflict[]
  /** What counts as accepted from now on; only where somebody has made one text of both sides. */
  readonly baseline?: { readonly entry: Entry }
}

/** The file without these hunks. What the user wrote into them is kept, or it is a conflict. */
export function rejectIn(
  contents: Contents,
  file: PendingFile,
  chosen: readonly Chosen[],
  onContest: OnContest | { readonly content: Uint8Array },
): RejectedFile {
  const contested = chosen.filter(({ hunk }) => hunk.contested)
  const rename = chosen.some(({ hunk }) => hunk.kind === 'rename')
  if (file.undisputed === undefined || contested.length === 0) {
    const entry = withoutHunks(contents, file, chosen)
    return { entry, ...stillDisputed(contents, file, entry), rename, conflicts: [] }
  }
  const isNamed = contested.some(({ part }) => part !== undefined)
  const merged = isNamed
    ? withoutLines(contents, file, chosen, file.undisputed.entry)
    : keepingUser(contents, file, chosen, file.undisputed.entry)
  if (merged.conflicts.length === 0) return { ...merged, rename }
  if (typeof onContest === 'object') return resolved(onContest.content)
  switch (onContest) {
    case 'abort':
      return { entry: file.current, undisputed: file.undisputed, rename: false, conflicts: merged.conflicts }
    case 'overwrite':
      return left(withoutHunks(contents, file, chosen))
    case 'markers':
      return left(merged.marked ?? file.current)
    case 'keep': {
      const others = chosen.filter(({ hunk }) => !hunk.contested)
      return { ...rejectIn(contents, file, others, onContest), conflicts: merged.conflicts }
    }
  }

  // Other hunks of the file, into which the user has typed as well, stay what they were.
  function left(entry: Entry): RejectedFile {
    return { entry, ...stillDisputed(contents, file, entry), rename, conflicts: merged.conflicts }
  }

  // What somebody wrote in place of the hunks is his own edit: it is accepted, and only other hunks stay pending.
  function resolved(content: Uint8Array): RejectedFile {
    const perm = permOf(file.current) ?? permOf(file.baseline) ?? 0o644
    const entry: Entry = { kind: 'file', perm, blob: contents.keep(Buffer.from(content)) }
    const without = withoutHunks(contents, file, chosen)
    const baseline = { entry: mergeEntries(contents, without, file.baseline, entry, 'theirs').entry }
    return { entry, ...stillDisputed(contents, file, entry), baseline, rename, conflicts: [] }
  }
}

function withoutHunks(contents: Contents, file: PendingFile, chosen: readonly Chosen[]): Entry {
  return moved(contents, file.current, file.baseline, chosen, () =>
    joined(file, (edit) => {
      const choice = chosen.find(({ hunk }) => hunk.edit === edit)
      if (choice === undefined) return file.fresh?.slice(edit.from, edit.to) ?? []
      return choice.part ?? file.old?.slice(edit.start, edit.end) ?? []
    }),
  )
}

/** `here`, with what the chosen hunks say taken from `there`. */
function moved(
  contents: Contents,
  here: Entry,
  there: Entry,
  chosen: readonly Chosen[],
  text: () => readonly string[],
): Entry {
  const all = chosen.find(({ hunk }) => isWhole(hunk))
  if (all !== undefined) return all.whole === undefined ? there : all.whole.entry
  if (here?.kind !== 'file' || there?.kind !== 'file') return here
  const perm = chosen.some(({ hunk }) => hunk.kind === 'mode') ? there.perm : here.perm
  const binary = chosen.find(({ hunk }) => hunk.kind === 'binary')
  const blob = binary
    ? (binary.whole?.entry?.blob ?? there.blob)
    : chosen.some(({ hunk }) => hunk.kind === 'text')
      ? contents.keepLines(text())
      : here.blob
  return { kind: 'file', perm, blob }
}

function isWhole({ kind }: Hunk): boolean {
  return kind === 'create' || kind === 'delete' || kind === 'link' || kind === 'type'
}

/** The whole text, with every edit as `choose` says. */
function joined(file: PendingFile, choose: (edit: Edit) => readonly string[]): readonly string[] {
  const { old = [] } = file
  const lines: string[] = []
  let at = 0
  for (const { edit } of file.hunks) {
    if (edit === undefined) continue
    lines.push(...old.slice(at, edit.start), ...choose(edit))
    at = edit.end
  }
  return [...lines, ...old.slice(at)]
}

// ---- where the user has edited inside -------------------------------------------------------------------------------

interface KeepingUser {
  readonly entry: Entry
  readonly undisputed?: { readonly entry: Entry }
  readonly marked?: Entry
  readonly conflicts: readonly Conflict[]
}

/** `merge(base = the agent's version, ours = the file, theirs = the agent's version without the hunks)`. */
function keepingUser(
  contents: Contents,
  file: PendingFile,
  chosen: readonly Chosen[],
  agents: Entry,
): KeepingUser {
  const theirs = agentsWithout(contents, file, chosen, agents)
  const lines = [agents, file.current, theirs].map((entry) => contents.lines(entry))
  const [base, ours, back] = lines
  if (base === undefined || ours === undefined || back === undefined || file.current?.kind !== 'file') {
    const { entry, overlaps } = mergeEntries(contents, agents, file.current, theirs)
    if (!overlaps) return { entry, undisputed: { entry: theirs }, conflicts: [] }
    return { entry: file.current, conflicts: [conflictOf(contents, file, file.current, theirs)] }
  }
  const merged = mergeLines(base, ours, back, 'ours')
  const modes = chosen.filter(({ hunk }) => hunk.kind === 'mode')
  const perm = modes.length > 0 ? permOf(file.baseline) : undefined
  const asFile = (text: readonly string[], was: { readonly perm: number }): Entry => ({
    kind: 'file',
    perm: perm ?? was.perm,
    blob: contents.keepLines(text),
  })
  const entry = asFile(merged.lines, file.current)
  const versions = { base: wholeText(base), ours: wholeText(ours), theirs: wholeText(back) }
  const overlaps =
    merged.conflicts.length > 0 ? [{ ...overlapConflict(file.path, merged.conflicts), versions }] : []
  const conflicts = modes.some(({ hunk }) => hunk.contested) ? [...overlaps, modeConflict(file)] : overlaps
  if (conflicts.length === 0) return { entry, undisputed: { entry: theirs }, conflicts }
  return { entry, marked: asFile(withMarkers(merged), file.current), conflicts }
}

// Whoever names lines has seen them. Still, lines of the user's own are not among those that are rejected.
function withoutLines(
  contents: Contents,
  file: PendingFile,
  chosen: readonly Chosen[],
  agents: Entry,
): KeepingUser {
  const entry = withoutHunks(contents, file, chosen)
  const { fresh = [] } = file
  const users = diffLines(contents.lines(agents) ?? [], fresh)
  const gone = diffLines(fresh, contents.lines(entry) ?? [])
  const isLost = users.some((own) => gone.some(({ start, end }) => start < own.to && own.from < end))
  if (!isLost) return { entry, ...stillDisputed(contents, file, entry), conflicts: [] }
  return { entry: file.current, conflicts: [conflictOf(contents, file, file.current, entry)] }
}

function permOf(entry: Entry): number | undefined {
  return entry?.kind === 'file' ? entry.perm : undefined
}

/** The agent's version with those of its edits put back that lie in the chosen hunks. */
function agentsWithout(
  contents: Contents,
  file: PendingFile,
  chosen: readonly Chosen[],
  agents: Entry,
): Entry {
  if (chosen.some(({ hunk }) => isWhole(hunk))) return file.baseline
  const [old, theirs] = [contents.lines(file.baseline), contents.lines(agents)]
  if (old === undefined || theirs === undefined || agents?.kind !== 'file') return file.baseline
  const ranges = chosen.flatMap(({ hunk }) => hunk.edit ?? [])
  const lines: string[] = []
  let at = 0
  for (const edit of diffLines(old, theirs)) {
    const isChosen = ranges.some((range) => edit.start <= range.end && range.start <= edit.end)
    lines.push(
      ...old.slice(at, edit.start),
      ...(isChosen ? old.slice(edit.start, edit.end) : theirs.slice(edit.from, edit.to)),
    )
    at = edit.end
  }
  return { ...agents, blob: contents.keepLines([...lines, ...old.slice(at)]) }
}

// Rejecting something else in the file leaves what is disputed as it was.
function stillDisputed(
  contents: Contents,
  file: PendingFile,
  entry: Entry,
): Pick<RejectedFile, 'undisputed'> {
  if (file.undisputed === undefined) return {}
  const moved = mergeEntries(contents, file.current, file.undisputed.entry, entry).entry
  return optional('undisputed', { entry: moved })
}

const you: LaterAuthor = { actor: 'user' }

function overlapConflict(path: RelPath, overlaps: readonly Overlap[]): Conflict {
  return contest(path, 'content', overlapText(overlaps, 'ours'), overlapText(overlaps, 'theirs'))
}

// The lines between two overlaps are left out, and the sign for that is text, not bytes.
function overlapText(overlaps: readonly Overlap[], side: 'ours' | 'theirs'): string {
  return overlaps.map((overlap) => Buffer.from(overlap[side].join(''), 'latin1').toString('utf8')).join('…\n')
}

function wholeText(lines: readonly string[]): string {
  return Buffer.from(lines.join(''), 'latin1').toString('utf8')
}

function conflictOf(contents: Contents, { path }: PendingFile, ours: Entry, theirs: Entry): Conflict {
  const isText = contents.lines(ours) !== undefined && contents.lines(theirs) !== undefined
  const kind = ours === undefined || theirs === undefined ? 'modify-delete' : isText ? 'content' : 'binary'
  return contest(path, kind, sideText(contents, ours), sideText(contents, theirs))
}

function modeConflict({ path, current, baseline }: PendingFile): Conflict {
  const bits = (entry: Entry) => permOf(entry)?.toString(8) ?? null
  const message = `You have changed the permission bits of ${shown(path)} since, and rejecting the change would take that with it.`
  return { ...contest(path, 'mode', bits(current), bits(baseline)), message }
}

/** A file cannot stand where there is a folder, nor below another file. */
export function inTheWay(path: RelPath, other: RelPath): Conflict {
  const message = `${shown(path)} cannot be there as long as ${shown(other)} is.`
  return { path, kind: 'file-folder', ours: null, theirs: null, message, later: [] }
}

const mostText = 2_000

function sideText(contents: Contents, entry: Entry): string | null {
  if (entry === undefined) return null
  const lines = contents.lines(entry)
  if (lines === undefined) return entry.kind === 'link' ? 'a symbolic link' : 'binary'
  const text = Buffer.from(lines.join(''), 'latin1').toString('utf8')
  return text.length > mostText ? `${text.slice(0, mostText)}…` : text
}

function contest(
  path: RelPath,
  kind: Conflict['kind'],
  ours: string | null,
  theirs: string | null,
): Conflict {
  const message = `You have edited ${shown(path)} inside the hunk, and rejecting it would take your text with it.`
  return { path, kind, ours, theirs, message, later: [you] }
}

/** A proposal that somebody's newer edits overlap. */
export function proposalConflict(
  contents: Contents,
  { path, base, content }: Proposal,
  now: Entry,
): Conflict {
  const message = `${shown(path)} was edited since in the lines that the proposal changes.`
  const [b, o, t] = [base, now, content].map((entry) => contents.lines(entry))
  const overlaps = b && o && t ? mergeLines(b, o, t, 'ours').conflicts : []
  const kind = now === undefined || content === undefined ? 'modify-delete' : 'content'
  const sides =
    overlaps.length > 0
      ? { ours: overlapText(overlaps, 'ours'), theirs: overlapText(overlaps, 'theirs') }
      : { ours: sideText(contents, now), theirs: sideText(contents, content) }
  return { path, kind, ...sides, message, later: [you] }
}
