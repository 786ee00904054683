/** `log`: history as turns, as single changes, or as all operations. */

import {
  type ChangeRow,
  changeJson,
  type Operation,
  type RelPath,
  type SessionId,
  type TurnView,
  textOfBytes,
  turnViews,
  visible,
  type Workspace,
} from '@unturn/core'
import { type Command, type Context, UsageError } from '../command.ts'
import { nothingHere } from '../nothing-here.ts'
import { parseTime } from '../time.ts'
import { ago, counted, oneLine } from '../words.ts'
import { changeLine, typedPaths } from './recording.ts'

export const logCommand: Command = {
  name: 'log',
  group: 'Looking',
  usage:
    'log [--session S | --all] [--file P] [--agent NAME] [--since T] [--until T] [--tree] [--changes] [--ops] [--limit N]',
  summary: 'the history: turns, or --changes, or --ops; --tree draws the branches',
  options: [
    { name: 'all', help: 'every session' },
    { name: 'file', value: 'PATH', repeats: true, help: 'only what touched this file, or below this folder' },
    { name: 'agent', value: 'NAME', repeats: true, help: 'only this agent' },
    { name: 'since', value: 'TIME', help: 'not before (ISO 8601, or 10m, 2h, 3d)' },
    { name: 'until', value: 'TIME', help: 'not after' },
    { name: 'tree', help: 'draw the branches' },
    { name: 'changes', help: 'single changes instead of turns' },
    { name: 'ops', help: 'all operations, your own edits and undos included' },
    { name: 'limit', value: 'N', help: 'at most so many (default 30; with --json all)' },
  ],
  run: async (context) => {
    const { args } = context
    if (args.has('changes') && args.has('ops')) throw new UsageError('give --changes or --ops, not both')
    limitOf(context)
    timesOf(context) // what makes no sense is told also where there is nothing to show
    const workspace = await context.knownWorkspace()
    if (workspace === undefined) return tellNothing(context)
    if (args.has('changes')) return logChanges(context, workspace)
    return args.has('ops') ? logOperations(context, workspace) : logTurns(context, workspace)
  },
}

function tellNothing(context: Context): number {
  const key = context.args.has('changes') ? 'changes' : context.args.has('ops') ? 'operations' : 'turns'
  if (context.wantsJson) context.terminal.json({ [key]: [] })
  else for (const line of nothingHere(context)) context.terminal.line(line)
  return 0
}

function limitOf(context: Context): number {
  return context.args.count('limit') ?? (context.wantsJson ? Number.MAX_SAFE_INTEGER : 30)
}

function timesOf({ args }: Context): { readonly sinceMs: number; readonly untilMs: number } {
  const since = args.get('since')
  const until = args.get('until')
  const now = Date.now()
  return {
    sinceMs: since === undefined ? Number.NEGATIVE_INFINITY : parseTime(since, now),
    untilMs: until === undefined ? Number.POSITIVE_INFINITY : parseTime(until, now),
  }
}

function sessionsOf(context: Context, workspace: Workspace): readonly SessionId[] {
  if (context.args.has('all')) return workspace.index.sessions().map((session) => session.id)
  const session = context.session(workspace)
  return session === undefined ? [] : [session]
}

// ---- turns ---------------------------------------------------------------------------------------------------------

function logTurns(context: Context, workspace: Workspace): number {
  const { sinceMs, untilMs } = timesOf(context)
  const agents = context.args.all('agent')
  const touching = turnsTouching(context, workspace)
  const views = sessionsOf(context, workspace)
    .flatMap((session) => turnViews(workspace.engine, session))
    .filter(({ turn }) => turn.beganMs >= sinceMs && turn.beganMs <= untilMs)
    .filter(({ turn }) => agents.length === 0 || agents.includes(turn.agent))
    .filter(({ turn }) => touching === undefined || touching.has(turn.id))
  const newest = views.toSorted((a, b) => b.turn.beginSeq - a.turn.beginSeq).slice(0, limitOf(context))
  if (context.wantsJson) context.terminal.json({ turns: newest.map(turnJson) })
  else if (newest.length === 0) context.terminal.line('No turn matches.')
  else if (context.args.has('tree')) drawTree(context, newest)
  else for (const view of newest) context.terminal.line(turnLine(context, view, ''))
  return 0
}

function turnsTouching(context: Context, workspace: Workspace): ReadonlySet<string> | undefined {
  const paths = typedPaths(context, workspace, context.args.all('file'))
  if (paths.length === 0) return undefined
  return new Set(
    workspace.index
      .findChanges({ paths })
      .flatMap((change) => (change.turn === undefined ? [] : [change.turn])),
  )
}

function turnJson({ turn, isHead, isReverted, files, additions, deletions, depth }: TurnView) {
  return {
    id: turn.id,
    session: turn.session,
    parent: turn.parent.turn,
    agent: turn.agent,
    ...(turn.agentId === undefined ? {} : { agentId: turn.agentId }),
    prompt: turn.prompt ?? null,
    message: turn.message ?? null,
    status: turn.status,
    seq: turn.beginSeq,
    began: new Date(turn.beganMs).toISOString(),
    ended: turn.endedMs === undefined ? null : new Date(turn.endedMs).toISOString(),
    head: isHead,
    reverted: isReverted,
    depth,
    files,
    additions,
    deletions,
    commits: turn.commits,
  }
}

function turnLine({ terminal }: Context, view: TurnView, indent: string): string {
  const { turn } = view
  const mark = view.isHead ? terminal.style('bold', '@') : view.isReverted ? terminal.style('dim', '×') : 'o'
  const counts = `${counted(view.files, 'file')} ${terminal.style('green', `+${view.additions}`)} ${terminal.style('red', `−${view.deletions}`)}`
  const status = turn.status === 'ok' ? '' : ` ${terminal.style('yellow', turn.status)}`
  const prompt = oneLine(turn.prompt, Math.max(20, terminal.width - 60 - indent.length))
  const words = `${terminal.style('cyan', turn.id)}  ${prompt === '' ? terminal.style('dim', '(no prompt)') : prompt}  ${counts}  ${terminal.style('dim', `${visible(turn.agent)}, ${ago(turn.beganMs, Date.now())}`)}${status}`
  return `${indent}${mark} ${view.isReverted ? `${words} ${terminal.style('dim', 'reverted')}` : words}`
}

//   o t1              Children below their parent, a branch further to the right.
//   ├─× t2
//   └─@ t4
function drawTree(context: Context, views: readonly TurnView[]): void {
  const byParent = Map.groupBy(
    views.toSorted((a, b) => a.turn.beginSeq - b.turn.beginSeq),
    (view) => view.turn.parent.turn,
  )
  const shownIds = new Set<string | null>(views.map((view) => view.turn.id))
  const draw = (view: TurnView, lead: string, branch: string) => {
    context.terminal.line(`${lead}${branch}${turnLine(context, view, '')}`)
    const children = byParent.get(view.turn.id) ?? []
    const deeper = branch === '' ? lead : lead + (branch === '├─' ? '│ ' : '  ')
    for (const [at, child] of children.entries()) {
      draw(child, deeper, children.length === 1 ? '' : at === children.length - 1 ? '└─' : '├─')
    }
  }
  for (const [parent, roots] of byParent) {
    if (shownIds.has(parent)) continue
    for (const root of roots) draw(root, '', '')
  }
}

// ---- changes and operations ------------------------------------------------------------------------------------------

function logChanges(context: Context, workspace: Workspace): number {
  const { sinceMs, untilMs } = timesOf(context)
  const sessions = sessionsOf(context, workspace)
  const all = context.args.has('all')
  const changes: readonly ChangeRow[] = workspace.index.findChanges({
    ...(all || sessions[0] === undefined ? {} : { session: sessions[0] }),
    agents: context.args.all('agent'),
    paths: typedPaths(context, workspace, context.args.all('file')),
    ...(Number.isFinite(sinceMs) ? { afterMs: sinceMs } : {}),
    ...(Number.isFinite(untilMs) ? { untilMs } : {}),
    everybody: all,
    limit: limitOf(context),
  })
  if (context.wantsJson) context.terminal.json({ changes: changes.map(changeJson) })
  else if (changes.length === 0) context.terminal.line('No change matches.')
  else
    for (const change of changes)
      context.terminal.line(`${context.terminal.style('cyan', change.id)}${changeLine(change, context)}`)
  return 0
}

function logOperations(context: Context, workspace: Workspace): number {
  const { sinceMs, untilMs } = timesOf(context)
  const sessions = new Set<string>(sessionsOf(context, workspace))
  const all = context.args.has('all')
  const operations = workspace.index
    .operations({})
    .filter(({ record }) => all || record.session === undefined || sessions.has(record.session))
    .filter(({ record }) => record.atMs >= sinceMs && record.atMs <= untilMs)
    .slice(0, limitOf(context))
  if (context.wantsJson) context.terminal.json({ operations: operations.map(operationJson) })
  else for (const operation of operations) context.terminal.line(operationLine(context, workspace, operation))
  return 0
}

function operationJson({ record, commit, before, after }: Operation) {
  const { atMs, missed: _missed, ...rest } = record
  return {
    ...rest,
    ...('paths' in record ? { paths: record.paths.map(textOfBytes) } : {}),
    ...('decisions' in record ? { decisions: record.decisions.map(decisionText) } : {}),
    at: new Date(atMs).toISOString(),
    commit,
    before: before.tree,
    after: after.tree,
  }
}

function decisionText<T extends { readonly path: RelPath }>(decision: T) {
  return { ...decision, path: textOfBytes(decision.path) }
}

function operationLine({ terminal }: Context, workspace: Workspace, { record }: Operation): string {
  const changes = workspace.index.changesOfOperation(record.seq).length
  const who = record.session === undefined ? 'you' : visible(record.session)
  return `${String(record.seq).padStart(5)}  ${terminal.style('cyan', record.id)}  ${record.kind.padEnd(10)} ${counted(changes, 'change').padEnd(11)} ${terminal.style('dim', `${who}, ${ago(record.atMs, Date.now())}`)}`
}
