/**
 * Every undo, redo, restore and rollback of the fixture goes through here, so that each test also proves the two
 * reports a user has to rely on: the dry run says what the real run will do (N1), and `files` is exactly what
 * became different on disk (N2). Whatever is not in `files` keeps its inode and time, too (R8), and so does `.git` (P5).
 */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type BigIntStats, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { isFailure, UnturnError } from '../errors.ts'
import type { FileOutcome, Outcome } from '../history/outcome.ts'
import type { Workspace } from '../workspace.ts'

interface Entry {
  readonly kind: 'file' | 'link' | 'folder' | 'special'
  readonly perm: number
  readonly content: string
  /** Tells a file that was left alone from one that was written again with the same bytes. */
  readonly identity: string
}

export type Disk = ReadonlyMap<string, Entry>

export function readDisk(folder: string): Disk {
  const disk = new Map<string, Entry>()
  readFolder(folder, '', disk)
  return disk
}

function readFolder(root: string, at: string, disk: Map<string, Entry>): void {
  for (const name of namesIn(`${root}/${at}`)) {
    const path = at === '' ? name : `${at}/${name}`
    const place = Buffer.from(`${root}/${path}`, 'latin1')
    const stat = lstatSync(place, { bigint: true, throwIfNoEntry: false })
    if (stat === undefined) continue
    disk.set(path, entryOf(place, stat))
    if (stat.isDirectory()) readFolder(root, path, disk)
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(Buffer.from(folder, 'latin1'), { encoding: 'latin1' })
  } catch {
    return [] // a folder that a test made unreadable: what is in it cannot be compared, and is not ours to judge
  }
}

function entryOf(place: Buffer, stat: BigIntStats): Entry {
  const perm = Number(stat.mode) & 0o777
  const identity = `${stat.ino} ${stat.mtimeNs}`
  if (stat.isSymbolicLink())
    return { kind: 'link', perm: 0o777, content: readlinkSync(place, 'latin1'), identity }
  if (stat.isDirectory()) return { kind: 'folder', perm, content: '', identity: `${stat.ino}` }
  if (!stat.isFile()) return { kind: 'special', perm, content: '', identity }
  return { kind: 'file', perm, content: contentOf(place), identity }
}

function contentOf(place: Buffer): string {
  try {
    return createHash('sha1').update(readFileSync(place)).digest('hex')
  } catch {
    return 'unreadable'
  }
}

export type Move = (dryRun: boolean) => Promise<Outcome>

/** Plans, checks that nothing moved, does it, checks that it did what it planned and says what it did. */
export async function honestly(workspace: Workspace, folder: string, move: Move): Promise<Outcome> {
  const before = readDisk(folder)
  const stand = standingOf(workspace)
  const planned = await settled(move(true))
  assert.deepEqual(differences(before, readDisk(folder)), [], 'the dry run changed the workspace')
  assert.deepEqual(standingOf(workspace), stand, 'the dry run moved a head, or is in the log')

  const done = await settled(move(false))
  assert.deepEqual(reportOf(done), reportOf(planned), 'the real run differs from its dry run')
  checkFiles(before, readDisk(folder), done instanceof Error ? [] : done.files)
  if (done instanceof Error) throw done
  checkOutcome(workspace, done)
  return done
}

async function settled(outcome: Promise<Outcome>): Promise<Outcome | UnturnError> {
  try {
    return await outcome
  } catch (error) {
    if (error instanceof UnturnError) return error
    throw error
  }
}

const moveKinds = ['undo', 'redo', 'restore', 'rollback']

/** Heads, running turns and moves. What the user did in the meantime may well be captured by a dry run. */
function standingOf(workspace: Workspace): unknown {
  const { index } = workspace
  return {
    heads: index.sessions().map(({ id, head }) => ({ id, head })),
    moves: index.operations().filter(({ record }) => moveKinds.includes(record.kind)).length,
    flights: workspace.engine.flights.list().filter((flight) => !flight.implicit).length,
  }
}

function reportOf(outcome: Outcome | UnturnError): unknown {
  if (outcome instanceof UnturnError) return { failure: outcome.code, data: outcome.data }
  const { kind, head, files, conflicts, reverted, redone, prompt, notUndone } = outcome
  const ending = kind === 'planned' ? 'done' : kind
  return { ending, head, files, conflicts, reverted, redone, prompt, notUndone }
}

function checkOutcome(workspace: Workspace, outcome: Outcome): void {
  if (outcome.kind === 'conflicts') {
    assert.notDeepEqual(outcome.conflicts, [], 'a refusal names no conflict')
    assert.equal(outcome.op, undefined, 'nothing was changed, and yet there is an operation')
    return
  }
  assert.equal(outcome.kind, 'done')
  const operation = outcome.op === undefined ? undefined : workspace.index.findOperation(outcome.op)
  assert.ok(operation, 'what was done is not in the log')
}

/** Each path that differs is listed, and the other way round; a listed action is what happened. */
export function checkFiles(before: Disk, after: Disk, files: readonly FileOutcome[]): void {
  const listed = new Set<string>(files.map(({ path }) => path))
  assert.equal(listed.size, files.length, 'a path is listed twice')
  const differing = differences(before, after)
  const untold = differing.filter((path) => !listed.has(path) && !comesWith(path, before, after, listed))
  assert.deepEqual(untold, [], 'these paths changed and are not in `files`')
  const unchanged = [...listed].filter((path) => !differing.includes(path))
  assert.deepEqual(unchanged, [], 'these paths are in `files` and did not change')
  for (const file of files) assert.ok(happened(file, before, after), `not so: ${JSON.stringify(file)}`)
}

function differences(before: Disk, after: Disk): readonly string[] {
  const paths = new Set([...before.keys(), ...after.keys()])
  return [...paths].filter((path) => !isSame(before.get(path), after.get(path))).sort()
}

function isSame(one: Entry | undefined, other: Entry | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.kind === other.kind && one.perm === other.perm && one.identity === other.identity
}

// A folder comes and goes with the files below it.
function comesWith(path: string, before: Disk, after: Disk, listed: ReadonlySet<string>): boolean {
  const was = before.get(path)?.kind
  const is = after.get(path)?.kind
  const isFolderAlone = (was === 'folder' && is === undefined) || (is === 'folder' && was === undefined)
  return isFolderAlone && [...listed].some((one) => one.startsWith(`${path}/`))
}

function happened(file: FileOutcome, before: Disk, after: Disk): boolean {
  const was = before.get(file.path)
  const is = after.get(file.path)
  switch (file.action) {
    case 'delete':
      return was !== undefined && (is === undefined || is.kind === 'folder')
    case 'write':
      return is !== undefined && (is.content !== was?.content || is.kind !== was.kind)
    case 'rename':
      return is !== undefined && file.from !== undefined && before.get(file.from)?.content === is.content
    case 'mode':
      return was !== undefined && is !== undefined && was.identity === is.identity && was.perm !== is.perm
  }
}

export async function failureOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
  } catch (error) {
    if (isFailure(error, 'internal') || !(error instanceof UnturnError)) throw error
    return error.code
  }
  throw new Error('it did not fail')
}
