/**
 * The first capture borrows: in a git workspace the bytes of clean tracked files are in the user's object database
 * already. Their packs are linked into our store, and an object id is taken over only where raw bytes and blob are
 * provably the same: stat-clean, no filter, ident or encoding, equal size. Everything else is read and stored.
 */

import { borrowPacks } from '../store/borrow.ts'
import type { ObjectBatch } from '../store/objects.ts'
import { listPacks, type TrackedFiles } from '../store/user-git.ts'
import { type BlobId, nameOf, type RelPath } from '../values.ts'
import { type Content, readContents } from '../workspace/content.ts'
import type { Scan, SeenFile } from '../workspace/scan.ts'
import type { Engine } from './engine.ts'

export async function firstContents(
  engine: Engine,
  scan: Scan,
  batch: ObjectBatch,
): Promise<readonly Content[]> {
  const files = scan.changed
  const borrowed = await borrow(engine, scan)
  const rest = files.filter((file) => !borrowed.has(file))
  const read = await readContents(engine.scanner, rest, batch, (done, total) =>
    engine.progress?.({ what: 'storing', done, total }),
  )
  return [...[...borrowed].map(([seen, blob]) => ({ seen, blob, size: seen.size })), ...read]
}

async function borrow(engine: Engine, scan: Scan): Promise<ReadonlyMap<SeenFile, BlobId>> {
  const git = engine.user.find()
  const tracked = engine.user.tracked()
  if (git === undefined || git.objectFormat !== 'sha1' || tracked === undefined) return new Map()
  const mayConvert = engine.user.mayConvert(attributeFiles(scan, tracked))
  const candidates = cleanFiles(scan.changed, tracked, mayConvert)
  if (candidates.size === 0) return new Map()
  const sizes = await borrowPacks(engine.git, engine.objects, listPacks(git), candidates.values())
  const borrowed = new Map<SeenFile, BlobId>()
  for (const [file, blob] of candidates) if (sizes.get(blob) === file.size) borrowed.set(file, blob)
  return borrowed
}

// Git obeys an attribute file that is ignored, too, and where one is missing on disk it takes it from the index.
function attributeFiles(scan: Scan, tracked: TrackedFiles): readonly RelPath[] {
  const name = '.gitattributes'
  const found = new Set(tracked.pathsNamed(name))
  for (const places of [scan.changed, scan.skipped])
    for (const { path } of places) if (path.endsWith(name) && nameOf(path) === name) found.add(path)
  return [...found]
}

function cleanFiles(
  files: readonly SeenFile[],
  tracked: TrackedFiles,
  mayConvert: (path: RelPath) => boolean,
): ReadonlyMap<SeenFile, BlobId> {
  const clean = new Map<SeenFile, BlobId>()
  for (const file of files) {
    const blob = file.kind === 'file' ? tracked.cleanBlob(file.path, file) : undefined
    if (blob !== undefined && !mayConvert(file.path)) clean.set(file, blob as BlobId)
  }
  return clean
}
