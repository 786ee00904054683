/**
 * What a session's review is at one moment. Beside the record of a decision it is stored as a folder: `state.json`, and
 * `blobs` with every content that it names, so that a decision needs nothing but its own commit to be understood.
 */

import { bytesOfText, textOfBytes } from '../errors.ts'
import type { ObjectBatch, Objects } from '../store/objects.ts'
import type { BlobId, FileState, OpId, RelPath, TreeId, TurnId } from '../values.ts'
import { optional, pathOf } from './record.ts'
import { Shape } from './shape.ts'

/** What stands at a path; undefined: nothing does. */
export type Entry = FileState | undefined

/** A path on which the baseline and the files differ. */
export interface PendingPath {
  /** What the user has accepted, with the user's own edits folded in. */
  readonly baseline: Entry
  /** What it would be without the user's edits that overlap the agent's. Absent: there are none. */
  readonly undisputed?: { readonly entry: Entry }
  /** The agent renamed it from here. */
  readonly from?: RelPath
  /**
   * For a renamed file: what it would be without any edit of the user's. While it is one file with its old name, such
   * edits are folded into the baseline there; with a new file under that name they would be nobody's.
   */
  readonly alone?: { readonly entry: Entry }
  /** The name before a rename that was accepted: what is purged there has to go from here as well. */
  readonly formerly?: RelPath
}

/** A path before and after its baseline moved. */
export interface Ends {
  readonly before: Entry
  readonly after: Entry
  /** The agent's own version, where the user's edits were mixed with it before or after. */
  readonly agents?: { readonly before: Entry; readonly after: Entry }
  /** For a renamed file. */
  readonly renamed?: {
    readonly from: RelPath
    readonly alone?: { readonly entry: Entry }
  }
  readonly formerly?: RelPath
}

/** How the baseline of some paths moved with an operation: its inverse moves it back. */
export interface BaselineMove {
  /** What went in or out of the files. A decision names itself. */
  readonly ops: readonly OpId[]
  readonly way: 'in' | 'out'
  readonly paths: ReadonlyMap<RelPath, Ends>
  /** Only these paths of the operations. */
  readonly only?: readonly RelPath[]
  readonly proposals?: readonly ProposalMove[]
  /** Hunks that it rejected. */
  readonly rejected?: readonly string[]
  /** Numbers of hunks that were alike, as they were before: taken back, each hunk has its old one again. */
  readonly known?: ReadonlyMap<RelPath, readonly KnownHunk[]>
}

/** What was accepted when a step of the session began, where that was not what the files had. Undo asks for it. */
export interface StepBaseline {
  readonly op: OpId
  readonly paths: ReadonlyMap<RelPath, BaselineThen>
}

export interface BaselineThen {
  readonly entry: Entry
  /** For a renamed file: the name under which it was accepted. */
  readonly from?: RelPath
  /** The agent's own version, where the user had edited inside. */
  readonly undisputed?: { readonly entry: Entry }
}

/** A proposal that came, went or shrank. */
export interface ProposalMove {
  readonly id: string
  readonly before?: Proposal
  readonly after?: Proposal
}

/** A change that is offered and not on disk: `base` is what it was made from. */
export interface Proposal {
  readonly id: string
  readonly turn: TurnId
  readonly path: RelPath
  readonly base: Entry
  readonly content: Entry
  readonly group?: string
  readonly atMs: number
}

/** What was rejected, for the agent to read. */
export interface Rejection {
  readonly hunk: string
  readonly path: RelPath
  /** The name under which the file was accepted, where the agent had renamed it. */
  readonly from?: RelPath
  readonly turns: readonly TurnId[]
  readonly comment?: string
  readonly removed: string
  readonly added: string
  readonly atMs: number
}

/** The numbers that tell hunks with the same text apart; see review/hunks.ts. */
export interface KnownHunk {
  readonly fingerprint: string
  readonly ordinal: number
  readonly context: string
}

export interface ReviewState {
  readonly pending: ReadonlyMap<RelPath, PendingPath>
  readonly known: ReadonlyMap<RelPath, readonly KnownHunk[]>
  /** Oldest first; only the newest are kept. */
  readonly moves: readonly BaselineMove[]
  /** Oldest first; only the newest are kept. */
  readonly steps: readonly StepBaseline[]
  readonly proposals: readonly Proposal[]
  readonly rejections: readonly Rejection[]
  /** The user's commit up to which committed content was taken for accepted. */
  readonly committed?: string
}

export const emptyReview: ReviewState = {
  pending: new Map(),
  known: new Map(),
  moves: [],
  steps: [],
  proposals: [],
  rejections: [],
}

/** Stands for the id of the operation that the state is stored with: it is given out only then. */
export const self = 'self' as OpId

const mostMoves = 100
const mostSteps = 100
const mostRejections = 200

export function trimmed(state: ReviewState): ReviewState {
  return {
    ...state,
    moves: state.moves.slice(-mostMoves),
    steps: state.steps.slice(-mostSteps),
    rejections: state.rejections.slice(-mostRejections),
  }
}

/** Every content that the state needs. */
export function blobsOf(state: ReviewState): ReadonlySet<BlobId> {
  const blobs = new Set<BlobId>()
  const add = (entry: Entry) => {
    if (entry !== undefined) blobs.add(entry.blob)
  }
  for (const { baseline, undisputed, alone } of state.pending.values())
    for (const entry of [baseline, undisputed?.entry, alone?.entry]) add(entry)
  for (const { paths, proposals } of state.moves) {
    for (const { before, after, agents, renamed } of paths.values())
      for (const entry of [before, after, agents?.before, agents?.after, renamed?.alone?.entry]) add(entry)
    for (const { before, after } of proposals ?? [])
      for (const proposal of [before, after]) {
        add(proposal?.base)
        add(proposal?.content)
      }
  }
  for (const { paths } of state.steps)
    for (const { entry, undisputed } of paths.values()) for (const one of [entry, undisputed?.entry]) add(one)
  for (const { base, content } of state.proposals) {
    add(base)
    add(content)
  }
  return blobs
}

/** Puts the state into a batch, with the contents that only the review has. */
export function storeReview(
  batch: ObjectBatch,
  state: ReviewState,
  bytesOf: (blob: BlobId) => Uint8Array,
): TreeId {
  const blobs = [...blobsOf(state)].map((id) => {
    if (!batch.holds(id)) batch.blob(bytesOf(id))
    return { name: id as string, mode: '100644' as const, id }
  })
  return batch.tree([
    { name: 'state.json', mode: '100644', id: batch.blob(Buffer.from(serializeReview(state), 'utf8')) },
    ...(blobs.length === 0 ? [] : [{ name: 'blobs', mode: '40000' as const, id: batch.tree(blobs) }]),
  ])
}

export function readReview(objects: Objects, tree: TreeId): ReviewState {
  const json = objects.readTree(tree).find((entry) => entry.name === 'state.json')
  return json === undefined ? emptyReview : parseReview(objects.readBlob(json.id as BlobId).toString('utf8'))
}

/** The state as if these paths had never been reviewed: for purge. */
export function reviewWithout(state: ReviewState, isGone: (path: RelPath) => boolean): ReviewState {
  const stays = ({ path, from }: { readonly path: RelPath; readonly from?: RelPath }) =>
    !isGone(path) && (from === undefined || !isGone(from))
  const kept = <T>(map: ReadonlyMap<RelPath, T>, from: (one: T) => RelPath | undefined = () => undefined) =>
    new Map([...map].filter(([path, one]) => stays({ path, ...optional('from', from(one)) })))
  return {
    ...state,
    pending: kept(state.pending, ({ from, formerly }) => from ?? formerly),
    known: kept(state.known),
    moves: state.moves.map((move) => ({
      ...move,
      paths: kept(move.paths, ({ renamed, formerly }) => renamed?.from ?? formerly),
      ...optional('known', move.known && kept(move.known)),
      ...optional(
        'proposals',
        move.proposals?.filter(({ before, after }) => [before, after].every((one) => !one || stays(one))),
      ),
    })),
    steps: state.steps.map(({ op, paths }) => ({ op, paths: kept(paths, ({ from }) => from) })),
    proposals: state.proposals.filter(stays),
    rejections: state.rejections.filter(stays),
  }
}

// ---- as text -------------------------------------------------------------------------------------------------------

export function serializeReview(state: ReviewState): string {
  return JSON.stringify({
    version: 1,
    pending: [...state.pending].map(([path, { baseline, undisputed, from, alone, formerly }]) => ({
      path: textOfBytes(path),
      ...optional('from', maybeText(from)),
      ...optional('formerly', maybeText(formerly)),
      ...optional('baseline', baseline),
      ...optional('undisputed', undisputed),
      ...optional('alone', alone),
    })),
    known: knownJson(state.known),
    moves: state.moves.map(({ paths, proposals, only, known, ...move }) => ({
      ...move,
      ...optional('known', known && knownJson(known)),
      ...optional('only', only?.map(textOfBytes)),
      paths: [...paths].map(([path, { renamed, formerly, ...ends }]) => ({
        path: textOfBytes(path),
        ...ends,
        ...optional('formerly', maybeText(formerly)),
        ...optional('renamed', renamed && { ...renamed, from: textOfBytes(renamed.from) }),
      })),
      ...optional(
        'proposals',
        proposals?.map(({ id, before, after }) => ({
          id,
          ...optional('before', before && withTextPath(before)),
          ...optional('after', after && withTextPath(after)),
        })),
      ),
    })),
    steps: state.steps.map(({ op, paths }) => ({
      op,
      paths: [...paths].map(([path, { entry, from, undisputed }]) => ({
        path: textOfBytes(path),
        entry,
        ...optional('undisputed', undisputed),
        ...optional('from', maybeText(from)),
      })),
    })),
    proposals: state.proposals.map(withTextPath),
    rejections: state.rejections.map((one) => ({
      ...withTextPath(one),
      ...optional('from', maybeText(one.from)),
      removed: textOfBytes(one.removed),
      added: textOfBytes(one.added),
    })),
    ...optional('committed', state.committed),
  })
}

function knownJson(known: ReviewState['known']): readonly object[] {
  return [...known].map(([path, hunks]) => ({ path: textOfBytes(path), hunks }))
}

function maybeText(path: RelPath | undefined): string | undefined {
  return path === undefined ? undefined : textOfBytes(path)
}

function withTextPath<T extends { readonly path: RelPath }>(one: T): Omit<T, 'path'> & { path: string } {
  return { ...one, path: textOfBytes(one.path) }
}

export function parseReview(json: string): ReviewState {
  const shape = Shape.parse(json, 'state.json')
  return {
    pending: new Map(shape.objects('pending').map((one) => [pathIn(one), pendingOf(one)])),
    known: knownIn(shape),
    moves: shape.objects('moves').map(moveOf),
    steps: shape.has('steps') ? shape.objects('steps').map(stepOf) : [],
    proposals: shape.objects('proposals').map(proposalOf),
    rejections: shape.objects('rejections').map(rejectionOf),
    ...optional('committed', shape.maybeText('committed')),
  }
}

function knownIn(shape: Shape): ReviewState['known'] {
  return new Map(shape.objects('known').map((one) => [pathIn(one), one.objects('hunks').map(knownOf)]))
}

function pathIn(shape: Shape): RelPath {
  return pathOf(shape.text('path'))
}

function pendingOf(shape: Shape): PendingPath {
  return {
    ...optional('from', maybePath(shape, 'from')),
    ...optional('formerly', maybePath(shape, 'formerly')),
    baseline: entryOf(shape.maybeObject('baseline')),
    ...optional('undisputed', maybeEntry(shape, 'undisputed')),
    ...optional('alone', maybeEntry(shape, 'alone')),
  }
}

function maybePath(shape: Shape, key: string): RelPath | undefined {
  const text = shape.maybeText(key)
  return text === undefined ? undefined : pathOf(text)
}

/** An entry that may be known to be nothing, or not be known at all. */
function maybeEntry(shape: Shape, key: string): { readonly entry: Entry } | undefined {
  const found = shape.maybeObject(key)
  return found === undefined ? undefined : { entry: entryOf(found.maybeObject('entry')) }
}

function entryOf(shape: Shape | undefined): Entry {
  if (shape === undefined) return undefined
  const blob = shape.text('blob') as BlobId
  return shape.oneOf('kind', ['file', 'link']) === 'link'
    ? { kind: 'link', blob }
    : { kind: 'file', perm: shape.whole('perm', 0, 0o777), blob }
}

function knownOf(shape: Shape): KnownHunk {
  return {
    fingerprint: shape.text('fingerprint'),
    ordinal: shape.number('ordinal'),
    context: shape.text('context'),
  }
}

function moveOf(shape: Shape): BaselineMove {
  return {
    ops: shape.texts('ops') as readonly OpId[],
    way: shape.oneOf('way', ['in', 'out']),
    paths: new Map(shape.objects('paths').map((one) => [pathIn(one), endsOf(one)])),
    ...optional('only', shape.has('only') ? shape.texts('only').map(pathOf) : undefined),
    ...optional(
      'proposals',
      shape.has('proposals') ? shape.objects('proposals').map(proposalMoveOf) : undefined,
    ),
    ...optional('rejected', shape.has('rejected') ? shape.texts('rejected') : undefined),
    ...optional('known', shape.has('known') ? knownIn(shape) : undefined),
  }
}

function stepOf(shape: Shape): StepBaseline {
  const paths = shape.objects('paths').map((one) => {
    const entry = entryOf(one.maybeObject('entry'))
    const undisputed = optional('undisputed', maybeEntry(one, 'undisputed'))
    return [pathIn(one), { entry, ...optional('from', maybePath(one, 'from')), ...undisputed }] as const
  })
  return { op: shape.text('op') as OpId, paths: new Map(paths) }
}

function endsOf(shape: Shape): Ends {
  const agents = shape.maybeObject('agents')
  const renamed = shape.maybeObject('renamed')
  return {
    ...sidesOf(shape),
    ...optional('agents', agents && sidesOf(agents)),
    ...optional('formerly', maybePath(shape, 'formerly')),
    ...optional(
      'renamed',
      renamed && { from: pathOf(renamed.text('from')), ...optional('alone', maybeEntry(renamed, 'alone')) },
    ),
  }
}

function sidesOf(shape: Shape): { readonly before: Entry; readonly after: Entry } {
  return { before: entryOf(shape.maybeObject('before')), after: entryOf(shape.maybeObject('after')) }
}

function proposalMoveOf(shape: Shape): ProposalMove {
  const side = (key: string) => {
    const found = shape.maybeObject(key)
    return found === undefined ? undefined : proposalOf(found)
  }
  return {
    id: shape.text('id'),
    ...optional('before', side('before')),
    ...optional('after', side('after')),
  }
}

/** The numbers with those that a move is taken back with. */
export function knownAgain(
  known: ReviewState['known'],
  back: ReviewState['known'] = new Map(),
): ReviewState['known'] {
  const all = new Map(known)
  for (const [path, hunks] of back) {
    const isBack = new Set(hunks.map(({ fingerprint, ordinal }) => `${fingerprint} ${ordinal}`))
    const others = (known.get(path) ?? []).filter((one) => !isBack.has(`${one.fingerprint} ${one.ordinal}`))
    all.set(path, [...others, ...hunks])
  }
  return all
}

/** What became of the proposals. */
export function proposalMoves(
  before: readonly Proposal[],
  after: readonly Proposal[],
): readonly ProposalMove[] | undefined {
  const was = new Map(before.map((proposal) => [proposal.id, proposal]))
  const is = new Map(after.map((proposal) => [proposal.id, proposal]))
  const moves = [...new Set([...was.keys(), ...is.keys()])]
    .filter((id) => was.get(id) !== is.get(id))
    .map((id) => ({ id, ...optional('before', was.get(id)), ...optional('after', is.get(id)) }))
  return moves.length === 0 ? undefined : moves
}

/** The proposals with these moves taken back, in the order in which they were made. */
export function proposalsWithout(
  proposals: readonly Proposal[],
  moves: readonly ProposalMove[],
): readonly Proposal[] {
  const back = new Set(moves.map(({ id }) => id))
  const others = proposals.filter(({ id }) => !back.has(id))
  return [...others, ...moves.flatMap(({ before }) => before ?? [])].sort((a, b) => a.atMs - b.atMs)
}

function proposalOf(shape: Shape): Proposal {
  return {
    id: shape.text('id'),
    turn: shape.text('turn') as TurnId,
    path: pathIn(shape),
    base: entryOf(shape.maybeObject('base')),
    content: entryOf(shape.maybeObject('content')),
    ...optional('group', shape.maybeText('group')),
    atMs: shape.number('atMs'),
  }
}

function rejectionOf(shape: Shape): Rejection {
  return {
    hunk: shape.text('hunk'),
    path: pathIn(shape),
    ...optional('from', maybePath(shape, 'from')),
    turns: shape.texts('turns') as readonly TurnId[],
    ...optional('comment', shape.maybeText('comment')),
    removed: bytesOfText(shape.text('removed')),
    added: bytesOfText(shape.text('added')),
    atMs: shape.number('atMs'),
  }
}
