import { expect, test } from 'vitest'
import { counted, plainLine, promptLine, shortAge, textOf, timeAgo, withoutIcons } from './words.ts'

test('[X119] a line has no line breaks and nothing that hides or turns text around', () => {
  expect(plainLine('  a\n\tb\u202ec\u200bd\u0000 ')).toBe('a b\ufffdc\ufffdd\ufffd')
  expect(plainLine('x'.repeat(300), 10)).toBe('xxxxxxxxx…')
  expect(promptLine(null)).toBe('(no prompt)')
  expect(promptLine(' \n ')).toBe('(no prompt)')
})

test('[X119] what looks like an icon stays text where icons are drawn', () => {
  expect(withoutIcons('run $(date) and $(sync~spin), not $(a b)')).toBe(
    'run \\$(date) and \\$(sync~spin), not $(a b)',
  )
})

test('[X100] times and numbers read like words', () => {
  const now = Date.parse('2026-01-02T12:00:00Z')
  const ages = [
    '2026-01-02T11:59:40Z',
    '2026-01-02T11:50:00Z',
    '2026-01-02T09:00:00Z',
    '2026-01-01T11:00:00Z',
  ]
  expect(ages.map((age) => timeAgo(age, now))).toEqual(['just now', '10 min ago', '3 h ago', '1 day ago'])
  expect(ages.map((age) => shortAge(age, now))).toEqual(['now', '10m', '3h', '1d'])
  expect([counted(1, 'file'), counted(1_200, 'file'), counted(0, 'turn is', 'turns are')]).toEqual([
    '1 file',
    '1,200 files',
    '0 turns are',
  ])
})

test('[X112] a server that went away is told in words for people', async () => {
  expect(textOf(Object.assign(new Error('What.'), { hint: 'Do.' }))).toBe('What. Do.')
  const failure = await fetch('http://127.0.0.1:1/').catch((error: unknown) => error)
  expect(textOf(failure)).toContain('The Unturn server does not answer')
})
