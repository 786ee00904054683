import type { MoveResult } from '@unturn/client'
import { expect, test } from 'vitest'
import {
  actionOf,
  conflictLine,
  doneLine,
  fileLine,
  needsLook,
  notUndoneLines,
  wholeTitleOf,
} from './wish.ts'

const result: MoveResult = {
  kind: 'planned',
  plan: 'p1',
  op: null,
  head: null,
  files: [
    { path: 'a.txt', action: 'write', merged: false },
    { path: 'b.txt', action: 'delete', merged: false },
  ],
  conflicts: [],
  reverted: ['t1'],
  redone: [],
  notUndone: { commands: [], commits: [], skipped: [] },
}

test('[X102] the first row says what it does to how much, and the others what cannot be undone', () => {
  expect(actionOf({ kind: 'undo' }, result)).toBe('Undo: takes 1 turn out, changes 2 files')
  expect(
    actionOf({ kind: 'restore', turn: 't', side: 'after' }, { ...result, redone: ['t2', 't3'], files: [] }),
  ).toBe('Restore: takes 1 turn out, brings 2 turns back, no file changes')
  expect(doneLine({ kind: 'redo', all: true }, { ...result, reverted: [], redone: ['t1'] })).toBe(
    'Redone: 1 turn, 2 files.',
  )
  const moved = { moved: true, branch: 'refs/heads/main', from: 'a', to: 'b' } as const
  expect(doneLine({ kind: 'undo' }, { ...result, git: moved })).toBe(
    'Undone: 1 turn, 2 files. The branch main was moved back.',
  )
  expect(doneLine({ kind: 'undo' }, { ...result, git: { moved: false, reason: 'it has moved on' } })).toBe(
    'Undone: 1 turn, 2 files. Your branch was left alone: it has moved on',
  )
  expect(wholeTitleOf({ kind: 'undo' }, { prompt: 'Make it\nbetter' })).toBe(
    'Undo the Last Turn: Make it better',
  )
  const notUndone: MoveResult['notUndone'] = {
    commands: ['curl -X POST example.org\nrm x'],
    commits: [{ id: '0123456789abcdef', subject: 'Ship it' }],
    skipped: [{ path: 'big.bin', reason: 'too-large' }],
    branch: { from: 'main', to: 'topic' },
  }
  expect(notUndoneLines({ ...result, notUndone }).map(({ text, why }) => `${text}: ${why}`)).toEqual([
    'curl -X POST example.org rm x: what this command did outside of the captured files stays',
    '012345678 Ship it: the commit stays in your repository',
    'main → topic: the switch to another branch stays',
    'big.bin: it was not captured, because it is too large',
  ])
  expect(fileLine({ path: 'a', from: 'b', action: 'rename', merged: true }, true)).toBe(
    'renamed from b · merged: later edits are kept · has edits that are not saved',
  )
  const conflict = { path: 'a', kind: 'content', ours: null, theirs: null, message: 'm', later: [] }
  expect(
    conflictLine({ ...conflict, later: [{ actor: 'user' }, { actor: 'codex' }, { actor: 'user' }] }),
  ).toBe('edited since by you, codex')
})

test('[X118] it is worth a look where edits are merged, something is in conflict, or something cannot be undone', () => {
  expect(needsLook(result)).toBe(false)
  expect(needsLook({ ...result, kind: 'conflicts' })).toBe(true)
  expect(needsLook({ ...result, files: [{ path: 'a', action: 'write', merged: true }] })).toBe(true)
  expect(needsLook({ ...result, notUndone: { ...result.notUndone, commands: ['make'] } })).toBe(true)
})
