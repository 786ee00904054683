import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Fs } from '../fs.ts'
import { type Fixture, workspace } from '../testing/workspace.ts'
import type { OpId } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'

/** Seven lines; the three named ones far enough apart to merge. */
const text = (first: string, middle = 'd', last = 'g') =>
  [first, 'b', 'c', middle, 'e', 'f', last, ''].join('\n')

const names = ['1.txt', '2.txt', '3.txt', '4.txt', '5.txt'] as const

const all = (first: string) => Object.fromEntries(names.map((name) => [name, text(first)]))

/** Five files that the agent edited; the user has then written into the same line of the third. */
async function oneOfFiveInConflict(): Promise<Fixture> {
  const w = await workspace(all('old'))
  await w.turn('All five', all('agent'))
  w.userWrites({ '3.txt': text('mine') })
  return w
}

test('[H7] [F1] the user’s other lines of the agent’s file stay, and the file says merged', async () => {
  await using w = await workspace({ 'a.txt': text('a'), 'b.txt': 'b\n' })
  await w.turn('Edit', { 'a.txt': text('A'), 'b.txt': 'B\n' })
  w.userWrites({ 'a.txt': text('A', 'd', 'mine') })
  const outcome = await w.undo()
  expect(w.files()).toEqual({ 'a.txt': text('a', 'd', 'mine'), 'b.txt': 'b\n' })
  expect(outcome.files).toEqual([
    { path: 'a.txt', action: 'write', merged: true },
    { path: 'b.txt', action: 'write', merged: false },
  ])
})

test('[H60] [F2] the same line: the conflict names path, kind and both sides, and every file is unchanged', async () => {
  await using w = await workspace({ 'a.txt': text('old'), 'b.txt': 'b\n' })
  const { turn } = await w.turn('Edit', { 'a.txt': text('agent'), 'b.txt': 'B\n' })
  w.userWrites({ 'a.txt': text('mine') })
  const before = w.files()

  const outcome = await w.undo()

  expect(outcome).toMatchObject({ kind: 'conflicts', head: turn, reverted: [], files: [] })
  expect(outcome.conflicts).toMatchObject([{ path: 'a.txt', kind: 'content', ours: 'mine', theirs: 'old' }])
  expect(w.files()).toEqual(before)
})

test('[H60] neighbouring lines overlap; one untouched line between them is enough to merge', async () => {
  await using w = await workspace({ 'a.txt': '1\n2\n3\n4\n5\n' })
  await w.turn('Edit', { 'a.txt': '1\nTWO\n3\n4\n5\n' })
  w.userWrites({ 'a.txt': '1\nTWO\nmine\n4\n5\n' })
  expect((await w.undo()).kind).toBe('conflicts')
  w.userWrites({ 'a.txt': '1\nTWO\n3\nmine\n5\n' })
  expect((await w.undo()).kind).toBe('done')
  expect(w.files()).toEqual({ 'a.txt': '1\n2\n3\nmine\n5\n' })
})

test('[H60] [F3] one of five in conflict: none of the five is changed', async () => {
  await using w = await oneOfFiveInConflict()
  const outcome = await w.undo()
  expect(outcome.kind).toBe('conflicts')
  expect(outcome.conflicts.map(({ path }) => path)).toEqual(['3.txt'])
  expect(w.files()).toEqual({ ...all('agent'), '3.txt': text('mine') })
})

test('[H61] [F4] keep: four go back, one stays and is listed', async () => {
  await using w = await oneOfFiveInConflict()
  const outcome = await w.undo({ onConflict: 'keep' })
  expect(outcome).toMatchObject({ kind: 'done', head: null, conflicts: [{ path: '3.txt' }] })
  expect(outcome.files.map(({ path }) => path)).toEqual(['1.txt', '2.txt', '4.txt', '5.txt'])
  expect(w.files()).toEqual({ ...all('old'), '3.txt': text('mine') })
  await w.rollback({ ops: [outcome.op as OpId] })
  expect(w.files()).toEqual({ ...all('agent'), '3.txt': text('mine') })
})

test('[H61] [F5] overwrite: the old version is on disk, and the user’s bytes come back', async () => {
  await using w = await oneOfFiveInConflict()
  const outcome = await w.undo({ onConflict: 'overwrite' })
  expect(outcome).toMatchObject({ kind: 'done', conflicts: [{ path: '3.txt' }] })
  expect(w.files()).toEqual(all('old'))
  await w.rollback({ ops: [outcome.op as OpId] })
  expect(w.files()).toEqual({ ...all('agent'), '3.txt': text('mine') })
})

test('[H61] [F6] markers: both sides between markers in that file only, and no marker stays behind', async () => {
  await using w = await oneOfFiveInConflict()
  const outcome = await w.undo({ onConflict: 'markers' })
  expect(outcome).toMatchObject({ kind: 'done', conflicts: [{ path: '3.txt' }] })
  const { '3.txt': marked, ...others } = w.files()
  const { '3.txt': _, ...old } = all('old')
  expect(others).toEqual(old)
  expect(marked).toBe(
    [
      '<<<<<<< current',
      'mine',
      '=======',
      'old',
      '>>>>>>> earlier version',
      ...text('').split('\n').slice(1),
    ].join('\n'),
  )
  await w.rollback({ ops: [outcome.op as OpId] })
  expect(w.files()).toEqual({ ...all('agent'), '3.txt': text('mine') })
})

test('[H62] [F7] a file that the agent made and the user edited, or renamed, is not deleted', async () => {
  await using w = await workspace({})
  await w.turn('Make', { 'made.txt': text('a').repeat(3) })
  w.userWrites({ 'made.txt': text('mine') + text('a').repeat(2) })
  expect((await w.undo()).conflicts).toMatchObject([
    { path: 'made.txt', kind: 'modify-delete', theirs: null },
  ])
  w.userWrites({ 'made.txt': text('a').repeat(3) })
  renameSync(w.pathOf('made.txt'), w.pathOf('renamed.txt'))
  expect((await w.undo()).conflicts).toMatchObject([{ path: 'renamed.txt', kind: 'rename-delete' }])
  expect(w.files()).toEqual({ 'renamed.txt': text('a').repeat(3) })
  const forced = await w.undo({ onConflict: 'overwrite' })
  expect(w.files()).toEqual({})
  await w.rollback({ ops: [forced.op as OpId] })
  expect(w.files()).toEqual({ 'renamed.txt': text('a').repeat(3) })
})

test('[H62] [F8] a file that the agent edited and the user renamed gets its old text under the new name', async () => {
  await using w = await workspace({ 'a.txt': text('old').repeat(3) })
  await w.turn('Edit', { 'a.txt': text('agent') + text('old').repeat(2) })
  renameSync(w.pathOf('a.txt'), w.pathOf('b.txt'))
  await w.undo()
  expect(w.files()).toEqual({ 'b.txt': text('old').repeat(3) })
})

test('[H62] [F9] a deleted file: made by the agent, undo has nothing to do; edited by it, undo is refused', async () => {
  await using w = await workspace({ 'edited.txt': 'old\n' })
  await w.turn('Edit', { 'edited.txt': 'agent\n' })
  await w.turn('Make', { 'made.txt': 'agent\n' })
  w.userWrites({ 'made.txt': null, 'edited.txt': null })
  expect(await w.undo()).toMatchObject({ kind: 'done', files: [] })
  const outcome = await w.undo()
  expect(outcome.conflicts).toMatchObject([
    { path: 'edited.txt', kind: 'modify-delete', ours: null, theirs: 'old\n' },
  ])
  expect(existsSync(w.pathOf('edited.txt'))).toBe(false)
})

test('[H62] [F10] where the agent deleted a file and the user wrote another one, undo is refused; equal bytes are fine', async () => {
  await using w = await workspace({ 'a.txt': 'old\n' })
  await w.turn('Delete', { 'a.txt': null })
  w.userWrites({ 'a.txt': 'mine\n' })
  expect((await w.undo()).conflicts).toMatchObject([{ path: 'a.txt', kind: 'add-add', ours: 'mine\n' }])
  expect(w.files()).toEqual({ 'a.txt': 'mine\n' })
  w.userWrites({ 'a.txt': 'old\n' })
  expect(await w.undo()).toMatchObject({ kind: 'done', files: [] })
})

test('[H62] [F11] the user’s file in a folder that the agent made keeps that folder', async () => {
  await using w = await workspace({})
  await w.turn('Make', { 'dir/deep/a.txt': 'a\n', 'dir/b.txt': 'b\n', 'alone/c.txt': 'c\n' })
  w.userWrites({ 'dir/deep/mine.txt': 'm\n' })
  await w.undo()
  expect(w.files()).toEqual({ 'dir/deep/mine.txt': 'm\n' })
  await w.redo()
  expect(w.files()).toEqual({
    'dir/deep/a.txt': 'a\n',
    'dir/b.txt': 'b\n',
    'alone/c.txt': 'c\n',
    'dir/deep/mine.txt': 'm\n',
  })
})

test('[H63] [P11] [F12] undoing one session leaves the other’s text, head and redo', async () => {
  await using w = await workspace({ 'a.txt': text('a') })
  await w.turn('One', { 'a.txt': text('one') })
  w.inSession('agent-2')
  const two = await w.turn('Two', { 'a.txt': text('one', 'd', 'two') })
  await w.turn('Three', { 'three.txt': '3\n' })
  await w.undo()
  w.inSession('agent-1')
  await w.undo()
  expect(w.files()).toEqual({ 'a.txt': text('a', 'd', 'two') })
  expect(w.workspace.index.findSession('agent-2' as never)?.head).toEqual({ turn: two.turn })
  w.inSession('agent-2')
  await w.redo()
  expect(w.files()).toEqual({ 'a.txt': text('a', 'd', 'two'), 'three.txt': '3\n' })
  await w.undo({ turns: 2 })
  expect(w.files()).toEqual({ 'a.txt': text('a') })
  w.inSession('agent-1')
  await w.redo()
  expect(w.files()).toEqual({ 'a.txt': text('one') })
})

test('[H63] [F13] lines that another session wrote again: its undo comes first', async () => {
  await using w = await workspace({ 'a.txt': text('a') })
  await w.turn('A', { 'a.txt': text('by A') })
  w.inSession('agent-2')
  await w.turn('B', { 'a.txt': text('by B') })
  w.inSession('agent-1')
  expect((await w.undo()).kind).toBe('conflicts')
  expect(w.files()).toEqual({ 'a.txt': text('by B') })
  w.inSession('agent-2')
  expect((await w.undo()).kind).toBe('done')
  expect(w.files()).toEqual({ 'a.txt': text('by A') })
  w.inSession('agent-1')
  expect((await w.undo()).kind).toBe('done')
  expect(w.files()).toEqual({ 'a.txt': text('a') })
})

test('[H60] [F14] a reformatted file is never replaced by the old one', async () => {
  const code = (value: string, indent: string) =>
    ['function f() {', `${indent}const a = ${value}`, `${indent}return a`, '}', ''].join('\n')
  await using w = await workspace({ 'a.ts': code('1', '  ') })
  await w.turn('Edit', { 'a.ts': code('2', '  ') })
  w.userWrites({ 'a.ts': code('2', '\t') })
  expect((await w.undo()).kind).toBe('conflicts')
  expect(w.files()).toEqual({ 'a.ts': code('2', '\t') })
})

test('[H64] [F15] after a switch of branch undo merges, or is refused, and replaces no file of that branch', async () => {
  await using w = await workspace({ 'a.txt': text('old'), 'b.txt': text('old') }, { git: true })
  w.git('add', '-A')
  w.git('commit', '-q', '-m', 'first')
  w.git('checkout', '-q', '-b', 'other')
  w.userWrites({ 'a.txt': text('old', 'd', 'other'), 'b.txt': text('other'), 'c.txt': 'only here\n' })
  w.git('add', '-A')
  w.git('commit', '-q', '-m', 'other')
  w.git('checkout', '-q', 'main')
  await w.workspace.capture()

  await w.turn('Edit a', { 'a.txt': text('agent') })
  w.git('commit', '-q', '-a', '-m', 'keep it')
  w.git('checkout', '-q', 'other')
  expect((await w.undo()).files).toEqual([])
  expect(w.files()).toEqual({
    'a.txt': text('old', 'd', 'other'),
    'b.txt': text('other'),
    'c.txt': 'only here\n',
  })

  w.git('checkout', '-q', 'main')
  await w.turn('Edit b', { 'b.txt': text('agent') })
  w.git('commit', '-q', '-a', '-m', 'b, too')
  w.git('checkout', '-q', 'other')
  const before = w.files()
  expect((await w.undo()).kind).toBe('conflicts')
  expect(w.files()).toEqual(before)
})

test('[H64] [F15] a change that was stashed away is gone already: nothing to do with the files', async () => {
  await using w = await workspace({ 'a.txt': text('old') }, { git: true })
  w.git('add', '-A')
  w.git('commit', '-q', '-m', 'first')
  const { turn } = await w.turn('Edit', { 'a.txt': text('agent') })
  w.git('stash', '-q')
  expect(await w.undo()).toMatchObject({ kind: 'done', files: [], reverted: [turn] })
  expect(w.files()).toEqual({ 'a.txt': text('old') })
  w.git('stash', 'pop', '-q')
  expect(w.files()).toEqual({ 'a.txt': text('agent') })
})

/** A disk on which somebody does something right before the n-th call that has to do with one path. */
class Race {
  readonly fs: Fs
  calls = 0
  #nth = 0
  #save: () => void = () => {}

  constructor(concerns: RegExp, except?: keyof Fs) {
    const before = (name: unknown, args: readonly unknown[]) => {
      if (name === except || !args.some((arg) => typeof arg === 'string' && concerns.test(arg))) return
      this.calls += 1
      if (this.calls === this.#nth) this.#save()
    }
    this.fs = new Proxy(nodeFs, {
      get: (target, name, receiver) => {
        const method: unknown = Reflect.get(target, name, receiver)
        if (typeof method !== 'function') return method
        return (...args: readonly unknown[]) => {
          before(name, args)
          return Reflect.apply(method, target, args)
        }
      },
    })
  }

  arm(nth: number, save: () => void): void {
    this.calls = 0
    this.#nth = nth
    this.#save = save
  }
}

test.each([
  ['written in place', undefined, (path: string) => writeFileSync(path, 'saved just now\n')],
  [
    'renamed over, as editors do',
    'rename' as const, // between the last look and the rename itself nobody can be noticed
    (path: string) => {
      writeFileSync(`${path}~`, 'saved just now\n')
      renameSync(`${path}~`, path)
    },
  ],
])(
  '[H65] [P3] [F16] a file saved in the middle of an undo stays as saved, at whatever instant: %s',
  async (_, except, save) => {
    const race = new Race(/\/(4\.txt|[bn]3)$/, except)
    await using w = await workspace(all('old'), { fs: race.fs })
    const { turn } = await w.turn('All five', all('agent'))
    const { '4.txt': _old, ...old } = all('old')
    const { '4.txt': _agent, ...agent } = all('agent')
    let nth = 1
    for (let hit = true; hit; nth += 1) {
      hit = false
      race.arm(nth, () => {
        hit = true
        save(w.pathOf('4.txt'))
      })
      const outcome = await w.undo()
      race.arm(0, () => {})
      const { '4.txt': raced, ...others } = w.files()
      if (hit) {
        expect(raced).toBe('saved just now\n')
        expect([old, agent]).toContainEqual(others)
        // Reported, or saved after the old text was in place already: then it is newer work like any other.
        const reported = outcome.conflicts.map(({ path }) => path)
        if (reported.length > 0) expect(reported).toEqual(['4.txt'])
        else expect(outcome.files).toHaveLength(5)
      } else expect(outcome.files).toHaveLength(5)
      w.userWrites(all('agent'))
      if (outcome.kind === 'done') await w.restore(turn, 'after', { exact: true })
      expect(w.files()).toEqual(all('agent'))
    }
    expect(nth).toBeGreaterThan(8)
  },
)
