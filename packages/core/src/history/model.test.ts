import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Happening, histories, ModelRun, seedFromEnvironment } from '../testing/model-run.ts'

const isSoak = process.env.UNTURN_SOAK !== undefined
// UNTURN_SOAK=5000 runs so many. Otherwise as many as fit into the time that a test file may take.
const limits = isSoak
  ? { numRuns: Number(process.env.UNTURN_SOAK) > 1 ? Number(process.env.UNTURN_SOAK) : 2_000 }
  : { numRuns: 200, interruptAfterTimeLimit: 18_000, markInterruptAsFailure: false }

test(
  '[H160] [H161] [H162] [H163] [H164] [H165] [H166] [P1] [P2] [P3] [P7] [P11] no mix of turns, edits, moves and kills parts the files from the model',
  async () => {
    const sums: Record<string, number> = { histories: 0 }
    const property = fc.asyncProperty(histories(25), async (happenings) => {
      await using run = await ModelRun.start()
      await carryOut(run, happenings)
      sums.histories = (sums.histories ?? 0) + 1
      for (const [key, count] of Object.entries(run.tally)) sums[key] = (sums[key] ?? 0) + count
    })
    await fc.assert(property, seedFromEnvironment(limits))
    console.log(`model: ${JSON.stringify(sums)}`)
    expect(sums.histories).toBeGreaterThan(0)
  },
  isSoak ? 24 * 3_600_000 : 120_000,
)

async function carryOut(run: ModelRun, happenings: readonly Happening[]): Promise<void> {
  for (const what of happenings) await run.happen(what)
  await run.end()
}
