/** Every kind of thing becomes every other kind in one turn; undo and redo bring each back, or say what they skip. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  describeFolder,
  type FileKind,
  fileKinds,
  makeKind,
  removeKinds,
  uncaptured,
} from '../testing/file-kinds.ts'
import { unprivilegedFixture, withoutRoot } from '../testing/unprivileged.ts'
import type { Fixture } from '../testing/workspace.ts'
import type { OnConflict } from './enact.ts'
import type { Outcome } from './outcome.ts'
import type { TurnEnd } from './recording.ts'

interface Case {
  readonly from: FileKind
  readonly to: FileKind
  readonly folder: string
}

const cases: readonly Case[] = fileKinds.flatMap((from, i) =>
  fileKinds.map((to, j) => ({ from, to, folder: `case-${i}-${j}` })),
)

type Looks = ReadonlyMap<string, Record<string, string>>

interface Run {
  readonly before: Looks
  readonly after: Looks
  readonly undone: Looks
  readonly redone: Looks
  readonly undoneAgain: Looks
  readonly turn: TurnEnd
  readonly undo: Outcome
  readonly redo: Outcome
  /** What captures saw right after the first look, the turn, the undo and the redo. */
  readonly unrest: readonly string[]
}

/** One workspace with all of these cases beside each other: one turn changes them all. */
async function runCases(
  w: Fixture,
  chosen: readonly Case[],
  onConflict: OnConflict,
  meanwhile: () => void,
): Promise<Run> {
  const look = (): Looks => new Map(chosen.map(({ folder }) => [folder, describeFolder(w.pathOf(folder))]))
  for (const { folder, from } of chosen) {
    mkdirSync(w.pathOf(`${folder}/neighbour`), { recursive: true })
    writeFileSync(w.pathOf(`${folder}/neighbour/inside`), `not yours ${folder}\n`)
    makeKind(w.pathOf(folder), from, folder)
  }
  writeFileSync(w.pathOf('notes.txt'), 'notes\n')
  await w.open()
  const unrest: string[] = []
  const settle = async () => {
    const { changes } = await w.workspace.capture()
    unrest.push(...changes.map(({ path, kind }) => `${path} ${kind}`))
  }
  await w.workspace.capture()
  await settle()
  const before = look()
  const turn = await w.turn('Turn everything into something else', () => {
    for (const { folder, to } of chosen) {
      removeKinds(w.pathOf(folder))
      makeKind(w.pathOf(folder), to, folder)
    }
  })
  await settle()
  const after = look()
  meanwhile()
  await w.workspace.capture()
  const undo = await w.undo({ onConflict })
  await settle()
  const undone = look()
  const redo = await w.redo({ onConflict })
  await settle()
  const redone = look()
  await w.undo({ onConflict })
  await settle()
  return { before, after, undone, redone, undoneAgain: look(), turn, undo, redo, unrest }
}

const isPlain = ({ from, to }: Case) => !uncaptured.has(from) && !uncaptured.has(to)

const variants = [
  { how: 'nobody touched anything since', meanwhile: () => {} },
  {
    how: 'the user edited another file since',
    meanwhile: (w: Fixture) => writeFileSync(w.pathOf('notes.txt'), 'notes\nof the user\n'),
  },
]

describe.each(variants)('$how', ({ meanwhile }) => {
  const w = unprivilegedFixture({ honest: false })
  const plain = cases.filter(isPlain)
  let run: Run

  beforeAll(async () => {
    using _ = withoutRoot()
    run = await runCases(w, plain, 'abort', () => meanwhile(w))
  })
  afterAll(() => w[Symbol.asyncDispose]())

  test('[H100] captures in between see nothing, and nothing is in conflict', () => {
    expect(run.unrest).toEqual([])
    expect([...run.undo.conflicts, ...run.redo.conflicts]).toEqual([])
  })

  test.each(plain)('[H100] $from becomes $to: undo and redo are exact', ({ folder }) => {
    expect(run.undone.get(folder), 'undo').toEqual(run.before.get(folder))
    expect(run.redone.get(folder), 'redo').toEqual(run.after.get(folder))
    expect(run.undoneAgain.get(folder), 'undo again').toEqual(run.before.get(folder))
  })
})

describe.each(variants)('what is not captured: $how', ({ meanwhile }) => {
  const w = unprivilegedFixture({ honest: false })
  const chosen = cases.filter((one) => !isPlain(one))
  let run: Run

  beforeAll(async () => {
    using _ = withoutRoot()
    run = await runCases(w, chosen, 'keep', () => meanwhile(w))
  })
  afterAll(() => w[Symbol.asyncDispose]())

  test('[H100] captures in between see nothing', () => {
    expect(run.unrest).toEqual([])
  })

  test.each(chosen)('[H101] $from becomes $to: back, or listed; nothing uncaptured is lost', ({ folder }) => {
    const undone = run.undone.get(folder) ?? {}
    expect(run.redone.get(folder), 'redo').toEqual(run.after.get(folder))
    const isBack = JSON.stringify(undone) === JSON.stringify(run.before.get(folder))
    const told = [...run.undo.notUndone.skipped, ...run.undo.conflicts]
    const isTold = told.some(({ path }) => path.startsWith(`${folder}/`))
    expect(isBack || isTold, JSON.stringify(undone)).toBe(true)
    for (const [path, look] of Object.entries(run.after.get(folder) ?? {}))
      if (/^special|^0 |\.git/.test(`${look} ${path}`)) expect(undone[path], path).toBe(look)
  })
})
