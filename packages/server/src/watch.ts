/**
 * A watcher per workspace, as a hint: it says where something may have changed, so that a look costs what changed and
 * not what exists. It may miss events without a word, so whenever there is doubt the look is a full one, and every turn
 * that was recorded by hints is audited by a full look afterwards.
 */

import {
  type AbsPath,
  bytesOfText,
  type DirtyFolders,
  type FileWatch,
  ignoredFolders,
  type TurnId,
  textOfBytes,
  type WatchedLook,
  type Workspace,
} from '@unturn/core'
import type { Hints, WatchState } from './schemas.ts'
import { type FileEvent, parcelSource, type Subscription, type WatchSource } from './watch-source.ts'

export interface WatchOptions {
  readonly source?: WatchSource
  /** Where a full look takes no longer than this, waiting for the watcher would take as long, and be worth less. */
  readonly hintAboveMs?: number
  /** A turn begins with a full look unless there was one so recently: what the user did meanwhile must not be the agent's. */
  readonly fullEveryMs?: number
}

const usual = { source: parcelSource, hintAboveMs: 100, fullEveryMs: 60_000 } as const

const flushMs = 1_000
/** More events at once than this, and the kernel may have dropped some: it does not tell, and neither does the watcher. */
const burst = 4_000
/** More folders than this, and a full look is as quick. */
const mostFolders = 2_000
const mostNewFolders = 200
const auditAfterMs = 100
const lookSoonMs = 500
const justStarted = 'it has just started'

interface Dirt {
  readonly folders: Set<string>
  readonly trees: Set<string>
  doubt: string | undefined
}

export class Watch implements FileWatch, AsyncDisposable {
  readonly #options: Required<WatchOptions>
  readonly #onWarning: (text: string) => void
  #workspace: Workspace | undefined
  #subscription: Subscription | undefined
  #starting: Promise<void> | undefined
  #state: WatchState['state'] = 'off'
  #reason: string | undefined
  #root = ''
  /** Folders, relative, that the watcher leaves out: nobody tells what happens in there. */
  #unwatched: readonly string[] = []
  /** Folders that came while we watched. A watcher may go on under the old name of one that was moved, or not at all. */
  readonly #newFolders = new Set<string>()
  /** What happened since the last look began. */
  #dirt = emptyDirt(justStarted)
  /** What is being looked at, or was when the look failed. */
  #looking: Dirt | undefined
  #fullLookMs = 0
  /** Others have gone by our hints since the last full look. */
  #hasHelped = false
  #lastFullMs = 0
  #audit: NodeJS.Timeout | undefined
  #looksSoon: NodeJS.Timeout | undefined
  #auditing: Promise<void> | undefined
  #ended = false

  constructor(options: WatchOptions, onWarning: (text: string) => void) {
    this.#options = { ...usual, ...options }
    this.#onWarning = onWarning
  }

  get state(): WatchState {
    return {
      state: this.#state,
      ...(this.#reason === undefined ? {} : { reason: this.#reason }),
      isHintUsed: this.#whyFull('step') === undefined,
    }
  }

  /** Begins to watch, in the background. Until it does, every look is a full one. */
  start(workspace: Workspace): void {
    this.#workspace = workspace
    this.#root = textOfBytes(workspace.root)
    this.#starting = this.#start(workspace).catch((error: unknown) => {
      this.#off(error instanceof Error ? error.message : String(error))
    })
  }

  /** Settled once it watches, or has given up. */
  async started(): Promise<void> {
    await this.#starting
  }

  async #start(workspace: Workspace): Promise<void> {
    if (/[\udc80-\udcff]/.test(this.#root)) return this.#off('the name of the folder is not UTF-8')
    this.#state = 'starting'
    // Most events come from there, and none is about a captured file.
    this.#unwatched = ignoredFolders(workspace.engine)
    const subscription = await this.#options.source({
      root: this.#root,
      without: [...this.#unwatched, '.git'].map((path) => `${this.#root}/${textOfBytes(path)}`),
      marks: `${textOfBytes(workspace.engine.folders.folder)}/watch`,
      onEvents: (events) => this.#hear(events),
      onError: (error) => this.#off(error.message),
    })
    if (this.#ended) return subscription.close()
    this.#subscription = subscription
    this.#state = 'watching'
  }

  #off(reason: string): void {
    this.#state = 'off'
    this.#reason = reason
    this.#dirt.doubt = reason
    void this.#subscription?.close().catch(() => {})
    this.#subscription = undefined
  }

  // ---- hearing -----------------------------------------------------------------------------------------------------

  #hear(events: readonly FileEvent[]): void {
    const dirt = this.#dirt
    if (events.length >= burst) dirt.doubt = 'very much happened at once'
    if (dirt.doubt !== undefined) return
    for (const { type, path } of events) this.#note(dirt, type, path)
    if (dirt.folders.size + dirt.trees.size > mostFolders) dirt.doubt = 'very much has changed'
  }

  #note(dirt: Dirt, type: FileEvent['type'], path: string): void {
    const inside = this.#relative(path)
    if (inside === undefined) {
      dirt.doubt = 'an event could not be understood'
      return
    }
    const slash = inside.lastIndexOf('/')
    dirt.folders.add(slash < 0 ? '' : inside.slice(0, slash))
    // A folder may have come or gone with everything in it, and files that were written into a new one at once are
    // not told of.
    if (type !== 'update') dirt.trees.add(inside)
  }

  #relative(path: string): string | undefined {
    const plain = process.platform === 'win32' ? path.replaceAll('\\', '/') : path
    if (plain.includes('\ufffd') || !plain.startsWith(`${this.#root}/`)) return undefined
    return bytesOfText(plain.slice(this.#root.length + 1))
  }

  // ---- looking -----------------------------------------------------------------------------------------------------

  async look(at: 'everywhere' | 'turn' | 'step'): Promise<WatchedLook> {
    if (this.#looking !== undefined) this.#putBack(this.#looking)
    const isHint = this.#whyFull(at) === undefined && (await this.#flush()) && this.#whyFull(at) === undefined
    const dirt = this.#dirt
    // A look that began before the watcher did cannot vouch for what happened in between.
    this.#dirt = emptyDirt(this.#subscription === undefined ? (this.#reason ?? justStarted) : undefined)
    this.#looking = dirt
    if (isHint) return { dirty: this.#folders(dirt), done: () => this.#seen() }
    const began = performance.now()
    return { done: () => this.#seenAll(performance.now() - began) }
  }

  /**
   * For another process that looks at the files itself, and holds the lock of the store meanwhile. Nothing is taken for
   * seen by it. What our own last look took for seen is in the log, and whatever cache the other one has is held against
   * that.
   */
  async hints(at: 'everywhere' | 'turn' | 'step'): Promise<Hints['dirty']> {
    if (this.#whyFull(at) !== undefined || !(await this.#flush()) || this.#whyFull(at) !== undefined) {
      // Only a look of our own makes an end of the doubt.
      if (this.#isDoubtful && at !== 'everywhere') this.#lookSoon()
      return null
    }
    this.#hasHelped = true
    const { folders, trees } = this.#folders(this.#dirt)
    const being = this.#looking
    return {
      folders: [...folders, ...(being?.folders ?? [])].map(textOfBytes),
      trees: [...trees, ...(being?.trees ?? [])].map(textOfBytes),
    }
  }

  /** Whoever recorded it: if he went by our hints, it is to be audited. */
  turnEnded(turn: TurnId): void {
    if (!this.#hasHelped || this.#workspace === undefined) return
    this.#workspace.engine.unaudited.add(turn)
    this.#auditSoon()
  }

  #whyFull(at: 'everywhere' | 'turn' | 'step'): string | undefined {
    if (at === 'everywhere') return 'it was asked for'
    if (this.#subscription === undefined) return this.#reason ?? 'nobody watches yet'
    if (this.#dirt.doubt !== undefined) return this.#dirt.doubt
    if (this.#fullLookMs <= this.#options.hintAboveMs) return 'it is quick'
    const isRecent = Date.now() - this.#lastFullMs <= this.#options.fullEveryMs
    return at === 'turn' && !isRecent ? 'the last one was long ago' : undefined
  }

  async #flush(): Promise<boolean> {
    const isThrough = (await this.#subscription?.flush(flushMs)) ?? false
    if (!isThrough) this.#dirt.doubt = 'the watcher did not answer in time'
    return isThrough
  }

  #folders({ folders, trees }: Dirt): DirtyFolders {
    for (const path of trees) if (this.#isFolder(path)) this.#newFolders.add(path)
    return { folders, trees: new Set([...trees, ...this.#unwatched, ...this.#newFolders]) }
  }

  #isFolder(path: string): boolean {
    return this.#workspace?.engine.fs.lstat(joined(this.#workspace.root, path))?.kind === 'folder'
  }

  // A look that failed has not taken in what it was to look at.
  #putBack({ folders, trees, doubt }: Dirt): void {
    for (const folder of folders) this.#dirt.folders.add(folder)
    for (const tree of trees) this.#dirt.trees.add(tree)
    this.#dirt.doubt ??= doubt
    this.#looking = undefined
  }

  #seen(): void {
    this.#looking = undefined
    if (this.#newFolders.size > mostNewFolders) this.#startAnew()
    this.#auditSoon()
  }

  #startAnew(): void {
    const workspace = this.#workspace
    if (workspace === undefined || this.#ended) return
    const old = this.#subscription
    this.#subscription = undefined
    this.#newFolders.clear()
    this.#dirt.doubt = justStarted
    this.#starting = (async () => {
      await old?.close()
      await this.#start(workspace)
    })().catch((error: unknown) => this.#off(error instanceof Error ? error.message : String(error)))
  }

  #seenAll(tookMs: number): void {
    this.#looking = undefined
    this.#fullLookMs = tookMs
    this.#lastFullMs = Date.now()
    this.#hasHelped = false
  }

  // ---- auditing ----------------------------------------------------------------------------------------------------

  /** Off the critical path: after the answer is out, and not while more requests come in. */
  #auditSoon(): void {
    clearTimeout(this.#audit)
    if (this.#ended) return
    this.#audit = setTimeout(() => {
      this.#auditing = this.audit()
    }, auditAfterMs)
    this.#audit.unref()
  }

  get #isDoubtful(): boolean {
    return this.#subscription !== undefined && (this.#dirt.doubt !== undefined || this.#lastFullMs === 0)
  }

  #lookSoon(): void {
    if (this.#ended || this.#looksSoon !== undefined) return
    this.#looksSoon = setTimeout(() => {
      this.#looksSoon = undefined
      this.#auditing = this.#lookOver()
    }, lookSoonMs)
    this.#looksSoon.unref()
  }

  async audit(): Promise<void> {
    if (this.#workspace?.hasUnaudited === true) await this.#lookOver()
  }

  async #lookOver(): Promise<void> {
    if (this.#workspace === undefined) return
    try {
      await this.#workspace.audit()
    } catch (error) {
      this.#onWarning(`A turn could not be audited: ${error instanceof Error ? error.message : error}`)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true
    clearTimeout(this.#audit)
    clearTimeout(this.#looksSoon)
    await this.#starting
    await this.#auditing
    await this.audit()
    this.#state = 'off'
    await this.#subscription?.close()
    this.#subscription = undefined
  }
}

function joined(root: AbsPath, path: string): AbsPath {
  return `${root}/${path}` as AbsPath
}

function emptyDirt(doubt: string | undefined): Dirt {
  return { folders: new Set(), trees: new Set(), doubt }
}
