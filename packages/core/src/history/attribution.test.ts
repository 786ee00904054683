import { expect, test } from 'vitest'
import type { Flight } from '../log/flights.ts'
import type { RelPath, SessionId, StepId, TurnId } from '../values.ts'
import { attribute, type Situation } from './attribution.ts'

const flight = (step: string, session: string, paths: readonly string[] = [], implicit = false): Flight => ({
  step: step as StepId,
  session: session as SessionId,
  turn: `t-${session}` as TurnId,
  tool: 'x',
  agent: 'a',
  paths: paths as RelPath[],
  beganMs: 0,
  implicit,
})

const owners = (situation: Omit<Partial<Situation>, 'paths'> & { readonly paths: readonly string[] }) =>
  attribute({ flights: [], adopted: new Set(), ...situation, paths: situation.paths as RelPath[] }).map(
    (claim) => `${claim.flight?.step ?? 'user'} ${claim.certainty}: ${claim.paths.join(' ')}`,
  )

test('[H10] [H12] with nothing in flight all is the user’s; with an edit step only what it names is not', () => {
  expect(owners({ paths: ['a', 'b'] })).toEqual(['user exact: a b'])
  const flights = [flight('s1', 'A', ['a', 'dir'])]
  expect(owners({ paths: ['a', 'ab', 'dir/x', 'dirt'], flights })).toEqual([
    'user exact: ab dirt',
    's1 exact: a dir/x',
  ])
})

test('[H11] [H13] an open-ended step takes what nobody names; two sessions at it share', () => {
  const shell = flight('s1', 'A')
  const edit = flight('s2', 'A', ['a'])
  expect(owners({ paths: ['a', 'b'], flights: [shell, edit] })).toEqual(['s2 exact: a', 's1 inferred: b'])
  const other = flight('s3', 'B')
  expect(owners({ paths: ['b'], flights: [shell, other] })).toEqual(['s1 shared: b'])
  expect(owners({ paths: ['b'], flights: [shell, other], closing: other })).toEqual(['s3 shared: b'])
  expect(owners({ paths: ['b'], flights: [shell, flight('s4', 'A')] })).toEqual(['s1 inferred: b'])
})

test('[H13] [H21] a turn without steps gets what no reported step can have made, and is counted as a witness', () => {
  const silent = flight('s1', 'A', [], true)
  expect(owners({ paths: ['b'], flights: [silent] })).toEqual(['s1 inferred: b'])
  expect(owners({ paths: ['b'], flights: [silent, flight('s2', 'B')] })).toEqual(['s2 shared: b'])
  expect(owners({ paths: ['b'], flights: [silent, flight('s2', 'B', ['c'])] })).toEqual(['s1 inferred: b'])
  expect(owners({ paths: ['b'], flights: [silent, flight('s2', 'B', [], true)] })).toEqual(['s1 shared: b'])
})

test('[H12] [H17] the user’s claim comes first and the closing step’s last; what was only adopted is nobody’s change', () => {
  const shell = flight('s1', 'A')
  const edit = flight('s2', 'A', ['a'])
  const found = owners({
    paths: ['a', 'b', 'old'],
    flights: [edit, shell],
    closing: edit,
    adopted: new Set(['old' as RelPath]),
  })
  expect(found).toEqual(['user exact: old', 's1 inferred: b', 's2 exact: a'])
  expect(owners({ paths: ['a'], flights: [edit], adopted: new Set(['a' as RelPath]) })).toEqual([
    's2 exact: a',
  ])
})

test('[H10] two steps that name one path: the one that closes gets it, else the older', () => {
  const one = flight('s1', 'A', ['a'])
  const two = flight('s2', 'B', ['a'])
  expect(owners({ paths: ['a'], flights: [one, two] })).toEqual(['s1 exact: a'])
  expect(owners({ paths: ['a'], flights: [one, two], closing: two })).toEqual(['s2 exact: a'])
})
