/** What each event of a session leads to. */

import type { AgentEvent, EventOf } from '../events.ts'
import { takeInBackground } from './background.ts'
import { takeInFormatting } from './formatting.ts'
import { recordRevert, takeInRewind } from './own-undo.ts'
import type { SessionAtHand } from './session-at-hand.ts'
import { stepBegan, stepEnded } from './steps.ts'
import { beginTurn, closeLeftOpen, closeTurnsOfTheDead, endTurn, isSamePrompt, newTurn } from './turns.ts'

export async function carryOut(session: SessionAtHand, event: AgentEvent): Promise<void> {
  const { memory } = session
  if (event.called !== undefined) memory.called = event.called
  if (event.proxy !== undefined) memory.proxy = event.proxy
  await takeInFormatting(session)
  await carryOutKind(session, event)
  if (!session.isLate) memory.heardMs = session.now
}

async function carryOutKind(session: SessionAtHand, event: AgentEvent): Promise<void> {
  switch (event.kind) {
    case 'session-began':
      return sessionBegan(session, event)
    case 'prompted':
      return prompted(session, event)
    case 'step-began':
      return stepBegan(session, event)
    case 'step-ended':
      return stepEnded(session, event)
    case 'turn-ended':
      return endTurn(session, event.outcome, event.stillRunning)
    case 'own-undo':
      return recordRevert(session, event)
    case 'session-ended':
      return sessionEnded(session, event)
    case 'subagent-began':
    case 'subagent-ended':
    case 'moved':
      return // every event of a session proves that it is alive; these say nothing else that we need
    default:
      return unreachable(event)
  }
}

async function sessionBegan(session: SessionAtHand, event: EventOf<'session-began'>): Promise<void> {
  const { memory } = session
  // Compaction happens in the middle of a turn; any other start means that what was open is over.
  if (event.how === 'compacted') return
  await closeLeftOpen(session)
  const workspace = await session.workspace(session.home(event))
  await closeTurnsOfTheDead(session, workspace)
  // The first look at a large project takes a while: it begins here, before anybody waits for it. And what changes while
  // an agent runs without being asked for anything can be told only from what was there when it started.
  memory.isUnasked = event.how === 'resumed' && event.agent === 'claude-code' && !session.isLate
  if (workspace.index.lastOperation() === undefined || memory.isUnasked) await workspace.capture()
}

async function sessionEnded(session: SessionAtHand, event: EventOf<'session-ended'>): Promise<void> {
  const { memory } = session
  await closeLeftOpen(session)
  await takeInBackground(session, { isOver: false })
  if (memory.isUnasked === true) await takeInRewind(session, event)
  memory.isUnasked = false
}

async function prompted(session: SessionAtHand, event: EventOf<'prompted'>): Promise<void> {
  const { memory } = session
  const { by } = event
  if (by === 'parent-agent' || by === 'us') return
  if (by === 'machine') return promptedByMachine(session, event)
  if (isSamePrompt(session, event)) return
  await closeLeftOpen(session)
  await takeInBackground(session, { isOver: true })
  const home = session.home(event)
  await closeTurnsOfTheDead(session, await session.workspace(home))
  await takeInRewind(session, event)
  memory.isUnasked = false
  memory.within = []
  memory.turn = { ...newTurn(event.message ?? event.turn, event.prompt), beganMs: session.now }
  await beginTurn(session, home, event)
}

// The agent wakes up because its background task is over. What it does now belongs to the turn that started the task.
async function promptedByMachine(session: SessionAtHand, event: EventOf<'prompted'>): Promise<void> {
  const { turn } = session.memory
  if (turn !== undefined && event.turn !== undefined) turn.also.push(event.turn)
  // What goes on after this is told of again when the turn ends once more.
  await takeInBackground(session, { isOver: true })
}

function unreachable(event: never): never {
  throw new Error(`an event that nobody knows: ${JSON.stringify(event)}`)
}
