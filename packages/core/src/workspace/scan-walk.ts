/**
 * The part of a scan that both threads run. It only reads: lstat, readdir, and the ignore files.
 *
 * First `checkFolders` compares what the cache has with the disk, one lstat for each path. Folders whose own
 * stat differs are then listed by `Lister`, together with what is new below them. The threads share the work
 * through a cursor in shared memory and tell each other about folders in `Marks`.
 */

import { constants, readdirSync } from 'node:fs'
import { type ByteString, isDotGit, joinRel, nameOf, parentOf, type RelPath } from '../values.ts'
import { Bits, type CacheTable, isRacy, State } from './cache-table.ts'
import { type PlainRules, type Tracked, Verdicts } from './capture-rules.ts'
import { type IgnoreStack, parseRules } from './ignore.ts'
import { isStagingName } from './journal.ts'
import { folderPathBelow, type Look, lookAt, namesIn, PathBytes, readIgnoreFile, typeOf } from './looking.ts'
import { Rows } from './rows.ts'

/** What the scan found out about a folder of the cache. */
export const Status = {
  unvisited: 0,
  /** Same stat, so same names. */
  same: 1,
  /** Its names must be asked for. */
  stale: 2,
  gone: 3,
  listed: 4,
  unreadable: 5,
  /** Still there, but ignored by now, and nothing known is left below. */
  dropped: 6,
  /** Below an unreadable folder: what was known stays as it is. */
  kept: 7,
} as const

/** Words of the shared control block. */
export const Control = { cursor: 0, joined: 1, rulesChanged: 2, seen: 3, words: 4 } as const

export const checkStride = 8
export const folderStride = 10
export const itemStride = 7

/** One byte for each folder and entry of the cache, shared by the threads. */
export class Marks {
  readonly buffer: SharedArrayBuffer
  readonly status: Uint8Array
  readonly knownBelow: Uint8Array
  readonly seen: Uint8Array

  constructor(table: CacheTable, buffer?: SharedArrayBuffer) {
    const folders = table.folderCount
    this.buffer = buffer ?? new SharedArrayBuffer(folders * 2 + table.entryCount)
    this.status = new Uint8Array(this.buffer, 0, folders)
    this.knownBelow = new Uint8Array(this.buffer, folders, folders)
    this.seen = new Uint8Array(this.buffer, folders * 2, table.entryCount)
  }
}

/** What both threads work on. */
export interface Ground {
  readonly root: ByteString
  readonly table: CacheTable
  readonly marks: Marks
  readonly control: Int32Array
}

export interface Job {
  readonly path: ByteString
  readonly blocked: boolean
  /** The folder of the cache that the job belongs to: what was found counts only if that one does. */
  readonly origin: number
  /** The place that the folder itself has in the cache; -1: none. */
  readonly index: number
  readonly above?: IgnoreStack | undefined
  /** Where the name was met, if nobody has looked yet whether it is a folder. */
  readonly metIn?: Visit
}

export interface ListResult {
  /** Of each listed folder: perm, size, mtime, ctime, ino, bits, moment, status, origin, index in the cache. */
  readonly folders: Float64Array
  readonly folderPaths: string
  /** Of each changed or skipped name: number of its folder, state, mode, size, mtime, ctime, ino. */
  readonly items: Float64Array
  readonly itemNames: string
}

/**
 * Compares folders of the cache with the disk, as many as the cursor gives. The rows: folder, entry, mode,
 * size, mtime, ctime, ino, moment; for each file that differs and each name that was skipped.
 */
export function checkFolders(
  ground: Ground,
  onProgress?: (seen: number) => void,
  trusted?: Uint8Array,
): Float64Array {
  const { table, marks, control } = ground
  const check = new FolderCheck(ground, trusted)
  for (;;) {
    const start = Atomics.add(control, Control.cursor, foldersAtOnce)
    const end = Math.min(start + foldersAtOnce, table.folderCount)
    if (start >= end || Atomics.load(control, Control.rulesChanged) !== 0) return check.rows.taken()
    for (let folder = start; folder < end; folder++) marks.status[folder] = check.statusOf(folder)
    const entries = table.endEntry(end - 1) - table.firstEntry(start)
    const seen = Atomics.add(control, Control.seen, entries) + entries
    onProgress?.(seen)
  }
}

const foldersAtOnce = 16

class FolderCheck {
  readonly rows = new Rows(checkStride)
  readonly #ground: Ground
  readonly #path = new PathBytes()
  readonly #trusted: Uint8Array | undefined

  constructor(ground: Ground, trusted?: Uint8Array) {
    this.#ground = ground
    this.#trusted = trusted
  }

  statusOf(folder: number): number {
    const { table, marks, root } = this.#ground
    const bits = table.folderBits(folder)
    if ((bits & Bits.unseen) !== 0) return Status.unvisited
    if (this.#trusted?.[folder] === 1 && marks.status[folder] !== Status.stale && (bits & Bits.racy) === 0) {
      if (!this.#hasDoubtful(folder)) return Status.same
    }
    const moment = Date.now()
    this.#path.setFolder(folderPathBelow(root, table.folderPath(folder)))
    const stat = lookAt(folder === 0 ? this.#path.folder() : this.#path.folderItself())
    if (stat === 'unreadable') return Status.unreadable
    if (stat === 'gone' || typeOf(stat) !== constants.S_IFDIR) return Status.gone
    if (marks.status[folder] === Status.stale || (bits & Bits.racy) !== 0) return Status.stale
    const double = table.folderAt(folder) >> 1
    const isSame =
      table.f64[double] === stat.mtimeMs &&
      table.f64[double + 1] === stat.ctimeMs &&
      table.f64[double + 2] === stat.ino
    return isSame ? this.#checkEntries(folder, moment) : Status.stale
  }

  // What was skipped is told by every scan, and what is racy was never proved: these are looked at in any case.
  #hasDoubtful(folder: number): boolean {
    const { table } = this.#ground
    const end = table.endEntry(folder)
    for (let entry = table.firstEntry(folder); entry < end; entry++) {
      const bits = table.entryBits(entry)
      if ((bits & Bits.racy) !== 0 || ((bits >> Bits.stateAt) & Bits.stateMask) > State.link) return true
    }
    return false
  }

  #checkEntries(folder: number, moment: number): number {
    const { table } = this.#ground
    const end = table.endEntry(folder)
    for (let entry = table.firstEntry(folder); entry < end; entry++) {
      const bits = table.entryBits(entry)
      const stat = lookAt(this.#path.withRecord(table, table.entryAt(entry)))
      if (typeof stat === 'string') return Status.stale
      const state = (bits >> Bits.stateAt) & Bits.stateMask
      const isSame = sameStat(table, entry, stat) && (bits & Bits.racy) === 0
      if (state <= State.link ? !isSame && !isOfState(stat, state) : !isSame && isJudgedByStat(state))
        return Status.stale
      if (isSame && state <= State.link) continue
      if (!isSame && table.entryName(entry) === '.gitignore')
        Atomics.store(this.#ground.control, Control.rulesChanged, 1)
      this.rows.add(folder, entry, stat.mode, stat.size, stat.mtimeMs, stat.ctimeMs, stat.ino, moment)
    }
    return Status.same
  }
}

function isOfState(stat: Look, state: number): boolean {
  return typeOf(stat) === (state === State.link ? constants.S_IFLNK : constants.S_IFREG)
}

/** Skipped for what its stat said, so another stat may mean another verdict. */
function isJudgedByStat(state: number): boolean {
  return state === State.tooLarge || state === State.unreadable || state === State.special
}

function sameStat(table: CacheTable, entry: number, stat: Look): boolean {
  const double = table.entryAt(entry) >> 1
  const { f64 } = table
  return (
    f64[double] === stat.size &&
    f64[double + 1] === stat.mtimeMs &&
    f64[double + 2] === stat.ctimeMs &&
    f64[double + 3] === stat.ino
  )
}

/** Lists folders and judges their names. */
export class Lister {
  readonly #ground: Ground
  readonly #verdicts: Verdicts
  /** Every folder from the root on is listed and judged, not only those that changed. */
  readonly #full: boolean
  readonly #folders = new Rows(folderStride)
  readonly #folderPaths: ByteString[] = []
  readonly #items = new Rows(itemStride)
  readonly #itemNames: ByteString[] = []
  readonly #stacks = new Map<ByteString, IgnoreStack>()
  readonly #path = new PathBytes()
  #seenSince = 0
  /** Not while jobs are made for the other thread, which could not go back to where a name was met. */
  #mayTakeForFolders = false

  constructor(ground: Ground, rules: PlainRules, full: boolean, tracked?: Tracked) {
    this.#ground = ground
    this.#verdicts = new Verdicts(rules, tracked)
    this.#full = full
  }

  /** Lists jobs, and the folders found on the way, breadth first until so many wait. */
  expand(jobs: readonly Job[], enough: number, onProgress?: (seen: number) => void): readonly Job[] {
    const queue = [...jobs]
    let next = 0
    while (next < queue.length && queue.length - next < enough && !this.#isVoid()) {
      const job = queue[next++]
      if (job !== undefined) queue.push(...this.#list(job))
      this.#tell(onProgress)
    }
    return this.#isVoid() ? [] : queue.slice(next)
  }

  /** Takes jobs from the shared list until none is left, each with everything below it. */
  takeFrom(jobs: readonly Job[], onProgress?: (seen: number) => void): void {
    this.#mayTakeForFolders = this.#full
    for (;;) {
      const job = jobs[Atomics.add(this.#ground.control, Control.cursor, 1)]
      if (job === undefined) return
      this.#listAll(job, onProgress)
    }
  }

  #listAll(job: Job, onProgress: ((seen: number) => void) | undefined): void {
    const stack = [job]
    for (let top = stack.pop(); top !== undefined && !this.#isVoid(); top = stack.pop()) {
      for (const below of this.#list(top)) stack.push(below)
      this.#tell(onProgress)
    }
  }

  result(): ListResult {
    return {
      folders: this.#folders.taken(),
      // No name contains a slash, and no path a NUL: one long string crosses threads faster than many.
      folderPaths: this.#folderPaths.join('\0'),
      items: this.#items.taken(),
      itemNames: this.#itemNames.join('/'),
    }
  }

  #isVoid(): boolean {
    return Atomics.load(this.#ground.control, Control.rulesChanged) !== 0
  }

  #tell(onProgress: ((seen: number) => void) | undefined): void {
    if (this.#seenSince < 1000) return
    const seen = Atomics.add(this.#ground.control, Control.seen, this.#seenSince) + this.#seenSince
    this.#seenSince = 0
    onProgress?.(seen)
  }

  #list(job: Job): readonly Job[] {
    const { table, root } = this.#ground
    const { index } = job
    const moment = Date.now()
    this.#path.setFolder(folderPathBelow(root, job.path))
    const stat = lookAt(job.path === '' ? this.#path.folder() : this.#path.folderItself())
    // A listing would follow a link. Only the root may be one.
    if (typeof stat !== 'string' && typeOf(stat) !== constants.S_IFDIR && job.path !== '')
      return this.#takeForFile(job, stat)
    const names = typeof stat === 'string' ? stat : namesIn(this.#path.folder())
    if (typeof stat === 'string' || typeof names === 'string') {
      const status = names === 'unreadable' ? Status.unreadable : Status.gone
      if (!this.#mark(index, status)) return []
      if (status === Status.unreadable && typeof stat !== 'string')
        this.#addFolder(job, stat, index, moment, status, Bits.racy)
      return []
    }
    if (!this.#mark(index, Status.listed)) return []
    const number = this.#folders.length
    const visit = new Visit(job, number, new KnownNames(table, index), this.#stackIn(job, names))
    for (const name of names) {
      const looked = this.#lookIfNext(visit.known, name)
      if (looked !== 'same' && !this.#isTakenForFolder(visit, name)) this.#judge(visit, name, looked)
    }
    this.#noteVanishedRules(visit, index)
    const racy = isRacy(stat, moment) || visit.hasUnreadable
    this.#addFolder(job, stat, index, moment, Status.listed, racy ? Bits.racy : 0)
    this.#seenSince += names.length
    return visit.below
  }

  /**
   * What the cache has as a folder with files in it will be listed, whatever the rules say, and that begins with a look
   * at it: one before it would be one too many for each of thousands of folders.
   */
  #isTakenForFolder(visit: Visit, name: ByteString): boolean {
    if (!this.#mayTakeForFolders || name.charCodeAt(0) === dot) return false
    const path = joinRel(visit.job.path, name)
    const index = this.#ground.table.indexOfFolder(path)
    if (index < 0 || this.#ground.marks.knownBelow[index] === 0 || this.#verdicts.isApart(path)) return false
    const blocked = this.#isCovered(visit, name, path)
    visit.below.push({ path, blocked, origin: index, index, above: visit.stack, metIn: visit })
    return true
  }

  /** It is no folder, or no longer. */
  #takeForFile({ path, index, metIn }: Job, stat: Look): readonly Job[] {
    this.#mark(index, Status.gone)
    if (metIn !== undefined) this.#judge(metIn, nameOf(path), stat)
    return []
  }

  /** The folder above may have dropped this one in the meantime, in the other thread: then it counts no more. */
  #mark(index: number, status: number): boolean {
    if (index < 0) return true
    const marked = this.#ground.marks.status
    const before = Atomics.load(marked, index)
    return before !== Status.dropped && Atomics.compareExchange(marked, index, before, status) === before
  }

  #addFolder(job: Job, stat: Look, index: number, moment: number, status: number, bits: number): void {
    const allBits = bits | (job.blocked ? Bits.blocked : 0)
    const perm = stat.mode & Bits.perm
    const { size, mtimeMs, ctimeMs, ino } = stat
    this.#folders.add(perm, size, mtimeMs, ctimeMs, ino, allBits, moment, status, job.origin, index)
    this.#folderPaths.push(job.path)
  }

  /**
   * The usual case, apart from all others: the next file that the cache has, as it has it. Otherwise the look at it, or
   * nothing. Kept small: what runs for each of 100,000 files is compiled in both threads, and the more it may do, the
   * longer that takes.
   */
  #lookIfNext(known: KnownNames, name: ByteString): 'same' | Look | 'gone' | 'unreadable' | undefined {
    const { table, marks } = this.#ground
    const entry = known.next
    // A name with a dot in front may be one that means something.
    if (entry >= known.end || name.charCodeAt(0) === dot) return undefined
    const path = this.#path.withNameOfRecord(name, table, table.entryAt(entry))
    if (path === undefined) return undefined
    const stat = lookAt(path)
    if (typeof stat === 'string' || stat.mode !== plainMode(table.entryBits(entry))) return stat
    if (!sameStat(table, entry, stat)) return stat
    marks.seen[entry] = 1
    known.next = entry + 1
    return 'same'
  }

  #judge(visit: Visit, name: ByteString, looked?: Look | 'gone' | 'unreadable'): void {
    const path = joinRel(visit.job.path, name)
    if (isDotGit(name)) {
      if (visit.job.path !== '') this.#skip(visit, name, State.nestedGit, lookAt(this.#path.withName(name)))
      return
    }
    if (this.#verdicts.isApart(path) || isStagingName(name)) return
    const entry = visit.known.find(name)
    const isKnown = entry !== undefined && this.#ground.table.isCaptured(entry)
    if (!isKnown && !this.#full && this.#isCheckedFolder(path)) return
    const stat = looked ?? lookAt(this.#path.withName(name))
    if (name === '.gitignore') this.#noteRules(visit, entry, stat)
    if (stat === 'gone') return
    if (stat === 'unreadable') this.#keepUnreadable(visit, name, path, isKnown ? entry : undefined)
    else if (typeOf(stat) === constants.S_IFDIR) this.#judgeFolder(visit, name, path, stat)
    else if (isKnown) this.#compare(visit, name, entry, stat)
    else this.#judgeFile(visit, name, path, stat)
  }

  /** A folder that the check has dealt with, and that is not here only by way of exception. */
  #isCheckedFolder(path: RelPath): boolean {
    const { table, marks } = this.#ground
    const index = table.indexOfFolder(path)
    if (index < 0) return false
    const status = marks.status[index]
    if (status === Status.unvisited || status === Status.gone || status === Status.dropped) return false
    return (table.folderBits(index) & Bits.blocked) === 0 || this.#isException(path, index)
  }

  #isException(path: RelPath, index: number): boolean {
    return (index >= 0 && this.#ground.marks.knownBelow[index] === 1) || this.#verdicts.hasWantedBelow(path)
  }

  #keepUnreadable(visit: Visit, name: ByteString, path: RelPath, entry: number | undefined): void {
    const { table, marks } = this.#ground
    visit.hasUnreadable = true
    const folder = table.indexOfFolder(path)
    if (entry !== undefined) marks.seen[entry] = 1
    if (folder >= 0) marks.status[folder] = Status.unreadable
    else this.#skip(visit, name, State.unreadable, 'unreadable')
  }

  #judgeFolder(visit: Visit, name: ByteString, path: RelPath, stat: Look): void {
    const index = this.#ground.table.indexOfFolder(path)
    const covered = this.#isCovered(visit, name, path) || (index < 0 && this.#isCrowded(name))
    if (!covered || this.#isException(path, index)) {
      const origin = index >= 0 ? index : visit.job.origin
      visit.below.push({ path, blocked: covered, origin, index, above: visit.stack })
      return
    }
    if (index >= 0) Atomics.store(this.#ground.marks.status, index, Status.dropped)
    this.#skip(visit, name, State.ignored, stat)
  }

  #isCovered(visit: Visit, name: ByteString, path: RelPath): boolean {
    return visit.job.blocked || this.#verdicts.isHeavy(name) || visit.stack.verdict(path, true) === 'ignored'
  }

  #isCrowded(name: ByteString): boolean {
    const most = this.#verdicts.maxUntrackedDirEntries
    if (most === Number.POSITIVE_INFINITY) return false
    try {
      return readdirSync(this.#path.withName(name), 'latin1').length > most
    } catch {
      return false // gone or unreadable: the visit itself finds out, and tells
    }
  }

  #compare(visit: Visit, name: ByteString, entry: number, stat: Look): void {
    const { table, marks } = this.#ground
    const state = captureState(stat)
    if (state === State.special) {
      this.#skip(visit, name, state, stat)
      return
    }
    marks.seen[entry] = 1
    const bits = table.entryBits(entry)
    // What came from the user's index has guessed permission bits: another stat alone would not show them.
    const samePerm = (bits & Bits.perm) === (stat.mode & Bits.perm)
    const isSame =
      samePerm && table.stateOf(entry) === state && (bits & Bits.racy) === 0 && sameStat(table, entry, stat)
    if (!isSame) this.#addItem(visit, name, state, stat)
  }

  #judgeFile(visit: Visit, name: ByteString, path: RelPath, stat: Look): void {
    const state = captureState(stat)
    if (state === State.special || this.#verdicts.isWanted(path)) this.#addItem(visit, name, state, stat)
    else if (this.#isIgnored(visit, name, path)) this.#addItem(visit, name, State.ignored, stat)
    else if (state === State.file && stat.size > this.#verdicts.maxUntrackedFileSize)
      this.#addItem(visit, name, State.tooLarge, stat)
    else this.#addItem(visit, name, state, stat)
  }

  #isIgnored(visit: Visit, name: ByteString, path: RelPath): boolean {
    const covered = visit.job.blocked || visit.stack.verdict(path, false) === 'ignored'
    return covered && !this.#verdicts.isProtected(name)
  }

  #skip(visit: Visit, name: ByteString, state: number, stat: Look | 'gone' | 'unreadable'): void {
    if (stat === 'gone') return
    if (stat === 'unreadable') this.#addRow(visit, name, state, 0, 0, 0, 0, 0)
    else this.#addItem(visit, name, state, stat)
  }

  #addItem(visit: Visit, name: ByteString, state: number, stat: Look): void {
    const { size, mtimeMs, ctimeMs, ino } = stat
    this.#addRow(visit, name, state, stat.mode, size, mtimeMs, ctimeMs, ino)
  }

  #addRow(
    visit: Visit,
    name: ByteString,
    state: number,
    mode: number,
    size: number,
    mtimeMs: number,
    ctimeMs: number,
    ino: number,
  ): void {
    this.#items.add(visit.number, state, mode, size, mtimeMs, ctimeMs, ino)
    this.#itemNames.push(name)
  }

  /**
   * Rules that changed may change the verdict on any name below, also in folders that need no listing. Then
   * the whole scan is void and starts again from the root.
   */
  #noteRules(visit: Visit, entry: number | undefined, stat: Look | 'gone' | 'unreadable'): void {
    if (!this.#dependsOnOldRules(visit) || typeof stat === 'string') return
    visit.hasRules = true
    const { table, control } = this.#ground
    const isFolder = typeOf(stat) === constants.S_IFDIR
    const isSame =
      entry === undefined
        ? isFolder
        : sameStat(table, entry, stat) && (table.entryBits(entry) & Bits.racy) === 0
    if (!isSame) Atomics.store(control, Control.rulesChanged, 1)
  }

  #noteVanishedRules(visit: Visit, index: number): void {
    if (index < 0 || visit.hasRules || !this.#dependsOnOldRules(visit)) return
    if (visit.known.find('.gitignore') !== undefined)
      Atomics.store(this.#ground.control, Control.rulesChanged, 1)
  }

  #dependsOnOldRules(visit: Visit): boolean {
    const { table } = this.#ground
    if (this.#full || visit.job.blocked) return false
    const index = table.indexOfFolder(visit.job.path)
    return index >= 0 && (table.folderBits(index) & Bits.unseen) === 0
  }

  #stackIn(job: Job, names: readonly ByteString[]): IgnoreStack {
    if (job.blocked) return this.#verdicts.outermost // never asked: everything below is covered already
    const above =
      job.above ?? (job.path === '' ? this.#verdicts.outermost : this.#stackOf(parentOf(job.path)))
    return hasIgnoreFile(names) ? this.#withRules(above, job.path) : above
  }

  #stackOf(folder: ByteString): IgnoreStack {
    const known = this.#stacks.get(folder)
    if (known !== undefined) return known
    const above = folder === '' ? this.#verdicts.outermost : this.#stackOf(parentOf(folder))
    const stack = this.#withRules(above, folder)
    this.#stacks.set(folder, stack)
    return stack
  }

  #withRules(above: IgnoreStack, folder: ByteString): IgnoreStack {
    const content = readIgnoreFile(`${folderPathBelow(this.#ground.root, folder)}.gitignore`)
    return content === undefined ? above : above.push(parseRules(content, folder))
  }
}

/** The entries that the cache has of one folder. A map of their names took a tenth of a first scan. */
class KnownNames {
  readonly #table: CacheTable
  readonly #first: number
  readonly end: number
  /** The one after the last that was found: names come in order. */
  next: number

  /** -1: the cache does not have the folder. */
  constructor(table: CacheTable, folder: number) {
    this.#table = table
    this.#first = folder < 0 ? 0 : table.firstEntry(folder)
    this.end = folder < 0 ? 0 : table.endEntry(folder)
    this.next = this.#first
  }

  find(name: ByteString): number | undefined {
    const entry = this.#table.findEntry(name, this.#first, this.end)
    if (entry < 0) return undefined
    this.next = entry + 1
    return entry
  }
}

const dot = 0x2e

/** A loop, since `includes` compares the strings of all of 5,000 folders outside of what is compiled. */
function hasIgnoreFile(names: readonly ByteString[]): boolean {
  for (const name of names) if (name.charCodeAt(0) === dot && name === '.gitignore') return true
  return false
}

/** The mode of a file whose record has these bits; -1 where the record is of something else, or proves nothing. */
function plainMode(bits: number): number {
  const isFile = ((bits >> Bits.stateAt) & Bits.stateMask) === State.file && (bits & Bits.racy) === 0
  return isFile ? constants.S_IFREG | (bits & Bits.perm) : -1
}

/** One folder while it is listed. */
class Visit {
  readonly job: Job
  readonly number: number
  readonly known: KnownNames
  readonly stack: IgnoreStack
  readonly below: Job[] = []
  hasUnreadable = false
  hasRules = false

  constructor(job: Job, number: number, known: KnownNames, stack: IgnoreStack) {
    this.job = job
    this.number = number
    this.known = known
    this.stack = stack
  }
}

function captureState(stat: Look): number {
  const type = typeOf(stat)
  return type === constants.S_IFREG ? State.file : type === constants.S_IFLNK ? State.link : State.special
}
