/** Plan and apply apart: look at what would happen, decide, and get exactly that or a clear refusal. */

import { UnturnError } from '../errors.ts'
import type { Planned } from '../history/enact.ts'
import type { PlannedMove } from '../history/moves.ts'
import type { Decided } from '../review/standing.ts'
import type { MoveResult } from './words.ts'

/** How a move or a decision is run: dry, or for real with a last look at what it is about to write. */
export interface Run {
  readonly dryRun: boolean
  readonly onPlan: (planned: Planned | PlannedMove | Decided) => void
}

export class Plan<Result extends { readonly kind: MoveResult['kind'] } = MoveResult> {
  /** What would be done. A plan of kind `conflicts` or `nothing` has nothing to apply. */
  readonly outcome: Result
  readonly #fingerprint: string
  readonly #run: (run: Run) => Promise<Result>

  private constructor(outcome: Result, fingerprint: string, run: (run: Run) => Promise<Result>) {
    this.outcome = outcome
    this.#fingerprint = fingerprint
    this.#run = run
  }

  static async make<Result extends { readonly kind: MoveResult['kind'] }>(
    run: (run: Run) => Promise<Result>,
  ): Promise<Plan<Result>> {
    let fingerprint = ''
    const outcome = await run({
      dryRun: true,
      onPlan: (planned) => {
        fingerprint = fingerprintOf(planned)
      },
    })
    return new Plan(outcome, fingerprint, run)
  }

  /**
   * Does what was planned. It is planned again first, in the same breath as the writing: if the files, the head or the
   * hunks have moved since in a way that changes the plan, this throws `plan-stale` and nothing is written. Changes elsewhere in
   * the workspace do not matter.
   */
  async apply(): Promise<Result> {
    if (this.outcome.kind !== 'planned') return this.outcome
    const result = await this.#run({
      dryRun: false,
      onPlan: (planned) => {
        if (fingerprintOf(planned) !== this.#fingerprint) throw planStale()
      },
    })
    if (result.kind !== 'done') throw planStale()
    return result
  }
}

function fingerprintOf(planned: Parameters<Run['onPlan']>[0]): string {
  if ('hunks' in planned) {
    const { hunks, files, conflicts, patch } = planned
    return JSON.stringify([hunks.map(({ id }) => id), files, conflicts, patch])
  }
  const { plan, conflicts } = planned
  const way = 'to' in planned ? [planned.from, planned.to] : []
  return JSON.stringify([way, plan.paths, plan.folders, conflicts])
}

function planStale(): UnturnError {
  return new UnturnError(
    'plan-stale',
    {},
    {
      message: 'The files or the session have changed since this was planned. Nothing was written.',
      hint: 'Plan again, and look at the new plan before you apply it.',
    },
  )
}
