import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { UnturnRequestError } from '@unturn/client'
import { expect, test } from 'vitest'
import { queryOf } from './http.ts'
import { routes } from './routes.ts'
import { served } from './testing/served.ts'

async function failure(work: Promise<unknown>): Promise<UnturnRequestError> {
  try {
    await work
  } catch (error) {
    if (error instanceof UnturnRequestError) return error
    throw error
  }
  throw new Error('the request was not refused')
}

test('[V100] every route answers as its schema says, and the client reaches each of them', async () => {
  const health = { agent: 'a', title: 'A', found: true, installed: null, trusted: 'unknown' } as const
  const agents = { agents: [{ ...health, lastHeard: null, problems: ['None.'] }], waitingEvents: 2 }
  await using s = await served(
    { 'a.txt': 'one\n', 'keep/k.txt': 'k\n' },
    { agents: (folder) => (folder === s.dir ? agents : { agents: [], waitingEvents: 0 }) },
  )
  const { client, unturn } = s
  await unturn.server()
  expect((await unturn.workspaces()).map(({ id, name }) => [id, name])).toEqual([[s.id, 'project']])

  const first = await s.turn('First', { 'a.txt': 'two\n', 'b.txt': 'new\n' }, { message: 'm1' })
  expect(first.changes.map(({ path, kind }) => [path, kind])).toEqual([
    ['a.txt', 'modify'],
    ['b.txt', 'add'],
  ])
  s.write({ 'mine.txt': 'mine\n' })
  expect((await client.capture({ label: 'by hand' })).changes.map(({ actor }) => actor)).toEqual(['user'])
  expect((await client.status()).sessions).toHaveLength(1)
  expect((await client.sessions()).sessions[0]?.id).toBe('chat-1')
  expect((await client.tree()).turns).toHaveLength(1)
  expect((await client.turns()).turns[0]?.prompt).toBe('First')
  expect((await client.turn(first.turn)).steps[0]?.command).toBe('make First')
  expect((await client.operations()).operations.map(({ kind }) => kind)).toEqual([
    'user-edit',
    'turn-end',
    'step',
    'turn-begin',
    'baseline',
  ])
  const [change] = (await client.changes({ file: 'b.txt' })).changes
  for (const id of [first.turn, first.step, change?.id ?? ''])
    expect((await client.show(id)).patch).toContain('+new')
  expect((await client.show(change?.id ?? '')).changes).toHaveLength(1)
  expect((await client.diff({ from: '@', to: 'now' })).patch).toContain('+mine')
  expect((await client.blame('a.txt')).lines).toMatchObject([{ text: 'two', by: 'agent', agent: 'tester' }])
  expect((await client.files()).entries.map(({ path }) => path)).toEqual([
    'a.txt',
    'b.txt',
    'keep',
    'mine.txt',
  ])
  expect((await client.file({ path: 'a.txt', at: first.turn, side: 'before' })).text).toBe('one\n')

  const plan = await client.undo({ dryRun: true })
  expect(plan).toMatchObject({ kind: 'planned', prompt: 'First', notUndone: { commands: ['make First'] } })
  expect((await client.applyPlan(plan.plan ?? '')).kind).toBe('done')
  expect(readFileSync(s.pathOf('a.txt'), 'utf8')).toBe('one\n')
  expect((await client.redo({ all: true })).redone).toEqual([first.turn])
  expect((await client.restore({ turn: first.turn })).reverted).toEqual([first.turn])
  expect((await client.restore({ turn: first.turn, side: 'after' })).redone).toEqual([first.turn])
  const rolled = await client.rollback({ selection: { files: ['b.txt'] } })
  expect(rolled.files).toEqual([{ path: 'b.txt', action: 'delete', merged: false }])
  expect((await client.rollback({ selection: { ops: [rolled.op ?? ''] } })).kind).toBe('done')

  expect((await unturn.revert('chat-1', { messageID: 'm1' })).revert).toEqual({ messageID: 'm1' })
  expect((await unturn.unrevert('chat-1')).revert).toBeUndefined()
  expect((await unturn.sessionDiff('chat-1')).map(({ file }) => file)).toEqual(['a.txt', 'b.txt'])
  const offered = await client.propose({ turn: first.turn, path: 'p.txt', content: 'offered\n' })
  expect((await client.review()).proposals.map(({ id }) => id)).toEqual([offered.proposal])
  expect((await client.lookReview()).pending).toBe(3)
  expect((await client.lookReview({ files: ['b.txt'], turns: [first.turn] })).pending).toBe(1)
  expect((await client.pendingFile({ path: 'a.txt', side: 'before' })).text).toBe('one\n')
  expect((await client.accept({ selection: { files: ['a.txt'] } })).pending).toBe(2)
  expect((await client.reject({ selection: { proposals: [offered.proposal] } })).pending).toBe(1)
  await client.undo()
  expect((await client.cleanup('chat-1')).turns).toEqual([first.turn])

  expect((await client.pin('chat-1')).pinned).toBe(true)
  expect((await client.store()).sessions[0]).toMatchObject({ session: 'chat-1', pinned: true })
  expect((await client.unpin('chat-1')).pinned).toBe(false)
  expect((await client.gc({ dryRun: true })).dropped).toEqual([])
  expect(await client.gc({ ifDue: true })).toEqual({ dryRun: false, dropped: [], userOperations: 0 })
  expect((await client.gc()).dryRun).toBe(false)
  expect(await client.agents()).toEqual(agents)
  expect((await client.purge(['mine.txt'])).versions).toBe(1)
  expect(await client.doctor()).toEqual({ ok: true, findings: [] })

  const bySocket = Object.entries(routes).filter(([, route]) => 'only' in route)
  expect([...s.asked, ...bySocket.map(([name]) => name)].sort()).toEqual(Object.keys(routes).sort())
})

test('[V101] the OpenAPI document has every route, made of the schemas that check requests', async () => {
  await using s = await served()
  const api = (await (await s.raw('/openapi.json')).json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
    readonly components: { readonly schemas: Readonly<Record<string, unknown>> }
  }
  for (const { method, path } of Object.values(routes)) expect(api.paths[path]?.[method]).toBeDefined()
  expect(api.paths['/api/workspaces/{workspace}/events']?.get).toBeDefined()
  expect(api.paths['/api/workspaces/{workspace}/restore']?.post).toMatchObject({
    requestBody: {
      content: { 'application/json': { schema: { required: ['turn'], additionalProperties: false } } },
    },
  })
  const text = JSON.stringify(api)
  const referred = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name ?? '')
  expect(referred.length).toBeGreaterThan(50)
  for (const name of referred) expect(api.components.schemas[name]).toBeDefined()
  expect(text).not.toContain('$defs')
})

test('[V102] a request with an unknown or wrong field is refused, and nothing is changed', async () => {
  await using s = await served({ 'a.txt': 'one\n' })
  await s.turn('First', { 'a.txt': 'two\n' })
  const wrong = await failure(s.client.undo({ dryrun: true } as object))
  expect([wrong.status, wrong.code]).toEqual([400, 'bad-usage'])
  expect(wrong.message).toContain('dryrun')
  expect((await failure(s.client.undo({ turns: 0 }))).message).toContain('turns')
  expect((await failure(s.client.turns({ limit: 1_000_000 }))).message).toContain('limit')
  expect((await failure(s.client.turns({ since: 'yesterday' }))).message).toContain('since')
  expect((await failure(s.client.rollback({ selection: { turns: [] } }))).status).toBe(400)
  expect((await failure(s.client.turns({ before: '1; drop table turns' }))).code).toBe('bad-usage')
  expect((await failure(s.client.changes({ before: 'x:y' }))).code).toBe('bad-usage')
  expect(readFileSync(s.pathOf('a.txt'), 'utf8')).toBe('two\n')
})

test('[V103] failures of the engine come with code, hint, data and a fitting status', async () => {
  await using s = await served({ 'a.txt': 'one\n' })
  const none = await s.client.undo()
  expect([none.kind, none.message]).toEqual(['nothing', expect.stringContaining('No turn has been recorded')])
  const { turn } = await s.client.beginTurn({ session: 'x', agent: 'a' })
  const { step } = await s.client.beginStep({ turn, tool: 'edit', paths: ['a.txt'] })
  const running = await failure(s.client.undo())
  expect([running.status, running.code]).toEqual([409, 'turn-running'])
  expect(running.data).toMatchObject({ turn })
  s.write({ 'a.txt': 'two\n' })
  await s.client.endStep(step)
  await s.client.endTurn(turn)
  s.write({ 'a.txt': 'three\n' })
  const conflicts = await s.client.undo()
  expect(conflicts).toMatchObject({ kind: 'conflicts', conflicts: [{ path: 'a.txt', ours: 'three' }] })
  expect((await failure(s.client.turn('tnone'))).status).toBe(404)
  expect((await failure(s.client.blame('none.txt'))).status).toBe(404)
  expect((await failure(s.client.applyPlan('p99'))).status).toBe(404)
  expect((await failure(s.unturn.workspace('no-such').status())).code).toBe('unknown-id')
  expect((await failure(s.unturn.revert('no-such', { messageID: 'm' }))).status).toBe(404)
  expect((await failure(s.unturn.get('/api/nothing'))).code).toBe('no-such-route')
})

test('[V104] pages have every turn, operation and change exactly once, also while new ones are recorded', async () => {
  await using s = await served({ 'a.txt': '0\n' })
  for (let i = 1; i <= 7; i += 1) await s.turn(`Turn ${i}`, { 'a.txt': `${i}\n`, [`b${i}.txt`]: 'x\n' })

  const prompts: (string | null)[] = []
  for (let before: string | null | undefined; before !== null; ) {
    const page = await s.client.turns({ limit: 3, before: before ?? undefined })
    prompts.push(...page.turns.map((turn) => turn.prompt))
    if (before === undefined) await s.turn('In between', { 'a.txt': 'between\n' })
    before = page.next
  }
  expect(prompts).toEqual([7, 6, 5, 4, 3, 2, 1].map((i) => `Turn ${i}`))

  const all = (await s.client.changes({ limit: 1_000 })).changes.map(({ id }) => id)
  const paged: string[] = []
  for (let before: string | null | undefined; before !== null; ) {
    const page = await s.client.changes({ limit: 3, before: before ?? undefined })
    paged.push(...page.changes.map(({ id }) => id))
    before = page.next
  }
  expect(paged).toEqual(all)
  expect(all).toHaveLength(15)

  const seqs: number[] = []
  for (let before: string | null | undefined; before !== null; ) {
    const page = await s.client.operations({ limit: 4, before: before ?? undefined })
    seqs.push(...page.operations.map(({ seq }) => seq))
    before = page.next
  }
  expect(seqs).toEqual(Array.from({ length: 25 }, (_, at) => 25 - at))
})

test('[V105] turns and changes are filtered by session, file, agent, turn, step, time and text', async () => {
  await using s = await served({ 'a.txt': '0\n' })
  const one = await s.turn('Paint it red', { 'a.txt': '1\n', 'src/x.txt': 'x\n' })
  const between = new Date().toISOString()
  await new Promise((resolve) => setTimeout(resolve, 5))
  const two = await s.turn('Paint it blue', { 'b.txt': '2\n' }, { session: 'chat-2' })
  s.write({ 'mine.txt': 'm\n' })
  await s.client.capture()
  const turns = async (query: Parameters<typeof s.client.turns>[0]) =>
    (await s.client.turns(query)).turns.map(({ id }) => id)
  const paths = async (query: Parameters<typeof s.client.changes>[0]) =>
    (await s.client.changes(query)).changes.map(({ path }) => path)

  expect(await turns({})).toEqual([two.turn, one.turn])
  expect(await turns({ session: 'chat-1' })).toEqual([one.turn])
  expect(await turns({ file: 'src' })).toEqual([one.turn])
  expect(await turns({ file: ['a.txt', 'b.txt'] })).toEqual([two.turn, one.turn])
  expect(await turns({ agent: 'nobody' })).toEqual([])
  expect(await turns({ since: between })).toEqual([two.turn])
  expect(await turns({ until: between })).toEqual([one.turn])
  expect(await turns({ text: 'RED' })).toEqual([one.turn])

  expect(await paths({})).toEqual(['b.txt', 'a.txt', 'src/x.txt'])
  expect(await paths({ everybody: true })).toEqual(['mine.txt', 'b.txt', 'a.txt', 'src/x.txt'])
  expect(await paths({ session: 'chat-2' })).toEqual(['b.txt'])
  expect(await paths({ turn: one.turn, file: 'src' })).toEqual(['src/x.txt'])
  expect(await paths({ step: two.step })).toEqual(['b.txt'])
  expect(await paths({ since: between })).toEqual(['b.txt'])
  expect(await paths({ text: 'X.TXT' })).toEqual(['src/x.txt'])
  expect(await paths({ text: 'it blue' })).toEqual(['b.txt'])
  expect(await paths({ text: 'make paint it red' })).toEqual(['a.txt', 'src/x.txt'])
  expect((await s.client.operations({ kind: ['user-edit'] })).operations).toHaveLength(1)
  const own = await s.client.operations({ session: 'chat-2', own: true })
  expect(own.operations.map(({ kind }) => kind)).toEqual([
    'user-edit',
    'turn-end',
    'step',
    'turn-begin',
    'baseline',
  ])
})

test('[V106] files and folders are read at any point of the history', async () => {
  await using s = await served({
    'a.txt': 'one\n',
    'deep/er/d.txt': 'd\n',
    'bin.dat': Buffer.from([0, 1, 255]),
  })
  const { turn, step } = await s.turn('Change', { 'a.txt': 'two\n', deep: null, 'n.txt': 'n\n' })
  const names = async (query: Parameters<typeof s.client.files>[0]) =>
    (await s.client.files(query)).entries.map(({ path, kind }) => `${kind} ${path}`)
  expect(await names({ at: turn, side: 'before' })).toEqual(['file a.txt', 'file bin.dat', 'folder deep'])
  expect(await names({ at: turn, side: 'before', under: 'deep/er' })).toEqual(['file deep/er/d.txt'])
  expect(await names({ at: step })).toEqual(['file a.txt', 'file bin.dat', 'file n.txt'])
  expect(await names({ at: turn, side: 'before', recursive: true })).toHaveLength(3)
  expect(await s.client.files({ recursive: true, limit: 2 })).toMatchObject({ complete: false })
  expect((await failure(s.client.files({ under: 'deep' }))).status).toBe(404)

  expect((await s.client.file({ path: 'a.txt', at: turn, side: 'before' })).text).toBe('one\n')
  expect((await s.client.file({ path: 'a.txt' })).text).toBe('two\n')
  const binary = await s.client.file({ path: 'bin.dat' })
  expect([binary.binary, binary.base64, binary.text]).toEqual([true, 'AAH/', undefined])
  const large = await s.client.file({ path: 'a.txt', most: 2 })
  expect([large.tooLarge, large.size, large.text]).toEqual([true, 4, undefined])
  expect((await failure(s.client.file({ path: 'deep/er/d.txt' }))).status).toBe(404)
})

test('[V107] a plan is applied exactly, once, and refused when the files have moved', async () => {
  await using s = await served({ 'a.txt': 'one\ntwo\nthree\nfour\n' })
  await s.turn('Change', { 'a.txt': 'ONE\ntwo\nthree\nfour\n' })
  const stale = await s.client.undo({ dryRun: true })
  expect(readFileSync(s.pathOf('a.txt'), 'utf8')).toBe('ONE\ntwo\nthree\nfour\n')
  s.write({ 'a.txt': 'ONE\ntwo\nthree\nFOUR\n' })
  const refused = await failure(s.client.applyPlan(stale.plan ?? ''))
  expect([refused.status, refused.code]).toEqual([409, 'plan-stale'])
  const fresh = await s.client.undo({ dryRun: true })
  expect(fresh.files).toEqual([{ path: 'a.txt', action: 'write', merged: true }])
  expect(fresh.patch).toContain('+one')
  await s.client.applyPlan(fresh.plan ?? '')
  expect(readFileSync(s.pathOf('a.txt'), 'utf8')).toBe('one\ntwo\nthree\nFOUR\n')
  expect((await failure(s.client.applyPlan(fresh.plan ?? ''))).code).toBe('unknown-id')
})

test.skipIf(process.platform !== 'linux')('[V108] a name that is not UTF-8 goes there and back', async () => {
  await using s = await served({ 'a.txt': 'one\n' })
  const name = Buffer.concat([Buffer.from(`${s.dir}/`), Buffer.from([0x66, 0xff, 0x2b, 0x25])])
  writeFileSync(name, 'odd\n')
  await s.client.capture()
  const text = 'f\udcff+%'
  expect((await s.client.files()).entries.map(({ path }) => path)).toContain(text)
  expect((await s.client.file({ path: text })).text).toBe('odd\n')
  const { changes } = await s.client.changes({ file: text, everybody: true })
  expect(changes.map(({ path }) => path)).toEqual([text])
  expect(queryOf('http://x/?a=%ff&b=1&b=2&c=%C3%A4+%2B&__proto__=x')).toEqual(
    Object.assign(Object.create(null), { a: '\udcff', b: ['1', '2'], c: 'ä +', ['__proto__']: 'x' }),
  )
})

test('[V109] several workspaces are served at once; one whose folder is gone hurts no other', async () => {
  await using s = await served({ 'a.txt': 'one\n' })
  const other = join(s.base, 'other')
  mkdirSync(other)
  writeFileSync(join(other, 'o.txt'), 'o\n')
  const id = await s.prepare(other)
  await s.turn('Here', { 'a.txt': 'two\n' })
  const elsewhere = s.unturn.workspace(id)
  expect((await elsewhere.status()).sessions).toEqual([])
  const { turn } = await elsewhere.beginTurn({ session: 'chat-9', agent: 'b' })
  writeFileSync(join(other, 'o.txt'), 'p\n')
  expect((await elsewhere.endTurn(turn)).changes.map(({ path }) => path)).toEqual(['o.txt'])
  expect((await s.client.changes()).changes.map(({ path }) => path)).toEqual(['a.txt'])
  expect((await s.unturn.revert('chat-9', { messageID: 'none' }).catch((error) => error)).status).toBe(404)

  await s.server.end()
  rmSync(other, { recursive: true })
  await s.start()
  expect((await failure(s.unturn.workspace(id).status())).code).toBe('not-a-workspace')
  expect((await s.unturn.workspaces()).map((one) => one.id)).toContain(id)
  expect((await s.client.status()).sessions).toHaveLength(1)
  expect((await s.unturn.sessionDiff('chat-1')).map(({ file }) => file)).toEqual(['a.txt'])
})

test('[V110] revert and unrevert go to before a message or a part, and keep what the user wrote', async () => {
  await using s = await served({ 'a.txt': 'one\ntwo\nthree\nfour\nfive\n', 'b.txt': 'b\n' })
  await s.turn('First', { 'b.txt': 'B\n' }, { message: 'm1' })
  const { turn } = await s.client.beginTurn({ session: 'chat-1', agent: 'tester', message: 'm2' })
  for (const [part, name] of [
    ['p1', 'c.txt'],
    ['p2', 'd.txt'],
  ] as const) {
    const { step } = await s.client.beginStep({ turn, tool: 'edit', paths: [name], part })
    s.write({ [name]: 'new\n' })
    await s.client.endStep(step)
  }
  const { step } = await s.client.beginStep({ turn, tool: 'edit', paths: ['a.txt'], part: 'p3' })
  s.write({ 'a.txt': 'ONE\ntwo\nthree\nfour\nfive\n' })
  await s.client.endStep(step)
  await s.client.endTurn(turn)
  s.write({ 'a.txt': 'ONE\ntwo\nthree\nfour\nFIVE\n' })

  const inside = await s.unturn.revert('chat-1', { messageID: 'm2', partID: 'p2' })
  expect(inside.revert).toEqual({ messageID: 'm2', partID: 'p2' })
  expect((await s.client.files()).entries.map(({ path }) => path)).toEqual(['a.txt', 'b.txt', 'c.txt'])
  expect(readFileSync(s.pathOf('a.txt'), 'utf8')).toBe('one\ntwo\nthree\nfour\nFIVE\n')
  const whole = await s.unturn.revert('chat-1', { messageID: 'm1' }, { workspace: s.id })
  expect(whole.revert).toEqual({ messageID: 'm1' })
  expect(readFileSync(s.pathOf('b.txt'), 'utf8')).toBe('b\n')
  const back = await s.unturn.unrevert('chat-1')
  expect(back.revert).toBeUndefined()
  expect(readFileSync(s.pathOf('a.txt'), 'utf8')).toBe('ONE\ntwo\nthree\nfour\nFIVE\n')
  expect(readFileSync(s.pathOf('d.txt'), 'utf8')).toBe('new\n')

  const diff = await s.unturn.sessionDiff('chat-1', { messageID: 'm1' })
  expect(diff).toEqual([
    { file: 'b.txt', before: 'b\n', after: 'B\n', additions: 1, deletions: 1, status: 'modified' },
  ])
  s.write({ 'b.txt': 'mine\n' })
  const conflict = await failure(s.unturn.revert('chat-1', { messageID: 'm1' }))
  expect([conflict.status, conflict.code]).toEqual([409, 'conflicts'])
  expect(readFileSync(s.pathOf('b.txt'), 'utf8')).toBe('mine\n')
})

test('[V111] the tree has all turns with their branches, and the edits of the user between', async () => {
  await using s = await served({ 'a.txt': '0\n' })
  const one = await s.turn('One', { 'a.txt': '1\n' })
  const two = await s.turn('Two with a long prompt', { 'b.txt': '2\n' })
  await s.client.undo()
  const three = await s.turn('Three', { 'c.txt': '3\n' })
  s.write({ 'mine.txt': 'm\n' })
  await s.client.capture({ label: 'note' })
  const tree = await s.client.tree({ promptLength: 3 })
  expect(
    tree.turns.map(({ id, parent, reverted, head, depth, prompt }) => [
      id,
      parent,
      reverted,
      head,
      depth,
      prompt,
    ]),
  ).toEqual([
    [one.turn, null, false, false, 0, 'One'],
    [two.turn, one.turn, true, false, 1, 'Two'],
    [three.turn, one.turn, false, true, 1, 'Thr'],
  ])
  expect(tree.userEdits).toMatchObject([{ label: 'note', files: 1, additions: 1 }])
  expect(tree.session).toMatchObject({ id: 'chat-1', head: three.turn, reverted: [two.turn] })
})

test('[V112] pending hunks are listed, accepted, rejected and proposed', async () => {
  await using s = await served({ 'a.txt': 'one\ntwo\nthree\nfour\nfive\nsix\nseven\n' })
  const { turn } = await s.turn('Shout', {
    'a.txt': 'ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n',
    'b.txt': 'b\n',
  })
  s.write({ 'mine.txt': 'not captured\n' })
  const review = await s.client.review()
  expect(review.files.map(({ path, hunks }) => [path, hunks.map(({ kind }) => kind)])).toEqual([
    ['a.txt', ['text', 'text']],
    ['b.txt', ['create']],
  ])
  expect((await s.client.status()).pendingHunks).toBe(3)
  expect((await s.client.review({ file: 'b.txt' })).pending).toBe(1)
  expect((await s.client.review({ agent: 'nobody' })).pending).toBe(0)
  expect((await s.client.operations({ kind: 'user-edit' })).operations).toEqual([])

  const [first, second] = review.files[0]?.hunks ?? []
  const planned = await s.client.reject({ selection: { hunks: [first?.id ?? ''] }, dryRun: true })
  expect([planned.kind, planned.pending, planned.patch]).toEqual([
    'planned',
    2,
    expect.stringContaining('+one'),
  ])
  const rejected = await s.client.reject({ selection: { hunks: [first?.id ?? ''] }, comment: 'too loud' })
  expect(readFileSync(s.pathOf('a.txt'), 'utf8')).toBe('one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n')
  expect((await s.client.review()).rejected).toMatchObject([{ comment: 'too loud', added: 'ONE\n' }])
  const stale = await failure(s.client.accept({ selection: { hunks: [first?.id ?? ''] } }))
  expect([stale.status, stale.code]).toEqual([409, 'hunk-gone'])
  expect((await failure(s.client.accept({ selection: {} }))).status).toBe(400)
  expect((await failure(s.client.accept({ selection: { hunks: [] } }))).status).toBe(400)
  expect((await s.client.accept({ selection: { hunks: [second?.id ?? ''] } })).pending).toBe(1)
  await s.client.rollback({ selection: { ops: [rejected.op ?? ''] } })
  expect(readFileSync(s.pathOf('a.txt'), 'utf8')).toContain('ONE')

  const bytes = Buffer.from([0, 1, 2]).toString('base64')
  await s.client.propose({ turn, path: 'bin.dat', content: bytes, encoding: 'base64', group: 'g' })
  await s.client.propose({ turn, path: 'b.txt', content: null, group: 'g' })
  expect((await s.client.review()).proposals.map(({ path, action }) => [path, action])).toEqual([
    ['bin.dat', 'create'],
    ['b.txt', 'delete'],
  ])
  const proposal = (await s.client.review()).proposals[0]?.id ?? ''
  const whole = (side: 'before' | 'after') => s.client.pendingFile({ path: 'bin.dat', side, proposal })
  expect(await whole('after')).toMatchObject({ binary: true, base64: bytes, size: 3 })
  expect((await failure(whole('before'))).status).toBe(404)
  await s.client.accept({ selection: { groups: ['g'] } })
  expect(readFileSync(s.pathOf('bin.dat'))).toEqual(Buffer.from([0, 1, 2]))
  expect((await s.client.files()).entries.map(({ path }) => path)).not.toContain('b.txt')
  expect(await s.client.pendingFile({ path: 'a.txt', side: 'before' })).toMatchObject({
    text: 'one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n',
  })
  const now = await s.client.pendingFile({ path: 'a.txt', side: 'after', most: 3 })
  expect([now.tooLarge, now.text]).toEqual([true, undefined])
})

test('[V113] a choice for each file in conflict, whole sides, diffs without whitespace, and prompts beside changes', async () => {
  await using s = await served({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  const { turn } = await s.turn('Shout', { 'a.txt': 'A\n', 'b.txt': '  b\n' })
  expect((await s.client.show(turn)).patch).toContain('+  b')
  expect((await s.client.show(turn, { whitespace: 'ignore' })).patch).not.toContain('+  b')
  expect((await s.client.diff({ from: turn, whitespace: 'ignore' })).patch).not.toContain('+  b')
  expect((await s.client.changes()).prompts).toEqual({ [turn]: 'Shout' })

  s.write({ 'a.txt': 'A, mine\n', 'b.txt': '  b, mine\n' })
  const open = await s.client.undo({ dryRun: true, sides: true, choices: { 'a.txt': 'keep' } })
  expect(open.kind).toBe('conflicts')
  expect(open.conflicts.map(({ versions }) => versions)).toEqual([
    { base: 'A\n', ours: 'A, mine\n', theirs: 'a\n' },
    { base: '  b\n', ours: '  b, mine\n', theirs: 'b\n' },
  ])
  const choices = { 'a.txt': 'keep', 'b.txt': 'overwrite' } as const
  const selection = { turns: [turn] }
  const plan = await s.client.rollback({ dryRun: true, choices, selection })
  expect((await s.client.applyPlan(plan.plan ?? '')).kind).toBe('done')
  expect(['a.txt', 'b.txt'].map((name) => readFileSync(s.pathOf(name), 'utf8'))).toEqual(['A, mine\n', 'b\n'])
})

test('[V300] a conflict is settled with the text that somebody made of both sides, for a move and for a rejection', async () => {
  await using s = await served({ 'a.txt': '1\n2\n3\n', 'b.txt': '1\n2\n3\n' })
  const { turn } = await s.turn('Shout', { 'a.txt': '1\nTWO\n3\n', 'b.txt': '1\nTWO\n3\n' })
  s.write({ 'a.txt': '1\nTWO, mine\n3\n', 'b.txt': '1\nTWO, mine\n3\n' })
  const selection = { files: ['b.txt'] }
  const open = await s.client.reject({ selection, sides: true })
  expect(open.kind).toBe('conflicts')
  expect(open.conflicts[0]?.versions).toEqual({
    base: '1\nTWO\n3\n',
    ours: '1\nTWO, mine\n3\n',
    theirs: '1\n2\n3\n',
  })
  expect((await s.client.reject({ selection, choices: { 'b.txt': 'keep' }, dryRun: true })).kind).toBe(
    'planned',
  )
  const old = await s.client.reject({ selection, choices: { 'b.txt': 'overwrite' }, dryRun: true })
  expect(old.patch).toContain('+2\n')
  const made = '1\n2, mine\n3\n'
  expect((await s.client.reject({ selection, results: { 'b.txt': made } })).kind).toBe('done')
  expect(readFileSync(s.pathOf('b.txt'), 'utf8')).toBe(made)

  const wish = { selection: { turns: [turn], files: ['a.txt'] } }
  expect((await s.client.rollback({ ...wish, dryRun: true, sides: true })).kind).toBe('conflicts')
  const plan = await s.client.rollback({ ...wish, dryRun: true, results: { 'a.txt': made } })
  expect((await s.client.applyPlan(plan.plan ?? '')).kind).toBe('done')
  expect(readFileSync(s.pathOf('a.txt'), 'utf8')).toBe(made)
})
