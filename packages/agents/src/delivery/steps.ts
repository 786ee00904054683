/** Calls of tools: a step in each workspace that the call can reach. */

import { resolve } from 'node:path'
import type { StepId } from '@unturn/core'
import type { AgentEvent, Call, EventOf } from '../events.ts'
import type { OpenStep } from '../memory.ts'
import { optional } from '../payload.ts'
import { noteWrites } from './background.ts'
import { noteEdited } from './formatting.ts'
import { reachOf } from './reach.ts'
import type { SessionAtHand } from './session-at-hand.ts'
import { shareOut } from './share-out.ts'
import { newTurn, turnIn } from './turns.ts'

export async function stepBegan(session: SessionAtHand, event: EventOf<'step-began'>): Promise<void> {
  const { call } = event
  if (call.does === 'read') return
  if (call.does === 'subagent') return subagentBegan(session, call)
  const key = newKey(session, call)
  await beginSteps(session, event, key, session.isLate || call.hasBegun === true)
  if (call.command !== undefined) noteWrites(session, call.command, event.cwd)
}

/** A call in each workspace that it can reach: the named paths where they are, anything else where the agent is. */
async function beginSteps(
  session: SessionAtHand,
  event: EventOf<'step-began' | 'step-ended'>,
  key: string,
  late: boolean,
): Promise<readonly OpenStep[]> {
  const { call } = event
  const begun: OpenStep[] = []
  for (const [root, paths] of await reachOf(session, event)) {
    const turn = await turnIn(session, root, event)
    const workspace = await session.workspace(root)
    const { step } = await workspace.beginStep({
      turn,
      tool: call.tool,
      paths,
      part: key,
      ...optional('command', call.command),
      ...optional('agentId', actorOf(session, event)),
      late,
    })
    begun.push({ root, step })
    // After each of them: what has begun must be found again, also when the next one fails.
    if (session.memory.turn !== undefined) session.memory.turn.steps[key] = [...begun]
  }
  return begun
}

export async function stepEnded(session: SessionAtHand, event: EventOf<'step-ended'>): Promise<void> {
  const { memory } = session
  const { call, outcome } = event
  if (call.does === 'read') return
  if (call.does === 'subagent') return subagentEnded(session, call)
  // Its work goes on. The step stays open until the turn ends, so that what it still writes is its own.
  if (outcome === 'launched') return
  const key = openKey(session, call)
  const open = key === undefined ? undefined : memory.turn?.steps[key]
  const steps = open ?? (await beginUnannounced(session, event))
  for (const { root, step } of steps) await endStep(session, root, step, event)
  if (key !== undefined) forgetSteps(session, key)
}

// Its beginning was lost, or it was closed with its turn. Only the first of these has something left to record.
async function beginUnannounced(
  session: SessionAtHand,
  event: EventOf<'step-ended'>,
): Promise<readonly OpenStep[]> {
  const { call } = event
  if (call.id !== undefined && (await isRecorded(session, call.id))) return []
  const key = newKey(session, call)
  const begun = await beginSteps(session, event, key, true)
  forgetSteps(session, key)
  return begun
}

async function isRecorded(session: SessionAtHand, part: string): Promise<boolean> {
  for (const [root, turn] of Object.entries(session.memory.turn?.turns ?? {})) {
    const workspace = await session.workspace(root)
    if (workspace.index.findStepByPart(turn, part) !== undefined) return true
  }
  return false
}

async function endStep(
  session: SessionAtHand,
  root: string,
  step: StepId,
  event: EventOf<'step-ended'>,
): Promise<void> {
  const endedMs = session.now
  const workspace = await session.workspace(root)
  for (const wrote of event.call.wrote ?? [])
    await shareOut(workspace, step, wrote, resolve(event.cwd, wrote.path))
  await workspace.endStep(step)
  if (event.call.does === 'edit') noteEdited(session, root, event, endedMs)
}

function forgetSteps({ memory }: SessionAtHand, key: string): void {
  if (memory.turn !== undefined) delete memory.turn.steps[key]
}

// ---- which call it is --------------------------------------------------------------------------------------------------

/** A call without an id gets a number: the same call twice is two steps. */
function newKey({ memory }: SessionAtHand, call: Call): string {
  if (call.id !== undefined) return call.id
  const like = likeOf(call)
  const turn = memory.turn ?? newTurn(undefined, undefined)
  memory.turn = turn
  const count = (turn.counts[like] ?? 0) + 1
  turn.counts[like] = count
  return `${like}:${count}`
}

/** Without an id: the last of its kind that is still open. */
function openKey({ memory }: SessionAtHand, call: Call): string | undefined {
  if (call.id !== undefined) return call.id
  return Object.keys(memory.turn?.steps ?? {})
    .filter((key) => key.startsWith(`${likeOf(call)}:`))
    .at(-1)
}

function likeOf({ tool, likeness }: Call): string {
  return `${tool}:${likeness ?? ''}`
}

// ---- subagents ---------------------------------------------------------------------------------------------------------

// To send off a subagent changes nothing by itself, and its own calls are told. A step for it would be open all the
// while, and would be given what the user writes beside it.
function subagentBegan({ memory }: SessionAtHand, call: Call): void {
  if (call.id === undefined) memory.within.push(likeOf(call))
}

function subagentEnded({ memory }: SessionAtHand, call: Call): void {
  const at = memory.within.lastIndexOf(likeOf(call))
  if (at >= 0) memory.within.splice(at)
}

function actorOf({ memory }: SessionAtHand, event: AgentEvent): string | undefined {
  return event.subagent ?? memory.within.at(-1)
}
