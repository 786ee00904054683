import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { routes } from './routes.ts'
import { type Served, served } from './testing/served.ts'

interface Sent {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

interface Got {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  readonly code: string | undefined
}

/** Sends exactly this; `fetch` would set or forbid half of it. */
function send(s: Served, { method = 'GET', path, headers = {}, body }: Sent): Promise<Got> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      { host: '127.0.0.1', port: s.server.port, method, path, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, code: codeIn(text) })
        })
        response.on('error', reject)
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

function codeIn(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { readonly error?: { readonly code?: string } }).error?.code
  } catch {
    return undefined
  }
}

function own(s: Served, more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return {
    host: `127.0.0.1:${s.server.port}`,
    authorization: `Bearer ${s.server.token}`,
    'content-type': 'application/json',
    ...more,
  }
}

test('[V130] [M12] the server cannot be reached from another address of this machine', async () => {
  await using s = await served()
  const others = Object.values(networkInterfaces())
    .flat()
    .filter((one) => one !== undefined && !one.internal && one.family === 'IPv4')
    .map((one) => one?.address ?? '')
  for (const host of [...others, '127.0.0.2']) {
    const refused = await new Promise<boolean>((resolve) => {
      const socket = connect({ host, port: s.server.port, timeout: 2_000 })
      socket.on('connect', () => {
        socket.destroy()
        resolve(false)
      })
      socket.on('timeout', () => resolve(true))
      socket.on('error', () => resolve(true))
    })
    expect([host, refused]).toEqual([host, true])
  }
  expect((await send(s, { path: '/api/server', headers: own(s) })).status).toBe(200)
})

test('[V131] [M12] a page under a name of its own that leads here gets nothing, token or not', async () => {
  await using s = await served()
  const { port } = s.server
  const hosts = [
    `evil.example:${port}`,
    'evil.example',
    `127.0.0.1.evil.example:${port}`,
    `localhost.evil.example:${port}`,
    `127.0.0.1:${port + 1}`,
    '127.0.0.1',
    `localhost:${port}.evil.example`,
    `0.0.0.0:${port}`,
    `[::ffff:127.0.0.1]:${port}`,
    `evil.example@127.0.0.1:${port}`,
  ]
  for (const host of hosts) {
    for (const path of ['/', '/openapi.json', '/api/server', '/api/nothing', '/session/x/diff']) {
      const got = await send(s, { path, headers: own(s, { host }) })
      expect([host, path, got.status >= 400 && got.status !== 404]).toEqual([host, path, true])
      expect(got.text).not.toContain('openapi":')
    }
  }
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`])
    expect((await send(s, { path: '/api/server', headers: own(s, { host }) })).status).toBe(200)
})

test('[V132] [M12] a page of another origin or site is refused, also from another port', async () => {
  await using s = await served({ 'a.txt': 'one\n' })
  const { port } = s.server
  const path = `/api/workspaces/${s.id}/capture`
  const origins = [
    'http://evil.example',
    'null',
    `http://127.0.0.1:${port + 1}`,
    `https://127.0.0.1:${port}`,
    `http://127.0.0.1.evil.example:${port}`,
    `http://127.0.0.1:${port}.evil.example`,
    'file://',
    'chrome-extension://abcdefghijklmnop',
  ]
  for (const origin of origins) {
    const got = await send(s, { method: 'POST', path, headers: own(s, { origin }), body: '{}' })
    expect([origin, got.status, got.code]).toEqual([origin, 403, 'foreign-origin'])
    expect((await send(s, { path: '/', headers: own(s, { origin }) })).code).toBe('foreign-origin')
  }
  for (const site of ['cross-site', 'same-site', 'none', 'anything']) {
    const headers = own(s, { 'sec-fetch-site': site })
    const got = await send(s, { method: 'POST', path, headers, body: '{}' })
    expect([site, got.status, got.code]).toEqual([site, 403, 'foreign-site'])
  }
  expect((await send(s, { path: '/', headers: own(s, { 'sec-fetch-site': 'cross-site' }) })).status).toBe(403)
  const visit = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  expect((await send(s, { path: '/openapi.json', headers: own(s, visit) })).status).toBe(200)
  expect((await send(s, { path: '/api/server', headers: own(s, visit) })).code).toBe('foreign-site')
  const frame = { ...visit, 'sec-fetch-dest': 'iframe' }
  expect((await send(s, { path: '/openapi.json', headers: own(s, frame) })).code).toBe('foreign-site')
  expect(
    (await send(s, { path: '/openapi.json', headers: own(s, { 'sec-fetch-site': 'none' }) })).status,
  ).toBe(200)
  const same = own(s, { origin: `http://127.0.0.1:${port}`, 'sec-fetch-site': 'same-origin' })
  expect((await send(s, { method: 'POST', path, headers: same, body: '{}' })).status).toBe(200)
})

test('[V133] [M12] without the token, or with a wrong one, no route answers', async () => {
  await using s = await served({ 'a.txt': 'one\n' })
  const { token } = s.server
  expect(token.length).toBeGreaterThanOrEqual(43)
  const wrong = [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    `Bearer ${token.slice(0, -1)}`,
    `Bearer ${token}x`,
    `Bearer ${token.toUpperCase()}`,
    `Basic ${Buffer.from(`x:${token}`).toString('base64')}`,
    token,
    `Bearer ${'a'.repeat(5_000)}`,
  ]
  const asked = [
    ...Object.values(routes).map(({ method, path }) => ({ method: method.toUpperCase(), path })),
    { method: 'GET', path: '/api/workspaces/{workspace}/events' },
  ]
  for (const { method, path } of asked) {
    const { authorization: _, ...headers } = own(s)
    const got = await send(s, {
      method,
      path: path.replace('{workspace}', s.id),
      headers,
      ...(method === 'POST' ? { body: '{}' } : {}),
    })
    expect([path, got.status, got.code]).toEqual([path, 401, 'unauthorized'])
  }
  for (const authorization of wrong) {
    const { authorization: _, ...rest } = own(s)
    const headers = authorization === undefined ? rest : { ...rest, authorization }
    const got = await send(s, { path: '/api/server', headers })
    expect([authorization, got.status]).toEqual([authorization, 401])
    expect(got.text).not.toContain(token)
  }
  const inAddress = await send(s, {
    path: `/api/server?token=${token}`,
    headers: { host: own(s).host ?? '' },
  })
  expect(inAddress.status).toBe(401)
  await using another = await served()
  expect(another.server.token).not.toBe(token)
})

test('[V134] [M12] no GET changes files or history, whatever it asks for', async () => {
  await using s = await served({ 'a.txt': 'one\n' })
  const { turn, step } = await s.turn('Change', { 'a.txt': 'two\n' })
  s.write({ 'mine.txt': 'not captured yet\n', 'a.txt': 'three\n' })
  const before = await s.client.status()
  const values: Readonly<Record<string, string>> = {
    workspace: s.id,
    turn,
    step,
    session: 'chat-1',
    id: turn,
    plan: 'p1',
  }
  for (const { path, method } of Object.values(routes)) {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '')
    for (const query of [
      '',
      '?from=now&to=now&file=a.txt&path=a.txt',
      '?file=a.txt',
      '?path=a.txt',
      '?dryRun=false',
    ]) {
      const got = await send(s, { path: `${filled}${query}`, headers: own(s) })
      if (
        method === 'post' &&
        !Object.values(routes).some((one) => one.method === 'get' && one.path === path)
      )
        expect([path, got.status]).toEqual([path, 404])
    }
    const disguised = own(s, { 'x-http-method-override': 'POST' })
    await send(s, { path: `${filled}?_method=POST`, headers: disguised })
  }
  const after = await s.client.status()
  expect(after.operations).toBe(before.operations)
  expect(after.lastCapture).toBe(before.lastCapture)
  expect(after.sessions).toEqual(before.sessions)
  expect((await s.client.file({ path: 'a.txt' })).text).toBe('two\n')
})

test('[V135] a body that is not declared as JSON, is no JSON, or is too large, is refused', async () => {
  await using s = await served({ 'a.txt': 'one\n' })
  const path = `/api/workspaces/${s.id}/capture`
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    '',
    'text/json',
  ]) {
    const got = await send(s, { method: 'POST', path, headers: own(s, { 'content-type': type }), body: '{}' })
    expect([type, got.status, got.code]).toEqual([type, 415, 'not-json'])
  }
  for (const body of ['', '{', 'label=x', '[1]', '"text"', 'null', '{"label":1}']) {
    const got = await send(s, { method: 'POST', path, headers: own(s), body })
    expect([body, got.status, got.code]).toEqual([body, 400, 'bad-usage'])
  }
  const declared = await send(s, {
    method: 'POST',
    path,
    headers: own(s, { 'content-length': String(9 * 1024 * 1024) }),
    body: Buffer.alloc(9 * 1024 * 1024, 0x20),
  }).catch((error: unknown) => error)
  if (!(declared instanceof Error)) expect((declared as Got).status).toBe(413)
  const chunked = await send(s, {
    method: 'POST',
    path,
    headers: own(s, { 'transfer-encoding': 'chunked' }),
    body: Buffer.alloc(9 * 1024 * 1024, 0x20),
  }).catch((error: unknown) => error)
  if (!(chunked instanceof Error)) expect((chunked as Got).status).toBe(413)
  expect((await s.client.status()).operations).toBe(1)
  const withCharset = own(s, { 'content-type': 'application/json; charset=utf-8' })
  expect((await send(s, { method: 'POST', path, headers: withCharset, body: '{}' })).status).toBe(200)
})

test('[V136] other methods are refused, and no answer lets another origin read it', async () => {
  await using s = await served()
  for (const method of ['OPTIONS', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'TRACE']) {
    const asking = own(s, { 'access-control-request-method': 'POST' })
    const got = await send(s, { method, path: '/api/server', headers: asking })
    expect([method, got.status]).toEqual([method, 405])
    expect(Object.keys(got.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  }
  const fine = await send(s, { path: '/api/server', headers: own(s) })
  expect(Object.keys(fine.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  expect(fine.headers['cross-origin-resource-policy']).toBe('same-origin')
  const events = await s.raw(`/api/workspaces/${s.id}/events`, {
    headers: { authorization: `Bearer ${s.server.token}` },
  })
  for (const name of ['content-security-policy', 'x-content-type-options', 'cross-origin-resource-policy'])
    expect([name, events.headers.get(name)]).toEqual([name, fine.headers[name]])
  expect([...events.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  expect(events.headers.get('cache-control')).toBe('no-store')
  await events.body?.cancel()
})

test('[V137] files of the page have a strict policy, and nothing outside of their folder is served', async () => {
  const base = mkdtempSync(join(tmpdir(), 'unturn-page-'))
  try {
    const page = join(base, 'dist')
    mkdirSync(join(page, 'assets'), { recursive: true })
    writeFileSync(join(page, 'index.html'), '<!doctype html><title>page</title>')
    writeFileSync(join(page, 'assets', 'app-ABCDEFGH.js'), 'export {}')
    writeFileSync(join(page, 'notes.exe'), 'no type')
    writeFileSync(join(base, 'secret.txt'), 'SECRET')
    symlinkSync(join(base, 'secret.txt'), join(page, 'link.txt'))
    await using s = await served({}, { studio: page })
    const host = { host: own(s).host ?? '' }
    const index = await send(s, { path: '/', headers: host })
    expect([index.status, index.text]).toEqual([200, '<!doctype html><title>page</title>'])
    const policy = String(index.headers['content-security-policy'])
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ])
      expect(policy).toContain(rule)
    expect(policy).not.toMatch(/script-src[^;]*unsafe/)
    expect(index.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    })
    expect((await send(s, { path: '/assets/app-ABCDEFGH.js', headers: host })).headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': expect.stringContaining('immutable'),
    })
    const climbing = [
      '/../secret.txt',
      '/assets/../../secret.txt',
      '/%2e%2e/secret.txt',
      '/..%2fsecret.txt',
      '/assets/..%2f..%2fsecret.txt',
      '/..%5csecret.txt',
      '//secret.txt',
      '/assets/%00',
      '/%2e%2e%2fsecret.txt',
      '/%252e%252e/secret.txt',
      '/....//secret.txt',
      '/link.txt',
      '/notes.exe',
      `/${join(base, 'secret.txt')}`,
      '/assets',
      '/assets/',
    ]
    for (const path of climbing) {
      const got = await send(s, { path, headers: host })
      expect([path, got.status]).toEqual([path, 404])
      expect(got.text).not.toContain('SECRET')
    }
  } finally {
    rmSync(base, { recursive: true })
  }
})

test('[V138] [M1] a path that leads out of the workspace, or into .git, is refused by every route', async () => {
  await using s = await served({ 'a.txt': 'one\n' })
  writeFileSync(join(s.base, 'secret.txt'), 'SECRET')
  symlinkSync(s.base, s.pathOf('out'))
  const { turn } = await s.client.beginTurn({ session: 'x', agent: 'a' })
  const bad = [
    '../secret.txt',
    '/etc/passwd',
    'a/../../secret.txt',
    '.git/config',
    'x/.GIT/hooks',
    `${s.base}/secret.txt`,
  ]
  for (const path of bad) {
    const refusals = [
      s.client.file({ path }),
      s.client.files({ under: path }),
      s.client.blame(path),
      s.client.diff({ from: 'now', to: 'now', file: path }),
      s.client.changes({ file: path }),
      s.client.turns({ file: path }),
      s.client.purge([path]),
      s.client.rollback({ selection: { files: [path] } }),
      s.client.beginStep({ turn, tool: 'edit', paths: [path] }),
    ]
    for (const refusal of await Promise.allSettled(refusals)) {
      expect(refusal.status).toBe('rejected')
      if (refusal.status === 'rejected') expect([path, refusal.reason.code]).toEqual([path, 'bad-path'])
    }
  }
  // Behind a link nothing was captured, so there is nothing to read.
  const behind = await s.client.file({ path: 'out/secret.txt' }).catch((error) => error)
  expect(behind.code).toBe('unknown-id')
  for (const id of ['..', '../..', '%2e%2e', 'project/../x'])
    expect(
      (
        await s.unturn
          .workspace(id)
          .status()
          .catch((error) => error)
      ).status,
    ).toBe(404)
})

test('[V139] nothing that a client sends becomes a header of an answer', async () => {
  await using s = await served({ 'a.txt': 'one\n' })
  const nasty = ['x\r\nset-cookie: a=b', 'x%0d%0aset-cookie: a=b', 'x%0aset-cookie:%20a=b']
  for (const text of nasty) {
    const path = encodeURI(text).replaceAll('%25', '%')
    for (const address of [
      `/api/workspaces/${path}`,
      `/session/${path}/diff`,
      `/${path}`,
      `/api/server?${path}`,
    ]) {
      const got = await send(s, { path: address, headers: own(s) })
      expect(got.headers['set-cookie']).toBeUndefined()
      expect(JSON.stringify(got.headers)).not.toContain('a=b')
    }
    const stream = await fetch(`${s.server.url}/api/workspaces/${s.id}/events?lastEventId=${path}`, {
      headers: { authorization: `Bearer ${s.server.token}` },
    })
    expect(stream.headers.get('set-cookie')).toBeNull()
    const reader = stream.body?.getReader()
    const said = Buffer.from((await reader?.read())?.value ?? '').toString()
    expect(said).not.toContain('set-cookie')
    await reader?.cancel()
  }
  await s.turn('x\r\n\r\ndata: {"type":"forged"}\n\n', { 'a.txt': 'two\n' })
  const events = s.client.events({ lastEventId: 'gone.1' })
  await events.next()
  await s.turn('line\n\ndata: {"type":"forged"}\n\n', { 'a.txt': 'three\n' })
  const { value } = await events.next()
  expect(value?.event).toMatchObject({ type: 'turn.began', prompt: 'line\n\ndata: {"type":"forged"}\n\n' })
  await events.return()
})

test('[V140] a folder cannot be named, nor the server ended, from a page', async () => {
  await using s = await served()
  for (const [path, body] of [
    ['/api/workspaces', '{"folder":"/tmp"}'],
    ['/api/server/stop', '{}'],
  ] as const) {
    const got = await send(s, { method: 'POST', path, headers: own(s), body })
    expect([path, got.status, got.code]).toEqual([path, 403, 'socket-only'])
  }
  expect((await s.unturn.server()).name).toBe('unturn')
})

test('[V141] [M13] markup in names and prompts is data, and no answer is taken for a page', async () => {
  const name = '<img src=x onerror=alert(1)>.txt'
  await using s = await served({ [name]: '<script>alert(1)</script>\n' })
  const prompt = '<script>alert(1)</script>\u202e'
  await s.turn(prompt, { [name]: '<b>\n' }, { session: '<svg onload=alert(1)>' })
  expect((await s.client.tree()).turns[0]?.prompt).toBe(prompt)
  for (const path of [
    '/tree',
    '/changes',
    `/file?path=${encodeURIComponent(name)}`,
    '/show/@',
    '/nope<script>',
  ]) {
    const got = await send(s, {
      path: encodeURI(`/api/workspaces/${s.id}`) + path.replace('<', '%3C'),
      headers: own(s),
    })
    expect(got.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(got.headers['x-content-type-options']).toBe('nosniff')
  }
})
