import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { storeFixture, userGit } from '../testing/store-fixture.ts'
import { absPathUnchecked } from '../values.ts'
import { treeOfFiles } from './index-tree.ts'
import { findUserGit, plainFilesThat, TrackedFiles } from './user-git.ts'

// In a tree `a` comes after `a-b` and `a.b` if it is a folder, and before them if it is a file.
const paths = ['a-b', 'a.b/x', 'a/-', 'a/b/c/d', 'a/b-/e', 'a/z', 'a0', 'b', 'b-/f', 'z/z/z', 'é/ö']

test('[P6] the tree of an index’s plain files is the one that git makes of them, and so is that of a part', async () => {
  await using f = storeFixture()
  const folder = join(f.root, 'user')
  for (const path of paths) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), path)
  }
  chmodSync(join(folder, 'a/z'), 0o755)
  await sleep(30) // files as young as the index are no plain ones
  userGit(folder, 'init', '-q')
  userGit(folder, 'add', '-A')
  const git = findUserGit(absPathUnchecked(folder))
  const plain = git === undefined ? undefined : TrackedFiles.read(git)?.plainFiles()
  if (plain === undefined) throw new Error('no index')

  expect(plain.paths.starts.length).toBe(paths.length)
  expect(treeOfFiles(f.store.newBatch(), plain)).toBe(userGit(folder, 'write-tree'))

  const part = plainFilesThat(plain, (file) => file % 3 !== 0)
  const leftOut = paths.toSorted().filter((_, i) => i % 3 === 0)
  userGit(folder, 'rm', '-q', '--cached', ...leftOut)
  expect(treeOfFiles(f.store.newBatch(), part)).toBe(userGit(folder, 'write-tree'))
})
