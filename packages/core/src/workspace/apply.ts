/**
 * The only code that writes into the workspace.
 *
 *   stage    all new content, synced, on the volume where it is needed: a full disk shows here
 *   journal  what will be done, synced: from here on it will be done, or taken back, whatever happens
 *   place    path by path, each compared with what the plan saw in the instant it is touched
 *   publish  the operation, once everything is in place and on disk
 *   clear    the journal first, then what was staged
 *
 * A path that somebody else changed in the meantime is left alone and reported. Not covered: somebody who
 * swaps a parent folder for a link, or renames another file over the path, between our very last look and our
 * rename, since Node can neither rename relative to an opened folder nor exchange two files.
 */

import { randomBytes } from 'node:crypto'
import { shown, UnturnError } from '../errors.ts'
import { errorCode } from '../fs.ts'
import {
  type AbsPath,
  absPathUnchecked,
  type ByteString,
  type Exclusive,
  joinAbs,
  joinRel,
  parentOf,
  type RelPath,
} from '../values.ts'
import { carryOut } from './carry-out.ts'
import {
  findJournal,
  forgetStaging,
  type Journal,
  JournalFlaw,
  type JournalPath,
  type JournalState,
  type Left,
  moveJournal,
  notedAreas,
  noteStaging,
  readJournal,
  removeIfThere,
  removeJournal,
  setAsideJournal,
  writeJournal,
} from './journal.ts'
import { createSynced, isStagedName, makeAreas, newRun, type Run, setAside, staged } from './moves.ts'
import type { ApplyContext, ApplyOutcome, PathPlan, Plan, Publish, Recovery } from './plan.ts'
import { sameContent, wayTo } from './standing.ts'
import { nearestFolder, type Survey, surveyOf } from './survey.ts'
import { takeBack } from './take-back.ts'

export { dropSpares, isStagingName, type Left, needsRecovery } from './journal.ts'
export type { ApplyContext, ApplyOutcome, FolderPlan, PathPlan, Plan, Publish, Recovery } from './plan.ts'

/**
 * Carries out the plan, all or nothing. `note` is kept in the journal and handed to `publish` once every
 * path is in place and on disk; if `publish` throws, all is taken back, so it must throw only when it has
 * published nothing.
 *
 * Where something stands in the way, nothing is changed and the outcome is `blocked`. Throws `disk-full` or
 * `apply-failed`; every path is as before then, unless its data says `pending`: in that case the next
 * `recover` brings every path to one side.
 */
export function apply(
  context: ApplyContext,
  plan: Plan,
  note: string,
  publish: Publish,
  _lock: Exclusive,
): ApplyOutcome {
  const draft = drafted(context, plan, note)
  if (draft.left.length > 0) return { kind: 'blocked', left: draft.left }
  const journal = prepared(context, draft)
  const run = newRun(context, journal)
  try {
    carryOut(run)
    markPlaced(context, journal, run.left)
    publish(note, run.left)
  } catch (error) {
    throw takenBack(context, run, error)
  }
  clear(context)
  return { kind: 'done', left: run.left }
}

/**
 * Finishes what an earlier process could not: runs at every open, can be killed at any point and run again.
 * Throws `apply-failed` (`pending`) where the disk does not let it; the journal stays for the next time.
 */
export function recover(context: ApplyContext, publish: Publish, _lock: Exclusive): Recovery {
  const found = readUnfinished(context)
  switch (found.kind) {
    case 'none':
      tidyLater(context)
      return { kind: 'clean' }
    case 'damaged':
      return { kind: 'damaged', reason: found.reason }
    case 'back':
      return finishBack(context, found.journal)
    case 'current':
      return finishForward(context, found.journal, publish)
    case 'placed':
      return finishPlaced(context, found.journal, found.journal.left, publish)
  }
}

/** What keeps the plan from being carried out right now. Changes nothing. */
export function obstacles(context: ApplyContext, plan: Plan): readonly Left[] {
  return surveyOf(context.fs, context.root, plan).left
}

/** The journal as it would be; its `left` is what stands in the way. */
function drafted(context: ApplyContext, plan: Plan, note: string): Journal {
  try {
    if (findJournal(context.fs, context.journal) !== undefined) throw recoverFirst()
    tidy(context)
    return journalOf(context, surveyOf(context.fs, context.root, plan), note)
  } catch (error) {
    throw failure(context, error, undefined, 'old')
  }
}

/** Stages and writes the journal. If it fails, nothing is left of either. */
function prepared(context: ApplyContext, journal: Journal): Journal {
  const run = newRun(context, journal)
  try {
    stage(context, run)
  } catch (error) {
    tidyLater(context)
    throw failure(context, error, run, 'old')
  }
  try {
    writeJournal(context.fs, context.journal, 'current', journal)
  } catch (error) {
    throw failure(context, error, run, withdraw(context))
  }
  return journal
}

// The journal may be in force already, with only the sync of its folder failed: it must not be found later.
function withdraw(context: ApplyContext): 'old' | 'pending' {
  try {
    removeJournal(context.fs, context.journal)
  } catch {
    return 'pending' // the disk fails here, too; the first error is the one to tell
  }
  tidyLater(context)
  return 'old'
}

function journalOf(context: ApplyContext, survey: Survey, note: string): Journal {
  const areas = new Areas(context)
  const paths = survey.paths.map((entry): JournalPath => {
    const area = isModeOnly(entry) ? 0 : areas.of(entry.path)
    return { ...entry, area, respelled: survey.respelled.has(entry.path) }
  })
  const { create, remove, chmod, left } = survey
  return { note, areas: areas.inside, paths, create, remove, chmod, left }
}

function isModeOnly({ from, to }: PathPlan): boolean {
  return from !== undefined && to !== undefined && sameContent(from, to)
}

/** Chooses for each path a staging folder from which a rename can reach it. */
class Areas {
  readonly inside: RelPath[] = []
  readonly #context: ApplyContext
  readonly #known = new Map<ByteString, number>()
  readonly #tops = new Map<ByteString, number>()

  constructor(context: ApplyContext) {
    this.#context = context
  }

  of(path: RelPath): number {
    const { fs, root } = this.#context
    const folder = nearestFolder(fs, root, path)
    const known = this.#known.get(folder)
    if (known !== undefined) return known
    const area = this.#find(folder)
    this.#known.set(folder, area)
    return area
  }

  #find(folder: ByteString): number {
    const { fs, root, staging } = this.#context
    const place = joinAbs(root, folder)
    if (fs.sameVolume(place, staging)) return 0
    const top = [...ancestors(folder)].find((parent) => fs.sameVolume(joinAbs(root, parent), place)) ?? folder
    const known = this.#tops.get(top)
    if (known !== undefined) return known
    this.inside.push(joinRel(top, `.unturn-${randomBytes(8).toString('hex')}`))
    this.#tops.set(top, this.inside.length)
    return this.inside.length
  }
}

/** From the root down to the folder itself. */
function* ancestors(folder: ByteString): Generator<ByteString> {
  yield ''
  for (let slash = folder.indexOf('/'); slash >= 0; slash = folder.indexOf('/', slash + 1)) {
    yield folder.slice(0, slash)
  }
  yield folder
}

function stage(context: ApplyContext, run: Run): void {
  const { fs, root, staging } = context
  const { areas, paths } = run.journal
  noteStaging(fs, context.journal, areas)
  makeAreas(run)
  paths.forEach((entry, index) => {
    if (entry.to === undefined || isModeOnly(entry)) return
    run.at = entry.path
    createSynced(fs, staged(run, 'new', index), entry.to, context.bytesOf(entry.to.blob))
  })
  run.at = undefined
  for (const area of [staging, ...areas.map((area) => joinAbs(root, area))]) fs.syncFolder(area)
}

function markPlaced(context: ApplyContext, journal: Journal, left: readonly Left[]): void {
  const { fs } = context
  if (left.length === 0) return moveJournal(fs, context.journal, 'current', 'placed')
  writeJournal(fs, context.journal, 'placed', { ...journal, left })
  fs.unlink(joinAbs(context.journal, 'current'))
}

/** Takes everything back and says why. */
function takenBack(context: ApplyContext, run: Run, error: unknown): Error {
  try {
    goBack(context, run.journal)
  } catch {
    // Neither forward nor back: the journal stays, and the first error is the one to tell.
    return failure(context, error, run, 'pending')
  }
  tidyLater(context)
  return failure(context, error, run, 'old')
}

function goBack(context: ApplyContext, journal: Journal): readonly Left[] {
  const { fs } = context
  const state = findJournal(fs, context.journal)
  if (state !== undefined && state !== 'back') moveJournal(fs, context.journal, state, 'back')
  const run = newRun(context, journal)
  takeBack(run)
  removeJournal(fs, context.journal)
  return run.left
}

/** What is done is done: if this fails, the journal says `placed`, and the next recovery only clears it. */
function clear(context: ApplyContext): void {
  try {
    removeJournal(context.fs, context.journal)
    tidy(context)
  } catch (error) {
    if (errorCode(error) === undefined) throw error
  }
}

function tidyLater(context: ApplyContext): void {
  try {
    tidy(context)
  } catch (error) {
    // Only leftovers in staging, and the note about them stays: the next recovery tries again.
    if (errorCode(error) === undefined) throw error
  }
}

/** Removes what staging left. Without a journal, none of it is needed by anybody. */
function tidy(context: ApplyContext): void {
  const { fs, journal, staging } = context
  removeStaged(context, staging)
  const noted = notedAreas(fs, journal)
  for (const area of areasInside(context, noted)) {
    removeStaged(context, area)
    removeAreaIfEmpty(context, area)
  }
  forgetStaging(fs, journal, noted)
}

function areasInside(context: ApplyContext, areas: readonly RelPath[]): readonly AbsPath[] {
  const { fs, root } = context
  const open = areas.filter((area) => wayTo(fs, root, area).kind === 'open')
  return open.map((area) => joinAbs(root, area)).filter((area) => fs.lstat(area)?.kind === 'folder')
}

function removeStaged({ fs }: ApplyContext, area: AbsPath): void {
  for (const name of fs.readFolder(area)) if (isStagedName(name)) removeIfThere(fs, joinAbs(area, name))
}

// Synced, since it must be gone before the note that it was there.
function removeAreaIfEmpty({ fs }: ApplyContext, area: AbsPath): void {
  if (fs.readFolder(area).length > 0) return fs.syncFolder(area)
  fs.removeFolder(area)
  fs.syncFolder(absPathUnchecked(parentOf(area)))
}

type Unfinished =
  | { readonly kind: 'none' }
  | { readonly kind: 'damaged'; readonly reason: string }
  | { readonly kind: JournalState; readonly journal: Journal }

function readUnfinished(context: ApplyContext): Unfinished {
  const { fs } = context
  try {
    const state = findJournal(fs, context.journal)
    if (state === undefined) return { kind: 'none' }
    const journal = readOrFlaw(context, state)
    if (journal instanceof Error) return setAsideDamaged(context, state, journal.message)
    if (fs.lstat(context.root) === undefined) throw new Error('the workspace is not there')
    return { kind: state, journal }
  } catch (error) {
    if (error instanceof UnturnError) throw error
    throw failure(context, error, undefined, 'pending')
  }
}

function readOrFlaw(context: ApplyContext, state: JournalState): Journal | Error {
  try {
    return readJournal(context.fs, context.journal, state)
  } catch (error) {
    if (error instanceof JournalFlaw || error instanceof SyntaxError) return error
    throw error
  }
}

// Which of the user's files are among the backups, nobody can tell any more. All are in the store as well
// (P1), but they are kept here all the same.
function setAsideDamaged(context: ApplyContext, state: JournalState, reason: string): Unfinished {
  const { fs, journal, staging } = context
  for (const area of [staging, ...areasInside(context, notedAreas(fs, journal))]) {
    const backups = fs.readFolder(area).filter((name) => name.startsWith('b') && isStagedName(name))
    for (const name of backups) setAside(fs, area, joinAbs(area, name))
  }
  setAsideJournal(fs, journal, state)
  tidyLater(context)
  return { kind: 'damaged', reason }
}

function finishForward(context: ApplyContext, journal: Journal, publish: Publish): Recovery {
  const run = newRun(context, journal)
  try {
    carryOut(run)
    markPlaced(context, journal, run.left)
  } catch (error) {
    return finishBack(context, journal, failure(context, error, run, 'pending'))
  }
  return finishPlaced(context, journal, run.left, publish)
}

function finishPlaced(
  context: ApplyContext,
  journal: Journal,
  left: readonly Left[],
  publish: Publish,
): Recovery {
  publish(journal.note, left)
  clear(context)
  return { kind: 'finished', note: journal.note, left }
}

function finishBack(context: ApplyContext, journal: Journal, because?: Error): Recovery {
  try {
    const left = goBack(context, journal)
    tidyLater(context)
    return { kind: 'rolled-back', note: journal.note, left }
  } catch (error) {
    throw because ?? failure(context, error, undefined, 'pending')
  }
}

function failure(
  context: ApplyContext,
  error: unknown,
  run: Run | undefined,
  state: 'old' | 'pending',
): Error {
  if (state === 'old') {
    if (error instanceof UnturnError) return error
    const code = errorCode(error)
    if ((code === 'ENOSPC' || code === 'EDQUOT') && run !== undefined) return diskFull(context, run, error)
  }
  return applyFailed(run?.at, error, state)
}

function applyFailed(path: RelPath | undefined, error: unknown, state: 'old' | 'pending'): UnturnError {
  const where = path === undefined ? '' : ` at ${shown(path)}`
  const reason = reasonOf(error)
  return new UnturnError(
    'apply-failed',
    { path: path === undefined ? '' : shown(path), reason, state },
    {
      message:
        state === 'old'
          ? `Writing to the workspace failed${where}: ${reason}. Every file is as it was before.`
          : `Writing to the workspace failed${where}: ${reason}. It is not finished; nothing is lost.`,
      hint:
        state === 'old'
          ? 'Remove the cause and run the same command again.'
          : 'Remove the cause and run any unturn command: it finishes this, or takes it back, before anything else.',
      cause: error,
    },
  )
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission was denied',
  EPERM: 'the system did not permit it',
  EROFS: 'the file system is read-only',
  EIO: 'the disk reported an error',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EBUSY: 'another program holds a file',
  EXDEV: 'two folders lie on different file systems',
}

function reasonOf(error: unknown): string {
  const code = errorCode(error)
  if (code === undefined) return error instanceof Error ? error.message : String(error)
  const known = reasons[code]
  return known === undefined ? code : `${known} (${code})`
}

function diskFull(context: ApplyContext, run: Run, cause: unknown): UnturnError {
  const neededBytes = neededFor(context, run.journal)
  const freeBytes = freeFor(context, run)
  return new UnturnError(
    'disk-full',
    { neededBytes, freeBytes },
    {
      message: `The disk is full: this needs ${neededBytes} bytes, and ${freeBytes} are free. Your files are as you left them, and the history is complete.`,
      hint: 'Free some space and run the same command again. "unturn gc --dry-run" shows what old sessions take.',
      cause,
    },
  )
}

function neededFor(context: ApplyContext, journal: Journal): number {
  let bytes = 0
  for (const entry of journal.paths) {
    if (entry.to !== undefined && !isModeOnly(entry)) bytes += context.bytesOf(entry.to.blob).length
  }
  return bytes
}

/** On the disk that was being written to: the workspace may lie on another one than the store. */
function freeFor({ fs, root, staging }: ApplyContext, { journal, at }: Run): number {
  const area = journal.areas[(journal.paths.find(({ path }) => path === at)?.area ?? 0) - 1]
  try {
    return fs.freeBytes(area === undefined ? staging : joinAbs(root, parentOf(area)))
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return 0 // a disk that does not say counts as full: it just was
  }
}

function recoverFirst(): UnturnError {
  return new UnturnError(
    'internal',
    {},
    {
      message:
        'An earlier change of the workspace is unfinished, and must be finished first. Nothing was changed.',
      hint: 'Run the command again. If this message comes back, please report it.',
    },
  )
}
