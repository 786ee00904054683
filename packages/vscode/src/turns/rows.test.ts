import type { TreeTurn } from '@unturn/client'
import { expect, test } from 'vitest'
import { type Row, rowsOf } from './rows.ts'

let seq = 0

function turn(id: string, parent: string | null, extra: Partial<TreeTurn> = {}): TreeTurn {
  seq += 1
  return {
    id,
    parent,
    parentBefore: null,
    agent: 'claude',
    prompt: id,
    message: null,
    status: 'ok',
    seq,
    endSeq: seq,
    began: '2026-01-01T00:00:00Z',
    ended: null,
    head: false,
    reverted: false,
    depth: 0,
    files: 1,
    additions: 1,
    deletions: 0,
    ...extra,
  }
}

function rows(
  turns: readonly TreeTurn[],
  head: string | null,
  options: { readonly limit?: number; readonly edits?: readonly number[]; readonly userEdits?: boolean } = {},
): readonly unknown[] {
  const userEdits = (options.edits ?? []).map((at) => ({
    op: `e${at}`,
    seq: at,
    at: '',
    label: null,
    files: 1,
    additions: 1,
    deletions: 0,
  }))
  const session = { id: 's', head } as Parameters<typeof rowsOf>[0]['session']
  const { limit = 100, userEdits: wanted = true } = options
  return rowsOf({ session, turns: [...turns], userEdits }, { limit, userEdits: wanted }).map(shown)
}

function shown(row: Row): unknown {
  if (row.kind === 'turn') return row.turn.id
  if (row.kind === 'edit') return row.edit.op
  return row.kind === 'branch' ? row.rows.map(shown) : `${row.count} older`
}

test('[X117] turns stand newest first, with what redo leads to above the head', () => {
  const turns = [turn('a', null), turn('b', 'a'), turn('c', 'b')]
  expect(rows(turns, 'c')).toEqual(['c', 'b', 'a'])
  expect(rows(turns, 'a')).toEqual(['c', 'b', 'a'])
  expect(rows(turns, null)).toEqual(['c', 'b', 'a'])
})

test('[X117] a branch stands above the turn that it left, and may have branches itself', () => {
  const turns = [turn('a', null), turn('b', 'a'), turn('c', 'b'), turn('b2', 'b'), turn('d', 'a')]
  expect(rows(turns, 'd')).toEqual(['d', ['b2', ['c'], 'b'], 'a'])
  expect(rows(turns, 'c')).toEqual(['c', ['b2'], 'b', ['d'], 'a'])
})

test('[X117] a second beginning is a branch below everything, and a lost parent is one, too', () => {
  const turns = [turn('a', null), turn('b', null), turn('x', 'gone')]
  expect(rows(turns, 'b')).toEqual(['b', ['x'], ['a']])
})

test("[X100] the user's own edits stand between the turns, where they were made", () => {
  const turns = [turn('a', null, { seq: 10 }), turn('b', 'a', { seq: 20 })]
  expect(rows(turns, 'b', { edits: [5, 15, 25] })).toEqual(['e25', 'b', 'e15', 'a', 'e5'])
  expect(rows(turns, 'b', { edits: [5, 15, 25], userEdits: false })).toEqual(['b', 'a'])
})

test('[X117] of ten thousand turns only some are rows', () => {
  const turns = Array.from({ length: 10_000 }, (_, at) => turn(`t${at}`, at === 0 ? null : `t${at - 1}`))
  const list = rows(turns, 't9999', { limit: 200 })
  expect(list.length).toBe(201)
  expect(list.at(-1)).toBe('9800 older')
})
