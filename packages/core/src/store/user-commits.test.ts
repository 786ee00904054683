import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type StoreFixture, storeFixture, userGit } from '../testing/store-fixture.ts'
import { absPathUnchecked } from '../values.ts'
import { isContained, listCommits, moveBranch } from './user-commits.ts'

function repository(f: StoreFixture) {
  const folder = join(f.root, 'user')
  mkdirSync(folder)
  userGit(folder, 'init', '-q', '-b', 'main')
  const commit = (message: string) => {
    userGit(folder, 'commit', '-q', '--allow-empty', '-m', message)
    return userGit(folder, 'rev-parse', 'HEAD')
  }
  return {
    folder,
    gitDir: absPathUnchecked(join(folder, '.git')),
    objects: absPathUnchecked(join(folder, '.git', 'objects')),
    commit,
  }
}

const missing = '0123456789012345678901234567890123456789'

test('[S78] commits between two points are listed, newest first, with their subjects', async () => {
  await using f = storeFixture()
  const user = repository(f)
  const [one, two, three] = [
    user.commit('one'),
    user.commit('two -- ü\n\nbody\ncommit x'),
    user.commit('three'),
  ]
  const listed = await listCommits(f.git, user.objects, [one], three ?? '', 10)
  expect(listed).toEqual([
    { id: three, subject: 'three' },
    { id: two, subject: 'two -- ü' },
  ])
  expect((await listCommits(f.git, user.objects, [], three ?? '', 10))?.length).toBe(3)
  expect((await listCommits(f.git, user.objects, [], three ?? '', 1))?.length).toBe(1)
  expect(await listCommits(f.git, user.objects, [three], one ?? '', 10)).toEqual([])
})

test('[S78] what cannot be known is told as unknown, never as no commits', async () => {
  await using f = storeFixture()
  const user = repository(f)
  const one = user.commit('one')
  expect(await listCommits(f.git, user.objects, [missing], one, 10)).toBeUndefined()
  expect(await listCommits(f.git, user.objects, [one], missing, 10)).toBeUndefined()
  expect(await listCommits(f.git, user.objects, [], '--all', 10)).toBeUndefined()
  expect(await listCommits(f.git, absPathUnchecked(join(f.root, 'nowhere')), [], one, 10)).toBeUndefined()
})

test('[S78] [P10] no config and no replacement of the user’s has a say', async () => {
  await using f = storeFixture()
  const user = repository(f)
  const [one, two] = [user.commit('one'), user.commit('two')]
  userGit(user.folder, 'replace', two, one)
  writeFileSync(join(user.gitDir, 'config'), '[core\nbroken')
  expect(await listCommits(f.git, user.objects, [one], two, 10)).toEqual([{ id: two, subject: 'two' }])
})

test('[S79] a commit counts as pushed when one of the remote’s branches has it in its history', async () => {
  await using f = storeFixture()
  const user = repository(f)
  const [one, two, three] = [user.commit('one'), user.commit('two'), user.commit('three')]
  expect(await isContained(f.git, user.objects, one, [two])).toBe(true)
  expect(await isContained(f.git, user.objects, two, [two])).toBe(true)
  expect(await isContained(f.git, user.objects, three, [one, two])).toBe(false)
  expect(await isContained(f.git, user.objects, two, [missing, three])).toBe(true)
  expect(await isContained(f.git, user.objects, two, [])).toBe(false)
  expect(await isContained(f.git, user.objects, missing, [three])).toBe(false)
})

test('[S48] [P5] [I10] a branch is moved back only from where it is expected, and no hook runs', async () => {
  await using f = storeFixture()
  const user = repository(f)
  const [one, two, three] = [user.commit('one'), user.commit('two'), user.commit('three')]
  const mark = join(f.root, 'ran')
  mkdirSync(join(user.gitDir, 'hooks'), { recursive: true })
  for (const hook of ['reference-transaction', 'update', 'post-update']) {
    writeFileSync(join(user.gitDir, 'hooks', hook), `#!/bin/sh\ntouch '${mark}'\n`, { mode: 0o755 })
  }
  const index = () =>
    existsSync(join(user.gitDir, 'index')) ? readFileSync(join(user.gitDir, 'index')) : undefined
  const before = index()
  expect(await moveBranch(f.git, user.gitDir, 'refs/heads/main', two, one)).toBe('moved-on')
  expect(userGit(user.folder, 'rev-parse', 'main')).toBe(three)
  expect(await moveBranch(f.git, user.gitDir, 'refs/heads/main', three, one)).toBe('moved')
  expect(userGit(user.folder, 'rev-parse', 'main')).toBe(one)
  expect(await moveBranch(f.git, user.gitDir, 'refs/heads/none', three, one)).toBe('moved-on')
  expect(existsSync(mark)).toBe(false)
  expect(index()).toEqual(before)
  expect(execFileSync('git', ['reflog', '-1', 'main'], { cwd: user.folder, encoding: 'utf8' })).toContain(
    'unturn: undo --git',
  )
})

test('[S48] a branch that cannot be moved is an error, and stays', async () => {
  await using f = storeFixture()
  const user = repository(f)
  const one = user.commit('one')
  await expect(moveBranch(f.git, user.gitDir, 'refs/heads/main', one, missing)).rejects.toMatchObject({
    code: 'git-failed',
  })
  writeFileSync(join(user.gitDir, 'refs/heads/main.lock'), '')
  const two = userGit(user.folder, 'commit-tree', '-m', 'two', `${one}^{tree}`)
  await expect(moveBranch(f.git, user.gitDir, 'refs/heads/main', one, two)).rejects.toMatchObject({
    code: 'git-failed',
  })
  expect(userGit(user.folder, 'rev-parse', 'main')).toBe(one)
})
