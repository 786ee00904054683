import { expect, test } from 'vitest'
import { failureOf } from '../testing/honest.ts'
import { emptyFolder, type Fixture, linkTo, withMode, workspace } from '../testing/workspace.ts'
import type { OpId, RelPath, StepId, TurnId } from '../values.ts'
import { resolveStep, resolveTurn } from './resolve.ts'
import { statusOf, turnViews } from './views.ts'

const text = (first: string, last: string) => [first, 'b', 'c', 'd', 'e', last, ''].join('\n')

const add = async (w: Fixture, n: number) => (await w.turn(`Prompt ${n}`, { [`${n}.txt`]: `${n}\n` })).turn

async function threeSteps(
  w: Fixture,
): Promise<{ readonly turn: TurnId; readonly steps: readonly [StepId, StepId, StepId] }> {
  const turn = await w.beginTurn('Three steps')
  const step = async (n: number): Promise<StepId> => {
    const { step } = await w.workspace.beginStep({ turn, tool: 'shell', paths: [] })
    w.userWrites({ [`s${n}.txt`]: `${n}\n`, 'all.txt': `v${n}\n` })
    await w.workspace.endStep(step)
    return step
  }
  const steps = [await step(1), await step(2), await step(3)] as const
  await w.workspace.endTurn(turn)
  return { turn, steps }
}

test('[H40] [D1] restore goes to before a turn, or to after it', async () => {
  await using w = await workspace({})
  const turns = [await add(w, 1), await add(w, 2), await add(w, 3)] as const
  expect((await w.restore(turns[1])).reverted).toEqual([turns[2], turns[1]])
  expect(w.files()).toEqual({ '1.txt': '1\n' })
  expect((await w.restore(turns[1], 'after')).redone).toEqual([turns[1]])
  expect(w.files()).toEqual({ '1.txt': '1\n', '2.txt': '2\n' })
  expect(await w.restore(turns[1], 'after')).toMatchObject({ kind: 'done', files: [], reverted: [] })
})

test('[H41] [D2] restore goes inside a turn, to before or after a step', async () => {
  await using w = await workspace({ 'all.txt': 'v0\n' })
  const { turn, steps } = await threeSteps(w)
  const one = { 's1.txt': '1\n', 'all.txt': 'v1\n' }
  const two = { ...one, 's2.txt': '2\n', 'all.txt': 'v2\n' }
  const three = { ...two, 's3.txt': '3\n', 'all.txt': 'v3\n' }

  const outcome = await w.restore(turn, 'before', { step: steps[1] })
  expect(w.files()).toEqual(one)
  expect(outcome).toMatchObject({ reverted: [], head: turn })
  await w.restore(turn, 'after', { step: steps[1] })
  expect(w.files()).toEqual(two)
  await w.redo()
  expect(w.files()).toEqual(three)
  await w.restore(turn, 'before', { step: steps[0] })
  expect(w.files()).toEqual({ 'all.txt': 'v0\n' })
  await w.restore(turn, 'after', { step: steps[2] })
  expect(w.files()).toEqual(three)
  await w.restore(turn, 'after', { step: steps[0] })
  expect((await w.undo()).reverted).toEqual([turn])
  expect(w.files()).toEqual({ 'all.txt': 'v0\n' })
  await w.redo()
  expect(w.files()).toEqual(three)
})

test('[H41] a turn begun from inside another one stands on the steps that were in', async () => {
  await using w = await workspace({ 'all.txt': 'v0\n' })
  const { turn, steps } = await threeSteps(w)
  await w.restore(turn, 'after', { step: steps[0] })
  const branch = await w.turn('From there', { 'branch.txt': 'b\n' })
  await w.undo()
  expect(w.files()).toEqual({ 's1.txt': '1\n', 'all.txt': 'v1\n' })
  expect((await w.redo()).redone).toEqual([branch.turn])
  await w.restore(turn, 'after')
  expect(w.files()).toEqual({ 's1.txt': '1\n', 's2.txt': '2\n', 's3.txt': '3\n', 'all.txt': 'v3\n' })
  await w.restore(branch.turn, 'after')
  expect(w.files()).toEqual({ 's1.txt': '1\n', 'all.txt': 'v1\n', 'branch.txt': 'b\n' })
  await w.undo({ turns: 2 })
  expect(w.files()).toEqual({ 'all.txt': 'v0\n' })
})

test('[H42] [D3] [D4] a turn begun after an undo is a branch, and restore goes from one branch to the other', async () => {
  await using w = await workspace({})
  const first = await add(w, 1)
  const second = await add(w, 2)
  await w.undo()
  const third = await add(w, 3)

  const views = turnViews(w.workspace.engine, w.session)
  expect(views.map((view) => [view.turn.id, view.turn.parent.turn, view.isReverted])).toEqual([
    [first, null, false],
    [second, first, true],
    [third, first, false],
  ])
  expect(statusOf(w.workspace.engine).sessions[0]?.reverted).toEqual([second])
  const count = w.workspace.index.counts().operations

  const outcome = await w.restore(second, 'after')

  expect(w.files()).toEqual({ '1.txt': '1\n', '2.txt': '2\n' })
  expect(outcome).toMatchObject({ reverted: [third], redone: [second], head: second })
  expect(w.workspace.index.counts().operations).toBe(count + 1)
  await w.restore(third, 'after')
  expect(w.files()).toEqual({ '1.txt': '1\n', '3.txt': '3\n' })
})

test('[H42] [D5] both branches rewrote one line: going across and back gives each its own text', async () => {
  await using w = await workspace({ 'a.txt': text('a', 'f') })
  const one = await w.turn('One', { 'a.txt': text('one', 'f') })
  await w.undo()
  const two = await w.turn('Two', { 'a.txt': text('two', 'f') })
  for (let time = 0; time < 2; time += 1) {
    expect((await w.restore(one.turn, 'after')).conflicts).toEqual([])
    expect(w.files()).toEqual({ 'a.txt': text('one', 'f') })
    expect((await w.restore(two.turn, 'after')).conflicts).toEqual([])
    expect(w.files()).toEqual({ 'a.txt': text('two', 'f') })
  }
})

test('[H42] [D6] a user’s edit stays across branches; on the same line nothing is changed', async () => {
  await using w = await workspace({ 'a.txt': text('a', 'f') })
  const one = await w.turn('One', { 'a.txt': text('one', 'f') })
  await w.undo()
  const two = await w.turn('Two', { 'a.txt': text('two', 'f') })
  w.userWrites({ 'a.txt': text('two', 'mine'), 'mine.txt': 'm\n' })
  await w.restore(one.turn, 'after')
  expect(w.files()).toEqual({ 'a.txt': text('one', 'mine'), 'mine.txt': 'm\n' })
  w.userWrites({ 'a.txt': text('MINE', 'mine') })
  const outcome = await w.restore(two.turn, 'after')
  expect(outcome).toMatchObject({ kind: 'conflicts', head: one.turn })
  expect(outcome.conflicts.map(({ path }) => path)).toContain('a.txt')
  expect(w.files()).toEqual({ 'a.txt': text('MINE', 'mine'), 'mine.txt': 'm\n' })
})

test('[H43] [D7] exact: everything as it was then, but what was never captured; and all of it comes back', async () => {
  await using w = await workspace(
    {
      'a.txt': 'a\n',
      'run.sh': withMode('#!/bin/sh\n', 0o755),
      '.gitignore': '*.log\n/big\n',
      bare: emptyFolder,
      link: linkTo('a.txt'),
    },
    { maxUntrackedFileSize: 100 },
  )
  const first = await w.turn('One', { 'a.txt': 'A\n', 'one/1.txt': '1\n' })
  const atFirst = w.files({ modes: true })
  await w.turn('Two', { 'a.txt': 'AA\n', 'one/1.txt': null, link: linkTo('run.sh') })
  w.userWrites({
    'a.txt': 'mine\n',
    'mine/m.txt': 'm\n',
    'run.sh': withMode('#!/bin/bash\n', 0o600),
    bare: null,
  })
  w.inSession('agent-2')
  await w.turn('Other', { 'other.txt': 'o\n' })
  w.inSession('agent-1')
  const uncaptured = { 'x.log': 'ignored\n', 'large.bin': 'x'.repeat(101), 'mine/y.log': 'ignored\n' }
  w.userWrites(uncaptured)
  const before = w.files({ modes: true })

  const outcome = await w.restore(first.turn, 'after', { exact: true })

  const {
    'x.log': log,
    'large.bin': large,
    'mine/y.log': inner,
    'mine/': folder,
    ...rest
  } = w.files({ modes: true })
  expect(rest).toEqual(atFirst)
  expect([log, large, inner, folder]).toEqual([
    before['x.log'],
    before['large.bin'],
    before['mine/y.log'],
    before['mine/'],
  ])
  await w.rollback({ ops: [outcome.op as OpId] })
  expect(w.files({ modes: true })).toEqual(before)
  expect((await w.workspace.capture()).changes).toEqual([])
})

test('[H43] [P4] exact does not delete a file that stood there uncaptured at that time', async () => {
  await using w = await workspace({
    'a.txt': 'a\n',
    '.gitignore': 'secret\nfolder/\n',
    secret: 's\n',
    'folder/f.txt': 'f\n',
  })
  const first = await w.turn('One', { 'a.txt': 'A\n' })
  const turn = await w.beginTurn('Names ignored files')
  await w.step(turn, { secret: 'S\n' }, { paths: ['secret'] })
  await w.step(turn, { 'folder/f.txt': 'F\n' }, { paths: ['folder/f.txt'] })
  await w.workspace.endTurn(turn)

  await w.restore(first.turn, 'before', { exact: true })

  expect(w.files()).toEqual({
    'a.txt': 'a\n',
    '.gitignore': 'secret\nfolder/\n',
    secret: 's\n',
    'folder/f.txt': 'f\n',
  })
})

test('[H43] exact to before a turn, and into a turn, are exact too', async () => {
  await using w = await workspace({ 'all.txt': 'v0\n', 'mine.txt': 'm\n' })
  const start = w.files()
  const { turn, steps } = await threeSteps(w)
  w.userWrites({ 'mine.txt': null, 'more.txt': 'more\n' })
  await w.restore(turn, 'after', { step: steps[1], exact: true })
  expect(w.files()).toEqual({ 's1.txt': '1\n', 's2.txt': '2\n', 'all.txt': 'v2\n', 'mine.txt': 'm\n' })
  await w.redo()
  expect(w.files()).toMatchObject({ 's3.txt': '3\n', 'all.txt': 'v3\n' })
  const { op } = await w.restore(turn, 'before', { exact: true })
  expect(w.files()).toEqual(start)
  await w.rollback({ ops: [op as OpId] })
  expect(w.files()).toMatchObject({ 's3.txt': '3\n', 'all.txt': 'v3\n' })
  expect(w.workspace.index.findSession(w.session)?.head).toEqual({ turn })
})

test('[H44] [D8] restoring one session to its beginning leaves the other’s files, head and redo', async () => {
  await using w = await workspace({ 'a.txt': text('a', 'f') })
  const one = await w.turn('One', { 'a.txt': text('one', 'f'), 'one.txt': '1\n' })
  w.inSession('agent-2')
  const other = await w.turn('Other', { 'a.txt': text('one', 'two'), 'two.txt': '2\n' })
  await w.turn('Undone', { 'undone.txt': 'u\n' })
  await w.undo()
  const head = w.workspace.index.findSession(w.session)?.head
  expect(head).toEqual({ turn: other.turn })

  w.inSession('agent-1')
  await w.restore(one.turn)

  expect(w.files()).toEqual({ 'a.txt': text('a', 'two'), 'two.txt': '2\n' })
  w.inSession('agent-2')
  expect(w.workspace.index.findSession(w.session)?.head).toEqual(head)
  await w.redo()
  expect(w.files()).toEqual({ 'a.txt': text('a', 'two'), 'two.txt': '2\n', 'undone.txt': 'u\n' })
})

test('[H45] [D9] cleanup removes reverted turns for good and leaves the files', async () => {
  await using w = await workspace({})
  const first = await add(w, 1)
  expect(await w.workspace.cleanup(w.session)).toEqual({ turns: [], steps: [] })
  const count = w.workspace.index.counts().operations
  const second = await add(w, 2)
  await w.undo()
  const before = w.files()

  expect(await w.workspace.cleanup(w.session)).toEqual({ turns: [second], steps: [] })

  expect(w.files()).toEqual(before)
  expect(turnViews(w.workspace.engine, w.session).map(({ turn }) => turn.id)).toEqual([first])
  expect(await failureOf(w.redo())).toBe('nothing-to-redo')
  expect(await failureOf(w.restore(second, 'after'))).toBe('unknown-id')
  expect(w.workspace.index.counts().operations).toBeGreaterThan(count)
  const again = w.workspace.index.counts().operations
  expect(await w.workspace.cleanup(w.session)).toEqual({ turns: [], steps: [] })
  expect(w.workspace.index.counts().operations).toBe(again)
  expect(await failureOf(w.rollback({ turns: [second] }))).toBe('nothing-to-roll-back')
  await w.reopen()
  await w.undo()
  expect(w.files()).toEqual({})
})

test('[H45] [D10] cleanup inside a turn removes its later steps; the earlier ones can be undone', async () => {
  await using w = await workspace({ 'all.txt': 'v0\n' })
  const { turn, steps } = await threeSteps(w)
  await w.restore(turn, 'after', { step: steps[0] })

  expect(await w.workspace.cleanup(w.session)).toEqual({ turns: [], steps: [steps[1], steps[2]] })

  expect(w.files()).toEqual({ 's1.txt': '1\n', 'all.txt': 'v1\n' })
  expect(w.workspace.index.steps(turn).map(({ id }) => id)).toEqual([steps[0]])
  expect(w.workspace.index.changesOfTurn(turn).map(({ path }) => path)).toEqual(['all.txt', 's1.txt'])
  expect(await failureOf(w.redo())).toBe('nothing-to-redo')
  expect(await failureOf(w.restore(turn, 'after', { step: steps[2] }))).toBe('unknown-id')
  expect((await w.restore(turn, 'after')).files).toEqual([])
  await w.undo()
  expect(w.files()).toEqual({ 'all.txt': 'v0\n' })
  await w.redo()
  expect(w.files()).toEqual({ 's1.txt': '1\n', 'all.txt': 'v1\n' })
  const next = await w.turn('Next', { 'next.txt': 'n\n' })
  await w.undo()
  expect((await w.redo()).redone).toEqual([next.turn])
})

test('[H45] cleanup on a branch that began inside a turn removes that turn’s later steps, too', async () => {
  await using w = await workspace({ 'all.txt': 'v0\n' })
  const { turn, steps } = await threeSteps(w)
  await w.restore(turn, 'after', { step: steps[0] })
  const branch = await w.turn('Branch', { 'b.txt': 'b\n' })
  expect(await w.workspace.cleanup(w.session)).toEqual({ turns: [], steps: [steps[1], steps[2]] })
  expect((await w.undo()).reverted).toEqual([branch.turn])
  expect((await w.redo()).redone).toEqual([branch.turn])
  await w.undo({ turns: 2 })
  expect(w.files()).toEqual({ 'all.txt': 'v0\n' })
  expect((await w.redo({ all: true })).redone).toEqual([turn, branch.turn])
  expect(w.files()).toEqual({ 's1.txt': '1\n', 'all.txt': 'v1\n', 'b.txt': 'b\n' })
})

test('[H46] [D11] the head, the one before and a short id resolve; an unknown or ambiguous one changes nothing', async () => {
  let n = 0
  const ids = ['taa1', 'tab2', 'tb33']
  await using w = await workspace(
    {},
    { newId: (letter) => (letter === 't' ? (ids.shift() ?? '') : `${letter}${n++}`) },
  )
  const turns = [await add(w, 1), await add(w, 2), await add(w, 3)] as const
  const { engine } = w.workspace
  expect(resolveTurn(engine, w.session, '@')).toBe(turns[2])
  expect(resolveTurn(engine, w.session, '@-1')).toBe(turns[1])
  expect(resolveTurn(engine, w.session, 'tb')).toBe(turns[2])
  expect(resolveTurn(engine, w.session, 'tab2')).toBe(turns[1])
  const fails = (typed: string) =>
    failureOf(Promise.resolve().then(() => resolveTurn(engine, w.session, typed)))
  expect(await fails('ta')).toBe('ambiguous-id')
  for (const typed of ['tz', '', '@-3', '@-999999999', 't%', 't_'])
    expect(await fails(typed)).toBe('unknown-id')
  expect(await failureOf(Promise.resolve().then(() => resolveStep(engine, 'szzz')))).toBe('unknown-id')
  const before = w.files()
  expect(await failureOf(w.restore('tnone' as TurnId))).toBe('unknown-id')
  expect(await failureOf(w.undo({ to: 'tnone' as TurnId }))).toBe('unknown-id')
  expect(await failureOf(w.restore(turns[0], 'before', { step: 'snone' as StepId }))).toBe('unknown-id')
  expect(await failureOf(w.rollback({ ops: ['onone' as OpId] }))).toBe('unknown-id')
  w.inSession('agent-2')
  await add(w, 4)
  expect(await failureOf(w.restore(turns[0]))).toBe('unknown-id')
  expect(w.files()).toEqual({ ...before, '4.txt': '4\n' })
})

test('[H40] a path of another turn’s later life is not confused with its first: made, deleted, made again', async () => {
  await using w = await workspace({})
  const made = await w.turn('Make', { 'a.txt': 'first\n' })
  const gone = await w.turn('Delete', { 'a.txt': null })
  const again = await w.turn('Again', { 'a.txt': 'second\n' })
  await w.restore(gone.turn, 'after')
  expect(w.files()).toEqual({})
  await w.restore(made.turn, 'after')
  expect(w.files()).toEqual({ 'a.txt': 'first\n' })
  await w.restore(again.turn, 'after')
  expect(w.files()).toEqual({ 'a.txt': 'second\n' })
  await w.rollback({ paths: ['a.txt'] as RelPath[] })
  expect(w.files()).toEqual({})
})

test('[H41] what the user wrote between two steps stays when a restore goes inside the turn', async () => {
  await using w = await workspace({ 'a.txt': text('a', 'f') })
  const turn = await w.beginTurn('Two steps')
  await w.step(turn, { 'a.txt': text('A', 'f') })
  w.userWrites({ 'a.txt': text('A', 'mine'), 'mine.txt': 'm\n' })
  const [second] = await w.step(turn, { 'b.txt': 'b\n' })
  await w.workspace.endTurn(turn)
  await w.restore(turn, 'before', { step: second?.step as StepId })
  expect(w.files()).toEqual({ 'a.txt': text('A', 'mine'), 'mine.txt': 'm\n' })
  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': text('a', 'mine'), 'mine.txt': 'm\n' })
})
