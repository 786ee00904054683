import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Bursts } from './bursts.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('[U230] a burst is over when nothing has changed for the quiet period, and each is recorded once', async () => {
  let recorded = 0
  const bursts = new Bursts({
    quietMs: 1_000,
    onBurst: async () => {
      recorded += 1
    },
  })
  bursts.activity()
  await vi.advanceTimersByTimeAsync(900)
  bursts.activity()
  await vi.advanceTimersByTimeAsync(900)
  expect(recorded).toBe(0)
  await vi.advanceTimersByTimeAsync(200)
  expect(recorded).toBe(1)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(recorded).toBe(1)
  bursts.activity()
  await bursts.end()
  expect(recorded).toBe(2)
  await bursts.end()
  expect(recorded).toBe(2)
})

test('[U230] a burst waits until the one before it is recorded', async () => {
  const order: string[] = []
  let release = () => {}
  const bursts = new Bursts({
    quietMs: 10,
    onBurst: async () => {
      order.push('begin')
      await new Promise<void>((resolve) => {
        release = resolve
      })
      order.push('end')
    },
  })
  bursts.activity()
  await vi.advanceTimersByTimeAsync(20)
  bursts.activity()
  await vi.advanceTimersByTimeAsync(20)
  expect(order).toEqual(['begin'])
  release()
  await vi.advanceTimersByTimeAsync(1)
  expect(order).toEqual(['begin', 'end', 'begin'])
})
