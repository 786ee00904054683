/** Proposals: changes that are offered and not on disk. The file is one step behind, the rest is the same. */

import { UnturnError } from '../errors.ts'
import { capture } from '../history/capture.ts'
import type { Composition } from '../history/compose.ts'
import { choicesOf, type EarlierPart, type Enacted, enact } from '../history/enact.ts'
import type { Engine } from '../history/engine.ts'
import type { LastKnown } from '../history/observe.ts'
import type { Conflict, FileOutcome } from '../history/outcome.ts'
import { requireTurn } from '../history/recording.ts'
import type { State } from '../history/snapshots.ts'
import { type Draft, optional } from '../log/record.ts'
import {
  type Ends,
  type Entry,
  type PendingPath,
  type Proposal,
  proposalMoves,
  type ReviewState,
  self,
  storeReview,
  trimmed,
} from '../log/review-record.ts'
import type { MergeScratch } from '../store/merge.ts'
import type { ObjectBatch, Objects } from '../store/objects.ts'
import {
  type Exclusive,
  flawOfRelPath,
  type OpId,
  type RelPath,
  type SessionId,
  type StepId,
  type TreeId,
  type TurnId,
} from '../values.ts'
import { badPath } from '../workspace/locate.ts'
import { type ChosenFile, hunkGone } from './choose.ts'
import { type Contents, carriedOn, mergeEntries, sameEntry } from './contents.ts'
import { acceptIn, contestChoice, inTheWay, proposalConflict, rejectIn } from './decide.ts'
import { endsBetween, type Moment } from './ends.ts'
import { entryAt, type Folded, namedAs } from './fold.ts'
import { layersOf, topOf } from './layers.ts'
import { diffLines } from './lines.ts'
import { blockedIn, place } from './place.ts'
import { appendDecision, Contested, type DecideWish, decidedState, standingOf } from './standing.ts'
import { mergeLines, withMarkers } from './text-merge.ts'

export interface ProposeWish {
  readonly turn: TurnId
  readonly path: RelPath
  /** What the file is to be; null: gone. */
  readonly content: Buffer | null
  readonly executable?: boolean
  /** Proposals with the same name are accepted or rejected as one. */
  readonly group?: string
}

export interface Proposed {
  readonly op: OpId
  readonly session: SessionId
  readonly proposal: string
}

export async function propose(engine: Engine, wish: ProposeWish, lock: Exclusive): Promise<Proposed> {
  const { session } = requireTurn(engine, wish.turn)
  const flaw = flawOfRelPath(wish.path)
  if (flaw !== undefined) throw badPath(engine.root, wish.path, flaw)
  await capture(engine, { paths: [wish.path] }, lock)
  const { folded } = standingOf(engine, session)
  const proposal = proposalOf(engine, folded, wish)
  if (sameEntry(proposal.base, proposal.content)) throw nothingProposed(wish.path)
  const state = { ...folded.state, proposals: [...folded.state.proposals, proposal] }
  const next = decidedState(engine, folded, state, [], folded.files, engine.objects)
  const draft = {
    kind: 'propose' as const,
    session,
    turn: wish.turn,
    proposal: proposal.id,
    paths: [wish.path],
  }
  return { op: appendDecision(engine, folded, next, draft, lock), session, proposal: proposal.id }
}

function proposalOf(engine: Engine, folded: Folded, wish: ProposeWish): Proposal {
  const { contents, files } = folded
  const disk = entryAt(engine.objects, files, wish.path)
  const top = topOf(engine.objects, folded, wish.path)
  const content = contentOf(engine, contents, wish, top ?? disk)
  return {
    id: engine.newId('s').replace(/^s/, 'p'),
    turn: wish.turn,
    path: wish.path,
    base: nearest(contents, disk, top, content),
    content,
    ...optional('group', wish.group),
    atMs: engine.now(),
  }
}

function contentOf(engine: Engine, contents: Contents, wish: ProposeWish, now: Entry): Entry {
  if (wish.content === null) return undefined
  const { exec, file } = engine.defaultPerms
  const usual = wish.executable === true ? exec : file
  const perm = now?.kind === 'file' && wish.executable === undefined ? now.perm : usual
  return { kind: 'file', perm, blob: contents.keep(wish.content) }
}

/**
 * What the agent has made it from: the file, or the file with what it proposed before. Nobody says which; it is the
 * one that the new content differs less from.
 */
function nearest(contents: Contents, disk: Entry, top: Entry, content: Entry): Entry {
  if (sameEntry(disk, top)) return disk
  const [d, t, c] = [disk, top, content].map((entry) => contents.lines(entry))
  if (d === undefined || t === undefined || c === undefined) return top
  return distance(d, c) < distance(t, c) ? disk : top
}

function distance(a: readonly string[], b: readonly string[]): number {
  return diffLines(a, b).reduce((sum, edit) => sum + edit.end - edit.start + edit.to - edit.from, 0)
}

function nothingProposed(path: RelPath): UnturnError {
  return new UnturnError(
    'bad-usage',
    { path },
    {
      message: 'The proposed content is what the file already has. Nothing was recorded.',
      hint: 'Hand in the content that the file is to have.',
    },
  )
}

// ---- accept --------------------------------------------------------------------------------------------------------

export interface Written {
  readonly kind: Enacted['kind']
  readonly ops: readonly OpId[]
  readonly files: readonly FileOutcome[]
  readonly conflicts: readonly Conflict[]
  readonly patch?: string
  /** Proposals that stay pending, since somebody's newer edits overlap them. */
  readonly left: ReadonlySet<string>
}

/** Writes proposals to the disk, as steps of the turns that made them. All of them, or in a conflict none. */
export async function acceptProposals(
  engine: Engine,
  wish: DecideWish,
  chosen: readonly ChosenFile[],
  lock: Exclusive,
): Promise<Written> {
  if (chosen.length === 0) return { kind: 'done', ops: [], files: [], conflicts: [], left: new Set() }
  const first = composed(engine.objects, standingOf(engine, wish.session).folded, chosen, wish)
  const { conflicts, left } = first
  if (conflicts.some(({ path }) => contestChoice(wish, path) === 'abort'))
    return { kind: 'conflicts', ops: [], files: [], conflicts, left }
  const taken = chosen.filter(({ file }) => !left.has(file.proposal?.id ?? ''))
  if (taken.length === 0) return { kind: plannedOrDone(wish), ops: [], files: [], conflicts, left }
  const enacted = await new Accepting(engine, wish, taken).run(lock)
  if (enacted.kind === 'conflicts') return { ...enacted, ops: [], left }
  return {
    kind: enacted.kind,
    ops: [...(enacted.earlier ?? []), ...(enacted.op === undefined ? [] : [enacted.op])],
    files: enacted.files,
    conflicts: [...(left.size > 0 ? conflicts : []), ...enacted.conflicts],
    left,
    ...optional('patch', enacted.patch),
  }
}

function plannedOrDone({ dryRun }: DecideWish): 'planned' | 'done' {
  return dryRun === true ? 'planned' : 'done'
}

/** What is taken of one turn's proposals, on top of the shares before it: a step of that turn. */
interface Share {
  readonly turn: TurnId
  readonly paths: readonly RelPath[]
  readonly state: State
}

/** Proposals of several turns are written at once: a step for each turn, and all of them or none. */
class Accepting {
  readonly #engine: Engine
  readonly #wish: DecideWish
  readonly #chosen: readonly ChosenFile[]
  #folded: Folded | undefined
  #objects: Objects
  #shares: readonly Share[] = []
  #conflicts: readonly Conflict[] = []

  constructor(engine: Engine, wish: DecideWish, chosen: readonly ChosenFile[]) {
    this.#engine = engine
    this.#wish = wish
    this.#chosen = chosen
    this.#objects = engine.objects
  }

  async run(lock: Exclusive): Promise<Enacted> {
    try {
      const enacted = await enact(
        this.#engine,
        {
          dryRun: this.#wish.dryRun === true,
          onConflict: choicesOf(this.#wish),
          compose: (scratch, now) => this.#compose(scratch, now),
          earlier: () => this.#shares.slice(0, -1).map((share) => this.#partOf(share)),
          draft: () => this.#draftOf(this.#lastShare()),
          beside: (batch, result) => this.#reviewBeside(batch, this.#lastShare(), result),
        },
        lock,
      )
      return { ...enacted, conflicts: [...this.#conflicts, ...enacted.conflicts] }
    } catch (error) {
      if (!(error instanceof Contested)) throw error
      return { kind: 'conflicts', files: [], conflicts: error.conflicts }
    }
  }

  async #compose(scratch: MergeScratch, now: LastKnown): Promise<Composition> {
    const { folded, pending } = standingOf(this.#engine, this.#wish.session)
    this.#folded = folded
    this.#objects = scratch
    const chosen = refreshed(this.#chosen, pending)
    const turns = [...new Set(chosen.map(({ file }) => turnOf(file)))]
    let before: ReadonlyMap<RelPath, Entry> = new Map()
    this.#shares = turns.map((turn, at) => {
      const soFar = new Set(turns.slice(0, at + 1))
      const wanted = this.#wanted(
        folded,
        chosen.filter(({ file }) => soFar.has(turnOf(file))),
      )
      const isNew = ([path, entry]: readonly [RelPath, Entry]) =>
        !before.has(path) || !sameEntry(before.get(path), entry)
      const paths = [...wanted].filter(isNew).map(([path]) => path)
      before = wanted
      const { session } = this.#wish
      return {
        turn,
        paths,
        state: place(this.#engine, scratch, folded.contents, session, now.state, wanted),
      }
    })
    const { state } = this.#lastShare()
    return { state, stages: [], states: [], conflicts: [], merged: new Set() }
  }

  #wanted(folded: Folded, chosen: readonly ChosenFile[]): ReadonlyMap<RelPath, Entry> {
    const { wanted, conflicts } = composed(this.#engine.objects, folded, chosen, this.#wish)
    if (conflicts.some(({ path }) => contestChoice(this.#wish, path) === 'abort'))
      throw new Contested(conflicts)
    this.#conflicts = conflicts
    return wanted
  }

  #lastShare(): Share {
    const share = this.#shares.at(-1)
    if (share === undefined) throw new Error('nothing was composed')
    return share
  }

  #partOf(share: Share): EarlierPart {
    return {
      state: share.state,
      draft: this.#draftOf(share),
      beside: (batch, result) => this.#reviewBeside(batch, share, result),
      named: (op) => this.#goOnFrom(op),
    }
  }

  #draftOf({ turn, paths }: Share): Draft {
    const engine = this.#engine
    const { agent, agentId, session } = requireTurn(engine, turn)
    return {
      kind: 'step',
      session,
      turn,
      step: engine.newId('s') as StepId,
      tool: 'accept',
      agent,
      ...optional('agentId', agentId),
      paths,
      certainty: 'exact',
      ended: true,
      beganMs: engine.now(),
      git: engine.user.position(),
    }
  }

  #reviewBeside(batch: ObjectBatch, { paths }: Share, result: State): TreeId {
    const folded = this.#standing()
    const state = stateAfter(this.#objects, folded, paths, result)
    this.#folded = { ...folded, state, files: result }
    return storeReview(batch, state, (blob) => folded.contents.read(blob))
  }

  // What the operation before did is found under its id, as if it had happened already.
  #goOnFrom(op: OpId): void {
    const folded = this.#standing()
    this.#folded = { ...folded, state: namedAs(folded.state, op) }
  }

  #standing(): Folded {
    if (this.#folded === undefined) throw new Error('nothing was composed')
    return this.#folded
  }
}

function turnOf({ proposal }: ChosenFile['file']): TurnId {
  return proposal?.turn ?? ('' as TurnId)
}

function stateAfter(
  objects: Objects,
  folded: Folded,
  written: readonly RelPath[],
  result: State,
): ReviewState {
  const pending = new Map(folded.state.pending)
  const paths = new Map<RelPath, Ends>()
  for (const path of written) {
    const was = { pending: pending.get(path), file: entryAt(objects, folded.files, path) }
    const file = entryAt(objects, result, path)
    const next = withWritten(folded.contents, was, file)
    if (next === undefined) pending.delete(path)
    else pending.set(path, next)
    paths.set(path, endsBetween(was, { pending: next, file }))
  }
  const left = layersOf(objects, { ...folded, files: result }).map(({ proposal }) => proposal.id)
  const proposals = folded.state.proposals.filter(({ id }) => left.includes(id))
  const move = {
    ops: [self],
    way: 'in' as const,
    paths,
    ...optional('proposals', proposalMoves(folded.state.proposals, proposals)),
  }
  return trimmed({ ...folded.state, pending, proposals, moves: [...folded.state.moves, move] })
}

/** What was written is accepted; what else was pending in the file stays so. */
function withWritten(
  contents: Contents,
  { pending, file: was }: Moment,
  file: Entry,
): PendingPath | undefined {
  if (pending === undefined) return undefined
  const { undisputed, alone, ...rest } = pending
  const baseline = mergeEntries(contents, was, pending.baseline, file).entry
  if (sameEntry(baseline, file)) return undefined
  const carried = (own: PendingPath['undisputed']) =>
    own === undefined ? undefined : { entry: carriedOn(contents, was, own.entry, file) }
  return {
    ...rest,
    baseline,
    ...optional('undisputed', carried(undisputed)),
    ...optional('alone', carried(alone)),
  }
}

// Somebody saved the file meanwhile: the same hunks, over the file as it is now.
function refreshed(
  chosen: readonly ChosenFile[],
  pending: readonly ChosenFile['file'][],
): readonly ChosenFile[] {
  return chosen.map((one) => {
    const file = pending.find(({ proposal }) => proposal?.id === one.file.proposal?.id)
    const chosen = one.chosen.map((choice) => {
      const hunk = file?.hunks.find(({ id }) => id === choice.hunk.id)
      if (hunk === undefined) throw hunkGone(choice.hunk.id)
      return { ...choice, hunk }
    })
    return { file: file ?? one.file, chosen }
  })
}

interface Composed {
  readonly wanted: ReadonlyMap<RelPath, Entry>
  readonly conflicts: readonly Conflict[]
  /** Proposals that are not in `wanted`, because of a conflict. */
  readonly left: ReadonlySet<string>
}

/** The chosen parts of all proposals, one on top of the other. */
function composed(
  objects: Objects,
  folded: Folded,
  chosen: readonly ChosenFile[],
  wish: DecideWish,
): Composed {
  const { contents, state } = folded
  const wanted = new Map<RelPath, Entry>()
  const conflicts: Conflict[] = []
  const left = new Set<string>()
  const order = state.proposals.map(({ id }) => id)
  const rank = ({ file }: ChosenFile) => order.indexOf(file.proposal?.id ?? '')
  for (const one of chosen.toSorted((a, b) => rank(a) - rank(b))) {
    const { file } = one
    const { path, proposal } = file
    if (proposal === undefined) continue
    const now = wanted.has(path) ? wanted.get(path) : entryAt(objects, folded.files, path)
    const accepted = acceptIn(contents, file, one.chosen).entry
    const { entry, overlaps } = mergeEntries(contents, file.baseline, now, accepted, 'theirs')
    if (!overlaps && !one.chosen.some(({ hunk }) => hunk.contested)) wanted.set(path, entry)
    else {
      conflicts.push(proposalConflict(contents, proposal, now))
      const choice = contestChoice(wish, path)
      if (choice === 'overwrite') wanted.set(path, entry)
      else if (choice === 'markers') wanted.set(path, marked(contents, proposal, now) ?? entry)
      else left.add(proposal.id)
    }
  }
  for (const [path, other] of blockedIn(objects, folded.files, wanted)) {
    conflicts.push(inTheWay(path, other))
    wanted.delete(path)
    for (const { file } of chosen) if (file.path === path && file.proposal) left.add(file.proposal.id)
  }
  return { wanted, conflicts, left }
}

function marked(contents: Contents, { base, content }: Proposal, now: Entry): Entry {
  const [b, o, t] = [base, now, content].map((entry) => contents.lines(entry))
  if (b === undefined || o === undefined || t === undefined || now?.kind !== 'file') return undefined
  return { ...now, blob: contents.keepLines(withMarkers(mergeLines(b, o, t, 'ours'), 'proposed')) }
}

// ---- reject --------------------------------------------------------------------------------------------------------

/** What is left of the proposals without these hunks. Nothing of them was on disk, and nothing is. */
export function rejectProposals(folded: Folded, chosen: readonly ChosenFile[]): ReviewState {
  const { contents, state } = folded
  const less = new Map<string, Proposal | undefined>()
  for (const { file, chosen: hunks } of chosen) {
    const { proposal } = file
    if (proposal === undefined) continue
    const without = rejectIn(contents, file, hunks, 'overwrite').entry
    const all = hunks.length === file.hunks.length && hunks.every(({ part }) => part === undefined)
    const content = mergeEntries(contents, file.current, proposal.content, without, 'theirs').entry
    const isDone = all || sameEntry(content, proposal.base)
    less.set(proposal.id, isDone ? undefined : { ...proposal, content })
  }
  const proposals = state.proposals.flatMap((proposal) =>
    less.has(proposal.id) ? (less.get(proposal.id) ?? []) : [proposal],
  )
  return { ...state, proposals }
}
