/** `mcp`: the history and the undo as tools for a model, over standard input and output. */

import type { Command } from '../command.ts'

export const mcpCommand: Command = {
  name: 'mcp',
  group: 'More',
  usage: 'mcp',
  summary:
    'offer status, log, diff, checkpoint, undo, redo, rollback and review as tools (Model Context Protocol)',
  details:
    'Speaks on standard input and output; an agent or an editor starts it, in the folder of the project or with -C DIR. Tools\nthat change files say so, and a rollback is carried out only after a dry run of it.',
  options: [],
  run: async (context) => {
    const { serveTools } = await import('../mcp/server.ts')
    const folder = context.args.get('C')
    if (folder !== undefined) process.chdir(folder) // paths are meant from there
    await serveTools({ version: context.version, ...(folder === undefined ? {} : { folder: process.cwd() }) })
    return 0
  },
}
