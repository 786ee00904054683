/** Doctor: checks everything that the history stands on, and mends what can be mended without guessing. */

import { UnturnError } from '../errors.ts'
import type { Operation } from '../log/rows.ts'
import type { Objects } from '../store/objects.ts'
import type { BlobId, Exclusive, ObjectId, TreeId } from '../values.ts'
import { describeAll } from './capture.ts'
import type { Engine } from './engine.ts'

export interface Finding {
  readonly severity: 'error' | 'warning' | 'mended'
  readonly what: string
  /** The operation it belongs to, where there is one. */
  readonly operation?: string
}

/** Reads and checks every object that an operation names. Changes nothing unless asked to repair. */
export async function examine(
  engine: Engine,
  options: { readonly repair: boolean },
  lock: Exclusive,
): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  if (options.repair) findings.push(...(await repair(engine, lock)))
  for (const { pack, reason } of engine.objects.damage())
    findings.push(error(`the pack ${pack} cannot be read: ${reason}`))
  const checked = new Set<string>()
  for (const operation of engine.log.index.operations({}))
    findings.push(...checkOperation(engine, operation, checked))
  findings.push(...checkChain(engine), ...checkIndex(engine))
  return findings
}

async function repair(engine: Engine, lock: Exclusive): Promise<readonly Finding[]> {
  const refs = engine.log.restoreRefs(lock)
  engine.log.rebuild(lock)
  await describeAll(engine)
  return [
    ...refs.map((ref) => mended(`${ref} was gone and has been written again`)),
    mended('the query index was rebuilt from the log'),
  ]
}

function checkOperation(engine: Engine, operation: Operation, checked: Set<string>): readonly Finding[] {
  const { id } = operation.record
  try {
    const { tree } = engine.objects.readCommit(operation.commit)
    return checkTree(engine.objects, tree, checked).map((what) => error(what, id))
  } catch (thrown) {
    return [error(messageOf(thrown), id)]
  }
}

// Every object once: operations share most of their trees with the one before.
function checkTree(objects: Objects, tree: TreeId, checked: Set<string>): readonly string[] {
  if (checked.has(tree)) return []
  checked.add(tree)
  const problems: string[] = []
  for (const entry of attempt(() => objects.readTree(tree), problems) ?? []) {
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
    problems.push(messageOf(thrown))
    return undefined
  }
}

/** Operations are one chain of states: each begins where the one before it ended. */
function checkChain(engine: Engine): readonly Finding[] {
  const findings: Finding[] = []
  const operations = [...engine.log.index.operations({})].reverse()
  operations.forEach((operation, at) => {
    const previous = operations[at - 1]
    if (previous === undefined || previous.record.seq + 1 !== operation.record.seq) return
    if (previous.after.tree === operation.before.tree && previous.after.attrs === operation.before.attrs)
      return
    findings.push(warning('it does not begin where the operation before it ended', operation.record.id))
  })
  return findings
}

function checkIndex(engine: Engine): readonly Finding[] {
  const findings: Finding[] = []
  for (const [ref, tip] of engine.log.index.refs()) {
    if (engine.objects.verify(tip as ObjectId) !== 'ok')
      findings.push(error(`${ref} names a commit that is not there`))
  }
  const undescribed = engine.log.index.undescribed().length
  if (undescribed > 0) findings.push(warning(`${undescribed} operations have no changes in the index yet`))
  return findings
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

function error(what: string, operation?: string): Finding {
  return operation === undefined ? { severity: 'error', what } : { severity: 'error', what, operation }
}

function warning(what: string, operation?: string): Finding {
  return operation === undefined ? { severity: 'warning', what } : { severity: 'warning', what, operation }
}

function mended(what: string): Finding {
  return { severity: 'mended', what }
}
