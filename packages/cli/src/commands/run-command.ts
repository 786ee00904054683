/** `run`: any command as one turn of its own. */

import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { constants } from 'node:os'
import {
  changeJson,
  type SessionId,
  skippedJson,
  type TurnStatus,
  visible,
  type Workspace,
} from '@unturn/core'
import { type Command, type Context, UsageError } from '../command.ts'
import { startGcIfDue } from '../housekeeping.ts'
import { newOrNamedSession } from './recording.ts'

export const runCommand: Command = {
  name: 'run',
  group: 'Recording',
  usage: 'run [--agent NAME] [--prompt TEXT] -- COMMAND…',
  summary: 'run any command as one turn; exits with the command’s code',
  options: [
    { name: 'agent', value: 'NAME', help: 'who works (default: run)' },
    { name: 'prompt', value: 'TEXT', help: 'what this is for (default: the command itself)' },
  ],
  takesRest: true,
  run: async (context) => {
    const command = context.args.rest ?? []
    if ((command[0] ?? '') === '')
      throw new UsageError('write the command behind --, as in: unturn run -- npm run format')
    const agent = context.args.get('agent') ?? 'run'
    const workspace = await context.workspace()
    const session = sessionFor(context, workspace, agent)
    const shown = command.map(quoted).join(' ')
    const { turn } = await workspace.beginTurn({
      session,
      agent,
      prompt: context.args.get('prompt') ?? shown,
      pid: process.pid,
    })
    const { step } = await workspace.beginStep({ turn, tool: 'run', paths: [], command: shown })
    context.terminal.endProgress()
    const code = await runChild(context, command)
    await workspace.endStep(step)
    const status: TurnStatus = code === 0 ? 'ok' : code > 128 ? 'interrupted' : 'failed'
    const { changes, skipped } = await workspace.endTurn(turn, status)
    if (context.wantsJson) {
      context.terminal.json({
        session,
        turn,
        exitCode: code,
        changes: changes.map(changeJson),
        skipped: skipped.map(skippedJson),
      })
    } else tellOnStderr(context, turn, changes.length)
    startGcIfDue(workspace)
    return code
  },
}

// Runs of one kind go on in one session, so that undo, undo takes back the last two of them; an agent's own session
// is left alone, since beginning a turn in it would close the one it has open.
function sessionFor(context: Context, workspace: Workspace, agent: string): SessionId {
  if (context.args.has('session')) return newOrNamedSession(context, workspace)
  return (
    workspace.index.sessions().find((session) => session.agent === agent)?.id ??
    (`run-${randomUUID()}` as SessionId)
  )
}

// The command's own output is what the caller wants on stdout; ours is a remark beside it.
function tellOnStderr(context: Context, turn: string, count: number): void {
  if (count === 0) return
  context.terminal.warn(
    `unturn: turn ${turn} changed ${count} path${count === 1 ? '' : 's'}. Take it back with: unturn undo`,
  )
}

function runChild(context: Context, command: readonly string[]): Promise<number> {
  const [program = '', ...args] = command
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      stdio: ['inherit', context.wantsJson ? process.stderr : 'inherit', 'inherit'],
    })
    // Ctrl-C reaches the child by itself, being in the same group of the terminal; we stay to record what it did.
    const stay = () => {}
    const pass = (signal: NodeJS.Signals) => child.kill(signal)
    process.on('SIGINT', stay)
    process.on('SIGTERM', pass)
    process.on('SIGHUP', pass)
    const done = (code: number) => {
      process.off('SIGINT', stay)
      process.off('SIGTERM', pass)
      process.off('SIGHUP', pass)
      resolve(code)
    }
    child.on('error', (error: NodeJS.ErrnoException) => {
      process.stderr.write(
        `unturn: ${visible(program)} cannot be started (${error.code ?? error.message}). Nothing was run; the turn is in the history as failed.\n`,
      )
      done(error.code === 'EACCES' ? 126 : 127) // as a shell would
    })
    child.on('exit', (code, signal) =>
      done(code ?? 128 + (signal === null ? 0 : (constants.signals[signal] ?? 0))),
    )
  })
}

function quoted(word: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
