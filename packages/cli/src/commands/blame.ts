/** `blame`: who wrote each line. */

import { type BlamedLine, textOfBytes, visible } from '@unturn/core'
import { type Command, type Context, noSession, UsageError } from '../command.ts'
import { oneLine } from '../words.ts'
import { typedPaths } from './recording.ts'

export const blameCommand: Command = {
  name: 'blame',
  group: 'Looking',
  usage: 'blame FILE',
  summary: 'each line with the turn, agent and prompt that wrote it',
  options: [],
  words: 1,
  run: async (context) => {
    const typed = context.args.words[0]
    if (typed === undefined) throw new UsageError('name the file')
    const workspace = await context.knownWorkspace()
    if (workspace === undefined) throw noSession()
    const path = typedPaths(context, workspace, [typed])[0]
    if (path === undefined) throw noSession()
    const lines = await workspace.blame(path)
    if (context.wantsJson) context.terminal.json({ path: textOfBytes(path), lines: lines.map(lineJson) })
    else tell(context, lines)
    return 0
  },
}

function lineJson({ text, by, agent, agentId, turn, operation }: BlamedLine, at: number) {
  return {
    line: at + 1,
    text,
    by,
    agent: agent ?? null,
    ...(agentId === undefined ? {} : { agentId }),
    session: operation?.record.session ?? null,
    turn: turn?.id ?? null,
    prompt: turn?.prompt ?? null,
    op: operation?.record.id ?? null,
    at: operation === undefined ? null : new Date(operation.record.atMs).toISOString(),
  }
}

function tell({ terminal }: Context, lines: readonly BlamedLine[]): void {
  const heads = lines.map(headOf)
  const width = Math.max(0, ...heads.map((head) => head.length))
  lines.forEach(({ text, by }, at) => {
    // A run of lines by one author is told once: the eye finds the borders.
    const head = heads[at] === heads[at - 1] ? '' : (heads[at] ?? '')
    const colour = by === 'agent' ? 'cyan' : by === 'user' ? 'green' : 'dim'
    terminal.line(`${terminal.style(colour, head.padEnd(width))} │ ${visible(text).replaceAll('\\t', '\t')}`)
  })
}

function headOf({ by, agent, turn }: BlamedLine): string {
  if (by === 'user') return 'you'
  if (by === 'before') return ''
  if (by === 'unturn') return 'unturn'
  return `${turn?.id ?? ''} ${agent ?? ''} ${oneLine(turn?.prompt, 24)}`.trim()
}
