/** For tests of the store: a store of its own in a temp folder, a git that knows no config of this machine, trees from literals. */

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Git } from '../store/git.ts'
import { MergeScratch } from '../store/merge.ts'
import { ObjectStore, type Objects } from '../store/objects.ts'
import { buildTree, type Leaf, listTree } from '../store/trees.ts'
import { type AbsPath, absPathUnchecked, type RelPath, relPathUnchecked, type TreeId } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'

export type FileLiteral = string | Buffer | { readonly exec: string } | { readonly link: string }
export type TreeLiteral = Readonly<Record<string, FileLiteral>>

export interface StoreFixture extends AsyncDisposable {
  readonly root: string
  readonly store: ObjectStore
  readonly git: Git
  readonly scratches: AbsPath
  /** A tree of these files, in the store. Names are bytes. */
  tree(files: TreeLiteral): TreeId
  scratch(): MergeScratch
}

export function storeFixture(env: Readonly<Record<string, string | undefined>> = process.env): StoreFixture {
  const root = tempFolder()
  const folder = absPathUnchecked(join(root, 'objects.git'))
  const scratches = absPathUnchecked(join(root, 'scratch'))
  mkdirSync(scratches)
  ObjectStore.create(nodeFs, folder)
  const store = ObjectStore.open(nodeFs, folder)
  const git = new Git({ folder, env })
  return {
    root,
    store,
    git,
    scratches,
    tree: (files) => storedTree(store, files),
    scratch: () => MergeScratch.open(nodeFs, store, git, scratches),
    async [Symbol.asyncDispose]() {
      await git[Symbol.asyncDispose]()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

export function tempFolder(): string {
  return mkdtempSync(join(realpathSync(tmpdir()), 'unturn-store-'))
}

function storedTree(store: ObjectStore, files: TreeLiteral): TreeId {
  const batch = store.newBatch()
  const leaves = Object.entries(files).map(([path, literal]): readonly [RelPath, Leaf] => [
    relPathUnchecked(path),
    { mode: modeOf(literal), blob: batch.blob(bytesOf(literal)) },
  ])
  const tree = buildTree(batch, leaves)
  batch.flush()
  return tree
}

function modeOf(literal: FileLiteral): Leaf['mode'] {
  if (typeof literal === 'string' || Buffer.isBuffer(literal)) return '100644'
  return 'exec' in literal ? '100755' : '120000'
}

function bytesOf(literal: FileLiteral): Buffer {
  if (Buffer.isBuffer(literal)) return literal
  if (typeof literal === 'string') return Buffer.from(literal, 'latin1')
  return Buffer.from('exec' in literal ? literal.exec : literal.link, 'latin1')
}

/** The tree as a literal again, text as latin1. */
export function filesOf(objects: Objects, tree: TreeId): TreeLiteral {
  const files: Record<string, FileLiteral> = {}
  for (const [path, leaf] of listTree(objects, tree)) {
    const text = objects.readBlob(leaf.blob).toString('latin1')
    files[path] = leaf.mode === '100644' ? text : leaf.mode === '100755' ? { exec: text } : { link: text }
  }
  return files
}

/** The user's git in a test: hermetic, with a fixed author. Gives stdout without the last line break. */
export function userGit(cwd: string, ...args: readonly string[]): string {
  const env = {
    PATH: process.env.PATH,
    HOME: cwd,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_AUTHOR_NAME: 'A',
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_COMMITTER_NAME: 'A',
    GIT_COMMITTER_EMAIL: 'a@example.com',
    GIT_AUTHOR_DATE: '2020-01-01T00:00:00Z',
    GIT_COMMITTER_DATE: '2020-01-01T00:00:00Z',
  }
  return execFileSync('git', args, {
    cwd,
    env,
    encoding: 'latin1',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).replace(/\n$/, '')
}

export const lines = (...texts: readonly string[]) => texts.map((text) => `${text}\n`).join('')
export const rel = relPathUnchecked
