/** A formatter, started by an edit, writes the file once more when its step has been recorded already. Nobody says so. */

import { lstatSync } from 'node:fs'
import { resolve } from 'node:path'
import { touchedPaths } from '../apply-patch.ts'
import type { EventOf } from '../events.ts'
import { placeIn, workspaceOfPath } from '../places.ts'
import { clockMs, recordAfterwards } from './afterwards.ts'
import type { SessionAtHand } from './session-at-hand.ts'

/** A formatter that was started by the edit writes within this time. */
const formatterMs = 3_000

/** The files of an edit that has just ended. */
export function noteEdited(
  { memory }: SessionAtHand,
  root: string,
  { call, cwd }: EventOf<'step-ended'>,
  endedMs: number,
): void {
  const turn = memory.turn?.turns[root]
  if (turn === undefined) return
  for (const path of touchedPaths(call.paths))
    memory.touched.push({ root, turn, path: resolve(cwd, path), endedMs, tool: call.tool })
}

export async function takeInFormatting(session: SessionAtHand): Promise<void> {
  const { touched } = session.memory
  if (touched.length === 0) return
  session.memory.touched = []
  for (const { root, turn, path, endedMs, tool } of touched) {
    if (workspaceOfPath(path, root, session.options.env) !== root) continue
    const mtimeMs = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (mtimeMs <= endedMs + clockMs || mtimeMs > endedMs + formatterMs) continue
    const workspace = await session.workspace(root)
    const place = placeIn(workspace, path)
    if (place === undefined) continue
    await recordAfterwards(workspace, { turn, tool: `${tool} (reformatted)`, paths: [place] })
  }
}
