/** `undo`, `redo`, `restore`, `cleanup`. */

import {
  conflictJson,
  conflictsError,
  type Outcome,
  outcomeJson,
  resolveStep,
  resolveTurn,
  type Workspace,
} from '@unturn/core'
import type { OptionSpec } from '../args.ts'
import { type Command, type Context, noSession, UsageError } from '../command.ts'
import { colouredPatch } from '../patch.ts'
import { branchLine, counted, fileLines, notUndoneLines, oneConflict, oneLine } from '../words.ts'

export const moveOptions: readonly OptionSpec[] = [
  { name: 'dry-run', help: 'print the plan, change nothing' },
  { name: 'diff', help: 'with --dry-run: also the diff it would make (rollback shows it always)' },
  {
    name: 'on-conflict',
    value: 'CHOICE',
    help: 'abort (default), keep, overwrite or markers: what to do with files changed since in the same place',
  },
  { name: 'git', help: 'also move the branch back over commits that the undone turns made' },
  { name: 'force', help: 'go ahead although a turn is running; it is closed as interrupted' },
]

const choices = ['abort', 'keep', 'overwrite', 'markers'] as const

export function moveWish(context: Context) {
  const { args } = context
  return {
    dryRun: args.has('dry-run'),
    onConflict: args.oneOf('on-conflict', choices, 'abort'),
    git: args.has('git'),
    evenIfRunning: args.has('force'),
  }
}

export const undoCommand: Command = {
  name: 'undo',
  group: 'Undo and redo',
  usage: 'undo [--turns N | --to TURN] [--dry-run] [--on-conflict CHOICE] [--git] [--force]',
  summary: 'take the last turn out of the files; your own edits stay',
  options: [
    { name: 'turns', value: 'N', help: 'how many turns (default 1)' },
    { name: 'to', value: 'TURN', help: 'everything from this turn on' },
    ...moveOptions,
  ],
  run: async (context) => {
    const { args } = context
    if (args.has('turns') && args.has('to')) throw new UsageError('give --turns or --to, not both')
    const turns = args.count('turns')
    const to = args.get('to')
    const wish = moveWish(context)
    const workspace = await context.knownWorkspace()
    const session = context.requireSession(workspace, 'undo')
    const outcome = await known(workspace).undo({
      session,
      ...wish,
      ...(turns === undefined ? {} : { turns }),
      ...(to === undefined ? {} : { to: resolveTurn(known(workspace).engine, session, to) }),
    })
    return tellOutcome(context, outcome, 'undo')
  },
}

export const redoCommand: Command = {
  name: 'redo',
  group: 'Undo and redo',
  usage: 'redo [--turns N | --all] [--dry-run] [--on-conflict CHOICE] [--force]',
  summary: 'put an undone turn back',
  options: [
    { name: 'turns', value: 'N', help: 'how many turns (default 1)' },
    { name: 'all', help: 'all of them' },
    ...moveOptions,
  ],
  run: async (context) => {
    const { args } = context
    if (args.has('turns') && args.has('all')) throw new UsageError('give --turns or --all, not both')
    const turns = args.count('turns')
    const wish = moveWish(context)
    const workspace = await context.knownWorkspace()
    const session = context.requireSession(workspace, 'redo')
    const outcome = await known(workspace).redo({
      session,
      ...wish,
      all: args.has('all'),
      ...(turns === undefined ? {} : { turns }),
    })
    return tellOutcome(context, outcome, 'redo')
  },
}

export const restoreCommand: Command = {
  name: 'restore',
  group: 'Undo and redo',
  usage:
    'restore TURN [--before | --after] [--step ID] [--exact] [--dry-run] [--on-conflict CHOICE] [--git] [--force]',
  summary: 'go to any point of the session’s tree of turns',
  details:
    'Without --after: to before that turn. --step goes inside the turn. --exact makes the workspace exactly as it was\nthen, later edits by anybody removed; "unturn rollback --op" brings them back.',
  options: [
    { name: 'before', help: 'to before the turn, or the step (default)' },
    { name: 'after', help: 'to after it' },
    { name: 'step', value: 'ID', help: 'a step inside the turn' },
    { name: 'exact', help: 'the workspace exactly as it was' },
    ...moveOptions,
  ],
  words: 1,
  run: async (context) => {
    const { args } = context
    const typed = args.words[0]
    if (typed === undefined) throw new UsageError('name the turn to restore')
    if (args.has('before') && args.has('after')) throw new UsageError('give --before or --after, not both')
    const wish = moveWish(context)
    const workspace = await context.knownWorkspace()
    if (workspace === undefined) throw noSession()
    const turn = resolveTurn(workspace.engine, context.session(workspace), typed)
    const session = args.has('session') ? context.session(workspace) : workspace.index.findTurn(turn)?.session
    if (session === undefined) throw noSession()
    const step = args.get('step')
    const outcome = await workspace.restore({
      session,
      turn,
      side: args.has('after') ? 'after' : 'before',
      exact: args.has('exact'),
      ...wish,
      ...(step === undefined ? {} : { step: resolveStep(workspace.engine, step) }),
    })
    return tellOutcome(context, outcome, 'restore')
  },
}

export const cleanupCommand: Command = {
  name: 'cleanup',
  group: 'Undo and redo',
  usage: 'cleanup',
  summary: 'remove the session’s reverted turns for good',
  options: [],
  run: async (context) => {
    const workspace = await context.knownWorkspace()
    const session = workspace === undefined ? undefined : context.session(workspace)
    const cleaned =
      workspace === undefined || session === undefined
        ? { turns: [], steps: [] }
        : await workspace.cleanup(session)
    if (context.wantsJson) context.terminal.json(cleaned)
    else if (cleaned.turns.length + cleaned.steps.length === 0)
      context.terminal.line('Nothing to clean up: no turn is reverted.')
    else
      context.terminal.line(
        `Removed ${counted(cleaned.turns.length, 'reverted turn')} and ${counted(cleaned.steps.length, 'step')} from the history. No file was changed.`,
      )
    return 0
  },
}

export function known(workspace: Workspace | undefined): Workspace {
  if (workspace === undefined) throw noSession()
  return workspace
}

/** Prints what was done, or what would be; conflicts that stopped it become the error with exit code 4. */
export function tellOutcome(
  context: Context,
  outcome: Outcome,
  verb: 'undo' | 'redo' | 'restore' | 'rollback',
): number {
  if (outcome.kind === 'conflicts') {
    const { conflicts, op: _op, ...rest } = outcomeJson(outcome)
    throw conflictsError(conflicts, rest)
  }
  if (context.wantsJson) context.terminal.json(outcomeJson(outcome))
  else tellPlainly(context, outcome, verb)
  return 0
}

const pastOf = { undo: 'Undid', redo: 'Redid', restore: 'Restored', rollback: 'Rolled back' } as const

function tellPlainly(context: Context, outcome: Outcome, verb: keyof typeof pastOf): void {
  const { terminal, args } = context
  const turns = verb === 'redo' ? outcome.redone : outcome.reverted
  const what = turns.length === 0 ? '' : ` ${counted(turns.length, 'turn')} (${turns.join(', ')})`
  const planned = outcome.kind === 'planned'
  const files = outcome.files.length === 0 ? 'no file needs to change' : counted(outcome.files.length, 'file')
  terminal.line(
    terminal.style('bold', planned ? `Would ${verb}${what}: ${files}` : `${pastOf[verb]}${what}: ${files}`),
  )
  for (const line of fileLines(outcome, terminal)) terminal.line(line)
  if (outcome.conflicts.length > 0) terminal.line(conflictHeading(context, planned))
  for (const conflict of outcome.conflicts) {
    for (const line of oneConflict({ ...conflictJson(conflict) }, terminal)) terminal.line(line)
  }
  for (const line of notUndoneLines(outcome.notUndone, terminal)) terminal.line(line)
  const branch = branchLine(outcome)
  if (branch !== undefined) terminal.line(branch)
  const showsDiff = verb === 'rollback' || args.has('diff')
  if (showsDiff && outcome.patch !== undefined) terminal.bytes(colouredPatch(outcome.patch, terminal))
  if (outcome.prompt !== undefined)
    terminal.line(`${terminal.style('dim', 'Prompt:')} ${oneLine(outcome.prompt, terminal.width - 10)}`)
  if (!planned && outcome.op !== undefined) terminal.line(terminal.style('dim', backWords(verb, outcome.op)))
}

/** What becomes of files that were changed since in the same place: as planned, and as done. */
const fates = {
  keep: ['would stay as they are', 'left as they are'],
  overwrite: [
    'would get the old version (the newer one stays recoverable)',
    'given the old version (the newer one stays recoverable)',
  ],
  markers: ['would get both versions, between markers', 'given both versions, between markers'],
} as const

function conflictHeading({ args }: Context, isPlanned: boolean): string {
  const choice = args.oneOf('on-conflict', choices, 'abort')
  const [planned, done] = fates[choice === 'abort' ? 'keep' : choice]
  return `In conflict, ${isPlanned ? planned : done}:`
}

function backWords(verb: keyof typeof pastOf, op: string): string {
  return verb === 'undo' ? 'Put it back with: unturn redo' : `Take this back with: unturn rollback --op ${op}`
}
