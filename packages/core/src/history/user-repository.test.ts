import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Fs } from '../fs.ts'
import { absPathUnchecked } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'
import { DiskRepository } from './user-repository.ts'

const hourMs = 3_600_000

/** Everything looks an hour old, so that nothing is too young to be remembered. */
function agedRepository() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'unturn-position-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const env = { ...process.env, HOME: root, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' }
  const git = (...args: readonly string[]) => {
    const who = ['-c', 'user.name=u', '-c', 'user.email=u@localhost']
    const run = spawnSync('git', ['-C', root, ...who, ...args], { env, encoding: 'utf8' })
    if (run.status !== 0) throw new Error(run.stderr)
    return run.stdout.trim()
  }
  let reads = 0
  const fs: Fs = {
    ...nodeFs,
    lstat: (path) => {
      const stat = nodeFs.lstat(path)
      return stat === undefined ? undefined : { ...stat, ctimeMs: stat.ctimeMs - hourMs }
    },
    readPart: (...args) => {
      reads += 1
      return nodeFs.readPart(...args)
    },
  }
  const repository = new DiskRepository(fs, absPathUnchecked(root), env, {}, [])
  git('init', '-q', '-b', 'main')
  return { root, git, repository, reads: () => reads }
}

test('[H320] the place in the user’s git that is recorded is the one of that moment, whatever moved it', () => {
  const { root, git, repository } = agedRepository()
  const now = () => {
    const { head, branch } = repository.position()
    return [head, branch]
  }
  const truth = () => {
    const branch = spawnSync('git', ['-C', root, 'symbolic-ref', '-q', 'HEAD'], { encoding: 'utf8' })
    return [git('rev-parse', 'HEAD'), branch.stdout.trim() || undefined]
  }
  expect(now()).toEqual([undefined, 'refs/heads/main'])
  const moves: readonly (readonly string[])[] = [
    ['commit', '-q', '--allow-empty', '-m', 'one'],
    ['commit', '-q', '--allow-empty', '-m', 'two'],
    ['switch', '-q', '-c', 'side'],
    ['commit', '-q', '--allow-empty', '-m', 'three'],
    ['switch', '-q', 'main'],
    ['reset', '-q', '--hard', 'HEAD~1'],
    ['pack-refs', '--all'],
    ['commit', '-q', '--allow-empty', '-m', 'four'],
    ['switch', '-q', '--detach', 'side'],
    ['switch', '-q', 'main'],
    ['update-ref', 'refs/heads/main', 'side'],
    ['symbolic-ref', 'HEAD', 'refs/heads/side'],
  ]
  for (const move of moves) {
    git(...move)
    expect(now(), move.join(' ')).toEqual(truth())
    expect(now(), `${move.join(' ')}, again`).toEqual(truth())
  }
  const { logged } = repository.position()
  git('commit', '-q', '--allow-empty', '-m', 'five')
  expect(repository.position().logged).toBeGreaterThan(logged ?? 0)
})

test('[H320] what has not moved is not read again, and what cannot be read any more is no error', () => {
  const { root, git, repository, reads } = agedRepository()
  git('commit', '-q', '--allow-empty', '-m', 'one')
  const first = repository.position()
  const after = reads()
  expect(repository.position()).toEqual(first)
  expect(reads()).toBe(after)
  writeFileSync(join(root, '.git/HEAD'), 'nothing that git knows\n')
  expect(repository.position().head).toBeUndefined()
  git('init', '-q', '-b', 'main')
  rmSync(join(root, '.git'), { recursive: true, force: true })
  expect(repository.position()).toEqual({})
})

test.skipIf(process.getuid?.() === 0)('[H320] a repository that may not be read is no error', () => {
  const { root, git, repository } = agedRepository()
  git('commit', '-q', '--allow-empty', '-m', 'one')
  repository.position()
  chmodSync(join(root, '.git'), 0)
  expect(repository.position()).toEqual({})
  chmodSync(join(root, '.git'), 0o755)
})
