/** What others do for the same work, as the git commands that they start. */

import { spawn } from 'node:child_process'
import { appendFileSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runGit, type Tree } from './tree.ts'

/** `git add -A && git write-tree` in a git directory beside the tree. */
export class PlainShadow {
  readonly folder: string
  readonly tree: Tree

  constructor(tree: Tree) {
    this.tree = tree
    this.folder = tree.ground.place('plain-shadow')
    runGit(tree.ground.base, tree.ground.env, ['init', '-q', '--bare', this.folder])
  }

  capture(): string {
    this.#git(['add', '-A'])
    return this.#git(['write-tree'])
  }

  remove(): void {
    this.tree.ground.remove(this.folder)
  }

  #git(args: readonly string[]): string {
    const { root, ground } = this.tree
    return runGit(root, ground.env, ['--git-dir', this.folder, '--work-tree', root, ...args])
  }
}

const settings: readonly (readonly [string, string])[] = [
  ['core.autocrlf', 'false'],
  ['core.longpaths', 'true'],
  ['core.symlinks', 'true'],
  ['core.fsmonitor', 'false'],
  ['feature.manyFiles', 'true'],
  ['index.version', '4'],
  ['index.threads', 'true'],
  ['core.untrackedCache', 'true'],
]

/**
 * The sequence of OpenCode 1.18, at its best: settings written at once, files checked out in one batch, and nothing
 * of what it does besides (it computes a patch after each revert).
 */
export class OpenCode {
  readonly folder: string
  readonly tree: Tree

  constructor(tree: Tree) {
    this.tree = tree
    this.folder = tree.ground.place('opencode-shadow')
  }

  /** The first capture of all: the shadow directory is made and borrows objects and index. */
  async first(): Promise<string> {
    const { root, ground } = this.tree
    mkdirSync(this.folder)
    runGit(root, { ...ground.env, GIT_DIR: this.folder, GIT_WORK_TREE: root }, ['init', '-q'])
    const config = settings.map(([key, value]) => `[${key.replace('.', ']\n\t')} = ${value}\n`).join('')
    appendFileSync(join(this.folder, 'config'), config)
    writeFileSync(join(this.folder, 'objects/info/alternates'), `${join(root, '.git/objects')}\n`)
    copyFileSync(join(root, '.git/index'), join(this.folder, 'index'))
    return this.track()
  }

  async track(): Promise<string> {
    const [changed, others] = await Promise.all([
      this.#start(['diff-files', '--name-only', '-z', '--', '.']),
      this.#start(['ls-files', '--full-name', '--others', '--exclude-standard', '-z', '--', '.']),
    ])
    const paths = [...new Set(`${changed}${others}`.split('\0').filter(Boolean))]
    if (paths.length > 0) await this.#stage(paths)
    return (await this.#start(['write-tree'])).trim()
  }

  async #stage(paths: readonly string[]): Promise<void> {
    const { root } = this.tree
    const own = ['--git-dir', join(root, '.git'), '--work-tree', root]
    const ignored = await this.#run(
      [...own, 'check-ignore', '--no-index', '--stdin', '-z'],
      `${paths.join('\0')}\0`,
    )
    const allowed = new Set(paths).difference(new Set(ignored.split('\0')))
    const input = [...allowed].map((path) => `:(top,literal)${path}\0`).join('')
    await this.#start(['add', '--all', '--sparse', '--pathspec-from-file=-', '--pathspec-file-nul'], input)
  }

  /** Undo: a look at what is there now, then the files of the turn from the tree before it. */
  async revert(before: string, files: readonly string[]): Promise<void> {
    await this.track()
    await this.#start(['ls-tree', '--name-only', before, '--', ...files])
    await this.#start(['checkout', before, '--', ...files])
  }

  /** The same after a turn of one step for each file: each has a tree of its own, and nothing can be batched. */
  async revertSteps(before: string, files: readonly string[]): Promise<void> {
    await this.track()
    for (const file of files) await this.#start(['checkout', before, '--', file])
  }

  /** Redo: every file of the tree is written again. */
  async restore(after: string): Promise<void> {
    await this.#start(['read-tree', after])
    await this.#start(['checkout-index', '-a', '-f'])
  }

  /**
   * Not part of any time, and more than OpenCode does: after its redo the index knows no stat, every file counts as
   * changed, and `add` with 100,000 pathspecs takes longer than all the rest of this benchmark.
   */
  async refresh(): Promise<void> {
    await this.#start(['update-index', '-q', '--refresh'])
  }

  remove(): void {
    this.tree.ground.remove(this.folder)
  }

  #start(args: readonly string[], input?: string): Promise<string> {
    return this.#run(['--git-dir', this.folder, '--work-tree', this.tree.root, ...args], input)
  }

  #run(args: readonly string[], input: string | undefined): Promise<string> {
    return new Promise((resolve, reject) => {
      const { root, ground } = this.tree
      const stdin = input === undefined ? 'ignore' : 'pipe'
      const child = spawn('git', args, { cwd: root, env: ground.env, stdio: [stdin, 'pipe', 'ignore'] })
      const parts: Buffer[] = []
      child.stdout?.on('data', (part: Buffer) => parts.push(part))
      child.on('error', reject)
      child.on('close', (code) => {
        // check-ignore says 1 for "none of them"
        if (code === 0 || code === 1) resolve(Buffer.concat(parts).toString('latin1'))
        else reject(new Error(`git ${args.join(' ')} ended with ${code}`))
      })
      child.stdin?.end(input, 'latin1')
    })
  }
}
