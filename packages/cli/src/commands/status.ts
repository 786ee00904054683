/** `status`: where things stand. */

import {
  type SessionId,
  type SessionView,
  shown,
  statusOf,
  textOfBytes,
  UnturnError,
  visible,
  type Workspace,
} from '@unturn/core'
import type { Command, Context } from '../command.ts'
import { nothingHere } from '../nothing-here.ts'
import { ago, counted, size } from '../words.ts'

export const statusCommand: Command = {
  name: 'status',
  group: 'Looking',
  usage: 'status',
  summary: 'workspace, sessions, head, pending hunks, reverted and running turns, store',
  options: [],
  run: async (context) => {
    const workspace = await context.knownWorkspace()
    if (workspace === undefined) return tellEmpty(context)
    const status = statusOf(workspace.engine)
    const pending = await pendingBySession(workspace, status.sessions)
    if (context.wantsJson) {
      context.terminal.json({
        workspace: textOfBytes(workspace.root),
        sessions: status.sessions.map((view) => sessionJson(view, pending)),
        lastCapture:
          status.lastCapture === undefined ? null : new Date(status.lastCapture.atMs).toISOString(),
        operations: status.operations,
        pendingHunks: [...pending.values()].reduce((sum, count) => sum + count, 0),
        store: { folder: textOfBytes(workspace.engine.folders.folder), ...status.store },
      })
      return 0
    }
    const { terminal } = context
    terminal.line(`${terminal.style('bold', 'Workspace')}  ${shown(workspace.root)}`)
    const last = status.lastCapture
    terminal.line(
      `Captured   ${last === undefined ? 'never' : ago(last.atMs, Date.now())}, ${counted(status.operations, 'operation')}`,
    )
    const borrowed =
      status.store.borrowedBytes === 0 ? '' : `, and ${size(status.store.borrowedBytes)} shared with your git`
    terminal.line(
      `Store      ${size(status.store.bytes)} in ${counted(status.store.packs, 'pack')}${borrowed}`,
    )
    if (status.sessions.length === 0)
      terminal.line('No session yet. Record a turn, for instance with: unturn run -- COMMAND')
    for (const session of status.sessions) tellSession(context, session, pending)
    return 0
  },
}

function tellEmpty(context: Context): number {
  if (context.wantsJson) {
    context.terminal.json({
      workspace: context.folder,
      sessions: [],
      lastCapture: null,
      operations: 0,
      pendingHunks: 0,
      store: null,
    })
  } else {
    const next = 'Begin with: unturn run -- COMMAND, or: unturn turn begin'
    for (const line of nothingHere(context, next)) context.terminal.line(line)
  }
  return 0
}

/** As of the last operation: status takes no look at the files. */
async function pendingBySession(
  workspace: Workspace,
  sessions: readonly SessionView[],
): Promise<PendingHunks> {
  const pending = new Map<SessionId, number>()
  for (const { session } of sessions) {
    try {
      pending.set(session.id, await workspace.countPending(session.id))
    } catch (error) {
      // Where the store is damaged, status is what people look at first: it says what it knows.
      if (!(error instanceof UnturnError)) throw error
    }
  }
  return pending
}

/** A session that is not in it could not be counted. */
type PendingHunks = ReadonlyMap<SessionId, number>

function sessionJson({ session, turns, reverted, running, isActive }: SessionView, pending: PendingHunks) {
  return {
    id: session.id,
    agent: session.agent,
    head: session.head.turn,
    turns,
    reverted,
    running,
    pendingHunks: pending.get(session.id) ?? null,
    active: isActive,
  }
}

function tellSession(
  { terminal }: Context,
  { session, turns, reverted, running, isActive }: SessionView,
  pending: PendingHunks,
): void {
  const hunks = pending.get(session.id)
  const marks = [
    hunks === undefined ? terminal.style('yellow', 'pending hunks cannot be counted (unturn doctor)') : '',
    hunks ? terminal.style('cyan', `${counted(hunks, 'pending hunk')} (unturn review)`) : '',
    running.length > 0 ? terminal.style('yellow', `running ${running.join(', ')}`) : '',
    reverted.length > 0
      ? terminal.style('dim', `${counted(reverted.length, 'reverted turn')} (unturn redo)`)
      : '',
  ].filter((mark) => mark !== '')
  const name = `${isActive ? '*' : ' '} ${visible(session.id)}`
  terminal.line(
    `${isActive ? terminal.style('bold', name) : name}  ${visible(session.agent)}, ${counted(turns, 'turn')}, head ${session.head.turn ?? 'at the beginning'}${marks.length === 0 ? '' : `  ${marks.join('  ')}`}`,
  )
}
