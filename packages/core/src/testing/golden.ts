/**
 * Golden stores: from each released format one small store is kept for ever, as it was written then, with what the
 * workspace looked like at every point. Today's code must read it. The folders are never edited.
 */

import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Hunk } from '../review/pending.ts'
import type { SessionId } from '../values.ts'
import { bytesPath, storeFolder, storeHome } from '../workspace/locate.ts'
import type { Workspace } from '../workspace.ts'

/** `f644 bytes`, `l target` or `d755` by path; bytes are code units from 0 to 255. */
export type Tree = Readonly<Record<string, string>>

export interface GoldenTurn {
  readonly id: string
  readonly session: string
  readonly parent: string | null
  readonly prompt: string
  readonly status: string
  /** `kind path +additions -deletions`, and where a rename came from. */
  readonly changes: readonly string[]
  readonly before: Tree
  readonly after: Tree
}

export interface GoldenStore {
  readonly turns: readonly GoldenTurn[]
  readonly heads: Readonly<Record<string, string | null>>
  /** `kind` of every operation, in order. */
  readonly operations: readonly string[]
  /** The workspace when the store was put away, and with every turn undone. */
  readonly now: Tree
  readonly undone: Tree
  /** What is under review in the session named three, where there is such a session. */
  readonly review?: readonly string[]
}

/** Every hunk, proposal and rejection, in words. */
export async function reviewWords(workspace: Workspace, session: SessionId): Promise<readonly string[]> {
  const { files, proposals, rejections } = await workspace.review(session)
  return [
    ...files.flatMap((file) => file.hunks.map((hunk) => `${hunk.kind} ${hunk.path} ${hunkWords(hunk)}`)),
    ...proposals.map(({ id, path, group }) => `proposal ${path} ${id} ${group ?? ''}`),
    ...rejections.map(({ path, hunk, comment, removed, added }) =>
      ['rejection', path, hunk, comment ?? '', JSON.stringify([removed, added])].join(' '),
    ),
  ]
}

function hunkWords({ id, contested, turns, proposal }: Hunk): string {
  return [id, contested ? 'contested' : '', turns.join(), proposal ?? '']
    .filter((word) => word !== '')
    .join(' ')
}

export function readTree(folder: string, at = ''): Record<string, string> {
  const tree: Record<string, string> = {}
  for (const name of readdirSync(bytes(join(folder, at)), { encoding: 'latin1' })) {
    const path = at === '' ? name : `${at}/${name}`
    const place = bytes(`${folder}/${path}`)
    const stat = lstatSync(place)
    const mode = (stat.mode & 0o777).toString(8)
    if (stat.isSymbolicLink()) tree[path] = `l ${readlinkSync(place, 'latin1')}`
    else if (stat.isDirectory()) Object.assign(tree, { [path]: `d${mode}` }, readTree(folder, path))
    else tree[path] = `f${mode} ${readFileSync(place, 'latin1')}`
  }
  return tree
}

/** Makes an empty folder hold this tree. */
export function writeTree(folder: string, tree: Tree): void {
  const folders = Object.entries(tree).filter(([, entry]) => entry.startsWith('d'))
  for (const [path] of folders) mkdirSync(bytes(`${folder}/${path}`), { recursive: true })
  for (const [path, entry] of Object.entries(tree)) {
    const place = bytes(`${folder}/${path}`)
    const rest = entry.slice(entry.indexOf(' ') + 1)
    if (entry.startsWith('l')) symlinkSync(bytes(rest), place)
    if (!entry.startsWith('f')) continue
    writeFileSync(place, rest, 'latin1')
    chmodSync(place, modeOf(entry))
  }
  for (const [path, entry] of folders.reverse()) chmodSync(bytes(`${folder}/${path}`), modeOf(entry))
}

/** Where the store of this workspace has to be. */
export function placeOfStore(env: Readonly<Record<string, string | undefined>>, workspace: string): string {
  return storeFolder(storeHome(env), bytesPath(realpathSync(workspace)))
}

// Git keeps no permission bits but one, and nobody else may look into a store.
export function putStore(golden: string, store: string): void {
  mkdirSync(dirname(store), { recursive: true })
  cpSync(golden, store, { recursive: true })
  makePrivate(store)
}

function makePrivate(path: string): void {
  const isFolder = statSync(path).isDirectory()
  chmodSync(path, isFolder ? 0o700 : 0o600)
  if (isFolder) for (const name of readdirSync(path)) makePrivate(join(path, name))
}

function modeOf(entry: string): number {
  return Number.parseInt(entry.slice(1), 8)
}

function bytes(path: string): Buffer {
  return Buffer.from(path, 'latin1')
}
