/**
 * Any mix of turns, user edits and moves. What each move should do is tested elsewhere; here the fixture's own check
 * (testing/honest.ts) compares every dry run with its real run, and `files` with the disk.
 */

import { existsSync, lstatSync, readFileSync, renameSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { UnturnError } from '../errors.ts'
import { checkFiles, readDisk } from '../testing/honest.ts'
import { emptyFolder, type Files, type Fixture, linkTo, withMode, workspace } from '../testing/workspace.ts'
import type { OpId, RelPath } from '../values.ts'
import type { Outcome } from './outcome.ts'

const names = ['a.txt', 'b.txt', 'dir/c.txt', 'dir/deep/d.txt', 'e']
const lines = (line: number, text: string) =>
  Array.from({ length: 9 }, (_, at) => `${at === line ? text : `line ${at}`}\n`).join('')

const name = fc.constantFrom(...names)

const edit = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('line' as const),
      name,
      line: fc.nat(8),
      text: fc.constantFrom('x', 'y', 'z'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), name }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('link' as const, 'mode' as const, 'folder' as const), name }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rename' as const), name, to: name }) },
)
type Edit = typeof edit extends fc.Arbitrary<infer T> ? T : never

const edits = fc.array(edit, { minLength: 1, maxLength: 3 })
const onConflict = fc.constantFrom(
  'abort' as const,
  'keep' as const,
  'overwrite' as const,
  'markers' as const,
)

const action = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('turn' as const),
      session: fc.nat(1),
      edits,
      more: edits,
      named: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('user' as const), edits }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('undo' as const),
      session: fc.nat(1),
      turns: fc.integer({ min: 1, max: 3 }),
      onConflict,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('redo' as const),
      session: fc.nat(1),
      all: fc.boolean(),
      onConflict,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('restore' as const),
      session: fc.nat(1),
      pick: fc.nat(),
      side: fc.constantFrom('before' as const, 'after' as const),
      exact: fc.boolean(),
      inside: fc.boolean(),
      onConflict,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('rollback' as const),
      by: fc.constantFrom('turn' as const, 'file' as const, 'change' as const, 'op' as const),
      pick: fc.nat(),
      name,
      onConflict,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cleanup' as const), session: fc.nat(1) }) },
)
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never

function make(w: Fixture, list: readonly Edit[]): void {
  for (const one of list) makeOne(w, one)
}

function makeOne(w: Fixture, one: Edit): void {
  const path = w.pathOf(one.name)
  switch (one.do) {
    case 'line':
      return w.userWrites(edited(path, one))
    case 'delete':
      return w.userWrites({ [one.name]: null })
    case 'link':
      return w.userWrites({ [one.name]: linkTo('a.txt') })
    case 'mode':
      return w.userWrites({ [one.name]: withMode(lines(0, 'mode'), 0o755) })
    case 'folder':
      return w.userWrites({ [one.name]: emptyFolder })
    case 'rename':
      if (existsSync(path) && !isThere(w.pathOf(one.to)) && existsSync(w.pathOf('dir/deep')))
        renameSync(path, w.pathOf(one.to))
  }
}

// A dangling link is there, too, and a folder cannot be moved onto it.
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

function edited(path: string, one: Edit & { readonly do: 'line' }): Files {
  let old: string
  try {
    old = readFileSync(path, 'utf8')
  } catch {
    old = lines(-1, '')
  }
  const now = old.split('\n')
  now[one.line] = one.text
  return { [path.slice(path.indexOf('/project/') + 9)]: now.join('\n') }
}

const at = <T>(list: readonly T[], pick: number): T | undefined => list[pick % Math.max(1, list.length)]

async function play(w: Fixture, one: Action): Promise<Outcome | undefined> {
  if ('session' in one) w.inSession(`agent-${one.session + 1}`)
  const { index } = w.workspace
  switch (one.kind) {
    case 'turn': {
      const turn = await w.beginTurn('x')
      const paths = one.named
        ? { paths: one.edits.flatMap((e) => ('to' in e ? [e.name, e.to] : [e.name])) }
        : {}
      await w.step(turn, () => make(w, one.edits), paths)
      await w.step(turn, () => make(w, one.more))
      await w.workspace.endTurn(turn)
      return undefined
    }
    case 'user':
      make(w, one.edits)
      return undefined
    case 'undo':
      return w.undo({ turns: one.turns, onConflict: one.onConflict })
    case 'redo':
      return w.redo({ all: one.all, onConflict: one.onConflict })
    case 'restore': {
      const turn = at(index.turns(w.session), one.pick)
      const step = turn === undefined || !one.inside ? undefined : at(index.steps(turn.id), one.pick)
      const inside = step === undefined ? {} : { step: step.id }
      if (turn === undefined) return undefined
      return w.restore(turn.id, one.side, { exact: one.exact, onConflict: one.onConflict, ...inside })
    }
    case 'rollback':
      return w.rollback(selection(w, one), { onConflict: one.onConflict })
    case 'cleanup':
      await w.workspace.cleanup(w.session)
      return undefined
  }
}

function selection(w: Fixture, one: Action & { readonly kind: 'rollback' }) {
  const { index } = w.workspace
  const turns = index.sessions().flatMap(({ id }) => index.turns(id))
  switch (one.by) {
    case 'turn':
      return { turns: [at(turns, one.pick)?.id ?? ('tnone' as never)] }
    case 'file':
      return { paths: [one.name as RelPath] }
    case 'change':
      return { changes: [at(index.findChanges({ everybody: true }), one.pick)?.id ?? ('cnone' as never)] }
    case 'op':
      return { ops: [at(index.operations(), one.pick)?.record.id ?? ('onone' as OpId)] }
  }
}

/** P7: whatever a move did, its inverse, at once, brings every byte back. */
async function thereAndBack(w: Fixture, one: Action): Promise<void> {
  const before = readDisk(w.dir)
  const outcome = await play(w, one)
  if (outcome?.op === undefined) return
  const after = readDisk(w.dir)
  checkFiles(before, after, outcome.files)
  await w.rollback({ ops: [outcome.op] })
  const shape = (disk: typeof before) =>
    [...disk].map(([path, { kind, perm, content }]) => [path, kind, perm, content])
  expect(shape(readDisk(w.dir)).sort()).toEqual(shape(before).sort())
  expect((await w.workspace.capture()).changes).toEqual([])
}

const runs = process.env.UNTURN_SOAK === undefined ? 6 : Number(process.env.UNTURN_SOAK) || 300

test('[H9] [H54] [N1] [N2] [P7] whatever happened, a plan is what is done, files is what changed, and it can be taken back', async () => {
  const story = fc.tuple(fc.array(action, { minLength: 6, maxLength: 16 }), action)
  const run = fc.asyncProperty(story, async ([actions, last]) => {
    await using w = await workspace(Object.fromEntries(names.map((one) => [one, lines(-1, '')])))
    for (const one of [...actions]) await refusable(() => play(w, one))
    await refusable(() => thereAndBack(w, last))
  })
  const seed = process.env.UNTURN_SEED === undefined ? {} : { seed: Number(process.env.UNTURN_SEED) }
  await fc.assert(run, { numRuns: runs, ...seed })
}, 3_600_000)

/** A refusal is an answer: the check has made sure that it changed nothing. */
async function refusable(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    const fine = ['nothing-to-undo', 'nothing-to-redo', 'nothing-to-roll-back', 'unknown-id']
    if (!(error instanceof UnturnError) || !fine.includes(error.code)) throw error
  }
}
