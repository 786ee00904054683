/** `hook`: what the agents' hooks call. Listed here for the help; it runs past the other commands, see ../hook.ts. */

import type { Command } from '../command.ts'

export const hookCommand: Command = {
  name: 'hook',
  group: 'More',
  usage: 'hook AGENT EVENT < PAYLOAD',
  summary: 'what the hooks call that "init" installs; you need not',
  details:
    'Reads what the agent tells from standard input, records it, and answers the agent. It always ends with 0 and within a\nfew seconds. What could not be recorded in time is kept, and recorded by the next hook or command. "unturn doctor" shows\nwhen each hook was last heard, and what went wrong.',
  options: [],
  words: 2,
  run: async (context) => {
    const { runHook } = await import('../hook.ts')
    await runHook(context.args.words, process.env)
    return 0
  },
}
