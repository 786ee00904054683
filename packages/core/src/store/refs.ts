/**
 * The refs of our own repository, written by us under our lock. A ref that cannot be read is an error, never
 * "no ref": a session whose history seems empty would be undone to nothing (K9).
 */

import { randomBytes } from 'node:crypto'
import { shown } from '../errors.ts'
import { errorCode, type FileStat, type Fs } from '../fs.ts'
import { type AbsPath, type CommitId, joinAbs, parentOf } from '../values.ts'
import { internalError, storeDamaged } from './damage.ts'
import { removeQuietly, unwritable, writeSynced } from './pack-writer.ts'

/** What stands below a prefix, for `doctor`: the refs, and the names of those that cannot be read. */
export interface RefSurvey {
  readonly refs: ReadonlyMap<string, CommitId>
  readonly damaged: readonly string[]
}

export function readRef(fs: Fs, repo: AbsPath, name: string): CommitId | undefined {
  checkRefName(name)
  const text = readFileIfAny(fs, joinAbs(repo, name))
  return text === undefined ? readPackedRefs(fs, repo).get(name) : parseRef(text, name)
}

/** All refs below `prefix`, which ends in a slash. Throws if one of them cannot be read. */
export function listRefs(fs: Fs, repo: AbsPath, prefix: string): ReadonlyMap<string, CommitId> {
  const { refs, damaged } = surveyRefs(fs, repo, prefix)
  const first = damaged[0]
  if (first !== undefined) throw damagedRef(first)
  return refs
}

export function surveyRefs(fs: Fs, repo: AbsPath, prefix: string): RefSurvey {
  checkRefName(prefix.replace(/\/$/, ''))
  const refs = new Map<string, CommitId>()
  const damaged: string[] = []
  for (const [name, id] of readPackedRefs(fs, repo)) if (name.startsWith(prefix)) refs.set(name, id)
  for (const name of looseRefNames(fs, repo, prefix.replace(/\/$/, ''))) {
    const id = idIn(readFileIfAny(fs, joinAbs(repo, name)) ?? '')
    if (id !== undefined) refs.set(name, id)
    else {
      // Not the packed value instead: it is older, and undo would go on from there.
      refs.delete(name)
      damaged.push(name)
    }
  }
  return { refs: new Map([...refs].toSorted(byName)), damaged: damaged.toSorted() }
}

/** Durable when it returns: the ref is the old one or the new one, whatever happens. */
export function writeRef(fs: Fs, repo: AbsPath, name: string, id: CommitId): void {
  checkRefName(name)
  if (idIn(id) === undefined) throw internalError('A ref was given something that is no id.', { name, id })
  try {
    ensureFolders(fs, repo, parentOf(name))
    replaceFile(fs, repo, name, `${id}\n`)
  } catch (error) {
    throw unwritable(fs, repo, 41, error)
  }
}

/** Durable when it returns. A ref that is not there is no error. */
export function deleteRef(fs: Fs, repo: AbsPath, name: string): void {
  checkRefName(name)
  try {
    // First the packed one: as soon as the loose ref is gone, an older packed value would stand in its place.
    if (readPackedRefs(fs, repo).has(name))
      replaceFile(fs, repo, 'packed-refs', packedRefsWithout(fs, repo, name))
    const path = joinAbs(repo, name)
    if (fs.lstat(path)?.kind !== 'file') return
    fs.unlink(path)
    fs.syncFolder(joinAbs(repo, parentOf(name)))
  } catch (error) {
    throw unwritable(fs, repo, 0, error)
  }
}

function replaceFile(fs: Fs, repo: AbsPath, name: string, text: string): void {
  // Not beside the ref: for git, every file below refs/ is a ref.
  const temp = joinAbs(repo, `tmp-ref-${randomBytes(6).toString('hex')}`)
  const path = joinAbs(repo, name)
  const folder = joinAbs(repo, parentOf(name))
  const spare = joinAbs(repo, `spare-${parentOf(name).replaceAll('/', '-')}`)
  let kept: Spare | undefined
  try {
    writeTemp(fs, temp, spare, folder, Buffer.from(text, 'latin1'))
    kept = keepAsSpare(fs, path, spare)
    fs.rename(temp, path)
  } catch (error) {
    removeQuietly(fs, temp)
    throw error
  }
  fs.syncFolder(folder)
  if (kept !== undefined) nameless.set(fs, kept)
}

// To make a file and to remove one takes longer than all the rest on many disks. So the file of the last ref but one is
// used again: it has no other name then. The folder is synced before, or a power cut could bring its old name back.
function writeTemp(fs: Fs, temp: AbsPath, spare: AbsPath, folder: AbsPath, bytes: Buffer): void {
  const stat = fs.lstat(spare)
  if (stat?.kind !== 'file' || stat.nlink !== 1) return writeSynced(fs, temp, bytes, 0o600)
  if (!isKnownNameless(fs, spare, stat)) fs.syncFolder(folder)
  nameless.delete(fs)
  fs.rename(spare, temp)
  fs.overwrite(temp, bytes)
  fs.syncFile(temp)
}

interface Spare {
  readonly path: AbsPath
  readonly ino: number
  readonly bytes: Buffer
}

/** The spare whose old name this process has last seen off a disk. As long as it is the same, nobody has used it since. */
const nameless = new WeakMap<Fs, Spare>()

// Whoever uses a spare writes another id into it, and no id comes twice.
function isKnownNameless(fs: Fs, spare: AbsPath, { ino }: FileStat): boolean {
  const known = nameless.get(fs)
  return known?.path === spare && known.ino === ino && known.bytes.equals(fs.readFile(spare))
}

const withoutSpare: ReadonlySet<string | undefined> = new Set([
  'ENOENT', // a new ref: there is no old file
  'EEXIST', // left by one who was killed
  'EPERM',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EMLINK',
])

function keepAsSpare(fs: Fs, path: AbsPath, spare: AbsPath): Spare | undefined {
  try {
    const stat = fs.lstat(path)
    if (stat?.kind !== 'file') return undefined
    const kept = { path: spare, ino: stat.ino, bytes: fs.readFile(path) }
    fs.hardLink(path, spare)
    return kept
  } catch (error) {
    if (!withoutSpare.has(errorCode(error))) throw error
    return undefined
  }
}

function ensureFolders(fs: Fs, repo: AbsPath, folder: string): void {
  if (folder === '' || fs.lstat(joinAbs(repo, folder))?.kind === 'folder') return
  ensureFolders(fs, repo, parentOf(folder))
  fs.createFolder(joinAbs(repo, folder), 0o700)
  // A new folder whose name is not on disk yet takes the ref with it when the power is cut.
  fs.syncFolder(joinAbs(repo, parentOf(folder)))
}

function looseRefNames(fs: Fs, repo: AbsPath, folder: string): readonly string[] {
  const kind = fs.lstat(joinAbs(repo, folder))?.kind
  if (kind === undefined) return []
  if (kind !== 'folder') return [folder]
  const names = fs.readFolder(joinAbs(repo, folder)).filter((name) => !name.endsWith('.lock'))
  return names.flatMap((name) => looseRefNames(fs, repo, `${folder}/${name}`))
}

function readPackedRefs(fs: Fs, repo: AbsPath): ReadonlyMap<string, CommitId> {
  const refs = new Map<string, CommitId>()
  for (const line of packedLines(fs, repo)) {
    if (line.startsWith('#') || line.startsWith('^')) continue
    const [, id, name] = /^([0-9a-f]{40}) (\S+)$/.exec(line) ?? []
    if (id === undefined || name === undefined) throw storeDamaged('its file of packed refs cannot be read')
    refs.set(name, id as CommitId)
  }
  return refs
}

function packedLines(fs: Fs, repo: AbsPath): readonly string[] {
  const text = readFileIfAny(fs, joinAbs(repo, 'packed-refs')) ?? ''
  if (text !== '' && !text.endsWith('\n')) throw storeDamaged('its file of packed refs is cut short')
  return text.split('\n').slice(0, -1)
}

function packedRefsWithout(fs: Fs, repo: AbsPath, name: string): string {
  const kept: string[] = []
  let dropped = false
  for (const line of packedLines(fs, repo)) {
    // A line with ^ says more about the ref in the line above it, and goes with it.
    if (!line.startsWith('^')) dropped = line.endsWith(` ${name}`)
    if (!dropped) kept.push(`${line}\n`)
  }
  return kept.join('')
}

function parseRef(text: string, name: string): CommitId {
  const id = idIn(text)
  if (id === undefined) throw damagedRef(name)
  return id
}

function idIn(text: string): CommitId | undefined {
  return /^[0-9a-f]{40}\n?$/.test(text) ? (text.slice(0, 40) as CommitId) : undefined
}

function damagedRef(name: string): Error {
  return storeDamaged(`the ref ${shown(name)} cannot be read`)
}

function readFileIfAny(fs: Fs, path: AbsPath): string | undefined {
  // Looked at first: where a folder stands there is no ref, and reading it would be an error.
  const kind = fs.lstat(path)?.kind
  if (kind === undefined || kind === 'folder') return undefined
  if (kind !== 'file') return '' // a link or a pipe is no ref, and may lead anywhere
  try {
    return fs.readFile(path).toString('latin1')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Git's rules for names of refs, as far as they keep us inside refs/ (M9). */
function checkRefName(name: string): void {
  const parts = name.split('/')
  const sound = parts.length >= 2 && parts[0] === 'refs' && parts.every(isSoundPart) && !name.includes('@{')
  if (!sound) throw internalError('A ref was given a name that git does not allow.', { name })
}

function isSoundPart(part: string): boolean {
  if (part === '' || part.length > 200 || part.startsWith('.') || part.endsWith('.')) return false
  if (part.endsWith('.lock') || part.includes('..')) return false
  return /^[\x21-\x7e]+$/.test(part) && !/[~^:?*[\\]/.test(part)
}

function byName(a: readonly [string, CommitId], b: readonly [string, CommitId]): number {
  return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0
}
