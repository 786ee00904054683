import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isFailure } from '../errors.ts'
import type { OpId, RelPath, SessionId, StepId, TurnId } from '../values.ts'
import { refOf } from './log.ts'
import { type OperationRecord, parseRecord, type StepRecord, serializeRecord } from './record.ts'

const step: StepRecord = {
  kind: 'step',
  id: 'o1' as OpId,
  seq: 7,
  atMs: 1_700_000_000_000,
  session: 's' as SessionId,
  turn: 't1' as TurnId,
  step: 's1' as StepId,
  tool: 'shell',
  agent: 'a',
  paths: ['d/a.txt' as RelPath],
  certainty: 'exact',
  ended: true,
  beganMs: 1,
}

const name = fc
  .array(fc.integer({ min: 1, max: 255 }), { minLength: 1, maxLength: 12 })
  .map((bytes) => `x${String.fromCharCode(...bytes).replaceAll('/', '_')}`)

test('[L20] [P6] a record comes back the same, whatever the bytes of its paths and the letters of its texts', () => {
  fc.assert(
    fc.property(fc.array(name, { maxLength: 4 }), fc.string({ unit: 'binary' }), (paths, text) => {
      const record: OperationRecord = {
        ...step,
        paths: paths as unknown as readonly RelPath[],
        command: text,
        tool: text,
      }
      expect(parseRecord(serializeRecord(record), 'x')).toEqual(record)
    }),
  )
})

test('[L20] fields that nobody knows are ignored', () => {
  const json = { version: 1, ...step, future: { a: 1 } }
  expect(parseRecord(Buffer.from(JSON.stringify(json)), 'x')).toEqual(step)
})

const flawed: readonly (readonly [string, unknown])[] = [
  ['another version', { ...step, version: 2 }],
  ['no version', { ...step, version: undefined }],
  ['another kind', { ...step, kind: 'party' }],
  ['a number below one', { ...step, seq: 0 }],
  ['a broken number', { ...step, seq: 1.5 }],
  ['an absurd number', { ...step, seq: 2 ** 52 }],
  ['a number as text', { ...step, seq: '7' }],
  ['an absurd time', { ...step, atMs: 9e15 }],
  ['no session', { ...step, session: undefined }],
  ['a path that leads out', { ...step, paths: ['../a'] }],
  ['a path into .git', { ...step, paths: ['.GIT/config'] }],
  ['an absolute path', { ...step, paths: ['/etc/passwd'] }],
  ['a path that is a number', { ...step, paths: [7] }],
  ['an unknown certainty', { ...step, certainty: 'maybe' }],
  ['a list in place of the object', [step]],
  ['nothing', null],
]

test.each(flawed)('[L21] [M14] a record with %s is refused with a clear error', (_, value) => {
  const json =
    value !== null && typeof value === 'object' && !Array.isArray(value) ? { version: 1, ...value } : value
  const failure = thrownBy(() => parseRecord(Buffer.from(JSON.stringify(json)), 'o9'))
  expect(isFailure(failure, 'record-unreadable')).toBe(true)
  expect((failure as Error).message).toContain('o9')
})

test('[L21] [M14] noise, cut anywhere, is refused or read as it was, and never anything else', () => {
  const whole = serializeRecord(step)
  for (let length = 0; length < whole.length - 1; length += 1) {
    const failure = thrownBy(() => parseRecord(whole.subarray(0, length), 'x'))
    expect(isFailure(failure, 'record-unreadable')).toBe(true)
  }
})

test('[L25] [M9] session ids that differ have refs that differ, also where the file system knows no case', () => {
  const ids = [
    'a',
    'A',
    'user',
    'USER',
    '..',
    '.',
    'a/b',
    'a.lock',
    '',
    'ä',
    '\n',
    'x'.repeat(64),
    'x'.repeat(65),
    '-',
    '@{1}',
  ]
  const refs = ids.map((id) => refOf(id as SessionId))
  expect(new Set([...refs, refOf(undefined)].map((ref) => ref.toLowerCase())).size).toBe(ids.length + 1)
  for (const ref of refs) expect(ref).toMatch(/^refs\/unturn\/sessions\/[a-z0-9][a-z0-9_-]{0,63}$/)
})

function thrownBy(work: () => unknown): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}
