/**
 * Audit: what a full look finds that the watcher's hints had missed goes to whoever did it, though he has ended by now.
 *
 * A file tells when it was last changed. If that was while a step without named paths was running, in a turn that nobody
 * has audited yet, the change is that step's; otherwise it is judged as usual. Of a path that is gone the folder around
 * it tells, which may be too late a time: then it counts as the user's, and nothing is lost either.
 */

import type { Flight } from '../log/flights.ts'
import { optional } from '../log/record.ts'
import { joinAbs, parentOf, type RelPath, type TurnId } from '../values.ts'
import type { Engine } from './engine.ts'
import { isOnPath } from './points.ts'

/** A step that has ended. */
export interface PastFlight extends Flight {
  readonly endedMs: number
}

export function isPast(flight: Flight): flight is PastFlight {
  return 'endedMs' in flight
}

/** Other processes go by hints, too. What they have recorded is audited by whoever looks at everything next. */
export async function hearOfUnaudited(engine: Engine): Promise<void> {
  for (const turn of (await engine.watch?.unaudited?.()) ?? []) engine.unaudited.add(turn)
}

/** The open-ended steps of the turns that were not audited yet, newest first. */
export function pastFlights(engine: Engine): readonly PastFlight[] {
  const flights = [...engine.unaudited].flatMap((turn) => flightsOf(engine, turn))
  return flights.sort((a, b) => b.endedMs - a.endedMs)
}

function flightsOf(engine: Engine, id: TurnId): readonly PastFlight[] {
  const turn = engine.log.index.findTurn(id)
  if (turn === undefined) return []
  // Taken out meanwhile, by somebody who did not know: a change that is in the files cannot belong to it any more.
  if (!isOnPath(engine, turn)) return []
  return engine.log.index.operationsOfTurn(id).flatMap(({ record }) => {
    if (record.kind !== 'step' || !record.ended || record.paths.length > 0) return []
    return {
      step: record.step,
      session: record.session,
      turn: record.turn,
      tool: record.tool,
      agent: record.agent,
      ...optional('agentId', record.agentId),
      ...optional('part', record.part),
      ...optional('command', record.command),
      paths: record.paths,
      beganMs: record.beganMs,
      endedMs: record.atMs,
      implicit: false,
    }
  })
}

// Files are stamped with the time of the last tick, which may be a little before the moment that a step began.
const tickMs = 20

export function pastOwner(
  engine: Engine,
  flights: readonly PastFlight[],
  path: RelPath,
): PastFlight | undefined {
  if (flights.length === 0) return undefined
  const changedMs = lastChangedMs(engine, path)
  return flights.find(({ beganMs, endedMs }) => changedMs >= beganMs - tickMs && changedMs <= endedMs)
}

function lastChangedMs(engine: Engine, path: RelPath): number {
  for (let at: string = path; ; at = parentOf(at)) {
    const stat = engine.fs.lstat(joinAbs(engine.root, at))
    if (stat !== undefined) return stat.ctimeMs
    if (at === '') return Number.POSITIVE_INFINITY
  }
}
