import { expect, test } from 'vitest'
import { drawnTimeoutMs, runDrawn } from '../testing/drawn.ts'
import { histories, ModelRun } from '../testing/model-run.ts'

test(
  '[H160] [H161] [H162] [H163] [H164] [H165] [H166] [P1] [P2] [P3] [P7] [P11] no mix of turns, edits, moves and kills parts the files from the model',
  async () => {
    const sums = await runDrawn(histories(25), ModelRun.start)
    console.log(`model: ${JSON.stringify(sums)}`)
    expect(sums.histories).toBeGreaterThan(0)
  },
  drawnTimeoutMs,
)
