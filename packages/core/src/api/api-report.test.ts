import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { apiReport, reportFile } from '../../../../scripts/api-report.ts'

test('[H249] the public surface is the one in the report', () => {
  const made = apiReport()
  expect(made, 'run "node scripts/api-report.ts --write" and look at the diff').toBe(
    readFileSync(reportFile, 'utf8'),
  )
})
