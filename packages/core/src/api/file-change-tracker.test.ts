import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Fixture, linkTo, workspace } from '../testing/workspace.ts'
import { type ChangeMetadata, FileChangeTracker, type TrackedChange } from './file-change-tracker.ts'
import type { Turn } from './turn.ts'

async function tracking(w: Fixture): Promise<{ readonly tracker: FileChangeTracker; readonly turn: Turn }> {
  const turn = await w.workspace.session('chat', { agent: 'my-agent' }).begin({ prompt: 'Go' })
  return { tracker: new FileChangeTracker(turn), turn }
}

/** Writes a file as an agent's own tool does, and tells of it. */
function write(
  w: Fixture,
  tracker: FileChangeTracker,
  path: string,
  after: string | null,
  metadata: ChangeMetadata = {},
): TrackedChange {
  const before = w.files()[path] ?? null
  w.userWrites({ [path]: after })
  const operation = before === null ? 'create' : after === null ? 'delete' : 'modify'
  return tracker.captureChange(path, operation, before, after, metadata)
}

test('[H240] changes are recorded in the order they were told, as steps of the turn', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const { tracker, turn } = await tracking(w)
  const told = [
    write(w, tracker, 'a.txt', '1\n', { tool: 'fs_write', part: 'p1' }),
    write(w, tracker, 'a.txt', '2\n', { tool: 'fs_patch' }),
    write(w, tracker, 'b/c.txt', 'new\n'),
    write(w, tracker, 'a.txt', null),
  ]
  expect(told.map(({ recorded }) => recorded)).toEqual([false, false, false, false])
  const { changes } = await turn.end()
  expect(changes.map(({ path, kind, step, certainty }) => [path, kind, step, certainty])).toEqual([
    ['a.txt', 'modify', told[0]?.id, 'exact'],
    ['a.txt', 'modify', told[1]?.id, 'exact'],
    ['b/c.txt', 'add', told[2]?.id, 'exact'],
    ['a.txt', 'delete', told[3]?.id, 'exact'],
  ])
  expect(tracker.readChange(told[1]?.id ?? '')).toEqual({
    before: Buffer.from('1\n'),
    after: Buffer.from('2\n'),
  })
  // The log ends where the disk is: the next look finds nothing.
  expect((await w.workspace.capture()).changes).toEqual([])
  await w.workspace.session('chat', { agent: 'my-agent' }).undo()
  expect(w.files()).toEqual({ 'a.txt': '0\n' })
})

test('[H240] a burst of writes to one file costs no version', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const { tracker } = await tracking(w)
  const ids = Array.from({ length: 20 }, (_, i) => write(w, tracker, 'a.txt', `${i + 1}\n`).id)
  await tracker.settled()
  expect(ids.map((id) => tracker.readChange(id).after?.toString())).toEqual(
    Array.from({ length: 20 }, (_, i) => `${i + 1}\n`),
  )
})

test('[H240] an agent that does not know what was there before gets it back all the same', async () => {
  await using w = await workspace({ 'a.txt': 'precious\n' })
  const { tracker } = await tracking(w)
  w.userWrites({ 'a.txt': 'overwritten\n', 'b.txt': 'new\n' })
  const first = tracker.captureChange('a.txt', 'create', undefined, 'overwritten\n')
  const second = tracker.captureChange('b.txt', 'create', undefined, 'new\n')
  await tracker.settled()
  expect(tracker.readChange(first.id).before?.toString()).toBe('precious\n')
  await tracker.rollbackFile(first.id)
  await tracker.rollbackFile(second.id)
  expect(w.files()).toEqual({ 'a.txt': 'precious\n' })
})

test('[H241] what the user wrote in between is the user’s own', async () => {
  await using w = await workspace({ 'a.txt': '1\n2\n3\n4\n5\n' })
  const { tracker, turn } = await tracking(w)
  write(w, tracker, 'a.txt', 'ONE\n2\n3\n4\n5\n')
  w.userWrites({ 'a.txt': 'ONE\n2\n3\n4\nmine\n' })
  write(w, tracker, 'a.txt', 'ONE\n2\nTHREE\n4\nmine\n')
  await turn.end()
  const actors = w.workspace.index.findChanges({ everybody: true }).map(({ actor }) => actor)
  expect(actors.reverse()).toEqual(['my-agent', 'user', 'my-agent'])
  await w.workspace.session('chat', { agent: 'my-agent' }).undo()
  expect(w.files()).toEqual({ 'a.txt': '1\n2\n3\n4\nmine\n' })
})

test('[H242] one file, one agent, or all after a moment go back; later work stays', async () => {
  await using w = await workspace({ 'a.txt': '1\n2\n3\n4\n5\n', 'b.txt': 'b\n' })
  const { tracker } = await tracking(w)
  const first = write(w, tracker, 'a.txt', 'ONE\n2\n3\n4\n5\n', { agentId: 'red' })
  write(w, tracker, 'a.txt', 'ONE\n2\nTHREE\n4\n5\n', { agentId: 'blue' })
  write(w, tracker, 'new/x.txt', 'x', { agentId: 'red' })
  const late = write(w, tracker, 'b.txt', 'late\n', { agentId: 'blue' })

  const dry = await tracker.rollbackFile(first.id, { dryRun: true })
  expect(dry).toMatchObject({ kind: 'planned', files: [{ path: 'a.txt' }] })
  expect(w.files()['a.txt']).toBe('ONE\n2\nTHREE\n4\n5\n')
  expect(await tracker.rollbackFile(first.id)).toMatchObject({
    kind: 'done',
    files: [{ path: 'a.txt', merged: true }],
  })
  expect(w.files()['a.txt']).toBe('1\n2\nTHREE\n4\n5\n')
  expect(await tracker.rollbackFile(first.id)).toMatchObject({ kind: 'nothing' })

  await tracker.rollbackAgent('red')
  expect(w.files()).toEqual({ 'a.txt': '1\n2\nTHREE\n4\n5\n', 'b.txt': 'late\n' })
  expect(await tracker.rollbackAfter(new Date(late.timestamp))).toMatchObject({
    kind: 'done',
    files: [{ path: 'b.txt' }],
  })
  expect(w.files()).toEqual({ 'a.txt': '1\n2\nTHREE\n4\n5\n', 'b.txt': 'b\n' })
  expect(await tracker.rollbackAfter(late.timestamp + 1_000_000)).toMatchObject({ kind: 'nothing' })
  expect(await tracker.rollbackAgent('nobody')).toMatchObject({ kind: 'nothing' })
})

test('[H242] [P3] what the user wrote over a change is a conflict, also for a narrow look', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const { tracker } = await tracking(w)
  const change = write(w, tracker, 'a.txt', '1\n')
  await tracker.settled()
  w.userWrites({ 'a.txt': 'mine\n' })
  expect(await tracker.rollbackFile(change.id)).toMatchObject({
    kind: 'conflicts',
    conflicts: [{ path: 'a.txt' }],
  })
  expect(w.files()).toEqual({ 'a.txt': 'mine\n' })
})

test('[H243] a rollback looks at its own paths only, and farther where a file was moved', async () => {
  await using w = await workspace({ 'a.txt': 'one\ntwo\nthree\nfour\n', 'other.txt': 'o\n' })
  const { tracker } = await tracking(w)
  const first = write(w, tracker, 'a.txt', 'ONE\ntwo\nthree\nfour\n')
  const second = write(w, tracker, 'a.txt', 'ONE\ntwo\nthree\nFOUR\n')
  await tracker.settled()
  w.userWrites({ 'other.txt': 'unseen\n' })
  await tracker.rollbackFile(second.id)
  const seen = () =>
    w.workspace.index.findChanges({ everybody: true }).some(({ path }) => path === 'other.txt')
  expect(seen()).toBe(false)

  w.userWrites({ 'a.txt': null, 'renamed.txt': 'ONE\ntwo\nthree\nfour\n' })
  expect(await tracker.rollbackFile(first.id)).toMatchObject({
    kind: 'done',
    files: [{ path: 'renamed.txt' }],
  })
  expect(w.files()).toEqual({ 'renamed.txt': 'one\ntwo\nthree\nfour\n', 'other.txt': 'unseen\n' })
  expect(seen()).toBe(true)
})

test('[H244] a change that cannot be recorded is told, and the next ones are recorded', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const { tracker } = await tracking(w)
  const failed: string[] = []
  tracker.on('record:failed', ({ path }) => failed.push(path))
  const { log } = w.workspace.engine
  const append = log.append
  log.append = () => {
    log.append = append
    throw new Error('no room')
  }
  write(w, tracker, 'a.txt', '1\n')
  write(w, tracker, 'b.txt', 'b')
  await expect(tracker.settled()).rejects.toThrow('no room')
  await tracker.settled()
  expect(failed).toEqual(['a.txt'])
  expect(tracker.getChanges().map(({ path }) => path)).toEqual(['b.txt'])
  expect(() => tracker.captureChange('../out', 'create', null, 'x')).toThrow(/outside/)
})

test('[H245] changes are listed newest first, by path, agent and time, and events tell of them', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const { tracker } = await tracking(w)
  const events: string[] = []
  tracker.on('file:changed', ({ path, additions }) => events.push(`${path} +${additions}`))
  tracker.on('rollback:done', ({ files }) => events.push(`rolled back ${files.map(({ path }) => path)}`))
  tracker.on('file:changed', () => {
    throw new Error('a listener of no use')
  })
  const first = write(w, tracker, 'a.txt', '1\n', { agentId: 'red' })
  const second = write(w, tracker, 'd/b.txt', 'b\nb\n', { agentId: 'blue' })
  const paths = (filter = {}) => tracker.getChanges(filter).map(({ path }) => path)
  expect(paths()).toEqual(['d/b.txt', 'a.txt'])
  await tracker.settled()
  expect(paths()).toEqual(['d/b.txt', 'a.txt'])
  expect(paths({ path: 'd' })).toEqual(['d/b.txt'])
  expect(paths({ agentId: 'red' })).toEqual(['a.txt'])
  expect(paths({ after: second.timestamp })).toEqual(['d/b.txt'])
  expect(paths({ limit: 1 })).toEqual(['d/b.txt'])
  await tracker.rollbackFile(first.id)
  expect(tracker.getChanges()).toMatchObject([
    { id: second.id, operation: 'create', additions: 2, deletions: 0, recorded: true, rolledBack: false },
    { id: first.id, operation: 'modify', additions: 1, deletions: 1, recorded: true, rolledBack: true },
  ])
  expect(events).toEqual(['a.txt +1', 'd/b.txt +2', 'rolled back a.txt'])
})

test('[H246] permission bits and links are recorded as they stand in the workspace', async () => {
  await using w = await workspace({ 'run.sh': 'old\n', 'target.txt': 't\n', link: linkTo('target.txt') })
  const { tracker, turn } = await tracking(w)
  chmodSync(w.pathOf('run.sh'), 0o755)
  write(w, tracker, 'run.sh', 'new\n')
  writeFileSync(w.pathOf('link'), 'through\n')
  tracker.captureChange('link', 'modify', 't\n', 'through\n')
  await turn.end()
  expect((await w.workspace.capture()).changes).toEqual([])
  const session = w.workspace.session('chat', { agent: 'my-agent' })
  await session.undo()
  expect(statSync(w.pathOf('run.sh')).mode & 0o777).toBe(0o644)
  expect(w.files()).toMatchObject({ 'run.sh': 'old\n', link: '-> target.txt' })
  expect(readFileSync(w.pathOf('target.txt'), 'utf8')).toBe('through\n')
})
