/** The front door: one workspace, opened, with everything a face can ask of it. */

import { randomBytes } from 'node:crypto'
import type { EventName, EventOptions, Events, Listener } from './api/events.ts'
import { Plan } from './api/plan.ts'
import { Session, type SessionOptions } from './api/session.ts'
import { Snapshots } from './api/snapshots.ts'
import { Telling } from './api/telling.ts'
import { orNothing } from './api/words.ts'
import type { WorkspacePort } from './api/workspace-port.ts'
import { isFailure, UnturnError } from './errors.ts'
import { failureOf } from './failures.ts'
import type { Fs } from './fs.ts'
import { hearOfUnaudited } from './history/audit.ts'
import { type BlamedLine, type BlameOptions, blame } from './history/blame.ts'
import { capture, describeAll, hasChanged } from './history/capture.ts'
import { type Cleaned, cleanup } from './history/cleanup.ts'
import { examine, type Finding, mend, unsettled } from './history/doctor.ts'
import { type Enacted, recoverApply } from './history/enact.ts'
import type { Engine, FileWatch, Progress, StoreFolders } from './history/engine.ts'
import { type RedoWish, type RestoreWish, redo, restore, type UndoWish, undo } from './history/moves.ts'
import type { Outcome } from './history/outcome.ts'
import type { PastFile } from './history/past.ts'
import { eraseFromHistory, notPurged, type Proof, proveGone } from './history/purge.ts'
import {
  findRival,
  recordChange,
  recordShare,
  type ToldChange,
  type ToldShare,
} from './history/record-change.ts'
import {
  beginStep,
  beginTurn,
  captureNow,
  endStep,
  endTurn,
  type StepWish,
  type TurnEnd,
  type TurnWish,
  type UserCapture,
} from './history/recording.ts'
import {
  defaultLimits,
  dropOld,
  isGcDue,
  type Limits,
  markGc,
  planRetention,
  type RetentionPlan,
  rootsOf,
  type SessionSize,
  sessionSizes,
} from './history/retention.ts'
import { type RollbackWish, rollback } from './history/rollback.ts'
import { bytesOnDisk } from './history/store-size.ts'
import { type PathsOf, restoreSnapshot, revertPaths, type SnapshotWish } from './history/to-snapshot.ts'
import { DiskRepository, mayTrack, type RuleOptions } from './history/user-repository.ts'
import { findWentBack, type WentBack } from './history/went-back.ts'
import { Flights } from './log/flights.ts'
import type { IndexDb } from './log/index-db.ts'
import { StoreLock } from './log/lock.ts'
import { Log } from './log/log.ts'
import { pin, unpin } from './log/pins.ts'
import { optional, type TurnStatus } from './log/record.ts'
import type { ChangeRow } from './log/rows.ts'
import { isDamaged } from './log/sqlite.ts'
import type { Proposed, ProposeWish } from './review/proposals.ts'
import type { PendingSide, ReviewOptions, ReviewView } from './review/review.ts'
import type { Decided, DecideWish } from './review/standing.ts'
import { consolidate, mayHaveLeftovers, removeLeftovers } from './store/consolidate.ts'
import { Describer } from './store/describe.ts'
import { FolderStamps } from './store/folder-stamps.ts'
import { Git } from './store/git.ts'
import { removeScratches } from './store/merge.ts'
import { ObjectStore } from './store/objects.ts'
import {
  dropOldPacks,
  type PackedState,
  packReachable,
  type Repacked,
  removeGitTemps,
} from './store/repack.ts'
import { findLeaf } from './store/trees.ts'
import { createFolder, createStore, ensurePrivateFile, foldersOf, openStore } from './store-folder.ts'
import {
  type AbsPath,
  type BlobId,
  type Exclusive,
  joinAbs,
  type RelPath,
  type SessionId,
  type Snapshot,
  type StepId,
  type TreeId,
  type TurnId,
} from './values.ts'
import { dropSpares, needsRecovery } from './workspace/apply.ts'
import { bytesPath, type Located, locate, refuseTooWide, storeHome } from './workspace/locate.ts'
import { nodeFs } from './workspace/node-fs.ts'
import { Scanner } from './workspace/scan.ts'
import { StatCache } from './workspace/stat-cache.ts'

export interface OpenOptions extends RuleOptions {
  /** The folder was named by the user: it is not traded for a repository around it. */
  readonly explicit?: boolean
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly fs?: Fs
  readonly now?: () => number
  readonly newId?: (letter: 't' | 's' | 'o') => string
  readonly isAlive?: (pid: number) => boolean
  readonly onProgress?: Progress
  readonly onWarning?: (text: string) => void
  /** Opens the store as it is found: nothing is brought up to date or finished. For `doctor`. */
  readonly asFound?: boolean
  /** Somebody who watches the files: captures then cost what changed. Every turn has to be audited afterwards. */
  readonly watch?: FileWatch | ((root: AbsPath) => FileWatch)
  /** How long to wait for other processes. */
  readonly patienceMs?: number
}

/** Which workspace a folder belongs to, and whether it has a history. Opens and makes nothing. */
export function workspaceAt(
  folder: string,
  options: Pick<OpenOptions, 'env' | 'explicit' | 'fs'> = {},
): { readonly root: AbsPath; readonly known: boolean } {
  const { root, known } = placeOf(folder, options).located
  return { root, known }
}

/** Finds the workspace of a folder. `undefined`: nothing has ever been captured there. */
export async function findWorkspace(
  folder: string,
  options: OpenOptions = {},
): Promise<Workspace | undefined> {
  return failing(async () => {
    const { located } = placeOf(folder, options)
    return located.known ? open(located, options) : undefined
  })
}

/** Opens the workspace of a folder; makes its store, outside of it, where there is none. */
export async function openWorkspace(folder: string, options: OpenOptions = {}): Promise<Workspace> {
  return failing(async () => {
    const { located, env } = placeOf(folder, options)
    if (located.known) return open(located, options)
    refuseTooWide(located.root, env)
    return openNew(located, options)
  })
}

async function openNew(located: Located, options: OpenOptions): Promise<Workspace> {
  const scanner = new Scanner(located.root)
  try {
    // A first capture comes next. Of a large repository two threads make it, and the second takes a while to start.
    if (mayTrack(options.fs ?? nodeFs, located.root, scanner.threadOptions.comparedFiles))
      scanner.secondThread()
    await create(located, options)
    return await open(located, options, scanner)
  } catch (error) {
    await scanner[Symbol.asyncDispose]()
    throw error
  }
}

// Ten hooks of ten agents may come at once, and each finds that there is no store yet.
async function create({ store, root }: Located, options: OpenOptions): Promise<void> {
  const fs = options.fs ?? nodeFs
  const folders = foldersOf(store)
  createFolder(fs, folders)
  using lock = lockOf(folders, options)
  await lock.exclusive(async () => createStore(fs, folders, root, (options.now ?? Date.now)()))
}

function lockOf(folders: StoreFolders, { patienceMs, fs = nodeFs }: OpenOptions): StoreLock {
  const holder = { fs, path: joinAbs(folders.folder, 'holder') }
  return new StoreLock(folders.lock, { holder, ...(patienceMs === undefined ? {} : { patienceMs }) })
}

/** Errors of the disk and of SQLite leave this package as failures with a code. */
async function failing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw failureOf(error) ?? error
  }
}

function placeOf(
  folder: string,
  options: OpenOptions,
): { readonly located: Located; readonly env: NonNullable<OpenOptions['env']> } {
  const env = options.env ?? process.env
  return {
    located: locate(options.fs ?? nodeFs, bytesPath(folder), storeHome(env), options.explicit ?? false),
    env,
  }
}

async function open(
  located: Located,
  options: OpenOptions,
  scanner = new Scanner(located.root),
): Promise<Workspace> {
  const fs = options.fs ?? nodeFs
  const env = options.env ?? process.env
  const folders = foldersOf(located.store)
  const facts = openStore(fs, folders, located.root, (options.now ?? Date.now)())
  const objects = ObjectStore.open(fs, folders.objects)
  const now = options.now ?? Date.now
  const newId = options.newId ?? randomId
  const git = new Git({ folder: folders.objects, env, avoid: located.root })
  const log = Log.open({ fs, folder: folders.folder, objects, now, newId })
  const engine: Engine = {
    root: located.root,
    folders,
    fs,
    objects,
    git,
    describer: new Describer(git),
    log,
    lock: lockOf(folders, options),
    flights: new Flights(fs, folders.flights),
    scanner,
    defaultPerms: facts.usual,
    now,
    newId,
    isAlive: options.isAlive ?? isAlive,
    ...(options.onProgress === undefined ? {} : { progress: options.onProgress }),
    warn: options.onWarning ?? (() => {}),
    user: new DiskRepository(fs, located.root, env, options, [storeHome(env)]),
    stat: new LazyStatMemory(folders),
    ...watchOf(options.watch, located.root),
    unaudited: new Set(),
  }
  const workspace = new Workspace(engine)
  if (options.asFound !== true) await caughtUp(workspace)
  return workspace
}

function watchOf(watch: OpenOptions['watch'], root: AbsPath): Pick<Engine, 'watch'> {
  if (watch === undefined) return {}
  return { watch: typeof watch === 'function' ? watch(root) : watch }
}

// Who cannot open a workspace cannot close it either, and git would keep running behind it.
async function caughtUp(workspace: Workspace): Promise<void> {
  try {
    await workspace.catchUp()
  } catch (error) {
    await workspace[Symbol.asyncDispose]()
    throw failureOf(error) ?? error
  }
}

/** What `gc` did. */
export interface Collected extends Repacked {
  readonly dropped: RetentionPlan['sessions']
  readonly userOperations: number
}

/** What `purge` did, and the proof. */
export interface Purged extends Repacked {
  /** Operations that were written anew. */
  readonly operations: number
  /** Different contents that the paths had. */
  readonly versions: number
  readonly proof: Proof
}

export class Workspace implements WorkspacePort, AsyncDisposable {
  /** Snapshots by hash, for agents that keep a history of their own. */
  readonly snapshots: Snapshots = new Snapshots(this)
  readonly #telling: Telling
  #recorded = 0
  #mostPacks = manyPacks
  /** For the faces' read-only questions and for tests; everything that changes something has a method here. */
  readonly engine: Engine
  readonly #toldBroken = new Set<string>()
  /** Where killed processes leave things: as we left it after work that did not fail, or empty as we last found it. */
  readonly #leftInOrder: FolderStamps
  readonly #foundEmpty: FolderStamps

  constructor(engine: Engine) {
    this.engine = engine
    const { journal, objects, scratch } = engine.folders
    this.#leftInOrder = new FolderStamps(engine.fs, [objects])
    this.#foundEmpty = new FolderStamps(engine.fs, [journal, scratch])
    this.#telling = new Telling(engine)
  }

  get root(): AbsPath {
    return this.engine.root
  }

  get index(): IndexDb {
    return this.engine.log.index
  }

  // ---- for people who build agents -----------------------------------------------------------------------------------

  /** One conversation with one agent; it exists from its first turn on. */
  session(id: string, options: SessionOptions): Session {
    return new Session(this, id, options)
  }

  /** Listens to one kind of event; the answer ends it. A listener that throws hurts neither operation nor neighbour. */
  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void {
    return this.#telling.on(name, listener)
  }

  /** All events from now on, for `for await`; ends when the workspace is closed. */
  events(options: EventOptions = {}): Events {
    return this.#telling.stream(options)
  }

  /** What `rollback` would do, and the means to do exactly that. */
  planRollback(wish: Omit<RollbackWish, 'dryRun' | 'onPlan'>): Promise<Plan> {
    return Plan.make((run) => orNothing(null, () => this.rollback({ ...wish, ...run })))
  }

  // ---- recording -------------------------------------------------------------------------------------------------

  beginTurn(wish: TurnWish): Promise<{ readonly turn: TurnId; readonly seq: number }> {
    return this.#exclusive((lock) => beginTurn(this.engine, wish, lock))
  }

  async beginStep(wish: StepWish): Promise<{ readonly step: StepId }> {
    const begun = await this.#exclusive((lock) => beginStep(this.engine, wish, lock))
    const flight = this.#telling.wantsSteps ? this.engine.flights.find(begun.step) : undefined
    if (flight !== undefined) this.#telling.stepBegan(flight)
    return begun
  }

  endStep(step: StepId): Promise<readonly ChangeRow[]> {
    return this.#exclusive(async (lock) => {
      const changes = await endStep(this.engine, step, lock)
      // A turn may have thousands of steps, each with a pack of its own, and every lookup asks every pack.
      if (this.engine.objects.packCount >= this.#mostPacks) {
        joinPacks(this.engine, lock)
        this.#mostPacks = Math.max(manyPacks, this.engine.objects.packCount + 16)
      }
      return changes
    })
  }

  endTurn(turn: TurnId, status: TurnStatus = 'ok'): Promise<TurnEnd> {
    return this.#exclusive(async (lock) => {
      const end = await endTurn(this.engine, turn, status, lock)
      // Joining small packs takes a while on a slow disk: no tool call waits for it.
      joinPacks(this.engine, lock)
      return end
    })
  }

  /** Records a change that the agent has made itself, from the bytes it tells. */
  recordChange(told: ToldChange): Promise<readonly ChangeRow[]> {
    return this.#exclusive(async (lock) => {
      const changes = await recordChange(this.engine, told, lock)
      // A turn may have thousands of them, each with a pack of its own, and every lookup asks every pack.
      this.#recorded += 1
      if (this.#recorded % 32 === 0) joinPacks(this.engine, lock)
      return changes
    })
  }

  /** Whether another step may be writing the same file while this one is in flight. */
  isContested(step: StepId, path: RelPath): boolean {
    return findRival(this.engine, step, path) !== undefined
  }

  /** Before the end of a contested step: what is its own in the file, and what is the other's. */
  recordShare(step: StepId, told: ToldShare): Promise<void> {
    return this.#exclusive((lock) => recordShare(this.engine, step, told, lock))
  }

  /**
   * A full look for the turns that ended since the last one: what only the look finds goes to the step that did it.
   * Needed after turns that were recorded by a watcher's hints; nobody has to wait for it.
   */
  audit(): Promise<readonly ChangeRow[]> {
    return this.#exclusive(async (lock) => {
      const { operations } = await capture(this.engine, {}, lock)
      return operations.flatMap(({ record }) => this.index.changesOfOperation(record.seq))
    })
  }

  /** Whether an audit is due. */
  get hasUnaudited(): boolean {
    return this.engine.unaudited.size > 0
  }

  capture(label?: string): Promise<UserCapture> {
    return this.#exclusive((lock) => captureNow(this.engine, label, lock))
  }

  /** Whether anything differs from the last operation. Records nothing. */
  hasChanged(): Promise<boolean> {
    return this.#exclusive(() => hasChanged(this.engine))
  }

  /** Whether the last operation left a file or a link at this path. */
  hasCaptured(path: RelPath): boolean {
    const last = this.index.lastOperation()
    return last !== undefined && findLeaf(this.engine.objects, last.after.tree, path) !== undefined
  }

  /** The turn that this session's files have been put back to before, by whomever. Records nothing. */
  findWentBack(session: SessionId): Promise<WentBack | undefined> {
    return this.#exclusive(async () => findWentBack(this.engine, session))
  }

  // ---- moving ------------------------------------------------------------------------------------------------------

  undo(wish: UndoWish): Promise<Outcome> {
    return this.#moving(wish.session, (lock) => undo(this.engine, wish, lock))
  }

  redo(wish: RedoWish): Promise<Outcome> {
    return this.#moving(wish.session, (lock) => redo(this.engine, wish, lock))
  }

  restore(wish: RestoreWish): Promise<Outcome> {
    return this.#moving(wish.session, (lock) => restore(this.engine, wish, lock))
  }

  rollback(wish: RollbackWish): Promise<Outcome> {
    return this.#moving(wish.session, (lock) => rollbackAny(this.engine, wish, lock))
  }

  // ---- review ------------------------------------------------------------------------------------------------------

  /** What is pending in a session, hunk by hunk. */
  review(session: SessionId, options: ReviewOptions = {}): Promise<ReviewView> {
    return this.#exclusive(async (lock) => (await reviewing()).review(this.engine, session, lock, options))
  }

  /** A pending file as a whole, on either side, as of the last operation: for what cannot be shown as lines. */
  readPending(session: SessionId, side: PendingSide): Promise<PastFile | undefined> {
    return this.#exclusive(async () => (await reviewing()).readPending(this.engine, session, side))
  }

  /** How many hunks were pending after the last operation; costs no look at the files. */
  countPending(session: SessionId): Promise<number> {
    return failing(async () => {
      const { index } = this
      const known = index.hasSteps(session) ? index.findPending(session) : 0
      if (known !== undefined) return known
      const { foldReview } = await import('./review/fold.ts')
      const { countPending } = await import('./review/pending.ts')
      const folded = foldReview(this.engine, session)
      if (folded === undefined) return 0
      const pending = countPending(this.engine, folded)
      index.keepPending(session, folded.seq, pending)
      return pending
    })
  }

  accept(wish: DecideWish): Promise<Decided> {
    return this.#deciding('accept', wish)
  }

  reject(wish: DecideWish): Promise<Decided> {
    return this.#deciding('reject', wish)
  }

  /** Offers a change without writing it: pending until it is accepted. */
  propose(wish: ProposeWish): Promise<Proposed> {
    return this.#exclusive(async (lock) => {
      const { propose } = await import('./review/proposals.ts')
      return propose(this.engine, wish, lock)
    })
  }

  async #deciding(way: 'accept' | 'reject', { onPlan, ...wish }: DecideWish): Promise<Decided> {
    const decided = await this.#exclusive(async (lock) => {
      const decide = (await reviewing())[way]
      if (onPlan !== undefined) onPlan(await decide(this.engine, { ...wish, dryRun: true }, lock))
      return decide(this.engine, wish, lock)
    })
    this.#telling.conflicts(wish.session, decided)
    return decided
  }

  /** The whole workspace as in a snapshot. */
  restoreSnapshot(snapshot: Snapshot, wish: SnapshotWish = {}): Promise<Enacted> {
    return this.#moving(undefined, (lock) => restoreSnapshot(this.engine, snapshot, wish, lock))
  }

  /** Some paths as in snapshots. */
  revertPaths(reverts: readonly PathsOf[], wish: SnapshotWish = {}): Promise<Enacted> {
    return this.#moving(undefined, (lock) => revertPaths(this.engine, reverts, wish, lock))
  }

  async #moving<T extends Enacted>(
    session: SessionId | undefined,
    work: (lock: Exclusive) => Promise<T>,
  ): Promise<T> {
    const enacted = await this.#exclusive(async (lock) => {
      // There may be more to take out than the log knows of.
      await hearOfUnaudited(this.engine)
      if (this.hasUnaudited) await capture(this.engine, {}, lock)
      return work(lock)
    })
    this.#telling.conflicts(session, enacted)
    return enacted
  }

  cleanup(session: SessionId): Promise<Cleaned> {
    return this.#exclusive(async (lock) => cleanup(this.engine, session, lock))
  }

  /** Each line of a file with who wrote it. */
  blame(path: RelPath, options: BlameOptions = {}): Promise<readonly BlamedLine[]> {
    return this.#exclusive((lock) => blame(this.engine, path, lock, options))
  }

  // ---- keeping in order --------------------------------------------------------------------------------------------

  /** Checks everything, and changes nothing unless asked to repair. What cannot even be looked at is a finding, too. */
  doctor(options: { readonly repair?: boolean } = {}): Promise<readonly Finding[]> {
    return this.#locked(async (lock) => [
      ...(options.repair === true ? await mend(this.engine, lock) : []),
      ...(await unsettled(() => this.#settle(lock, false))),
      ...examine(this.engine),
    ])
  }

  /** Sessions with their sizes, in the order in which retention keeps them. */
  sessionSizes(): readonly SessionSize[] {
    return sessionSizes(this.engine)
  }

  /** Everything that the store takes on disk, without what is shared with the user's repository. */
  bytesOnDisk(): number {
    return bytesOnDisk(this.engine)
  }

  /** Retention leaves a pinned session alone. */
  pin(session: SessionId): Promise<void> {
    return this.#exclusive(async (lock) => pin(this.engine.objects, session, lock))
  }

  unpin(session: SessionId): Promise<void> {
    return this.#exclusive(async (lock) => unpin(this.engine.objects, session, lock))
  }

  /** Whether `gc` should run by itself. */
  get isGcDue(): boolean {
    return isGcDue(this.engine)
  }

  /** What `gc` with these limits would drop; an upper bound where size decides, since packing alone may be enough. */
  planGc(limits: Partial<Limits> = {}): Promise<RetentionPlan> {
    return this.#exclusive(async () =>
      planRetention(this.engine, { ...defaultLimits, ...limits }, { size: true }),
    )
  }

  /**
   * Drops what retention does not keep, and packs the rest. Others may go on meanwhile: only short parts need them to
   * wait. Cut at any point, the store is in order; the next run does what is left.
   */
  gc(limits: Partial<Limits> = {}): Promise<Collected> {
    const all = { ...defaultLimits, ...limits }
    return this.#alone(async () => {
      const first = await this.#retain(all, { size: false })
      const packed = await this.#repack()
      let { bytesAfter } = packed
      const dropped = [...first.sessions]
      let userOperations = first.userOperations.length
      while (bytesAfter > all.maxBytes) {
        const more = await this.#retain(all, { size: true })
        if (more.sessions.length === 0) break
        dropped.push(...more.sessions)
        userOperations += more.userOperations.length
        bytesAfter = (await this.#repack()).bytesAfter
      }
      const collected = { dropped, userOperations, bytesBefore: packed.bytesBefore, bytesAfter }
      this.#telling.gc(collected)
      return collected
    })
  }

  /** Removes paths, files or folders, from every snapshot, and proves that what was there is gone. */
  purge(paths: readonly RelPath[]): Promise<Purged> {
    return this.#alone(async () => {
      const erased = await this.#exclusive(async (lock) => eraseFromHistory(this.engine, paths, lock))
      const packed = await this.#packed(true)
      return this.#exclusive(async (lock) => {
        let repacked = await dropOldPacks(this.engine.objects, this.engine.git, packed, lock)
        let proof = await proveGone(this.engine, paths, erased)
        if (proof.strays.length > 0) {
          // Small packs may have been joined meanwhile, purged bytes and all. Under the lock nobody does.
          repacked = await dropOldPacks(this.engine.objects, this.engine.git, await this.#packed(true), lock)
          proof = await proveGone(this.engine, paths, erased)
        }
        if (proof.strays.length > 0) throw notPurged(`${proof.strays.length} objects are left over`)
        persistStatCache(this.engine, { always: true })
        return { operations: erased.operations, versions: erased.blobs.size, proof, ...repacked }
      })
    })
  }

  /** One gc or purge at a time; the lock of the store stays free for everybody else. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const { engine } = this
    const path = joinAbs(engine.folders.folder, 'gc.db')
    ensurePrivateFile(engine.fs, path)
    using lock = new StoreLock(path)
    return await lock.exclusive(async () => {
      removeGitTemps(engine.objects)
      markGc(engine)
      const result = await work()
      await this.#exclusive(async () => {
        engine.flights.dropSpares()
        dropSpares(engine.fs, engine.folders.journal)
        engine.log.index.giveBack()
      })
      return result
    })
  }

  #retain(limits: Limits, options: { readonly size: boolean }): Promise<RetentionPlan> {
    return this.#exclusive(async (lock) => {
      const broken = [...this.engine.log.broken.values()][0]
      if (broken !== undefined) throw broken // first it is mended, or nobody can tell what may go
      removeLeftovers(this.engine.objects, lock)
      const plan = planRetention(this.engine, limits, options)
      dropOld(this.engine, plan, lock)
      return plan
    })
  }

  async #repack(): Promise<Repacked> {
    const packed = await this.#packed(false)
    return this.#exclusive((lock) => dropOldPacks(this.engine.objects, this.engine.git, packed, lock))
  }

  // Somebody may join small packs while git reads them. It then fails, and finds them where they are now.
  async #packed(unborrow: boolean): Promise<PackedState> {
    const { engine } = this
    const wish = {
      folder: joinAbs(engine.folders.scratch, 'repack'),
      roots: () => rootsOf(engine),
      unborrow,
    }
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await packReachable(engine.objects, engine.git, wish)
      } catch (error) {
        if (attempt === 3 || !isFailure(error, 'git-failed')) throw error
      }
    }
  }

  /** Brings the index up to the log and finishes what was interrupted, if nobody else is at it right now. */
  async catchUp(): Promise<void> {
    const { log, fs, folders } = this.engine
    if (!needsRecovery(fs, folders.journal) && log.isCurrent()) return this.#telling.news()
    await this.#exclusive(async () => {})
  }

  /** Everything that writes goes through here: alone, with nothing unfinished behind it. */
  async #exclusive<T>(work: (lock: Exclusive) => Promise<T>): Promise<T> {
    try {
      return await this.#locked((lock) => this.#rebuildingIndex(() => this.#orderly(work, lock), lock))
    } finally {
      await this.#telling.news() // also of what happened before a failure
    }
  }

  #locked<T>(work: (lock: Exclusive) => Promise<T>): Promise<T> {
    const { lock, flights } = this.engine
    return failing(() =>
      lock.exclusive(async (held) => {
        try {
          return await work(held)
        } finally {
          flights.release()
        }
      }),
    )
  }

  // A damaged index shows only when somebody reads it. It is made anew, and the work done again unless the log shows
  // that some of it has happened: nothing may be undone twice.
  async #rebuildingIndex<T>(work: () => Promise<T>, lock: Exclusive): Promise<T> {
    const { log } = this.engine
    const published = log.published
    try {
      return await work()
    } catch (error) {
      if (!isDamaged(error)) throw error
      log.rebuild(lock)
      if (log.published !== published) throw indexWasDamaged(error)
      return await work()
    }
  }

  async #orderly<T>(work: (lock: Exclusive) => Promise<T>, lock: Exclusive): Promise<T> {
    await this.#settle(lock, this.engine.lock.wasAlone)
    const result = await work(lock)
    persistStatCache(this.engine)
    this.engine.objects.noteOwnChanges()
    this.#leftInOrder.take()
    return result
  }

  /** Nothing of what others began, or left behind, is in the way. `alone`: nobody has had the lock since we did. */
  async #settle(lock: Exclusive, alone: boolean): Promise<void> {
    const { engine } = this
    const isTidy = alone && this.#leftInOrder.areAsTaken() && this.#foundEmpty.areAsTaken()
    this.#leftInOrder.forget() // whatever fails from here on may leave something behind
    engine.objects.refreshIfStale(alone)
    engine.flights.hold(alone)
    engine.log.heal(lock, alone)
    this.#tellBroken()
    if (!isTidy) await this.#tidyUp(lock)
    await describeAll(engine)
  }

  async #tidyUp(lock: Exclusive): Promise<void> {
    const { engine } = this
    if (needsRecovery(engine.fs, engine.folders.journal)) await recoverApply(engine, lock)
    if (mayHaveLeftovers(engine.objects)) removeLeftovers(engine.objects, lock)
    removeScratches(engine.fs, engine.folders.scratch, lock)
    this.#foundEmpty.take()
  }

  #tellBroken(): void {
    for (const [ref, error] of this.engine.log.broken) {
      if (!this.#toldBroken.has(ref))
        this.engine.warn(
          `The history of one session cannot be read (${ref}). ${error.message} Other sessions can still be used.`,
        )
      this.#toldBroken.add(ref)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { engine } = this
    this.#telling.end()
    await engine.describer[Symbol.asyncDispose]()
    await engine.git[Symbol.asyncDispose]()
    await engine.scanner[Symbol.asyncDispose]()
    engine.log[Symbol.dispose]()
    engine.lock[Symbol.dispose]()
    engine.objects[Symbol.dispose]()
  }
}

/** Read when the first capture needs it: most commands never do. */
class LazyStatMemory {
  readonly #folders: StoreFolders
  #cache: StatCache | undefined
  #tree: TreeId | undefined
  #attrs: BlobId | undefined
  /** There is a cache on disk, though perhaps an older one. */
  isStored = false

  constructor(folders: StoreFolders) {
    this.#folders = folders
  }

  get cache(): StatCache {
    this.#cache ??= this.#read()
    return this.#cache
  }

  set cache(cache: StatCache) {
    this.#cache = cache
  }

  // Asked before the cache, these must not seem unknown: every file would be read again at every start.
  get tree(): TreeId | undefined {
    this.#cache ??= this.#read()
    return this.#tree
  }

  set tree(tree: TreeId | undefined) {
    this.#cache ??= this.#read()
    this.#tree = tree
  }

  get attrs(): BlobId | undefined {
    this.#cache ??= this.#read()
    return this.#attrs
  }

  set attrs(attrs: BlobId | undefined) {
    this.#cache ??= this.#read()
    this.#attrs = attrs
  }

  get isLoaded(): boolean {
    return this.#cache !== undefined
  }

  #read(): StatCache {
    const stored = StatCache.read(this.#folders.statCache)
    if (stored === undefined) return StatCache.empty()
    this.isStored = true
    this.#tree = stored.snapshotTree === '' ? undefined : (stored.snapshotTree as TreeId)
    this.#attrs = stored.snapshotAttrs === '' ? undefined : (stored.snapshotAttrs as BlobId)
    return stored
  }
}

const worthWriting = 100

// Writing the cache for a few changed files costs more than reading these files again next time. They count again then,
// so that it is written in the end.
function persistStatCache(engine: Engine, options: { readonly always?: boolean } = {}): void {
  if (!(engine.stat instanceof LazyStatMemory) || !engine.stat.isLoaded) return
  const { cache, tree, attrs } = engine.stat
  if (tree === undefined) return
  const isWorth = cache.staleEntries >= worthWriting || (cache.staleEntries > 0 && !engine.stat.isStored)
  if (!isWorth && options.always !== true) return
  cache.snapshotTree = tree
  cache.snapshotAttrs = attrs ?? ''
  try {
    cache.write(engine.folders.statCache)
    engine.stat.isStored = true
  } catch (error) {
    engine.warn(
      `The stat cache could not be written (${error instanceof Error ? error.message : error}); the next capture takes longer.`,
    )
  }
}

// Loaded when it is asked for: a hook that records a step must not pay for it.
function reviewing() {
  return import('./review/review.ts')
}

// A word on the review has nothing in the files to take out.
async function rollbackAny(engine: Engine, wish: RollbackWish, lock: Exclusive): Promise<Outcome> {
  const { ops = [], paths } = wish.selection
  if (ops.length === 0) return rollback(engine, wish, lock)
  const { isDecisionAlone, takeBack } = await reviewing()
  const words = ops.filter((op) => isDecisionAlone(engine, op))
  const others = ops.filter((op) => !words.includes(op))
  const selection = { ...wish.selection, ops: others }
  const outcome = others.length === 0 ? undefined : await rollback(engine, { ...wish, selection }, lock)
  if (outcome?.kind === 'conflicts' || words.length === 0) return outcome ?? rollback(engine, wish, lock)
  const taken = await takeBack(
    engine,
    words,
    { dryRun: wish.dryRun === true, ...optional('paths', paths) },
    lock,
  )
  if (outcome !== undefined) return outcome
  return {
    kind: wish.dryRun === true ? 'planned' : 'done',
    ...(taken.op === undefined ? {} : { op: taken.op }),
    head: engine.log.index.findSession(taken.session)?.head.turn ?? null,
    files: [],
    conflicts: [],
    reverted: [],
    redone: [],
    notUndone: { commands: [], commits: [], skipped: [] },
    ...(wish.dryRun === true ? { patch: '' } : {}),
  }
}

const manyPacks = 96

// What was asked for is done by now: packs that stay apart are a matter for the next time.
function joinPacks(engine: Engine, lock: Exclusive): void {
  try {
    consolidate(engine.objects, lock)
  } catch (error) {
    const failure = failureOf(error)
    if (failure === undefined) throw error
    engine.warn(`Small packs of the store could not be joined: ${failure.message}`)
  }
}

function indexWasDamaged(cause: unknown): UnturnError {
  return new UnturnError(
    'store-damaged',
    { what: 'index.db' },
    {
      message:
        'The query index was found damaged on the way and has been made anew from the history. What you asked for may have happened already.',
      hint: 'Run "unturn log --ops" to see what happened last before you run the command again.',
      cause,
    },
  )
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

function randomId(letter: 't' | 's' | 'o'): string {
  let id: string = letter
  for (const byte of randomBytes(10)) id += alphabet[byte & 31]
  return id
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** The session a command means when it names none: the one last active. */
export function lastActiveSession(workspace: Workspace): SessionId | undefined {
  return workspace.index.sessions()[0]?.id
}
