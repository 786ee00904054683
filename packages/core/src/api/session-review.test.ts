import { expect, test } from 'vitest'
import { type Fixture, workspace } from '../testing/workspace.ts'
import type { Session } from './session.ts'

function sessionOf(w: Fixture, id = 'chat'): Session {
  return w.workspace.session(id, { agent: 'my-agent' })
}

async function write(w: Fixture, session: Session, files: Record<string, string>): Promise<void> {
  await using turn = await session.begin({ prompt: 'Write' })
  await turn.step({ tool: 'write' }, () => w.userWrites(files))
  await turn.end()
}

test('[H254] a session tells what is pending, and decides by hunk, path, turn, or all', async () => {
  await using w = await workspace({ 'a.txt': '1\n2\n3\n4\n5\n', 'b.txt': 'b\n', 'c.txt': 'c\n' })
  const session = sessionOf(w)
  await write(w, session, { 'a.txt': 'ONE\n2\n3\n4\nFIVE\n', 'b.txt': 'B\n', 'c.txt': 'C\n' })
  const review = await session.review()
  expect(review).toMatchObject({ session: 'chat', pending: 4, proposals: [], rejected: [] })
  const [one, five] = review.files[0]?.hunks ?? []
  expect(one).toMatchObject({
    kind: 'text',
    agents: ['my-agent'],
    lines: [{ kind: '-', text: '1\n' }, {}, {}, {}, {}],
  })

  const accepted = await session.accept({ hunks: [one?.id ?? ''] })
  expect(accepted).toMatchObject({ kind: 'done', op: accepted.ops[0], hunks: [one?.id], pending: 3 })
  expect(await session.reject({ paths: ['a.txt'] }, { comment: 'No.', dryRun: true })).toMatchObject({
    kind: 'planned',
  })
  const rejected = await session.reject({ paths: [w.pathOf('a.txt')] }, { comment: 'No.' })
  expect(rejected).toMatchObject({ kind: 'done', hunks: [five?.id], files: [{ path: 'a.txt' }], pending: 2 })
  expect((await session.review()).rejected).toMatchObject([
    { hunk: five?.id, comment: 'No.', added: 'FIVE\n' },
  ])
  expect(w.files()['a.txt']).toBe('ONE\n2\n3\n4\n5\n')

  await session.rollback({ ops: rejected.ops })
  expect(w.files()['a.txt']).toBe('ONE\n2\n3\n4\nFIVE\n')
  expect(await session.reject('all')).toMatchObject({ kind: 'done', pending: 0 })
  expect(w.files()).toEqual({ 'a.txt': 'ONE\n2\n3\n4\n5\n', 'b.txt': 'b\n', 'c.txt': 'c\n' })
})

test('[H255] an empty selection decides nothing, and nothing that fits is an answer', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  const session = sessionOf(w)
  expect(await session.review()).toEqual({
    session: 'chat',
    pending: 0,
    files: [],
    proposals: [],
    rejected: [],
  })
  expect(await session.accept('all')).toMatchObject({ kind: 'nothing', pending: 0 })
  await write(w, session, { 'a.txt': 'b\n' })
  for (const selection of [{}, { hunks: [] }, { paths: ['a.txt'], turns: [] }, { paths: ['other'] }])
    expect(await session.reject(selection)).toMatchObject({ kind: 'nothing', ops: [], pending: 1 })
  await expect(session.accept({ hunks: ['gone'] })).rejects.toMatchObject({ code: 'hunk-gone' })
  expect(w.files()).toEqual({ 'a.txt': 'b\n' })
})

test('[H255] [P3] what the user edited inside a hunk is a conflict, with both sides', async () => {
  await using w = await workspace({ 'a.txt': 'a\n' })
  const session = sessionOf(w)
  await write(w, session, { 'a.txt': 'b\n' })
  w.userWrites({ 'a.txt': 'b and mine\n' })
  const refused = await session.reject('all')
  expect(refused).toMatchObject({
    kind: 'conflicts',
    ops: [],
    conflicts: [{ path: 'a.txt', ours: 'b and mine\n', theirs: 'a\n' }],
    pending: 1,
  })
  expect(w.files()).toEqual({ 'a.txt': 'b and mine\n' })
  expect(await session.reject('all', { onConflict: 'overwrite' })).toMatchObject({ kind: 'done' })
  expect(w.files()).toEqual({ 'a.txt': 'a\n' })
})

test('[H256] a turn proposes without writing; accepted as a group it is written', async () => {
  await using w = await workspace({ 'a.txt': 'a\n', 'gone.txt': 'g\n' })
  const session = sessionOf(w)
  const turn = await session.begin({ prompt: 'Offer' })
  const { proposal } = await turn.propose({ path: 'a.txt', content: 'ä\n', group: 'g' })
  await turn.propose({ path: w.pathOf('gone.txt'), content: null, group: 'g' })
  await turn.propose({ path: 'run', content: new Uint8Array([0x23, 0x0a]), executable: true })
  await turn.end()
  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'gone.txt': 'g\n' })
  expect((await session.review()).proposals).toMatchObject([
    { id: proposal, path: 'a.txt', action: 'modify', agent: 'my-agent', group: 'g' },
    { path: 'gone.txt', action: 'delete' },
    { path: 'run', action: 'create' },
  ])
  await session.accept({ groups: ['g'] })
  expect(w.files()).toEqual({ 'a.txt': Buffer.from('ä\n').toString('latin1') })
  await session.accept('all')
  expect(w.files({ modes: true }).run).toBe('755 #\n')
})

test('[H257] a decision is planned, looked at, and applied as it was planned', async () => {
  await using w = await workspace({ 'a.txt': '1\n2\n3\n4\n5\n', 'b.txt': 'b\n' })
  const session = sessionOf(w)
  await write(w, session, { 'a.txt': 'ONE\n2\n3\n4\nFIVE\n', 'b.txt': 'B\n' })
  const { files } = await session.review()
  const [one, five] = files[0]?.hunks.map(({ id }) => id) ?? []

  const reject = await session.planReject({ hunks: [five ?? ''] }, { comment: 'No.' })
  expect(reject.outcome).toMatchObject({
    kind: 'planned',
    ops: [],
    hunks: [five],
    files: [{ path: 'a.txt' }],
  })
  expect(reject.outcome.patch).toContain('-FIVE\n+5\n')
  const accept = await session.planAccept({ hunks: [one ?? ''] })
  expect(accept.outcome).toMatchObject({ kind: 'planned', hunks: [one], pending: 2 })
  expect((await session.review()).pending).toBe(3)
  expect(w.files()['a.txt']).toBe('ONE\n2\n3\n4\nFIVE\n')

  w.userWrites({ 'new.txt': 'elsewhere' })
  expect(await reject.apply()).toMatchObject({ kind: 'done', hunks: [five], pending: 2 })
  expect(await accept.apply()).toMatchObject({ kind: 'done', hunks: [one], pending: 1 })
  expect(w.files()['a.txt']).toBe('ONE\n2\n3\n4\n5\n')
  expect((await session.review()).rejected).toMatchObject([{ hunk: five, comment: 'No.' }])
  expect((await session.planReject({ paths: ['a.txt'] })).outcome.kind).toBe('nothing')
})

test.each([
  ['the user has edited its file', (w: Fixture) => w.userWrites({ 'a.txt': 'ONE\n2\nmine\n4\n5\n' })],
  ['the user has edited inside', (w: Fixture) => w.userWrites({ 'a.txt': 'ONE!\n2\n3\n4\n5\n' })],
  ['it was decided already', (w: Fixture) => sessionOf(w).accept('all')],
  ['a turn has added another', (w: Fixture) => write(w, sessionOf(w), { 'a.txt': 'ONE\n2\n3\n4\nV\n' })],
] as const)('[H257] a planned rejection is refused when %s', async (_, meanwhile) => {
  await using w = await workspace({ 'a.txt': '1\n2\n3\n4\n5\n' })
  const session = sessionOf(w)
  await write(w, session, { 'a.txt': 'ONE\n2\n3\n4\n5\n' })
  const plan = await session.planReject('all')
  await meanwhile(w)
  const files = w.files()
  const { pending } = await session.review()
  await expect(plan.apply()).rejects.toMatchObject({ code: 'plan-stale' })
  expect(w.files()).toEqual(files)
  expect((await session.review()).pending).toBe(pending)
})

test('[H257] a planned acceptance of a proposal is refused when its file has changed', async () => {
  await using w = await workspace({ 'a.txt': '1\n2\n3\n4\n5\n' })
  const session = sessionOf(w)
  await using turn = await session.begin()
  await turn.propose({ path: 'a.txt', content: 'ONE\n2\n3\n4\n5\n' })
  const stale = await session.planAccept('all')
  w.userWrites({ 'a.txt': '1\n2\n3\n4\nmine\n' })
  await expect(stale.apply()).rejects.toMatchObject({ code: 'plan-stale' })
  expect(w.files()['a.txt']).toBe('1\n2\n3\n4\nmine\n')
  await (await session.planAccept('all')).apply()
  expect(w.files()['a.txt']).toBe('ONE\n2\n3\n4\nmine\n')
})
