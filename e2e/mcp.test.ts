/** `unturn mcp`, asked by the official client over standard input and output. */

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect, test } from 'vitest'
import { command, type Json, node, Project } from './support.ts'

class Model implements AsyncDisposable {
  readonly client = new Client({ name: 'a test', version: '1' })

  static async in(project: Project, args: readonly string[] = [], cwd = project.dir): Promise<Model> {
    const model = new Model()
    const env = Object.fromEntries(
      Object.entries(project.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    )
    await model.client.connect(
      new StdioClientTransport({ command: node, args: [command, 'mcp', ...args], env, cwd, stderr: 'pipe' }),
    )
    return model
  }

  /** The answer as it is for programs; what is for the model's eyes must be the same. */
  async call(name: string, input: object = {}): Promise<Json> {
    const result: Json = await this.client.callTool({ name, arguments: { ...input } })
    if (result.structuredContent !== undefined)
      expect(JSON.parse(result.content[0].text)).toEqual(result.structuredContent)
    return { isError: result.isError === true, text: result.content[0].text, ...result.structuredContent }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close()
  }
}

test('[A360] eight tools are offered, with schemas, descriptions, and hints that tell which ones change files', async () => {
  using project = new Project()
  await using model = await Model.in(project)
  const { tools } = await model.client.listTools()
  const destructive = Object.fromEntries(
    tools.map(({ name, annotations }) => [name, annotations?.destructiveHint]),
  )
  expect(destructive).toEqual({
    status: false,
    log: false,
    diff: false,
    checkpoint: false,
    undo: true,
    redo: true,
    rollback: true,
    review: false,
  })
  for (const { name, description, inputSchema, annotations } of tools) {
    expect(description?.length).toBeGreaterThan(60)
    expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
    expect(annotations).toMatchObject({
      readOnlyHint: ['status', 'log', 'diff', 'review'].includes(name),
      openWorldHint: false,
    })
    expect(description?.startsWith('CHANGES FILES')).toBe(annotations?.destructiveHint)
  }
  expect(model.client.getInstructions()).toContain('when the user asks')
})

test('[A361] the tools answer as the commands do: status, log, diff, review, checkpoint', async () => {
  using project = new Project({ 'a.txt': 'one\n' })
  await using model = await Model.in(project)
  expect(await model.call('status')).toMatchObject({ isError: false, sessions: [] })
  const turn = project.turn({ 'a.txt': 'ONE\n', 'b.txt': 'two\n' })
  expect(await model.call('log')).toMatchObject({ turns: [{ id: turn, prompt: 'do it', files: 2 }] })
  expect((await model.call('log', { of: 'changes', files: ['b.txt'] })).changes).toMatchObject([
    { path: 'b.txt', kind: 'add', turn },
  ])
  expect((await model.call('log', { of: 'operations', limit: 1 })).operations).toHaveLength(1)
  expect((await model.call('diff')).patch).toContain('-one\n+ONE')
  expect((await model.call('diff', { from: turn, to: 'now', files: ['b.txt'] })).patch).not.toContain('ONE')
  expect(await model.call('review')).toMatchObject({ pending: 2 })
  project.write({ 'mine.txt': 'mine\n' })
  expect((await model.call('checkpoint', { label: 'before I go on' })).changes).toMatchObject([
    { path: 'mine.txt', actor: 'user' },
  ])
  expect(project.files()).toEqual({ 'a.txt': 'ONE\n', 'b.txt': 'two\n', 'mine.txt': 'mine\n' })
})

test('[A362] undo and redo change files and keep what the user wrote; a dry run changes nothing', async () => {
  using project = new Project({ 'a.txt': 'one\n' })
  const turn = project.turn({ 'a.txt': 'ONE\n', 'b.txt': 'two\n' })
  project.write({ 'mine.txt': 'mine\n' })
  await using model = await Model.in(project)
  expect(await model.call('undo', { dryRun: true })).toMatchObject({ reverted: [turn], op: null })
  expect(project.read('a.txt')).toBe('ONE\n')
  expect(await model.call('undo')).toMatchObject({ isError: false, reverted: [turn], prompt: 'do it' })
  expect(project.files()).toEqual({ 'a.txt': 'one\n', 'mine.txt': 'mine\n' })
  await model.call('redo')
  expect(project.files()).toEqual({ 'a.txt': 'ONE\n', 'b.txt': 'two\n', 'mine.txt': 'mine\n' })
})

test('[A363] a rollback is planned first, and carried out only with the id of a plan that still holds', async () => {
  using project = new Project({ 'a.txt': 'one\n', 'b.txt': 'one\n' })
  const first = project.turn({ 'a.txt': 'two\n' })
  project.turn({ 'b.txt': 'two\n' })
  await using model = await Model.in(project)
  const planned = await model.call('rollback', { turns: [first] })
  expect(planned).toMatchObject({ isError: false, op: null, files: [{ path: 'a.txt', action: 'write' }] })
  expect(project.read('a.txt')).toBe('two\n')

  expect(await model.call('rollback', { turns: ['@'], plan: planned.plan })).toMatchObject({
    isError: true,
    error: { code: 'plan-outdated' },
  })
  project.write({ 'a.txt': 'two\nmore\n\nand more\n' })
  const refused = await model.call('rollback', { turns: [first], plan: planned.plan })
  expect(refused.isError).toBe(true)
  expect(project.read('a.txt')).toBe('two\nmore\n\nand more\n')

  project.write({ 'a.txt': 'two\n' })
  const { plan } = await model.call('rollback', { turns: [first] })
  expect(await model.call('rollback', { turns: [first], plan })).toMatchObject({
    isError: false,
    op: expect.any(String),
  })
  expect(project.files()).toEqual({ 'a.txt': 'one\n', 'b.txt': 'two\n' })
})

test('[A364] what cannot be done is an error with a message and a hint, and changes nothing; a field that nobody knows is one, too', async () => {
  using project = new Project({ 'a.txt': 'one\n' })
  await using model = await Model.in(project)
  expect(await model.call('undo')).toMatchObject({
    isError: true,
    error: { code: 'nothing-to-undo', hint: expect.any(String) },
  })
  project.turn({ 'a.txt': 'ONE\n' })
  const unknown = await model.call('undo', { turn: 'x' })
  expect(unknown.isError).toBe(true)
  expect(unknown.text).toContain('turn')
  expect(await model.call('rollback')).toMatchObject({ isError: true, error: { code: 'bad-usage' } })
  expect(await model.call('diff', { from: '--help' })).toMatchObject({ isError: true })
  project.write({ 'a.txt': 'mine\n' })
  expect(await model.call('undo')).toMatchObject({
    isError: true,
    error: { code: 'conflicts', data: { conflicts: [{ path: 'a.txt' }] } },
  })
  expect(project.files()).toEqual({ 'a.txt': 'mine\n' })
})

test('[A365] calls at once are answered one after the other; -C names the folder; the server ends with its input', async () => {
  using project = new Project({ 'a.txt': 'one\n' })
  project.turn({ 'a.txt': 'two\n' })
  const model = await Model.in(project, ['-C', project.dir], project.base)
  const answers = await Promise.all([
    model.call('status'),
    model.call('undo'),
    model.call('log', { files: ['a.txt'] }),
    model.call('redo'),
    model.call('diff'),
  ])
  expect(answers.map(({ isError }) => isError)).toEqual([false, false, false, false, false])
  expect(answers[2].turns).toHaveLength(1)
  expect(project.read('a.txt')).toBe('two\n')
  await model.client.close()
  const { child, ended } = project.start(['mcp'])
  expect(child.pid).toBeGreaterThan(0)
  expect(await ended).toMatchObject({ code: 0, stdout: '' })
})
