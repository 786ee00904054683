/** Another agent has the same file in hand. What the tool says that it did tells the two apart. */

import { lstatSync, readFileSync } from 'node:fs'
import type { StepId, Workspace } from '@unturn/core'
import type { Wrote } from '../events.ts'
import { optional } from '../payload.ts'
import { placeIn } from '../places.ts'
import { shareOf } from '../share.ts'

/** Before the end of a step: the rest of what stands in the file is not the step's. */
export async function shareOut(
  workspace: Workspace,
  step: StepId,
  wrote: Wrote,
  path: string,
): Promise<void> {
  const place = placeIn(workspace, path)
  if (place === undefined || !workspace.isContested(step, place)) return
  const now = readIfText(path)
  const share = now === undefined ? undefined : shareOf(now, wrote)
  if (share === undefined) return
  const { before, after } = share
  await workspace.recordShare(step, {
    path: place,
    ...optional('before', before === undefined ? undefined : Buffer.from(before)),
    after: Buffer.from(after),
  })
}

/** Undefined where its bytes would not come out as they went in. */
function readIfText(path: string): string | undefined {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined
  const bytes = readFileSync(path)
  const text = bytes.toString('utf8')
  return Buffer.from(text).equals(bytes) ? text : undefined
}
