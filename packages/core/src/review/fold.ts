/**
 * The review of a session, worked out from the log: what is pending is what the session's steps changed, less what was
 * accepted. The state names only paths on which the baseline and the files differ; everywhere else they are the same.
 *
 *   a step of this session    the files move, the baseline stays: pending
 *   the user, other sessions  files and baseline move alike; where the edit overlaps a pending one, it is disputed
 *   undo, rollback            goes out of both, whether it was accepted or not
 *   redo, undo of an undo     the baseline goes back to where it was before
 *   accept, reject            write down the whole state beside their record
 */

import { changedPaths } from '../history/capture.ts'
import type { Engine } from '../history/engine.ts'
import { readState, type State, sameSnapshot } from '../history/snapshots.ts'
import { type OperationKind, optional, type Stage } from '../log/record.ts'
import {
  type BaselineMove,
  type BaselineThen,
  blobsOf,
  type Ends,
  type Entry,
  emptyReview,
  knownAgain,
  type PendingPath,
  parseReview,
  proposalMoves,
  proposalsWithout,
  type ReviewState,
  readReview,
  self,
  serializeReview,
  trimmed,
} from '../log/review-record.ts'
import type { Operation } from '../log/rows.ts'
import { fileStateOf } from '../store/attrs.ts'
import type { Objects } from '../store/objects.ts'
import { findLeaf } from '../store/trees.ts'
import type { BlobId, OpId, RelPath, SessionId, TurnId } from '../values.ts'
import { bothEdits, Contents, carriedOn, mergeEntries, sameEntry } from './contents.ts'
import { endsBetween, wentBack } from './ends.ts'
import { oldNames } from './renames.ts'

export interface Folded {
  readonly session: SessionId
  /** The operation up to which it is worked out. */
  readonly seq: number
  readonly state: ReviewState
  readonly contents: Contents
  /** The files, as of that operation. */
  readonly files: State
}

/** The session's review at the end of the log. */
export function foldReview(engine: Engine, session: SessionId): Folded | undefined {
  const start = startOf(engine, session)
  if (start === undefined) return undefined
  const folding = new Folding(engine, session, start)
  const news = engine.log.index.operationsSince(start.seq)
  for (const operation of news) folding.take(operation)
  const folded = folding.done()
  if (news.length > 0) rememberReview(engine, folded)
  return folded
}

interface Start {
  readonly seq: number
  readonly state: ReviewState
  readonly own: ReadonlyMap<BlobId, Buffer>
  readonly files: State
}

// The newest that is known: what the index remembers, the last decision, or the beginning of the session.
function startOf(engine: Engine, session: SessionId): Start | undefined {
  const { index } = engine.log
  const kept = index.findReview(session)
  const remembered = kept === undefined ? undefined : recall(engine, kept)
  if (remembered !== undefined) return remembered
  const reviewed = index.lastReviewed(session)
  if (reviewed !== undefined) {
    const state = decided(engine, reviewed)
    return {
      seq: reviewed.record.seq,
      state,
      own: new Map(),
      files: readState(engine.objects, reviewed.after),
    }
  }
  const first = index.firstOperationOf(session)
  if (first === undefined) return undefined
  const committed = first.record.git?.head
  return {
    seq: first.record.seq - 1,
    state: { ...emptyReview, ...optional('committed', committed) },
    own: new Map(),
    files: readState(engine.objects, first.before),
  }
}

function recall(engine: Engine, kept: { readonly seq: number; readonly state: string }): Start | undefined {
  const at = engine.log.index.operationAt(kept.seq)
  if (at === undefined) return undefined // retention has dropped it; the log has what is needed
  const { state, own } = JSON.parse(kept.state) as { state: string; own: Record<string, string> }
  const bytes = Object.entries(own).map(
    ([blob, text]) => [blob as BlobId, Buffer.from(text, 'base64')] as const,
  )
  const start = {
    seq: kept.seq,
    state: parseReview(state),
    own: new Map(bytes),
    files: readState(engine.objects, at.after),
  }
  // A version in between may have gone with the operations that retention has dropped.
  const isWhole = [...blobsOf(start.state)].every((blob) => start.own.has(blob) || engine.objects.has(blob))
  return isWhole ? start : undefined
}

export function rememberReview(engine: Engine, { session, seq, state, contents }: Folded): void {
  const own: Record<string, string> = {}
  for (const [blob, bytes] of contents.own(blobsOf(state))) own[blob] = bytes.toString('base64')
  engine.log.index.keepReview(session, seq, JSON.stringify({ state: serializeReview(state), own }))
}

/** The state beside a decision. */
function decided(engine: Engine, operation: Operation): ReviewState {
  const tree = engine.log.reviewOf(operation)
  const state = tree === undefined ? emptyReview : readReview(engine.objects, tree)
  return namedAs(state, operation.record.id)
}

/** What the operation did is found under its id. */
export function namedAs(state: ReviewState, id: OpId): ReviewState {
  const moves = state.moves.map((move) => ({ ...move, ops: move.ops.map((op) => (op === self ? id : op)) }))
  return { ...state, moves }
}

export function entryAt(objects: Objects, files: State, path: RelPath): Entry {
  return fileStateOf(files.attrs, path, findLeaf(objects, files.tree, path))
}

class Folding {
  readonly #engine: Engine
  readonly #session: SessionId
  readonly #contents: Contents
  #pending: Map<RelPath, PendingPath>
  #state: ReviewState
  #files: State
  #seq: number

  constructor(engine: Engine, session: SessionId, start: Start) {
    this.#engine = engine
    this.#session = session
    this.#contents = new Contents(engine.objects, start.own)
    this.#state = start.state
    this.#pending = new Map(start.state.pending)
    this.#files = start.files
    this.#seq = start.seq
  }

  done(): Folded {
    const state = trimmed({ ...this.#state, pending: this.#pending })
    return { session: this.#session, seq: this.#seq, state, contents: this.#contents, files: this.#files }
  }

  take(operation: Operation): void {
    const { record } = operation
    const { objects } = this.#engine
    const before = readState(objects, operation.before)
    const after = readState(objects, operation.after)
    // Where retention has dropped what came in between, somebody else's changes are all that can be told.
    this.#foreign(this.#files, before, this.#movesBetween(this.#files, before))
    if (record.session === this.#session && record.reviewed === true) this.#decide(operation)
    else if (record.kind === 'step' && record.session === this.#session) this.#own(operation, before, after)
    else if ('stages' in record && record.stages.length > 0) this.#move(operation, record.stages, after)
    else this.#others(operation, before, after)
    this.#files = after
    this.#seq = record.seq
  }

  #decide(operation: Operation): void {
    this.#state = decided(this.#engine, operation)
    this.#pending = new Map(this.#state.pending)
  }

  // ---- the session's own steps ---------------------------------------------------------------------------------------

  #own(operation: Operation, before: State, after: State): void {
    const from = new Map(this.#renames(operation).map(({ from, to }) => [to, from]))
    const olds = new Map(this.#pending)
    this.#noteBaselines(operation.record.id, before, after)
    for (const path of this.#changed(before, after)) {
      const source = from.get(path)
      const is = this.#entry(after, path)
      const moved = source === undefined ? undefined : renamed(olds, source)
      const known = olds.get(path)
      // Renamed onto a path that has a story of its own: what the user has typed goes along all the same.
      const pending = known
        ? { ...known, ...optional('undisputed', moved ? moved.undisputed : known.undisputed) }
        : (moved ?? { baseline: this.#entry(before, path) })
      this.#put(path, this.#wentOn(pending, this.#entry(before, source ?? path), is), is)
    }
  }

  #noteBaselines(op: OpId, before: State, after: State): void {
    const paths = new Map<RelPath, BaselineThen>()
    for (const path of this.#changed(before, after)) {
      const pending = this.#pending.get(path)
      if (pending === undefined) continue
      const source = this.#sourceOf(path, pending, before)
      const { baseline: entry } = this.#pending.get(source ?? path) ?? pending
      const { undisputed, formerly } = pending
      paths.set(path, {
        entry,
        ...optional('from', source ?? formerly),
        ...optional('undisputed', undisputed),
      })
    }
    if (paths.size > 0) this.#state = { ...this.#state, steps: [...this.#state.steps, { op, paths }] }
  }

  // What the agent does is its own, also where it goes on from what the user has edited.
  #wentOn({ undisputed, alone, ...rest }: PendingPath, was: Entry, is: Entry): PendingPath {
    const next = (own: { readonly entry: Entry } | undefined) =>
      own === undefined ? undefined : { entry: carriedOn(this.#contents, was, own.entry, is) }
    return { ...rest, ...optional('undisputed', next(undisputed)), ...optional('alone', next(alone)) }
  }

  // ---- everybody else ------------------------------------------------------------------------------------------------

  // What somebody else deletes is pending no more. Taken back, it is pending again, and not accepted by a detour.
  #others(operation: Operation, before: State, after: State): void {
    const olds = new Map(this.#pending)
    this.#foreign(before, after, this.#renames(operation))
    const lost = [...olds.keys()].filter((path) => !this.#pending.has(path))
    if (lost.length === 0) return
    const ends = lost.map((path) => [path, this.#ends(path, olds, before, after)] as const)
    const move: BaselineMove = { ops: [operation.record.id], way: 'in', paths: new Map(ends) }
    this.#state = { ...this.#state, moves: [...this.#state.moves, move] }
  }

  // The operation that would tell of a rename is gone, but a file with the same bytes under another name is one.
  #movesBetween(before: State, after: State): readonly Rename[] {
    if (sameSnapshot(before.snapshot, after.snapshot) || this.#pending.size === 0) return []
    const changed = this.#changed(before, after)
    const came = changed.filter((path) => this.#entry(before, path) === undefined)
    return changed.flatMap((from) => {
      const was = this.#entry(before, from)
      if (was === undefined || this.#entry(after, from) !== undefined) return []
      const to = came.find((path) => sameEntry(this.#entry(after, path), was))
      return to === undefined ? [] : [{ from, to }]
    })
  }

  #foreign(before: State, after: State, renames: readonly Rename[]): void {
    if (sameSnapshot(before.snapshot, after.snapshot) || this.#pending.size === 0) return
    const moved = new Set<RelPath>()
    for (const { from, to } of renames) {
      if (!this.#pending.has(from) || this.#pending.has(to)) continue
      this.#follow(from, to, before, after)
      moved.add(from).add(to)
    }
    for (const path of this.#changed(before, after)) if (!moved.has(path)) this.#foldInto(path, before, after)
  }

  // The user renamed a file with pending hunks: they go along.
  #follow(from: RelPath, to: RelPath, before: State, after: State): void {
    const pending = this.#pending.get(from)
    if (pending === undefined) return
    this.#pending.delete(from)
    this.#pending.set(to, pending)
    for (const [path, other] of this.#pending)
      if (other.from === from) this.#pending.set(path, { ...other, from: to })
    this.#foldInto(to, before, after, from)
  }

  #foldInto(path: RelPath, before: State, after: State, oldName = path): void {
    const pending = this.#pending.get(path)
    const [was, is] = [this.#entry(before, oldName), this.#entry(after, path)]
    if (pending === undefined || sameEntry(was, is)) return
    const { baseline, from, formerly } = pending
    const alone = from === undefined ? undefined : (pending.alone ?? { entry: was })
    const rest = { ...optional('from', from), ...optional('alone', alone), ...optional('formerly', formerly) }
    const source = this.#sourceOf(path, pending, before)
    // The agent renamed it, and what was accepted stands under the old name: the user's edits belong there.
    const accepted = source === undefined ? baseline : this.#pending.get(source)?.baseline
    const { entry, overlaps } = mergeEntries(this.#contents, was, accepted, is)
    const undisputed = this.#undisputed(pending, accepted, entry, was, overlaps)
    this.#put(path, { ...rest, baseline: source === undefined ? entry : baseline, ...undisputed }, is)
    const old = source === undefined ? undefined : this.#pending.get(source)
    if (source !== undefined) this.#put(source, { ...old, baseline: entry }, this.#entry(after, source))
  }

  #sourceOf(path: RelPath, { from }: PendingPath, files: State): RelPath | undefined {
    if (from === undefined) return undefined
    return oldNames(this.#pending, (other) => this.#entry(files, other)).get(path)
  }

  // What the user's edits changed in the baseline, they change in the agent's version, too. The rest is disputed.
  #undisputed(
    pending: PendingPath,
    baseline: Entry,
    folded: Entry,
    was: Entry,
    overlaps: boolean,
  ): Pick<PendingPath, 'undisputed'> {
    if (!overlaps && pending.undisputed === undefined) return {}
    const old = pending.undisputed === undefined ? was : pending.undisputed.entry
    return { undisputed: { entry: mergeEntries(this.#contents, baseline, old, folded).entry } }
  }

  // ---- undo, redo, restore, rollback ---------------------------------------------------------------------------------

  #move(operation: Operation, stages: readonly Stage[], after: State): void {
    const { objects } = this.#engine
    const states = this.#engine.log.stagesOf(operation).map((snapshot) => readState(objects, snapshot))
    let last = states[0] ?? after
    stages.forEach((stage, at) => {
      const next = states[at + 1]
      if (next === undefined) return
      this.#stage(operation.record.kind, stage, last, next)
      last = next
    })
    this.#foreign(last, after, [])
  }

  #stage(kind: OperationKind, stage: Stage, before: State, after: State): void {
    const paths = this.#changed(before, after)
    const olds = new Map(this.#pending)
    const { proposals, known: numbers } = this.#state
    const inverses = this.#findInverses(kind, stage)
    if (inverses.length > 0) this.#invert(inverses, stage.paths, paths, before, after)
    else if (!this.#isOurs(stage)) this.#foreign(before, after, [])
    else if (stage.way === 'in') this.#comeBack(paths, before, after)
    else for (const path of paths) this.#leave(path, stage.ops, before, after)
    if (isTurnLeft(stage) && inverses.length === 0) this.#clearProposals(stage.turn)
    if (stage.ops.length === 0) return
    const known = [...new Set([...olds.keys(), ...this.#pending.keys()])]
    const ends = known.map((path) => [path, this.#ends(path, olds, before, after)] as const)
    const move: BaselineMove = {
      ops: stage.ops,
      way: stage.way,
      ...optional('only', stage.paths),
      paths: new Map(ends.filter(([path]) => olds.get(path) !== this.#pending.get(path))),
      ...optional('proposals', proposalMoves(proposals, this.#state.proposals)),
      ...optional('known', numbers.size > 0 ? numbers : undefined),
    }
    this.#state = { ...this.#state, moves: [...this.#state.moves, move] }
  }

  #ends(path: RelPath, olds: ReadonlyMap<RelPath, PendingPath>, before: State, after: State): Ends {
    return endsBetween(
      { pending: olds.get(path), file: this.#entry(before, path) },
      { pending: this.#pending.get(path), file: this.#entry(after, path) },
    )
  }

  // What comes back finds the baseline as it was left. What goes out leaves files and baseline alike, accepted or not,
  // unless it is decisions that are taken back: then the newest first.
  #findInverses(kind: OperationKind, stage: Stage): readonly BaselineMove[] {
    const { way, ops, paths } = stage
    if (ops.length === 0) return []
    const { moves } = this.#state
    if (way === 'out') {
      if (this.#isOurs(stage) && (kind !== 'rollback' || !this.#isDecision(ops))) return []
      const left = new Set(ops)
      return moves.toReversed().filter((move) => {
        if (move.way !== 'in' || !move.ops.every((op) => left.has(op))) return false
        return move.ops.every((op) => left.delete(op))
      })
    }
    const key = keyOf(ops, paths)
    return moves.filter((move) => move.way === 'out' && keyOf(move.ops, move.only) === key).slice(-1)
  }

  #isDecision(ops: readonly OpId[]): boolean {
    return ops.every((op) => this.#engine.log.index.findOperation(op)?.record.reviewed === true)
  }

  #isOurs({ ops }: Stage): boolean {
    return ops.some((op) => this.#engine.log.index.findOperation(op)?.record.session === this.#session)
  }

  #invert(
    moves: readonly BaselineMove[],
    only: readonly RelPath[] | undefined,
    paths: readonly RelPath[],
    before: State,
    after: State,
  ): void {
    const told = moves.flatMap((move) => [...move.paths.keys()])
    const known = new Set(only === undefined ? told : told.filter((path) => only.includes(path)))
    for (const path of paths) if (!known.has(path)) this.#foldInto(path, before, after)
    for (const path of known) {
      const [was, is] = [this.#entry(before, path), this.#entry(after, path)]
      for (const move of moves) {
        const ends = move.paths.get(path)
        if (ends === undefined) continue
        const now = { pending: this.#pending.get(path), file: was }
        this.#pending.set(path, wentBack(this.#contents, ends, now, is).pending)
      }
      const back = this.#pending.get(path)
      if (back !== undefined) this.#put(path, back, is)
    }
    for (const move of moves) this.#restoreLists(move, only)
  }

  #restoreLists(
    { proposals = [], rejected = [], known }: BaselineMove,
    only: readonly RelPath[] | undefined,
  ): void {
    const isMeant = (path: RelPath | undefined) =>
      only === undefined || (path !== undefined && only.includes(path))
    const gone = new Set(rejected)
    this.#state = {
      ...this.#state,
      proposals: proposalsWithout(
        this.#state.proposals,
        proposals.filter(({ before, after }) => isMeant((before ?? after)?.path)),
      ),
      rejections: this.#state.rejections.filter(({ hunk, path }) => !gone.has(hunk) || !isMeant(path)),
      known: knownAgain(this.#state.known, known),
    }
  }

  // What a turn had changed goes out of the baseline as well, as far as it was accepted.
  #leave(path: RelPath, ops: readonly OpId[], before: State, after: State): void {
    const [was, is] = [this.#entry(before, path), this.#entry(after, path)]
    const pending = this.#pending.get(path) ?? { baseline: was }
    const source = is === undefined ? undefined : this.#sourceOf(path, pending, before)
    const old = source === undefined ? pending : this.#pending.get(source)
    const baseline = this.#withoutSteps(path, ops, old?.baseline, was, is)
    const left = { ...this.#disputedThen(path, ops, is), ...this.#wentOn(pending, was, is) }
    this.#put(path, source === undefined ? { ...left, baseline } : left, is)
    if (source !== undefined) this.#put(source, { ...old, baseline }, this.#entry(after, source))
  }

  // The turn may have deleted, or written over, what the user had typed: with the text, that it is the user's comes back.
  #disputedThen(path: RelPath, ops: readonly OpId[], is: Entry): Pick<PendingPath, 'undisputed'> {
    const { objects, log } = this.#engine
    const then = this.#state.steps.find((step) => ops.includes(step.op) && step.paths.has(path))
    const undisputed = then?.paths.get(path)?.undisputed
    const operation = then === undefined ? undefined : log.index.findOperation(then.op)
    if (undisputed === undefined || operation === undefined) return {}
    const file = entryAt(objects, readState(objects, operation.before), path)
    return { undisputed: { entry: carriedOn(this.#contents, file, undisputed.entry, is) } }
  }

  #withoutSteps(path: RelPath, ops: readonly OpId[], baseline: Entry, was: Entry, is: Entry): Entry {
    const { index } = this.#engine.log
    const steps = ops
      .flatMap((op) => index.findOperation(op) ?? [])
      .sort((a, b) => b.record.seq - a.record.seq)
      .flatMap((operation) => this.#baselinesOf(operation, path) ?? [])
    // Nothing of it was ever pending: what stands in the files is accepted, before and after.
    if (steps.every(({ isKnown }) => !isKnown) && sameEntry(baseline, was)) return is
    // Some of a step's lines may be accepted and others not: where the two overlap, it is told line by line.
    return steps.reduce((now, step) => bothEdits(this.#contents, step.with, now, step.without), baseline)
  }

  /** The baseline when a step began, and what it would have been with everything that the step did. */
  #baselinesOf({ record, before, after }: Operation, path: RelPath) {
    const { objects } = this.#engine
    const ends = this.#state.moves.find(({ ops }) => ops.includes(record.id))?.paths.get(path)
    if (record.reviewed === true && ends !== undefined)
      return { with: ends.after, without: ends.before, isKnown: true }
    const [was, is] = [before, after].map((snapshot) => entryAt(objects, readState(objects, snapshot), path))
    if (sameEntry(was, is)) return undefined
    const known = this.#state.steps.find(({ op }) => op === record.id)?.paths.get(path)
    const without = known === undefined ? was : known.entry
    const accepted = bothEdits(this.#contents, was, without, is)
    return { with: accepted, without, isKnown: known !== undefined }
  }

  #comeBack(paths: readonly RelPath[], before: State, after: State): void {
    for (const path of paths) {
      const pending = this.#pending.get(path) ?? { baseline: this.#entry(before, path) }
      this.#put(path, pending, this.#entry(after, path))
    }
  }

  #clearProposals(turn: TurnId): void {
    const proposals = this.#state.proposals.filter((proposal) => proposal.turn !== turn)
    if (proposals.length < this.#state.proposals.length) this.#state = { ...this.#state, proposals }
  }

  // ---- small things --------------------------------------------------------------------------------------------------

  #put(path: RelPath, pending: PendingPath, now: Entry): void {
    const { undisputed, ...rest } = pending
    if (sameEntry(pending.baseline, now)) this.#pending.delete(path)
    else if (undisputed !== undefined && sameEntry(undisputed.entry, now)) this.#pending.set(path, rest)
    else this.#pending.set(path, pending)
  }

  #entry(files: State, path: RelPath): Entry {
    return entryAt(this.#engine.objects, files, path)
  }

  #changed(before: State, after: State): readonly RelPath[] {
    return changedPaths(this.#engine.objects, before, after)
  }

  #renames(operation: Operation): readonly Rename[] {
    const changes = this.#engine.log.index.changesOfOperation(operation.record.seq)
    return changes.flatMap(({ kind, from, path }) =>
      kind === 'rename' && from !== undefined ? [{ from, to: path }] : [],
    )
  }
}

/** The same file under its new name. What the agent had created itself was never accepted under the old one. */
function renamed(pending: ReadonlyMap<RelPath, PendingPath>, source: RelPath): PendingPath {
  const old = pending.get(source)
  if (old === undefined) return { baseline: undefined, from: source }
  const { baseline, from, ...own } = old
  return { ...own, baseline: undefined, ...optional('from', baseline === undefined ? from : source) }
}

function keyOf(ops: readonly OpId[], paths: readonly RelPath[] | undefined): string {
  return JSON.stringify([[...ops].sort(), paths === undefined ? null : [...paths].sort()])
}

function isTurnLeft(stage: Stage): stage is Stage & { readonly turn: TurnId } {
  return stage.way === 'out' && stage.turn !== null && stage.paths === undefined
}

interface Rename {
  readonly from: RelPath
  readonly to: RelPath
}

/** The baseline of a path: what is accepted there. */
export function baselineAt({ state, files }: Folded, objects: Objects, path: RelPath): Entry {
  const pending = state.pending.get(path)
  return pending === undefined ? entryAt(objects, files, path) : pending.baseline
}
