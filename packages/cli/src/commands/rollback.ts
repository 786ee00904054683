/** `rollback`: selected changes out, all later work kept. */

import { resolveChange, resolveOperation, resolveStep, resolveTurn, type Selection } from '@unturn/core'
import { type Command, type Context, UsageError } from '../command.ts'
import { parseTime } from '../time.ts'
import { known, moveOptions, moveWish, tellOutcome } from './moving.ts'
import { typedPaths } from './recording.ts'

const selectors = ['change', 'step', 'turn', 'agent', 'agent-id', 'file', 'after', 'op'] as const

export const rollbackCommand: Command = {
  name: 'rollback',
  group: 'Undo and redo',
  usage: 'rollback SELECTOR… [--dry-run] [--on-conflict CHOICE]',
  summary: 'take selected changes out, wherever they are, and keep all later work',
  details:
    'Several kinds of selector narrow each other; repeats of one kind add up. The head of the session stays.',
  options: [
    { name: 'change', value: 'ID', repeats: true, help: 'one change (see: unturn log --changes)' },
    { name: 'step', value: 'ID', repeats: true, help: 'one step' },
    { name: 'turn', value: 'ID', repeats: true, help: 'one turn' },
    { name: 'agent', value: 'NAME', repeats: true, help: 'everything by this agent' },
    { name: 'agent-id', value: 'ID', repeats: true, help: 'everything by this subagent' },
    { name: 'file', value: 'PATH', repeats: true, help: 'one file, or all below a folder' },
    { name: 'after', value: 'TIME', help: 'everything since then (ISO 8601, or 10m, 2h, 3d)' },
    {
      name: 'op',
      value: 'ID',
      repeats: true,
      help: 'an undo, redo, restore, rollback, accept, reject or propose',
    },
    ...moveOptions,
  ],
  run: async (context) => {
    if (!selectors.some((name) => context.args.has(name)))
      throw new UsageError(`say what to roll back: ${selectors.map((name) => `--${name}`).join(', ')}`)
    const wish = moveWish(context)
    const workspace = await context.knownWorkspace()
    const session = context.requireSession(workspace, 'roll back')
    const outcome = await known(workspace).rollback({ session, selection: selectionOf(context), ...wish })
    return tellOutcome(context, outcome, 'rollback')

    function selectionOf({ args }: Context): Selection {
      const { engine } = known(workspace)
      const after = args.get('after')
      return {
        changes: args.all('change').map((id) => resolveChange(engine, id)),
        steps: args.all('step').map((id) => resolveStep(engine, id)),
        turns: args.all('turn').map((id) => resolveTurn(engine, session, id)),
        ops: args.all('op').map((id) => resolveOperation(engine, id)),
        agents: args.all('agent'),
        agentIds: args.all('agent-id'),
        paths: typedPaths(context, known(workspace), args.all('file')),
        ...(after === undefined ? {} : { afterMs: parseTime(after, Date.now()) }),
      }
    }
  },
}
