import { expect, test } from 'vitest'
import { linkTo, withMode, workspace } from '../testing/workspace.ts'

test('[H1] [B1] undo puts back the old bytes and hands the prompt back', async () => {
  await using w = await workspace({ 'a.txt': 'one\n' })
  const { turn, changes } = await w.turn('Shout "it"', { 'a.txt': 'ONE\n' })
  expect(
    changes.map(({ path, kind, additions, deletions, certainty }) => ({
      path,
      kind,
      additions,
      deletions,
      certainty,
    })),
  ).toEqual([{ path: 'a.txt', kind: 'modify', additions: 1, deletions: 1, certainty: 'inferred' }])

  const outcome = await w.undo()

  expect(w.files()).toEqual({ 'a.txt': 'one\n' })
  expect(outcome).toMatchObject({ kind: 'done', reverted: [turn], prompt: 'Shout "it"', head: null })
  expect(outcome.files).toEqual([{ path: 'a.txt', action: 'write', merged: false }])
})

test('[P3] [H7] undo keeps the line that the user added below the edit', async () => {
  await using w = await workspace({ 'a.txt': 'one\ntwo\nthree\n' })
  await w.turn('Shout', { 'a.txt': 'ONE\ntwo\nthree\n' })
  w.userWrites({ 'a.txt': 'ONE\ntwo\nthree\nfour\n' })

  const outcome = await w.undo()

  expect(w.files()).toEqual({ 'a.txt': 'one\ntwo\nthree\nfour\n' })
  expect(outcome.files).toEqual([{ path: 'a.txt', action: 'write', merged: true }])
})

test('[H1] [B3] [C1] a mixed turn goes out and comes back as it was', async () => {
  await using w = await workspace({
    'keep.txt': 'k\n',
    'old.txt': 'old\n'.repeat(10),
    'moved.txt': 'moved\n'.repeat(10),
    'run.sh': withMode('#!/bin/sh\n', 0o644),
    link: linkTo('keep.txt'),
  })
  const before = w.files({ modes: true })
  await w.turn('Mix', {
    'old.txt': null,
    'moved.txt': null,
    'dir/renamed.txt': 'moved\n'.repeat(10),
    'x/y/z/deep.txt': 'deep\n',
    'run.sh': withMode('#!/bin/sh\n', 0o755),
    link: linkTo('run.sh'),
  })
  const after = w.files({ modes: true })

  await w.undo()
  expect(w.files({ modes: true })).toEqual(before)
  await w.redo()
  expect(w.files({ modes: true })).toEqual(after)
})
