/**
 * Packing everything that is reachable into one pack with deltas. Small packs are quick to write and large to keep;
 * this is where a long history becomes small.
 */

import { errorCode } from '../fs.ts'
import { absPathUnchecked, type CommitId, type Exclusive, joinAbs } from '../values.ts'
import type { Git } from './git.ts'
import type { ObjectStore } from './objects.ts'
import { listRefs } from './refs.ts'

export interface Repacked {
  readonly bytesBefore: number
  readonly bytesAfter: number
}

export interface PackedState {
  readonly tips: ReadonlySet<CommitId>
  readonly old: readonly string[]
  readonly fresh: readonly string[]
}

/** The long part, without the lock: one pack of all that the refs reach now. What is borrowed stays where it is. */
export async function packReachable(store: ObjectStore, git: Git): Promise<PackedState> {
  const tips = tipsOf(store)
  const old = ownPacks(store)
  return { tips, old, fresh: await packObjects(store, git, [...tips]) }
}

/** The short part, under the lock: packs what came in the meantime, and then the old packs go. */
export async function dropOldPacks(
  store: ObjectStore,
  git: Git,
  packed: PackedState,
  _lock: Exclusive,
): Promise<Repacked> {
  store.refresh()
  const bytesBefore = bytesOf(store, ownPacks(store))
  // An operation that came while we packed may lean on an object that no ref reached then, and only an old pack has.
  const since = [...tipsOf(store)].filter((tip) => !packed.tips.has(tip))
  const more =
    since.length === 0
      ? []
      : await packObjects(store, git, [...since, ...[...packed.tips].map((tip) => `^${tip}`)])
  const fresh = new Set([...packed.fresh, ...more])
  for (const name of fresh) sync(store, name)
  for (const name of packed.old) if (!fresh.has(name)) remove(store, name)
  store.fs.syncFolder(store.packFolder)
  store.refresh()
  return { bytesBefore, bytesAfter: bytesOf(store, ownPacks(store)) }
}

async function packObjects(
  store: ObjectStore,
  git: Git,
  revisions: readonly string[],
): Promise<readonly string[]> {
  const options = ['--revs', '--delta-base-offset', '--honor-pack-keep', '--window=20', '--depth=50', '-q']
  const base = Buffer.from(joinAbs(store.packFolder, 'pack'), 'latin1').toString('utf8')
  const run = await git.run(['pack-objects', ...options, base], {
    input: revisions.map((one) => `${one}\n`).join(''),
  })
  return run.stdout
    .toString('latin1')
    .split('\n')
    .filter((line) => line !== '')
    .map((checksum) => `pack-${checksum}`)
}

function tipsOf(store: ObjectStore): ReadonlySet<CommitId> {
  return new Set(listRefs(store.fs, store.folder, 'refs/unturn/').values())
}

function ownPacks(store: ObjectStore): readonly string[] {
  return store.packs().flatMap((pack) => (pack.borrowed ? [] : [pack.name]))
}

function bytesOf(store: ObjectStore, names: readonly string[]): number {
  const wanted = new Set(names)
  return store.packs().reduce((bytes, pack) => (wanted.has(pack.name) ? bytes + pack.bytes : bytes), 0)
}

function sync(store: ObjectStore, name: string): void {
  for (const ending of ['.pack', '.idx'])
    store.fs.syncFile(absPathUnchecked(`${store.packFolder}/${name}${ending}`))
  store.fs.syncFolder(store.packFolder)
}

// The index first: a pack without an index is not looked at, an index without its pack is an error.
function remove(store: ObjectStore, name: string): void {
  for (const ending of ['.idx', '.rev', '.pack']) {
    try {
      store.fs.unlink(absPathUnchecked(`${store.packFolder}/${name}${ending}`))
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error
    }
  }
}
