import { expect, test } from 'vitest'
import { type Fixture, workspace } from '../testing/workspace.ts'
import type { RelPath } from '../values.ts'

async function authors(w: Fixture, path = 'a.txt'): Promise<readonly string[]> {
  const lines = await w.workspace.blame(path as RelPath)
  return lines.map((line) => `${line.text}: ${line.turn?.prompt ?? line.by}`)
}

test('[H250] [N9] each line has its own author, and lines of an undone turn are gone', async () => {
  await using w = await workspace({ 'a.txt': 'first\n\nmiddle\n\nlast\n' })
  await w.turn('one', { 'a.txt': 'FIRST\n\nmiddle\n\nlast\n' })
  w.userWrites({ 'a.txt': 'FIRST\n\nmine\n\nlast\n' })
  await w.inSession('other').turn('two', { 'a.txt': 'FIRST\n\nmine\n\nLAST\nmore\n' })
  expect(await authors(w)).toEqual([
    'FIRST: one',
    ': before',
    'mine: user',
    ': before',
    'LAST: two',
    'more: two',
  ])

  await w.undo()
  expect(await authors(w)).toEqual(['FIRST: one', ': before', 'mine: user', ': before', 'last: before'])
  await w.redo()
  expect(await authors(w)).toEqual([
    'FIRST: one',
    ': before',
    'mine: user',
    ': before',
    'LAST: two',
    'more: two',
  ])
})

test('[H251] blame follows a file that was renamed', async () => {
  const body = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\n'
  await using w = await workspace({ 'a.txt': body })
  await w.turn('edit', { 'a.txt': body.replace('two', 'TWO') })
  await w.turn('move', { 'a.txt': null, 'b.txt': body.replace('two', 'TWO').replace('seven', 'SEVEN') })
  expect(await authors(w, 'b.txt')).toEqual([
    'one: before',
    'TWO: edit',
    'three: before',
    'four: before',
    'five: before',
    'six: before',
    'SEVEN: move',
  ])
})

test('[H250] a file the agent made is its own, and an unknown path is an error', async () => {
  await using w = await workspace({})
  await w.turn('make', { 'new.txt': 'a\nb\n' })
  w.userWrites({ 'new.txt': 'a\nb\nc\n' })
  expect(await authors(w, 'new.txt')).toEqual(['a: make', 'b: make', 'c: user'])
  await expect(w.workspace.blame('none.txt' as RelPath)).rejects.toMatchObject({ code: 'unknown-id' })
})
