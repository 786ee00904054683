/**
 * The part of a scan that both threads run. It only reads: lstat, readdir, and the ignore files.
 *
 * First `checkFolders` compares what the cache has with the disk, one lstat for each path. Folders whose own
 * stat differs are then listed by `Lister`, together with what is new below them. The threads share the work
 * through a cursor in shared memory and tell each other about folders in `Marks`.
 */

import { closeSync, constants, lstatSync, openSync, readdirSync, readFileSync, type Stats } from 'node:fs'
import { errorCode } from '../fs.ts'
import { type ByteString, isDotGit, joinRel, parentOf, type RelPath } from '../values.ts'
import { type PlainRules, type Tracked, Verdicts } from './capture-rules.ts'
import { type IgnoreStack, parseRules } from './ignore.ts'
import { isStagingName } from './journal.ts'
import { Bits, type CacheTable, isRacy, isWide, State } from './stat-cache.ts'

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
  readonly above?: IgnoreStack | undefined
}

export interface ListResult {
  /** Of each listed folder: perm, size, mtime, ctime, ino, bits, moment, status, origin, index in the cache. */
  readonly folders: Float64Array
  readonly folderPaths: string
  /** Of each changed or skipped name: number of its folder, state, mode, size, mtime, ctime, ino. */
  readonly items: Float64Array
  readonly itemNames: string
}

/** lstat, with the answers a walk can go on with. */
export function lookAt(path: string | Buffer): Stats | 'gone' | 'unreadable' {
  try {
    return lstatSync(path, quiet) ?? 'gone'
  } catch (error) {
    const code = errorCode(error)
    return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' ? 'gone' : 'unreadable'
  }
}

const quiet = { throwIfNoEntry: false } as const

export function typeOf(stat: Stats): number {
  return stat.mode & constants.S_IFMT
}

export function asNodePath(path: ByteString): string | Buffer {
  return isWide(path) ? Buffer.from(path, 'latin1') : path
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

function isOfState(stat: Stats, state: number): boolean {
  return typeOf(stat) === (state === State.link ? constants.S_IFLNK : constants.S_IFREG)
}

/** Skipped for what its stat said, so another stat may mean another verdict. */
function isJudgedByStat(state: number): boolean {
  return state === State.tooLarge || state === State.unreadable || state === State.special
}

function sameStat(table: CacheTable, entry: number, stat: Stats): boolean {
  const double = table.entryAt(entry) >> 1
  const { f64 } = table
  return (
    f64[double] === stat.size &&
    f64[double + 1] === stat.mtimeMs &&
    f64[double + 2] === stat.ctimeMs &&
    f64[double + 3] === stat.ino
  )
}

/**
 * Ends with a slash, for names to be added. An lstat of it would follow a link: right for the root, which may
 * be reached through one, and for nothing below it.
 */
function folderPathBelow(root: ByteString, folder: ByteString): ByteString {
  const start = root.endsWith('/') ? root : `${root}/`
  return folder === '' ? start : `${start}${folder}/`
}

/**
 * The bytes of a path, built in one place. As strings the paths of a large tree take longer to make, and to
 * turn into bytes again inside Node, than half of the lstat itself.
 */
class PathBytes {
  #bytes = Buffer.allocUnsafeSlow(4096)
  #folderEnd = 0
  /** The same memory as a path of each length: to make a Buffer for every file took a tenth of a scan. */
  #byLength: (Buffer | undefined)[] = []

  /** `path` ends with a slash. */
  setFolder(path: ByteString): void {
    this.#folderEnd = 0
    this.#makeRoom(path.length)
    this.#folderEnd = this.#bytes.write(path, 0, 'latin1')
  }

  folder(): Buffer {
    return this.#ofLength(this.#folderEnd)
  }

  folderItself(): Buffer {
    return this.#ofLength(this.#folderEnd - 1)
  }

  /** Good until the next path is asked for. */
  withName(name: ByteString): Buffer {
    const { length } = name
    this.#makeRoom(length)
    const bytes = this.#bytes
    const end = this.#folderEnd
    for (let i = 0; i < length; i++) bytes[end + i] = name.charCodeAt(i)
    return this.#ofLength(end + length)
  }

  /** Good until the next path is asked for. */
  withRecord(table: CacheTable, word: number): Buffer {
    const start = table.namesAt + (table.u32[word + 8] ?? 0)
    const length = table.u32[word + 9] ?? 0
    this.#makeRoom(length)
    const bytes = this.#bytes
    const end = this.#folderEnd
    for (let i = 0; i < length; i++) bytes[end + i] = table.bytes[start + i] ?? 0
    return this.#ofLength(end + length)
  }

  #ofLength(length: number): Buffer {
    const known = this.#byLength[length]
    if (known !== undefined) return known
    const made = this.#bytes.subarray(0, length)
    this.#byLength[length] = made
    return made
  }

  #makeRoom(length: number): void {
    if (this.#folderEnd + length <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow((this.#folderEnd + length) * 2)
    this.#bytes.copy(larger, 0, 0, this.#folderEnd)
    this.#bytes = larger
    this.#byLength = []
  }
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
    for (;;) {
      const job = jobs[Atomics.add(this.#ground.control, Control.cursor, 1)]
      if (job === undefined) return
      const stack = [job]
      for (let top = stack.pop(); top !== undefined && !this.#isVoid(); top = stack.pop()) {
        stack.push(...this.#list(top))
        this.#tell(onProgress)
      }
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
    const index = table.indexOfFolder(job.path)
    const moment = Date.now()
    this.#path.setFolder(folderPathBelow(root, job.path))
    const stat = lookAt(job.path === '' ? this.#path.folder() : this.#path.folderItself())
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
      if (looked !== 'same') this.#judge(visit, name, looked)
    }
    this.#noteVanishedRules(visit, index)
    const racy = isRacy(stat, moment) || visit.hasUnreadable
    this.#addFolder(job, stat, index, moment, Status.listed, racy ? Bits.racy : 0)
    this.#seenSince += names.length
    return visit.below
  }

  /** The folder above may have dropped this one in the meantime, in the other thread: then it counts no more. */
  #mark(index: number, status: number): boolean {
    if (index < 0) return true
    const marked = this.#ground.marks.status
    const before = Atomics.load(marked, index)
    return before !== Status.dropped && Atomics.compareExchange(marked, index, before, status) === before
  }

  #addFolder(job: Job, stat: Stats, index: number, moment: number, status: number, bits: number): void {
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
  #lookIfNext(known: KnownNames, name: ByteString): 'same' | Stats | 'gone' | 'unreadable' | undefined {
    const { table, marks } = this.#ground
    const entry = known.next
    // A name with a dot in front may be one that means something.
    if (entry >= known.end || name.charCodeAt(0) === dot || !table.isNamed(entry, name)) return undefined
    const stat = lookAt(this.#path.withName(name))
    if (typeof stat === 'string' || stat.mode !== plainMode(table.entryBits(entry))) return stat
    if (!sameStat(table, entry, stat)) return stat
    marks.seen[entry] = 1
    known.next = entry + 1
    return 'same'
  }

  #judge(visit: Visit, name: ByteString, looked?: Stats | 'gone' | 'unreadable'): void {
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

  #judgeFolder(visit: Visit, name: ByteString, path: RelPath, stat: Stats): void {
    const index = this.#ground.table.indexOfFolder(path)
    const covered =
      visit.job.blocked ||
      this.#verdicts.isHeavy(name) ||
      visit.stack.verdict(path, true) === 'ignored' ||
      (index < 0 && this.#isCrowded(name))
    if (!covered || this.#isException(path, index)) {
      const origin = index >= 0 ? index : visit.job.origin
      visit.below.push({ path, blocked: covered, origin, above: visit.stack })
      return
    }
    if (index >= 0) Atomics.store(this.#ground.marks.status, index, Status.dropped)
    this.#skip(visit, name, State.ignored, stat)
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

  #compare(visit: Visit, name: ByteString, entry: number, stat: Stats): void {
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

  #judgeFile(visit: Visit, name: ByteString, path: RelPath, stat: Stats): void {
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

  #skip(visit: Visit, name: ByteString, state: number, stat: Stats | 'gone' | 'unreadable'): void {
    if (stat === 'gone') return
    if (stat === 'unreadable') this.#addRow(visit, name, state, 0, 0, 0, 0, 0)
    else this.#addItem(visit, name, state, stat)
  }

  #addItem(visit: Visit, name: ByteString, state: number, stat: Stats): void {
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
  #noteRules(visit: Visit, entry: number | undefined, stat: Stats | 'gone' | 'unreadable'): void {
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
    return names.includes('.gitignore') ? this.#withRules(above, job.path) : above
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

/** Rows of numbers that grow, and cross to the other thread without a copy. */
export class Rows {
  readonly #stride: number
  #values = new Float64Array(512)
  #used = 0

  constructor(stride: number) {
    this.#stride = stride
  }

  get length(): number {
    return this.#used / this.#stride
  }

  // Ten parameters instead of a rest array: that array was a large part of a first scan's garbage.
  add(
    a: number,
    b: number,
    c: number,
    d: number,
    e: number,
    f: number,
    g: number,
    h = 0,
    i = 0,
    j = 0,
  ): void {
    if (this.#used + 10 > this.#values.length) this.#grow()
    const values = this.#values
    const at = this.#used
    values[at] = a
    values[at + 1] = b
    values[at + 2] = c
    values[at + 3] = d
    values[at + 4] = e
    values[at + 5] = f
    values[at + 6] = g
    values[at + 7] = h
    values[at + 8] = i
    values[at + 9] = j
    this.#used += this.#stride
  }

  #grow(): void {
    const larger = new Float64Array(this.#values.length * 2)
    larger.set(this.#values)
    this.#values = larger
  }

  taken(): Float64Array {
    return this.#values.subarray(0, this.#used)
  }
}

function captureState(stat: Stats): number {
  const type = typeOf(stat)
  return type === constants.S_IFREG ? State.file : type === constants.S_IFLNK ? State.link : State.special
}

function namesIn(path: Buffer): readonly ByteString[] | 'gone' | 'unreadable' {
  try {
    return readdirSync(path, 'latin1')
  } catch (error) {
    const code = errorCode(error)
    return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' ? 'gone' : 'unreadable'
  }
}

const largestIgnoreFile = 100 * 1024 * 1024

/**
 * Git does not follow an ignore file that is a link, so that rules cannot come from outside; nor do we. One
 * that cannot be read has no rules, as in git.
 */
function readIgnoreFile(path: ByteString): ByteString | undefined {
  const stat = lookAt(asNodePath(path))
  if (typeof stat === 'string' || !stat.isFile() || stat.size > largestIgnoreFile) return undefined
  try {
    const handle = openSync(
      asNodePath(path),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    )
    try {
      return readFileSync(handle, 'latin1')
    } finally {
      closeSync(handle)
    }
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return undefined
  }
}
