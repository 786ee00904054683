/** The user's git as the engine sees it: read anew when its files have changed, never written. */

import type { Fs } from '../fs.ts'
import type { GitPosition } from '../log/record.ts'
import { optional } from '../log/record.ts'
import {
  Attributes,
  findUserGit,
  isTrue,
  readExcludes,
  readHead,
  readUserConfig,
  TrackedFiles,
  type UserGit,
} from '../store/user-git.ts'
import { type AbsPath, joinAbs, type RelPath } from '../values.ts'
import { type CaptureRules, captureRules, packTracked, type Tracked } from '../workspace/capture-rules.ts'
import type { UserRepository } from './engine.ts'

export interface RuleOptions {
  readonly maxUntrackedFileSize?: number
  readonly heavyFolders?: readonly string[]
  readonly protect?: readonly string[]
}

type Env = Readonly<Record<string, string | undefined>>

export class DiskRepository implements UserRepository {
  readonly #fs: Fs
  readonly #root: AbsPath
  readonly #env: Env
  readonly #own: Partial<CaptureRules>
  #index:
    | { readonly signature: string; readonly files: TrackedFiles | undefined; packed?: Tracked }
    | undefined

  constructor(fs: Fs, root: AbsPath, env: Env, options: RuleOptions, apart: readonly AbsPath[]) {
    this.#fs = fs
    this.#root = root
    this.#env = env
    this.#own = { ...options, apart }
  }

  find(): UserGit | undefined {
    return findUserGit(this.#root)
  }

  position(): GitPosition {
    const git = this.find()
    if (git === undefined) return {}
    const { commit, branch } = readHead(git)
    return { ...optional('head', commit), ...optional('branch', branch) }
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

  mayConvert(gitattributes: readonly RelPath[]): (path: RelPath) => boolean {
    const attributes = Attributes.read(this.find(), this.#root, this.#env, gitattributes)
    return (path) => attributes.mayConvert(path)
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
    index.packed ??= packTracked(index.files.pathBytes)
    return index.packed
  }
}
