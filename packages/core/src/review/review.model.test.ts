import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seedFromEnvironment } from '../testing/model-run.ts'
import { ReviewRun, reviews } from '../testing/review-model.ts'

// As many as fit into the time that a test file may take; UNTURN_SOAK=5000 runs so many. A replay has longer to shrink.
const { UNTURN_SOAK: soak, UNTURN_SEED: seed } = process.env
const quick = { numRuns: 100, interruptAfterTimeLimit: 16_000, markInterruptAsFailure: false }
const limits =
  soak === undefined
    ? seed === undefined
      ? quick
      : { interruptAfterTimeLimit: 300_000 }
    : { numRuns: Number(soak) || 2_000 }
const timeout = soak === undefined ? 600_000 : 24 * 3_600_000

test(
  '[R190] [R191] [R192] [R193] [R194] [P3] [P7] [P11] no mix of turns, edits, decisions and restarts parts the review from the files or takes a line of the user’s',
  async () => {
    const sums: Record<string, number> = { histories: 0 }
    const property = fc.asyncProperty(reviews(14), async (happenings) => {
      await using run = await ReviewRun.start()
      for (const what of happenings) await run.happen(what)
      await run.end()
      for (const [what, count] of Object.entries({ histories: 1, ...run.tally }))
        sums[what] = (sums[what] ?? 0) + count
    })
    await fc.assert(property, seedFromEnvironment(limits))
    console.log(`review model: ${JSON.stringify(sums)}`)
    expect(sums.histories).toBeGreaterThan(0)
  },
  timeout,
)
