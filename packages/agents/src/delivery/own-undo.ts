/**
 * The agent has put files back by itself, a moment ago. That is a turn of its own: not the user's edit, and it can be
 * undone like any other.
 */

import type { RelPath } from '@unturn/core'
import { hasReadBackups } from '../claude-code/rewind.ts'
import type { AgentEvent, EventOf } from '../events.ts'
import { recordAfterwards } from './afterwards.ts'
import type { SessionAtHand } from './session-at-hand.ts'
import { closeLeftOpen } from './turns.ts'

/** One that the agent tells of. */
export async function recordRevert(session: SessionAtHand, event: EventOf<'own-undo'>): Promise<void> {
  const { memory } = session
  const id = `${event.undone ? 'unrevert' : 'revert'}:${event.to ?? ''}`
  const was = memory.lastOwnUndo
  // A session that was never reverted says of every update that there is no revert.
  if (was === id || (event.undone && (was === undefined || was.startsWith('unrevert')))) return
  memory.lastOwnUndo = id
  await closeLeftOpen(session)
  const words = event.undone ? 'took its own revert back' : `reverted to before ${event.to}`
  await record(session, event, words, event.undone ? 'unrevert' : 'revert', [])
  delete memory.turn
}

/**
 * Claude Code says nothing of a rewind. All that it wrote since a turn is as it was before that turn, and it has read its
 * copies of those files meanwhile, or has been at work without being asked for anything: then it was its rewind.
 */
export async function takeInRewind(session: SessionAtHand, event: AgentEvent): Promise<void> {
  const { agent, heardMs, isUnasked } = session.memory
  if (agent !== 'claude-code' || session.isLate || heardMs === undefined) return
  if (isUnasked !== true && !hasReadBackups(session.id, heardMs, session.options.env)) return
  const workspace = await session.workspace(session.home(event))
  const back = await workspace.findWentBack(session.id)
  if (back === undefined) return
  await record(session, event, `went back to before ${back.turn} by itself`, 'rewind', back.paths)
}

async function record(
  session: SessionAtHand,
  event: AgentEvent,
  words: string,
  tool: string,
  paths: readonly RelPath[],
): Promise<void> {
  const { id, agent, memory } = session
  const home = session.home(event)
  const workspace = await session.workspace(home)
  const prompt = `(${agent} ${words})`
  const { turn } = await workspace.beginTurn({ session: id, agent, prompt, late: true })
  await recordAfterwards(workspace, { turn, tool, paths })
  await workspace.endTurn(turn)
  if (!memory.roots.includes(home)) memory.roots.push(home)
}
