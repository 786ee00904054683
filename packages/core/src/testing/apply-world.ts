/** A workspace, a journal and a store of bytes for the tests of apply, on any disk behind the port. */

import type { Fs } from '../fs.ts'
import { objectId } from '../object-id.ts'
import {
  type AbsPath,
  absPathUnchecked,
  type BlobId,
  type Exclusive,
  type FileState,
  joinAbs,
  joinRel,
  parentOf,
  type RelPath,
  relPathUnchecked,
} from '../values.ts'
import {
  type ApplyContext,
  type ApplyOutcome,
  apply,
  type Left,
  type Plan,
  type Recovery,
  recover,
} from '../workspace/apply.ts'
import type { Random } from './sim-disk.ts'

/** Apply is alone in these tests: nobody else could hold the lock. */
export const testLock = {} as Exclusive

export type Item =
  | { readonly kind: 'file'; readonly text: string; readonly perm: number }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'folder'; readonly perm: number }

/** A workspace by path; parent folders may be left out and are 0755. */
export type Shape = Readonly<Record<string, Item>>

export function file(text: string, perm = 0o644): Item {
  return { kind: 'file', text, perm }
}

export function link(target: string): Item {
  return { kind: 'link', target }
}

export function folder(perm = 0o755): Item {
  return { kind: 'folder', perm }
}

export interface ApplyWorld {
  readonly context: ApplyContext
  readonly blobs: Map<BlobId, Buffer>
  /** Every note that was published, in order. */
  readonly published: string[]
}

export function applyWorld(fs: Fs, base: AbsPath): ApplyWorld {
  const blobs = new Map<BlobId, Buffer>()
  const context: ApplyContext = {
    fs,
    root: joinAbs(base, 'project'),
    journal: joinAbs(base, 'store/journal'),
    staging: joinAbs(base, 'store/staging'),
    bytesOf: (blob) => {
      const bytes = blobs.get(blob)
      if (bytes === undefined) throw new Error(`no bytes for ${blob}`)
      return bytes
    },
  }
  return { context, blobs, published: [] }
}

/** The same world after a restart, perhaps on another disk. */
export function restarted(world: ApplyWorld, fs: Fs): ApplyWorld {
  return { ...world, context: { ...world.context, fs } }
}

export function makeFolders({ context }: ApplyWorld): void {
  const { fs, root, journal, staging } = context
  for (const path of [parentOf(root), parentOf(journal), root, journal, staging]) {
    const place = absPathUnchecked(path)
    if (path !== '' && fs.lstat(place) === undefined) fs.createFolder(place, path === root ? 0o755 : 0o700)
  }
}

/** Makes the shape below the root. */
export function build({ context }: ApplyWorld, shape: Shape): void {
  const { fs, root } = context
  const full = complete(shape)
  for (const path of Object.keys(full).toSorted()) {
    const item = full[path]
    const place = joinAbs(root, path)
    if (item?.kind === 'folder') fs.createFolder(place, item.perm | 0o700)
    if (item?.kind === 'file') fs.createFile(place, [Buffer.from(item.text)], item.perm)
    if (item?.kind === 'link') fs.createLink(place, item.target)
  }
  for (const [path, item] of Object.entries(full)) {
    if (item.kind === 'folder' && (item.perm | 0o700) !== item.perm) fs.chmod(joinAbs(root, path), item.perm)
  }
}

/** With every parent folder named. */
export function complete(shape: Shape): Shape {
  const full: Record<string, Item> = { ...shape }
  for (const path of Object.keys(shape)) {
    for (let parent = parentOf(path); parent !== ''; parent = parentOf(parent)) full[parent] ??= folder()
  }
  return full
}

/** What is there, as a shape that can be compared. */
export function shapeOf({ context }: ApplyWorld): Shape {
  const found: Record<string, Item> = {}
  collect(context.fs, context.root, '', found)
  return found
}

function collect(fs: Fs, root: AbsPath, path: string, found: Record<string, Item>): void {
  for (const name of fs.readFolder(joinAbs(root, path)).toSorted()) {
    const child = joinRel(path, name)
    const place = joinAbs(root, child)
    const stat = fs.lstat(place)
    if (stat?.kind === 'file') found[child] = file(fs.readFile(place).toString(), stat.perm)
    if (stat?.kind === 'link') found[child] = link(fs.readLink(place))
    if (stat?.kind !== 'folder') continue
    found[child] = folder(stat.perm)
    collect(fs, root, child, found)
  }
}

/** The plan from one shape to the other; the bytes go into the world's store. */
export function planBetween(world: ApplyWorld, before: Shape, after: Shape): Plan {
  const old = complete(before)
  const young = complete(after)
  const names = [...new Set([...Object.keys(old), ...Object.keys(young)])].toSorted()
  const paths = names.map(relPathUnchecked)
  return {
    paths: paths
      .map((path) => ({ path, from: stateOf(world, old[path]), to: stateOf(world, young[path]) }))
      .filter(({ from, to }) => JSON.stringify(from) !== JSON.stringify(to)),
    folders: {
      create: paths.flatMap((path) => folderOnlyIn(path, young, old)),
      remove: paths.flatMap((path) => folderOnlyIn(path, old, young)).map(({ path }) => path),
      chmod: paths.flatMap((path) => changedFolder(path, old[path], young[path])),
    },
  }
}

function stateOf(world: ApplyWorld, item: Item | undefined): FileState | undefined {
  if (item === undefined || item.kind === 'folder') return undefined
  const bytes = item.kind === 'file' ? Buffer.from(item.text) : Buffer.from(item.target, 'latin1')
  const blob = objectId('blob', bytes)
  world.blobs.set(blob, bytes)
  return item.kind === 'file' ? { kind: 'file', perm: item.perm, blob } : { kind: 'link', blob }
}

function folderOnlyIn(path: RelPath, here: Shape, there: Shape): { path: RelPath; perm: number }[] {
  const item = here[path]
  return item?.kind === 'folder' && there[path]?.kind !== 'folder' ? [{ path, perm: item.perm }] : []
}

function changedFolder(path: RelPath, from: Item | undefined, to: Item | undefined) {
  if (from?.kind !== 'folder' || to?.kind !== 'folder' || from.perm === to.perm) return []
  return [{ path, from: from.perm, to: to.perm }]
}

export function applyIn(world: ApplyWorld, plan: Plan, note = 'note'): ApplyOutcome {
  return apply(world.context, plan, note, publisherOf(world), testLock)
}

export function recoverIn(world: ApplyWorld): Recovery {
  return recover(world.context, publisherOf(world), testLock)
}

function publisherOf(world: ApplyWorld): (note: string, left: readonly Left[]) => void {
  return (note) => {
    world.published.push(note)
  }
}

/** What is left in the store's journal and staging folders. */
export function leftovers({ context }: ApplyWorld): readonly string[] {
  const journal = context.fs.readFolder(context.journal).filter((name) => !name.startsWith('spare-'))
  return [...journal, ...context.fs.readFolder(context.staging)]
}

/** A small random workspace with names that often meet those of another one. */
export function randomShape(random: Random): Shape {
  const shape: Record<string, Item> = { 'other/kept.txt': file('not part of it') }
  grow(random, '', 0, shape)
  return shape
}

function grow(random: Random, parent: string, depth: number, shape: Record<string, Item>): void {
  for (const name of ['a', 'b', 'c']) {
    const path = joinRel(parent, name)
    const draw = random()
    if (draw < 0.35)
      shape[path] = file(`text ${Math.floor(random() * 4)}`, pick(random, [0o644, 0o755, 0o600]))
    else if (draw < 0.45) shape[path] = link(pick(random, ['a', 'b/c', '../other', 'nowhere']))
    else if (draw < 0.7 && depth < 2) {
      shape[path] = folder(pick(random, [0o755, 0o755, 0o700]))
      grow(random, path, depth + 1, shape)
    }
  }
}

function pick<Choice>(random: Random, choices: readonly [Choice, ...Choice[]]): Choice {
  return choices[Math.floor(random() * choices.length)] ?? choices[0]
}
