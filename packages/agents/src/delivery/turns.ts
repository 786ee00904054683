/** Turns of a session: one stands in every workspace that it touched. */

import type { TurnId, TurnStatus, TurnWish, Workspace } from '@unturn/core'
import type { AgentEvent, EventOf } from '../events.ts'
import type { TurnMemory } from '../memory.ts'
import { likenessOf, optional } from '../payload.ts'
import { noteBackground } from './background.ts'
import type { SessionAtHand } from './session-at-hand.ts'

export function newTurn(message: string | undefined, prompt: string | undefined): TurnMemory {
  return {
    ...optional('message', message),
    ...optional('prompt', prompt),
    also: [],
    turns: {},
    ended: false,
    steps: {},
    counts: {},
  }
}

export async function beginTurn(session: SessionAtHand, root: string, event: AgentEvent): Promise<TurnId> {
  const { memory } = session
  const turn = memory.turn ?? newTurn(event.turn, undefined)
  memory.turn = turn
  const workspace = await session.workspace(root)
  const wish: TurnWish = {
    session: session.id,
    agent: session.agent,
    ...optional('prompt', turn.prompt),
    ...optional('message', turn.message),
    ...optional('pid', event.pid),
    late: session.isLate,
  }
  const { turn: id } = await workspace.beginTurn(wish)
  turn.turns[root] = id
  if (!memory.roots.includes(root)) memory.roots.push(root)
  return id
}

/** The turn that this event belongs to, in this workspace; begun there if it has not been. */
export async function turnIn(session: SessionAtHand, root: string, event: AgentEvent): Promise<TurnId> {
  const { memory } = session
  const { turn } = memory
  if (turn === undefined) return beginTurn(session, root, event)
  if (isOfAnother(turn, event)) {
    await closeLeftOpen(session)
    memory.turn = newTurn(event.turn, undefined)
    return beginTurn(session, root, event)
  }
  const known = turn.turns[root]
  if (known === undefined) return beginTurn(session, root, event)
  if (!turn.ended || (await session.standsAt(root, known))) return known
  // The turn was undone, or another branch is in force: what comes now cannot be part of it any more.
  memory.turn = newTurn(undefined, undefined)
  return beginTurn(session, root, event)
}

// The prompt of a new turn may have been lost; its id on a call tells. A subagent has ids of its own.
function isOfAnother(turn: TurnMemory, event: AgentEvent): boolean {
  if (event.subagent !== undefined || event.turn === undefined || turn.message === undefined) return false
  return event.turn !== turn.message && !turn.also.includes(event.turn)
}

export async function endTurn(
  session: SessionAtHand,
  status: TurnStatus,
  stillRunning: readonly string[],
): Promise<void> {
  const { memory } = session
  const { turn } = memory
  if (turn === undefined) return
  // An agent may say several times that it is done; each would look at every file again.
  const isNews = !turn.ended || Object.keys(turn.steps).length > 0
  for (const [root, id] of Object.entries(isNews ? turn.turns : {})) {
    const workspace = await session.workspace(root)
    await workspace.endTurn(id, status)
    session.options.afterTurn?.(workspace)
  }
  turn.ended = true
  turn.steps = {}
  memory.within = []
  memory.touched = []
  noteBackground(session, turn, stillRunning, isNews)
}

/** A turn that never ended: its agent was interrupted or killed. It keeps all that it changed. */
export async function closeLeftOpen(session: SessionAtHand): Promise<void> {
  const { turn } = session.memory
  if (turn === undefined) return
  if (!turn.ended || Object.keys(turn.steps).length > 0) await endTurn(session, 'interrupted', [])
}

// A session that says nothing more would keep its turn open, and be given whatever the user writes.
export async function closeTurnsOfTheDead(session: SessionAtHand, workspace: Workspace): Promise<void> {
  for (const turn of workspace.index.openTurns())
    if (turn.session !== session.id && turn.pid !== undefined && !session.isAlive(turn.pid))
      await workspace.endTurn(turn.id, 'interrupted')
}

/** The same prompt again within this time, without an id to tell: one hook, installed twice. */
const sameWithinMs = 2_000

export function isSamePrompt(session: SessionAtHand, event: EventOf<'prompted'>): boolean {
  const { memory, now } = session
  const message = event.message ?? event.turn
  if (message !== undefined) return memory.turn?.message === message
  const likeness = likenessOf(event.prompt)
  const { lastPrompt } = memory
  memory.lastPrompt = { likeness, atMs: now }
  return lastPrompt?.likeness === likeness && now - lastPrompt.atMs < sameWithinMs
}
