/** Which workspaces a call can reach, and with which paths. */

import { resolve } from 'node:path'
import type { RelPath } from '@unturn/core'
import { touchedPaths } from '../apply-patch.ts'
import type { EventOf } from '../events.ts'
import { placeIn, workspaceOfPath } from '../places.ts'
import type { SessionAtHand } from './session-at-hand.ts'

/** By workspace; no paths: the call may touch anything there. */
export async function reachOf(
  session: SessionAtHand,
  event: EventOf<'step-began' | 'step-ended'>,
): Promise<ReadonlyMap<string, readonly RelPath[]>> {
  const home = session.home(event)
  const { env, onOutside } = session.options
  const { call, cwd } = event
  const reach = new Map<string, RelPath[]>()
  if (call.paths.length === 0) {
    const here = workspaceOfPath(resolve(cwd, 'any'), home, env)
    const roots = [home, ...(here === undefined ? [] : [here]), ...rootsOfTurn(session)]
    for (const root of roots) reach.set(root, [])
    return reach
  }
  for (const typed of touchedPaths(call.paths)) {
    const path = resolve(cwd, typed)
    const root = workspaceOfPath(path, home, env)
    const place = root === undefined ? undefined : placeIn(await session.workspace(root), path)
    if (root === undefined || place === undefined) onOutside?.(path)
    else reach.set(root, [...(reach.get(root) ?? []), place])
  }
  return reach
}

function rootsOfTurn({ memory: { turn } }: SessionAtHand): readonly string[] {
  return turn === undefined || turn.ended ? [] : Object.keys(turn.turns)
}
