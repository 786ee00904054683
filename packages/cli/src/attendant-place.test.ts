import { attendantSocket } from '@unturn/agents'
import { expect, test } from 'vitest'
import { attendantPlace } from './attendant-place.ts'

test('[U203] a hook looks for the attendant where the attendant listens', () => {
  for (const env of [
    { HOME: '/home/x' },
    { HOME: '/home/x', XDG_DATA_HOME: '/data' },
    { HOME: '/home/x', XDG_DATA_HOME: 'relative' },
    { HOME: '/home/x', UNTURN_HOME: '/stores/' },
    { HOME: '/home/x', UNTURN_HOME: 'here' },
    { HOME: '', UNTURN_HOME: '' },
    { HOME: `/${'long/'.repeat(30)}` },
  ])
    expect(attendantPlace(env)).toBe(attendantSocket(env))
})
