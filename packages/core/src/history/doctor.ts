/** Doctor: checks everything that the history stands on, and mends what can be mended without guessing. */

import { shown, UnturnError } from '../errors.ts'
import { failureOf } from '../failures.ts'
import { IndexDb } from '../log/index-db.ts'
import type { Logged } from '../log/log.ts'
import type { Operation } from '../log/rows.ts'
import { isDamaged } from '../log/sqlite.ts'
import type { Objects } from '../store/objects.ts'
import { type BlobId, type Exclusive, flawOfName, type TreeId } from '../values.ts'
import type { Engine } from './engine.ts'

export interface Finding {
  readonly severity: 'error' | 'warning' | 'mended'
  readonly what: string
  /** The operation it belongs to, where there is one. */
  readonly operation?: string
}

/** Reads and checks every object that an operation names. Changes nothing. */
export function examine(engine: Engine): readonly Finding[] {
  const { operations, problems } = engine.log.readAll()
  const checked = new Set<string>()
  return [
    ...engine.objects.damage().map(({ pack, reason }) => error(`the pack ${pack} cannot be read: ${reason}`)),
    ...[...messagesOf([...problems, ...engine.log.broken.values()])].map((what) => error(what)),
    ...operations.flatMap(({ operation }) => checkOperation(engine, operation, checked)),
    ...checkChain(operations),
    ...(problems.length === 0 && engine.log.broken.size === 0 ? checkIndex(engine, operations) : []),
  ]
}

function messagesOf(problems: readonly UnturnError[]): ReadonlySet<string> {
  return new Set(problems.map(({ message }) => message))
}

/** What can be had again without guessing: refs that the index knows, and the index itself, from the log. */
export async function mend(engine: Engine, lock: Exclusive): Promise<readonly Finding[]> {
  const refs = restoredRefs(engine, lock)
  engine.log.rebuild(lock)
  return [
    ...refs.map((ref) => mended(`${ref} was gone and has been written again`)),
    mended('the query index was rebuilt from the log'),
  ]
}

function restoredRefs(engine: Engine, lock: Exclusive): readonly string[] {
  try {
    return engine.log.restoreRefs(lock)
  } catch (thrown) {
    if (!isDamaged(thrown)) throw thrown
    return [] // the index is damaged, too: nobody knows any more what was there
  }
}

/** What keeps a store from being used, as a finding. */
export async function unsettled(settle: () => Promise<void>): Promise<readonly Finding[]> {
  try {
    await settle()
    return []
  } catch (thrown) {
    const failure = failureOf(thrown)
    if (failure === undefined) throw thrown
    return [error(failure.message)]
  }
}

function checkOperation(engine: Engine, operation: Operation, checked: Set<string>): readonly Finding[] {
  const { id } = operation.record
  const problems: string[] = []
  const commit = attempt(() => engine.objects.readCommit(operation.commit), problems)
  if (commit !== undefined) problems.push(...checkTree(engine.objects, commit.tree, checked))
  return problems.map((what) => error(what, id))
}

// Every object once: operations share most of their trees with the one before.
function checkTree(objects: Objects, tree: TreeId, checked: Set<string>): readonly string[] {
  if (checked.has(tree)) return []
  checked.add(tree)
  const problems: string[] = []
  for (const entry of attempt(() => objects.readTree(tree), problems) ?? []) {
    const flaw = flawOfName(entry.name)
    if (flaw !== undefined)
      problems.push(`a tree holds the name ${JSON.stringify(shown(entry.name))}: ${flaw}`)
    if (entry.mode === '40000') problems.push(...checkTree(objects, entry.id as TreeId, checked))
    else if (!checked.has(entry.id)) {
      checked.add(entry.id)
      attempt(() => objects.readBlob(entry.id as BlobId), problems)
    }
  }
  return problems
}

function attempt<T>(read: () => T, problems: string[]): T | undefined {
  try {
    return read()
  } catch (thrown) {
    if (!(thrown instanceof UnturnError)) throw thrown
    problems.push(thrown.message)
    return undefined
  }
}

/** Operations are one chain of states: each begins where the one before it ended, and none is missing. */
function checkChain(operations: readonly Logged[]): readonly Finding[] {
  const dropped = operations.flatMap(({ operation: { record } }) =>
    record.kind === 'baseline' ? (record.dropped ?? []) : [],
  )
  const wasDropped = (from: number, to: number) =>
    dropped.some((range) => range.from <= from && to <= range.to)
  return operations.flatMap(({ operation }, at) => {
    const previous = operations[at - 1]?.operation
    const { seq, id } = operation.record
    const expected = (previous?.record.seq ?? 0) + 1
    if (seq !== expected && wasDropped(expected, seq - 1)) return []
    if (seq !== expected)
      return [warning(`no session's history has the operations numbered ${expected} to ${seq - 1}`, id)]
    if (previous === undefined || sameState(previous, operation)) return []
    return [warning('it does not begin where the operation before it ended', id)]
  })
}

function sameState(previous: Operation, next: Operation): boolean {
  return previous.after.tree === next.before.tree && previous.after.attrs === next.before.attrs
}

/** The index holds nothing that the log does not: made anew in memory, it is the same. */
function checkIndex(engine: Engine, operations: readonly Logged[]): readonly Finding[] {
  try {
    using fresh = IndexDb.inMemory()
    fresh.atomically(() => {
      for (const { ref, operation } of operations) fresh.project(operation, ref)
    })
    const undescribed = engine.log.index.undescribed().length
    return [
      ...(fresh.fingerprint() === engine.log.index.fingerprint() ? [] : [error(indexDiffers)]),
      ...(undescribed === 0 ? [] : [warning(`${undescribed} operations have no changes in the index yet`)]),
    ]
  } catch (thrown) {
    const failure = failureOf(thrown)
    if (failure === undefined) throw thrown
    return [error(failure.message)]
  }
}

const indexDiffers = 'the query index does not agree with the history; "unturn doctor --repair" makes it anew'

function error(what: string, operation?: string): Finding {
  return operation === undefined ? { severity: 'error', what } : { severity: 'error', what, operation }
}

function warning(what: string, operation?: string): Finding {
  return operation === undefined ? { severity: 'warning', what } : { severity: 'warning', what, operation }
}

function mended(what: string): Finding {
  return { severity: 'mended', what }
}
