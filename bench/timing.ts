/** Stopwatch and middle value. */

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}

export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

export interface Contender {
  readonly name: string
  /** Not part of the time. */
  readonly prepare?: (run: number) => unknown
  readonly work: (run: number) => unknown
  /** Some can only be timed from inside their own process: then the answer of `work` is the time. */
  readonly timesItself?: boolean
  readonly clean?: (run: number) => unknown
}

/**
 * The medians of several contenders, one run of each in turn, so that a busy minute of the machine hits all of
 * them and the ratios stay true.
 */
export async function compare(
  contenders: readonly Contender[],
  runs: number,
  warmups: number,
): Promise<Readonly<Record<string, readonly number[]>>> {
  const taken = Object.fromEntries(contenders.map(({ name }): [string, number[]] => [name, []]))
  for (let run = 0; run < runs + warmups; run++) {
    for (const contender of contenders) {
      const ms = await once(contender, run)
      if (run >= warmups) taken[contender.name]?.push(ms)
    }
  }
  return taken
}

async function once({ prepare, work, timesItself, clean }: Contender, run: number): Promise<number> {
  await prepare?.(run)
  let answer: unknown
  const ms = await timed(async () => {
    answer = await work(run)
  })
  await clean?.(run)
  return timesItself === true ? Number(answer) : ms
}
