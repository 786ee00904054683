/**
 * Review: what is pending, and somebody's word on it. Accept moves the baseline, reject moves the files; both are
 * operations, and can be taken back like any other.
 */

import { capture } from '../history/capture.ts'
import type { Composition } from '../history/compose.ts'
import { choicesOf, conflictsError, type Enacted, enact } from '../history/enact.ts'
import type { Engine } from '../history/engine.ts'
import { areAsLeft, type LastKnown, readLastKnown } from '../history/observe.ts'
import type { Conflict } from '../history/outcome.ts'
import type { PastFile } from '../history/past.ts'
import { unknownId } from '../history/recording.ts'
import type { State } from '../history/snapshots.ts'
import { type Decision, type Draft, optional } from '../log/record.ts'
import {
  type BaselineMove,
  type Entry,
  knownAgain,
  type PendingPath,
  type Proposal,
  proposalsWithout,
  type Rejection,
  type ReviewState,
  storeReview,
} from '../log/review-record.ts'
import type { MergeScratch } from '../store/merge.ts'
import type { Objects } from '../store/objects.ts'
import type { Exclusive, OpId, RelPath, SessionId } from '../values.ts'
import { type ChosenFile, chooseHunks, hunkGone } from './choose.ts'
import { findCommitted } from './committed.ts'
import { type Contents, mergeEntries, sameEntry } from './contents.ts'
import { acceptIn, contestChoice, inTheWay, rejectIn } from './decide.ts'
import { wentBack } from './ends.ts'
import { entryAt, type Folded, foldReview, rememberReview } from './fold.ts'
import type { Hunk, PendingFile } from './pending.ts'
import { blockedIn, place } from './place.ts'
import { acceptProposals, rejectProposals } from './proposals.ts'
import {
  appendDecision,
  Contested,
  type Decided,
  type DecideWish,
  decidedState,
  type Standing,
  standingOf,
} from './standing.ts'

export interface ReviewView {
  readonly session: SessionId
  readonly files: readonly PendingFile[]
  readonly proposals: readonly Proposal[]
  readonly rejections: readonly Rejection[]
}

/** `lastKnown`: as of the last operation. Nobody looks at the disk then, and nothing is recorded. */
export interface ReviewOptions {
  readonly lastKnown?: boolean
}

/** What is pending in a session, after a look at the files. */
export async function review(
  engine: Engine,
  session: SessionId,
  lock: Exclusive,
  { lastKnown = false }: ReviewOptions = {},
): Promise<ReviewView> {
  if (!lastKnown) await capture(engine, {}, lock)
  const { pending, folded } = lastKnown ? standingOf(engine, session) : await settled(engine, session, lock)
  const { proposals, rejections } = folded.state
  const open = new Set(pending.flatMap(({ proposal }) => proposal?.id ?? []))
  return { session, files: pending, proposals: proposals.filter(({ id }) => open.has(id)), rejections }
}

/** One side of a file that is pending: as it was accepted, or as it is now or is proposed to be. */
export interface PendingSide {
  readonly path: RelPath
  readonly side: 'before' | 'after'
  /** Of the proposal, where the same file is also pending on disk. */
  readonly proposal?: string
}

/** As of the last operation. Undefined where the file is not pending, or not there on that side. */
export function readPending(
  engine: Engine,
  session: SessionId,
  { path, side, proposal }: PendingSide,
): PastFile | undefined {
  const { folded, pending } = standingOf(engine, session)
  const file = pending.find((one) => one.path === path && one.proposal?.id === proposal)
  const entry = side === 'before' ? file?.baseline : file?.current
  if (file === undefined || entry === undefined) return undefined
  const perm = entry.kind === 'file' ? entry.perm : 0o777
  const name = side === 'before' ? (file.from ?? path) : path
  return { path: name, kind: entry.kind, perm, blob: entry.blob, bytes: folded.contents.read(entry.blob) }
}

/** Committed is reviewed: what the user has put into a commit counts as accepted. */
async function settled(engine: Engine, session: SessionId, lock: Exclusive): Promise<Standing> {
  const standing = standingOf(engine, session)
  const committed = await findCommitted(engine, standing)
  if (committed === undefined) return standing
  const { chosen, head } = committed
  if (chosen.length > 0) {
    const state = { ...withAccepted(engine, standing.folded, chosen), committed: head }
    appendDecision(
      engine,
      standing.folded,
      state,
      { ...draftOf('accept', session, chosen), because: 'committed' },
      lock,
    )
  } else rememberReview(engine, { ...standing.folded, state: { ...standing.folded.state, committed: head } })
  return standingOf(engine, session)
}

/** What the files are, without a look at all of them where the ones that matter are as they were left. */
async function look(engine: Engine, session: SessionId, lock: Exclusive): Promise<void> {
  const folded = foldReview(engine, session)
  const last = readLastKnown(engine)
  const paths = folded === undefined ? [] : pathsOf(folded)
  const known = last !== undefined && paths.length > 0 && (await areAsLeft(engine, last, paths))
  if (!known) await capture(engine, {}, lock)
}

function pathsOf({ state }: Folded): readonly RelPath[] {
  return [...new Set([...state.pending.keys(), ...state.proposals.map(({ path }) => path)])]
}

// ---- accept --------------------------------------------------------------------------------------------------------

export async function accept(engine: Engine, wish: DecideWish, lock: Exclusive): Promise<Decided> {
  await look(engine, wish.session, lock)
  const standing = await settled(engine, wish.session, lock)
  const chosen = chooseHunks(engine, standing.folded, standing.pending, wish.selection, 'accept')
  const proposed = chosen.filter(({ file }) => file.proposal !== undefined)
  const { left, ...written } = await acceptProposals(engine, wish, proposed, lock)
  if (written.kind === 'conflicts') return { ...written, ops: [], hunks: [], pending: countOf(standing) }
  const hunks = hunksOf(chosen.filter(({ file }) => !left.has(file.proposal?.id ?? '')))
  const others = chosen.filter(({ file }) => file.proposal === undefined)
  if (wish.dryRun === true)
    return { ...written, kind: 'planned', ops: [], hunks, pending: countOf(standing) - hunks.length }
  const ops = [...written.ops, ...(others.length === 0 ? [] : [acceptOnDisk(engine, wish, others, lock)])]
  return { ...written, kind: 'done', ops, hunks, pending: countOf(standingOf(engine, wish.session)) }
}

// A proposal that was just written may be in the same file: what was chosen is looked up again over that.
function acceptOnDisk(
  engine: Engine,
  wish: DecideWish,
  chosen: readonly ChosenFile[],
  lock: Exclusive,
): OpId {
  const standing = standingOf(engine, wish.session)
  const again = chosenAgain(engine, standing, wish, hunksOf(chosen), 'accept')
  const state = withAccepted(engine, standing.folded, again)
  return appendDecision(
    engine,
    standing.folded,
    state,
    draftOf('accept', wish.session, again, wish.comment),
    lock,
  )
}

/** The same hunks over the files as they are now, by their ids: whatever was saved meanwhile, no other block is hit. */
function chosenAgain(
  engine: Engine,
  { folded, pending }: Standing,
  { selection }: DecideWish,
  hunks: readonly Hunk[],
  way: 'accept' | 'reject',
): readonly ChosenFile[] {
  const wanted = new Set(hunks.map(({ id }) => id))
  const found = new Set(pending.flatMap((file) => file.hunks.map(({ id }) => id)))
  const gone = hunks.find(({ id }) => !found.has(id))
  if (gone !== undefined) throw hunkGone(gone.id)
  return chooseHunks(engine, folded, pending, selection, way).flatMap(({ file, chosen }) => {
    const those = chosen.filter(({ hunk }) => wanted.has(hunk.id))
    return those.length === 0 ? [] : [{ file, chosen: those }]
  })
}

function hunksOf(chosen: readonly ChosenFile[]): readonly Hunk[] {
  return chosen.flatMap((one) => one.chosen.map(({ hunk }) => hunk))
}

function countOf({ pending }: Standing): number {
  return pending.reduce((count, { hunks }) => count + hunks.length, 0)
}

function withAccepted(engine: Engine, folded: Folded, chosen: readonly ChosenFile[]): ReviewState {
  const { state, contents, files } = folded
  const pending = new Map(state.pending)
  for (const { file, chosen: hunks } of chosen) {
    const { entry, rename } = acceptIn(contents, file, hunks)
    const known = withoutDispute(contents, file, entry, pending.get(file.path) ?? { baseline: undefined })
    if (file.from === undefined || rename) {
      if (file.from !== undefined) pending.delete(file.from)
      const { from: _from, alone: _alone, ...rest } = known
      pending.set(file.path, { ...rest, baseline: entry, ...optional('formerly', file.from) })
    } else {
      pending.set(file.path, known)
      pending.set(file.from, { ...pending.get(file.from), baseline: entry })
    }
  }
  const next = { ...state, pending: settledPaths(pending, (path) => entryAt(engine.objects, files, path)) }
  return decidedState(engine, folded, next, hunksOf(chosen), files, engine.objects)
}

// What was accepted is nobody's dispute any more, the user's text in it included.
function withoutDispute(
  contents: Contents,
  { baseline }: PendingFile,
  accepted: Entry,
  known: PendingPath,
): PendingPath {
  const { undisputed } = known
  if (undisputed === undefined) return known
  const { entry } = mergeEntries(contents, baseline, undisputed.entry, accepted, 'theirs')
  return { ...known, undisputed: { entry } }
}

// Where baseline and file are the same, nothing is pending.
function settledPaths(
  pending: ReadonlyMap<RelPath, PendingPath>,
  now: (path: RelPath) => Entry,
): ReadonlyMap<RelPath, PendingPath> {
  const left = new Map<RelPath, PendingPath>()
  for (const [path, { undisputed, ...rest }] of pending) {
    const entry = now(path)
    if (sameEntry(rest.baseline, entry)) continue
    const isDisputed = undisputed !== undefined && !sameEntry(undisputed.entry, entry)
    left.set(path, isDisputed ? { ...rest, undisputed } : rest)
  }
  return left
}

function draftOf(
  kind: 'accept' | 'reject',
  session: SessionId,
  chosen: readonly ChosenFile[],
  comment?: string,
): Extract<Draft, { kind: 'accept' | 'reject' }> {
  const decisions = hunksOf(chosen).map(
    ({ id, path, turns }): Decision => ({ hunk: id, path, turns, ...optional('comment', comment) }),
  )
  return { kind, session, decisions }
}

// ---- reject --------------------------------------------------------------------------------------------------------

export async function reject(engine: Engine, wish: DecideWish, lock: Exclusive): Promise<Decided> {
  await look(engine, wish.session, lock)
  const standing = await settled(engine, wish.session, lock)
  const chosen = chooseHunks(engine, standing.folded, standing.pending, wish.selection, 'reject')
  const proposed = chosen.filter(({ file }) => file.proposal !== undefined)
  const onDisk = chosen.filter(({ file }) => file.proposal === undefined)
  const wanted = onDisk.length === 0 ? undefined : await rejectFiles(engine, wish, onDisk, lock)
  const conflicts = (wanted?.conflicts ?? []).map(({ versions, ...conflict }) =>
    wish.sides === true ? { ...conflict, ...optional('versions', versions) } : conflict,
  )
  if (wanted?.kind === 'conflicts')
    return { ...wanted, conflicts, ops: [], hunks: [], pending: countOf(standing) }
  const hunks = [...(wanted?.rejected ?? []), ...hunksOf(proposed)]
  const outcome = { hunks, files: wanted?.files ?? [], conflicts }
  if (wish.dryRun === true)
    return {
      ...outcome,
      kind: 'planned',
      ops: [],
      ...optional('patch', wanted?.patch),
      pending: countOf(standing) - hunks.length,
    }
  const ops = wanted?.op === undefined ? [] : [wanted.op]
  if (proposed.length > 0) ops.push(rejectProposed(engine, wish, proposed, lock))
  return { ...outcome, kind: 'done', ops, pending: countOf(standingOf(engine, wish.session)) }
}

function rejectProposed(
  engine: Engine,
  wish: DecideWish,
  proposed: readonly ChosenFile[],
  lock: Exclusive,
): OpId {
  const { folded } = standingOf(engine, wish.session)
  const state = withRejections(engine, rejectProposals(folded, proposed), proposed, wish.comment)
  const next = decidedState(engine, folded, state, hunksOf(proposed), folded.files, engine.objects)
  const draft = draftOf('reject', wish.session, proposed, wish.comment)
  return appendDecision(engine, folded, next, draft, lock)
}

async function rejectFiles(
  engine: Engine,
  wish: DecideWish,
  chosen: readonly ChosenFile[],
  lock: Exclusive,
): Promise<Enacted & { readonly rejected: readonly Hunk[] }> {
  const work = new Rejecting(engine, wish, chosen)
  try {
    const enacted = await enact(
      engine,
      {
        dryRun: wish.dryRun === true,
        onConflict: choicesOf(wish),
        compose: (scratch, now) => work.compose(scratch, now),
        draft: () => ({
          ...draftOf('reject', wish.session, work.rejected, wish.comment),
          git: engine.user.position(),
        }),
        beside: (batch, result) => storeReview(batch, work.stateAfter(result), (blob) => work.read(blob)),
      },
      lock,
    )
    return {
      ...enacted,
      conflicts: [...work.conflicts, ...enacted.conflicts],
      rejected: hunksOf(work.rejected),
    }
  } catch (error) {
    if (!(error instanceof Contested)) throw error
    const isKept = error.conflicts.every(({ path }) => contestChoice(wish, path) === 'keep')
    const kind = isKept ? (wish.dryRun === true ? 'planned' : 'done') : 'conflicts'
    return { kind, files: [], conflicts: error.conflicts, rejected: [] }
  }
}

/** One rejection on its way to the disk. Composed anew whenever somebody saved a file in between. */
class Rejecting {
  readonly #engine: Engine
  readonly #wish: DecideWish
  #chosen: readonly ChosenFile[]
  #folded: Folded | undefined
  #objects: Objects
  #undisputed = new Map<RelPath, PendingPath['undisputed']>()
  #baselines = new Map<RelPath, Entry>()
  conflicts: readonly Conflict[] = []
  /** Of what was chosen, all but the hunks that are kept because somebody has edited inside. */
  rejected: readonly ChosenFile[] = []

  constructor(engine: Engine, wish: DecideWish, chosen: readonly ChosenFile[]) {
    this.#engine = engine
    this.#wish = wish
    this.#chosen = chosen
    this.#objects = engine.objects
  }

  async compose(scratch: MergeScratch, now: LastKnown): Promise<Composition> {
    const standing = standingOf(this.#engine, this.#wish.session)
    const { folded } = standing
    this.#folded = folded
    this.#objects = scratch
    this.#chosen = chosenAgain(this.#engine, standing, this.#wish, hunksOf(this.#chosen), 'reject')
    this.#undisputed = new Map()
    this.#baselines = new Map()
    const conflicts: Conflict[] = []
    const rejected: ChosenFile[] = []
    const wanted = new Map<RelPath, Entry>()
    for (const { file, chosen } of this.#chosen) {
      const content = this.#wish.results?.get(file.path)
      const choice = contestChoice(this.#wish, file.path)
      const onContest = content === undefined ? choice : { content }
      const done = rejectIn(folded.contents, file, chosen, onContest)
      conflicts.push(...done.conflicts)
      if (done.baseline !== undefined)
        this.#baselines.set((done.rename ? file.from : undefined) ?? file.path, done.baseline.entry)
      const keeps = choice === 'keep' && done.conflicts.length > 0
      const gone = keeps ? chosen.filter(({ hunk }) => !hunk.contested) : chosen
      if (gone.length > 0) rejected.push({ file, chosen: gone })
      const back = done.rename ? file.from : undefined
      if (back !== undefined) wanted.set(file.path, undefined)
      wanted.set(back ?? file.path, done.entry)
      this.#undisputed.set(back ?? file.path, done.undisputed)
    }
    const blocked = blockedIn(scratch, now.state, wanted)
    for (const [path, other] of blocked) conflicts.push(inTheWay(path, other))
    const isPossible = ({ file }: ChosenFile) =>
      !blocked.has(file.path) && (file.from === undefined || !blocked.has(file.from))
    for (const { file } of this.#chosen.filter((one) => !isPossible(one))) this.#leave(file, wanted)
    this.conflicts = conflicts
    this.rejected = rejected.filter(isPossible)
    const isOpen = ({ path }: Conflict) => contestChoice(this.#wish, path) === 'abort'
    if (conflicts.some(isOpen) || (conflicts.length > 0 && this.rejected.length === 0))
      throw new Contested(conflicts)
    const { session } = this.#wish
    const state = place(this.#engine, scratch, folded.contents, session, now.state, wanted)
    return { state, stages: [], states: [], conflicts: [], merged: new Set() }
  }

  #leave({ path, from, undisputed }: PendingFile, wanted: Map<RelPath, Entry>): void {
    wanted.delete(path)
    if (from !== undefined) wanted.delete(from)
    this.#undisputed.set(path, undisputed)
  }

  stateAfter(result: State): ReviewState {
    const folded = this.#folded
    if (folded === undefined) throw new Error('nothing was composed')
    const pending = new Map(folded.state.pending)
    for (const [path, undisputed] of this.#undisputed) {
      const { undisputed: _, ...rest } = pending.get(path) ?? { baseline: undefined }
      const baseline = this.#baselines.has(path) ? { baseline: this.#baselines.get(path) } : {}
      pending.set(path, { ...rest, ...baseline, ...optional('undisputed', undisputed) })
    }
    const left = settledPaths(pending, (path) => entryAt(this.#objects, result, path))
    const state = withRejections(
      this.#engine,
      { ...folded.state, pending: left },
      this.rejected,
      this.#wish.comment,
    )
    return decidedState(this.#engine, folded, state, hunksOf(this.rejected), result, this.#objects)
  }

  read(blob: Parameters<Folded['contents']['read']>[0]): Buffer {
    if (this.#folded === undefined) throw new Error('nothing was composed')
    return this.#folded.contents.read(blob)
  }
}

function withRejections(
  engine: Engine,
  state: ReviewState,
  chosen: readonly ChosenFile[],
  comment: string | undefined,
): ReviewState {
  const rejections = chosen.flatMap(({ file, chosen: hunks }) =>
    hunks.map(({ hunk }): Rejection => {
      const { edit, id, path, turns } = hunk
      const text = (lines: readonly string[] | undefined, from = 0, to = 0) =>
        lines?.slice(from, to).join('') ?? ''
      return {
        hunk: id,
        path,
        ...optional('from', file.from),
        turns,
        ...optional('comment', comment),
        removed: text(file.old, edit?.start, edit?.end),
        added: text(file.fresh, edit?.from, edit?.to),
        atMs: engine.now(),
      }
    }),
  )
  return { ...state, rejections: [...state.rejections, ...rejections] }
}

// ---- taking a decision back ----------------------------------------------------------------------------------------

/** Whether an operation is a word on the review alone: nothing of it is in the files. */
export function isDecisionAlone(engine: Engine, op: OpId): boolean {
  const operation = engine.log.index.findOperation(op)
  if (operation?.record.reviewed !== true) return false
  return operation.before.tree === operation.after.tree && operation.before.attrs === operation.after.attrs
}

/** Takes back acceptances, proposals, or the taking back of them, the newest first: the same hunks are pending again. */
export async function takeBack(
  engine: Engine,
  ops: readonly OpId[],
  wish: { readonly dryRun?: boolean; readonly paths?: readonly RelPath[] },
  lock: Exclusive,
): Promise<{ readonly op?: OpId; readonly session: SessionId }> {
  const operations = ops.flatMap((op) => engine.log.index.findOperation(op) ?? [])
  const session = operations[0]?.record.session
  if (session === undefined) throw unknownId(ops[0] ?? '', 'decision')
  await look(engine, session, lock)
  let done: OpId | undefined
  for (const { record } of operations.sort((a, b) => b.record.seq - a.record.seq)) {
    const { folded } = standingOf(engine, record.session ?? session)
    const state = invertedState(engine, folded, record.id, wish.paths)
    if (wish.dryRun === true) continue
    const draft: Draft = { kind: 'rollback', session: record.session ?? session, of: record.id, stages: [] }
    done = appendDecision(engine, folded, state, draft, lock)
  }
  return { session, ...optional('op', done) }
}

function invertedState(
  engine: Engine,
  folded: Folded,
  op: OpId,
  only: readonly RelPath[] | undefined,
): ReviewState {
  const { state, contents, files } = folded
  const move = state.moves.findLast((one) => one.way === 'in' && one.ops.includes(op))
  if (move === undefined) throw unknownId(op, 'decision that can still be taken back')
  const isMeant = (path: RelPath) => only === undefined || only.length === 0 || isAmong(path, only)
  const meant = moveWithout(move, (path) => !isMeant(path))
  const pending = new Map(state.pending)
  for (const [path, ends] of meant.paths) {
    const file = entryAt(engine.objects, files, path)
    const back = wentBack(contents, ends, { pending: pending.get(path), file }, file)
    if (back.overlaps) throw cannotTakeBack(path)
    pending.set(path, back.pending)
  }
  const gone = new Set(meant.rejected ?? [])
  const rest = moveWithout(move, isMeant)
  const next: ReviewState = {
    ...state,
    pending: settledPaths(pending, (path) => entryAt(engine.objects, files, path)),
    proposals: proposalsWithout(state.proposals, meant.proposals ?? []),
    rejections: state.rejections.filter(({ hunk, path }) => !gone.has(hunk) || !isMeant(path)),
    known: knownAgain(state.known, meant.known),
    moves: state.moves.flatMap((one) => (one !== move ? one : isNothing(rest) ? [] : rest)),
  }
  return decidedState(engine, folded, next, [], files, engine.objects)
}

function isAmong(path: RelPath, paths: readonly RelPath[]): boolean {
  return paths.some((one) => path === one || path.startsWith(`${one}/`))
}

function moveWithout(move: BaselineMove, isLeftOut: (path: RelPath) => boolean): BaselineMove {
  const paths = new Map([...move.paths].filter(([path]) => !isLeftOut(path)))
  const proposals = move.proposals?.filter(({ before, after }) => {
    const path = (before ?? after)?.path
    return path !== undefined && !isLeftOut(path)
  })
  return { ...move, paths, ...optional('proposals', proposals) }
}

function isNothing({ paths, proposals = [] }: BaselineMove): boolean {
  return paths.size === 0 && proposals.length === 0
}

function cannotTakeBack(path: RelPath) {
  const conflict = {
    path,
    kind: 'content',
    ours: null,
    theirs: null,
    message: 'Later decisions stand on this one.',
    later: [],
  }
  return conflictsError([conflict], {})
}
