import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ask, askServer, isAlive, type SocketAnswer } from './ask.ts'
import { AlreadyRunning, startServer } from './main.ts'
import { Served, served } from './testing/served.ts'
import { newSocketName, readWhereabouts, serverFolder, type Whereabouts } from './whereabouts.ts'

const version = '0.0.0-test'

function idIn(answer: SocketAnswer | undefined): string {
  return (answer?.json as { readonly id?: string } | undefined)?.id ?? ''
}

function whereaboutsOf(s: Served): Whereabouts {
  const at = readWhereabouts(s.env)
  if (at === undefined) throw new Error('there is no server.json')
  return at
}

function pretend(s: Served, more: Partial<Whereabouts> = {}): Whereabouts {
  const folder = serverFolder(s.env)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const dead: Whereabouts = {
    version,
    pid: 999_999_999,
    port: 1,
    socket: join(folder, 'dead.sock'),
    token: 'token-of-the-dead',
    startedAt: new Date().toISOString(),
    ...more,
  }
  writeFileSync(join(folder, 'server.json'), JSON.stringify(dead), { mode: 0o600 })
  return dead
}

test('[V160] server.json tells where the server is, and nobody else may read it', async () => {
  await using s = await served()
  const at = whereaboutsOf(s)
  expect(at).toMatchObject({ version, pid: process.pid, port: s.server.port, token: s.server.token })
  const folder = serverFolder(s.env)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  expect(statSync(join(folder, 'server.json')).mode & 0o777).toBe(0o600)
  expect(statSync(at.socket).mode & 0o777).toBe(0o600)
  await s.server.end()
  expect(readdirSync(folder)).toEqual([])
  expect(await isAlive(at)).toBe(false)
})

test('[V161] through the socket a folder can be named, everything asked, and the server ended', async () => {
  await using s = await served({ 'a.txt': 'one\n' })
  const at = whereaboutsOf(s)
  const other = join(s.base, 'other')
  mkdirSync(other)
  writeFileSync(join(other, 'ünïcode.txt'), 'o\n')
  const opened = await ask(at, {
    method: 'POST',
    path: '/api/workspaces',
    body: { folder: other, explicit: true },
  })
  expect(opened?.status).toBe(200)
  const id = idIn(opened)
  expect(id).toMatch(/^other-[0-9a-f]{16}$/)
  const again = await ask(at, {
    method: 'POST',
    path: '/api/workspaces',
    body: { folder: other, explicit: true },
  })
  expect(idIn(again)).toBe(id)
  const captured = await ask(at, { method: 'POST', path: `/api/workspaces/${id}/capture`, body: {} })
  expect(captured?.status).toBe(200)
  const files = await ask(at, { method: 'GET', path: `/api/workspaces/${id}/files` })
  expect(JSON.stringify(files?.json)).toContain('ünïcode.txt')
  expect((await ask({ ...at, token: 'wrong' }, { method: 'GET', path: '/api/server' }))?.status).toBe(401)
  const large = 'x'.repeat(9 * 1024 * 1024)
  const refused = await ask(at, {
    method: 'POST',
    path: `/api/workspaces/${id}/capture`,
    body: { label: large },
  }).catch(() => ({ status: 413 }))
  expect(refused?.status).toBe(413)
  expect((await ask(at, { method: 'POST', path: '/api/server/stop', body: {} }))?.status).toBe(200)
  await s.server.ended
  expect(await ask(at, { method: 'GET', path: '/api/server' })).toBeUndefined()
})

test('[V162] there is one server for a store, however many are started at once', async () => {
  await using s = new Served({})
  const all = await Promise.allSettled(
    [1, 2, 3, 4].map(() => startServer({ version, env: s.env, watch: 'off' })),
  )
  const running = all.filter((one) => one.status === 'fulfilled')
  expect(running).toHaveLength(1)
  for (const one of all) {
    if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(AlreadyRunning)
    else expect(whereaboutsOf(s)).toMatchObject({ port: one.value.port, token: one.value.token })
  }
  const late = await startServer({ version, env: s.env }).catch((error: unknown) => error)
  expect((late as AlreadyRunning).at).toEqual(whereaboutsOf(s))
  expect(readdirSync(serverFolder(s.env)).sort()).toHaveLength(2)
  for (const one of running) await one.value.end()
})

test('[V162] a server that was killed leaves its port to the next one, and nobody its token', async () => {
  await using s = await served()
  const { port, token } = s.server
  await s.server.end()
  await s.start()
  expect(s.server.token).not.toBe(token)
  await s.server.end()
  const dead = pretend(s, { port })
  await s.start()
  expect(s.server.port).toBe(port)
  expect(s.server.token).not.toBe(dead.token)
  const old = { authorization: `Bearer ${dead.token}` }
  expect((await s.raw('/api/workspaces', { headers: old })).status).toBe(401)
  await s.server.end()
  await using holder = await served()
  pretend(s, { port: holder.server.port })
  await s.start()
  expect(s.server.port).not.toBe(holder.server.port)
  await s.server.end()
  writeFileSync(join(serverFolder(s.env), 'server.json'), '{"version":"0.0')
  await s.start()
  expect(whereaboutsOf(s).port).toBe(s.server.port)
})

test('[V163] a folder that others may look into is neither believed nor used', async () => {
  await using s = await served()
  const folder = serverFolder(s.env)
  chmodSync(folder, 0o755)
  expect(readWhereabouts(s.env)).toBeUndefined()
  expect(await askServer({ method: 'GET', path: '/api/server' }, { env: s.env, version })).toBeUndefined()
  await expect(startServer({ version, env: s.env })).rejects.toMatchObject({ code: 'store-unsafe' })
  chmodSync(folder, 0o700)
  expect(await askServer({ method: 'GET', path: '/api/server' }, { env: s.env, version })).toMatchObject({
    status: 200,
  })
})

test('[V164] an idle server ends; not while somebody listens, nor while a turn runs', async () => {
  await using s = new Served({ 'a.txt': 'one\n' })
  await s.start({ idleMinutes: 0.3 / 60 })
  let hasEnded = false
  void s.server.ended.then(() => {
    hasEnded = true
  })
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  expect((await s.unturn.server()).idleMinutes).toBeCloseTo(0.005)
  const events = s.client.events()
  const next = events.next()
  await wait(700)
  expect(hasEnded).toBe(false)
  const { turn } = await s.client.beginTurn({ session: 'x', agent: 'a', pid: process.pid })
  expect((await next).value?.event.type).toBe('turn.began')
  await events.return()
  await wait(700)
  expect(hasEnded).toBe(false)
  await s.client.endTurn(turn)
  await s.server.ended
  expect(existsSync(join(serverFolder(s.env), 'server.json'))).toBe(false)
})

test('[V165] a server that is dead or of another version is not asked', async () => {
  await using s = await served()
  const question = { method: 'GET', path: '/api/server' } as const
  expect(await askServer(question, { env: s.env, version: '9.9.9' })).toBeUndefined()
  await s.server.end()
  expect(await askServer(question, { env: s.env, version })).toBeUndefined()
  pretend(s)
  expect(await askServer(question, { env: s.env, version })).toBeUndefined()
})

test('[V166] a socket whose name would be too long lies in another private folder', async () => {
  await using s = new Served({})
  const env = { ...s.env, UNTURN_HOME: join(s.base, 'x'.repeat(60), 'y'.repeat(60)), XDG_RUNTIME_DIR: s.base }
  const name = newSocketName(env)
  expect(Buffer.byteLength(name)).toBeLessThanOrEqual(100)
  await using server = await startServer({ version, env, watch: 'off' })
  expect(await askServer({ method: 'GET', path: '/api/server' }, { env, version })).toMatchObject({
    status: 200,
  })
  expect(statSync(join(server.socket, '..')).mode & 0o777).toBe(0o700)
})
