/** `unturn acp` as a pipe: what goes in comes out, whatever it is and however Unturn fares. */

import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { command, node, Project } from './support.ts'

/** An agent that gives back every byte, says something on the side, and ends with 7. */
const echo = `
process.stderr.write('on the side\\n')
process.stdin.on('data', (bytes) => process.stdout.write(bytes))
process.stdin.on('end', () => process.exit(7))
`

/** An agent that answers a prompt after it has written a file by itself. */
const writer = `
const { writeFileSync } = require('node:fs')
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
  if (method === 'session/new') return say({ id, result: { sessionId: 's1' } })
  if (method !== 'session/prompt') return say({ id, result: {} })
  const update = (fields) => say({ method: 'session/update', params: { sessionId: 's1', update: fields } })
  update({ sessionUpdate: 'tool_call', toolCallId: 'c' + id, kind: 'edit', status: 'in_progress', locations: [{ path: process.cwd() + '/made.txt' }] })
  writeFileSync('made.txt', JSON.stringify(params.prompt))
  update({ sessionUpdate: 'tool_call_update', toolCallId: 'c' + id, status: 'completed' })
  say({ id, result: { stopReason: 'end_turn' } })
})
`

interface Spoken {
  readonly code: number | null
  readonly out: Buffer
  readonly errors: string
}

async function speak(
  project: Project,
  script: string,
  said: (write: (bytes: Buffer | string) => void, heard: () => string) => Promise<void>,
  env: Readonly<Record<string, string>> = {},
): Promise<Spoken> {
  const child = spawn(node, [command, 'acp', '--agent', 'tester', '--', node, '-e', script], {
    cwd: project.dir,
    env: { ...project.env, ...env },
  })
  const out: Buffer[] = []
  let errors = ''
  child.stdout.on('data', (bytes: Buffer) => out.push(bytes))
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  await said(
    (bytes) => child.stdin.write(bytes),
    () => Buffer.concat(out).toString('utf8'),
  )
  child.stdin.end()
  return { code: await ended, out: Buffer.concat(out), errors }
}

async function until(holds: () => boolean): Promise<void> {
  const end = Date.now() + 20_000
  while (!holds()) {
    if (Date.now() > end) throw new Error('waited in vain')
    await new Promise((next) => setTimeout(next, 10))
  }
}

const ask = (id: number, method: string, params: object) =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`

test('[U240] every byte goes through as it came: lines that are no JSON, bytes that are no text, a line without an end; and the exit code', async () => {
  using project = new Project({ 'a.txt': 'one\n' })
  const random = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 7919) % 256))
  const given = [
    Buffer.from('no json\n{"broken": \n[]\n{}\n\r\n  {"method": 7}\n'),
    random,
    Buffer.from(`\n{"jsonrpc":"2.0","method":"session/update","params":{"big":9007199254740993}}\n`),
    Buffer.from(ask(1, 'session/prompt', { sessionId: 'x', prompt: 'no list' })),
    Buffer.from('a last line without an end'),
  ]
  const { code, out, errors } = await speak(project, echo, async (write, heard) => {
    write('half a line')
    await until(() => heard() === 'half a line') // though it has not ended
    write('\n')
    for (const bytes of given) write(bytes)
  })
  expect(out.equals(Buffer.concat([Buffer.from('half a line\n'), ...given]))).toBe(true)
  expect(errors).toBe('on the side\n')
  expect(code).toBe(7)
})

test.each([
  ['by itself', { UNTURN_HOOK_BACKGROUND: '0' }],
  ['by an attendant', { UNTURN_HOOK_BACKGROUND: '1', UNTURN_HOOK_IDLE_MS: '3000' }],
] as const)(
  '[U241] a turn is recorded %s; after an undo the next prompt, and only that one, carries a note behind the user’s words',
  async (_, env) => {
    using project = new Project({ 'a.txt': 'one\n' })
    const prompt = (id: number) =>
      ask(id, 'session/prompt', { sessionId: 's1', prompt: [{ type: 'text', text: 'Go' }] })
    await speak(
      project,
      writer,
      async (write, heard) => {
        write(ask(1, 'session/new', { cwd: project.dir, mcpServers: [] }))
        await until(() => heard().includes('sessionId'))
        write(prompt(2))
        await until(() => heard().includes('end_turn'))
        expect(project.read('made.txt')).toBe('[{"type":"text","text":"Go"}]')
        await until(() => project.ask('log', '--all').turns[0]?.status === 'ok')
        expect(project.ask('log', '--all').turns).toMatchObject([
          { agent: 'tester', session: 's1', prompt: 'Go' },
        ])
        project.ask('undo')
        expect(project.files()).toEqual({ 'a.txt': 'one\n' })
        write(prompt(3))
        await until(() => heard().split('end_turn').length === 3)
        expect(JSON.parse(project.read('made.txt'))).toEqual([
          { type: 'text', text: 'Go' },
          { type: 'text', text: expect.stringContaining('took back 1 turn of yours') },
        ])
        write(prompt(4))
        await until(() => heard().split('end_turn').length === 4)
        expect(project.read('made.txt')).toBe('[{"type":"text","text":"Go"}]')
      },
      env,
    )
  },
)

test('[U242] where nothing can be recorded the conversation goes on, and a program that is not there is said to be missing', async () => {
  using project = new Project({ 'a.txt': 'one\n' })
  writeFileSync(join(project.base, 'file'), '')
  const { out } = await speak(
    project,
    writer,
    async (write, heard) => {
      write(ask(1, 'session/new', { cwd: project.dir }))
      write(ask(2, 'session/prompt', { sessionId: 's1', prompt: [] }))
      await until(() => heard().includes('end_turn'))
    },
    { UNTURN_HOME: join(project.base, 'file'), UNTURN_HOOK_BUDGET_MS: '1500' },
  )
  expect(out.toString('utf8').split('\n')).toHaveLength(5)
  const missing = project.unturn(['acp', '--', join(project.base, 'nobody')], { input: '' })
  expect(missing).toMatchObject({ code: 127, stdout: '' })
  expect(missing.stderr).toContain('cannot be started')
  expect(project.unturn(['acp']).code).toBe(2)
})
