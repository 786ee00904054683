import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { ChangeRow } from '../log/rows.ts'
import { failureOf } from '../testing/honest.ts'
import { emptyFolder, type Fixture, workspace } from '../testing/workspace.ts'
import type { RelPath, StepId, TurnId } from '../values.ts'

const told = (changes: readonly ChangeRow[]) =>
  changes.map(({ path, kind, certainty, actor }) => `${kind} ${path} ${certainty} ${actor}`)

const usersOwn = (w: Fixture) =>
  w.workspace.index
    .operations()
    .filter(({ record }) => record.kind === 'user-edit')
    .map(({ record }) => ({
      seq: record.seq,
      paths: w.workspace.index.changesOfOperation(record.seq).map(({ path }) => path as string),
    }))
    .reverse()

const begin = async (w: Fixture, turn: TurnId, ...paths: string[]): Promise<StepId> =>
  (
    await w.workspace.beginStep({
      turn,
      tool: paths.length === 0 ? 'shell' : 'edit',
      paths: paths as RelPath[],
    })
  ).step

test('[H10] [A1] an edit step that names its file lists one exact change, with everything about it', async () => {
  await using w = await workspace({ 'a.txt': 'one\ntwo\n' })
  const turn = await w.beginTurn('Edit')
  const step = await begin(w, turn, 'a.txt')
  w.userWrites({ 'a.txt': 'one\nTWO\n' })

  const changes = await w.workspace.endStep(step)

  expect(changes).toMatchObject([
    {
      path: 'a.txt',
      kind: 'modify',
      additions: 1,
      deletions: 1,
      binary: false,
      certainty: 'exact',
      actor: 'test-agent',
      session: 'agent-1',
      turn,
      step,
    },
  ])
})

test('[H11] [A2] a shell step lists what it added, edited, deleted and renamed, and the turn lists the union', async () => {
  await using w = await workspace({
    'edit.txt': 'e\n',
    'gone.txt': 'gone\n',
    'old.txt': 'the same text\n'.repeat(9),
  })
  const turn = await w.beginTurn('Shell')
  const first = await w.step(turn, () => {
    w.userWrites({ 'new.txt': 'n\n', 'edit.txt': 'E\n', 'gone.txt': null })
    renameSync(w.pathOf('old.txt'), w.pathOf('name.txt'))
  })
  const second = await w.step(turn, { 'later.txt': 'l\n' })
  const { changes } = await w.workspace.endTurn(turn)

  expect(told(first)).toEqual([
    'modify edit.txt inferred test-agent',
    'delete gone.txt inferred test-agent',
    'rename name.txt inferred test-agent',
    'add new.txt inferred test-agent',
  ])
  expect(first.find(({ kind }) => kind === 'rename')).toMatchObject({ from: 'old.txt' })
  expect(changes).toEqual([...first, ...second])
})

test('[H12] [A3] what the user saves between two turns is his own operation, and undoing either turn leaves it', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'mine.txt': 'm\n' })
  await w.turn('First', { 'a.txt': 'A\n' })
  w.userWrites({ 'mine.txt': 'MINE\n' })
  const second = await w.turn('Second', { 'b.txt': 'b\n' })

  const begun = w.workspace.index.findTurn(second.turn)?.beginSeq ?? 0
  expect(usersOwn(w)).toEqual([{ seq: expect.any(Number), paths: ['mine.txt'] }])
  expect(usersOwn(w)[0]?.seq).toBeLessThan(begun)
  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': 'A\n', 'mine.txt': 'MINE\n' })
  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'mine.txt': 'MINE\n' })
})

test.each([
  ['shell then shell', [], []],
  ['shell then edit', [], ['b.txt']],
  ['edit then shell', ['a.txt'], []],
  ['edit then edit', ['a.txt'], ['b.txt']],
])('[H12] [A4] what the user saves between two steps is his, not the turn’s: %s', async (_, one, other) => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'mine.txt': 'm\n' })
  const turn = await w.beginTurn('Two steps')
  await w.step(turn, { 'a.txt': 'A\n' }, one.length === 0 ? {} : { paths: one })
  w.userWrites({ 'mine.txt': 'MINE\n' })
  await w.step(turn, { 'b.txt': 'B\n' }, other.length === 0 ? {} : { paths: other })
  const { changes } = await w.workspace.endTurn(turn)

  expect(changes.map(({ path }) => path)).toEqual(['a.txt', 'b.txt'])
  expect(usersOwn(w).map(({ paths }) => paths)).toEqual([['mine.txt']])
  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'mine.txt': 'MINE\n' })
})

test('[H12] the user’s save between two steps of the very file that both edit stays when the turn goes', async () => {
  const text = (first: string, mine: string, last: string) =>
    [first, 'b', 'c', mine, 'e', 'f', last, ''].join('\n')
  await using w = await workspace({ 'a.txt': text('a', 'd', 'g') })
  const turn = await w.beginTurn('Two edits')
  await w.step(turn, { 'a.txt': text('A', 'd', 'g') }, { paths: ['a.txt'] })
  w.userWrites({ 'a.txt': text('A', 'mine', 'g') })
  await w.step(turn, { 'a.txt': text('A', 'mine', 'G') }, { paths: ['a.txt'] })
  await w.workspace.endTurn(turn)

  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': text('a', 'mine', 'g') })
  await w.redo()
  expect(w.files()).toEqual({ 'a.txt': text('A', 'mine', 'G') })
})

test('[H10] [A5] a file that the user saves while an edit step names another one stays his', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  const turn = await w.beginTurn('Edit a')
  const step = await begin(w, turn, 'a.txt')
  w.userWrites({ 'a.txt': 'A\n', 'b.txt': 'mine\n' })
  const changes = await w.workspace.endStep(step)
  await w.workspace.endTurn(turn)

  expect(told(changes)).toEqual(['modify a.txt exact test-agent'])
  expect(usersOwn(w).map(({ paths }) => paths)).toEqual([['b.txt']])
  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'b.txt': 'mine\n' })
})

test('[H10] an edit step and a shell step in flight at once: each gets its own', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  const turn = await w.beginTurn('Both')
  const edit = await begin(w, turn, 'a.txt')
  const shell = await begin(w, turn)
  w.userWrites({ 'a.txt': 'A\n', 'b.txt': 'B\n' })

  expect(told(await w.workspace.endStep(shell))).toEqual(['modify b.txt inferred test-agent'])
  expect(told(await w.workspace.endStep(edit))).toEqual(['modify a.txt exact test-agent'])
})

test('[H13] [A6] with shell steps of two sessions in flight every change says shared, and each is told once', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n' })
  const one = await w.beginTurn('One')
  const first = await begin(w, one)
  w.inSession('agent-2')
  const other = await w.beginTurn('Other')
  const second = await begin(w, other)
  w.userWrites({ 'a.txt': 'A\n' })
  await w.workspace.capture()
  w.userWrites({ 'b.txt': 'B\n' })
  const ofFirst = await w.workspace.endStep(first)
  w.userWrites({ 'c.txt': 'C\n' })
  const ofSecond = await w.workspace.endStep(second)

  expect(told(ofFirst)).toEqual(['modify a.txt shared test-agent', 'modify b.txt shared test-agent'])
  // Alone again, the second one is known to have made the third change.
  expect(told(ofSecond)).toEqual(['modify c.txt inferred test-agent'])
  const named = w.workspace.index.findChanges({ paths: ['a.txt', 'b.txt'] as RelPath[], everybody: true })
  expect(named.map(({ certainty }) => certainty)).toEqual(['shared', 'shared'])
})

test('[H13] a turn of another session that reports no steps makes a change shared, too', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  await w.beginTurn('An agent that never tells what it does')
  w.inSession('agent-2')
  const other = await w.beginTurn('Other')
  const changes = await w.step(other, { 'a.txt': 'A\n' })

  expect(told(changes)).toEqual(['modify a.txt shared test-agent'])
})

test('[H13] what an edit step names stays exact although another session’s shell runs', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  await begin(w, await w.beginTurn('One'))
  w.inSession('agent-2')
  const changes = await w.step(await w.beginTurn('Other'), { 'a.txt': 'A\n' }, { paths: ['a.txt'] })
  expect(told(changes)).toEqual(['modify a.txt exact test-agent'])
})

test('[H14] [A7] capturing what has not changed lists nothing, and the store does not grow', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'dir/b.txt': 'b\n', empty: emptyFolder })
  const size = () => ({
    operations: w.workspace.index.counts().operations,
    packs: w.workspace.engine.objects.packs().map((pack) => pack.bytes),
  })
  const before = size()
  for (let time = 1; time <= 3; time += 1) expect((await w.workspace.capture()).changes).toEqual([])
  expect(size()).toEqual(before)
})

test('[H15] [A8] 64 rewrites of equal size, right after each other, are all seen', async () => {
  await using w = await workspace({ 'a.txt': 'v00\n' })
  const descriptor = openSync(w.pathOf('a.txt'), 'r+')
  for (let version = 1; version <= 64; version += 1) {
    const bytes = `v${String(version).padStart(2, '0')}\n`
    writeSync(descriptor, bytes, 0)
    const { changes, snapshot } = await w.workspace.capture()
    expect(changes.map(({ path }) => path)).toEqual(['a.txt'])
    const leaf = w.workspace.engine.objects.readTree(snapshot)[0]
    expect(w.workspace.engine.objects.readBlob(leaf?.id as never).toString()).toBe(bytes)
  }
  closeSync(descriptor)
})

test('[H15] a rewrite of equal size whose time was set back is seen', async () => {
  await using w = await workspace({ 'a.txt': 'one\n' })
  const { atime, mtime } = statSync(w.pathOf('a.txt'))
  await new Promise((resolve) => setTimeout(resolve, 60))
  await w.workspace.capture()
  w.userWrites({ 'a.txt': 'two\n' })
  utimesSync(w.pathOf('a.txt'), atime, mtime)
  expect(told((await w.workspace.capture()).changes)).toEqual(['modify a.txt exact user'])
})

test('[H16] [A9] a touched file, and one changed and changed back within a step, are no changes', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  const changes = await w.step(await w.beginTurn('Nothing'), () => {
    utimesSync(w.pathOf('a.txt'), new Date(), new Date())
    w.userWrites({ 'b.txt': 'B\n' })
    w.userWrites({ 'b.txt': 'b\n', 'c.txt': 'c\n' })
    w.userWrites({ 'c.txt': null })
  })
  expect(changes).toEqual([])
})

test.each([[[]], [['a.txt', 'new.txt']]])(
  '[H17] [A10] the before-image is from before the first write of a fast tool that names %j',
  async (paths) => {
    await using w = await workspace({ 'a.txt': 'v0\n' })
    const turn = await w.beginTurn('Fast')
    w.userWrites({ 'a.txt': 'v1\n' }) // the user, a moment before the step
    const step = await begin(w, turn, ...paths)
    w.userWrites({ 'a.txt': 'v2\n', 'new.txt': 'n\n' })
    await w.workspace.endStep(step)
    await w.workspace.endTurn(turn)

    await w.undo()
    expect(w.files()).toEqual({ 'a.txt': 'v1\n' })
  },
)

test('[H18] [A11] a step that never ends is closed with its turn by the next turn, and can be undone', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  const dead = await w.beginTurn('Dies')
  await begin(w, dead)
  w.userWrites({ 'a.txt': 'half' })
  await w.reopen()
  const next = await w.turn('Next', { 'b.txt': 'b\n' })

  expect(w.workspace.index.findTurn(dead)?.status).toBe('interrupted')
  expect(w.workspace.index.changesOfTurn(dead).map(({ path }) => path)).toEqual(['a.txt'])
  expect(next.changes.map(({ path }) => path)).toEqual(['b.txt'])
  expect(w.workspace.engine.flights.list()).toEqual([])
  expect((await w.undo({ turns: 2 })).reverted).toEqual([next.turn, dead])
  expect(w.files()).toEqual({ 'a.txt': 'a\n' })
})

test('[H18] [A11] a turn that failed with half-written files can be undone', async () => {
  await using w = await workspace({ 'a.txt': 'whole file\n' })
  const turn = await w.beginTurn('Fails')
  await begin(w, turn, 'a.txt', 'b.txt')
  w.userWrites({ 'a.txt': 'whole f', 'b.txt': '' })
  const { changes } = await w.workspace.endTurn(turn, 'failed')

  expect(told(changes)).toEqual(['modify a.txt exact test-agent', 'add b.txt exact test-agent'])
  expect(w.workspace.index.findTurn(turn)?.status).toBe('failed')
  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': 'whole file\n' })
})

test('[H18] an abandoned turn is closed by undo itself, with what it changed', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  const turn = await w.beginTurn('No steps, no end')
  w.userWrites({ 'a.txt': 'A\n' })

  const outcome = await w.undo()

  expect(outcome.reverted).toEqual([turn])
  expect(w.workspace.index.findTurn(turn)?.status).toBe('interrupted')
  expect(w.files()).toEqual({ 'a.txt': 'a\n' })
})

test('[H18] ending a turn or a step twice changes nothing more', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  const turn = await w.beginTurn('Twice')
  const step = await begin(w, turn)
  w.userWrites({ 'a.txt': 'A\n' })
  const once = await w.workspace.endStep(step)
  w.userWrites({ 'b.txt': 'mine\n' })
  expect(await w.workspace.endStep(step)).toEqual(once)
  const ended = await w.workspace.endTurn(turn)
  const count = w.workspace.index.counts().operations
  expect((await w.workspace.endTurn(turn)).changes).toEqual(ended.changes)
  expect(w.workspace.index.counts().operations).toBe(count)
  expect(ended.changes.map(({ path }) => path)).toEqual(['a.txt'])
})

test('[H19] [A12] a hook delivered twice is one turn and one step, before and after their end', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  const more = { message: 'msg-1' }
  const turn = await w.beginTurn('Once', more)
  expect(await w.beginTurn('Once', more)).toBe(turn)
  const wish = { turn, tool: 'edit', paths: ['a.txt'] as RelPath[], part: 'part-1' }
  const { step } = await w.workspace.beginStep(wish)
  w.userWrites({ 'a.txt': 'A\n' })
  expect((await w.workspace.beginStep(wish)).step).toBe(step)
  await w.workspace.endStep(step)
  expect((await w.workspace.beginStep(wish)).step).toBe(step)
  await w.workspace.endTurn(turn)
  expect(await w.beginTurn('Once', more)).toBe(turn)

  expect(w.workspace.index.turns(w.session)).toHaveLength(1)
  expect(w.workspace.index.steps(turn)).toHaveLength(1)
  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': 'a\n' })
})

test('[H19] the same ids in another session, or in another turn, are others', async () => {
  await using w = await workspace({})
  const one = await w.beginTurn('One', { message: 'm' })
  const part = (turn: TurnId) => w.workspace.beginStep({ turn, tool: 'edit', paths: [], part: 'p' })
  const first = await part(one)
  w.inSession('agent-2')
  const other = await w.beginTurn('Other', { message: 'm' })
  expect(other).not.toBe(one)
  expect(await part(other)).not.toEqual(first)
})

test('[H12] [A13] what a background job writes after the turn is recorded as the user’s, and undo leaves it', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  await w.turn('Starts a job', { 'a.txt': 'A\n', 'log.txt': 'line 1\n' })
  w.userWrites({ 'job.out': 'later\n' })
  expect(told((await w.workspace.capture()).changes)).toEqual(['add job.out exact user'])
  w.userWrites({ 'job.out': 'later and later\n' })

  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'job.out': 'later and later\n' })
})

test('[H20] [A14] a capture finishes while files come and go, loses nothing else, and stores what its ids say', async () => {
  const still = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`still/${at}.txt`, `${at}\n`]))
  await using w = await workspace(still)
  mkdirSync(w.pathOf('churn'))
  const script = `
    const { writeFileSync, rmSync, mkdirSync } = require('node:fs')
    const until = Date.now() + 2500
    process.stdout.write('ready')
    for (let n = 0; Date.now() < until; n = (n + 1) % 30) {
      try { writeFileSync('churn/' + n, String(Math.random()).repeat(n + 1)) } catch {}
      try { mkdirSync('churn/d' + n); writeFileSync('churn/d' + n + '/f', 'x') } catch {}
      try { rmSync('churn/' + ((n + 15) % 30), { force: true }) } catch {}
      try { rmSync('churn/d' + ((n + 15) % 30), { recursive: true, force: true }) } catch {}
    }`
  const child = spawn(process.execPath, ['-e', script], { cwd: w.dir, stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  let captures = 0
  while (child.exitCode === null) {
    await w.workspace.capture()
    captures += 1
    await setImmediate() // a capture that finds nothing waits for nothing, and the end of the child would never be heard
  }
  await w.workspace.capture()

  expect(captures).toBeGreaterThan(3)
  expect((await w.workspace.capture()).changes).toEqual([])
  expect(w.workspace.index.findChanges({ paths: ['still'] as RelPath[], everybody: true })).toEqual([])
  expect(await w.workspace.doctor()).toEqual([])
})

test('[H21] a turn that reports no step is one inferred step; once it reports one, the rest is the user’s', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  const silent = await w.beginTurn('Silent')
  w.userWrites({ 'a.txt': 'A\n' })
  expect(told((await w.workspace.endTurn(silent)).changes)).toEqual(['modify a.txt inferred test-agent'])

  const telling = await w.beginTurn('Telling')
  w.userWrites({ 'mine.txt': 'm\n' })
  await w.step(telling, { 'b.txt': 'b\n' })
  w.userWrites({ 'mine-too.txt': 'm\n' })
  expect(told((await w.workspace.endTurn(telling)).changes)).toEqual(['add b.txt inferred test-agent'])
  await w.undo({ turns: 2 })
  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'mine-too.txt': 'm\n', 'mine.txt': 'm\n' })
})

test('[H22] a folder that the user emptied in the same look stays his when the agent’s turn goes', async () => {
  await using w = await workspace({ 'his/last.txt': 'l\n', 'a.txt': 'a\n' })
  const turn = await w.beginTurn('Edit a')
  const step = await begin(w, turn, 'a.txt')
  w.userWrites({ 'a.txt': 'A\n', 'his/last.txt': null })
  // Closed by a look at everything, which finds both at once.
  await w.workspace.capture()
  await w.workspace.endStep(step)
  await w.workspace.endTurn(turn)

  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': 'a\n', his: '/' })
})

test('[H22] a private folder that the user made in the same look keeps its bits when the agent’s turn goes', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  const turn = await w.beginTurn('Edit a')
  const step = await begin(w, turn, 'a.txt')
  w.userWrites({ 'a.txt': 'A\n', 'private/p.txt': 'p\n', 'shut/inner': emptyFolder })
  for (const name of ['private', 'shut', 'shut/inner']) chmodSync(w.pathOf(name), 0o700)
  await w.workspace.capture()
  const changes = await w.workspace.endStep(step)
  await w.workspace.endTurn(turn)

  expect(told(changes)).toEqual(['modify a.txt exact test-agent'])
  const outcome = await w.undo()
  expect(outcome.files.map(({ path }) => path)).toEqual(['a.txt'])
  for (const name of ['private', 'shut', 'shut/inner'])
    expect(statSync(w.pathOf(name)).mode & 0o777).toBe(0o700)
})

test('[H12] nothing that Unturn itself writes becomes anybody’s change', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'dir/b.txt': 'b\n', keep: emptyFolder })
  await w.turn('Mix', { 'a.txt': null, 'dir/b.txt': null, 'x/y.txt': 'y\n', 'keep/k.txt': 'k\n' })
  for (const move of [() => w.undo(), () => w.redo(), () => w.undo()]) {
    await move()
    expect((await w.workspace.capture()).changes).toEqual([])
    await w.reopen()
    expect((await w.workspace.capture()).changes).toEqual([])
  }
  expect(existsSync(w.pathOf('x'))).toBe(false)
})

test('[H12] an undo by another process while a shell step is in flight is not taken for the step’s work', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  await w.turn('First', { 'a.txt': 'A\n' })
  w.inSession('agent-2')
  const turn = await w.beginTurn('Running')
  const step = await begin(w, turn)
  writeFileSync(w.pathOf('b.txt'), 'b\n')
  w.inSession('agent-1')
  await w.undo()
  const changes = await w.workspace.endStep(step)
  expect(told(changes)).toEqual(['add b.txt inferred test-agent'])
  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
})

test('[H18] a step that arrives after its turn was closed and undone is kept with that turn, and can be taken out', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  const turn = await w.beginTurn('Between two calls')
  await w.step(turn, { 'a.txt': 'A\n' })
  await w.undo()
  const late = await w.step(turn, { 'late.txt': 'l\n' })
  expect(told(late)).toEqual(['add late.txt inferred test-agent'])
  await w.rollback({ turns: [turn] })
  expect(w.files()).toEqual({ 'a.txt': 'a\n' })
  await w.redo()
  expect(w.files()).toEqual({ 'a.txt': 'A\n' })
})

test('[H46] a step of an unknown turn, and the end of an unknown step, are refused', async () => {
  await using w = await workspace({})
  const count = w.workspace.index.counts().operations
  expect(await failureOf(begin(w, 'tnone' as TurnId))).toBe('unknown-id')
  expect(await failureOf(w.workspace.endStep('snone' as StepId))).toBe('unknown-id')
  expect(await failureOf(w.workspace.endTurn('tnone' as TurnId))).toBe('unknown-id')
  expect(w.workspace.index.counts().operations).toBe(count)
  expect(w.workspace.engine.flights.list()).toEqual([])
})
