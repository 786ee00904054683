/**
 * The log: every operation is one commit in our repository, and the log is the truth. A session's operations are a
 * chain behind `refs/unturn/sessions/<id>`; the order across sessions is `seq`, given out under the lock.
 *
 *   commit ── tree ── before/  before.attrs      the workspace as it was
 *      │           ├─ after/   after.attrs       and as it is then
 *    parent        ├─ stages/  0/ 0.attrs …      on the way, for moves over several turns
 *                  ├─ skipped                    what was not captured
 *                  └─ op.json                    the record
 */

import { createHash } from 'node:crypto'
import { isFailure, UnturnError } from '../errors.ts'
import { errorCode, type FileStat, type Fs } from '../fs.ts'
import { stampOfStat } from '../store/folder-stamps.ts'
import type { ObjectBatch, ObjectStore } from '../store/objects.ts'
import { deleteRef, type RefSurvey, readRef, surveyRefs, writeRef } from '../store/refs.ts'
import type { TreeEntry } from '../store/trees.ts'
import {
  type AbsPath,
  type BlobId,
  type CommitId,
  type Exclusive,
  joinAbs,
  type OpId,
  type SessionId,
  type Snapshot,
  type TreeId,
} from '../values.ts'
import { CommitChain, inOrder, type Logged } from './chains.ts'
import { IndexDb } from './index-db.ts'
import { type Draft, type OperationRecord, optional, parseRecord, serializeRecord } from './record.ts'
import type { NewChange, Operation } from './rows.ts'
import { isDamaged, sqliteCode } from './sqlite.ts'

const refPrefix = 'refs/unturn/sessions/'

export interface LogSurroundings {
  readonly fs: Fs
  /** The store's folder. */
  readonly folder: AbsPath
  readonly objects: ObjectStore
  readonly now: () => number
  readonly newId: (letter: 't' | 's' | 'o') => string
}

/** The snapshots of a new operation. */
export interface Taken {
  readonly before: Snapshot
  readonly after: Snapshot
  readonly skipped: BlobId
  /** The state after each stage of a move. */
  readonly stages?: readonly Snapshot[]
  /** What the session's review is after it; see review-record.ts. */
  readonly review?: TreeId
}

/** An operation that is stored, but that no ref names yet: it has not happened. */
export interface Unpublished {
  readonly commit: CommitId
  readonly ref: string
  readonly operation: Operation
}

/** An operation that stays, and the tree that its new commit names. */
export interface Rewritten {
  readonly seq: number
  /** As it was before. */
  readonly commit: CommitId
  readonly tree: TreeId
  /** Whether the changes that the index has of it are still true. */
  readonly isDescribed: boolean
}

export class Log implements Disposable {
  readonly #surroundings: LogSurroundings
  #index: IndexDb
  #rebuilt = false
  #refsSeen = ''
  /** The same without regard to the clock. Empty: the index may not have all that the refs have. */
  #refsStamp = ''
  #wholeUnder: Exclusive | undefined
  #broken: ReadonlyMap<string, UnturnError> = new Map()
  #withheld = 0
  #published = 0

  private constructor(surroundings: LogSurroundings, index: IndexDb) {
    this.#surroundings = surroundings
    this.#index = index
  }

  static open(surroundings: LogSurroundings): Log {
    const { fs, folder } = surroundings
    try {
      return new Log(surroundings, openIndex(fs, folder))
    } catch (error) {
      if (!isDamaged(error)) throw error
      removeIndex(fs, folder)
      return new Log(surroundings, openIndex(fs, folder))
    }
  }

  get index(): IndexDb {
    return this.#index
  }

  /** How many operations this process has made happen. */
  get published(): number {
    return this.#published
  }

  /** True when the index had to be made anew from the log since this log was opened. */
  get rebuilt(): boolean {
    return this.#rebuilt
  }

  // ---- writing ---------------------------------------------------------------------------------------------------

  /**
   * Stores the operation durably, together with everything in the batch, without making it happen. `behind`: an operation
   * of the same session that was prepared before it; both happen when this one does, or neither.
   */
  prepare(
    batch: ObjectBatch,
    draft: Draft,
    taken: Taken,
    lock: Exclusive,
    behind?: Unpublished,
  ): Unpublished {
    this.heal(lock)
    this.requireSound(draft.session)
    const { now, newId } = this.#surroundings
    const record = asRead({
      ...draft,
      ...optional('reviewed', taken.review === undefined ? undefined : true),
      id: newId('o') as OpId,
      seq: (behind?.operation.record.seq ?? this.#index.lastSeq() + this.#withheld) + 1,
      atMs: now(),
    } as OperationRecord)
    const ref = refOf(record.session)
    const parent = behind?.commit ?? this.#readRef(ref)
    const commit = batch.commit({
      tree: operationTree(batch, record, taken),
      parents: parent === undefined ? [] : [parent],
      message: `${record.kind} ${record.id}\n`,
      atSeconds: Math.floor(record.atMs / 1000),
    })
    batch.flush()
    const { before, after, skipped } = taken
    return { commit, ref, operation: { record, commit, before, after, skipped } }
  }

  /**
   * Makes a prepared operation happen, and those that were prepared before it. Idempotent: recovery may call it again.
   * Throws only when nothing has happened: whoever applied it to the files takes them back then.
   */
  publish(commit: CommitId, ref: string, _lock: Exclusive): readonly Operation[] {
    const tip = this.#readRef(ref)
    const operations = this.#newUpTo(commit, tip === commit ? undefined : { tip, ref })
    if (tip !== commit) this.#moveRef(ref, commit)
    this.#take(operations, ref)
    return operations
  }

  /**
   * The operations that the index lacks, to this one, oldest first. Two with one parent would split a session's chain, and
   * one of them would be lost: where the ref has not moved yet, the first has to follow the ref's tip.
   */
  #newUpTo(commit: CommitId, from: { readonly tip: CommitId | undefined; readonly ref: string } | undefined) {
    const operations = [this.readOperation(commit)]
    let before = this.#parentOf(commit)
    while (before !== undefined && before !== from?.tip && !this.#index.hasCommit(before)) {
      operations.unshift(this.readOperation(before))
      before = this.#parentOf(before)
    }
    if (from === undefined || before === from.tip) return operations
    const { ref } = from
    throw damaged(`The session's history (${ref}) has moved on since this operation was prepared.`, ref)
  }

  #parentOf(commit: CommitId): CommitId | undefined {
    return this.#surroundings.objects.readCommit(commit).parents[0]
  }

  // The new tip may be in place although syncing its folder failed; then it has happened.
  #moveRef(ref: string, commit: CommitId): void {
    const { fs, objects } = this.#surroundings
    this.#refsStamp = ''
    try {
      writeRef(fs, objects.folder, ref, commit)
    } catch (error) {
      if (this.#readRef(ref) !== commit) throw error
    }
    this.#published += 1
  }

  // The ref is the commit point. An index that cannot be written now is brought up to the log at the next look.
  #take(operations: readonly Operation[], ref: string): void {
    try {
      const missing = operations.filter(({ commit }) => !this.#index.hasCommit(commit))
      if (missing.length > 0)
        this.#index.atomically(() => {
          for (const operation of missing) this.#index.project(operation, ref)
        })
      this.#rememberRefs()
    } catch (error) {
      if (sqliteCode(error) === undefined) throw error
      this.#forgetRefs()
    }
  }

  append(
    batch: ObjectBatch,
    draft: Draft,
    taken: Taken,
    lock: Exclusive,
    changes?: readonly NewChange[],
  ): Operation {
    return this.happen(this.prepare(batch, draft, taken, lock), changes)
  }

  /**
   * Makes an operation happen that has just been prepared, under the same lock. What it changed goes into the index with
   * it, where that is known already: a second transaction would take as long as the first.
   */
  happen({ commit, ref, operation }: Unpublished, changes?: readonly NewChange[]): Operation {
    this.#moveRef(ref, commit)
    this.#index.atomically(() => {
      this.#index.project(operation, ref)
      if (changes !== undefined) this.#index.describe(operation, changes)
    })
    this.#rememberRefs()
    return operation
  }

  // ---- reading ---------------------------------------------------------------------------------------------------

  readOperation(commit: CommitId): Operation {
    const { objects } = this.#surroundings
    const entries = new Map(
      objects.readTree(objects.readCommit(commit).tree).map((entry) => [entry.name, entry.id]),
    )
    const part = (name: string): string => {
      const id = entries.get(name)
      if (id === undefined) throw damaged(`The operation ${commit} has no ${name}.`, commit)
      return id
    }
    return {
      record: parseRecord(objects.readBlob(part('op.json') as BlobId), commit),
      commit,
      before: { tree: part('before') as TreeId, attrs: part('before.attrs') as BlobId },
      after: { tree: part('after') as TreeId, attrs: part('after.attrs') as BlobId },
      skipped: part('skipped') as BlobId,
    }
  }

  /** What the session's review was after an operation, where it was written down. */
  reviewOf(operation: Operation): TreeId | undefined {
    if (operation.record.reviewed !== true) return undefined
    const { objects } = this.#surroundings
    const entries = objects.readTree(objects.readCommit(operation.commit).tree)
    return entries.find((entry) => entry.name === 'review')?.id as TreeId | undefined
  }

  /** The state before (`at` - 1) and after each stage of a move: index 0 is the operation's `before`. */
  stagesOf(operation: Operation): readonly Snapshot[] {
    const { objects } = this.#surroundings
    const stages = objects
      .readTree(objects.readCommit(operation.commit).tree)
      .find((entry) => entry.name === 'stages')
    if (stages === undefined) return [operation.before, operation.after]
    const entries = new Map(objects.readTree(stages.id as TreeId).map((entry) => [entry.name, entry.id]))
    const snapshots: Snapshot[] = [operation.before]
    for (let at = 0; entries.has(`${at}`); at += 1) {
      snapshots.push({ tree: entries.get(`${at}`) as TreeId, attrs: entries.get(`${at}.attrs`) as BlobId })
    }
    return snapshots
  }

  // ---- the log is the truth ----------------------------------------------------------------------------------------

  /**
   * Brings the index up to the log: after a crash between the two, after the index was deleted, after somebody
   * else's operations. Cheap when nothing happened. A session whose history cannot be read to its tip stops nobody
   * but itself (M14): it is among the `broken`. `alone`: nobody else has had the lock since we did.
   */
  heal(lock: Exclusive, alone = false): void {
    // Whoever holds the lock is alone: what was whole when he got it still is, and his own operations are in the index.
    if (this.#wholeUnder === lock) return
    const stat = this.#lookAtRefs()
    if (alone && this.#refsStamp !== '' && this.#refsStamp === stampOfStat(stat)) {
      this.#wholeUnder = lock
      return
    }
    if (this.#refsSeen !== '' && this.#refsSeen === signatureOf(stat)) return
    const { refs, damaged: unreadable } = this.#survey()
    const known = this.#index.refs()
    const broken = new Map(unreadable.map((name) => [name, unreadableRef(name)]))
    for (const name of known.keys()) if (!refs.has(name) && !broken.has(name)) broken.set(name, lostRef(name))
    this.#withheld = 0
    const behind = [...refs].filter(([name, tip]) => known.get(name) !== tip)
    if (behind.length > 0) this.#catchUp(refs, behind, broken)
    this.#broken = broken
    this.#wholeUnder = broken.size === 0 ? lock : undefined
    this.#rememberRefs()
  }

  /** Whether the index has everything the log has, as far as one can tell without the lock. */
  isCurrent(): boolean {
    const known = this.#index.refs()
    const { refs, damaged: unreadable } = this.#survey()
    if (unreadable.length > 0 || refs.size !== known.size) return false
    return [...refs].every(([name, tip]) => known.get(name) === tip)
  }

  /** Sessions, by their refs, whose history cannot be read to its tip, and why. */
  get broken(): ReadonlyMap<string, UnturnError> {
    return this.#broken
  }

  /** Throws where a session's history is broken: going on from what can be read would leave the rest behind. */
  requireSound(session: SessionId | undefined): void {
    const error = this.#broken.get(refOf(session))
    if (error !== undefined) throw error
  }

  /**
   * Every operation that the refs lead to, in order, read from the log alone and one at a time. What cannot be read is
   * among the problems, once all has been gone through. For `doctor`.
   */
  *readAll(problems: UnturnError[]): IterableIterator<Logged> {
    const { refs, damaged: unreadable } = this.#survey()
    problems.push(...unreadable.map(unreadableRef))
    const note = (error: UnturnError) => void problems.push(error)
    const sessions = [...refs].map(([ref, tip]) => {
      const chain = new CommitChain(ref)
      this.#follow(tip, chain, () => true, note)
      return { ref, operations: this.#readEach(chain, note) }
    })
    yield* inOrder(sessions)
  }

  *#readEach(chain: CommitChain, note: (error: UnturnError) => void): Generator<Operation, void> {
    for (const commit of chain.oldestFirst()) {
      const operation = orBreak(() => this.readOperation(commit), note)
      if (operation !== undefined) yield operation
    }
  }

  /** Adds a commit and those behind it, as long as they are wanted. False: there is one that cannot be read. */
  #follow(
    tip: CommitId,
    chain: CommitChain,
    isWanted: (commit: CommitId) => boolean,
    note: (error: UnturnError) => void,
  ): boolean {
    for (let commit: CommitId | undefined = tip; commit !== undefined && isWanted(commit); ) {
      const at: CommitId = commit
      const found = orBreak(() => this.#surroundings.objects.readCommit(at), note)
      if (found === undefined) return false
      chain.addOlder(at)
      commit = found.parents[0]
    }
    return true
  }

  #survey(): RefSurvey {
    return surveyRefs(this.#surroundings.fs, this.#surroundings.objects.folder, refPrefix)
  }

  #catchUp(
    refs: ReadonlyMap<string, CommitId>,
    behind: readonly (readonly [string, CommitId])[],
    broken: Map<string, UnturnError>,
  ): void {
    this.#index.atomically(() => {
      const wentBack = behind.some(([, tip]) => this.#index.hasCommit(tip))
      if (!wentBack && this.#takeIn(behind, broken)) return
      // The log went back, or an older part of it came back: what the index made of it is no longer true.
      this.#index.clear()
      this.#takeIn([...refs], broken)
    })
  }

  /**
   * Takes in the operations that the index lacks, in their order; of a broken session those before the break. False: one
   * of them belongs before what the index has already.
   */
  #takeIn(behind: readonly (readonly [string, CommitId])[], broken: Map<string, UnturnError>): boolean {
    this.#withheld = 0
    const last = this.#index.lastSeq()
    const breaks = new Map<string, UnturnError>()
    const sessions = behind.map(([ref, tip]) => this.#missingOf(ref, tip, breaks))
    for (const { ref, operation } of inOrder(sessions)) {
      const flaw = breaks.get(ref) ?? this.#flawOf(operation, ref, last)
      if (flaw !== undefined) {
        breaks.set(ref, flaw)
        this.#withheld += 1
      } else if (operation.record.seq <= last) return false
      else this.#index.project(operation, ref)
    }
    for (const [ref, error] of breaks) broken.set(ref, error)
    return true
  }

  /** Where a commit on the way cannot be read, nothing is known of what lies behind it. */
  #missingOf(ref: string, tip: CommitId, breaks: Map<string, UnturnError>) {
    const chain = new CommitChain(ref)
    const isUnknown = (commit: CommitId) => !this.#index.hasCommit(commit)
    const isWhole = this.#follow(tip, chain, isUnknown, (error) => breaks.set(ref, error))
    if (!isWhole) this.#withheld += chain.length + 1
    return { ref, operations: this.#readToBreak(isWhole ? chain : new CommitChain(ref), breaks) }
  }

  *#readToBreak(chain: CommitChain, breaks: Map<string, UnturnError>): Generator<Operation, void> {
    let left = chain.length
    for (const commit of chain.oldestFirst()) {
      const operation = orBreak(
        () => this.readOperation(commit),
        (error) => breaks.set(chain.ref, breaks.get(chain.ref) ?? error),
      )
      if (operation === undefined) {
        this.#withheld += left
        return
      }
      left -= 1
      yield operation
    }
  }

  /** `last`: the number of the last operation that was in the index before. */
  #flawOf({ commit, record }: Operation, ref: string, last: number): UnturnError | undefined {
    const { id, seq, session } = record
    const known = this.#index.findOperation(id)?.record
    // The same operation under another commit: its session was rewritten, and whoever did it was cut before the index.
    const isRewritten = seq <= last && known?.seq === seq && refOf(known.session) === ref
    if (known !== undefined && !isRewritten) return damaged(`Two operations have the id ${id}.`, commit)
    if (seq > last && this.#index.operationAt(seq) !== undefined)
      return damaged(`Two operations have the number ${seq}.`, commit)
    if (refOf(session) !== ref) return damaged(`An operation of another session stands in ${ref}.`, commit)
    return undefined
  }

  /** Throws the index away and makes it anew. */
  rebuild(lock: Exclusive): void {
    const { fs, folder } = this.#surroundings
    this.#index[Symbol.dispose]()
    removeIndex(fs, folder)
    this.#index = openIndex(fs, folder)
    this.#rebuilt = true
    this.#forgetRefs()
    this.heal(lock)
  }

  /** Writes refs again that are gone or cannot be read, although the index knows them and their commits are there. */
  restoreRefs(_lock: Exclusive): readonly string[] {
    const { fs, objects } = this.#surroundings
    const { refs } = this.#survey()
    const lost = [...this.#index.refs()].filter(([name, commit]) => !refs.has(name) && objects.has(commit))
    for (const [name, commit] of lost) writeRef(fs, objects.folder, name, commit)
    if (lost.length > 0) this.#forgetRefs()
    return lost.map(([name]) => name)
  }

  // ---- dropping and rewriting --------------------------------------------------------------------------------------

  /**
   * A session leaves for good. First the index, durably, then the ref: cut in between, the next look finds a session that
   * the index lacks, and takes it in again. The other way round its ref would count as lost.
   */
  dropSession(session: SessionId, _lock: Exclusive): void {
    const ref = refOf(session)
    this.#refsStamp = ''
    this.#index.atomically(() => this.#index.dropSession(session, ref))
    this.#index.persist()
    deleteRef(this.#surroundings.fs, this.#surroundings.objects.folder, ref)
    this.#rememberRefs()
  }

  /**
   * Gives a session the history that `kept` says: the same operations, or fewer, under new commits. All commits are stored
   * before the ref moves, and the ref is the moment at which it has happened; the index follows, now or at the next look.
   */
  rewrite(
    session: SessionId | undefined,
    kept: readonly Rewritten[],
    batch: ObjectBatch,
    _lock: Exclusive,
  ): void {
    const ref = refOf(session)
    const commits = this.#recommit(kept, batch)
    batch.flush()
    const tip = commits.at(-1)
    if (tip === undefined || tip === this.#readRef(ref)) return
    this.#refsStamp = ''
    writeRef(this.#surroundings.fs, this.#surroundings.objects.folder, ref, tip)
    this.#index.atomically(() => this.#reindex(session, ref, kept, commits))
    this.#rememberRefs()
  }

  #recommit(kept: readonly Rewritten[], batch: ObjectBatch): readonly CommitId[] {
    const commits: CommitId[] = []
    for (const { commit, tree } of kept) {
      const { message, atSeconds } = this.#surroundings.objects.readCommit(commit)
      const parent = commits.at(-1)
      commits.push(batch.commit({ tree, parents: parent === undefined ? [] : [parent], message, atSeconds }))
    }
    return commits
  }

  #reindex(
    session: SessionId | undefined,
    ref: string,
    kept: readonly Rewritten[],
    commits: readonly CommitId[],
  ): void {
    const stays = new Set(kept.map(({ seq }) => seq))
    this.#index.dropOperations(this.#index.seqsOf(session).filter((seq) => !stays.has(seq)))
    for (const [at, { commit: old, isDescribed }] of kept.entries()) {
      const commit = commits[at]
      if (commit === undefined || commit === old) continue
      this.#index.replaceOperation(this.readOperation(commit), isDescribed)
    }
    const tip = commits.at(-1)
    if (tip !== undefined) this.#index.setRef(ref, tip)
  }

  #readRef(ref: string): CommitId | undefined {
    return readRef(this.#surroundings.fs, this.#surroundings.objects.folder, ref)
  }

  #rememberRefs(): void {
    const stat = this.#broken.size === 0 ? this.#lookAtRefs() : undefined
    this.#refsSeen = signatureOf(stat)
    this.#refsStamp = stampOfStat(stat)
  }

  #forgetRefs(): void {
    this.#refsSeen = ''
    this.#refsStamp = ''
    this.#wholeUnder = undefined
  }

  // Every new tip is renamed into this one folder, so its stat tells whether anybody has published since we looked.
  #lookAtRefs(): FileStat | undefined {
    const { fs, objects } = this.#surroundings
    return fs.lstat(joinAbs(objects.folder, refPrefix.slice(0, -1)))
  }

  [Symbol.dispose](): void {
    this.#index[Symbol.dispose]()
  }
}

// A stat as young as the look itself proves nothing: another rename in the same clock tick leaves it as it is.
function signatureOf(stat: FileStat | undefined): string {
  return stat === undefined || Date.now() - stat.ctimeMs < 50 ? '' : stampOfStat(stat)
}

/** An agent's session id is any text; a ref name is not. The record has the true id. */
export function refOf(session: SessionId | undefined): string {
  if (session === undefined) return `${refPrefix}user`
  const plain =
    /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(session) &&
    session.toLowerCase() === session &&
    session !== 'user'
  return refPrefix + (plain ? session : `x-${createHash('sha1').update(session, 'utf8').digest('hex')}`)
}

// What could not be read again must not be written; and the index knows it as a rebuild would.
function asRead(record: OperationRecord): OperationRecord {
  return parseRecord(serializeRecord(record), record.id)
}

function operationTree(batch: ObjectBatch, record: OperationRecord, taken: Taken): TreeId {
  const entries: TreeEntry[] = [
    ...snapshotEntries('before', taken.before),
    ...snapshotEntries('after', taken.after),
    { name: 'skipped', mode: '100644', id: taken.skipped },
    { name: 'op.json', mode: '100644', id: batch.blob(serializeRecord(record)) },
  ]
  const stages = taken.stages ?? []
  if (stages.length > 0) {
    const tree = batch.tree(stages.flatMap((stage, at) => snapshotEntries(`${at}`, stage)))
    entries.push({ name: 'stages', mode: '40000', id: tree })
  }
  if (taken.review !== undefined) entries.push({ name: 'review', mode: '40000', id: taken.review })
  return batch.tree(entries)
}

function snapshotEntries(name: string, snapshot: Snapshot): readonly TreeEntry[] {
  return [
    { name, mode: '40000', id: snapshot.tree },
    { name: `${name}.attrs`, mode: '100644', id: snapshot.attrs },
  ]
}

// SQLite would make the file as wide as the umask lets it.
function openIndex(fs: Fs, folder: AbsPath): IndexDb {
  const path = joinAbs(folder, 'index.db')
  if (fs.lstat(path) === undefined) createPrivate(fs, path)
  return IndexDb.open(path)
}

function createPrivate(fs: Fs, path: AbsPath): void {
  try {
    fs.createFile(path, [], 0o600)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error // another process was quicker
  }
}

function removeIndex(fs: Fs, folder: AbsPath): void {
  for (const name of ['index.db', 'index.db-wal', 'index.db-shm']) {
    const path = joinAbs(folder, name)
    if (fs.lstat(path) !== undefined) fs.unlink(path)
  }
}

/** What can be read; what keeps it from being read is noted. */
function orBreak<T>(read: () => T, note: (error: UnturnError) => void): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!isBreak(error)) throw error
    note(error)
    return undefined
  }
}

function isBreak(error: unknown): error is UnturnError {
  return isFailure(error, 'store-damaged') || isFailure(error, 'record-unreadable')
}

function unreadableRef(ref: string): UnturnError {
  return damaged(`The history of a session cannot be found in the store (${ref} cannot be read).`, ref)
}

function lostRef(ref: string): UnturnError {
  return damaged(`The history of a session is no longer named in the store (${ref} is gone).`, ref)
}

function damaged(what: string, id: string): UnturnError {
  return new UnturnError(
    'store-damaged',
    { what, id },
    {
      message: `${what} No file was changed.`,
      hint: 'Run "unturn doctor" to see what is affected, and "unturn doctor --repair" to mend what can be mended.',
    },
  )
}
