/**
 * Packing everything that is reachable into one pack with deltas, and dropping the rest. Small packs are quick to write
 * and large to keep; this is where a long history becomes small, and where what was dropped leaves the disk.
 *
 *   packReachable   long, without the lock: git writes a pack into a folder of its own, where nobody looks
 *   dropOldPacks    short, under the lock: what came meanwhile is packed, the new packs get their place, the old ones go
 *
 * A kill at any point leaves every object that a ref reaches in at least one whole pack.
 */

import { errorCode, type Fs } from '../fs.ts'
import { type AbsPath, type CommitId, type Exclusive, joinAbs, type ObjectId } from '../values.ts'
import { removeForGood } from './consolidate.ts'
import type { Git } from './git.ts'
import { IdSet } from './id-set.ts'
import type { ObjectStore } from './objects.ts'
import { tempName } from './pack-writer.ts'
import { listRefs } from './refs.ts'

export interface Repacked {
  readonly bytesBefore: number
  readonly bytesAfter: number
}

export interface PackWish {
  /** A folder that is ours alone while we pack; emptied first. */
  readonly folder: AbsPath
  /** Objects that no ref names and somebody needs all the same. Asked for twice: now and under the lock. */
  readonly roots: () => readonly ObjectId[]
  /** Also what is shared with the user's repository becomes our own: nothing is left but what the refs reach. */
  readonly unborrow?: boolean
}

export interface PackedState {
  readonly wish: PackWish
  readonly tips: ReadonlySet<CommitId>
  readonly roots: ReadonlySet<ObjectId>
  /** Packs that the new one stands for. */
  readonly old: readonly string[]
  readonly loose: readonly ObjectId[]
  /** Borrowed packs that keep their place, and of them those that nothing needs as far as we know. */
  readonly shared: readonly string[]
  readonly unneeded: readonly string[]
  readonly fresh: readonly string[]
}

/** The long part, without the lock: one pack of all that the refs reach now. What is borrowed stays where it is. */
export async function packReachable(store: ObjectStore, git: Git, wish: PackWish): Promise<PackedState> {
  emptyFolder(store.fs, wish.folder)
  store.refresh()
  const tips = tipsOf(store)
  const roots = new Set(wish.roots())
  const packs = store.packs()
  const shared = packs.filter((pack) => pack.borrowed && wish.unborrow !== true && isShared(store, pack.name))
  const names = shared.map((pack) => pack.name)
  const old = packs.map((pack) => pack.name).filter((name) => !names.includes(name))
  const loose = store.looseObjects()
  const wanted = [...tips, ...roots]
  const needed = names.length === 0 ? [] : await listObjects(git, wanted)
  const unneeded = names.filter((name) => !store.packHolds(name, needed))
  const fresh = await packObjects(store, git, wish.folder, names, wanted)
  return { wish, tips, roots, old, loose, shared: names, unneeded, fresh }
}

/** The short part, under the lock: packs what came in the meantime, and then the old packs go. */
export async function dropOldPacks(
  store: ObjectStore,
  git: Git,
  packed: PackedState,
  lock: Exclusive,
): Promise<Repacked> {
  const { wish, shared } = packed
  store.refresh()
  const bytesBefore = ownBytes(store)
  // An operation that came while we packed may lean on an object that no ref reached then, and only an old pack has.
  const since = [
    ...[...tipsOf(store)].filter((tip) => !packed.tips.has(tip)),
    ...wish.roots().filter((root) => !packed.roots.has(root)),
  ]
  const revisions = since.length === 0 ? [] : [...since, ...[...packed.tips].map((tip) => `^${tip}`)]
  const more = since.length === 0 ? [] : await packObjects(store, git, wish.folder, shared, revisions)
  const late = since.length === 0 ? [] : await listObjects(git, revisions)
  const unneeded = packed.unneeded.filter((name) => !store.packHolds(name, late))
  const fresh = new Set([...packed.fresh, ...more])
  for (const name of fresh) place(store, wish.folder, name)
  const gone = [...packed.old, ...unneeded].filter((name) => !fresh.has(name))
  removeForGood(store, gone, lock)
  store.removeLoose(packed.loose)
  emptyFolder(store.fs, wish.folder)
  return { bytesBefore, bytesAfter: ownBytes(store) }
}

/** What a killed git has left among the packs. Only for whoever knows that no git packs right now. */
export function removeGitTemps(store: ObjectStore): number {
  const names = store.fs.readFolder(store.packFolder).filter((name) => /^\.?tmp[_-]/.test(name))
  // Our own `tmp-…` files are not git's: one of them may be half of a pack that can be finished.
  const temps = names.filter((name) => !name.startsWith('tmp-'))
  for (const name of temps) unlinkIfThere(store.fs, joinAbs(store.packFolder, name))
  return temps.length
}

/** The ids of all that the refs, and these roots, reach. */
export async function reachable(
  store: ObjectStore,
  git: Git,
  roots: readonly ObjectId[],
): Promise<Pick<IdSet, 'has'>> {
  const ids = new IdSet()
  for (const id of await listObjects(git, [...tipsOf(store), ...roots])) ids.add(id)
  return ids
}

async function listObjects(git: Git, revisions: readonly string[]): Promise<Iterable<ObjectId>> {
  if (revisions.length === 0) return []
  const run = await git.run(['rev-list', '--objects', '--no-object-names', '--stdin'], {
    input: lines(revisions),
  })
  return { [Symbol.iterator]: () => idsIn(run.stdout) }
}

/** One on each line. As bytes until somebody asks: of a long history they are many. */
function* idsIn(lines: Buffer): IterableIterator<ObjectId> {
  let at = 0
  for (let end = lines.indexOf(10); end >= 0; end = lines.indexOf(10, at)) {
    if (end > at) yield lines.toString('latin1', at, end) as ObjectId
    at = end + 1
  }
}

async function packObjects(
  store: ObjectStore,
  git: Git,
  folder: AbsPath,
  shared: readonly string[],
  revisions: readonly string[],
): Promise<readonly string[]> {
  const keep = shared.map((name) => `--keep-pack=${name}.pack`)
  const options = ['--revs', '--delta-base-offset', '--non-empty', ...effort(store), '-q']
  const base = Buffer.from(joinAbs(folder, 'pack'), 'latin1').toString('utf8')
  const run = await git.run([...settings, 'pack-objects', ...options, ...keep, base], {
    input: lines(revisions),
  })
  return run.stdout
    .toString('latin1')
    .split('\n')
    .filter((line) => line !== '')
    .map((checksum) => `pack-${checksum}`)
}

const mostTriedBytes = 64 * 1024 * 1024

// Small packs were joined without deltas, and git takes whole objects of one pack for hopeless unless told to try again.
// In a large store that would take minutes at every gc, for little: there what is packed well stays as it is.
function effort(store: ObjectStore): readonly string[] {
  const own = store.packs().filter((pack) => !pack.borrowed)
  const bytes = own.reduce((sum, pack) => sum + pack.bytes, 0)
  return bytes > mostTriedBytes
    ? ['--window=20', '--depth=50']
    : ['--no-reuse-delta', '--window=60', '--depth=50']
}

// No reverse index: we never read one, and it would be one more file to leave behind. A long history of large files
// must not take all the memory there is.
const settings = ['-c', 'pack.writeReverseIndex=false', '-c', 'pack.windowMemory=256m']

function lines(revisions: readonly string[]): string {
  return revisions.map((one) => `${one}\n`).join('')
}

function tipsOf(store: ObjectStore): ReadonlySet<CommitId> {
  return new Set(listRefs(store.fs, store.folder, 'refs/unturn/').values())
}

// Once the user's repository has no such file any more, or where it had to be copied, it takes room of its own: then
// it is packed like the rest, and only what we need of it stays.
function isShared(store: ObjectStore, name: string): boolean {
  return (store.fs.lstat(joinAbs(store.packFolder, `${name}.pack`))?.nlink ?? 0) > 1
}

function ownBytes(store: ObjectStore): number {
  return store.packs().reduce((bytes, pack) => (pack.borrowed ? bytes : bytes + pack.bytes), 0)
}

// As in `writePack`: with both temp names on disk, a cut between the last renames can be told from damage.
function place(store: ObjectStore, folder: AbsPath, name: string): void {
  const { fs, packFolder } = store
  // The same objects packed the same way: it is there already, and the old list must not remove it.
  if (store.packs().some((pack) => pack.name === name)) return
  const temps = (['idx', 'pack'] as const).map((end) => {
    const written = joinAbs(folder, `${name}.${end}`)
    const temp = joinAbs(packFolder, tempName(end, name))
    fs.chmod(written, 0o600)
    fs.syncFile(written)
    fs.rename(written, temp)
    return { temp, final: joinAbs(packFolder, `${name}.${end}`) }
  })
  fs.syncFolder(packFolder)
  for (const { temp, final } of temps.toReversed()) fs.rename(temp, final)
  fs.syncFolder(packFolder)
}

function emptyFolder(fs: Fs, folder: AbsPath): void {
  if (fs.lstat(folder) === undefined) fs.createFolder(folder, 0o700)
  for (const name of fs.readFolder(folder)) unlinkIfThere(fs, joinAbs(folder, name))
}

function unlinkIfThere(fs: Fs, path: AbsPath): void {
  try {
    fs.unlink(path)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
  }
}
