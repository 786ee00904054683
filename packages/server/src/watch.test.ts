import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type DirtyFolders, openWorkspace, type Workspace } from '@unturn/core'
import { expect, test } from 'vitest'
import { type Files, Served } from './testing/served.ts'
import { Watch, type WatchOptions } from './watch.ts'
import { type FileEvent, parcelSource, type WatchSource } from './watch-source.ts'

/** A real workspace with a watcher that tells what it told the engine. */
class Watched implements AsyncDisposable {
  readonly served: Served
  readonly workspace: Workspace
  readonly watch: Watch
  readonly looks: (DirtyFolders | 'full')[]

  constructor(served: Served, workspace: Workspace, watch: Watch, looks: (DirtyFolders | 'full')[]) {
    this.served = served
    this.workspace = workspace
    this.watch = watch
    this.looks = looks
  }

  static async make(files: Files, options: WatchOptions = {}): Promise<Watched> {
    const served = new Served(files)
    await served.prepare()
    const warnings: string[] = []
    const watch = new Watch({ hintAboveMs: -1, ...options }, (text) => warnings.push(text))
    const looks: (DirtyFolders | 'full')[] = []
    const workspace = await openWorkspace(served.dir, {
      env: served.env,
      explicit: true,
      watch: {
        look: async (at) => {
          const look = await watch.look(at)
          looks.push(look.dirty ?? 'full')
          return look
        },
      },
    })
    watch.start(workspace)
    await watch.started()
    await workspace.capture() // the first look behind the watcher's start is a full one
    looks.length = 0
    return new Watched(served, workspace, watch, looks)
  }

  /** One turn of one shell step; what it did is found by whatever means the engine has. */
  async turn(work: () => void): Promise<string> {
    const { turn } = await this.workspace.beginTurn({ session: 's' as never, agent: 'a', prompt: 'do' })
    const { step } = await this.workspace.beginStep({ turn, tool: 'shell', paths: [] })
    work()
    await this.workspace.endStep(step)
    await this.workspace.endTurn(turn)
    return turn
  }

  /** Everything the log knows, by who did it. */
  changes(): readonly string[] {
    return this.workspace.index
      .findChanges({ everybody: true })
      .map(({ actor, kind, path }) => `${actor} ${kind} ${path}`)
      .sort()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.watch[Symbol.asyncDispose]()
    await this.workspace[Symbol.asyncDispose]()
    await this.served[Symbol.asyncDispose]()
  }
}

/** The real watcher, of whose events only some come through. */
function lossy(keeps: (event: FileEvent, number: number) => boolean): WatchSource {
  let number = 0
  return (options) =>
    parcelSource({
      ...options,
      onEvents: (events) =>
        options.onEvents(
          events.filter((event) => {
            number += 1
            return keeps(event, number)
          }),
        ),
    })
}

const some: Files = { 'a.txt': 'a\n', 'src/b.txt': 'b\n', 'src/deep/c.txt': 'c\n', 'docs/d.txt': 'd\n' }

function snapshotOf(w: Watched): string | undefined {
  return w.workspace.index.lastOperation()?.after.tree
}

test('[V150] a capture looks only where something happened, and sees all of it', async () => {
  await using w = await Watched.make(some)
  await w.turn(() => {
    w.served.write({ 'src/deep/c.txt': 'C\n', 'src/new.txt': 'n\n', 'docs/d.txt': null })
  })
  expect(w.looks).not.toContain('full')
  const ofStep = w.looks[2] as DirtyFolders
  expect([...ofStep.folders].sort()).toEqual(['docs', 'src', 'src/deep'])
  expect(w.changes()).toEqual(['a add src/new.txt', 'a delete docs/d.txt', 'a modify src/deep/c.txt'])
  const seen = snapshotOf(w)
  expect(await w.workspace.audit()).toEqual([])
  expect(snapshotOf(w)).toBe(seen)
})

test('[V151] whatever events are lost, after the audit every change is in its turn, and undo is exact', async () => {
  const keepings: readonly ((event: FileEvent, number: number) => boolean)[] = [
    () => false,
    (_, number) => number % 2 === 0,
    ({ type }) => type !== 'create',
    ({ path }) => !path.includes('deep'),
  ]
  for (const keeps of keepings) {
    await using w = await Watched.make(some, { source: lossy(keeps) })
    const before = snapshotOf(w)
    const turn = await w.turn(() => {
      w.served.write({
        'a.txt': 'A\n',
        'src/deep/c.txt': 'C\n',
        'src/deep/er/e.txt': 'e\n',
        'new/n1.txt': '1\n',
        'new/n2.txt': '2\n',
        'docs/d.txt': null,
      })
    })
    await w.watch.audit()
    const expected = [
      'a add new/n1.txt',
      'a add new/n2.txt',
      'a add src/deep/er/e.txt',
      'a delete docs/d.txt',
      'a modify a.txt',
      'a modify src/deep/c.txt',
    ]
    expect(w.changes()).toEqual(expected)
    expect(w.workspace.index.changesOfTurn(turn as never)).toHaveLength(expected.length)
    const after = snapshotOf(w)
    await w.workspace.undo({ session: 's' as never })
    await w.workspace.audit()
    expect(snapshotOf(w)).toBe(before)
    await w.workspace.redo({ session: 's' as never })
    expect(snapshotOf(w)).toBe(after)
    expect(await w.workspace.doctor()).toEqual([])
  }
})

test('[V151] the audit runs by itself, soon after the turn, in a running server', async () => {
  await using s = new Served(some)
  await s.start({ watch: { hintAboveMs: -1, source: lossy(() => false) } })
  await s.client.capture()
  await expect.poll(async () => (await s.client.status()).watch.state).toBe('watching')
  await s.client.undo({ dryRun: true }) // a full look, behind the start of the watcher
  const { turn } = await s.turn('Blind', {})
  const begun = await s.client.beginTurn({ session: 'chat-1', agent: 'tester', prompt: 'Next' })
  const { step } = await s.client.beginStep({ turn: begun.turn, tool: 'shell' })
  s.write({ 'src/b.txt': 'B\n' })
  expect((await s.client.endStep(step)).changes).toEqual([])
  expect((await s.client.endTurn(begun.turn)).changes).toEqual([])
  await expect
    .poll(async () => (await s.client.turn(begun.turn)).changes.map(({ path }) => path), { timeout: 5_000 })
    .toEqual(['src/b.txt'])
  expect((await s.client.turn(turn)).changes).toEqual([])
})

test('[V152] what the user does after the turn is the user’s, also when the audit finds it', async () => {
  await using w = await Watched.make(some, { source: lossy(() => false) })
  await w.turn(() => w.served.write({ 'a.txt': 'A\n' }))
  await new Promise((resolve) => setTimeout(resolve, 50))
  w.served.write({ 'docs/d.txt': 'mine\n' })
  await w.watch.audit()
  expect(w.changes()).toEqual(['a modify a.txt', 'user modify docs/d.txt'])
})

test('[V153] a burst, an odd event, a watcher that fails: the next look is a full one', async () => {
  let tell: (events: readonly FileEvent[]) => void = () => {}
  let fail: (error: Error) => void = () => {}
  let answers = true
  const source: WatchSource = async (options) => {
    tell = options.onEvents
    fail = options.onError
    return { flush: async () => answers, close: async () => {} }
  }
  await using w = await Watched.make(some, { source })
  const looksOf = async (work: () => void, name = 'a.txt') => {
    w.looks.length = 0
    w.served.write({ [name]: `${Math.random()}\n` })
    work()
    const { changes } = await w.workspace.capture()
    return [w.looks[0] === 'full' ? 'full' : 'hinted', changes.length]
  }
  const event = { type: 'update', path: w.served.pathOf('a.txt') } as const
  expect(await looksOf(() => tell([event]))).toEqual(['hinted', 1])
  expect(await looksOf(() => {}, 'docs/d.txt')).toEqual(['hinted', 0])
  expect(await looksOf(() => tell(Array.from({ length: 5_000 }, () => event)))).toEqual(['full', 2])
  expect(await looksOf(() => tell([event]))).toEqual(['hinted', 1])
  const many = Array.from({ length: 3_000 }, (_, at) => ({ ...event, path: w.served.pathOf(`d${at}/x`) }))
  expect(await looksOf(() => tell(many))).toEqual(['full', 1])
  expect(await looksOf(() => tell([{ ...event, path: w.served.pathOf('a\ufffd.txt') }]))).toEqual(['full', 1])
  expect(await looksOf(() => tell([{ ...event, path: '/somewhere/else' }]))).toEqual(['full', 1])
  answers = false
  expect(await looksOf(() => tell([event]))).toEqual(['full', 1])
  answers = true
  expect(await looksOf(() => tell([event]))).toEqual(['hinted', 1])
  expect(await looksOf(() => fail(new Error('gone')))).toEqual(['full', 1])
  expect(w.watch.state).toEqual({ state: 'off', reason: 'gone', isHintUsed: false })
  expect(await looksOf(() => tell([event]))).toEqual(['full', 1])
})

test('[V153] a look that failed is made up for by the next one', async () => {
  await using w = await Watched.make(some)
  w.served.write({ 'src/b.txt': 'B\n' })
  const look = await w.watch.look('step')
  expect(look.dirty?.folders.has('src')).toBe(true)
  const again = await w.watch.look('step') // nobody said that the first one was done
  expect(again.dirty?.folders.has('src')).toBe(true)
  again.done()
  expect((await w.watch.look('step')).dirty?.folders.size).toBe(0)
})

test('[V154] without a watcher everything works the same', async () => {
  const source: WatchSource = async () => {
    throw new Error('no such watcher here')
  }
  await using s = new Served(some)
  await s.start({ watch: { hintAboveMs: -1, source } })
  const { changes } = await s.turn('Change', { 'a.txt': 'A\n', 'new/n.txt': 'n\n' })
  expect(changes.map(({ path }) => path)).toEqual(['a.txt', 'new/n.txt'])
  expect((await s.client.status()).watch).toEqual({
    state: 'off',
    reason: 'no such watcher here',
    isHintUsed: false,
  })
  await s.server.end()
  await s.start({ watch: 'off' })
  expect((await s.client.undo()).files).toHaveLength(2)
  expect((await s.client.status()).watch.state).toBe('off')
})

test('[V155] folders that come and go, and new ignore rules, are seen by hints alone', async () => {
  await using w = await Watched.make({ ...some, 'node_modules/x/index.js': 'x\n' })
  const steps: readonly (() => void)[] = [
    () => renameSync(w.served.pathOf('src'), w.served.pathOf('lib')),
    () => rmSync(w.served.pathOf('docs'), { recursive: true }),
    () => mkdirSync(w.served.pathOf('empty/er'), { recursive: true }),
    () =>
      w.served.write({ '.gitignore': 'lib\n*.log\n', 'x.log': 'log\n', 'node_modules/x/index.js': 'y\n' }),
    () => w.served.write({ 'lib/deep/c.txt': 'still captured\n', 'lib/z.txt': 'ignored by now\n' }),
    () => {
      rmSync(w.served.pathOf('lib/deep'), { recursive: true })
      writeFileSync(w.served.pathOf('lib/deep'), 'a file now\n')
    },
    () => w.served.write({ '.gitignore': '' }),
  ]
  for (const step of steps) {
    await w.turn(step)
    const hinted = snapshotOf(w)
    expect(await w.workspace.audit()).toEqual([])
    expect(snapshotOf(w)).toBe(hinted)
  }
})

test('[V156] an undo right after a turn takes out what no event told of, too', async () => {
  await using w = await Watched.make(some, { source: lossy(() => false) })
  const before = snapshotOf(w)
  await w.turn(() => w.served.write({ 'a.txt': 'A\n', 'src/n.txt': 'n\n' }))
  const { files } = await w.workspace.undo({ session: 's' as never })
  expect(files.map(({ path }) => path)).toEqual(['a.txt', 'src/n.txt'])
  await w.workspace.audit()
  expect(snapshotOf(w)).toBe(before)
})
