/**
 * Blame: each line of a file with the turn, the agent and the prompt that wrote it. Lines the user wrote are the user's.
 *
 * The file's versions become a chain of commits in a scratch, and git blames. What Unturn itself wrote (an undo, say)
 * has all earlier versions as parents, so that a line which it only brought back belongs to whoever wrote it first.
 *
 *   before ── turn 1 ── user ── turn 2 ── undo of turn 2
 *      └─────────┴────────┴──────────────────┘
 */

import type { ChangeRow, Operation, TurnRow } from '../log/rows.ts'
import { MergeScratch } from '../store/merge.ts'
import { findLeaf, type Leaf } from '../store/trees.ts'
import type { CommitId, Exclusive, RelPath } from '../values.ts'
import { capture } from './capture.ts'
import type { Engine } from './engine.ts'
import { readLastKnown } from './observe.ts'
import { unknownId } from './recording.ts'

export interface BlamedLine {
  readonly text: string
  /** `before`: it was there before Unturn looked for the first time, or who wrote it has been dropped since. */
  readonly by: 'agent' | 'user' | 'before' | 'unturn'
  readonly agent?: string
  readonly agentId?: string
  readonly turn?: TurnRow
  readonly operation?: Operation
}

interface Version {
  readonly leaf: Leaf | undefined
  readonly operation: Operation | undefined
}

const mostParents = 40

/** `lastKnown`: as the last operation left the file. Nobody looks at the disk then, and nothing is recorded. */
export interface BlameOptions {
  readonly lastKnown?: boolean
}

export async function blame(
  engine: Engine,
  path: RelPath,
  lock: Exclusive,
  options: BlameOptions = {},
): Promise<readonly BlamedLine[]> {
  const known = options.lastKnown === true ? readLastKnown(engine) : undefined
  const { state } = known ?? (await capture(engine, {}, lock)).last
  const leaf = findLeaf(engine.objects, state.tree, path)
  if (leaf === undefined) throw unknownId(path, 'captured file')
  const versions = versionsOf(engine, path, leaf)
  await using scratch = MergeScratch.open(engine.fs, engine.objects, engine.git, engine.folders.scratch)
  const { tip, owners } = commitVersions(scratch, versions)
  const answer = await scratch.ask(['blame', '--porcelain', '--no-progress', tip, '--', 'file'])
  return parseBlame(answer.toString('latin1')).map(({ commit, text }) =>
    lineOf(engine, text, owners.get(commit)),
  )
}

/** Every content the file has had, oldest first, under whatever name it had then. */
function versionsOf(engine: Engine, path: RelPath, now: Leaf): readonly Version[] {
  const versions: Version[] = []
  let name = path
  let first: Leaf | undefined = now
  for (const change of changesBackwards(engine, path)) {
    const operation = engine.log.index.operationAt(change.opSeq)
    if (operation === undefined || change.path !== name) continue
    const after = findLeaf(engine.objects, operation.after.tree, name)
    // In between was a session that retention has dropped: its lines are not those of whoever came next.
    if (after?.blob !== first?.blob) versions.unshift({ leaf: first, operation: undefined })
    versions.unshift({ leaf: after, operation })
    name = change.from ?? name
    first = findLeaf(engine.objects, operation.before.tree, name)
  }
  return [{ leaf: first, operation: undefined }, ...versions]
}

function* changesBackwards(engine: Engine, path: RelPath): IterableIterator<ChangeRow> {
  let name = path
  let before = Number.MAX_SAFE_INTEGER
  for (;;) {
    const changes = engine.log.index.findChanges({ paths: [name], everybody: true })
    const renamed = changes.find(
      (change) => change.opSeq < before && change.path === name && change.from !== undefined,
    )
    for (const change of changes) {
      if (change.path === name && change.opSeq < before && change.opSeq >= (renamed?.opSeq ?? 0)) yield change
    }
    if (renamed?.from === undefined) return
    name = renamed.from
    before = renamed.opSeq
  }
}

function commitVersions(scratch: MergeScratch, versions: readonly Version[]) {
  const owners = new Map<CommitId, Operation | undefined>()
  const commits: CommitId[] = []
  for (const { leaf, operation } of versions) {
    const blob = leaf?.blob ?? scratch.blob(Buffer.alloc(0))
    // The name of a version's owner is its commit, so two equal versions must not become one.
    const mark = scratch.blob(Buffer.from(String(commits.length)))
    const tree = scratch.tree([
      { name: 'file', mode: '100644', id: blob },
      { name: 'version', mode: '100644', id: mark },
    ])
    const isOurs = operation !== undefined && 'stages' in operation.record
    const parents = isOurs ? commits.toReversed().slice(0, mostParents) : commits.slice(-1)
    const commit = scratch.commit(tree, parents)
    owners.set(commit, operation)
    commits.push(commit)
  }
  const tip = commits.at(-1)
  if (tip === undefined) throw new Error('a file has at least one version')
  return { tip, owners }
}

/** `<commit> <old line> <new line> …`, headers, then the line itself behind a tab. */
function parseBlame(answer: string): readonly { readonly commit: CommitId; readonly text: string }[] {
  const lines: { commit: CommitId; text: string }[] = []
  let commit = '' as CommitId
  for (const line of answer.split('\n')) {
    if (line.startsWith('\t'))
      lines.push({ commit, text: Buffer.from(line.slice(1), 'latin1').toString('utf8') })
    else if (/^[0-9a-f]{40} \d+ \d+/.test(line)) commit = line.slice(0, 40) as CommitId
  }
  return lines
}

function lineOf(engine: Engine, text: string, operation: Operation | undefined): BlamedLine {
  if (operation === undefined) return { text, by: 'before' }
  const { record } = operation
  if (record.kind === 'user-edit') return { text, by: 'user', operation }
  if (record.kind !== 'step') return { text, by: 'unturn', operation }
  const turn = engine.log.index.findTurn(record.turn)
  return {
    text,
    by: 'agent',
    agent: record.agent,
    ...(record.agentId === undefined ? {} : { agentId: record.agentId }),
    ...(turn === undefined ? {} : { turn }),
    operation,
  }
}
