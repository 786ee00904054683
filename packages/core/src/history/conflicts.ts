/** Both sides of a conflict, in words a person can decide by. */

import { isBinary } from '../binary.ts'
import { shown, visible } from '../errors.ts'
import { optional, type Stage } from '../log/record.ts'
import type { TreeConflict } from '../store/merge.ts'
import type { Objects } from '../store/objects.ts'
import type { Leaf } from '../store/trees.ts'
import type { RelPath } from '../values.ts'
import type { Left } from '../workspace/apply.ts'
import type { Engine } from './engine.ts'
import type { Conflict, ConflictVersions, LaterAuthor } from './outcome.ts'

const mostText = 2_000
const mostVersionBytes = 512 * 1024

export function conflictOf(
  engine: Engine,
  objects: Objects,
  conflict: TreeConflict,
  stages: readonly Stage[],
  withVersions = false,
): Conflict {
  const { path, kind, message } = conflict
  const [ours, theirs] =
    kind === 'content'
      ? overlapOf(objects, conflict)
      : [sideText(objects, conflict.ours), sideText(objects, conflict.theirs)]
  const later = laterAuthors(engine, conflict.paths, stages)
  const versions = withVersions ? versionsOf(objects, conflict) : undefined
  return {
    path,
    kind,
    ours,
    theirs,
    message: message + laterWords(later),
    later,
    ...optional('versions', versions),
  }
}

function versionsOf(objects: Objects, { base, ours, theirs }: TreeConflict): ConflictVersions {
  const [b, o, t] = [base, ours, theirs].map((leaf) => sideText(objects, leaf, mostVersionBytes))
  return { base: b ?? null, ours: o ?? null, theirs: t ?? null }
}

export function conflictOfLeft({ path, reason }: Left): Conflict {
  const kind = reason === 'changed-meanwhile' ? 'changed-meanwhile' : 'uncaptured'
  return {
    path,
    kind,
    ours: wordsFor[reason],
    theirs: null,
    message: `${shown(path)}: ${wordsFor[reason]}.`,
    later: [],
  }
}

/** Who touched these paths after the operations that are being moved, newest first. */
function laterAuthors(
  engine: Engine,
  paths: readonly RelPath[],
  stages: readonly Stage[],
): readonly LaterAuthor[] {
  const moved = new Set(stages.flatMap((stage) => stage.ops))
  const seqs = [...moved].flatMap((op) => engine.log.index.findOperation(op)?.record.seq ?? [])
  if (seqs.length === 0) return []
  const since = Math.min(...seqs)
  const authors = new Map<string, LaterAuthor>()
  for (const change of engine.log.index.findChanges({ paths, everybody: true })) {
    if (change.opSeq <= since || moved.has(change.op) || change.actor === 'unturn') continue
    const { actor, turn, session } = change
    authors.set(turn ?? actor, { actor, ...optional('turn', turn), ...optional('session', session) })
  }
  return [...authors.values()]
}

function laterWords(later: readonly LaterAuthor[]): string {
  const names = later.map(({ actor, turn }) =>
    turn === undefined ? 'you' : `turn ${turn} (${visible(actor)})`,
  )
  return names.length === 0 ? '' : ` Since then it was changed by ${names.slice(0, 4).join(', ')}.`
}

const wordsFor: Readonly<Record<Left['reason'], string>> = {
  'changed-meanwhile': 'somebody saved it at this very moment',
  occupied: 'something that was never captured stands there',
  'behind-link': 'a folder above it is a symbolic link now',
}

/** Only what overlaps: what git put between its markers, block by block. */
function overlapOf(objects: Objects, conflict: TreeConflict): readonly [string | null, string | null] {
  const text = conflict.marked === undefined ? null : objects.readBlob(conflict.marked).toString('utf8')
  const blocks =
    text === null
      ? []
      : [...text.matchAll(/^<{7} [0-9a-f]{40}[^\n]*\n(.*?)^={7}\r?\n(.*?)^>{7} [0-9a-f]{40}/gms)]
  if (blocks.length === 0) return [sideText(objects, conflict.ours), sideText(objects, conflict.theirs)]
  return [joined(blocks.map((block) => block[1] ?? '')), joined(blocks.map((block) => block[2] ?? ''))]
}

function joined(blocks: readonly string[]): string {
  const text = blocks.map((block) => block.replace(/\r?\n$/, '')).join('\n…\n')
  return text.length > mostText ? `${text.slice(0, mostText)}…` : text
}

function sideText(objects: Objects, leaf: Leaf | undefined, most = mostText): string | null {
  if (leaf === undefined) return null
  const bytes = objects.readBlob(leaf.blob)
  if (isBinary(bytes)) return `binary, ${bytes.length} bytes`
  const text = bytes.subarray(0, most).toString('utf8')
  return bytes.length > most ? `${text}…` : text
}
