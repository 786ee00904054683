import { expect, test } from 'vitest'
import { type Fixture, workspace } from '../testing/workspace.ts'
import { openWorkspace } from '../workspace.ts'
import type { EventName, Events, WorkspaceEvent } from './events.ts'
import type { Session } from './session.ts'

function sessionOf(w: Fixture, id = 'chat'): Session {
  return w.workspace.session(id, { agent: 'my-agent' })
}

async function say(
  w: Fixture,
  session: Session,
  files: Record<string, string>,
  message: string,
): Promise<void> {
  const turn = await session.begin({ prompt: message, message })
  for (const [name, content] of Object.entries(files))
    await turn.step({ tool: 'write', paths: [name], part: `${message}/${name}` }, () =>
      w.userWrites({ [name]: content }),
    )
  await turn.end()
}

/** What waits in a stream now. */
async function taken(stream: Events, count: number): Promise<readonly WorkspaceEvent[]> {
  const events: WorkspaceEvent[] = []
  for (let i = 0; i < count; i += 1) {
    const { value } = await stream.next()
    if (value !== undefined) events.push(value)
  }
  return events
}

function recorded(w: Fixture): WorkspaceEvent[] {
  const events: WorkspaceEvent[] = []
  for (const name of names) w.workspace.on(name, (event) => events.push(event))
  return events
}

const names: readonly EventName[] = [
  'session.updated',
  'session.diff',
  'turn.began',
  'turn.ended',
  'step.began',
  'step.ended',
  'change',
  'undo',
  'redo',
  'restore',
  'rollback',
  'message.removed',
  'part.removed',
  'conflict',
  'gc',
]

test('[H220] a turn, its step, an undo and a redo are told in order', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const events = recorded(w)
  const session = sessionOf(w)
  const told = (): readonly string[] => events.splice(0).map(({ type }) => type)

  const turn = await session.begin({ prompt: 'Go', message: 'm1' })
  expect(events[0]).toEqual({
    type: 'turn.began',
    session: 'chat',
    turn: turn.id,
    agent: 'my-agent',
    prompt: 'Go',
    message: 'm1',
  })
  expect(told()).toEqual(['turn.began', 'session.updated'])
  await turn.step({ tool: 'write', paths: ['a.txt'], part: 'p1' }, () => {
    expect(events).toMatchObject([
      { type: 'step.began', turn: turn.id, tool: 'write', paths: ['a.txt'], part: 'p1' },
    ])
    w.userWrites({ 'a.txt': '1\n' })
  })
  expect(events.at(2)).toMatchObject({ type: 'step.ended', part: 'p1', changes: [{ path: 'a.txt' }] })
  expect(told()).toEqual(['step.began', 'change', 'step.ended', 'session.updated', 'session.diff'])
  await turn.end()
  expect(events[0]).toMatchObject({ type: 'turn.ended', status: 'ok', message: 'm1' })
  expect(told()).toEqual(['turn.ended', 'session.updated'])

  await session.undo()
  expect(events).toMatchObject([
    {
      type: 'undo',
      session: 'chat',
      reverted: [turn.id],
      redone: [],
      changes: [{ path: 'a.txt', actor: 'unturn' }],
    },
    { type: 'session.updated', head: null, turns: 1, reverted: [turn.id] },
    { type: 'session.diff', files: [] },
  ])
  told()
  await session.redo()
  expect(events[0]).toMatchObject({ type: 'redo', reverted: [], redone: [turn.id] })
  told()
  await session.restore({ turn: turn.id })
  await w.workspace.rollback({
    selection: { ops: [w.workspace.index.lastOperation()?.record.id ?? ('' as never)] },
  })
  expect(told().filter((type) => !type.startsWith('session'))).toEqual(['restore', 'rollback'])
})

test("[H220] the user's own edits are told as changes of the user", async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const events = recorded(w)
  w.userWrites({ 'a.txt': 'mine\n' })
  await w.workspace.capture()
  expect(events).toMatchObject([{ type: 'change', change: { path: 'a.txt', actor: 'user', session: null } }])
})

test('[H221] cleanup tells removed messages and parts by the ids of the agent', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const session = sessionOf(w)
  await say(w, session, { 'a.txt': '1\n', 'b.txt': 'b', 'c.txt': 'c' }, 'm1')
  await say(w, session, { 'd.txt': 'd' }, 'm2')
  const [first, second] = session.turns()
  await session.restoreToMessage('m1', { part: 'm1/b.txt' })
  const events = recorded(w)
  await session.cleanup()
  expect(events.filter(({ type }) => type.endsWith('removed'))).toMatchObject([
    { type: 'message.removed', session: 'chat', turn: second?.id, message: 'm2' },
    { type: 'part.removed', session: 'chat', turn: first?.id, message: 'm1', part: 'm1/b.txt' },
    { type: 'part.removed', session: 'chat', turn: first?.id, message: 'm1', part: 'm1/c.txt' },
  ])
})

test('[H222] the diff of a session has its own files only, against its start', async () => {
  await using w = await workspace({ 'a.txt': 'one\ntwo\n', 'gone.txt': 'x\n', 'mine.txt': 'm\n' })
  const session = sessionOf(w)
  await say(w, session, { 'a.txt': 'one\n2\n3\n' }, 'm1')
  await say(w, sessionOf(w, 'other'), { 'theirs.txt': 't\n' }, 'o1')
  w.userWrites({ 'mine.txt': 'changed\n' })
  const turn = await session.begin()
  await turn.step({ tool: 'rm' }, () => w.userWrites({ 'gone.txt': null }))
  await turn.end()
  expect(await session.diff()).toEqual([
    { path: 'a.txt', kind: 'modify', additions: 2, deletions: 1 },
    { path: 'gone.txt', kind: 'delete', additions: 0, deletions: 1 },
  ])
})

test('[H223] a listener that throws breaks nothing, and a disposed one hears no more', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const heard: string[] = []
  w.workspace.on('turn.began', () => {
    throw new Error('listener is broken')
  })
  const dispose = w.workspace.on('turn.began', ({ prompt }) => heard.push(`first ${prompt}`))
  w.workspace.on('turn.began', ({ prompt }) => heard.push(`second ${prompt}`))
  const session = sessionOf(w)
  await (await session.begin({ prompt: 'A' })).end()
  dispose()
  await (await session.begin({ prompt: 'B' })).end()
  expect(heard).toEqual(['first A', 'second A', 'second B'])
  expect(w.warnings.filter((text) => text.includes('listener is broken'))).toHaveLength(2)
})

test('[H223] a listener may work in the workspace itself', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const session = sessionOf(w)
  const undone = new Promise((resolve) => {
    w.workspace.on('turn.ended', () => resolve(session.undo()))
  })
  await say(w, session, { 'a.txt': '1\n' }, 'm1')
  expect(await undone).toMatchObject({ kind: 'done' })
  expect(w.files()).toEqual({ 'a.txt': '0\n' })
})

test('[H224] a slow iterator loses the oldest events and says how many', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const stream = w.workspace.events({ buffer: 3 })
  const session = sessionOf(w)
  for (const prompt of ['A', 'B', 'C']) await (await session.begin({ prompt })).end()
  // Each turn is told as: began, updated, (implicit step) ended, ended, updated.
  const [missed, ...rest] = await taken(stream, 4)
  expect(missed).toMatchObject({ type: 'missed' })
  expect(rest).toHaveLength(3)
  expect(rest.at(-1)).toMatchObject({ type: 'session.updated', turns: 3 })
  const all = w.workspace.events()
  await (await session.begin({ prompt: 'D' })).end()
  const told = (await taken(all, 4)).map(({ type }) => type)
  expect(told).not.toContain('missed')
})

test('[H225] iterators end with the workspace, after what still waits', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const stream = w.workspace.events()
  const reading = (async () => {
    const types: string[] = []
    for await (const { type } of stream) types.push(type)
    return types
  })()
  const late = w.workspace.events()
  await sessionOf(w).begin({ prompt: 'A' })
  await w.close()
  expect(await reading).toEqual(['turn.began', 'session.updated'])
  expect((await late.next()).value).toMatchObject({ type: 'turn.began' })
  expect((await late.next()).value).toMatchObject({ type: 'session.updated' })
  expect((await late.next()).done).toBe(true)
})

test('[H225] leaving the loop ends the iterator', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const stream = w.workspace.events()
  await (await sessionOf(w).begin({ prompt: 'A' })).end()
  for await (const event of stream) {
    expect(event.type).toBe('turn.began')
    break
  }
  expect(await stream.next()).toEqual({ value: undefined, done: true })
})

test('[H226] what another process did is told at the next look', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const events = recorded(w)
  await using elsewhere = await openWorkspace(w.dir, { explicit: true, env: w.env })
  const session = elsewhere.session('elsewhere', { agent: 'cli' })
  const turn = await session.begin({ prompt: 'From afar' })
  await turn.step({ tool: 'write', paths: ['a.txt'] }, () => w.userWrites({ 'a.txt': '1\n' }))
  await turn.end()
  expect(events).toEqual([])
  await w.workspace.catchUp()
  expect(events.map(({ type }) => type)).toEqual([
    'turn.began',
    'change',
    'step.ended',
    'turn.ended',
    'session.updated',
    'session.diff',
  ])
})

test('[H227] conflicts and gc are told, a plan with conflicts is not', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const session = sessionOf(w)
  await say(w, session, { 'a.txt': '1\n' }, 'm1')
  w.userWrites({ 'a.txt': 'mine\n' })
  await w.workspace.capture()
  const events = recorded(w)
  expect(await session.undo()).toMatchObject({ kind: 'conflicts' })
  expect(events).toMatchObject([
    { type: 'conflict', session: 'chat', conflicts: [{ path: 'a.txt', ours: 'mine' }] },
  ])
  await w.workspace.gc()
  expect(events.at(-1)).toMatchObject({ type: 'gc', bytesBefore: expect.any(Number) })
})

test('[H228] how a session stands is told as a look at all its turns would, whoever moves them', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const told: WorkspaceEvent[] = []
  w.workspace.on('session.updated', (event) => told.push(event))
  const session = sessionOf(w)
  const check = () => {
    const turns = session.turns()
    const event = {
      type: 'session.updated',
      session: 'chat',
      head: turns.find((turn) => turn.isHead)?.id ?? null,
    }
    const reverted = turns.filter((turn) => turn.isReverted).map(({ id }) => id)
    expect(told.at(-1)).toEqual({ ...event, turns: turns.length, reverted })
  }
  const go = async (files: Record<string, string>, message: string) => {
    await say(w, session, files, message)
    check()
  }
  await go({ 'a.txt': '1\n' }, 'm1')
  await go({ 'a.txt': '2\n', 'b.txt': 'b' }, 'm2')
  await session.undo()
  check()
  await go({ 'c.txt': 'c', 'd.txt': 'd' }, 'branch')
  await session.restoreToMessage('branch', { part: 'branch/d.txt' })
  check()
  await go({ 'e.txt': 'e' }, 'inside')
  await using elsewhere = await openWorkspace(w.dir, { explicit: true, env: w.env })
  const other = elsewhere.session('chat', { agent: 'my-agent' })
  await (await other.begin({ prompt: 'From afar' })).end()
  await other.undo()
  await w.workspace.catchUp()
  check()
  await other.redo()
  await other.cleanup()
  await (await other.begin({ prompt: 'And on' })).end()
  await w.workspace.catchUp()
  check()
  await session.undo({ turns: 99 })
  await (await elsewhere.session('another', { agent: 'other' }).begin({ prompt: 'Meanwhile' })).end()
  expect((await elsewhere.gc({ keepSessions: 1 })).dropped).toHaveLength(1)
  await (await other.begin({ prompt: 'Anew' })).end()
  await w.workspace.catchUp()
  check()
  expect(told.at(-1)).toMatchObject({ turns: 1, reverted: [] })
})
