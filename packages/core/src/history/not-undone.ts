/** What undo could not take back, told honestly: commands that ran, commits that were made, paths nobody captured. */

import { type CommitNote, optional } from '../log/record.ts'
import type { Operation } from '../log/rows.ts'
import { parseSkipped } from '../log/skipped-list.ts'
import type { RelPath, Skipped } from '../values.ts'
import { isFolderSignature } from '../workspace/scan.ts'
import type { Engine } from './engine.ts'
import type { NotUndone } from './outcome.ts'
import type { TurnTree, Way } from './points.ts'

export function notUndoneOf(engine: Engine, tree: TurnTree, way: Way): NotUndone {
  const operations = way.out.flatMap((leg) => leg.operations)
  return {
    ...leftoversOf(engine, operations),
    commits: commitsOf(tree, way),
    ...optional('branch', switchedBranch(tree, way)),
  }
}

/** The same for any selection of operations; commits belong to whole turns. */
export function leftoversOf(engine: Engine, operations: readonly Operation[]): NotUndone {
  return { commands: commandsOf(operations), commits: [], skipped: missedBy(engine, operations) }
}

function commandsOf(operations: readonly Operation[]): readonly string[] {
  const commands = new Map<string, string>()
  for (const { record } of [...operations].sort((a, b) => a.record.seq - b.record.seq)) {
    if (record.kind === 'step' && record.command !== undefined) commands.set(record.step, record.command)
  }
  return [...commands.values()]
}

function commitsOf(tree: TurnTree, way: Way): readonly CommitNote[] {
  return way.out.flatMap((leg) => tree.turns.get(leg.turn)?.commits ?? [])
}

// Undo never moves HEAD (P5): whoever wants the old branch back has to know that it is not checked out.
function switchedBranch(tree: TurnTree, way: Way): NotUndone['branch'] {
  const turns = way.out.flatMap((leg) => tree.turns.get(leg.turn) ?? [])
  const before = turns.at(-1)?.gitBefore
  const after = turns[0]?.gitAfter
  if (before?.head === undefined || after?.head === undefined || before.branch === after.branch)
    return undefined
  return { from: before.branch ?? null, to: after.branch ?? null }
}

// A command may have written into a folder that nobody looks into; whether it did, we cannot tell, so it is named.
function missedBy(engine: Engine, operations: readonly Operation[]): readonly Skipped[] {
  const missed = new Map<RelPath, Skipped>()
  for (const { record, skipped } of operations) {
    if (record.kind !== 'step') continue
    for (const one of record.missed ?? []) missed.set(one.path, one)
    if (record.paths.length > 0) continue
    for (const { skipped: one, signature } of parseSkipped(engine.objects.readBlob(skipped)).values()) {
      if (isFolderSignature(signature) || one.reason === 'unreadable') missed.set(one.path, one)
    }
  }
  return [...missed.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}
