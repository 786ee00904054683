/** Histories that are drawn at random, carried out one by one, and counted. */

import fc from 'fast-check'

const { UNTURN_SOAK: soak, UNTURN_SEED: replay } = process.env

export const drawnTimeoutMs = soak === undefined ? 600_000 : 24 * 3_600_000

export interface DrawnRun<Happening> extends AsyncDisposable {
  happen(what: Happening): Promise<void>
  end(): Promise<void>
  readonly tally: Readonly<Record<string, number>>
}

/**
 * As many histories as fit into the time that a test file may take; `UNTURN_SOAK=5000` runs so many. The short run is
 * the same each time: what turns it red is a change, and not the draw. The soak draws anew. A replay has longer to shrink.
 */
export async function runDrawn<Happening>(
  histories: fc.Arbitrary<readonly Happening[]>,
  start: () => Promise<DrawnRun<Happening>>,
): Promise<Readonly<Record<string, number>>> {
  const sums: Record<string, number> = { histories: 0 }
  const property = fc.asyncProperty(histories, async (happenings) => {
    await using run = await start()
    for (const what of happenings) await run.happen(what)
    await run.end()
    for (const [what, count] of Object.entries({ histories: 1, ...run.tally }))
      sums[what] = (sums[what] ?? 0) + count
  })
  await fc.assert(property, limits<[readonly Happening[]]>())
  return sums
}

function limits<Drawn>(): fc.Parameters<Drawn> {
  if (soak !== undefined) return { numRuns: Number(soak) || 2_000, ...replayed() }
  if (replay !== undefined) return { interruptAfterTimeLimit: 300_000, ...replayed() }
  return { seed: 22, numRuns: 200, interruptAfterTimeLimit: 17_000, markInterruptAsFailure: false }
}

/** `UNTURN_SEED=seed` or `seed:path`, as a failure prints them. */
function replayed(): Pick<fc.Parameters, 'seed' | 'path' | 'numRuns'> {
  const [seed, path] = (replay ?? '').split(/:(.*)/)
  return { ...(seed ? { seed: Number(seed) } : {}), ...(path ? { path, numRuns: 1 } : {}) }
}
