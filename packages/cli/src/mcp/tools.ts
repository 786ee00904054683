/** The tools: what each takes, what it says of itself, and the command it stands for. */

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type Answer, type Place, runForTool } from './call.ts'

/** In the words of the protocol. */
export interface Hints {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: false
}

const looks: Hints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}
const records: Hints = { ...looks, readOnlyHint: false }
const changesFiles: Hints = { ...records, destructiveHint: true, idempotentHint: false }

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly hints: Hints
  readonly input: z.ZodObject
  readonly run: (place: Place, input: unknown) => Promise<Answer>
}

function tool<Shape extends z.ZodRawShape>(
  about: Omit<Tool, 'input' | 'run'>,
  shape: Shape,
  run: (place: Place, input: z.infer<z.ZodObject<Shape, z.core.$strict>>) => Promise<Answer>,
): Tool {
  // Strict: a field that is not known is a mistake, and an undo must not go ahead as if it had not been there.
  const input = z.strictObject(shape)
  return { ...about, input, run: (place, given) => run(place, input.parse(given)) }
}

// ---- what several of them take -----------------------------------------------------------------------------------------

const session = z
  .string()
  .optional()
  .describe(
    'The session: one conversation with one agent. Without it, the one that was last active in this folder.',
  )
const files = z.array(z.string()).optional().describe('Only these files, or all below these folders.')
const turnId = z
  .string()
  .describe('A turn: its id or the beginning of it; @ is the last turn, @-1 the one before.')
const turnCount = z.int().min(1).max(1_000).optional().describe('How many turns (default 1).')
const point = z
  .string()
  .regex(/^(@(-\d+)?|[A-Za-z0-9][A-Za-z0-9.]*)$/)
  .optional()
const moving = {
  onConflict: z
    .enum(['abort', 'keep', 'overwrite', 'markers'])
    .optional()
    .describe(
      'What to do where somebody has changed the same place since. abort (default): change nothing and answer with the conflicts. keep: leave those files as they are and do the rest. overwrite: write the old version; the newer one can be brought back. markers: write both, between conflict markers.',
    ),
  evenIfRunning: z
    .boolean()
    .optional()
    .describe(
      'Go ahead although a turn of this session is running; it is closed as interrupted. The turn that calls this tool is running, too.',
    ),
}
const dryRun = z.boolean().optional().describe('Only say what would be done; no file is changed.')

// ---- the tools ---------------------------------------------------------------------------------------------------------

export const tools: readonly Tool[] = [
  tool(
    {
      name: 'status',
      title: 'Status',
      description:
        'Where things stand in this folder: the sessions and their last turns, turns that were undone, turns that are running, blocks that nobody has reviewed yet. Changes nothing.',
      hints: looks,
    },
    {},
    (place) => runForTool(place, 'status', []),
  ),
  tool(
    {
      name: 'log',
      title: 'History',
      description:
        'The history of this folder, newest first. A turn is one prompt and all that the agent did about it; a change is one file in one step of a turn; operations are everything, also what the user edited and what was undone. The ids are what the other tools take. Changes nothing.',
      hints: looks,
    },
    {
      session,
      allSessions: z.boolean().optional().describe('All sessions instead of one.'),
      of: z.enum(['turns', 'changes', 'operations']).optional().describe('What to list (default: turns).'),
      files,
      agents: z
        .array(z.string())
        .optional()
        .describe('Only these agents, for instance claude-code or codex.'),
      since: z.string().optional().describe('Not before: ISO 8601, or relative, such as 10m, 2h, 3d.'),
      until: z.string().optional().describe('Not after.'),
      limit: z.int().min(1).max(1_000).optional().describe('At most so many (default 20).'),
    },
    (place, input) =>
      runForTool(place, 'log', [
        ...option('session', input.session),
        ...flag('all', input.allSessions),
        ...flag('changes', input.of === 'changes'),
        ...flag('ops', input.of === 'operations'),
        ...repeated('file', input.files),
        ...repeated('agent', input.agents),
        ...option('since', input.since),
        ...option('until', input.until),
        ...option('limit', input.limit ?? 20),
      ]),
  ),
  tool(
    {
      name: 'diff',
      title: 'Diff',
      description:
        'A unified diff. Without arguments: what the last turn changed. With "from": what that turn, step, change or operation changed. With "from" and "to": from before the first to after the second; "now" is the folder as it is. Changes nothing.',
      hints: looks,
    },
    {
      session,
      from: point.describe('An id, @, or @-1 and so on.'),
      to: point.describe('An id, @, @-1 and so on, or "now".'),
      files,
      countOnly: z.boolean().optional().describe('Only count lines, by file.'),
    },
    (place, input) =>
      runForTool(place, 'diff', [
        ...(input.from === undefined && input.to === undefined ? [] : [input.from ?? '@']),
        ...(input.to === undefined ? [] : [input.to]),
        ...option('session', input.session),
        ...repeated('file', input.files),
        ...flag('stat', input.countOnly),
      ]),
  ),
  tool(
    {
      name: 'checkpoint',
      title: 'Checkpoint',
      description:
        'Records the folder as it is now, so that it can be compared with and gone back to. What changed since the last record, and belongs to no running call of an agent, is recorded as the user’s own edit. No file is changed.',
      hints: records,
    },
    { label: z.string().max(500).optional().describe('A few words on what this is.') },
    (place, input) => runForTool(place, 'capture', option('label', input.label)),
  ),
  tool(
    {
      name: 'undo',
      title: 'Undo',
      description:
        'CHANGES FILES. Takes the last turn of the session out of the files, or several. What the user or another session wrote since stays; where that is in the same place nothing is changed and the conflicts are the answer. Shell commands are not taken back, only what they did to files: see notUndone in the answer. redo puts it back. Undo what the user asked you to undo, and nothing else.',
      hints: changesFiles,
    },
    {
      session,
      turns: turnCount,
      to: turnId.optional().describe('Everything from this turn on, instead of a number.'),
      dryRun,
      ...moving,
    },
    (place, input) =>
      runForTool(place, 'undo', [
        ...option('session', input.session),
        ...option('turns', input.turns),
        ...option('to', input.to),
        ...flag('dry-run', input.dryRun),
        ...movingOptions(input),
      ]),
  ),
  tool(
    {
      name: 'redo',
      title: 'Redo',
      description:
        'CHANGES FILES. Puts back turns that were undone, the one undone last first. What the user wrote since stays; where that is in the same place nothing is changed and the conflicts are the answer.',
      hints: changesFiles,
    },
    {
      session,
      turns: turnCount,
      all: z.boolean().optional().describe('All that were undone, instead of a number.'),
      dryRun,
      ...moving,
    },
    (place, input) =>
      runForTool(place, 'redo', [
        ...option('session', input.session),
        ...option('turns', input.turns),
        ...flag('all', input.all),
        ...flag('dry-run', input.dryRun),
        ...movingOptions(input),
      ]),
  ),
  tool(
    {
      name: 'rollback',
      title: 'Rollback',
      description:
        'CHANGES FILES, but not at the first call. Takes selected changes out, wherever they are, and keeps all later work. Kinds of selectors narrow each other, several of one kind add up; at least one is needed. The first call changes nothing and answers with the plan, its diff, and a "plan" id. Show the user what would happen; then call again with the same selectors and that id to carry it out. If the folder has changed meanwhile the plan is refused, and the answer has the new one.',
      hints: changesFiles,
    },
    {
      session,
      turns: z.array(turnId).optional().describe('All changes of these turns.'),
      steps: z.array(z.string()).optional().describe('All changes of these steps.'),
      changes: z.array(z.string()).optional().describe('Single changes (see: log of changes).'),
      files,
      agents: z.array(z.string()).optional().describe('Everything by these agents.'),
      agentIds: z.array(z.string()).optional().describe('Everything by these subagents.'),
      operations: z
        .array(z.string())
        .optional()
        .describe('An earlier undo, redo, restore, rollback, accept or reject: this takes it back.'),
      after: z.string().optional().describe('Everything since: ISO 8601, or relative, such as 10m, 2h, 3d.'),
      plan: z.string().optional().describe('The id from the dry run that is to be carried out.'),
      ...moving,
    },
    async (place, { plan, ...input }) => {
      const argv = [
        ...option('session', input.session),
        ...repeated('turn', input.turns),
        ...repeated('step', input.steps),
        ...repeated('change', input.changes),
        ...repeated('file', input.files),
        ...repeated('agent', input.agents),
        ...repeated('agent-id', input.agentIds),
        ...repeated('op', input.operations),
        ...option('after', input.after),
        ...movingOptions(input),
      ]
      return rollback(place, argv, plan)
    },
  ),
  tool(
    {
      name: 'review',
      title: 'Review',
      description:
        'What agents have changed and nobody has accepted or rejected yet, block by block, and what was rejected, with the comments of the user. To decide is up to the user: there is no tool for it. Changes nothing.',
      hints: looks,
    },
    {
      session,
      files,
      turns: z.array(turnId).optional().describe('Only what these turns changed.'),
      agents: z.array(z.string()).optional().describe('Only what these agents changed.'),
    },
    (place, input) =>
      runForTool(place, 'review', [
        ...option('session', input.session),
        ...repeated('file', input.files),
        ...repeated('turn', input.turns),
        ...repeated('agent', input.agents),
      ]),
  ),
]

// ---- a plan first ------------------------------------------------------------------------------------------------------

/** A plan's id is made of what it would do: it is the same as long as the same call would do the same. */
async function rollback(place: Place, argv: readonly string[], wanted: string | undefined): Promise<Answer> {
  const planned = await runForTool(place, 'rollback', [...argv, '--dry-run'])
  if (planned.isError) return planned
  const plan = createHash('sha256')
    .update(JSON.stringify([argv, planned.document]))
    .digest('hex')
    .slice(0, 16)
  if (wanted === plan) return runForTool(place, 'rollback', argv)
  if (wanted === undefined) return { document: { ...planned.document, plan }, isError: false }
  const error = {
    code: 'plan-outdated',
    message:
      'This is not what the plan was made for: the selectors are others, or the folder has changed. No file was changed.',
    hint: 'Look at the new plan. To carry it out, call again with its id.',
  }
  return { document: { error, ...planned.document, plan }, isError: true }
}

// ---- as typed ----------------------------------------------------------------------------------------------------------

function option(name: string, value: string | number | undefined): readonly string[] {
  return value === undefined ? [] : [`--${name}`, String(value)]
}

function repeated(name: string, values: readonly string[] | undefined): readonly string[] {
  return (values ?? []).flatMap((value) => option(name, value))
}

function flag(name: string, isOn: boolean | undefined): readonly string[] {
  return isOn === true ? [`--${name}`] : []
}

function movingOptions(input: { onConflict?: string | undefined; evenIfRunning?: boolean | undefined }) {
  return [...option('on-conflict', input.onConflict), ...flag('force', input.evenIfRunning)]
}
