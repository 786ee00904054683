/**
 * The journal: what an apply is about to do, on disk before it does it. One file, whose name is its state:
 *
 *   (staged) ──▶ current ──▶ placed ──▶ gone      carried out, published
 *                   └──────────┴─────▶ back ──▶ gone      taken back
 *
 * A state changes by a rename, which needs no room on a full disk and cannot be half done. `staged` is not a
 * state but a note that staging has begun, and where, so that what a killed process left there is found.
 */

import { createHash } from 'node:crypto'
import { bytesOfText, textOfBytes, UnturnError } from '../errors.ts'
import { errorCode, type Fs } from '../fs.ts'
import {
  type AbsPath,
  type BlobId,
  type FileState,
  flawOfRelPath,
  joinAbs,
  nameOf,
  type RelPath,
  relPathUnchecked,
} from '../values.ts'

export type JournalState = 'current' | 'placed' | 'back'

export interface Left {
  readonly path: RelPath
  readonly reason: 'changed-meanwhile' | 'occupied' | 'behind-link'
}

export interface JournalPath {
  readonly path: RelPath
  readonly from: FileState | undefined
  readonly to: FileState | undefined
  /** Where its staged copy and its backup lie: 0 is the store's staging folder, n the n-th of `areas`. */
  readonly area: number
  /** The disk takes its name for that of another path in the plan: only case or normal form differ. */
  readonly respelled: boolean
}

export interface FolderMode {
  readonly path: RelPath
  readonly perm: number
}

export interface FolderChange {
  readonly path: RelPath
  readonly from: number
  readonly to: number
}

export interface Journal {
  readonly note: string
  /** Staging folders inside the workspace, for files on other disks than the store. */
  readonly areas: readonly RelPath[]
  readonly paths: readonly JournalPath[]
  readonly create: readonly FolderMode[]
  /** With the mode it had, so that it can come back. */
  readonly remove: readonly FolderMode[]
  readonly chmod: readonly FolderChange[]
  readonly left: readonly Left[]
}

const version = 1
const stagedNote = 'staged'
const unfinished = 'next'
// To make a file and to remove one takes longer than all the rest of a small apply on many disks: they are used again.
const spareJournal = 'spare-journal'
const spareNote = 'spare-note'

/** Names of staging folders inside the workspace; no capture should look into them. */
export function isStagingName(name: string): boolean {
  return name.startsWith('.unturn-') && /^\.unturn-[0-9a-f]{16}$/.test(name)
}

/** Whether an apply was cut short, or left something behind. One listing; no lock needed. */
export function needsRecovery(fs: Fs, journal: AbsPath): boolean {
  return fs.readFolder(journal).some((name) => !name.startsWith('damaged-') && !isSpare(name))
}

function isSpare(name: string): boolean {
  return name === spareJournal || name === spareNote
}

/** What is kept for the next apply holds the names of paths. */
export function dropSpares(fs: Fs, journal: AbsPath): void {
  for (const name of [spareJournal, spareNote]) removeIfThere(fs, joinAbs(journal, name))
}

export function findJournal(fs: Fs, folder: AbsPath): JournalState | undefined {
  const names = fs.readFolder(folder)
  // `placed` may stand beside `current` for an instant, and everything is in place by then.
  const states: readonly JournalState[] = ['placed', 'back', 'current']
  return states.find((state) => names.includes(state))
}

export function readJournal(fs: Fs, folder: AbsPath, state: JournalState): Journal {
  return parseJournal(fs.readFile(joinAbs(folder, state)).toString('utf8'))
}

/** Puts a journal in force. Once it returns, a power cut cannot take it away. */
export function writeJournal(fs: Fs, folder: AbsPath, state: JournalState, journal: Journal): void {
  const temp = joinAbs(folder, unfinished)
  writeUnfinished(fs, folder, temp, Buffer.from(formatJournal(journal)))
  fs.syncFile(temp)
  fs.rename(temp, joinAbs(folder, state))
  fs.syncFolder(folder)
}

function writeUnfinished(fs: Fs, folder: AbsPath, temp: AbsPath, bytes: Buffer): void {
  const spare = joinAbs(folder, spareJournal)
  const stat = fs.lstat(spare)
  if (stat?.kind !== 'file' || stat.nlink !== 1) {
    removeIfThere(fs, temp)
    fs.createFile(temp, [bytes], 0o600)
    return
  }
  // Its last name said that all is in place. A power cut must not bring it back over what is still to be done.
  fs.syncFolder(folder)
  fs.rename(spare, temp)
  fs.overwrite(temp, bytes)
}

export function moveJournal(fs: Fs, folder: AbsPath, from: JournalState, to: JournalState): void {
  fs.rename(joinAbs(folder, from), joinAbs(folder, to))
  fs.syncFolder(folder)
}

/** From here on there is nothing to recover, only to tidy up. */
export function removeJournal(fs: Fs, folder: AbsPath): void {
  renameIfThere(fs, joinAbs(folder, 'placed'), joinAbs(folder, spareJournal))
  // `placed` as well: where a power cut left the file with both names, the rename has done nothing.
  for (const state of ['current', 'placed', 'back'] as const) removeIfThere(fs, joinAbs(folder, state))
  fs.syncFolder(folder)
}

/** A journal that nobody can read must not block the store for ever, and must not be lost either. */
export function setAsideJournal(fs: Fs, folder: AbsPath, state: JournalState): void {
  const names = fs.readFolder(folder)
  let number = 1
  while (names.includes(`damaged-${number}`)) number++
  fs.rename(joinAbs(folder, state), joinAbs(folder, `damaged-${number}`))
  fs.syncFolder(folder)
}

/** Says where staging is about to happen, before there is anything. */
export function noteStaging(fs: Fs, folder: AbsPath, areas: readonly RelPath[]): void {
  const note = joinAbs(folder, stagedNote)
  // A spare one names no folder.
  if (areas.length === 0 && renameIfThere(fs, joinAbs(folder, spareNote), note)) return
  fs.createFile(note, [Buffer.from(JSON.stringify(areas.map(textOfBytes)))], 0o600)
  if (areas.length === 0) return
  // A folder of ours in the user's workspace must be found again, even after a power cut.
  fs.syncFile(note)
  fs.syncFolder(folder)
}

export function notedAreas(fs: Fs, folder: AbsPath): readonly RelPath[] {
  const note = joinAbs(folder, stagedNote)
  if (fs.lstat(note) === undefined) return []
  const text = fs.readFile(note).toString('utf8')
  try {
    return listOf(JSON.parse(text)).map(areaOf)
  } catch (error) {
    // Cut short while it was written: then no folder had been made yet.
    if (error instanceof SyntaxError || error instanceof JournalFlaw) return []
    throw error
  }
}

/** `areas`: what the note names. */
export function forgetStaging(fs: Fs, folder: AbsPath, areas: readonly RelPath[]): void {
  removeIfThere(fs, joinAbs(folder, unfinished))
  if (areas.length === 0) renameIfThere(fs, joinAbs(folder, stagedNote), joinAbs(folder, spareNote))
  removeIfThere(fs, joinAbs(folder, stagedNote))
}

/** False where there is nothing. */
function renameIfThere(fs: Fs, from: AbsPath, to: AbsPath): boolean {
  try {
    fs.rename(from, to)
    return true
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    return false
  }
}

export function removeIfThere(fs: Fs, path: AbsPath): void {
  if (fs.lstat(path) === undefined) return // an error costs more than a look
  try {
    fs.unlink(path)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
  }
}

/** Why a journal cannot be trusted. */
export class JournalFlaw extends Error {}

// First the checksum of all that follows, so that a file cut short or damaged anywhere is noticed.
export function formatJournal(journal: Journal): string {
  const body = JSON.stringify({
    version,
    note: journal.note,
    areas: journal.areas.map(textOfBytes),
    paths: journal.paths.map((entry) => ({ ...entry, path: textOfBytes(entry.path) })),
    create: journal.create.map(textual),
    remove: journal.remove.map(textual),
    chmod: journal.chmod.map(textual),
    left: journal.left.map(textual),
  })
  return `${sha256(body)}\n${body}\n`
}

export function parseJournal(text: string): Journal {
  const body = text.slice(65, -1)
  if (text[64] !== '\n' || !text.endsWith('\n') || sha256(body) !== text.slice(0, 64)) {
    throw new JournalFlaw('its checksum does not match')
  }
  const fields = recordOf(JSON.parse(body))
  const found = numberOf(fields.version)
  if (found > version) throw newerJournal(found)
  const areas = listOf(fields.areas).map(areaOf)
  return {
    note: textOf(fields.note),
    areas,
    paths: listOf(fields.paths).map((entry) => journalPathOf(entry, areas.length)),
    create: listOf(fields.create).map(folderModeOf),
    remove: listOf(fields.remove).map(folderModeOf),
    chmod: listOf(fields.chmod).map(folderChangeOf),
    left: listOf(fields.left).map(leftOf),
  }
}

function textual<Entry extends { readonly path: RelPath }>(entry: Entry): Entry {
  return { ...entry, path: textOfBytes(entry.path) }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function journalPathOf(value: unknown, areas: number): JournalPath {
  const { path, from, to, area, respelled } = recordOf(value)
  if (typeof respelled !== 'boolean') throw new JournalFlaw('a field is missing')
  if (numberOf(area) > areas) throw new JournalFlaw('a staging folder is missing')
  return {
    path: pathOf(path),
    from: stateOf(from),
    to: stateOf(to),
    area: numberOf(area),
    respelled,
  }
}

function stateOf(value: unknown): FileState | undefined {
  if (value === undefined) return undefined
  const { kind, perm, blob } = recordOf(value)
  if (kind === 'link') return { kind, blob: blobOf(blob) }
  if (kind === 'file') return { kind, perm: permOf(perm), blob: blobOf(blob) }
  throw new JournalFlaw('a file kind is unknown')
}

function folderModeOf(value: unknown): FolderMode {
  const { path, perm } = recordOf(value)
  return { path: pathOf(path), perm: permOf(perm) }
}

function folderChangeOf(value: unknown): FolderChange {
  const { path, from, to } = recordOf(value)
  return { path: pathOf(path), from: permOf(from), to: permOf(to) }
}

function leftOf(value: unknown): Left {
  const { path, reason } = recordOf(value)
  if (reason === 'changed-meanwhile' || reason === 'occupied' || reason === 'behind-link') {
    return { path: pathOf(path), reason }
  }
  throw new JournalFlaw('a reason is unknown')
}

// A journal is a file that others could have written: a path in it is checked like one from a stranger.
function pathOf(value: unknown): RelPath {
  const bytes = bytesOfText(textOf(value))
  const flaw = flawOfRelPath(bytes)
  if (flaw !== undefined) throw new JournalFlaw(`a path in it is unsafe: ${flaw}`)
  return relPathUnchecked(bytes)
}

function areaOf(value: unknown): RelPath {
  const path = pathOf(value)
  if (!isStagingName(nameOf(path))) throw new JournalFlaw('a staging folder in it is not one of ours')
  return path
}

function permOf(value: unknown): number {
  const perm = numberOf(value)
  if (perm > 0o777) throw new JournalFlaw('a mode is out of range')
  return perm
}

function blobOf(value: unknown): BlobId {
  const text = textOf(value)
  if (!/^[0-9a-f]{40}([0-9a-f]{24})?$/.test(text)) throw new JournalFlaw('an object id is malformed')
  return text as BlobId // behind the check
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new JournalFlaw('a field has the wrong type')
  }
  return value as Readonly<Record<string, unknown>>
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new JournalFlaw('a list is missing')
  return value
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new JournalFlaw('a text is missing')
  return value
}

function numberOf(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new JournalFlaw('a number is missing')
  }
  return value
}

function newerJournal(found: number): UnturnError {
  return new UnturnError(
    'store-newer',
    { found, known: version },
    {
      message:
        'A newer version of Unturn was interrupted while it changed files, and this version cannot read its notes. Nothing was changed.',
      hint: 'Run any command with the newer version once; it finishes or takes back what was interrupted.',
    },
  )
}
