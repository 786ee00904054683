import { expect, test } from 'vitest'
import { isTooOld } from './node-version.ts'
import { progressBar } from './terminal.ts'
import { parseTime } from './time.ts'

test('[U11] the bar waits half a second, and wipes itself away', () => {
  const written: string[] = []
  let now = 0
  const bar = progressBar(
    (text) => written.push(text),
    () => now,
  )
  bar({ what: 'looking', done: 10 })
  now = 499
  bar({ what: 'storing', done: 1, total: 100 })
  expect(written).toEqual([])
  now = 600
  bar({ what: 'storing', done: 50, total: 100 })
  expect(written).toEqual(['\r\u001b[2KStoring files [############............] 50/100'])
  bar.end()
  expect(written.at(-1)).toBe('\r\u001b[2K')
})

test('[U11] work that was quick leaves no trace at all', () => {
  const written: string[] = []
  const bar = progressBar(
    (text) => written.push(text),
    () => 0,
  )
  bar({ what: 'storing', done: 100, total: 100 })
  bar.end()
  expect(written).toEqual([])
})

test('[U12] times are ISO 8601, a time of day, or relative', () => {
  const now = Date.parse('2026-03-01T12:00:00Z')
  expect(parseTime('2026-03-01T10:00:00Z', now)).toBe(now - 7_200_000)
  expect(parseTime('10m', now)).toBe(now - 600_000)
  expect(parseTime('2h', now)).toBe(now - 7_200_000)
  expect(parseTime('3d', now)).toBe(now - 3 * 86_400_000)
  expect(new Date(parseTime('10:30', now)).getMinutes()).toBe(30)
  for (const wrong of ['', 'soon', '10', '10y', '2026-13-45', '-5m'])
    expect(() => parseTime(wrong, now)).toThrow(/is no time/)
})

test('[U15] Node 22.13 is the oldest that will do', () => {
  expect(['20.20.2', '22.12.0', '18.0.0'].map(isTooOld)).toEqual([true, true, true])
  expect(['22.13.0', '23.0.0', '24.9.0'].map(isTooOld)).toEqual([false, false, false])
})
