import { chmodSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isFailure } from '../errors.ts'
import { type Fixture, workspace } from '../testing/workspace.ts'
import type { OpId, RelPath } from '../values.ts'
import type { Session } from './session.ts'

function sessionOf(w: Fixture, id = 'chat'): Session {
  return w.workspace.session(id, { agent: 'my-agent' })
}

/** One turn of one shell step. */
async function say(
  w: Fixture,
  session: Session,
  files: Record<string, string | null>,
  message?: string,
): Promise<void> {
  const turn = await session.begin({ prompt: `write ${Object.keys(files)}`, ...(message ? { message } : {}) })
  for (const [name, content] of Object.entries(files))
    await turn.step({ tool: 'write', part: `${message}/${name}` }, () => w.userWrites({ [name]: content }))
  await turn.end()
}

test('[H200] a step gives back the value of its callback and what changed', async () => {
  await using w = await workspace({ 'a.txt': 'one\n' })
  const turn = await sessionOf(w).begin({ prompt: 'Go' })
  const { value, changes, step } = await turn.step(
    { tool: 'edit', paths: ['a.txt'], agentId: 'sub' },
    async (id) => {
      writeFileSync(w.pathOf('a.txt'), 'two\n')
      return `ran in ${id}`
    },
  )
  expect(value).toBe(`ran in ${step}`)
  expect(changes).toMatchObject([
    {
      path: 'a.txt',
      kind: 'modify',
      additions: 1,
      deletions: 1,
      certainty: 'exact',
      actor: 'my-agent',
      agentId: 'sub',
      step,
    },
  ])
  expect((await turn.end()).changes).toHaveLength(1)
})

test('[H201] a step that throws is recorded, and its error comes through', async () => {
  await using w = await workspace({ 'a.txt': 'one\n' })
  const session = sessionOf(w)
  const turn = await session.begin()
  const failing = turn.step({ tool: 'shell' }, () => {
    w.userWrites({ 'a.txt': 'half\n', 'half.txt': 'x' })
    throw new RangeError('the tool failed')
  })
  await expect(failing).rejects.toThrow(RangeError)
  w.userWrites({ 'mine.txt': 'm' }) // the step is over: this is the user's
  const { changes } = await turn.end('failed')
  expect(changes.map(({ path }) => path)).toEqual(['a.txt', 'half.txt'])
  await session.undo()
  expect(w.files()).toEqual({ 'a.txt': 'one\n', 'mine.txt': 'm' })
})

test('[H202] paths are text on both sides, and those outside are refused', async () => {
  await using w = await workspace({ 'Grüße.txt': 'hallo\n' })
  const session = sessionOf(w)
  const turn = await session.begin()
  const { changes } = await turn.step({ tool: 'edit', paths: ['Grüße.txt'] }, () =>
    writeFileSync(w.pathOf('Grüße.txt'), 'servus\n'),
  )
  expect(changes).toMatchObject([{ path: 'Grüße.txt', certainty: 'exact' }])
  const bad = Buffer.concat([Buffer.from(`${w.dir}/b`), Buffer.from([0xff])])
  const odd = await turn.step({ tool: 'edit', paths: ['b\udcff'] }, () => writeFileSync(bad, 'x'))
  expect(odd.changes).toMatchObject([{ path: 'b\udcff', kind: 'add' }])
  const absolute = await turn.step({ tool: 'edit', paths: [w.pathOf('c.txt')] }, () =>
    w.userWrites({ 'c.txt': 'c' }),
  )
  expect(absolute.changes).toMatchObject([{ path: 'c.txt', certainty: 'exact' }])
  await expect(turn.step({ tool: 'edit', paths: ['../outside'] }, () => {})).rejects.toMatchObject({
    code: 'bad-path',
  })
  await turn.end()
  expect((await session.undo()).files.map(({ path }) => path).sort()).toEqual([
    'Grüße.txt',
    'b\udcff',
    'c.txt',
  ])
})

test('[H203] a turn that goes out of scope without an end is interrupted', async () => {
  await using w = await workspace({ 'a.txt': 'one\n' })
  const session = sessionOf(w)
  {
    await using turn = await session.begin({ prompt: 'Left' })
    await turn.step({ tool: 'write' }, () => w.userWrites({ 'a.txt': 'two\n' }))
  }
  {
    await using turn = await session.begin({ prompt: 'Ended' })
    await turn.end()
  }
  expect(session.turns().map(({ prompt, status }) => [prompt, status])).toEqual([
    ['Left', 'interrupted'],
    ['Ended', 'ok'],
  ])
})

test('[H204] nothing to undo, redo or roll back is an answer', async () => {
  await using w = await workspace({ 'a.txt': 'one\n' })
  const session = sessionOf(w)
  const undone = await session.undo()
  expect(undone).toMatchObject({ kind: 'nothing', op: null, head: null, files: [] })
  expect(undone.message).toMatch(/nothing to undo/)
  expect(await session.redo()).toMatchObject({ kind: 'nothing' })
  const plan = await w.workspace.planRollback({ selection: { paths: ['a.txt' as RelPath] } })
  expect(plan.outcome).toMatchObject({ kind: 'nothing' })
  expect(await plan.apply()).toEqual(plan.outcome)
})

test('[H205] undo of a running turn is refused, and goes ahead once the agent was aborted', async () => {
  await using w = await workspace({ 'a.txt': 'one\n' })
  const session = sessionOf(w)
  const turn = await session.begin({ prompt: 'Long', message: 'm1' })
  const stop = Promise.withResolvers<void>()
  const began = Promise.withResolvers<void>()
  const running = turn.step({ tool: 'shell' }, async () => {
    w.userWrites({ 'a.txt': 'half\n' })
    began.resolve()
    await stop.promise
    w.userWrites({ 'b.txt': 'the last thing it does\n' })
  })
  await began.promise
  await expect(session.undo()).rejects.toMatchObject({ code: 'turn-running' })

  const told: unknown[] = []
  const result = await session.undo({
    abort: async (turnThatRuns) => {
      told.push(turnThatRuns)
      stop.resolve()
      await running
    },
  })
  expect(told).toMatchObject([{ turn: turn.id, message: 'm1' }])
  expect(result).toMatchObject({ kind: 'done', reverted: [turn.id], prompt: 'Long' })
  expect(w.files()).toEqual({ 'a.txt': 'one\n' })
  expect(session.turns()).toMatchObject([{ status: 'interrupted', isReverted: true }])
})

test('[H205] an agent that is stopped only after its turn was closed does no harm', async () => {
  await using w = await workspace({ 'a.txt': 'one\n' })
  const session = sessionOf(w)
  const turn = await session.begin()
  const stop = Promise.withResolvers<void>()
  const began = Promise.withResolvers<void>()
  const running = turn.step({ tool: 'shell' }, async () => {
    w.userWrites({ 'a.txt': 'half\n' })
    began.resolve()
    await stop.promise
  })
  await began.promise
  expect(await session.undo({ abort: () => {} })).toMatchObject({ kind: 'done' })
  stop.resolve()
  expect((await running).changes).toHaveLength(1)
  await turn.end()
  expect(w.files()).toEqual({ 'a.txt': 'one\n' })
})

test('[H206] a session goes to any message, before and after, and to a part inside of one', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const session = sessionOf(w)
  await say(w, session, { 'a.txt': '1\n' }, 'm1')
  await say(w, session, { 'b.txt': 'b', 'c.txt': 'c', 'd.txt': 'd' }, 'm2')
  await say(w, session, { 'a.txt': '3\n' }, 'm3')

  await session.restoreToMessage('m2', { part: 'm2/c.txt' })
  expect(w.files()).toEqual({ 'a.txt': '1\n', 'b.txt': 'b' })
  expect(session.head()).toMatchObject({ message: 'm2', part: 'm2/c.txt' })
  await session.restoreToMessage('m2', { part: 'm2/c.txt', side: 'after' })
  expect(w.files()).toEqual({ 'a.txt': '1\n', 'b.txt': 'b', 'c.txt': 'c' })
  await session.restoreToMessage('m1')
  expect(w.files()).toEqual({ 'a.txt': '0\n' })
  expect(session.head()).toEqual({ turn: null })
  await session.restoreToMessage('m3', { side: 'after' })
  expect(w.files()).toEqual({ 'a.txt': '3\n', 'b.txt': 'b', 'c.txt': 'c', 'd.txt': 'd' })
  await expect(session.restoreToMessage('m9')).rejects.toThrow(/no message of this session "m9"/)
  await expect(session.restoreToMessage('m1', { part: 'm2/c.txt' })).rejects.toThrow(
    /no part of this message/,
  )
})

test('[H207] reverted turns are gone for good before new work begins, and stay without that wish', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const session = sessionOf(w)
  await say(w, session, { 'a.txt': '1\n' }, 'm1')
  await session.undo()
  await say(w, session, { 'a.txt': '2\n' }, 'm2')
  expect(session.reverted()).toMatchObject({ count: 1, messages: ['m1'] })
  await session.undo()
  await using turn = await session.begin({ prompt: 'Again', message: 'm2', cleanupFirst: true })
  expect(session.turns().map(({ id, message }) => [id, message])).toEqual([[turn.id, 'm2']])
  expect(session.reverted()).toEqual({ count: 0, turns: [], messages: [] })
})

test('[H208] a head whose turn was cleaned up stands at the nearest turn that is left', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const session = sessionOf(w)
  await say(w, session, { 'a.txt': '1\n' }, 'm1')
  await say(w, session, { 'b.txt': 'b' }, 'm2')
  await say(w, session, { 'c.txt': 'c' }, 'm3')
  const [first, second, third] = session.turns()
  await session.undo({ turns: 2 })
  await session.cleanup()
  // As an older version, or a log that was put together by hand, may have left it.
  const { engine } = w.workspace
  await engine.lock.exclusive(async (lock) => {
    const last = engine.log.index.lastOperation()
    if (last === undefined || third === undefined || first === undefined) throw new Error('no history')
    const draft = {
      kind: 'redo',
      session: session.id,
      from: { turn: first.id },
      to: { turn: third.id },
      stages: [],
      exact: false,
    } as const
    const taken = { before: last.after, after: last.after, skipped: last.skipped }
    engine.log.append(engine.objects.newBatch(), draft, taken, lock)
  })
  expect(second?.message).toBe('m2')
  expect(session.head()).toEqual({ turn: first?.id, message: 'm1' })
  expect(session.reverted().count).toBe(0)
  expect(await session.undo()).toMatchObject({ kind: 'done', reverted: [first?.id] })
  expect(w.files()).toEqual({ 'a.txt': '0\n' })
  expect(await session.undo()).toMatchObject({ kind: 'nothing' })
})

test('[H209] a session tells where it stands', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const session = sessionOf(w)
  await say(w, session, { 'a.txt': '1\n' }, 'm1')
  await say(w, session, { 'b.txt': 'b\nb\n' }, 'm2')
  await session.undo()
  const [first, second] = session.turns()
  expect(session.head()).toEqual({ turn: first?.id, message: 'm1' })
  expect(session.reverted()).toEqual({ count: 1, turns: [second?.id], messages: ['m2'] })
  expect(first).toMatchObject({
    parent: null,
    isHead: true,
    isReverted: false,
    files: 1,
    additions: 1,
    deletions: 1,
  })
  expect(second).toMatchObject({
    parent: first?.id,
    isHead: false,
    isReverted: true,
    prompt: 'write b.txt',
    additions: 2,
  })
  expect(sessionOf(w, 'never').turns()).toEqual([])
})

test('[H214] a selection is rolled back, and the rollback, too', async () => {
  await using w = await workspace({ 'Grüße.txt': '1\n2\n3\n', 'b.txt': 'b\n' })
  const session = sessionOf(w)
  await say(w, session, { 'Grüße.txt': 'ONE\n2\n3\n', 'b.txt': 'B\n' })
  await say(w, session, { 'Grüße.txt': 'ONE\n2\nTHREE\n' })
  const [first] = session.turns()
  const result = await session.rollback({ turns: [first?.id ?? ''], paths: ['Grüße.txt'] })
  expect(result).toMatchObject({ kind: 'done', files: [{ path: 'Grüße.txt', merged: true }] })
  expect(w.files()).toMatchObject({ 'b.txt': 'B\n' })
  for (const selection of [{ paths: ['nowhere'] }, {}, { turns: [] }, { turns: [], paths: ['b.txt'] }])
    expect(await session.rollback(selection)).toMatchObject({ kind: 'nothing' })
  expect(await session.rollback({ agents: ['my-agent'], after: Date.parse('2030-01-01') })).toMatchObject({
    kind: 'nothing',
  })
  const plan = await session.planRollback({ ops: [result.op ?? ''] })
  expect(plan.outcome).toMatchObject({ kind: 'planned', files: [{ path: 'Grüße.txt' }] })
  await plan.apply()
  await session.rollback({ agents: ['my-agent'] })
  expect(Object.values(w.files())).toEqual(expect.arrayContaining(['1\n2\n3\n', 'b\n']))
})

test('[H210] a plan changes nothing, and applied it does what it said', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const session = sessionOf(w)
  await say(w, session, { 'a.txt': '1\n', 'b.txt': 'b' })
  const head = session.head()
  const plan = await session.planUndo()
  expect(plan.outcome).toMatchObject({
    kind: 'planned',
    files: [
      { path: 'a.txt', action: 'write', merged: false },
      { path: 'b.txt', action: 'delete', merged: false },
    ],
    conflicts: [],
  })
  expect(plan.outcome.patch).toContain('-1\n+0\n')
  expect(w.files()).toEqual({ 'a.txt': '1\n', 'b.txt': 'b' })
  expect(session.head()).toEqual(head)

  const result = await plan.apply()
  expect(result.files).toEqual(plan.outcome.files)
  expect(w.files()).toEqual({ 'a.txt': '0\n' })
  expect(await (await session.planRedo()).apply()).toMatchObject({ kind: 'done' })
  const turn = session.turns()[0]?.id ?? ''
  expect(await (await session.planRestore({ turn })).apply()).toMatchObject({ kind: 'done' })
  const back = await w.workspace.planRollback({ selection: { ops: [result.op as OpId] } })
  expect(back.outcome.kind).toBe('planned')
})

test.each([
  ['edited elsewhere', (w: Fixture) => w.userWrites({ 'a.txt': '1\n2\n3\n4\n5\nmine\n' })],
  ['edited in place', (w: Fixture) => w.userWrites({ 'a.txt': 'mine\n2\n3\n4\n5\n' })],
  ['deleted', (w: Fixture) => w.userWrites({ 'a.txt': null })],
  ['made private', (w: Fixture) => chmodSync(w.pathOf('a.txt'), 0o600)],
  ['undone already', (w: Fixture) => sessionOf(w).undo()],
  ['followed by a turn', (w: Fixture) => say(w, sessionOf(w), { 'z.txt': 'z' })],
] as const)(
  '[H211] a plan is refused and writes nothing when its file or head was %s',
  async (_, meanwhile) => {
    await using w = await workspace({ 'a.txt': '0\n2\n3\n4\n5\n' })
    const session = sessionOf(w)
    await say(w, session, { 'a.txt': '1\n2\n3\n4\n5\n' })
    const plan = await session.planUndo()
    await meanwhile(w)
    const files = w.files({ modes: true })
    await expect(plan.apply()).rejects.toSatisfy((error) => isFailure(error, 'plan-stale'))
    expect(w.files({ modes: true })).toEqual(files)
  },
)

test('[H211] a plan for a turn that changed nothing is refused when another such turn came after it', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const session = sessionOf(w)
  await (await session.begin({ prompt: 'Talk' })).end()
  const plan = await session.planUndo()
  await (await session.begin({ prompt: 'Talk on' })).end()
  await expect(plan.apply()).rejects.toMatchObject({ code: 'plan-stale' })
  expect(session.reverted().count).toBe(0)
})

test('[H211] a plan is good for once', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const session = sessionOf(w)
  await say(w, session, { 'a.txt': '1\n' })
  const plan = await session.planUndo()
  await plan.apply()
  await expect(plan.apply()).rejects.toMatchObject({ code: 'plan-stale' })
})

test('[H212] a plan still holds when other files have changed', async () => {
  await using w = await workspace({ 'a.txt': '0\n', 'other.txt': 'x' })
  const session = sessionOf(w)
  await say(w, session, { 'a.txt': '1\n' })
  const plan = await session.planUndo()
  w.userWrites({ 'other.txt': 'y', 'new.txt': 'n' })
  await say(w, sessionOf(w, 'another'), { 'third.txt': 't' })
  await plan.apply()
  expect(w.files()).toEqual({ 'a.txt': '0\n', 'other.txt': 'y', 'new.txt': 'n', 'third.txt': 't' })
})

test('[H213] a plan for a running turn leaves the agent alone until it is applied', async () => {
  await using w = await workspace({ 'a.txt': '0\n' })
  const session = sessionOf(w)
  const turn = await session.begin({ pid: process.pid })
  await turn.step({ tool: 'write' }, () => w.userWrites({ 'a.txt': '1\n' }))
  let aborted = 0
  const abort = () => {
    aborted += 1
  }
  await expect(session.planUndo()).rejects.toMatchObject({ code: 'turn-running' })
  const plan = await session.planUndo({ abort })
  expect([aborted, session.turns()[0]?.status]).toEqual([0, 'open'])
  await plan.apply()
  expect(aborted).toBe(1)
  expect(w.files()).toEqual({ 'a.txt': '0\n' })
})
