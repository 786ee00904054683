import { expect, test } from 'vitest'
import { Graph } from './graph.ts'

const lines = ({ lines }: { readonly lines: readonly { from: number; to: number; way: string }[] }) =>
  lines.map(({ from, to, way }) => `${way} ${from}→${to}`)

test('[D121] a straight history is one line, open at both ends', () => {
  const graph = new Graph('c')
  expect(lines(graph.node({ id: 'c', parent: 'b' }))).toEqual(['out 0→0'])
  expect(lines(graph.node({ id: 'b', parent: 'a' }))).toEqual(['in 0→0', 'out 0→0'])
  expect(lines(graph.between())).toEqual(['past 0→0'])
  expect(lines(graph.node({ id: 'a', parent: null }))).toEqual(['in 0→0'])
  expect(lines(graph.between())).toEqual([])
})

test('[D121] an undone turn leads beside the head to the turn that both left', () => {
  const graph = new Graph('new')
  const head = graph.node({ id: 'new', parent: 'a' })
  const undone = graph.node({ id: 'old', parent: 'a' })
  const root = graph.node({ id: 'a', parent: null })
  expect([head.lane, undone.lane, root.lane]).toEqual([0, 1, 0])
  expect(lines(undone)).toEqual(['past 0→0', 'out 1→0'])
  expect(lines(root)).toEqual(['in 0→0'])
})

test('[D121] turns above the head are beside the column that is kept for it', () => {
  const graph = new Graph('a')
  expect(graph.node({ id: 'c', parent: 'b' }).lane).toBe(1)
  expect(graph.node({ id: 'b', parent: 'a' }).lane).toBe(1)
  const head = graph.node({ id: 'a', parent: null })
  expect(head.lane).toBe(0)
  expect(lines(head)).toEqual(['in 1→0'])
})
