import { expect, test } from 'vitest'
import { load } from './testing/load.ts'
import { served } from './testing/served.ts'

test('[V170] many clients and agents at once lose no event and no change', async () => {
  await using s = await served({ 'a.txt': 'one\n' })
  const report = await load({
    unturn: s.unturn,
    workspace: s.id,
    dir: s.dir,
    clients: 50,
    agents: 8,
    ms: 3_000,
  })
  expect(report.problems).toEqual([])
  expect(report.turns).toBeGreaterThanOrEqual(24)
  expect(report.reconnects).toBeGreaterThan(5)
})
