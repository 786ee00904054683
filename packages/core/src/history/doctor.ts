/** Doctor: checks everything that the history stands on, and mends what can be mended without guessing. */

import { shown, UnturnError } from '../errors.ts'
import { failureOf } from '../failures.ts'
import type { Logged } from '../log/chains.ts'
import { IndexDb } from '../log/index-db.ts'
import type { SeqRange } from '../log/record.ts'
import type { Operation } from '../log/rows.ts'
import { isDamaged, sqliteCode } from '../log/sqlite.ts'
import { IdSet } from '../store/id-set.ts'
import type { Objects } from '../store/objects.ts'
import { type BlobId, type Exclusive, flawOfName, type TreeId } from '../values.ts'
import type { Engine } from './engine.ts'
import { rangesOf } from './retention.ts'

export interface Finding {
  readonly severity: 'error' | 'warning' | 'mended'
  readonly what: string
  /** The operation it belongs to, where there is one. */
  readonly operation?: string
}

/** Reads and checks every object that an operation names, one operation at a time. Changes nothing. */
export function examine(engine: Engine): readonly Finding[] {
  const problems: UnturnError[] = []
  const objects = new ObjectsCheck(engine)
  const chain = new ChainCheck()
  using index = new IndexCheck(engine)
  for (const logged of engine.log.readAll(problems)) {
    objects.take(logged.operation)
    chain.take(logged.operation)
    index.take(logged)
  }
  return [
    ...engine.objects.damage().map(({ pack, reason }) => error(`the pack ${pack} cannot be read: ${reason}`)),
    ...[...messagesOf([...problems, ...engine.log.broken.values()])].map((what) => error(what)),
    ...objects.findings,
    ...chain.findings(),
    ...(problems.length === 0 && engine.log.broken.size === 0 ? index.findings() : []),
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

class ObjectsCheck {
  readonly findings: Finding[] = []
  readonly #objects: Objects
  // Every object once: operations share most of their trees with the one before.
  readonly #checked = new IdSet()

  constructor({ objects }: Engine) {
    this.#objects = objects
  }

  take({ commit, record }: Operation): void {
    const problems: string[] = []
    const found = attempt(() => this.#objects.readCommit(commit), problems)
    if (found !== undefined) this.#checkTree(found.tree, problems)
    for (const what of problems) this.findings.push(error(what, record.id))
  }

  #checkTree(tree: TreeId, problems: string[]): void {
    if (!this.#checked.add(tree)) return
    for (const entry of attempt(() => this.#objects.readTree(tree), problems) ?? []) {
      const flaw = flawOfName(entry.name)
      if (flaw !== undefined)
        problems.push(`a tree holds the name ${JSON.stringify(shown(entry.name))}: ${flaw}`)
      if (entry.mode === '40000') this.#checkTree(entry.id as TreeId, problems)
      else if (this.#checked.add(entry.id as BlobId))
        attempt(() => this.#objects.readBlob(entry.id as BlobId), problems)
    }
  }
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
class ChainCheck {
  readonly #found: (Finding | Gap)[] = []
  #dropped: readonly SeqRange[] = []
  #previous: Operation | undefined

  take(operation: Operation): void {
    const { record } = operation
    const previous = this.#previous
    this.#previous = operation
    if (record.kind === 'baseline')
      this.#dropped = rangesOf([], [...this.#dropped, ...(record.dropped ?? [])])
    const from = (previous?.record.seq ?? 0) + 1
    if (record.seq !== from) this.#found.push({ from, to: record.seq - 1, before: record.id })
    else if (previous !== undefined && !sameState(previous, operation))
      this.#found.push(warning('it does not begin where the operation before it ended', record.id))
  }

  // Only at the end: what was dropped is noted by an operation that comes after the gap.
  findings(): readonly Finding[] {
    return this.#found.flatMap((one) => {
      if ('what' in one) return [one]
      const { from, to, before } = one
      if (this.#dropped.some((range) => range.from <= from && to <= range.to)) return []
      return [warning(`no session's history has the operations numbered ${from} to ${to}`, before)]
    })
  }
}

interface Gap extends SeqRange {
  readonly before: string
}

function sameState(previous: Operation, next: Operation): boolean {
  return previous.after.tree === next.before.tree && previous.after.attrs === next.before.attrs
}

/** The index holds nothing that the log does not: made anew, it is the same. */
class IndexCheck implements Disposable {
  readonly #engine: Engine
  readonly #fresh = IndexDb.temporary()
  #hasRoom = true

  constructor(engine: Engine) {
    this.#engine = engine
  }

  take({ operation, ref }: Logged): void {
    if (this.#hasRoom) this.#inRoom(() => this.#fresh.project(operation, ref))
  }

  findings(): readonly Finding[] {
    const { index } = this.#engine.log
    const expected = this.#hasRoom ? this.#inRoom(() => this.#fresh.fingerprint()) : undefined
    if (expected === undefined) return [warning(notCompared)]
    try {
      const undescribed = index.countUndescribed()
      return [
        ...(index.fingerprint() === expected ? [] : [error(indexDiffers)]),
        ...(undescribed === 0 ? [] : [warning(undescribedText(undescribed))]),
      ]
    } catch (thrown) {
      const failure = failureOf(thrown)
      if (failure === undefined) throw thrown
      return [error(failure.message)]
    }
  }

  // A large one needs a place on the disk. That there is none says nothing about the store.
  #inRoom<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch (thrown) {
      if (sqliteCode(thrown) === undefined) throw thrown
      this.#hasRoom = false
      return undefined
    }
  }

  [Symbol.dispose](): void {
    this.#fresh[Symbol.dispose]()
  }
}

const notCompared =
  'the query index could not be compared with the history: there is no room for a temporary file of its size'
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

function undescribedText(count: number): string {
  return count === 1
    ? '1 operation has no changes in the index yet'
    : `${count} operations have no changes in the index yet`
}
