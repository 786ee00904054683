/** Purge: a path leaves every snapshot, and the store is read for the proof. */

import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { UnturnError } from '../errors.ts'
import { faultFs, Killed } from '../testing/fault-fs.ts'
import { type Fixture, withMode, workspace } from '../testing/workspace.ts'
import type { RelPath } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'

const quick = { honest: false } as const
const secret = 'TOP-SECRET-4711-do-not-keep'
const path = 'secret.txt' as RelPath

/** Every object of the store, as plain git reads it: kind, id and bytes. */
function allBytes(w: Fixture): string {
  const repo = join(w.workspace.engine.folders.folder, 'objects.git')
  return execFileSync('git', ['--git-dir', repo, 'cat-file', '--batch-all-objects', '--batch'], {
    env: w.env,
    encoding: 'latin1',
    maxBuffer: 1 << 28,
  })
}

function snapshotsWith(w: Fixture, name: string): number {
  const repo = join(w.workspace.engine.folders.folder, 'objects.git')
  const list = (tree: string) =>
    execFileSync('git', ['--git-dir', repo, 'ls-tree', '-r', '--name-only', '-z', tree], {
      env: w.env,
      encoding: 'latin1',
    })
  const operations = w.workspace.index.operations({})
  const trees = new Set(operations.flatMap(({ before, after }) => [before.tree, after.tree]))
  return [...trees].filter((tree) => list(tree).split('\0').includes(name)).length
}

/** A secret that the user had, that turns changed in two ways, beside other work. */
async function leaky(options = {}): Promise<Fixture> {
  const w = await workspace({ 'secret.txt': `${secret} 1\n`, 'a.txt': 'one\n' }, { ...quick, ...options })
  await w.turn('both', { 'secret.txt': `${secret} 2\n`, 'a.txt': 'two\n' })
  await w.inSession('agent-2').turn('other', { 'b.txt': 'b\n' })
  await w.inSession('agent-1').turn('again', { 'secret.txt': withMode(`${secret} 3\n`, 0o600) })
  await w.undo()
  return w
}

test('[H191] [H193] [O6] the bytes are nowhere, the file is untouched, ids and numbers stay', async () => {
  await using w = await leaky()
  const disk = w.files({ modes: true })
  const names = () =>
    w.workspace.index.operations({}).map(({ record: { id, seq, kind, session } }) => [id, seq, kind, session])
  const before = names()
  expect(allBytes(w)).toContain(secret)

  const { operations, versions, proof } = await w.workspace.purge([path])

  expect([versions, proof.strays, proof.stay.size]).toEqual([3, [], 0])
  expect(operations).toBeGreaterThan(5)
  expect(allBytes(w)).not.toContain(secret)
  expect(snapshotsWith(w, 'secret.txt')).toBe(0)
  expect(w.files({ modes: true })).toEqual(disk)
  expect(names()).toEqual(before)
  expect(await w.workspace.doctor()).toEqual([])
  await w.reopen()
  expect(names()).toEqual(before)
  expect(await w.workspace.doctor({ repair: true })).not.toContainEqual(
    expect.objectContaining({ severity: 'error' }),
  )
})

test('[H192] [O6] other paths go back and forth; the purged one is left alone and listed', async () => {
  await using w = await leaky({ honest: true })
  await w.workspace.purge([path])
  const kept = w.files()['secret.txt']

  const undone = await w.undo()
  expect(undone.notUndone.skipped).toContainEqual({ path: 'secret.txt', reason: 'purged' })
  expect(w.files()).toEqual({ 'secret.txt': kept, 'a.txt': 'one\n', 'b.txt': 'b\n' })
  await w.redo({ all: true })
  expect(w.files()).toEqual({ 'secret.txt': kept, 'a.txt': 'two\n', 'b.txt': 'b\n' })
  await w.inSession('agent-2').undo()
  expect(w.files()).toEqual({ 'secret.txt': kept, 'a.txt': 'two\n' })
  expect(await w.workspace.doctor()).toEqual([])
})

test('[H192] an exact restore leaves the purged file where it is', async () => {
  await using w = await leaky()
  await w.workspace.purge([path])
  const first = w.workspace.index.turns(w.session)[0]
  if (first !== undefined) await w.restore(first.id, 'before', { exact: true })
  expect(w.files()).toEqual({ 'secret.txt': `${secret} 2\n`, 'a.txt': 'one\n' })
})

test('[H191] [H194] a whole folder goes, its neighbours stay, and a folder that held nothing else stays a folder', async () => {
  await using w = await workspace(
    { 'keys/deep/one.key': secret, 'keys/two.key': `${secret}2`, 'keys.txt': 'no secret\n', 'd/s': secret },
    quick,
  )
  await w.turn('more', { 'd/x.txt': 'x\n', 'keys/three.key': `${secret}3` })
  await w.workspace.purge(['keys', 'd/s'] as RelPath[])
  expect(allBytes(w)).not.toContain(secret)
  expect(snapshotsWith(w, 'keys.txt')).toBeGreaterThan(0)
  w.userWrites({ 'd/s': null })
  await w.undo()
  expect(w.files()).toEqual({
    'keys/deep/one.key': secret,
    'keys/two.key': `${secret}2`,
    'keys/three.key': `${secret}3`,
    'keys.txt': 'no secret\n',
    d: '/',
  })
})

test('[H195] bytes that another path has stay, and the path is named', async () => {
  await using w = await workspace({ 'secret.txt': 'shared bytes\n', 'public.txt': 'shared bytes\n' }, quick)
  await w.turn('edit', { 'secret.txt': `${secret}\n` })
  const { versions, proof } = await w.workspace.purge([path])
  expect([versions, [...proof.stay.values()]]).toEqual([2, ['public.txt']])
  expect(allBytes(w)).not.toContain(secret)
  expect(allBytes(w)).toContain('shared bytes')
})

test('[H193] a rename away from the purged path becomes a new file; a path that never was purges nothing', async () => {
  await using w = await workspace({ 'secret.txt': `${'line\n'.repeat(20)}${secret}\n` }, quick)
  const { turn } = await w.turn('rename', () => {
    const text = readFileSync(w.pathOf('secret.txt'), 'utf8')
    w.userWrites({ 'secret.txt': null, 'other.txt': text })
  })
  expect(w.workspace.index.changesOfTurn(turn)).toMatchObject([{ kind: 'rename', from: 'secret.txt' }])
  const { proof } = await w.workspace.purge([path])
  expect([...proof.stay.values()]).toEqual(['other.txt'])
  expect(w.workspace.index.changesOfTurn(turn)).toMatchObject([{ kind: 'add', path: 'other.txt' }])
  expect((await w.workspace.purge(['nowhere/at/all'] as RelPath[])).operations).toBe(0)
  expect(await w.workspace.doctor()).toEqual([])
})

test('[H197] [O6] a secret in the user’s own commits is not left in a borrowed pack', async () => {
  const w = await workspace({ 'secret.txt': `${secret}\n`, 'a.txt': 'a\n' }, { ...quick, git: true })
  await using _ = w
  await w.close()
  rmSync(join(w.base, 'store'), { recursive: true })
  w.git('add', '.')
  w.git('commit', '-qm', 'with a secret')
  w.git('repack', '-adq')
  // Git trusts nothing as young as its index, and neither do we.
  await new Promise((resolve) => setTimeout(resolve, 1100))
  w.git('update-index', '--refresh', '-q')
  w.git('commit', '-q', '--allow-empty', '-m', 'later')
  execFileSync('touch', [join(w.dir, '.git/index')])
  await w.open()
  await w.workspace.capture()
  expect(w.workspace.engine.objects.packs().filter(({ borrowed }) => borrowed)).toHaveLength(1)
  expect(allBytes(w)).toContain(secret)
  const head = w.git('rev-parse', 'HEAD')

  await w.workspace.purge([path])

  expect(allBytes(w)).not.toContain(secret)
  expect(w.workspace.engine.objects.packs().filter(({ borrowed }) => borrowed)).toEqual([])
  expect(await w.workspace.doctor()).toEqual([])
  expect(w.git('show', `${head}:secret.txt`)).toBe(secret)
})

test('[H198] still on disk, it is captured again as the user’s own, also with a step in flight', async () => {
  await using w = await leaky()
  const turn = await w.beginTurn('running', { pid: process.pid })
  const { step } = await w.workspace.beginStep({ turn, tool: 'shell', paths: [] })
  await w.workspace.purge([path])
  w.userWrites({ 'agent.txt': 'by the agent\n' })
  expect((await w.workspace.endStep(step)).map((change) => change.path)).toEqual(['agent.txt'])
  await w.workspace.endTurn(turn)
  const mine = w.workspace.index.findChanges({ paths: [path], everybody: true })
  expect(mine).toMatchObject([{ actor: 'user', kind: 'add' }])
  await w.undo()
  expect(w.files()['secret.txt']).toBe(`${secret} 2\n`)
})

test('[H198] [S102] a process that knew the file before the purge captures it again, bytes and all', async () => {
  await using w = await leaky()
  // Old enough to be trusted without reading it again.
  await new Promise((resolve) => setTimeout(resolve, 1_200))
  await w.workspace.capture()
  const { openWorkspace } = await import('../workspace.ts')
  await using other = await openWorkspace(w.dir, { explicit: true, env: w.env })
  await other.purge([path])
  expect((await w.workspace.capture()).changes).toMatchObject([{ path: 'secret.txt', kind: 'add' }])
  expect(await w.workspace.doctor()).toEqual([])
  expect(allBytes(w)).toContain(`${secret} 2`)
})

test('[H196] [H187] an index from before a purge, or a drop, is brought up to the history', async () => {
  await using w = await leaky()
  await w.inSession('agent-3').turn('last', { 'c.txt': 'c\n' })
  const { folder } = w.workspace.engine.folders
  const index = join(folder, 'index.db')
  const before: Record<string, () => Promise<unknown>> = {
    purge: () => w.workspace.purge([path]),
    gc: () => w.workspace.gc({ keepSessions: 1 }),
  }
  for (const change of Object.values(before)) {
    await w.close()
    const old = readFileSync(index)
    await w.open()
    await change()
    await w.close()
    for (const end of ['-wal', '-shm']) rmSync(`${index}${end}`, { force: true })
    writeFileSync(index, old)
    await w.open()
    const findings = await w.workspace.doctor()
    expect(findings.filter(({ what }) => !what.includes('no longer named in the store'))).toEqual([])
    await w.workspace.doctor({ repair: true })
    expect(await w.workspace.doctor()).toEqual([])
  }
  expect(w.workspace.index.sessions().map(({ id }) => id)).toEqual(['agent-3'])
  await w.undo()
  expect(w.files()).not.toHaveProperty('c.txt')
})

test('[H196] [O6] killed anywhere and repeated, the result is the same', async () => {
  await using rehearsal = await leaky()
  await rehearsal.close()
  const counting = faultFs(nodeFs, Number.POSITIVE_INFINITY, 'kill')
  await (await rehearsal.open({ fs: counting })).purge([path])
  const calls = counting.calls
  expect(calls).toBeGreaterThan(100)
  const cuts = process.env.UNTURN_SOAK === undefined ? 5 : 60
  for (let cut = 1; cut <= cuts; cut += 1) {
    await using w = await leaky()
    await w.close()
    const fs = faultFs(nodeFs, Math.round((calls * (cut - 0.5)) / cuts), 'kill')
    await expect(killed(w, fs)).resolves.toBe(true)
    fs.lifted = true
    await w.reopen()
    const findings = await w.workspace.doctor()
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
    await w.workspace.purge([path])
    expect(allBytes(w)).not.toContain(secret)
    expect(snapshotsWith(w, 'secret.txt')).toBe(0)
    expect(await w.workspace.doctor()).toEqual([])
    await w.undo()
    expect(w.files()).toMatchObject({ 'secret.txt': `${secret} 2\n`, 'a.txt': 'one\n' })
  }
})

async function killed(w: Fixture, fs: ReturnType<typeof faultFs>): Promise<boolean> {
  try {
    await (await w.open({ fs })).purge([path])
  } catch (error) {
    if (!(error instanceof Killed) && !(error instanceof UnturnError)) throw error
  }
  return fs.fired
}
