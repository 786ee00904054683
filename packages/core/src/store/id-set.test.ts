import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ObjectId } from '../values.ts'
import { IdSet } from './id-set.ts'

test('[S106] an id is added once, also among many and beside one that begins alike', () => {
  const ids = new IdSet()
  const many = Array.from({ length: 20_000 }, (_, at) => idOf(`${at % 15_000}`))
  const alike = ['a'.repeat(40), `${'a'.repeat(39)}b`, `${'a'.repeat(8)}${'0'.repeat(32)}`] as ObjectId[]
  const known = new Set<ObjectId>()
  for (const id of [...alike, ...many, ...alike]) {
    expect(ids.has(id)).toBe(known.has(id))
    expect(ids.add(id)).toBe(!known.has(id))
    known.add(id)
  }
  expect(ids.size).toBe(known.size)
})

function idOf(text: string): ObjectId {
  return createHash('sha1').update(text).digest('hex') as ObjectId
}
