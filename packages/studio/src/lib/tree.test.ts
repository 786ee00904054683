import type { ServerEvent, Session, TreeTurn, Turn } from '@unturn/client'
import { expect, test } from 'vitest'
import { type Known, needOf, withBegun, withEdits, withHead, withTurn } from './tree.ts'

const session: Session = {
  id: 's',
  agent: 'claude',
  head: 'a',
  headBefore: null,
  turns: 1,
  reverted: [],
  running: [],
  active: true,
  lastSeq: 3,
  pendingHunks: 0,
}

function row(id: string, seq: number): TreeTurn {
  return {
    id,
    parent: null,
    parentBefore: null,
    agent: 'claude',
    prompt: id,
    message: null,
    status: 'ok',
    seq,
    endSeq: seq + 1,
    began: '2026-01-01T00:00:00Z',
    ended: null,
    head: false,
    reverted: false,
    depth: 0,
    files: 0,
    additions: 0,
    deletions: 0,
  }
}

const tree: Known = { session, turns: [row('a', 1)], userEdits: [] }
const began: Extract<ServerEvent, { type: 'turn.began' }> = {
  type: 'turn.began',
  session: 's',
  turn: 'b',
  agent: 'codex',
  prompt: 'Go',
}

test('[D122] a turn that begins is there with what the event tells, and complete once the server was asked', () => {
  const begun = withBegun(tree, began)
  expect(begun.turns.map(({ id, prompt, status }) => [id, prompt, status])).toEqual([
    ['a', 'a', 'ok'],
    ['b', 'Go', 'open'],
  ])
  expect(withBegun(begun, began)).toBe(begun)
  const turn: Turn = { ...row('b', 5), session: 's', commits: [] }
  expect(withTurn(begun, turn).turns.map(({ id, seq }) => [id, seq])).toEqual([
    ['a', 1],
    ['b', 5],
  ])
})

test('[D122] a move of the head greys what the server says, and nothing else', () => {
  const two = withTurn(tree, { ...row('b', 5), session: 's', commits: [] })
  const moved = withHead(two, { head: 'a', turns: 2, reverted: ['b'] })
  expect(moved.turns.map(({ id, head, reverted }) => [id, head, reverted])).toEqual([
    ['a', true, false],
    ['b', false, true],
  ])
  expect(moved.session.reverted).toEqual(['b'])
})

test('[D122] only what an event concerns is asked for again', () => {
  expect(needOf(began, 's')).toEqual({ kind: 'turn', turn: 'b' })
  expect(needOf(began, 'another')).toEqual({ kind: 'nothing' })
  expect(needOf({ type: 'reset', reason: '' }, 's')).toEqual({ kind: 'all' })
  expect(needOf({ type: 'message.removed', session: 's', turn: 'a' }, 's')).toEqual({ kind: 'all' })
  expect(withEdits(tree, [])).toBe(tree)
})
