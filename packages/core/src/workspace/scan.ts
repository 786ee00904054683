/** Sees what changed in the user's folder since the last look. Reads only; never follows a link. */

import { constants } from 'node:fs'
import { shown, UnturnError } from '../errors.ts'
import {
  type AbsPath,
  type BlobId,
  type ByteString,
  isDotGit,
  joinAbs,
  joinRel,
  parentOf,
  type RelPath,
  type Skipped,
} from '../values.ts'
import type { FolderPatch, SkippedEntry, StatFields } from './cache-records.ts'
import { Bits, type CacheTable, isRacy, State } from './cache-table.ts'
import { type CaptureRules, fingerprintOf, type PlainRules, plainRules } from './capture-rules.ts'
import { asNodePath, lookAt, typeOf } from './looking.ts'
import {
  Control,
  checkFolders,
  checkStride,
  folderStride,
  type Ground,
  itemStride,
  type Job,
  Lister,
  type ListResult,
  Marks,
  Status,
} from './scan-walk.ts'
import type { Task } from './scan-worker.ts'
import { SecondThread, ThreadLost } from './second-thread.ts'
import type { ScanLesson, StatCache } from './stat-cache.ts'

export interface SeenFile extends StatFields {
  readonly path: RelPath
  readonly kind: 'file' | 'link'
  readonly perm: number
  /** Not later than the moment of the look; for the racy rule. Without it the stat proves nothing. */
  readonly lookedMs?: number
}

export interface Scan {
  /** New, or with another stat, or with a stat that proves nothing: must be read. */
  readonly changed: readonly SeenFile[]
  /** Known, and certainly not there any more as file or link. */
  readonly gone: readonly RelPath[]
  /** Every folder that was looked at, with its permission bits; without the root. */
  readonly folders: ReadonlyMap<RelPath, number> | 'unchanged'
  /** Complete; topmost paths only; sorted. */
  readonly skipped: readonly Skipped[]
  /** The signature of each skipped path, to tell later whether it changed. */
  readonly skippedStats: ReadonlyMap<RelPath, string>
  readonly startedMs: number
}

/** Where something may have changed since the last scan, as far as somebody who watches can tell. '' is the root. */
export interface DirtyFolders {
  /** Folders in which names came or went, or files were written. */
  readonly folders: ReadonlySet<ByteString>
  /** Folders that may differ at any depth. */
  readonly trees: ReadonlySet<ByteString>
}

export interface ScanOptions {
  /** Compare only these folders; all others are taken to be as they were. Not good for more than a hint. */
  readonly dirty?: DirtyFolders
  /** Paths that a tool named: captured even when ignored or too large, while they exist. */
  readonly named?: readonly RelPath[]
  readonly onProgress?: (seen: number) => void
  /** What this thread does once the other one has begun. Not asked for where there is no other; maybe more than once. */
  readonly meanwhile?: () => Promise<unknown> | undefined
}

/** The same scan with more files that must be read. */
export function withChanged(scan: Scan, more: readonly SeenFile[]): Scan {
  const larger = { ...scan, changed: [...scan.changed, ...more] }
  const lesson = lessons.get(scan)
  if (lesson !== undefined) lessons.set(larger, lesson)
  return larger
}

/** Two looks at one path give the same signature if nothing happened to it. It says of a folder that it is one. */
export function signatureOf(kind: 'folder' | 'other', stat: Stat): string {
  const { size, mtimeMs, ctimeMs, ino } = stat
  return `${kind === 'folder' ? 'folder:' : ''}${size}:${mtimeMs}:${ctimeMs}:${ino}`
}

/** Nobody looks into a skipped folder: an equal signature proves nothing about what lies in it. */
export function isFolderSignature(signature: string): boolean {
  return signature.startsWith('folder:')
}

export type Looked =
  | SeenFile
  | { readonly path: RelPath; readonly kind: 'gone' }
  | { readonly path: RelPath; readonly kind: 'folder' }
  | { readonly path: RelPath; readonly skipped: 'special' | 'unreadable' | 'nested-git' }

/** When a second thread pays, and where its code is. */
export interface ThreadOptions {
  /** From this many known files on they are compared by two. */
  readonly comparedFiles: number
  /** From this many folders on that wait to be listed, they are listed by two. */
  readonly waitingFolders: number
  /** From this many files on they are read by two. */
  readonly readFiles: number
  readonly file: URL
}

const usualThread: ThreadOptions = {
  comparedFiles: 8000,
  waitingFolders: 128,
  readFiles: 400,
  file: new URL(import.meta.url.endsWith('.ts') ? './scan-worker.ts' : './scan-worker.js', import.meta.url),
}

const lessons = new WeakMap<Scan, ScanLesson>()

export class Scanner implements AsyncDisposable {
  readonly root: AbsPath
  readonly threadOptions: ThreadOptions
  #thread: SecondThread | 'none' | undefined
  #turn: Promise<unknown> = Promise.resolve()

  constructor(root: AbsPath, thread: Partial<ThreadOptions> = {}) {
    this.root = root
    this.threadOptions = { ...usualThread, ...thread }
  }

  /** Fails with `workspace-unreadable` when the root itself cannot be listed; every other trouble is in the result. */
  async scan(cache: StatCache, rules: CaptureRules, options: ScanOptions = {}): Promise<Scan> {
    // One at a time: two scans would share the marks of one thread's tasks, and the cache is not a lock.
    const turn = this.#turn.then(() => this.#scanSafely(cache, rules, options))
    this.#turn = turn.catch(() => undefined)
    return await turn
  }

  /** Looks at these paths only. A path behind a link in its parents is gone as far as the workspace goes. */
  look(_cache: StatCache, paths: readonly RelPath[]): readonly Looked[] {
    const folders = new Map<ByteString, FolderLook>([['', 'folder']])
    return paths.map((path) => this.#lookAtPath(path, folders))
  }

  /** Puts what was read into the cache, each file with its racy mark, and what the scan learned of folders. */
  settle(
    cache: StatCache,
    seen: readonly { readonly seen: SeenFile; readonly blob: BlobId }[],
    gone: readonly RelPath[],
    scan?: Scan,
  ): void {
    for (const path of gone) cache.forget(path)
    const lesson = scan === undefined ? undefined : lessons.get(scan)
    if (lesson !== undefined) cache.learn(lesson)
    for (const { seen: file, blob } of seen)
      cache.put(file.path, { ...file, blob }, isRacy(file, file.lookedMs ?? 0))
    if (scan !== undefined) listUnreadAgain(cache, unreadOf(scan.changed, seen))
  }

  /** The second thread, started now if it is not there yet; `undefined` where there cannot be one. */
  secondThread(): SecondThread | undefined {
    this.#thread ??= SecondThread.start(this.threadOptions.file) ?? 'none'
    return this.#thread === 'none' ? undefined : this.#thread
  }

  async loseThread(): Promise<void> {
    const thread = this.#thread
    this.#thread = 'none'
    if (thread !== undefined && thread !== 'none') await thread.end()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.loseThread()
  }

  async #scanSafely(cache: StatCache, rules: CaptureRules, options: ScanOptions): Promise<Scan> {
    try {
      return await this.#scan(cache, rules, options)
    } catch (error) {
      if (!(error instanceof ThreadLost)) throw error
      // It may have taken folders that nobody looked at now: only a new scan is sure to be whole.
      await this.loseThread()
      return await this.#scan(cache, rules, options)
    }
  }

  async #scan(cache: StatCache, rules: CaptureRules, options: ScanOptions): Promise<Scan> {
    const run = new ScanRun(this, cache, rules, options)
    return await run.scan()
  }

  #lookAtPath(path: RelPath, folders: Map<ByteString, FolderLook>): Looked {
    if (path.split('/').some(isDotGit)) return { path, skipped: 'nested-git' }
    const parent = this.#lookAtFolder(parentOf(path), folders)
    if (parent === 'gone') return { path, kind: 'gone' }
    if (parent === 'unreadable') return { path, skipped: 'unreadable' }
    const lookedMs = Date.now()
    const stat = lookAt(asNodePath(joinAbs(this.root, path)))
    if (stat === 'gone') return { path, kind: 'gone' }
    if (stat === 'unreadable') return { path, skipped: 'unreadable' }
    const type = typeOf(stat)
    if (type === constants.S_IFDIR) return { path, kind: 'folder' }
    if (type !== constants.S_IFREG && type !== constants.S_IFLNK) return { path, skipped: 'special' }
    const kind = type === constants.S_IFLNK ? 'link' : 'file'
    const { size, mtimeMs, ctimeMs, ino } = stat
    return { path, kind, perm: stat.mode & Bits.perm, size, mtimeMs, ctimeMs, ino, lookedMs }
  }

  #lookAtFolder(folder: ByteString, folders: Map<ByteString, FolderLook>): FolderLook {
    const known = folders.get(folder)
    if (known !== undefined) return known
    const parent = this.#lookAtFolder(parentOf(folder), folders)
    const look = parent === 'folder' ? folderLook(joinAbs(this.root, folder)) : parent
    folders.set(folder, look)
    return look
  }
}

type FolderLook = 'folder' | 'gone' | 'unreadable'

function folderLook(path: AbsPath): FolderLook {
  const stat = lookAt(asNodePath(path))
  if (typeof stat === 'string') return stat
  return typeOf(stat) === constants.S_IFDIR ? 'folder' : 'gone'
}

/** Not told by their number: a first capture also reads files that are as the index says. */
function unreadOf(
  changed: readonly SeenFile[],
  seen: readonly { readonly seen: SeenFile }[],
): readonly SeenFile[] {
  const read = new Set(seen.map(({ seen: file }) => file.path))
  return changed.filter((file) => !read.has(file.path))
}

/** A new file that could not be read is in no table: without a new listing the next scan would not see it. */
function listUnreadAgain(cache: StatCache, unread: readonly SeenFile[]): void {
  for (const file of unread) if (cache.get(file.path) === undefined) cache.listAgain(parentOf(file.path))
}

/** One scan from start to end. */
class ScanRun {
  readonly #scanner: Scanner
  readonly #rules: PlainRules
  readonly #ownRules: CaptureRules
  readonly #table: CacheTable
  readonly #isFirst: boolean
  readonly #mayShare: boolean
  readonly #size: number
  readonly #hasFilledFoldersOnly: boolean
  readonly #onProgress: ((seen: number) => void) | undefined
  readonly #meanwhile: () => Promise<void>
  readonly #dirty: DirtyFolders | undefined
  readonly #startedMs = Date.now()

  constructor(scanner: Scanner, cache: StatCache, rules: CaptureRules, options: ScanOptions) {
    this.#scanner = scanner
    this.#ownRules = rules
    this.#rules = plainRules(rules, scanner.root, options.named ?? [])
    this.#table = cache.compact()
    // Rules that nobody has judged by yet need no comparison, which takes a while in a large repository.
    this.#isFirst =
      this.#table.folderCount === 0 || cache.fingerprint === '' || cache.fingerprint !== this.#fingerprint()
    this.#mayShare = rules.tracked === undefined || rules.tracked.shared !== undefined
    this.#size = cache.size
    this.#hasFilledFoldersOnly = cache.hasFilledFoldersOnly
    this.#onProgress = options.onProgress
    this.#meanwhile = async () => {
      this.#fingerprint() // asked for in the end; the other thread goes on while it is worked out
      await options.meanwhile?.()
    }
    this.#dirty = options.dirty
  }

  async scan(): Promise<Scan> {
    if (!this.#isFirst) {
      const scan = await this.#scanChanged()
      if (scan !== 'rules-changed') return scan
    }
    return await this.#scanAll()
  }

  async #scanChanged(): Promise<Scan | 'rules-changed'> {
    const ground = this.#ground()
    this.#markDoubtful(ground)
    const checked = await this.#check(ground)
    this.#refuseLostRoot(ground)
    if (rulesChanged(ground)) return 'rules-changed'
    const lists = await this.#list(this.#again(ground), staleJobs(ground), false)
    this.#refuseLostRoot(ground)
    return lists === 'rules-changed' ? lists : this.#assemble(ground.marks, checked, lists)
  }

  async #scanAll(): Promise<Scan> {
    const ground = this.#ground()
    const place = ground.table.folderCount > 0 ? 0 : -1
    const root: Job = { path: '', blocked: false, origin: place, index: place }
    const lists = await this.#list(ground, [root], true)
    if (lists === 'rules-changed') throw new Error('unreachable: a full scan does not depend on old rules')
    this.#refuseLostRoot(ground)
    if (lists.every(({ folders }) => folders.length === 0 || folders[7] === Status.unreadable))
      this.#failUnlessListed(lists)
    return this.#assemble(ground.marks, [], lists)
  }

  #ground(): Ground {
    const marks = new Marks(this.#table)
    if (this.#hasFilledFoldersOnly) marks.knownBelow.fill(1)
    else fillKnownBelow(this.#table, marks)
    return { root: this.#scanner.root, table: this.#table, marks, control: newControl() }
  }

  #again(ground: Ground): Ground {
    return { ...ground, control: newControl() }
  }

  /** Folders whose stat may be as it was although their names must be judged again. */
  #markDoubtful(ground: Ground): void {
    const { table, marks } = ground
    const stale = (path: ByteString) => {
      let index = table.nearestFolder(path)
      while (index > 0 && (table.folderBits(index) & Bits.unseen) !== 0) index = table.parent(index)
      if (index >= 0) marks.status[index] = Status.stale
    }
    for (const path of this.#rules.named) {
      const entry = table.indexOfEntry(path)
      if (entry < 0 || !table.isCaptured(entry)) stale(parentOf(path))
    }
    const below = new WantedBelow(this.#ownRules, this.#rules.named)
    for (let i = 1; i < table.folderCount; i++) {
      const bits = table.folderBits(i)
      if ((bits & Bits.unseen) !== 0) stale(parentOf(table.folderPath(i)))
      else if ((bits & Bits.blocked) !== 0 && marks.knownBelow[i] === 0 && !below.has(table.folderPath(i)))
        stale(parentOf(table.folderPath(i)))
    }
  }

  async #check(ground: Ground): Promise<readonly Float64Array[]> {
    if (this.#dirty !== undefined)
      return [checkFolders(ground, this.#onProgress, trustedFolders(ground.table, this.#dirty))]
    const thread =
      this.#size >= this.#scanner.threadOptions.comparedFiles ? this.#scanner.secondThread() : undefined
    const task: Task = { kind: 'check', ground: sharedGround(ground) }
    return await shared(thread, task, ground.control, () => checkFolders(ground, this.#onProgress))
  }

  async #list(
    ground: Ground,
    jobs: readonly Job[],
    full: boolean,
  ): Promise<readonly ListResult[] | 'rules-changed'> {
    const lister = new Lister(ground, this.#rules, full, this.#ownRules.tracked)
    const waiting = lister.expand(
      jobs,
      this.#mayShare ? this.#scanner.threadOptions.waitingFolders : Number.POSITIVE_INFINITY,
      this.#onProgress,
    )
    if (rulesChanged(ground)) return 'rules-changed'
    if (waiting.length === 0) return [lister.result()]
    const plainJobs = waiting.map(({ path, blocked, origin, index }) => ({ path, blocked, origin, index }))
    const task: Task = {
      kind: 'list',
      ground: sharedGround(ground),
      rules: this.#rules,
      full,
      jobs: plainJobs,
      folderPaths: ground.table.joinedFolderPaths(),
    }
    const own = () => {
      lister.takeFrom(waiting, this.#onProgress)
      return lister.result()
    }
    const lists = await shared(this.#scanner.secondThread(), task, ground.control, own, this.#meanwhile)
    return rulesChanged(ground) ? 'rules-changed' : lists
  }

  #refuseLostRoot(ground: Ground): void {
    const status = ground.marks.status[0]
    if (status === Status.gone) throw unreadableRoot(this.#scanner.root, 'it is not there')
    if (status === Status.unreadable) throw unreadableRoot(this.#scanner.root, 'it may not be read')
  }

  /** On a first scan the table has no mark for the root. */
  #failUnlessListed(lists: readonly ListResult[]): void {
    const isUnreadable = lists.some(({ folders }) => folders.length > 0)
    throw unreadableRoot(this.#scanner.root, isUnreadable ? 'it may not be read' : 'it is not there')
  }

  #assemble(marks: Marks, checked: readonly Float64Array[], lists: readonly ListResult[]): Scan {
    const assembly = new Assembly(this.#table, marks)
    assembly.addLists(lists)
    for (const rows of checked) assembly.addChecked(rows)
    const scan = assembly.scan(this.#startedMs)
    lessons.set(scan, assembly.lesson(this.#fingerprint()))
    return scan
  }

  #fingerprint(): string {
    return fingerprintOf(this.#ownRules, this.#scanner.root)
  }
}

class WantedBelow {
  readonly #rules: CaptureRules
  readonly #named: readonly RelPath[]

  constructor(rules: CaptureRules, named: readonly RelPath[]) {
    this.#rules = rules
    this.#named = named
  }

  has(folder: ByteString): boolean {
    return (
      this.#rules.tracked?.hasBelow(folder as RelPath) === true ||
      this.#named.some((path) => path.startsWith(`${folder}/`))
    )
  }
}

/** One byte for each folder of the table: 1 where nobody says that something changed. */
function trustedFolders(table: CacheTable, dirty: DirtyFolders): Uint8Array {
  const trusted = new Uint8Array(table.folderCount).fill(1)
  const inTree = new Uint8Array(table.folderCount)
  const doubt = (path: ByteString) => {
    const index = table.nearestFolder(path)
    if (index >= 0) trusted[index] = 0
    return index
  }
  for (const path of dirty.folders) doubt(path)
  for (const path of dirty.trees) {
    const index = doubt(path)
    if (index >= 0 && table.folderPath(index) === path) inTree[index] = 1
  }
  for (let folder = 1; folder < table.folderCount; folder++) {
    if (inTree[table.parent(folder)] === 1) inTree[folder] = 1
    if (inTree[folder] === 1) trusted[folder] = 0
  }
  return trusted
}

function newControl(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Control.words * 4))
}

function rulesChanged(ground: Ground): boolean {
  return Atomics.load(ground.control, Control.rulesChanged) !== 0
}

function sharedGround(ground: Ground) {
  const { root, table, marks, control } = ground
  return { root, table: table.buffer, marks: marks.buffer, control }
}

function fillKnownBelow(table: CacheTable, marks: Marks): void {
  for (let folder = table.folderCount - 1; folder >= 0; folder--) {
    let known = marks.knownBelow[folder] === 1
    const end = table.endEntry(folder)
    for (let entry = table.firstEntry(folder); entry < end && !known; entry++) known = table.isCaptured(entry)
    if (!known) continue
    marks.knownBelow[folder] = 1
    const parent = table.parent(folder)
    if (parent >= 0) marks.knownBelow[parent] = 1
  }
}

/** Jobs for the folders that must be listed, apart from those behind a folder that became a link. */
function staleJobs(ground: Ground): readonly Job[] {
  const { table, marks } = ground
  const final = finalStatus(table, marks.status)
  const jobs: Job[] = []
  for (let folder = 0; folder < table.folderCount; folder++) {
    if (marks.status[folder] !== Status.stale || final[folder] !== Status.stale) continue
    const blocked = (table.folderBits(folder) & Bits.blocked) !== 0
    jobs.push({ path: table.folderPath(folder), blocked, origin: folder, index: folder })
  }
  return jobs
}

/**
 * The status of each folder in the light of those above it. An lstat of `a/b` follows a link at `a`: if `a`
 * is a link by now, what was seen below it is not in the workspace, however equal it looks.
 */
function finalStatus(table: CacheTable, status: Uint8Array): Uint8Array {
  const final = status.slice()
  for (let folder = 1; folder < table.folderCount; folder++) {
    const above = final[table.parent(folder)]
    if (above === Status.gone || above === Status.dropped) final[folder] = Status.gone
    else if (above === Status.unreadable || above === Status.kept) final[folder] = Status.kept
  }
  return final
}

/** Both threads at one task. Waits for the other one only if it took a share. */
async function shared<Result>(
  thread: SecondThread | undefined,
  task: Task,
  control: Int32Array,
  own: () => Result,
  meanwhile?: () => Promise<unknown> | undefined,
): Promise<readonly Result[]> {
  const theirs = thread?.give<Result>(task)
  theirs?.catch(() => undefined) // asked for below, or not needed at all
  let mine: Result
  try {
    if (theirs !== undefined) await meanwhile?.()
    mine = own()
  } finally {
    Atomics.store(control, Control.cursor, nothingLeft)
  }
  if (theirs === undefined || Atomics.load(control, Control.joined) === 0) return [mine]
  return [mine, await theirs]
}

export const nothingLeft = 0x3fff_ffff

interface ListedFolder extends FolderPatch {
  readonly size: number
  readonly lookedMs: number
  readonly isUnreadable: boolean
  readonly index: number
  readonly skipped: SkippedEntry[]
}

const reasons = {
  [State.ignored]: 'ignored',
  [State.unreadable]: 'unreadable',
  [State.special]: 'special',
  [State.nestedGit]: 'nested-git',
} as const

/** Puts together what the threads saw. */
class Assembly {
  readonly #table: CacheTable
  readonly #marks: Marks
  readonly #final: Uint8Array
  readonly #listed: ListedFolder[] = []
  readonly #changed: SeenFile[] = []
  readonly #skipped: Skipped[] = []
  readonly #skippedStats = new Map<RelPath, string>()

  constructor(table: CacheTable, marks: Marks) {
    this.#table = table
    this.#marks = marks
    this.#final = finalStatus(table, marks.status)
    for (let folder = 0; folder < table.folderCount; folder++) {
      const status = this.#final[folder]
      if (status === Status.unvisited || status === Status.stale || status === Status.dropped)
        this.#final[folder] = Status.gone
    }
  }

  addLists(lists: readonly ListResult[]): void {
    for (const list of lists) this.#addList(list)
    for (let folder = 0; folder < this.#table.folderCount; folder++)
      if (this.#final[folder] === Status.unreadable) this.#skipUnreadableFolder(folder)
  }

  addChecked(rows: Float64Array): void {
    for (let at = 0; at < rows.length; at += checkStride) {
      const [folder = 0, entry = 0, mode = 0, size = 0, mtimeMs = 0, ctimeMs = 0, ino = 0, lookedMs = 0] =
        rows.subarray(at, at + checkStride)
      if (this.#final[folder] !== Status.same) continue
      const path = joinRel(this.#table.folderPath(folder), this.#table.entryName(entry))
      const stat = { size, mtimeMs, ctimeMs, ino }
      const state = this.#table.stateOf(entry)
      if (state <= State.link) this.#addChanged(path, state, mode & Bits.perm, stat, lookedMs)
      else this.#addSkipped(path, state, mode, stat)
    }
  }

  scan(startedMs: number): Scan {
    return {
      changed: this.#changed,
      gone: this.#gone(),
      folders: this.#foldersChanged() ? this.#folders() : 'unchanged',
      skipped: this.#skipped.sort((a, b) => (a.path < b.path ? -1 : 1)),
      skippedStats: this.#skippedStats,
      startedMs,
    }
  }

  lesson(fingerprint: string): ScanLesson {
    const removedFolders: ByteString[] = []
    for (let folder = 0; folder < this.#table.folderCount; folder++)
      if (this.#final[folder] === Status.gone) removedFolders.push(this.#table.folderPath(folder))
    return { fingerprint, folders: this.#listed, removedFolders }
  }

  #addList(list: ListResult): void {
    const paths = list.folderPaths.split('\0')
    const folders = paths.map((path, number) => this.#folderFrom(path, list.folders, number * folderStride))
    const names = list.itemNames.split('/')
    const { items } = list
    for (let at = 0, i = 0; at < items.length; at += itemStride, i++) {
      const folder = folders[items[at] ?? 0]
      if (folder === undefined) continue
      const state = items[at + 1] ?? 0
      const mode = items[at + 2] ?? 0
      const name = names[i] ?? ''
      const stat = {
        size: items[at + 3] ?? 0,
        mtimeMs: items[at + 4] ?? 0,
        ctimeMs: items[at + 5] ?? 0,
        ino: items[at + 6] ?? 0,
      }
      const path = joinRel(folder.path, name)
      if (state <= State.link) this.#addChanged(path, state, mode & Bits.perm, stat, folder.lookedMs)
      else {
        const racy = name === '.gitignore' && isRacy(stat, folder.lookedMs)
        folder.skipped.push({ name, state, racy, ...stat })
        this.#addSkipped(path, state, mode, stat)
      }
    }
  }

  /** `undefined` where the folder, or one above it, turned out not to count. */
  #folderFrom(path: ByteString, rows: Float64Array, at: number): ListedFolder | undefined {
    if (at >= rows.length) return undefined
    const origin = rows[at + 8] ?? -1
    const counts =
      origin < 0 || this.#final[origin] === Status.listed || this.#final[origin] === Status.unreadable
    if (!counts) return undefined
    const isUnreadable = rows[at + 7] === Status.unreadable
    // By their places: to take a row apart as a list took longer than all else that is done with it.
    const folder = {
      path,
      perm: rows[at] ?? 0,
      size: rows[at + 1] ?? 0,
      mtimeMs: rows[at + 2] ?? 0,
      ctimeMs: rows[at + 3] ?? 0,
      ino: rows[at + 4] ?? 0,
      bits: rows[at + 5] ?? 0,
      lookedMs: rows[at + 6] ?? 0,
      isUnreadable,
      index: rows[at + 9] ?? -1,
      skipped: [],
    }
    this.#listed.push(folder)
    if (isUnreadable) this.#addSkipped(path as RelPath, State.unreadable, constants.S_IFDIR, folder)
    return folder
  }

  /** One that not even lstat could reach has no row. */
  #skipUnreadableFolder(folder: number): void {
    const path = this.#table.folderPath(folder) as RelPath
    if (!this.#skippedStats.has(path))
      this.#addSkipped(path, State.unreadable, constants.S_IFDIR, { size: 0, mtimeMs: 0, ctimeMs: 0, ino: 0 })
  }

  #addChanged(path: RelPath, state: number, perm: number, stat: Stat, lookedMs: number): void {
    const { size, mtimeMs, ctimeMs, ino } = stat
    const kind = state === State.link ? 'link' : 'file'
    this.#changed.push({ path, kind, perm, size, mtimeMs, ctimeMs, ino, lookedMs })
  }

  #addSkipped(path: RelPath, state: number, mode: number, stat: Stat): void {
    const kind = (mode & constants.S_IFMT) === constants.S_IFDIR ? 'folder' : 'other'
    this.#skippedStats.set(path, signatureOf(kind, stat))
    if (state === State.tooLarge) this.#skipped.push({ path, reason: 'too-large', size: stat.size })
    else if (state in reasons) this.#skipped.push({ path, reason: reasons[state as keyof typeof reasons] })
  }

  #gone(): readonly RelPath[] {
    const gone: RelPath[] = []
    const table = this.#table
    const { seen } = this.#marks
    if (!seen.includes(0) && !this.#final.includes(Status.gone)) return gone
    for (let folder = 0; folder < table.folderCount; folder++) {
      const status = this.#final[folder]
      if (status !== Status.gone && status !== Status.listed) continue
      const end = table.endEntry(folder)
      for (let entry = table.firstEntry(folder); entry < end; entry++) {
        const isThere = status === Status.listed && seen[entry] === 1
        if (!isThere && table.isCaptured(entry))
          gone.push(joinRel(table.folderPath(folder), table.entryName(entry)))
      }
    }
    return gone
  }

  #foldersChanged(): boolean {
    const table = this.#table
    for (const { index, perm } of this.#listed) {
      const bits = index < 0 ? Bits.unseen : table.folderBits(index)
      if ((bits & Bits.unseen) !== 0) return true
      if (index > 0 && (bits & Bits.perm) !== perm) return true
    }
    for (let folder = 0; folder < table.folderCount; folder++)
      if (this.#final[folder] === Status.gone) return true
    return false
  }

  #folders(): ReadonlyMap<RelPath, number> {
    const folders = new Map<RelPath, number>()
    const table = this.#table
    for (let folder = 0; folder < table.folderCount; folder++) {
      const bits = table.folderBits(folder)
      if (this.#final[folder] !== Status.gone && (bits & Bits.unseen) === 0)
        folders.set(table.folderPath(folder) as RelPath, bits & Bits.perm)
    }
    for (const { path, perm } of this.#listed) folders.set(path as RelPath, perm)
    folders.delete('' as RelPath)
    return folders
  }
}

interface Stat {
  readonly size: number
  readonly mtimeMs: number
  readonly ctimeMs: number
  readonly ino: number
}

function unreadableRoot(root: AbsPath, reason: string): UnturnError {
  return new UnturnError(
    'workspace-unreadable',
    { folder: shown(root), reason },
    {
      message: `The folder ${shown(root)} could not be looked at: ${reason}. Nothing was recorded and no file was changed.`,
      hint: 'Check that the folder is there and that you may read it, then run the same command again.',
    },
  )
}
