/** For tests of the object store: a store in a temp folder, and a git that knows nothing of this machine. */

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ObjectStore } from '../store/objects.ts'
import { type AbsPath, absPathUnchecked, type Exclusive } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'

/** Tests of one process need no lock. */
export const testLock = {} as unknown as Exclusive

export interface ObjectFixture extends Disposable {
  readonly root: string
  readonly folder: AbsPath
  readonly store: ObjectStore
  /** Runs git in our repository, and gives what it printed. */
  git(args: readonly string[], input?: string | Buffer): Buffer
  gitText(args: readonly string[], input?: string | Buffer): string
  /** The files in objects/pack. */
  packFiles(): readonly string[]
}

export function objectFixture(): ObjectFixture {
  const root = mkdtempSync(join(realpathSync(tmpdir()), 'unturn-objects-'))
  const folder = absPathUnchecked(join(root, 'objects.git'))
  ObjectStore.create(nodeFs, folder)
  return {
    root,
    folder,
    store: ObjectStore.open(nodeFs, folder),
    git: (args, input) => runGit(root, folder, args, input),
    gitText: (args, input) => runGit(root, folder, args, input).toString('latin1').trim(),
    packFiles: () => readdirSync(join(folder, 'objects/pack')).toSorted(),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  }
}

/** A second repository beside the store, written by git alone. */
export function gitRepository(root: string, name: string): { folder: string; git: ObjectFixture['git'] } {
  const folder = join(root, name)
  mkdirSync(folder)
  runGit(root, folder, ['init', '--quiet', '--bare', folder])
  return { folder, git: (args, input) => runGit(root, folder, args, input) }
}

function runGit(root: string, folder: string, args: readonly string[], input?: string | Buffer): Buffer {
  return execFileSync('git', args, {
    input: input ?? '',
    maxBuffer: 1 << 28,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: root,
      GIT_DIR: folder,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_AUTHOR_NAME: 'unturn',
      GIT_AUTHOR_EMAIL: 'unturn@localhost',
      GIT_AUTHOR_DATE: '1700000000 +0000',
      GIT_COMMITTER_NAME: 'unturn',
      GIT_COMMITTER_EMAIL: 'unturn@localhost',
      GIT_COMMITTER_DATE: '1700000000 +0000',
    },
  })
}
