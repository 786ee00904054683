/** `accept` and `reject`: somebody's word on pending hunks. */

import {
  type Decided,
  decisionConflicts,
  decisionJson,
  type HunkSelection,
  resolveTurn,
  type SessionId,
  type Workspace,
} from '@unturn/core'
import { type Command, type Context, UsageError } from '../command.ts'
import { colouredPatch } from '../patch.ts'
import type { Terminal } from '../terminal.ts'
import { conflictsOf, counted, fileLines } from '../words.ts'
import { known } from './moving.ts'
import { typedPaths } from './recording.ts'
import { decidedWords } from './review-text.ts'

const selectors = ['hunk', 'file', 'turn', 'agent', 'group', 'all'] as const
const choices = ['abort', 'keep', 'overwrite', 'markers'] as const

const usage =
  '[--hunk ID]… [--file P]… [--turn T]… [--agent NAME]… [--group G]… [--all] [--comment TEXT] [--dry-run] [--on-conflict CHOICE]'

const howToSelect =
  'Several kinds of selector narrow each other; repeats of one kind add up. ID:2-4,7 names some lines of a hunk: its −\nand + lines, counted from 1. A hunk whose text has changed since you saw it is refused, and nothing is changed.'

const options: Command['options'] = [
  {
    name: 'hunk',
    value: 'ID',
    repeats: true,
    help: 'one hunk (see: unturn review), or lines of it: ID:2-4,7',
  },
  { name: 'file', value: 'PATH', repeats: true, help: 'one file, or all below a folder' },
  { name: 'turn', value: 'ID', repeats: true, help: 'what this turn changed' },
  { name: 'agent', value: 'NAME', repeats: true, help: 'what this agent changed' },
  { name: 'group', value: 'NAME', repeats: true, help: 'proposals that were made as one group' },
  { name: 'all', help: 'everything that is pending in the session' },
  { name: 'comment', value: 'TEXT', help: 'why; for a rejection the agent can read it' },
  { name: 'dry-run', help: 'print the plan, change nothing' },
  {
    name: 'on-conflict',
    value: 'CHOICE',
    help: 'abort (default), keep, overwrite or markers: what to do where somebody has edited inside a hunk',
  },
]

export const acceptCommand: Command = {
  name: 'accept',
  group: 'Review',
  usage: `accept ${usage}`,
  summary: 'take pending hunks as they are; proposals are written to the disk',
  details: howToSelect,
  options,
  run: (context) => decide(context, 'accept'),
}

export const rejectCommand: Command = {
  name: 'reject',
  group: 'Review',
  usage: `reject ${usage}`,
  summary: 'put pending hunks back; your own edits stay',
  details: howToSelect,
  options,
  run: (context) => decide(context, 'reject'),
}

async function decide(context: Context, verb: 'accept' | 'reject'): Promise<number> {
  const { args } = context
  if (!selectors.some((name) => args.has(name)))
    throw new UsageError(
      `say what to ${verb}: ${selectors
        .slice(0, -1)
        .map((name) => `--${name}`)
        .join(', ')}, or --all for everything`,
    )
  const onConflict = args.oneOf('on-conflict', choices, 'abort')
  const comment = args.get('comment')
  const workspace = await context.knownWorkspace()
  const session = context.requireSession(workspace, 'review')
  const decided = await known(workspace)[verb]({
    session,
    selection: selectionOf(context, known(workspace), session),
    ...(comment === undefined ? {} : { comment }),
    dryRun: args.has('dry-run'),
    onConflict,
  })
  if (decided.kind === 'conflicts') throw decisionConflicts(verb, decided)
  if (context.wantsJson) context.terminal.json(decisionJson(decided))
  else tell(context.terminal, decided, verb)
  return 0
}

// A kind that was not typed is left out, so that --all with others is what the others say.
function selectionOf(context: Context, workspace: Workspace, session: SessionId): HunkSelection {
  const { args } = context
  return {
    hunks: args.all('hunk'),
    paths: typedPaths(context, workspace, args.all('file')),
    turns: args.all('turn').map((id) => resolveTurn(workspace.engine, session, id)),
    agents: args.all('agent'),
    groups: args.all('group'),
  }
}

function tell(terminal: Terminal, decided: Decided, verb: 'accept' | 'reject'): void {
  terminal.line(terminal.style('bold', decidedWords(decided, verb)))
  for (const line of fileLines(decided, terminal)) terminal.line(line)
  for (const line of conflictsOf(decided, verb, terminal)) terminal.line(line)
  if (decided.patch !== undefined) terminal.bytes(colouredPatch(decided.patch, terminal))
  const { pending } = decided
  const still = decided.kind === 'planned' ? 'would still be' : pending === 1 ? 'is still' : 'are still'
  terminal.line(
    pending === 0 ? leftNothing(decided) : `${counted(pending, 'hunk')} ${still} pending: unturn review`,
  )
  for (const op of decided.ops.toReversed())
    terminal.line(terminal.style('dim', `Take this back with: unturn rollback --op ${op}`))
}

function leftNothing({ kind }: Decided): string {
  return kind === 'planned' ? 'Nothing more would be pending.' : 'Nothing more is pending.'
}
