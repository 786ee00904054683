/** What nobody announced has happened when we come to know of it. */

import type { StepWish, Workspace } from '@unturn/core'

/** Times of files and the clock are not the same to the millisecond. */
export const clockMs = 5

/** A step that is over already. */
export async function recordAfterwards(workspace: Workspace, wish: StepWish): Promise<void> {
  const { step } = await workspace.beginStep({ ...wish, late: true })
  await workspace.endStep(step)
}
