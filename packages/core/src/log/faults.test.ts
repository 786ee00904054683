/** The whole engine on a disk that fails, or a process that ends, at any call: real files, real git, one port between. */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { isFailure, UnturnError } from '../errors.ts'
import type { Outcome } from '../history/outcome.ts'
import { type Fault, type FaultFs, faultFs, Killed } from '../testing/fault-fs.ts'
import { type Files, Fixture, linkTo, withMode } from '../testing/workspace.ts'
import type { StepId, TurnId } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'
import type { Workspace } from '../workspace.ts'

const soak = process.env.UNTURN_SOAK !== undefined
vi.setConfig({ testTimeout: soak ? 3_600_000 : 180_000 })
const faults: readonly Fault[] = ['kill', 'short-write', 'EIO', 'EACCES', 'EIO-lasting', 'ENOSPC-lasting']

const atFirst: Files = {
  'a.txt': 'one\ntwo\n',
  'deep/er/b.txt': 'b\n',
  'run.sh': withMode('#!/bin/sh\n', 0o755),
  'gone.txt': 'soon gone\n',
  link: linkTo('a.txt'),
}

const byTheAgent: Files = {
  'a.txt': 'one\nTWO\nthree\n',
  'deep/er/b.txt': null,
  'deep/new/c.txt': 'c\n',
  'run.sh': withMode('#!/bin/sh\n', 0o644),
  'gone.txt': null,
  link: linkTo('deep'),
}

interface Prepared {
  readonly turn: TurnId
  readonly step: StepId
  readonly undone: string
}

/** A project and its store as one case begins with them, kept aside, and put back for every run. */
class Stage implements AsyncDisposable {
  readonly fixture = new Fixture()
  readonly #copy = mkdtempSync(join(tmpdir(), 'unturn-copy-'))

  keep(): void {
    empty(this.#copy)
    copy(this.fixture.base, this.#copy)
  }

  async putBack(): Promise<void> {
    await this.fixture.close()
    empty(this.fixture.base)
    copy(this.#copy, this.fixture.base)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture[Symbol.asyncDispose]()
    rmSync(this.#copy, { recursive: true, force: true })
  }
}

// Modes, times and links as they are: the store refuses a folder that others may look into.
function copy(from: string, to: string): void {
  execFileSync('cp', ['-a', `${from}/.`, to])
}

function empty(folder: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true })
}

interface Case {
  readonly name: string
  readonly rule: string
  /** Runs once, before the state is kept aside. */
  readonly begin: (fixture: Fixture) => Promise<Prepared>
  readonly act: (workspace: Workspace, fixture: Fixture, prepared: Prepared) => Promise<unknown>
  /** Back from the new state to the old one: what was done can be undone. */
  readonly back?: (
    workspace: Workspace,
    fixture: Fixture,
    prepared: Prepared,
    done: unknown,
  ) => Promise<unknown>
}

async function recorded(fixture: Fixture): Promise<Prepared> {
  fixture.userWrites(atFirst)
  await fixture.open()
  await fixture.workspace.capture()
  const { turn } = await fixture.turn('change much', byTheAgent)
  return { turn, step: 's' as StepId, undone: '' }
}

const moves: readonly Case[] = [
  {
    name: 'undo',
    rule: '[L50] [K1] [K4]',
    begin: recorded,
    act: (workspace, fixture) => workspace.undo({ session: fixture.session }),
    back: (workspace, fixture) => workspace.redo({ session: fixture.session }),
  },
  {
    name: 'redo',
    rule: '[L50] [K1] [K4]',
    begin: async (fixture) => {
      const prepared = await recorded(fixture)
      await fixture.undo()
      return prepared
    },
    act: (workspace, fixture) => workspace.redo({ session: fixture.session }),
    back: (workspace, fixture) => workspace.undo({ session: fixture.session }),
  },
  {
    name: 'restore --exact',
    rule: '[L50] [K1] [K4]',
    begin: async (fixture) => {
      const prepared = await recorded(fixture)
      fixture.userWrites({ 'mine.txt': 'mine\n' })
      await fixture.workspace.capture()
      return prepared
    },
    act: (workspace, fixture, { turn }) =>
      workspace.restore({ session: fixture.session, turn, side: 'before', exact: true }),
    back: (workspace, _fixture, _prepared, done) =>
      workspace.rollback({ selection: { ops: [(done as Outcome).op].filter((op) => op !== undefined) } }),
  },
  {
    name: 'rollback',
    rule: '[L50] [K1] [K4]',
    begin: recorded,
    act: (workspace, fixture, { turn }) =>
      workspace.rollback({ session: fixture.session, selection: { turns: [turn] } }),
    back: (workspace, _fixture, _prepared, done) =>
      workspace.rollback({ selection: { ops: [(done as Outcome).op].filter((op) => op !== undefined) } }),
  },
]

/** Which calls to hit: all of them with time, else a spread that differs from fault to fault. */
function* calls(count: number, most: number, offset: number): Generator<number> {
  if (soak || count <= most) {
    for (let at = 1; at <= count; at += 1) yield at
    return
  }
  const stride = count / most
  for (let at = 1 + (offset % stride); at <= count; at += stride) yield Math.floor(at)
}

function leftovers(fixture: Fixture): readonly string[] {
  const workspaces = join(fixture.base, 'store', 'workspaces')
  const found = Object.keys(fixture.files()).filter((path) => path.includes('.unturn-'))
  for (const name of readdirSync(workspaces)) {
    for (const folder of ['journal', 'staging', 'scratch', 'objects.git/objects/pack']) {
      const path = join(workspaces, name, folder)
      if (!existsSync(path)) continue
      for (const entry of readdirSync(path))
        if (!/^(pack-[0-9a-f]{40}\.(pack|idx|keep)|spare-.*)$/.test(entry)) found.push(`${folder}/${entry}`)
    }
  }
  return found
}

async function expectSound(workspace: Workspace): Promise<void> {
  expect(await workspace.doctor()).toEqual([])
}

/** Counts the calls of the body when nothing fails, and gives the state it leads to. */
async function rehearse(stage: Stage, one: Case, prepared: Prepared) {
  await stage.putBack()
  const fs = faultFs(nodeFs, Number.POSITIVE_INFINITY, 'kill')
  const workspace = await stage.fixture.open({ fs })
  fs.armed = true
  const before = fs.calls
  await one.act(workspace, stage.fixture, prepared)
  return { count: fs.calls - before, after: stage.fixture.files({ modes: true }) }
}

async function armed(stage: Stage, at: number, fault: Fault): Promise<{ fs: FaultFs; workspace: Workspace }> {
  await stage.putBack()
  const fs = faultFs(nodeFs, at, fault)
  fs.armed = false
  const workspace = await stage.fixture.open({ fs })
  fs.armed = true
  return { fs, workspace }
}

async function attempted(work: () => Promise<unknown>): Promise<{ done?: unknown; error?: unknown }> {
  try {
    return { done: await work() }
  } catch (error) {
    return { error }
  }
}

function expectTold(error: unknown, fault: Fault): void {
  if (fault === 'kill' || fault === 'short-write') return
  expect(error).toBeInstanceOf(UnturnError)
  const told = error as UnturnError
  expect(told.code).not.toBe('internal')
  expect(told.message).not.toBe('')
  expect(told.hint).not.toBe('')
}

describe.each(moves)('$name', (one) => {
  const stage = new Stage()
  afterAll(() => stage[Symbol.asyncDispose]())

  test(`${one.rule} ${one.name}: whichever call fails or is the last, all paths are old or all new, and it can be tried again`, async () => {
    const prepared = await one.begin(stage.fixture)
    const old = stage.fixture.files({ modes: true })
    await stage.fixture.close()
    stage.keep()
    const { count, after } = await rehearse(stage, one, prepared)
    expect(count).toBeGreaterThan(50)
    for (const [order, fault] of faults.entries()) {
      for (const at of calls(count, 5, order)) {
        const { fs, workspace } = await armed(stage, at, fault)
        const tried = await attempted(() => one.act(workspace, stage.fixture, prepared))
        fs.lifted = true
        const where = `${fault} at call ${at}: ${fs.struck}`
        try {
          await check(stage, one, prepared, { fault, tried, old, after })
        } catch (error) {
          throw new Error(`${where}: ${error instanceof Error ? error.message : error}`, { cause: error })
        }
      }
    }
  })
})

interface Found {
  readonly fault: Fault
  readonly tried: { readonly done?: unknown; readonly error?: unknown }
  readonly old: Record<string, string>
  readonly after: Record<string, string>
}

async function check(stage: Stage, one: Case, prepared: Prepared, found: Found): Promise<void> {
  const { fixture } = stage
  const { tried, old, after } = found
  if (tried.error !== undefined) expectTold(tried.error, found.fault)
  const isKilled = found.fault === 'kill' || found.fault === 'short-write'
  const workspace = isKilled ? await fixture.reopen() : fixture.workspace
  await workspace.catchUp()
  const now = fixture.files({ modes: true })
  const isNew = JSON.stringify(now) === JSON.stringify(after)
  expect(isNew ? after : old).toEqual(now)
  if (tried.done !== undefined) expect(now).toEqual(after)
  else if (!isKilled && !isPending(tried.error)) expect(now).toEqual(old)
  await expectSound(workspace)
  expect(leftovers(fixture)).toEqual([])
  const last = workspace.index.lastOperation()
  const done = isNew ? { op: last?.record.id } : await one.act(workspace, fixture, prepared)
  expect(fixture.files({ modes: true })).toEqual(after)
  await one.back?.(workspace, fixture, prepared, done)
  expect(fixture.files({ modes: true })).toEqual(old)
  const reopened = await fixture.reopen()
  await expectSound(reopened)
  expect(fixture.files({ modes: true })).toEqual(old)
  expect(leftovers(fixture)).toEqual([])
}

// Neither forward nor back was possible; the next command brings every path to one side.
function isPending(error: unknown): boolean {
  return isFailure(error, 'apply-failed') && error.data.state === 'pending'
}

describe('recording', () => {
  const stage = new Stage()
  afterAll(() => stage[Symbol.asyncDispose]())

  const record: readonly (Case & {
    readonly finish: (workspace: Workspace, prepared: Prepared) => Promise<void>
  })[] = [
    {
      name: 'step end',
      rule: '',
      begin: inStep,
      act: (workspace, _fixture, { step }) => workspace.endStep(step),
      finish: async (workspace, { turn }) => {
        await workspace.endTurn(turn)
      },
    },
    {
      name: 'turn end',
      rule: '',
      begin: inStep,
      act: (workspace, _fixture, { turn }) => workspace.endTurn(turn),
      finish: async () => {},
    },
  ]

  test.each(record)(
    '[L51] [K5] $name: whichever call fails or is the last, nothing of the step is lost and no half operation stays',
    async (one) => {
      const prepared = await one.begin(stage.fixture)
      await stage.fixture.close()
      stage.keep()
      const { count, after } = await rehearse(stage, one, prepared)
      for (const [order, fault] of faults.entries()) {
        for (const at of calls(count, 6, order)) {
          const { fs, workspace } = await armed(stage, at, fault)
          const tried = await attempted(() => one.act(workspace, stage.fixture, prepared))
          fs.lifted = true
          try {
            await checkRecorded(stage, one, prepared, { fault, tried, old: after, after })
          } catch (error) {
            throw new Error(
              `${fault} at call ${at}: ${fs.struck}: ${error instanceof Error ? error.message : error}`,
              { cause: error },
            )
          }
        }
      }
    },
  )

  async function inStep(fixture: Fixture): Promise<Prepared> {
    await fixture.close()
    rmSync(fixture.dir, { recursive: true, force: true })
    rmSync(join(fixture.base, 'store'), { recursive: true, force: true })
    fixture.userWrites(atFirst)
    await fixture.open()
    await fixture.workspace.capture()
    const undone = JSON.stringify(fixture.files({ modes: true }))
    const turn = await fixture.beginTurn('change much')
    const { step } = await fixture.workspace.beginStep({ turn, tool: 'shell', paths: [] })
    fixture.userWrites(byTheAgent)
    return { turn, step, undone }
  }

  async function checkRecorded(
    one: Stage,
    tried: (typeof record)[number],
    prepared: Prepared,
    found: Found,
  ): Promise<void> {
    const { fixture } = one
    if (found.tried.error !== undefined) expectTold(found.tried.error, found.fault)
    expect(fixture.files({ modes: true })).toEqual(found.after)
    const isKilled = found.fault === 'kill' || found.fault === 'short-write'
    const workspace = isKilled ? await fixture.reopen() : fixture.workspace
    await workspace.catchUp()
    await expectSound(workspace)
    await tried.act(workspace, fixture, prepared)
    await tried.finish(workspace, prepared)
    const paths = workspace.index.changesOfTurn(prepared.turn).map((change) => change.path)
    expect(paths).toEqual(['a.txt', 'deep/er/b.txt', 'deep/new/c.txt', 'gone.txt', 'link', 'run.sh'])
    expect(workspace.index.findTurn(prepared.turn)?.status).toBe('ok')
    expect(leftovers(fixture)).toEqual([])
    await workspace.undo({ session: fixture.session })
    expect(JSON.stringify(fixture.files({ modes: true }))).toBe(prepared.undone)
    await expectSound(await fixture.reopen())
  }
})

test('[L50] the simulated end of a process is not mistaken for an error of the disk', () => {
  expect(new Killed()).not.toBeInstanceOf(UnturnError)
})
