/** Committed is reviewed: which commits say something about which hunks, and which do not. */

import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { accept, edited, ids, pending, reject, ten, withoutIndex } from '../testing/reviewing.ts'
import { Fixture, linkTo, workspace } from '../testing/workspace.ts'

async function repository(files: Parameters<typeof workspace>[0]): Promise<Fixture> {
  const w = await workspace(files, { git: true })
  w.git('add', '.')
  w.git('commit', '-qm', 'first')
  return w
}

test('[R213] only what a commit has brought counts: not what was in the one before, nor what an agent committed', async () => {
  await using w = await repository({ a: ten, b: ten, other: 'o\n' })
  await w.turn('Commits itself', () => {
    w.userWrites({ a: edited(ten, { 1: 'ONE' }) })
    w.git('commit', '-qam', 'the agent')
  })
  w.userWrites({ b: edited(ten, { 9: 'mine' }) })
  await w.turn('Puts back what the user had changed', { b: ten })
  const before = await pending(w)
  expect(before).toEqual(['text a 1·>ONE·', 'text b mine·>9·'])

  w.userWrites({ other: 'more\n' })
  w.git('commit', '-qm', 'something else', '--', 'other')

  expect(await pending(w)).toEqual(before)
  await withoutIndex(w)
  expect(await pending(w)).toEqual(before)
})

test('[R213] what was never in a commit is not accepted by one that lacks it as well', async () => {
  await using w = await repository({ a: ten, run: '#!/bin/sh\n' })
  w.userWrites({ untracked: 'u\n' })
  await w.turn('Delete', () => {
    w.userWrites({ untracked: null, link: linkTo('a'), a: null })
    chmodSync(w.pathOf('run'), 0o600)
  })
  expect(await pending(w)).toEqual(['delete a', 'create link', 'mode run', 'delete untracked'])
  w.git('commit', '-q', '--allow-empty', '-m', 'nothing')
  expect(await pending(w)).toEqual(['delete a', 'create link', 'mode run', 'delete untracked'])

  w.git('add', '-A')
  w.git('commit', '-qm', 'all')
  expect(await pending(w)).toEqual(['mode run', 'delete untracked'])
})

test('[R213] a commit in part, amended, on another branch, and the first one of all', async () => {
  await using w = await workspace({ a: ten, b: ten }, { git: true })
  await w.turn('Shout', () => {
    w.userWrites({ a: edited(ten, { 1: 'ONE', 9: 'NINE' }), c: 'c\n' })
    renameSync(w.pathOf('b'), w.pathOf('d'))
  })
  expect(await pending(w)).toEqual(['text a 1·>ONE·', 'text a 9·>NINE·', 'create c', 'rename b d'])
  const now = w.files()
  w.userWrites({ a: edited(ten, { 1: 'ONE' }) })
  w.git('add', 'a')
  w.userWrites({ a: now.a ?? '' })
  w.git('commit', '-qm', 'the first one')
  expect(await pending(w)).toEqual(['text a 9·>NINE·', 'create c', 'rename b d'])
  w.git('add', 'c')
  w.git('commit', '-q', '--amend', '--no-edit')
  expect(await pending(w)).toEqual(['text a 9·>NINE·', 'rename b d'])
  w.git('checkout', '-q', '-b', 'side')
  w.git('add', '-A')
  w.git('commit', '-qm', 'on a branch')
  expect(await pending(w)).toEqual([])
})

test('[R214] what was committed cannot be rejected any more, although nobody has looked since', async () => {
  await using w = await repository({ a: ten })
  await w.turn('Shout', { a: edited(ten, { 1: 'ONE', 9: 'NINE' }) })
  const [first = '', second = ''] = await ids(w)
  const now = w.files()
  w.userWrites({ a: edited(ten, { 1: 'ONE' }) })
  w.git('commit', '-qam', 'half')
  w.userWrites({ a: now.a ?? '' })

  await expect(reject(w, { hunks: [first] })).rejects.toMatchObject({ code: 'hunk-gone' })
  await reject(w)
  expect(w.files()).toEqual({ a: edited(ten, { 1: 'ONE' }) })
  await expect(accept(w, { hunks: [second] })).rejects.toMatchObject({ code: 'hunk-gone' })
})

test('[R215] in a worktree commits count; in a folder of a repository no path is taken for another one', async () => {
  await using w = await repository({ a: ten })
  w.git('worktree', 'add', '-q', '../beside', '-b', 'beside')
  await using beside = new Fixture()
  const place = join(w.base, 'beside')
  const folder = join(w.base, 'outer')
  mkdirSync(join(folder, 'sub'), { recursive: true })
  for (const path of ['a', 'sub/a']) writeFileSync(join(folder, path), ten)
  const git = (cwd: string, ...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=u', '-c', 'user.email=u@x', ...args], { cwd, env: beside.env })
  git(folder, 'init', '-q')
  git(folder, 'add', '.')
  git(folder, 'commit', '-qm', 'first')
  for (const [dir, isSeen] of [
    [place, true],
    [join(folder, 'sub'), false],
  ] as const) {
    await using one = new Fixture()
    Object.assign(one, { dir })
    await one.open()
    await one.workspace.capture()
    await one.turn('Shout', { a: edited(ten, { 5: 'FIVE' }) })
    expect(await pending(one)).toEqual(['text a 5·>FIVE·'])
    if (!isSeen) writeFileSync(join(folder, 'a'), edited(ten, { 5: 'FIVE' }))
    git(isSeen ? dir : folder, 'commit', '-qam', 'all')
    expect(await pending(one)).toEqual(isSeen ? [] : ['text a 5·>FIVE·'])
  }
})
