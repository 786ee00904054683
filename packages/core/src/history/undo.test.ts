import { lstatSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isFailure } from '../errors.ts'
import { failureOf } from '../testing/honest.ts'
import { emptyFolder, type Files, linkTo, withMode, workspace } from '../testing/workspace.ts'
import type { RelPath } from '../values.ts'

test('[H1] [B1] undo puts back the old bytes and hands the prompt back', async () => {
  await using w = await workspace({ 'a.txt': 'one\n' })
  const { turn, changes } = await w.turn('Shout "it"', { 'a.txt': 'ONE\n' })
  expect(
    changes.map(({ path, kind, additions, deletions, certainty }) => ({
      path,
      kind,
      additions,
      deletions,
      certainty,
    })),
  ).toEqual([{ path: 'a.txt', kind: 'modify', additions: 1, deletions: 1, certainty: 'inferred' }])

  const outcome = await w.undo()

  expect(w.files()).toEqual({ 'a.txt': 'one\n' })
  expect(outcome).toMatchObject({ kind: 'done', reverted: [turn], prompt: 'Shout "it"', head: null })
  expect(outcome.files).toEqual([{ path: 'a.txt', action: 'write', merged: false }])
})

test('[P3] [H7] undo keeps the line that the user added below the edit', async () => {
  await using w = await workspace({ 'a.txt': 'one\ntwo\nthree\n' })
  await w.turn('Shout', { 'a.txt': 'ONE\ntwo\nthree\n' })
  w.userWrites({ 'a.txt': 'ONE\ntwo\nthree\nfour\n' })

  const outcome = await w.undo()

  expect(w.files()).toEqual({ 'a.txt': 'one\ntwo\nthree\nfour\n' })
  expect(outcome.files).toEqual([{ path: 'a.txt', action: 'write', merged: true }])
})

test('[H1] [B3] [C1] a mixed turn goes out and comes back as it was', async () => {
  await using w = await workspace({
    'keep.txt': 'k\n',
    'old.txt': 'old\n'.repeat(10),
    'moved.txt': 'moved\n'.repeat(10),
    'run.sh': withMode('#!/bin/sh\n', 0o644),
    link: linkTo('keep.txt'),
  })
  const before = w.files({ modes: true })
  await w.turn('Mix', {
    'old.txt': null,
    'moved.txt': null,
    'dir/renamed.txt': 'moved\n'.repeat(10),
    'x/y/z/deep.txt': 'deep\n',
    'run.sh': withMode('#!/bin/sh\n', 0o755),
    link: linkTo('run.sh'),
  })
  const after = w.files({ modes: true })

  await w.undo()
  expect(w.files({ modes: true })).toEqual(before)
  await w.redo()
  expect(w.files({ modes: true })).toEqual(after)
})

test('[H2] [B2] folders that the turn made go with its file; a folder that was there stays', async () => {
  await using w = await workspace({ 'there/old.txt': 'o\n', bare: emptyFolder })
  const before = w.files({ modes: true })
  await w.turn('Deep', {
    'x/y/z/deep.txt': 'd\n',
    'there/new.txt': 'n\n',
    'bare/b.txt': 'b\n',
    'x/empty/er': emptyFolder,
  })

  const outcome = await w.undo()

  expect(w.files({ modes: true })).toEqual(before)
  expect(outcome.files.map(({ path, action }) => `${action} ${path}`)).toEqual([
    'delete bare/b.txt',
    'delete there/new.txt',
    'delete x/empty',
    'delete x/empty/er',
    'delete x/y/z/deep.txt',
  ])
})

test('[H2] a folder that the turn made stays with what nobody captured in it, and is not told as deleted', async () => {
  await using w = await workspace({ '.gitignore': '*.log\n' })
  await w.turn('Makes folders', { 'logs/run.log': 'l\n', 'both/run.log': 'l\n', 'both/a.txt': 'a\n' })

  const outcome = await w.undo()

  expect(w.files()).toEqual({ '.gitignore': '*.log\n', 'logs/run.log': 'l\n', 'both/run.log': 'l\n' })
  expect(outcome.files.map(({ path }) => path)).toEqual(['both/a.txt'])
  expect(outcome.notUndone.skipped.map(({ path }) => path)).toEqual(['both/run.log', 'logs/run.log'])
  expect((await w.workspace.capture()).changes).toEqual([])
  await w.redo()
  expect(w.files()).toMatchObject({ 'both/a.txt': 'a\n', 'both/run.log': 'l\n', 'logs/run.log': 'l\n' })
})

test('[H3] [B4] 500 neighbours of the edited file keep inode and time', async () => {
  const names = Array.from({ length: 500 }, (_, at) => `${at % 20}/n${at}.txt`)
  await using w = await workspace(Object.fromEntries(names.map((name) => [name, `${name}\n`])))
  const marks = () =>
    names.map((name) => {
      const { ino, mtimeNs, ctimeNs } = lstatSync(w.pathOf(name), { bigint: true })
      return `${ino} ${mtimeNs} ${ctimeNs}`
    })
  const before = marks()
  await w.turn('Edit one', { '0/edited.txt': 'e\n', '3/n3.txt': 'changed\n' })
  const [, , , edited, ...others] = marks()

  const outcome = await w.undo()

  expect(outcome.files.map(({ path }) => path)).toEqual(['0/edited.txt', '3/n3.txt'])
  const [first, second, third, back, ...rest] = marks()
  expect([first, second, third, ...rest]).toEqual([...before.slice(0, 3), ...others])
  expect(back).not.toBe(edited)
})

test('[H1] [B5] three steps on one file go back to the first version, in one write', async () => {
  await using w = await workspace({ 'a.txt': 'v1\n' })
  const turn = await w.beginTurn('Three')
  for (const version of ['v2\n', 'v3\n', 'v4\n'])
    await w.step(turn, { 'a.txt': version }, { paths: ['a.txt'] })
  await w.workspace.endTurn(turn)

  const outcome = await w.undo()

  expect(w.files()).toEqual({ 'a.txt': 'v1\n' })
  expect(outcome.files).toEqual([{ path: 'a.txt', action: 'write', merged: false }])
})

test('[H4] [H6] [B6] undo goes back turn by turn, and then says that there is nothing left', async () => {
  await using w = await workspace({ 'a.txt': 'v0\n' })
  for (const version of ['v1\n', 'v2\n', 'v3\n']) await w.turn(version, { 'a.txt': version })
  for (const version of ['v2\n', 'v1\n', 'v0\n']) {
    await w.undo()
    expect(w.files()).toEqual({ 'a.txt': version })
  }
  const count = w.workspace.index.counts().operations
  expect(await failureOf(w.undo())).toBe('nothing-to-undo')
  expect(w.files()).toEqual({ 'a.txt': 'v0\n' })
  expect(w.workspace.index.counts().operations).toBe(count)
})

test('[H4] [B7] two turns at once are the same as two undos, in one operation', async () => {
  const turns: readonly Files[] = [
    { 'a.txt': '1\n' },
    { 'a.txt': '2\n', 'b/c.txt': 'c\n' },
    { 'a.txt': null, 'b/c.txt': 'C\n', d: linkTo('b') },
  ]
  await using apart = await workspace({ 'a.txt': '0\n' })
  await using w = await workspace({ 'a.txt': '0\n' })
  for (const files of turns) await apart.turn('x', files)
  const ids = []
  for (const files of turns) ids.push((await w.turn('x', files)).turn)
  await apart.undo()
  await apart.undo()
  const count = w.workspace.index.counts().operations

  const outcome = await w.undo({ turns: 2 })

  expect(w.files({ modes: true })).toEqual(apart.files({ modes: true }))
  expect(outcome.reverted).toEqual([ids[2], ids[1]])
  expect(outcome.head).toBe(ids[0])
  expect(w.workspace.index.counts().operations).toBe(count + 1)
  // More than there are takes what is there (R6).
  expect((await w.undo({ turns: 99 })).reverted).toEqual([ids[0]])
  expect(w.files()).toEqual({ 'a.txt': '0\n' })
})

test('[H4] [B8] undo to a turn takes that one and all later ones out, and hands its prompt back', async () => {
  await using w = await workspace({})
  const add = async (n: number) => (await w.turn(`Prompt ${n}`, { [`${n}.txt`]: `${n}\n` })).turn
  const turns = [await add(1), await add(2), await add(3), await add(4)] as const

  const outcome = await w.undo({ to: turns[1] })

  expect(w.files()).toEqual({ '1.txt': '1\n' })
  expect(outcome).toMatchObject({
    reverted: [turns[3], turns[2], turns[1]],
    prompt: 'Prompt 2',
    head: turns[0],
  })
  expect(await failureOf(w.undo({ to: turns[2] }))).toBe('nothing-to-undo')
})

test('[H5] [B9] a turn that changed no file is undone: no files, the head moves, the prompt comes back', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  const first = await w.turn('Edit', { 'a.txt': 'A\n' })
  const idle = await w.turn('  Just a question?\n\u2028\u{1f600} ', {})

  const outcome = await w.undo()

  expect(outcome).toMatchObject({
    kind: 'done',
    files: [],
    reverted: [idle.turn],
    head: first.turn,
    prompt: '  Just a question?\n\u2028\u{1f600} ',
  })
  expect(w.files()).toEqual({ 'a.txt': 'A\n' })
})

test('[H6] [B10] without a session, or without turns, undo says so and nothing appears in the workspace', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  w.userWrites({ 'b.txt': 'mine\n' })
  const before = w.files()
  expect(await failureOf(w.undo())).toBe('nothing-to-undo')
  expect(await failureOf(w.redo())).toBe('nothing-to-redo')
  expect(await failureOf(w.rollback({ paths: ['b.txt'] as RelPath[] }))).toBe('nothing-to-roll-back')
  expect(w.files()).toEqual(before)
})

test('[H4] [B11] a file that was made, edited and deleted comes back step by step, and goes at last', async () => {
  await using w = await workspace({ 'other.txt': 'o\n' })
  await w.turn('Make', { 'dir/a.txt': 'made\n' })
  await w.turn('Edit', { 'dir/a.txt': 'edited\n' })
  await w.turn('Delete', { 'dir/a.txt': null, dir: null })
  const states: Record<string, string>[] = []
  for (let n = 0; n < 3; n += 1) {
    await w.undo()
    states.push(w.files())
  }
  expect(states).toEqual([
    { 'other.txt': 'o\n', 'dir/a.txt': 'edited\n' },
    { 'other.txt': 'o\n', 'dir/a.txt': 'made\n' },
    { 'other.txt': 'o\n' },
  ])
})

test('[H1] [B12] 257 changed files are all back and the added one is gone', async () => {
  const files = (text: string) =>
    Object.fromEntries(Array.from({ length: 257 }, (_, at) => [`f${at}.txt`, `${text} ${at}\n`]))
  await using w = await workspace(files('old'))
  const { changes } = await w.turn('All', { ...files('new'), 'added.txt': 'a\n' })
  expect(changes).toHaveLength(258)

  const outcome = await w.undo()

  expect(outcome.files).toHaveLength(258)
  expect(w.files()).toEqual(files('old'))
})

test('[H8] [B13] with a step in flight undo is refused; asked to go ahead, it closes the turn and takes it out', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  const turn = await w.beginTurn('Running')
  const { step } = await w.workspace.beginStep({ turn, tool: 'shell', paths: [] })
  w.userWrites({ 'a.txt': 'A\n', 'b.txt': 'b\n' })

  for (const move of [() => w.undo(), () => w.redo(), () => w.restore(turn)])
    expect(await failureOf(move())).toBe('turn-running')
  expect(w.files()).toEqual({ 'a.txt': 'A\n', 'b.txt': 'b\n' })
  expect(w.workspace.index.findTurn(turn)?.status).toBe('open')

  const outcome = await w.undo({ evenIfRunning: true })

  expect(outcome.reverted).toEqual([turn])
  expect(w.workspace.index.findTurn(turn)?.status).toBe('interrupted')
  expect(w.files()).toEqual({ 'a.txt': 'a\n' })
  // The agent's own end arrives late, and takes nothing of the user's with it.
  w.userWrites({ 'mine.txt': 'm\n' })
  await w.workspace.endStep(step)
  await w.workspace.endTurn(turn)
  expect(w.workspace.index.findTurn(turn)?.status).toBe('interrupted')
  await w.redo()
  expect(w.files()).toEqual({ 'a.txt': 'A\n', 'b.txt': 'b\n', 'mine.txt': 'm\n' })
})

test('[H8] a dry run that is asked to go ahead leaves the running turn running', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  const turn = await w.beginTurn('Running')
  const { step } = await w.workspace.beginStep({ turn, tool: 'shell', paths: [] })
  w.userWrites({ 'a.txt': 'A\n' })

  const planned = await w.undo({ evenIfRunning: true, dryRun: true })

  expect(planned.files.map(({ path }) => path)).toEqual(['a.txt'])
  expect(w.workspace.index.findTurn(turn)?.status).toBe('open')
  w.userWrites({ 'b.txt': 'b\n' })
  expect((await w.workspace.endStep(step)).map(({ path }) => path)).toEqual(['a.txt', 'b.txt'])
})

test('[H8] a turn whose agent lives is running, and one whose agent died is not', async () => {
  const alive = new Set([4711])
  await using w = await workspace({ 'a.txt': 'a\n' }, { isAlive: (pid) => alive.has(pid) })
  const turn = await w.beginTurn('With a process', { pid: 4711 })
  await w.step(turn, { 'a.txt': 'A\n' })
  const refused = await w.undo().catch((error: unknown) => error)
  expect(isFailure(refused, 'turn-running') && refused.data).toMatchObject({ turn })
  alive.clear()
  expect((await w.undo()).reverted).toEqual([turn])
  expect(w.files()).toEqual({ 'a.txt': 'a\n' })
})

test('[H8] a running turn of another session does not stop an undo in this one', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  await w.turn('Done', { 'a.txt': 'A\n' })
  w.inSession('agent-2')
  await w.workspace.beginStep({ turn: await w.beginTurn('Running'), tool: 'shell', paths: [] })
  w.inSession('agent-1')
  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': 'a\n' })
})

test('[H9] [N3] undo names the commands that ran and the commits that were made, although all files came back', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' }, { git: true })
  w.git('add', '-A')
  w.git('commit', '-q', '-m', 'first')
  const turn = await w.beginTurn('Commit')
  await w.step(turn, { 'a.txt': 'A\n' }, { command: 'sed -i s/a/A/ a.txt' })
  await w.step(turn, () => void w.git('commit', '-q', '-a', '-m', 'by the agent'), { command: 'git commit' })
  await w.step(turn, {}, { command: 'curl https://example.org' })
  await w.workspace.endTurn(turn)
  const head = w.git('rev-parse', 'HEAD')

  const outcome = await w.undo()

  expect(w.files()).toEqual({ 'a.txt': 'a\n' })
  expect(outcome.notUndone.commands).toEqual([
    'sed -i s/a/A/ a.txt',
    'git commit',
    'curl https://example.org',
  ])
  expect(outcome.notUndone.commits).toEqual([{ id: head, subject: 'by the agent' }])
  expect(w.git('rev-parse', 'HEAD')).toBe(head)
})

test('[H9] [N6] an undo whose changes are gone already says that there is nothing to do with the files', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  const { turn } = await w.turn('Edit', { 'a.txt': 'A\n' })
  w.userWrites({ 'a.txt': 'a\n' })
  const outcome = await w.undo()
  expect(outcome).toMatchObject({ kind: 'done', files: [], conflicts: [], reverted: [turn], head: null })
})

test('[H4] [B14] what a turn did inside and outside of a subfolder is one turn', async () => {
  await using w = await workspace({ 'sub/a.txt': 'a\n', 'b.txt': 'b\n' })
  await w.turn('Both', { 'sub/a.txt': 'A\n', 'b.txt': 'B\n' })
  await w.undo()
  expect(w.files()).toEqual({ 'sub/a.txt': 'a\n', 'b.txt': 'b\n' })
})

test('[H4] [D12] with the clock set back an hour the turn recorded last goes first', async () => {
  let clock = Date.parse('2026-01-01T12:00:00Z')
  await using w = await workspace({ 'a.txt': 'v0\n' }, { now: () => (clock += 1_000) })
  await w.turn('One', { 'a.txt': 'v1\n' })
  clock -= 3_600_000
  const second = await w.turn('Two', { 'a.txt': 'v2\n' })
  expect((await w.undo()).reverted).toEqual([second.turn])
  expect(w.files()).toEqual({ 'a.txt': 'v1\n' })
  clock -= 3_600_000
  await w.redo()
  await w.reopen()
  await w.undo({ turns: 2 })
  expect(w.files()).toEqual({ 'a.txt': 'v0\n' })
})

test('[H9] [N2] a file and an empty folder that changed places are told once', async () => {
  await using w = await workspace({ 'was-file': 'f\n', 'was-folder': emptyFolder })
  await w.turn('Swap', { 'was-file': emptyFolder, 'was-folder': 'f\n' })
  const outcome = await w.undo()
  expect(w.files()).toEqual({ 'was-file': 'f\n', 'was-folder': '/' })
  expect(outcome.files.map(({ path }) => path)).toEqual(['was-file', 'was-folder'])
})

test('[H9] [P8] an undo after nothing but an ignored file appeared leaves a whole store', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', '.gitignore': '*.log\n' })
  await w.turn('Edit', { 'a.txt': 'A\n' })
  w.userWrites({ 'x.log': 'x\n' })
  await w.undo()
  await w.reopen()
  await w.redo()
  expect(w.files()).toMatchObject({ 'a.txt': 'A\n', 'x.log': 'x\n' })
  expect(await w.workspace.doctor()).toEqual([])
})
