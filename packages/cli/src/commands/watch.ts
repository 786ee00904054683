/** `watch`: for agents without hooks. A burst of changes to files becomes one turn. */

import { randomUUID } from 'node:crypto'
import { type FSWatcher, watch } from 'node:fs'
import { changeJson, type SessionId, shown, textOfBytes, type Workspace } from '@unturn/core'
import { Bursts } from '../bursts.ts'
import { type Command, type Context, UsageError } from '../command.ts'
import { startGcIfDue } from '../housekeeping.ts'
import { counted } from '../words.ts'
import { newOrNamedSession } from './recording.ts'

export const watchCommand: Command = {
  name: 'watch',
  group: 'Recording',
  usage: 'watch [--agent NAME] [--pause SECONDS]',
  summary: 'record bursts of changes as turns, until Ctrl-C; for agents without hooks',
  details:
    'Everything that changes counts as the agent’s, also what you type meanwhile. Where the agent has hooks ("unturn init")\nor can be started by "unturn run", those know better.',
  options: [
    { name: 'agent', value: 'NAME', help: 'who works (default: watch)' },
    {
      name: 'pause',
      value: 'SECONDS',
      help: 'a turn is over when nothing has changed for so long (default: 5)',
    },
  ],
  run: async (context) => {
    const quietMs = pauseOf(context)
    const agent = context.args.get('agent') ?? 'watch'
    const workspace = await context.workspace()
    const session = sessionFor(context, workspace, agent)
    await workspace.capture()
    await untilStopped(context, workspace, quietMs, () => recordBurst(context, workspace, session, agent))
    return 0
  },
}

function pauseOf({ args }: Context): number {
  const seconds = Number(args.get('pause') ?? 5)
  if (!(seconds >= 0.1 && seconds <= 3_600)) throw new UsageError('--pause takes seconds, from 0.1 to 3600')
  return seconds * 1_000
}

function sessionFor(context: Context, workspace: Workspace, agent: string): SessionId {
  if (context.args.has('session')) return newOrNamedSession(context, workspace)
  const last = workspace.index.sessions().find((session) => session.agent === agent)
  return last?.id ?? (`watch-${randomUUID()}` as SessionId)
}

/** It has happened already, so the turn is told late: what changed since the last operation is its own. */
async function recordBurst(
  context: Context,
  workspace: Workspace,
  session: SessionId,
  agent: string,
): Promise<void> {
  // A file that is ignored, or only touched: an empty turn would stand in the way of undo.
  if (!(await workspace.hasChanged())) return
  const prompt = `changes until ${new Date().toISOString().slice(0, 19)}Z`
  const { turn } = await workspace.beginTurn({ session, agent, prompt, late: true })
  const { changes } = await workspace.endTurn(turn)
  const { terminal } = context
  if (context.wantsJson) terminal.json({ session, turn, changes: changes.map(changeJson) })
  else terminal.line(`Turn ${turn}: ${counted(changes.length, 'change')}`)
  await terminal.flush()
  startGcIfDue(workspace)
}

/** Watching is a hint, the look at all files is the truth: what it misses is found with the next burst. */
async function untilStopped(
  context: Context,
  workspace: Workspace,
  quietMs: number,
  record: () => Promise<void>,
): Promise<void> {
  const { terminal } = context
  let fail: (error: unknown) => void = () => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  const bursts = new Bursts({ quietMs, onBurst: () => record().catch(fail) })
  using watching = watchFolder(textOfBytes(workspace.root), quietMs, () => bursts.activity())
  terminal.warn(`unturn: watching ${shown(workspace.root)}${watching.note}. Ctrl-C ends it.`)
  await Promise.race([stopSignal(), failed])
  await bursts.end()
}

interface Watching extends Disposable {
  readonly note: string
}

function watchFolder(root: string, quietMs: number, onActivity: () => void): Watching {
  let timer: ReturnType<typeof setInterval> | undefined
  let watcher: FSWatcher | undefined
  const look = () => {
    watcher?.close()
    watcher = undefined
    timer ??= setInterval(onActivity, Math.max(2 * quietMs, 2_000))
  }
  try {
    watcher = watch(root, { recursive: true }, (_event, name) => {
      if (!isOfGit(name)) onActivity()
    })
    // Too many folders for this system, or the folder is gone: then we look now and then.
    watcher.on('error', look)
  } catch {
    look()
  }
  const note = watcher === undefined ? ' (by looking now and then: this system does not tell of changes)' : ''
  return {
    note,
    [Symbol.dispose]: () => {
      watcher?.close()
      clearInterval(timer)
    },
  }
}

function isOfGit(name: string | null): boolean {
  return name !== null && (name === '.git' || name.startsWith('.git/') || name.startsWith('.git\\'))
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve())
  })
}
