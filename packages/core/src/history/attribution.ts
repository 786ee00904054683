/** Who made a change: decided once, here, from the steps that were in flight while it happened. Pure. */

import type { Flight } from '../log/flights.ts'
import type { Certainty, RelPath } from '../values.ts'

/** Paths that belong together in one operation. No flight: the user's own. */
export interface Claim {
  readonly flight?: Flight
  readonly certainty: Certainty
  readonly paths: readonly RelPath[]
}

export interface Situation {
  /** What changed since the last operation. */
  readonly paths: readonly RelPath[]
  readonly flights: readonly Flight[]
  /** The step whose end is being recorded. */
  readonly closing?: Flight
  /** Paths that were there before and only now came to be captured: nobody's change. */
  readonly adopted: ReadonlySet<RelPath>
  /** The step that has ended and yet made this change, where one can tell. */
  readonly past?: (path: RelPath) => Flight | undefined
}

/**
 * The user's claim first, since a step's operation must begin where the user's edits ended; the closing step last.
 *
 *   named by a step in flight           → that step, exact
 *   one open-ended step in flight       → that step, inferred
 *   several, of different sessions      → the one that closes, or the oldest: shared
 *   otherwise                           → the user
 *
 * A turn that has reported no step yet stands behind every step that somebody did report: it may have had a hand in
 * a change, but it does not get it.
 */
export function attribute(situation: Situation): readonly Claim[] {
  const claims = new Map<Flight | undefined, { certainty: Certainty; paths: RelPath[] }>()
  const openEnded = openEndedFlights(situation.flights)
  for (const path of situation.paths) {
    const owner = ownerOf(path, situation, openEnded)
    const claim = claims.get(owner.flight)
    if (claim === undefined) claims.set(owner.flight, { certainty: owner.certainty, paths: [path] })
    else claim.paths.push(path)
  }
  return [...claims]
    .map(([flight, claim]) => (flight === undefined ? claim : { flight, ...claim }))
    .sort((a, b) => rank(a, situation.closing) - rank(b, situation.closing))
}

interface Owner {
  readonly flight: Flight | undefined
  readonly certainty: Certainty
}

const theUser: Owner = { flight: undefined, certainty: 'exact' }

function ownerOf(path: RelPath, situation: Situation, openEnded: readonly Flight[]): Owner {
  const named = namedBy(path, situation)
  if (named !== undefined) return { flight: named, certainty: named.late === true ? 'inferred' : 'exact' }
  if (situation.adopted.has(path)) return theUser
  const past = situation.past?.(path)
  if (past !== undefined) return { flight: past, certainty: 'inferred' }
  const oldest = openEnded[0]
  if (oldest === undefined) return theUser
  const closing = openEnded.find((flight) => flight.step === situation.closing?.step)
  const shared = situation.flights.some((flight) => isOpenEnded(flight) && flight.session !== oldest.session)
  return { flight: closing ?? oldest, certainty: shared ? 'shared' : 'inferred' }
}

function namedBy(path: RelPath, { flights, closing }: Situation): Flight | undefined {
  const naming = flights.filter((flight) =>
    flight.paths.some((named) => path === named || path.startsWith(`${named}/`)),
  )
  return naming.find((flight) => flight.step === closing?.step) ?? naming[0]
}

function openEndedFlights(flights: readonly Flight[]): readonly Flight[] {
  const open = flights.filter(isOpenEnded)
  const reported = open.filter((flight) => !flight.implicit)
  return reported.length > 0 ? reported : open
}

function isOpenEnded(flight: Flight): boolean {
  return flight.paths.length === 0
}

function rank(claim: Claim, closing: Flight | undefined): number {
  if (claim.flight === undefined) return 0
  return claim.flight.step === closing?.step ? 2 : 1
}
