import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { leadingTo, openPage } from '../packages/cli/src/open-page.ts'
import { type LiveEvent, type ServerEvent, Unturn } from '../packages/client/src/index.ts'
import { command, type Json, node, Project } from './support.ts'

const version: string = JSON.parse(
  readFileSync(new URL('../packages/cli/package.json', import.meta.url), 'utf8'),
).version

interface Serving extends AsyncDisposable {
  readonly child: ChildProcess
  readonly url: string
  readonly token: string
  readonly output: () => string
}

/** `unturn serve`, up. */
async function serve(project: Project, args: readonly string[] = []): Promise<Serving> {
  const child = spawn(node, [command, 'serve', ...args], {
    cwd: project.dir,
    env: project.env as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  await until(() => /#token=\S+/.test(output) || child.exitCode !== null)
  const [, url = '', token = ''] = /(http:\S+)\/#token=([\w-]+)/.exec(output) ?? []
  return {
    child,
    url,
    token,
    output: () => output,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
      await ended
    },
  }
}

async function until(isThere: () => boolean | Promise<boolean>, ms = 15_000): Promise<void> {
  const deadline = Date.now() + ms
  while (!(await isThere())) {
    if (Date.now() > deadline) throw new Error('waited in vain')
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

function serverJson(project: Project): Json | undefined {
  const path = join(project.base, 'store', 'server', 'server.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
}

async function stopServer(project: Project): Promise<void> {
  const at = serverJson(project)
  if (at === undefined) return
  try {
    process.kill(at.pid, 'SIGTERM')
  } catch {
    return // it has ended by itself
  }
  await until(() => serverJson(project) === undefined)
}

function idOf(project: Project): string {
  return readdirSync(join(project.base, 'store', 'workspaces'))[0] ?? ''
}

test('[U250] serve prints the address, is there once, and leaves nothing behind', async () => {
  using project = new Project({ 'a.txt': 'one\n' })
  project.turn({ 'a.txt': 'two\n' })
  await using server = await serve(project)
  expect(server.output()).toMatch(
    /^The server is running\. Ctrl-C ends it\.\nhttp:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}\n$/,
  )
  const unturn = new Unturn(server)
  expect((await unturn.workspaces()).map(({ id }) => id)).toEqual([idOf(project)])
  expect((await unturn.workspace(idOf(project)).tree()).turns).toHaveLength(1)
  const again = project.unturn(['serve'])
  expect([again.code, again.stdout]).toEqual([
    0,
    `A server is running already.\n${server.url}/#token=${server.token}\n`,
  ])
  expect(project.unturn(['serve', '--port', 'x']).code).toBe(2)
  server.child.kill('SIGINT')
  await until(() => server.child.exitCode !== null)
  expect(server.child.exitCode).toBe(0)
  expect(readdirSync(join(project.base, 'store', 'server'))).toEqual([])
})

test('[U251] studio starts a server, or finds it, and prints the address of the workspace', async () => {
  using project = new Project({ 'a.txt': 'one\n' })
  project.turn({ 'a.txt': 'two\n' })
  try {
    const first = project.unturn(['studio', '--json']).json
    expect(first.workspace).toBe(idOf(project))
    const second = project.unturn(['studio', '--no-open'])
    expect(second.stdout).toBe(`${first.url}\n`)
    expect(first.url).toContain(`&workspace=${idOf(project)}`)
    expect(serverJson(project).pid).toBe(first.pid)
    mkdirSync(project.pathOf('../elsewhere'))
    expect(project.unturn(['studio'], { cwd: project.pathOf('../elsewhere') }).stdout).toContain(
      'Nothing has been captured here yet',
    )
  } finally {
    await stopServer(project)
  }
})

test('[U251] the browser is led by a private file, and no command line has the token', async () => {
  using project = new Project()
  const folder = join(project.base, 'private')
  mkdirSync(folder, { mode: 0o700 })
  const browser = join(project.base, 'browser')
  writeFileSync(
    browser,
    `#!/bin/sh\necho "$@" > "${project.base}/argv"\nf="\${1#file://}"\ncat "$f" > "${project.base}/page"\n`,
  )
  chmodSync(browser, 0o755)
  const before = process.env.BROWSER
  process.env.BROWSER = browser
  try {
    const opening = openPage('http://127.0.0.1:1/#token=SECRET', folder, 1_000)
    await until(() => readdirSync(folder).length > 0)
    expect(statSync(join(folder, readdirSync(folder)[0] ?? '')).mode & 0o777).toBe(0o600)
    await until(() => existsSync(join(project.base, 'page')))
    await opening
  } finally {
    if (before === undefined) delete process.env.BROWSER
    else process.env.BROWSER = before
  }
  expect(readFileSync(join(project.base, 'argv'), 'utf8')).not.toContain('SECRET')
  expect(readFileSync(join(project.base, 'page'), 'utf8')).toContain('#token=SECRET')
  expect(readdirSync(folder)).toEqual([])
  expect(leadingTo('http://x/</script>')).not.toContain('</script></script>')
})

/** Somebody at the socket who answers as told; null: never. */
async function pretend(project: Project, answer: object | null, more: object = {}): Promise<AsyncDisposable> {
  const folder = join(project.base, 'store', 'server')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const socket = join(folder, 'pretend.sock')
  const server = createServer((connection) => {
    connection.on('error', () => {})
    connection.on('data', () => {
      if (answer === null) return
      const body = JSON.stringify(answer)
      connection.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    })
  })
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  const at = { version, pid: process.pid, port: 1, socket, token: 't', startedAt: new Date().toISOString() }
  writeFileSync(join(folder, 'server.json'), JSON.stringify({ ...at, ...more }), { mode: 0o600 })
  return {
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

/** What a capture finds of two files, one of which no hint tells of. */
async function captured(project: Project): Promise<readonly string[]> {
  const mark = `${Math.random()}\n`
  project.write({ 'told.txt': mark, 'sub/untold.txt': mark })
  const { ended } = project.start(['capture', '--json'])
  const { json } = await ended
  return json.changes.map(({ path }: Json) => path)
}

test('[U252] a command goes by the hints of a server, and looks everywhere where it cannot', async () => {
  using project = new Project({ 'told.txt': '0\n', 'sub/untold.txt': '0\n' })
  project.ask('capture')
  // Files so young are looked at in any case.
  await new Promise((resolve) => setTimeout(resolve, 2_100))
  project.ask('capture')
  const hints = { dirty: { folders: [''], trees: [] }, unaudited: [] }
  {
    await using _ = await pretend(project, hints)
    expect(await captured(project)).toEqual(['told.txt'])
  }
  expect(await captured(project)).toEqual(['sub/untold.txt', 'told.txt']) // it is dead by now
  {
    await using _ = await pretend(project, hints, { version: '0.0.1' })
    expect(await captured(project)).toEqual(['sub/untold.txt', 'told.txt'])
  }
  {
    await using _ = await pretend(project, { dirty: null, unaudited: [] })
    expect(await captured(project)).toEqual(['sub/untold.txt', 'told.txt'])
  }
  {
    await using _ = await pretend(project, { error: 'nonsense' })
    expect(await captured(project)).toEqual(['sub/untold.txt', 'told.txt'])
  }
  {
    await using _ = await pretend(project, null)
    expect(await captured(project)).toEqual(['sub/untold.txt', 'told.txt'])
  }
})

test('[U253] a server starts on demand, and not where it is turned off', async () => {
  const many = Object.fromEntries(Array.from({ length: 2_100 }, (_, at) => [`d${at % 40}/f${at}.txt`, 'x\n']))
  using project = new Project(many)
  project.ask('capture')
  const eager = { UNTURN_SERVER: '1', UNTURN_SERVER_AFTER_MS: '0' }
  const soon = () => new Promise((resolve) => setTimeout(resolve, 1_500))
  expect(project.unturn(['capture'], { env: { ...eager, UNTURN_SERVER: '0' } }).code).toBe(0)
  writeFileSync(join(project.base, 'store', 'config.json'), '{"server":{"onDemand":false,"afterMs":0}}')
  expect(project.unturn(['capture'], { env: { UNTURN_SERVER: undefined } }).code).toBe(0)
  expect(project.unturn(['status'], { env: eager }).code).toBe(0)
  expect(project.unturn(['capture'], { env: { ...eager, UNTURN_SERVER_AFTER_MS: '60000' } }).code).toBe(0)
  using small = new Project({ 'a.txt': 'a\n' })
  small.ask('capture')
  expect(small.unturn(['capture'], { env: eager }).code).toBe(0)
  await soon()
  expect([serverJson(project), serverJson(small)]).toEqual([undefined, undefined])
  try {
    writeFileSync(join(project.base, 'store', 'config.json'), '{"server":{"onDemand":true,"afterMs":0}}')
    expect(project.unturn(['capture'], { env: { UNTURN_SERVER: undefined } }).code).toBe(0)
    await until(() => serverJson(project) !== undefined)
    const { url, token } = {
      url: `http://127.0.0.1:${serverJson(project).port}`,
      token: serverJson(project).token,
    }
    expect((await new Unturn({ url, token }).server()).idleMinutes).toBe(30)
  } finally {
    await stopServer(project)
  }
})

test('[U254] serve replaces a server of another version', async () => {
  using project = new Project({ 'a.txt': 'one\n' })
  project.ask('capture')
  await using old = await serve(project)
  const path = join(project.base, 'store', 'server', 'server.json')
  writeFileSync(path, JSON.stringify({ ...serverJson(project), version: '0.0.1' }))
  await using fresh = await serve(project)
  expect(fresh.output()).toContain('The server is running')
  await until(() => old.child.exitCode !== null)
  expect(serverJson(project)).toMatchObject({ version, pid: fresh.child.pid })
})

test('[U255] [V125] after a kill the next server is found by open pages, and nothing is lost', async () => {
  using project = new Project({ 'a.txt': 'one\n' })
  project.turn({ 'a.txt': 'two\n' })
  const ending = new AbortController()
  const heard: LiveEvent<ServerEvent>[] = []
  const states: string[] = []
  const first = await serve(project)
  const client = new Unturn({ url: first.url, token: () => serverJson(project).token }).workspace(
    idOf(project),
  )
  const listening = (async () => {
    const options = {
      signal: ending.signal,
      longestWaitMs: 300,
      onState: (state: string) => states.push(state),
    }
    for await (const one of client.events(options)) heard.push(one)
  })()
  await until(() => states.includes('open'))
  const { turn } = await client.beginTurn({ session: 's1', agent: 'tester', prompt: 'Cut short' })
  const { step } = await client.beginStep({ turn, tool: 'shell' })
  project.write({ 'a.txt': 'three\n', 'new.txt': 'n\n' })
  first.child.kill('SIGKILL')
  await until(() => states.at(-1) === 'lost')
  expect(serverJson(project)).toBeDefined()
  await using second = await serve(project)
  expect(second.url).toBe(first.url)
  expect(second.token).not.toBe(first.token)
  await until(() => heard.some(({ event }) => event.type === 'reset'))
  const { changes } = await client.endStep(step)
  expect(changes.map(({ path }) => path)).toEqual(['a.txt', 'new.txt'])
  await client.endTurn(turn)
  await client.undo()
  await until(() => heard.some(({ event }) => event.type === 'undo'))
  expect(project.read('a.txt')).toBe('two\n')
  const behindReset = heard.slice(heard.findIndex(({ event }) => event.type === 'reset') + 1)
  expect(behindReset.map(({ event }) => event.type).filter((type) => type !== 'session.updated')).toEqual([
    'change',
    'change',
    'step.ended',
    'turn.ended',
    'undo',
  ])
  expect(project.ask('doctor').ok).toBe(true)
  ending.abort()
  await listening
})

test('[U256] what no hint told of is audited, also when the next command is an undo', async () => {
  using project = new Project({ 'told.txt': '0\n', 'sub/untold.txt': '0\n' })
  project.ask('capture')
  await new Promise((resolve) => setTimeout(resolve, 2_100))
  project.ask('capture')
  const run = async (...args: string[]) => (await project.start([...args, '--json']).ended).json
  const hints = { dirty: { folders: [''], trees: [] } }
  let turn = ''
  {
    await using _ = await pretend(project, { ...hints, unaudited: [] })
    turn = (await run('turn', 'begin', '--session', 's', '--agent', 'a')).turn
    const { step } = await run('step', 'begin', '--turn', turn, '--tool', 'shell')
    project.write({ 'told.txt': '1\n', 'sub/untold.txt': '1\n' })
    expect((await run('step', 'end', '--step', step)).changes.map(({ path }: Json) => path)).toEqual([
      'told.txt',
    ])
    await run('turn', 'end', '--turn', turn)
  }
  await using _ = await pretend(project, { ...hints, unaudited: [turn] })
  const undone = await run('undo')
  expect(undone.files.map(({ path }: Json) => path)).toEqual(['sub/untold.txt', 'told.txt'])
  expect([project.read('told.txt'), project.read('sub/untold.txt')]).toEqual(['0\n', '0\n'])
})
