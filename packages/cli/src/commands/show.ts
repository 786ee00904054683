/** `show` and `diff`: what a turn, a step, a change or an operation did, and the difference between two points. */

import {
  changeJson,
  type Operation,
  type PatchOptions,
  patchBetween,
  patchOfOperations,
  resolveAny,
  type Snapshot,
  spanOf,
  UnturnError,
  visible,
  type Workspace,
} from '@unturn/core'
import { type Command, type Context, noSession, UsageError } from '../command.ts'
import { colouredPatch } from '../patch.ts'
import { changeLine, typedPaths } from './recording.ts'

export const showCommand: Command = {
  name: 'show',
  group: 'Looking',
  usage: 'show ID',
  summary: 'one turn, step, change or operation with its diff',
  options: [{ name: 'stat', help: 'only count lines' }],
  words: 1,
  run: async (context) => {
    const typed = context.args.words[0]
    if (typed === undefined) throw new UsageError('name a turn, step, change or operation')
    const workspace = await context.knownWorkspace()
    if (workspace === undefined) throw noSession()
    const { operations, paths } = operationsOf(context, workspace, typed)
    const options = { ...(paths === undefined ? {} : { paths }), stat: context.args.has('stat') }
    const patch = (await patchOfOperations(workspace.engine, operations, options)).toString('utf8')
    const changes = operations.flatMap(({ record }) => workspace.index.changesOfOperation(record.seq))
    const chosen = paths === undefined ? changes : changes.filter((change) => paths.includes(change.path))
    if (context.wantsJson) {
      context.terminal.json({
        id: typed,
        operations: operations.map(({ record }) => record.id),
        changes: chosen.map(changeJson),
        patch,
      })
      return 0
    }
    tellHead(context, workspace, operations)
    for (const change of chosen) context.terminal.line(changeLine(change, context))
    context.terminal.line()
    context.terminal.bytes(colouredPatch(patch, context.terminal))
    return 0
  },
}

function operationsOf(context: Context, workspace: Workspace, typed: string) {
  const { index } = workspace
  const resolved = resolveAny(workspace.engine, context.session(workspace), typed)
  switch (resolved.kind) {
    case 'turn':
      return { operations: index.stepOperations(resolved.id) }
    case 'step':
      return { operations: index.operationsOfStep(resolved.id) }
    case 'operation':
      return {
        operations: [index.findOperation(resolved.id)].filter((one): one is Operation => one !== undefined),
      }
    case 'change': {
      const change = index.findChanges({ changes: [resolved.id], everybody: true })[0]
      const operation = change === undefined ? undefined : index.operationAt(change.opSeq)
      if (change === undefined || operation === undefined) throw noSession()
      return {
        operations: [operation],
        paths: change.from === undefined ? [change.path] : [change.path, change.from],
      }
    }
  }
}

function tellHead({ terminal }: Context, workspace: Workspace, operations: readonly Operation[]): void {
  const record = operations[0]?.record
  if (record === undefined) return terminal.line('No file was changed.')
  const turn = 'turn' in record ? workspace.index.findTurn(record.turn) : undefined
  if (turn === undefined)
    return terminal.line(
      `${terminal.style('cyan', record.id)} ${record.kind}, ${new Date(record.atMs).toISOString()}`,
    )
  terminal.line(
    `${terminal.style('cyan', turn.id)} by ${visible(turn.agent)} in ${visible(turn.session)}, ${new Date(turn.beganMs).toISOString()}, ${turn.status}`,
  )
  if (turn.prompt !== undefined)
    terminal.line(
      turn.prompt
        .split('\n')
        .map((line) => `  ${visible(line)}`)
        .join('\n'),
    )
  for (const { record: step } of operations) {
    if (step.kind === 'step' && step.command !== undefined) terminal.line(`  $ ${visible(step.command)}`)
  }
}

export const diffCommand: Command = {
  name: 'diff',
  group: 'Looking',
  usage: 'diff [FROM] [TO] [--file P] [--stat]',
  summary: 'unified diff between two points (default: the head turn’s own change)',
  details:
    'A point is a turn, a step, an operation, @, @-1 or now. FROM means the state before it when it stands alone\nor comes first, TO the state after it.',
  options: [
    { name: 'file', value: 'PATH', repeats: true, help: 'only this file' },
    { name: 'stat', help: 'only count lines' },
  ],
  words: 2,
  run: async (context) => {
    const workspace = await context.knownWorkspace()
    if (workspace === undefined) throw noSession()
    const patch = await diffText(context, workspace)
    if (context.wantsJson) context.terminal.json({ patch })
    else context.terminal.bytes(colouredPatch(patch, context.terminal))
    return 0
  },
}

async function diffText(context: Context, workspace: Workspace): Promise<string> {
  const [from, to] = context.args.words
  const paths = typedPaths(context, workspace, context.args.all('file'))
  const options: PatchOptions = { ...(paths.length === 0 ? {} : { paths }), stat: context.args.has('stat') }
  if (to === undefined && from !== 'now') {
    const { operations, paths: own } = operationsOf(context, workspace, from ?? '@')
    return (
      await patchOfOperations(
        workspace.engine,
        operations,
        own === undefined ? options : { ...options, paths: own },
      )
    ).toString('utf8')
  }
  const before = await pointOf(context, workspace, from ?? '@', 'before')
  const after = await pointOf(context, workspace, to ?? 'now', 'after')
  return (await patchBetween(workspace.engine, before, after, options)).toString('utf8')
}

async function pointOf(
  context: Context,
  workspace: Workspace,
  typed: string,
  side: 'before' | 'after',
): Promise<Snapshot> {
  if (typed !== 'now') return spanOf(workspace.engine, context.session(workspace), typed)[side]
  await workspace.capture()
  const last = workspace.index.lastOperation()
  if (last === undefined)
    throw new UnturnError(
      'unknown-id',
      { id: 'now' },
      { message: 'Nothing has been captured here yet.', hint: 'Run "unturn capture" first.' },
    )
  return last.after
}
