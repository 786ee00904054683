import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isFailure } from '../errors.ts'
import { deleteRef, writeRef } from '../store/refs.ts'
import { type Fixture, workspace } from '../testing/workspace.ts'
import type { CommitId, Exclusive, SessionId } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'
import { IndexDb } from './index-db.ts'
import { StoreLock } from './lock.ts'
import { refOf } from './log.ts'

async function lively(): Promise<Fixture> {
  const fixture = await workspace({ 'a.txt': '0\n', 'b.txt': '0\n' })
  await fixture.turn('one', { 'a.txt': '1\n' })
  await fixture.turn('two', { 'a.txt': '2\n', 'new.txt': 'n\n' })
  fixture.userWrites({ 'mine.txt': 'm\n' })
  await fixture.undo()
  await fixture.turn('three', { 'a.txt': '3\n' })
  await fixture.undo()
  await fixture.redo()
  fixture.inSession('agent-2')
  const { turn } = await fixture.turn('four', { 'b.txt': '4\n' })
  await fixture.workspace.rollback({ session: fixture.session, selection: { turns: [turn] } })
  await fixture.workspace.cleanup('agent-1' as SessionId)
  return fixture
}

test('[L22] [K6] the index made anew from the log is the one that grew with it', async () => {
  await using fixture = await lively()
  const { log } = fixture.workspace.engine
  using fresh = IndexDb.temporary()
  for (const { operation, ref } of log.readAll([])) fresh.project(operation, ref)
  expect(fresh.fingerprint()).toBe(log.index.fingerprint())
  const changes = log.index.findChanges({ everybody: true })
  log.rebuild({} as Exclusive)
  expect(fresh.fingerprint()).toBe(log.index.fingerprint())
  await fixture.workspace.doctor()
  expect(log.index.findChanges({ everybody: true })).toEqual(changes)
})

test('[L23] [M14] operations with one number or one id: their session is broken, and no other', async () => {
  await using fixture = await lively()
  const { log, objects } = fixture.workspace.engine
  const tip = log.index.refs().get(refOf('agent-1' as SessionId)) as CommitId
  // The same operations under another name: every number and id is there twice.
  writeRef(nodeFs, objects.folder, refOf('twin' as SessionId), tip)
  const reopened = await fixture.reopen()
  expect([...reopened.engine.log.broken.keys()]).toEqual(['refs/unturn/sessions/twin'])
  expect(fixture.warnings.join()).toContain('twin')
  await fixture.inSession('agent-1').undo()
})

test('[L24] [K9] a broken session neither undoes nor records, and no number of its operations is given out again', async () => {
  await using fixture = await lively()
  const { objects } = fixture.workspace.engine
  const before = fixture.workspace.index.operations().map(({ record }) => record.seq)
  const ref = refOf('agent-2' as SessionId)
  const tip = fixture.workspace.index.refs().get(ref) as CommitId
  await fixture.close()
  const missing = '1'.repeat(40) as CommitId
  writeRef(nodeFs, objects.folder, ref, missing)
  rmSync(join(objects.folder, '../index.db'))
  const broken = await fixture.open()
  await expect(fixture.undo()).rejects.toMatchObject({ code: 'store-damaged' })
  await expect(fixture.beginTurn('more')).rejects.toMatchObject({ code: 'store-damaged' })
  await fixture.inSession('agent-3').turn('five', { 'b.txt': '5\n' })
  expect(await broken.doctor()).not.toEqual([])
  // As it was: the whole history is there again, and no two operations have one number.
  writeRef(nodeFs, objects.folder, ref, tip)
  const mended = await fixture.reopen()
  const known = mended.index.operations().map(({ record }) => record.seq)
  expect(new Set(known).size).toBe(known.length)
  expect(known.length).toBeGreaterThanOrEqual(before.length)
})

test('[L23] [K9] a ref that went back, or away and back again, leads to the same index as the log alone', async () => {
  await using fixture = await lively()
  const { log, objects } = fixture.workspace.engine
  const ref = refOf('agent-1' as SessionId)
  const tip = log.index.refs().get(ref) as CommitId
  const parent = objects.readCommit(tip).parents[0] as CommitId
  writeRef(nodeFs, objects.folder, ref, parent)
  let reopened = await fixture.reopen()
  expect(reopened.index.refs().get(ref)).toBe(parent)
  expect(reopened.index.hasCommit(tip)).toBe(false)
  writeRef(nodeFs, objects.folder, ref, tip)
  reopened = await fixture.reopen()
  expect(await reopened.doctor()).toEqual([])
  deleteRef(nodeFs, objects.folder, ref)
  reopened = await fixture.reopen()
  expect([...reopened.engine.log.broken.keys()]).toEqual([ref])
  expect(await reopened.doctor({ repair: true })).toContainEqual(
    expect.objectContaining({ severity: 'mended' }),
  )
  expect(await reopened.doctor()).toEqual([])
})

test('[L26] only one holds the lock; who waits too long is told, and a failure frees it', async () => {
  await using fixture = await workspace()
  const path = fixture.workspace.engine.folders.lock
  using one = new StoreLock(path)
  using two = new StoreLock(path, { patienceMs: 30 })
  const order: string[] = []
  await one.exclusive(async () => {
    order.push('in')
    const refused = await two.exclusive(async () => order.push('never')).catch((error: unknown) => error)
    expect(isFailure(refused, 'store-busy')).toBe(true)
    order.push('out')
  })
  await expect(one.exclusive(() => Promise.reject(new Error('inside')))).rejects.toThrow('inside')
  await two.exclusive(async () => order.push('two'))
  await Promise.all([1, 2, 3].map((at) => one.exclusive(async () => order.push(`${at}`))))
  expect(order).toEqual(['in', 'out', 'two', '1', '2', '3'])
})

test('[L27] steps in flight survive the index; a torn one counts as ended', async () => {
  await using fixture = await workspace({ 'a.txt': '0\n' })
  const turn = await fixture.beginTurn('work')
  const { step } = await fixture.workspace.beginStep({ turn, tool: 'shell', paths: [] })
  const { folders } = fixture.workspace.engine
  await fixture.close()
  rmSync(join(folders.folder, 'index.db'))
  writeFileSync(join(folders.flights, 'storn.json'), '{"step":"storn","ses')
  fixture.userWrites({ 'a.txt': '1\n' })
  const reopened = await fixture.open()
  expect((await reopened.endStep(step)).map((change) => [change.path, change.actor])).toEqual([
    ['a.txt', 'test-agent'],
  ])
  expect(reopened.engine.flights.list()).toEqual([])
})
