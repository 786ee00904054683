/** The user's git as the engine sees it: read anew when its files have changed, never written. */

import { errorCode, type Fs } from '../fs.ts'
import type { GitPosition } from '../log/record.ts'
import { optional } from '../log/record.ts'
import { stampOfStat } from '../store/folder-stamps.ts'
import {
  Attributes,
  findUserGit,
  headLog,
  isTrue,
  readExcludes,
  readHead,
  readUserConfig,
  TrackedFiles,
  type UserGit,
} from '../store/user-git.ts'
import { type AbsPath, joinAbs, type RelPath } from '../values.ts'
import {
  type CaptureRules,
  captureRules,
  defaultHeavyFolders,
  packTracked,
  type Tracked,
} from '../workspace/capture-rules.ts'
import type { UserRepository } from './engine.ts'

export interface RuleOptions {
  /** In bytes; 10 MiB. A file of exactly this size is still captured; tracked, named and known ones at any size. */
  readonly maxUntrackedFileSize?: number
  /** A folder that was never captured and has more entries than this is passed over. No limit if nothing is said. */
  readonly maxUntrackedDirEntries?: number
  /** Names of folders to pass over, in place of the well-known heavy ones (`node_modules`, `dist`, …). */
  readonly heavyFolders?: readonly string[]
  /** Names of folders to pass over in addition to those. */
  readonly ignoredDirNames?: readonly string[]
  readonly protect?: readonly string[]
}

// Some clocks of file systems tick once in two seconds.
const settledMs = 2500

type Env = Readonly<Record<string, string | undefined>>

const leastEntryBytes = 72

/** Whether the user's index is large enough for so many files. It is not read. */
export function mayTrack(fs: Fs, root: AbsPath, files: number): boolean {
  const git = findUserGit(root)
  const index = git === undefined ? undefined : fs.lstat(joinAbs(git.gitDir, 'index'))
  return index !== undefined && index.size >= files * leastEntryBytes
}

export class DiskRepository implements UserRepository {
  readonly #fs: Fs
  readonly #root: AbsPath
  readonly #env: Env
  readonly #own: Partial<CaptureRules>
  #index:
    | { readonly signature: string; readonly files: TrackedFiles | undefined; packed?: Tracked }
    | undefined
  #position:
    | { readonly files: readonly AbsPath[]; readonly stamps: string; readonly position: GitPosition }
    | undefined

  constructor(fs: Fs, root: AbsPath, env: Env, options: RuleOptions, apart: readonly AbsPath[]) {
    this.#fs = fs
    this.#root = root
    this.#env = env
    this.#own = { ...ownRules(options), apart }
  }

  find(): UserGit | undefined {
    return findUserGit(this.#root)
  }

  position(): GitPosition {
    const known = this.#position
    if (known !== undefined && this.#stampsOf(known.files) === known.stamps) return known.position
    this.#position = undefined
    const git = this.find()
    if (git === undefined) return {}
    // Before they are read: what changes meanwhile has another stamp then.
    const files = this.#filesOfPosition(git)
    const stamps = files === undefined ? '' : this.#stampsOf(files)
    const { commit, branch } = readHead(git)
    const logged = this.#fs.lstat(headLog(git))?.size
    const position = {
      ...optional('head', commit),
      ...optional('branch', branch),
      ...optional('logged', logged),
    }
    if (files !== undefined && stamps !== '') this.#position = { files, stamps, position }
    return position
  }

  // Only for the usual repository, on a branch with a file of its own: elsewhere more files have a say.
  #filesOfPosition({ gitDir, commonDir }: UserGit): readonly AbsPath[] | undefined {
    const dotGit = joinAbs(this.#root, '.git')
    if (gitDir !== dotGit || commonDir !== dotGit) return undefined
    const branch = this.#lineIn(joinAbs(dotGit, 'HEAD'))?.match(/^ref: (refs\/heads\/.+)$/)?.[1]
    if (branch === undefined || !/^[0-9a-f]{40}$/.test(this.#lineIn(joinAbs(dotGit, branch)) ?? ''))
      return undefined
    return [dotGit, ...['HEAD', 'config', branch, 'logs/HEAD'].map((name) => joinAbs(dotGit, name))]
  }

  #lineIn(file: AbsPath): string | undefined {
    return this.#unlessUnreadable(() => {
      if (this.#fs.lstat(file)?.kind !== 'file') return undefined
      const text = this.#fs.readPart(file, 0, 1000).toString('latin1')
      return text.endsWith('\n') ? text.slice(0, -1) : undefined
    })
  }

  // Empty where one of them is so young that it may change once more without another stamp.
  #stampsOf(files: readonly AbsPath[]): string {
    const stamps = this.#unlessUnreadable(() =>
      files.map((file) => {
        const stat = this.#fs.lstat(file)
        const isYoung = stat !== undefined && Date.now() - stat.ctimeMs < settledMs
        return isYoung ? undefined : `${stat?.kind} ${stat?.size} ${stampOfStat(stat)}`
      }),
    )
    return stamps === undefined || stamps.includes(undefined) ? '' : stamps.join(' ')
  }

  #unlessUnreadable<T>(read: () => T): T | undefined {
    try {
      return read()
    } catch (error) {
      if (errorCode(error) === undefined) throw error
      return undefined
    }
  }

  rules(): CaptureRules {
    const git = this.find()
    const ignoreCase = isTrue(readUserConfig(git, this.#env).get('core.ignorecase'))
    return captureRules({
      ...this.#own,
      ...readExcludes(git, this.#env),
      ignoreCase,
      ...optional('tracked', git === undefined ? undefined : this.#packed(git)),
    })
  }

  tracked(): TrackedFiles | undefined {
    const git = this.find()
    return git === undefined ? undefined : this.#readIndex(git).files
  }

  mayConvert(gitattributes: readonly RelPath[]): ReturnType<UserRepository['mayConvert']> {
    const attributes = Attributes.read(this.find(), this.#root, this.#env, gitattributes)
    return attributes.isEmpty ? 'never' : (path) => attributes.mayConvert(path)
  }

  #readIndex(git: UserGit) {
    const stat = this.#fs.lstat(joinAbs(git.gitDir, 'index'))
    const signature = stat === undefined ? 'none' : `${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}`
    if (this.#index?.signature !== signature) this.#index = { signature, files: TrackedFiles.read(git) }
    return this.#index
  }

  #packed(git: UserGit): Tracked | undefined {
    const index = this.#readIndex(git)
    if (index.files === undefined) return undefined
    index.packed ??= packTracked(index.files.paths)
    return index.packed
  }
}

function ownRules(options: RuleOptions): Partial<CaptureRules> {
  const { heavyFolders = defaultHeavyFolders, ignoredDirNames = [], ...rest } = options
  return { ...rest, heavyFolders: [...heavyFolders, ...ignoredDirNames] }
}
