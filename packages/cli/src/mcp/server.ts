/** The tools over standard input and output, by the official SDK. Loaded only by `unturn mcp`. */

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import type { Answer, Place } from './call.ts'
import { type Tool, tools } from './tools.ts'

const instructions =
  'Unturn records what coding agents do in this folder, turn by turn, and takes it back without touching the user’s own work. Look with status, log, diff and review. undo, redo and rollback change files: use them when the user asks for it, and say what they did.'

/** Until the other side closes its end. */
export async function serveTools(place: Place): Promise<void> {
  const server = new McpServer({ name: 'unturn', version: place.version }, { instructions })
  const inTurn = oneAfterTheOther()
  for (const tool of tools) register(server, tool, (input) => inTurn(() => tool.run(place, input)))
  const closed = new Promise<void>((resolve) => {
    server.server.onclose = resolve
    process.stdin.once('end', resolve)
    process.stdin.once('close', resolve)
  })
  await server.connect(new StdioServerTransport())
  await closed
  await inTurn(async () => {}) // what was asked before the end is still done, and done whole
  await server.close()
}

function register(server: McpServer, tool: Tool, run: (input: unknown) => Promise<Answer>): void {
  const { name, title, description, hints: annotations, input: inputSchema } = tool
  server.registerTool(name, { title, description, inputSchema, annotations }, async (input: unknown) =>
    resultOf(await run(input)),
  )
}

/** What no model could read in one go. The ids in the answer lead to the rest. */
const mostCharacters = 200_000

function resultOf({ document, isError }: Answer) {
  const text = JSON.stringify(document)
  if (text.length <= mostCharacters)
    return { content: [{ type: 'text' as const, text }], structuredContent: document, isError }
  const note = `The answer has ${text.length} characters; this is the beginning. Ask for less: fewer files, a lower limit, or only counts.`
  return {
    content: [
      { type: 'text' as const, text: note },
      { type: 'text' as const, text: text.slice(0, mostCharacters) },
    ],
    isError,
  }
}

// Two calls at once would wait for the same lock in one process, and the one that has it could never let go.
function oneAfterTheOther(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const next = last.then(work)
    last = next.catch(() => {})
    return next
  }
}
