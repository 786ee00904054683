/** Which turns a pending hunk comes from: the file's versions are walked through, and every line keeps its turn. */

import type { Engine } from '../history/engine.ts'
import { readState } from '../history/snapshots.ts'
import type { Entry } from '../log/review-record.ts'
import type { Operation } from '../log/rows.ts'
import type { BlobId, RelPath, SessionId, Snapshot, TurnId } from '../values.ts'
import type { Contents } from './contents.ts'
import { entryAt } from './fold.ts'
import { diffLines, type Edit } from './lines.ts'
import type { HunkKind } from './pending.ts'

export interface Origins {
  /** The turns behind the lines [from, to) of the file as it is, and behind what is missing there. */
  readonly between: (from: number, to: number) => readonly TurnId[]
  /** The turns behind something about the file as a whole. */
  readonly of: (kind: HunkKind) => readonly TurnId[]
}

export function originsOf(engine: Engine, contents: Contents, session: SessionId, path: RelPath): Origins {
  const { names, operations } = historyOf(engine, path)
  const own = operations.filter(({ record }) => record.kind === 'step' && record.session === session)
  const turnsOf = (some: readonly Operation[]) =>
    distinct(some.map((operation) => turnOf(operation, session)))
  const all = turnsOf(own)
  const orAll = (turns: readonly TurnId[]) => (turns.length > 0 ? turns : all)
  const traced = all.length < 2 ? undefined : trace(engine, contents, session, names, operations)
  return {
    between: (from, to) => {
      const found = traced === undefined ? all : distinct(traced(from, to))
      return found.length > 0 ? found : all.slice(-1)
    },
    of: (kind) => {
      if (all.length < 2 || (kind !== 'rename' && kind !== 'mode')) return all
      const isBehind = kind === 'rename' ? changesName : changesPerm
      return orAll(turnsOf(own.filter((operation) => isBehind(engine, names, operation))))
    },
  }
}

function changesName(engine: Engine, names: readonly RelPath[], { before, after }: Operation): boolean {
  const [was, is] = [before, after].map((snapshot) => nameIn(engine, names, snapshot))
  return was !== undefined && is !== undefined && was !== is
}

function nameIn(engine: Engine, names: readonly RelPath[], snapshot: Snapshot): RelPath | undefined {
  const files = readState(engine.objects, snapshot)
  return names.find((name) => entryAt(engine.objects, files, name) !== undefined)
}

function changesPerm(engine: Engine, names: readonly RelPath[], { before, after }: Operation): boolean {
  const [was, is] = [before, after].map((snapshot) => entryUnder(engine, names, snapshot))
  return was?.kind === 'file' && is?.kind === 'file' && was.perm !== is.perm
}

/** What a file was at some time, whatever its name was then. */
export function entryUnder(engine: Engine, names: readonly RelPath[], snapshot: Snapshot): Entry {
  const name = nameIn(engine, names, snapshot)
  return name === undefined ? undefined : entryAt(engine.objects, readState(engine.objects, snapshot), name)
}

export interface PathHistory {
  /** The newest first. */
  readonly names: readonly RelPath[]
  /** The oldest first. */
  readonly operations: readonly Operation[]
}

/** What happened to the file that is at a path, under all the names it has had. */
export function historyOf(engine: Engine, path: RelPath): PathHistory {
  const { index } = engine.log
  const names = new Set<RelPath>()
  const seqs = new Set<number>()
  let name: RelPath | undefined = path
  let until = Number.POSITIVE_INFINITY
  while (name !== undefined) {
    const at: RelPath = name
    names.add(at)
    // What has come under an old name since is another file.
    const rows = index.findChanges({ paths: [at], everybody: true }).filter(({ opSeq }) => opSeq <= until)
    const renamed = rows.find((row) => row.kind === 'rename' && row.path === at && row.opSeq < until)
    const since = renamed?.opSeq ?? 0
    for (const { opSeq } of rows) if (opSeq >= since) seqs.add(opSeq)
    until = since
    name = renamed?.from
  }
  const operations = [...seqs].sort((a, b) => a - b).flatMap((seq) => index.operationAt(seq) ?? [])
  return { names: [...names], operations }
}

function turnOf({ record }: Operation, session: SessionId): TurnId | undefined {
  if (record.session !== session) return undefined
  if (record.kind === 'step') return record.turn
  // What a redo puts back belongs to the turn it brings back.
  if ('stages' in record)
    return record.stages.findLast((stage) => stage.way === 'in' && stage.turn !== null)?.turn ?? undefined
  return undefined
}

/** Lines with the turns that wrote them, and, before each of them, the turns that took something out there. */
interface Traced {
  readonly lines: readonly (TurnId | undefined)[]
  readonly gaps: readonly (readonly TurnId[])[]
}

function trace(
  engine: Engine,
  contents: Contents,
  session: SessionId,
  names: readonly RelPath[],
  operations: readonly Operation[],
): (from: number, to: number) => readonly (TurnId | undefined)[] {
  const versionAt = (snapshot: Snapshot): Version => {
    const entry = entryUnder(engine, names, snapshot)
    return { blob: entry?.blob, text: contents.lines(entry) ?? [] }
  }
  const first = operations[0]
  let version: Version = first === undefined ? { blob: undefined, text: [] } : versionAt(first.before)
  let traced = untraced(version.text)
  const before = new Map([[version.blob, traced]])
  for (const operation of operations) {
    const next = versionAt(operation.after)
    const turn = turnOf(operation, session)
    // What an undo, or the taking back of a rejection, puts back is whose it was.
    const known = operation.record.kind === 'step' ? undefined : before.get(next.blob)
    traced = known ?? carried(traced, diffLines(version.text, next.text), turn)
    version = next
    before.delete(next.blob)
    before.set(next.blob, traced)
    for (const [oldest] of before) if (before.size > mostVersions) before.delete(oldest)
  }
  return (from, to) => [...traced.lines.slice(from, to), ...traced.gaps.slice(from, to + 1).flat()]
}

interface Version {
  readonly blob: BlobId | undefined
  readonly text: readonly string[]
}

const mostVersions = 32

function untraced(text: readonly string[]): Traced {
  return { lines: text.map(() => undefined), gaps: [...text, ''].map(() => []) }
}

function carried(old: Traced, edits: readonly Edit[], turn: TurnId | undefined): Traced {
  const lines: (TurnId | undefined)[] = []
  const gaps: (readonly TurnId[])[] = []
  let at = 0
  for (const { start, end, from, to } of edits) {
    for (; at < start; at += 1) {
      gaps.push(old.gaps[at] ?? [])
      lines.push(old.lines[at])
    }
    const swallowed = old.gaps.slice(start, end + (to > from ? 0 : 1)).flat()
    const gap = end > start && turn !== undefined ? [...swallowed, turn] : swallowed
    if (to === from) {
      // Nothing came in its place: what was taken out is remembered before the line that follows.
      old = { ...old, gaps: old.gaps.with(end, gap) }
    } else {
      for (let line = from; line < to; line += 1) {
        gaps.push(line === from ? gap : [])
        lines.push(turn)
      }
    }
    at = end
  }
  for (; at < old.lines.length; at += 1) {
    gaps.push(old.gaps[at] ?? [])
    lines.push(old.lines[at])
  }
  gaps.push(old.gaps[old.lines.length] ?? [])
  return { lines, gaps }
}

function distinct(turns: readonly (TurnId | undefined)[]): readonly TurnId[] {
  return [...new Set(turns.filter((turn) => turn !== undefined))]
}
