/** `turn begin`, `turn end`, `step begin`, `step end`, `capture`: what an agent's hooks, or a script, tell us. */

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import {
  bytesOfText,
  bytesPath,
  type ChangeRow,
  changeJson,
  lastActiveSession,
  type RelPath,
  relPathFrom,
  resolveStep,
  resolveTurn,
  type SessionId,
  type Skipped,
  shown,
  skippedJson,
  type TurnWish,
  visible,
  type Workspace,
} from '@unturn/core'
import { type Command, type Context, UsageError } from '../command.ts'
import { currentFolder } from '../current-folder.ts'
import { startGcIfDue } from '../housekeeping.ts'
import { counted, skippedWords } from '../words.ts'

export const turnBegin: Command = {
  name: 'turn begin',
  group: 'Recording',
  usage:
    'turn begin [--session S] [--agent NAME] [--agent-id ID] [--prompt TEXT | --prompt-file F] [--message ID] [--pid PID]',
  summary: 'begin a turn: what changes until its end is the agent’s',
  details:
    'A turn that the session still has open is closed as interrupted first. What you changed since the last\noperation is captured as your own. While the process named by --pid lives, the turn counts as running.',
  options: [
    { name: 'agent', value: 'NAME', help: 'who works (default: agent)' },
    { name: 'agent-id', value: 'ID', help: 'the subagent, where there is one' },
    { name: 'prompt', value: 'TEXT', help: 'what was asked; undo hands it back' },
    { name: 'prompt-file', value: 'FILE', help: 'the same, from a file (- for standard input)' },
    { name: 'message', value: 'ID', help: 'the agent’s own id: the same again is the same turn' },
    { name: 'pid', value: 'PID', help: 'the agent’s process' },
  ],
  run: async (context) => {
    const wish = turnWish(context)
    const workspace = await context.workspace()
    const session = newOrNamedSession(context, workspace)
    const { turn, seq } = await workspace.beginTurn({ ...wish, session })
    if (context.wantsJson) context.terminal.json({ session, turn, seq })
    else context.terminal.line(`Turn ${turn} has begun in session ${visible(session)}`)
    return 0
  },
}

function turnWish(context: Context): Omit<TurnWish, 'session'> {
  const { args } = context
  if (args.has('prompt') && args.has('prompt-file'))
    throw new UsageError('give --prompt or --prompt-file, not both')
  const file = args.get('prompt-file')
  const prompt =
    args.get('prompt') ?? (file === undefined ? undefined : readFileSync(file === '-' ? 0 : file, 'utf8'))
  const agentId = args.get('agent-id')
  const message = args.get('message')
  const pid = args.count('pid')
  return {
    agent: args.get('agent') ?? 'agent',
    ...(prompt === undefined ? {} : { prompt }),
    ...(agentId === undefined ? {} : { agentId }),
    ...(message === undefined ? {} : { message }),
    ...(pid === undefined ? {} : { pid }),
  }
}

const longestSession = 500

/** A session is made by naming it; without a name the one last active goes on, or a new one begins. */
export function newOrNamedSession(context: Context, workspace: Workspace): SessionId {
  const typed = context.args.get('session')
  if (typed === undefined) return lastActiveSession(workspace) ?? (randomUUID() as SessionId)
  if (typed === '' || typed.length > longestSession || typed.includes('\0')) {
    throw new UsageError(`a session id has 1 to ${longestSession} characters`)
  }
  return typed as SessionId
}

export const turnEnd: Command = {
  name: 'turn end',
  group: 'Recording',
  usage: 'turn end --turn T [--status ok|interrupted|failed]',
  summary: 'end a turn and list what it changed',
  options: [
    { name: 'turn', value: 'ID', help: 'the turn' },
    { name: 'status', value: 'STATUS', help: 'ok (default), interrupted or failed' },
  ],
  run: async (context) => {
    const status = context.args.oneOf('status', ['ok', 'interrupted', 'failed'], 'ok')
    const typed = context.args.require('turn')
    const workspace = await context.workspace()
    const turn = resolveTurn(workspace.engine, context.session(workspace), typed)
    const { changes, skipped } = await workspace.endTurn(turn, status)
    if (context.wantsJson)
      context.terminal.json({ turn, changes: changes.map(changeJson), skipped: skipped.map(skippedJson) })
    else tellChanges(context, `Turn ${turn} has ended`, changes, skipped)
    startGcIfDue(workspace)
    return 0
  },
}

export const stepBegin: Command = {
  name: 'step begin',
  group: 'Recording',
  usage: 'step begin --turn T --tool NAME [--path P]… [--part ID] [--command TEXT]',
  summary: 'begin a step (one tool call) of a turn',
  details:
    'A step that names paths owns exactly these. Without --path, what changes until its end is the step’s, inferred.',
  options: [
    { name: 'turn', value: 'ID', help: 'the turn' },
    { name: 'tool', value: 'NAME', help: 'the tool' },
    { name: 'path', value: 'PATH', repeats: true, help: 'a path that the tool touches; repeat for more' },
    { name: 'part', value: 'ID', help: 'the agent’s own id: the same again is the same step' },
    { name: 'command', value: 'TEXT', help: 'the shell command, for the record' },
  ],
  run: async (context) => {
    const { args } = context
    const typed = args.require('turn')
    const tool = args.require('tool')
    const workspace = await context.workspace()
    const part = args.get('part')
    const command = args.get('command')
    const { step } = await workspace.beginStep({
      turn: resolveTurn(workspace.engine, context.session(workspace), typed),
      tool,
      paths: typedPaths(context, workspace, args.all('path')),
      ...(part === undefined ? {} : { part }),
      ...(command === undefined ? {} : { command }),
    })
    if (context.wantsJson) context.terminal.json({ step })
    else context.terminal.line(`Step ${step} has begun`)
    return 0
  },
}

/** Paths as typed: against the current folder, or against the workspace where that was named with -C. */
export function typedPaths(
  context: Context,
  workspace: Workspace,
  typed: readonly string[],
): readonly RelPath[] {
  const base = context.args.has('C') ? workspace.root : bytesPath(currentFolder())
  return typed.map((path) => relPathFrom(workspace.root, base, bytesOfText(path)))
}

export const stepEnd: Command = {
  name: 'step end',
  group: 'Recording',
  usage: 'step end --step ID',
  summary: 'end a step and list what it changed',
  options: [{ name: 'step', value: 'ID', help: 'the step' }],
  run: async (context) => {
    const typed = context.args.require('step')
    const workspace = await context.workspace()
    const step = resolveStep(workspace.engine, typed)
    const changes = await workspace.endStep(step)
    if (context.wantsJson) context.terminal.json({ step, changes: changes.map(changeJson) })
    else tellChanges(context, `Step ${step} has ended`, changes, [])
    return 0
  },
}

export const captureCommand: Command = {
  name: 'capture',
  group: 'Recording',
  usage: 'capture [--label TEXT]',
  summary: 'take in what changed since the last operation as your own',
  options: [{ name: 'label', value: 'TEXT', help: 'a note for the log' }],
  run: async (context) => {
    const workspace = await context.workspace()
    const { snapshot, changes, skipped } = await workspace.capture(context.args.get('label'))
    if (context.wantsJson)
      context.terminal.json({ snapshot, changes: changes.map(changeJson), skipped: skipped.map(skippedJson) })
    else tellChanges(context, `Captured as ${snapshot.slice(0, 12)}`, changes, skipped)
    return 0
  },
}

const letters: Readonly<Record<ChangeRow['kind'], string>> = {
  add: 'A',
  modify: 'M',
  delete: 'D',
  rename: 'R',
  mode: 'P',
  type: 'T',
}
const mostSkipped = 5

export function tellChanges(
  context: Context,
  what: string,
  changes: readonly ChangeRow[],
  skipped: readonly Skipped[],
): void {
  const { terminal } = context
  terminal.line(`${what}: ${changes.length === 0 ? 'nothing changed' : counted(changes.length, 'change')}`)
  for (const change of changes) terminal.line(changeLine(change, context))
  if (skipped.length === 0) return
  terminal.line(terminal.style('dim', `Not captured: ${counted(skipped.length, 'path')}`))
  for (const one of skipped.slice(0, mostSkipped))
    terminal.line(terminal.style('dim', `  ${skippedWords(one)}`))
  if (skipped.length > mostSkipped)
    terminal.line(terminal.style('dim', `  … and ${skipped.length - mostSkipped} more (--json lists all)`))
}

export function changeLine(change: ChangeRow, { terminal }: Pick<Context, 'terminal'>): string {
  const name =
    change.from === undefined ? shown(change.path) : `${shown(change.from)} → ${shown(change.path)}`
  const counts = change.binary
    ? 'binary'
    : `${terminal.style('green', `+${change.additions}`)} ${terminal.style('red', `−${change.deletions}`)}`
  const certainty = change.certainty === 'exact' ? '' : terminal.style('dim', `  ${change.certainty}`)
  return `  ${letters[change.kind]} ${name}  ${counts}${certainty}`
}
