import { expect, test } from 'vitest'
import { drawnTimeoutMs, runDrawn } from '../testing/drawn.ts'
import { ReviewRun, reviews } from '../testing/review-model.ts'

test(
  '[R190] [R191] [R192] [R193] [R194] [P3] [P7] [P11] no mix of turns, edits, decisions and restarts parts the review from the files or takes a line of the user’s',
  async () => {
    const sums = await runDrawn(reviews(14), ReviewRun.start)
    console.log(`review model: ${JSON.stringify(sums)}`)
    expect(sums.histories).toBeGreaterThan(0)
  },
  drawnTimeoutMs,
)
