/** Decisions on a disk that fails, or in a process that ends, at any call: files and review are old, or both are new. */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { isFailure, UnturnError } from '../errors.ts'
import { allFaults, type Fault, faultFs } from '../testing/fault-fs.ts'
import { edited, lines, propose, ten } from '../testing/reviewing.ts'
import { Fixture, linkTo, withMode } from '../testing/workspace.ts'
import type { OpId } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'
import type { Workspace } from '../workspace.ts'

const soak = process.env.UNTURN_SOAK !== undefined
vi.setConfig({ testTimeout: soak ? 3_600_000 : 180_000 })

interface Case {
  readonly name: string
  readonly begin: (fixture: Fixture) => Promise<readonly OpId[]>
  readonly act: (workspace: Workspace, fixture: Fixture, ops: readonly OpId[]) => Promise<unknown>
}

async function agentsWork(fixture: Fixture): Promise<void> {
  fixture.userWrites({
    a: ten,
    'deep/b': ten,
    run: withMode('#!/bin/sh\n', 0o755),
    gone: 'g\n',
    l: linkTo('a'),
  })
  await fixture.open()
  await fixture.workspace.capture()
  await fixture.turn('Change much', () => {
    fixture.userWrites({ a: edited(ten, { 2: 'TWO', 5: 'FIVE', 9: 'NINE' }), 'new/c': 'c\n', gone: null })
    fixture.userWrites({ run: withMode('#!/bin/sh\n', 0o644), l: linkTo('deep') })
    renameSync(fixture.pathOf('deep/b'), fixture.pathOf('deep/d'))
  })
  fixture.userWrites({ a: edited(ten, { 2: 'TWO', 5: 'FIVE and mine', 9: 'NINE' }) })
  await fixture.workspace.capture()
}

async function offered(fixture: Fixture): Promise<void> {
  fixture.userWrites({ a: ten, b: ten, gone: 'g\n' })
  await fixture.open()
  await fixture.workspace.capture()
  const turn = await fixture.beginTurn('Offer')
  await propose(fixture, turn, 'a', edited(ten, { 2: 'TWO', 9: 'NINE' }))
  await propose(fixture, turn, 'new/c', lines('c'))
  await propose(fixture, turn, 'gone', null)
  await fixture.workspace.endTurn(turn)
  fixture.userWrites({ a: edited(ten, { 5: 'mine' }) })
  await fixture.workspace.capture()
}

async function offeredTwice(fixture: Fixture): Promise<void> {
  await offered(fixture)
  const turn = await fixture.beginTurn('Offer more')
  await propose(fixture, turn, 'a', edited(ten, { 2: 'TWO', 5: 'mine', 7: 'SEVEN', 9: 'NINE' }))
  await propose(fixture, turn, 'b', edited(ten, { 1: 'ONE' }))
  await fixture.workspace.endTurn(turn)
}

const all = (workspace: Workspace, { session }: Fixture, way: 'accept' | 'reject') =>
  workspace[way]({ session, selection: {}, onConflict: 'keep' })

const cases: readonly Case[] = [
  {
    name: 'reject',
    begin: async (fixture) => {
      await agentsWork(fixture)
      return []
    },
    act: (workspace, fixture) => all(workspace, fixture, 'reject'),
  },
  {
    name: 'accept',
    begin: async (fixture) => {
      await agentsWork(fixture)
      return []
    },
    act: (workspace, fixture) => all(workspace, fixture, 'accept'),
  },
  {
    name: 'taking back a rejection',
    begin: async (fixture) => {
      await agentsWork(fixture)
      return (await all(fixture.workspace, fixture, 'reject')).ops
    },
    act: (workspace, { session }, ops) => workspace.rollback({ session, selection: { ops } }),
  },
  {
    name: 'accepting proposals',
    begin: async (fixture) => {
      await offered(fixture)
      return []
    },
    act: (workspace, fixture) => all(workspace, fixture, 'accept'),
  },
  {
    name: 'accepting proposals of two turns',
    begin: async (fixture) => {
      await offeredTwice(fixture)
      return []
    },
    act: (workspace, fixture) => all(workspace, fixture, 'accept'),
  },
  {
    name: 'rejecting proposals',
    begin: async (fixture) => {
      await offered(fixture)
      return []
    },
    act: (workspace, fixture) => all(workspace, fixture, 'reject'),
  },
  {
    name: 'proposing',
    begin: async (fixture) => {
      await offered(fixture)
      return []
    },
    act: async (workspace, { session }) => {
      const turn = workspace.index.turns(session)[0]?.id
      if (turn === undefined) throw new Error('there is no turn')
      await workspace.propose({ turn, path: 'b' as never, content: Buffer.from('b\n') })
    },
  },
]

/** A project and its store as one case begins with them, kept aside, and put back for every run. */
class Stage implements AsyncDisposable {
  readonly fixture = new Fixture()
  readonly #copy = mkdtempSync(join(tmpdir(), 'unturn-copy-'))

  keep(): void {
    execFileSync('cp', ['-a', `${this.fixture.base}/.`, this.#copy])
  }

  async putBack(): Promise<void> {
    await this.fixture.close()
    for (const name of readdirSync(this.fixture.base))
      rmSync(join(this.fixture.base, name), { recursive: true, force: true })
    execFileSync('cp', ['-a', `${this.#copy}/.`, this.fixture.base])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture[Symbol.asyncDispose]()
    rmSync(this.#copy, { recursive: true, force: true })
  }
}

/** Files, and what is pending, as one: half of each is what must never be seen. */
async function standing(fixture: Fixture): Promise<unknown> {
  const { files, proposals, rejections } = await fixture.workspace.review(fixture.session)
  // A proposal that is made once more has another id, and so have its hunks.
  const hunks = files.flatMap((file) =>
    file.hunks.map(({ id, contested, proposal, path }) => [proposal === undefined ? id : path, contested]),
  )
  return {
    disk: fixture.files({ modes: true }),
    hunks,
    proposals: proposals.map(({ path }) => path),
    rejections: rejections.map(({ path }) => path),
  }
}

function* calls(count: number, most: number, offset: number): Generator<number> {
  const stride = soak ? 1 : Math.max(1, count / most)
  for (let at = 1 + (offset % stride); at <= count; at += stride) yield Math.floor(at)
}

function leftovers(fixture: Fixture): readonly string[] {
  const workspaces = join(fixture.base, 'store', 'workspaces')
  return readdirSync(workspaces).flatMap((name) =>
    ['journal', 'staging', 'scratch'].flatMap((folder) => {
      const path = join(workspaces, name, folder)
      return existsSync(path) ? readdirSync(path).filter((file) => !file.startsWith('spare-')) : []
    }),
  )
}

describe.each(cases)('$name', (one) => {
  const stage = new Stage()
  afterAll(() => stage[Symbol.asyncDispose]())
  const { fixture } = stage

  async function attempt(at: number, fault: Fault, ops: readonly OpId[]) {
    await stage.putBack()
    const fs = faultFs(nodeFs, at, fault)
    fs.armed = false
    const workspace = await fixture.open({ fs })
    fs.armed = true
    try {
      await one.act(workspace, fixture, ops)
      return { fs, error: undefined }
    } catch (error) {
      return { fs, error }
    } finally {
      fs.lifted = true
    }
  }

  test(`[R195] [R196] [P2] ${one.name}: whichever call fails or is the last, files and review are both old or both new`, async () => {
    const ops = await one.begin(fixture)
    const old = await standing(fixture)
    await fixture.close()
    stage.keep()
    const { fs } = await attempt(Number.POSITIVE_INFINITY, 'kill', ops)
    const after = await standing(fixture)
    expect(after).not.toEqual(old)
    for (const [order, fault] of allFaults.entries())
      for (const at of calls(fs.calls, 2, order * 3)) {
        const tried = await attempt(at, fault, ops)
        try {
          await check(fault, tried.error, ops, old, after)
        } catch (error) {
          const reason = error instanceof Error ? error.message : error
          throw new Error(`${fault} at call ${at}: ${tried.fs.struck}: ${reason}`, { cause: error })
        }
      }
  })

  async function check(fault: Fault, error: unknown, ops: readonly OpId[], old: unknown, after: unknown) {
    const isKilled = fault === 'kill' || fault === 'short-write'
    if (error !== undefined && !isKilled) expect(error).toBeInstanceOf(UnturnError)
    if (isKilled) await fixture.reopen()
    await fixture.workspace.catchUp()
    const now = await standing(fixture)
    const isNew = JSON.stringify(now) === JSON.stringify(after)
    expect(isNew ? after : old).toEqual(now)
    if (error === undefined) expect(isNew).toBe(true)
    else if (!isKilled && !isPending(error)) expect(isNew).toBe(false)
    expect(await fixture.workspace.doctor()).toEqual([])
    expect(leftovers(fixture)).toEqual([])
    if (!isNew) await one.act(fixture.workspace, fixture, ops)
    expect(await standing(fixture)).toEqual(after)
    await fixture.reopen()
    expect(await standing(fixture)).toEqual(after)
  }
})

// Neither forward nor back was possible; the next command brings every path to one side.
function isPending(error: unknown): boolean {
  return isFailure(error, 'apply-failed') && error.data.state === 'pending'
}
