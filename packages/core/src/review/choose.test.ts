import { expect, test } from 'vitest'
import { type Fixture, workspace } from '../testing/workspace.ts'
import type { Hunk } from './pending.ts'
import type { DecideWish } from './standing.ts'

async function hunks(w: Fixture): Promise<readonly Hunk[]> {
  return (await w.workspace.review(w.session)).files.flatMap((file) => file.hunks)
}

function reject(w: Fixture, wish: Partial<DecideWish> = {}) {
  return w.workspace.reject({ session: w.session, selection: {}, ...wish })
}

test('[R156] an id from the time when a change was the only one of its kind never hits its twin', async () => {
  await using w = await workspace({ a: 'x\na\nb\nc\nd\nx\ne\n' })
  await w.turn('One', { a: 'y\na\nb\nc\nd\nx\ne\n' })
  const lone = (await hunks(w))[0]?.id ?? ''
  await w.turn('Two', { a: 'y\na\nb\nc\nd\ny\ne\n' })
  const [first, second] = (await hunks(w)).map(({ id }) => id)
  expect(second?.startsWith(lone)).toBe(true)
  await w.workspace.accept({ session: w.session, selection: { hunks: [first ?? ''] } })

  await expect(reject(w, { selection: { hunks: [lone] } })).rejects.toMatchObject({ code: 'hunk-gone' })

  expect(w.files()).toEqual({ a: 'y\na\nb\nc\nd\ny\ne\n' })
  await reject(w, { selection: { hunks: [second ?? ''] } })
  expect(w.files()).toEqual({ a: 'y\na\nb\nc\nd\nx\ne\n' })
})

test('[R155] [R178] what is kept because the user edited inside is neither counted nor listed as rejected', async () => {
  await using w = await workspace({ a: '1\n2\n3\n4\n5\n' })
  await w.turn('Shout', { a: 'ONE\n2\n3\n4\nFIVE\n' })
  w.userWrites({ a: 'ONE\n2\n3\n4\nFIVE and mine\n' })
  const [one, five] = await hunks(w)

  const planned = await reject(w, { onConflict: 'keep', dryRun: true })
  expect(planned).toMatchObject({ kind: 'planned', hunks: [{ id: one?.id }], pending: 1 })
  const decided = await reject(w, { onConflict: 'keep', comment: 'no' })

  expect(decided.hunks.map(({ id }) => id)).toEqual([one?.id])
  expect(await hunks(w)).toEqual([five])
  const { rejections } = await w.workspace.review(w.session)
  expect(rejections.map(({ hunk }) => hunk)).toEqual([one?.id])
  const before = w.workspace.index.lastOperation()?.record.id
  expect(await reject(w, { onConflict: 'keep' })).toMatchObject({
    kind: 'done',
    ops: [],
    hunks: [],
    pending: 1,
  })
  expect(w.workspace.index.lastOperation()?.record.id).toBe(before)
})

test('[R171] [R155] proposals that overlap newer edits stay pending when asked for, and the others are written', async () => {
  await using w = await workspace({ a: '1\n2\n3\n', b: '1\n2\n3\n' })
  const turn = await w.beginTurn('Offer')
  for (const path of ['a', 'b'] as const)
    await w.workspace.propose({ turn, path: path as never, content: Buffer.from('1\nTWO\n3\n') })
  await w.workspace.endTurn(turn)
  w.userWrites({ a: '1\nmine\n3\n' })
  const wish = { session: w.session, selection: {} }

  const refused = await w.workspace.accept(wish)
  expect(refused.conflicts).toMatchObject([{ path: 'a', ours: 'mine\n', theirs: 'TWO\n' }])
  const decided = await w.workspace.accept({ ...wish, onConflict: 'keep' })

  expect(decided).toMatchObject({
    kind: 'done',
    hunks: [{ path: 'b' }],
    conflicts: [{ path: 'a' }],
    pending: 1,
  })
  expect(w.files()).toEqual({ a: '1\nmine\n3\n', b: '1\nTWO\n3\n' })
  expect(await w.workspace.accept({ ...wish, onConflict: 'keep' })).toMatchObject({ ops: [], hunks: [] })
})
