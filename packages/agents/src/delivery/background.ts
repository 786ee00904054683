/** Work that a turn leaves running: noted when the turn ends, looked after until somebody says that it is over. */

import { lstatSync } from 'node:fs'
import type { RelPath, Workspace } from '@unturn/core'
import { type AgentName, findAgent } from '../events.ts'
import { filesWrittenBy, findJobs, isRunning, type Job, type Process } from '../jobs.ts'
import type { Background, TurnMemory } from '../memory.ts'
import { placeIn } from '../places.ts'
import { clockMs, recordAfterwards } from './afterwards.ts'
import type { SessionAtHand } from './session-at-hand.ts'

/** Files that a turn's commands say they write: the last ones. */
const mostWrites = 200

export function noteWrites({ memory: { turn } }: SessionAtHand, command: string, cwd: string): void {
  if (turn === undefined) return
  turn.writes = [...(turn.writes ?? []), ...filesWrittenBy(command, cwd)].slice(-mostWrites)
}

/** `isNews`: the turn has ended just now, and not before. */
export function noteBackground(
  session: SessionAtHand,
  turn: TurnMemory,
  stillRunning: readonly string[],
  isNews: boolean,
): void {
  const { memory } = session
  const processes = isNews ? jobsOf(session, turn) : []
  if (stillRunning.length > 0 || processes.length > 0)
    memory.background = {
      told: stillRunning,
      processes,
      writes: turn.writes ?? [],
      sinceMs: session.now,
    }
  else if (isNews) delete memory.background
}

function jobsOf(session: SessionAtHand, turn: TurnMemory): readonly Process[] {
  const agent = findAgent(session.agent)
  const { home = '/' } = session.memory
  const marks = agent === undefined ? [] : (jobMarks[agent]?.(session.id, home) ?? [])
  return session.isLate || turn.beganMs === undefined ? [] : findJobs(marks, turn.beganMs, session.now)
}

/** What each agent gives to the commands that it starts, as far as it was seen. */
const jobMarks: Partial<Readonly<Record<AgentName, (session: string, home: string) => readonly Job[]>>> = {
  'claude-code': (session) => [{ mark: `CLAUDE_CODE_SESSION_ID=${session}` }],
  codex: (session) => [{ mark: `CODEX_THREAD_ID=${session}` }],
  opencode: (session) => [{ mark: `UNTURN_AGENT_SESSION=${session}` }],
  'gemini-cli': (_session, home) => [{ mark: 'GEMINI_CLI=1', inside: home }],
}

/**
 * What a job writes when its turn is over is still the turn's, where its command says so; what else has changed beside it
 * is the user's, and its operation says what was running (P3). `isOver`: nobody will look after these jobs any more.
 */
export async function takeInBackground(
  session: SessionAtHand,
  { isOver }: { readonly isOver: boolean },
): Promise<void> {
  const { memory } = session
  const { background, turn } = memory
  if (background === undefined || turn === undefined) return
  const goesOn = !isOver && (background.processes.length === 0 || background.processes.some(isRunning))
  if (goesOn) memory.background = { ...background, sinceMs: session.now }
  else delete memory.background
  // A server may run for hours: a look at its few files must do until it has ended.
  if (goesOn && !background.writes.some((path) => mayBeWritten(path, background.sinceMs))) return
  for (const [root, id] of Object.entries(turn.turns)) {
    const workspace = await session.workspace(root)
    const paths = background.writes.flatMap((path) => placeIfWritten(workspace, path, background.sinceMs))
    if (paths.length > 0 && (await session.standsAt(root, id)))
      await recordAfterwards(workspace, { turn: id, tool: 'background job', paths })
    await workspace.capture(`beside background work of ${session.agent}: ${wordsFor(background)}`)
  }
}

function wordsFor({ told, processes }: Background): string {
  if (told.length > 0) return told.join('; ')
  return `${processes.length === 1 ? 'process' : 'processes'} ${processes.map(({ pid }) => pid).join(', ')}`
}

// A folder stands for all that is in it, and that is more than the job has said.
function mayBeWritten(path: string, sinceMs: number): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat === undefined || (!stat.isDirectory() && stat.ctimeMs >= sinceMs - clockMs)
}

function placeIfWritten(workspace: Workspace, path: string, sinceMs: number): readonly RelPath[] {
  const place = mayBeWritten(path, sinceMs) ? placeIn(workspace, path) : undefined
  if (place === undefined) return []
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined
  return isThere || workspace.hasCaptured(place) ? [place] : []
}
