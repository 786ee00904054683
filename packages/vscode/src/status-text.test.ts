import { expect, test } from 'vitest'
import { type StatusFacts, statusText } from './status-text.ts'

const facts: StatusFacts = {
  state: 'connected',
  trouble: undefined,
  session: { agent: 'claude', reverted: ['t3'], running: [], turns: 3, head: 't2' },
  head: 'Make the total right\nand nothing else',
  pending: 4,
}

test('[X105] the status bar tells where the files stand, what is undone and what waits', () => {
  expect(statusText(facts)).toEqual({
    text: '$(discard) Make the total right and no… · 1 undone · 4 to review',
    tooltip:
      'Your files stand after: Make the total right and nothing else\n1 turn is undone, and can be redone.\n4 hunks wait for review.',
    isBad: false,
  })
})

test.each([
  [{ state: 'connecting' }, '$(loading~spin) Unturn'],
  [{ state: 'offline', trouble: 'No command.' }, '$(debug-disconnect) Unturn'],
  [{ state: 'empty' }, '$(discard) Unturn'],
  [{ session: undefined }, '$(discard) Unturn'],
  [
    { session: { agent: 'c', reverted: [], running: ['t'], turns: 1, head: null }, pending: 0 },
    '$(sync~spin) before the first turn',
  ],
] as readonly (readonly [Partial<StatusFacts>, string])[])(
  '[X105] and as much when there is less to tell: %j',
  (other, text) => {
    expect(statusText({ ...facts, ...other }).text).toBe(text)
  },
)
