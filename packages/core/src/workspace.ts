/** The front door: one workspace, opened, with everything a face can ask of it. */

import { randomBytes } from 'node:crypto'
import { UnturnError } from './errors.ts'
import { failureOf } from './failures.ts'
import type { Fs } from './fs.ts'
import { type BlamedLine, blame } from './history/blame.ts'
import { describeAll } from './history/capture.ts'
import { type Cleaned, cleanup } from './history/cleanup.ts'
import { examine, type Finding, mend, unsettled } from './history/doctor.ts'
import { recoverApply } from './history/enact.ts'
import type { Engine, Progress, StoreFolders } from './history/engine.ts'
import { type RedoWish, type RestoreWish, redo, restore, type UndoWish, undo } from './history/moves.ts'
import type { Outcome } from './history/outcome.ts'
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
import { type RollbackWish, rollback } from './history/rollback.ts'
import { DiskRepository, type RuleOptions } from './history/user-repository.ts'
import { Flights } from './log/flights.ts'
import type { IndexDb } from './log/index-db.ts'
import { StoreLock } from './log/lock.ts'
import { Log } from './log/log.ts'
import type { TurnStatus } from './log/record.ts'
import type { ChangeRow } from './log/rows.ts'
import { isDamaged } from './log/sqlite.ts'
import { consolidate, removeLeftovers } from './store/consolidate.ts'
import { Describer } from './store/describe.ts'
import { Git } from './store/git.ts'
import { removeScratches } from './store/merge.ts'
import { ObjectStore } from './store/objects.ts'
import { dropOldPacks, packReachable, type Repacked } from './store/repack.ts'
import { createStore, foldersOf, openStore } from './store-folder.ts'
import type { AbsPath, Exclusive, RelPath, SessionId, StepId, TreeId, TurnId } from './values.ts'
import { needsRecovery } from './workspace/apply.ts'
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
  /** How long to wait for other processes. */
  readonly patienceMs?: number
}

/** Finds the workspace of a folder. `undefined`: nothing has ever been captured there. */
export async function findWorkspace(
  folder: string,
  options: OpenOptions = {},
): Promise<Workspace | undefined> {
  const { located } = placeOf(folder, options)
  return located.known ? open(located, options) : undefined
}

/** Opens the workspace of a folder; makes its store, outside of it, where there is none. */
export async function openWorkspace(folder: string, options: OpenOptions = {}): Promise<Workspace> {
  const { located, env } = placeOf(folder, options)
  if (!located.known) {
    refuseTooWide(located.root, env)
    createStore(options.fs ?? nodeFs, foldersOf(located.store), located.root, (options.now ?? Date.now)())
  }
  return open(located, options)
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

async function open(located: Located, options: OpenOptions): Promise<Workspace> {
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
    lock: new StoreLock(
      `${folders.folder}/lock.db` as AbsPath,
      options.patienceMs === undefined ? {} : { patienceMs: options.patienceMs },
    ),
    flights: new Flights(fs, folders.flights),
    scanner: new Scanner(located.root),
    defaultPerms: facts.usual,
    now,
    newId,
    isAlive: options.isAlive ?? isAlive,
    ...(options.onProgress === undefined ? {} : { progress: options.onProgress }),
    warn: options.onWarning ?? (() => {}),
    user: new DiskRepository(fs, located.root, env, options, [storeHome(env)]),
    stat: new LazyStatMemory(folders),
  }
  const workspace = new Workspace(engine)
  if (options.asFound !== true) await caughtUp(workspace)
  return workspace
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

export class Workspace implements AsyncDisposable {
  /** For the faces' read-only questions and for tests; everything that changes something has a method here. */
  readonly engine: Engine
  readonly #toldBroken = new Set<string>()

  constructor(engine: Engine) {
    this.engine = engine
  }

  get root(): AbsPath {
    return this.engine.root
  }

  get index(): IndexDb {
    return this.engine.log.index
  }

  // ---- recording -------------------------------------------------------------------------------------------------

  beginTurn(wish: TurnWish): Promise<{ readonly turn: TurnId; readonly seq: number }> {
    return this.#exclusive((lock) => beginTurn(this.engine, wish, lock))
  }

  beginStep(wish: StepWish): Promise<{ readonly step: StepId }> {
    return this.#exclusive((lock) => beginStep(this.engine, wish, lock))
  }

  endStep(step: StepId): Promise<readonly ChangeRow[]> {
    return this.#exclusive((lock) => endStep(this.engine, step, lock))
  }

  endTurn(turn: TurnId, status: TurnStatus = 'ok'): Promise<TurnEnd> {
    return this.#exclusive(async (lock) => {
      const end = await endTurn(this.engine, turn, status, lock)
      // Joining small packs takes a while on a slow disk: no tool call waits for it.
      joinPacks(this.engine, lock)
      return end
    })
  }

  capture(label?: string): Promise<UserCapture> {
    return this.#exclusive((lock) => captureNow(this.engine, label, lock))
  }

  // ---- moving ------------------------------------------------------------------------------------------------------

  undo(wish: UndoWish): Promise<Outcome> {
    return this.#exclusive((lock) => undo(this.engine, wish, lock))
  }

  redo(wish: RedoWish): Promise<Outcome> {
    return this.#exclusive((lock) => redo(this.engine, wish, lock))
  }

  restore(wish: RestoreWish): Promise<Outcome> {
    return this.#exclusive((lock) => restore(this.engine, wish, lock))
  }

  rollback(wish: RollbackWish): Promise<Outcome> {
    return this.#exclusive((lock) => rollback(this.engine, wish, lock))
  }

  cleanup(session: SessionId): Promise<Cleaned> {
    return this.#exclusive(async (lock) => cleanup(this.engine, session, lock))
  }

  /** Each line of a file with who wrote it. */
  blame(path: RelPath): Promise<readonly BlamedLine[]> {
    return this.#exclusive((lock) => blame(this.engine, path, lock))
  }

  // ---- keeping in order --------------------------------------------------------------------------------------------

  /** Checks everything, and changes nothing unless asked to repair. What cannot even be looked at is a finding, too. */
  doctor(options: { readonly repair?: boolean } = {}): Promise<readonly Finding[]> {
    return this.#locked(async (lock) => [
      ...(options.repair === true ? await mend(this.engine, lock) : []),
      ...(await unsettled(() => this.#settle(lock))),
      ...examine(this.engine),
    ])
  }

  /** Packs the history. Others may go on meanwhile: only the last, short part needs them to wait. */
  async gc(): Promise<Repacked> {
    const { engine } = this
    await this.#exclusive(async () => {})
    const packed = await packReachable(engine.objects, engine.git)
    return this.#exclusive((lock) => dropOldPacks(engine.objects, engine.git, packed, lock))
  }

  /** Brings the index up to the log and finishes what was interrupted, if nobody else is at it right now. */
  async catchUp(): Promise<void> {
    const { log, fs, folders } = this.engine
    if (!needsRecovery(fs, folders.journal) && log.isCurrent()) return
    await this.#exclusive(async () => {})
  }

  /** Everything that writes goes through here: alone, with nothing unfinished behind it. */
  #exclusive<T>(work: (lock: Exclusive) => Promise<T>): Promise<T> {
    return this.#locked((lock) => this.#rebuildingIndex(() => this.#orderly(work, lock), lock))
  }

  async #locked<T>(work: (lock: Exclusive) => Promise<T>): Promise<T> {
    try {
      return await this.engine.lock.exclusive(work)
    } catch (error) {
      throw failureOf(error) ?? error
    }
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
    await this.#settle(lock)
    const result = await work(lock)
    persistStatCache(this.engine)
    return result
  }

  /** Nothing of what others began, or left behind, is in the way. */
  async #settle(lock: Exclusive): Promise<void> {
    const { engine } = this
    engine.log.heal(lock)
    this.#tellBroken()
    if (needsRecovery(engine.fs, engine.folders.journal)) await recoverApply(engine, lock)
    if (engine.objects.hasLeftovers) removeLeftovers(engine.objects, lock)
    removeScratches(engine.fs, engine.folders.scratch, lock)
    await describeAll(engine)
  }

  #tellBroken(): void {
    for (const [ref, error] of this.engine.log.broken) {
      if (!this.#toldBroken.has(ref)) this.engine.warn(`${error.message} Other sessions can still be used.`)
      this.#toldBroken.add(ref)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { engine } = this
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
  tree: TreeId | undefined

  constructor(folders: StoreFolders) {
    this.#folders = folders
  }

  get cache(): StatCache {
    if (this.#cache === undefined) {
      const stored = StatCache.read(this.#folders.statCache)
      this.#cache = stored ?? StatCache.empty()
      this.tree =
        stored === undefined || stored.snapshotTree === '' ? undefined : (stored.snapshotTree as TreeId)
    }
    return this.#cache
  }

  get isLoaded(): boolean {
    return this.#cache !== undefined
  }
}

// Writing 100,000 entries for one changed file costs more than reading that file again next time.
function persistStatCache(engine: Engine): void {
  if (!(engine.stat instanceof LazyStatMemory) || !engine.stat.isLoaded) return
  const { cache, tree } = engine.stat
  if (tree === undefined || cache.staleEntries === 0) return
  if (cache.staleEntries < 200 && cache.size > 5_000) return
  cache.snapshotTree = tree
  try {
    cache.write(engine.folders.statCache)
  } catch (error) {
    engine.warn(
      `The stat cache could not be written (${error instanceof Error ? error.message : error}); the next capture takes longer.`,
    )
  }
}

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
