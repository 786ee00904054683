import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openWorkspace, type SessionId, StoreLock } from '@unturn/core'
import { expect, test } from 'vitest'
import { catchUp, hear } from './hear.ts'
import { countWaiting } from './spool.ts'
import { Claude } from './testing/claude-talk.ts'
import { Place } from './testing/place.ts'
import { readFailed, readFired } from './trace.ts'

const start = { 'a.txt': 'one\n' }

test('[A150] [A151] what could not be delivered in time is kept, and the next event delivers it first, in order', async () => {
  await using place = new Place(start)
  const claude = new Claude(place)
  await claude.tell('SessionStart', { source: 'startup' })
  const hasty = new Claude(place, { budgetMs: 0 })
  expect(await hasty.prompt('Too quick')).toMatchObject({ outcome: 'spooled', answer: '' })
  await hasty.pre('Write', { file_path: join(place.dir, 'a.txt') })
  place.write({ 'a.txt': 'two\n' })
  await hasty.post('Write', { file_path: join(place.dir, 'a.txt') })
  expect(countWaiting(place.desk)).toBe(3)
  expect(await claude.tell('Stop', { prompt_id: 'claude-1-prompt-1' })).toMatchObject({
    outcome: 'delivered',
  })
  expect(countWaiting(place.desk)).toBe(0)
  const workspace = await place.workspace()
  const [turn] = workspace.index.turns(claude.session as SessionId)
  expect(turn).toMatchObject({ prompt: 'Too quick', status: 'ok' })
  expect(workspace.index.changesOfTurn(turn?.id ?? ('' as never))).toMatchObject([
    { path: 'a.txt', actor: 'claude-code', certainty: 'inferred' },
  ])
  await workspace.undo({ session: claude.session as SessionId })
  expect(place.files()).toEqual(start)
})

test('[A151] a command catches up as well, for every session', async () => {
  await using place = new Place(start)
  await new Claude(place).tell('SessionStart', { source: 'startup' })
  for (const session of ['s1', 's2', 's3'])
    await new Claude(place, { session, budgetMs: 0 }).prompt(`By ${session}`)
  await catchUp({ desk: place.desk, env: place.env, patienceMs: 10_000 })
  expect(countWaiting(place.desk)).toBe(0)
  const workspace = await place.workspace()
  expect(
    workspace.index
      .sessions()
      .map(({ id }) => id)
      .sort(),
  ).toEqual(['s1', 's2', 's3'])
})

test('[A150] [A152] a store that refuses does not disturb the agent; the trace says why, and nothing is lost', async () => {
  await using place = new Place(start)
  await using workspace = await openWorkspace(place.dir, { env: place.env })
  const folder = workspace.engine.folders.folder
  chmodSync(Buffer.from(folder, 'latin1'), 0o755) // widened: the store is refused until somebody has looked
  const claude = new Claude(place)
  expect(await claude.prompt('Refused')).toMatchObject({ outcome: 'spooled', answer: '' })
  expect(readFailed(place.desk, 'claude-code')).toMatchObject({
    event: 'UserPromptSubmit',
    code: 'store-unsafe',
  })
  chmodSync(Buffer.from(folder, 'latin1'), 0o700)
  await claude.write('a.txt', 'two\n')
  await claude.stop()
  const turns = (await place.workspace()).index.turns(claude.session as SessionId)
  expect(turns).toMatchObject([{ prompt: 'Refused', status: 'ok' }])
})

test('[A150] [A151] a store that somebody else holds makes nobody wait longer than he may', async () => {
  await using place = new Place(start)
  await using workspace = await openWorkspace(place.dir, { env: place.env })
  await workspace.capture()
  using lock = new StoreLock(workspace.engine.folders.lock)
  const claude = new Claude(place, { budgetMs: 200 })
  await lock.exclusive(async () => {
    expect(await claude.prompt('Held up')).toMatchObject({ outcome: 'spooled', answer: '' })
  })
  await new Claude(place).write('a.txt', 'two\n', { prompt_id: 'claude-1-prompt-1' })
  expect((await place.workspace()).index.turns('claude-1' as SessionId)).toMatchObject([
    { prompt: 'Held up' },
  ])
})

test('[A150] without a place to write anything, a hook still answers', async () => {
  await using place = new Place(start)
  rmSync(join(place.base, 'store'), { recursive: true, force: true })
  writeFileSync(join(place.base, 'store'), 'a file where the home should be')
  const claude = new Claude(place)
  expect(await claude.prompt('Hello')).toMatchObject({ answer: '', outcome: 'spooled' })
})

test('[A150] a folder that nobody may watch over is a failure that is noted, and not tried again', async () => {
  await using place = new Place(start)
  const claude = new Claude(place, { cwd: join(place.base, 'home') })
  expect(await claude.prompt('In my home')).toMatchObject({ outcome: 'failed', answer: '' })
  expect(readFailed(place.desk, 'claude-code')).toMatchObject({ code: 'workspace-refused' })
  expect(countWaiting(place.desk)).toBe(0)
})

test('[A150] Cline gets its answer whatever happens', async () => {
  await using place = new Place(start)
  const answered = await hear(
    { installedFor: 'cline', event: 'PreToolUse', payload: 'no payload at all', env: {} },
    { desk: place.desk, env: place.env, budgetMs: 1_000 },
  )
  expect(answered).toMatchObject({ answer: '{"cancel":false}', outcome: 'nothing' })
})

test('[A152] it is noted when each hook was last heard, and how that went', async () => {
  await using place = new Place(start)
  const claude = new Claude(place)
  await claude.prompt('Go')
  await claude.stop()
  expect(readFired(place.desk, 'claude-code')).toMatchObject([
    { event: 'UserPromptSubmit', outcome: 'delivered', endedMs: expect.any(Number) },
    { event: 'Stop', outcome: 'delivered' },
  ])
})

test('[A153] what the hooks remember is for nobody else, and holds no file contents', async () => {
  await using place = new Place(start)
  const old = process.umask(0)
  try {
    const claude = new Claude(place)
    await claude.prompt('Go')
    const hasty = new Claude(place, { budgetMs: 0 })
    await hasty.pre('Write', { file_path: join(place.dir, 'a.txt'), content: 'SECRET' })
  } finally {
    process.umask(old)
  }
  const entries = readdirSync(place.desk, { recursive: true, withFileTypes: true })
  expect(entries.length).toBeGreaterThan(5)
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    expect([path, statSync(path).mode & 0o077]).toEqual([path, 0])
    if (entry.isFile()) expect(place.read(path, '/')).not.toContain('SECRET')
  }
  expect(statSync(place.desk).mode & 0o777).toBe(0o700)
})

test('[A151] a spooled file that nobody can read holds up nothing', async () => {
  await using place = new Place(start)
  await new Claude(place, { budgetMs: 0 }).prompt('Waiting')
  const spool = join(place.desk, 'spool')
  const folder = join(spool, readdirSync(spool)[0] ?? '')
  writeFileSync(join(folder, '000-torn.json'), '{"half')
  mkdirSync(join(spool, 'empty'))
  await catchUp({ desk: place.desk, env: place.env, patienceMs: 10_000 })
  expect(countWaiting(place.desk)).toBe(0)
  expect((await place.workspace()).index.turns('claude-1' as SessionId)).toMatchObject([
    { prompt: 'Waiting' },
  ])
})
