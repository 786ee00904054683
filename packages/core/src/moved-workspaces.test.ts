import { mkdirSync, renameSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isFailure } from './errors.ts'
import type { Fs } from './fs.ts'
import { knownWorkspaces } from './known-workspaces.ts'
import { adoptHistory, lostWorkspaces } from './moved-workspaces.ts'
import { Fixture } from './testing/workspace.ts'
import { bytesPath } from './workspace/locate.ts'
import { nodeFs } from './workspace/node-fs.ts'
import { openWorkspace } from './workspace.ts'

/** A folder with a history of one turn, and the place that it was moved to. */
async function moved(w: Fixture): Promise<{ readonly from: string; readonly to: string }> {
  await w.open()
  w.userWrites({ 'a.txt': 'old\n' })
  await w.turn('Edit', { 'a.txt': 'new\n' })
  await w.close()
  renameSync(w.dir, `${w.dir}-moved`)
  return { from: w.dir, to: `${w.dir}-moved` }
}

async function undoneIn(folder: string, w: Fixture): Promise<readonly string[]> {
  await using workspace = await openWorkspace(folder, { explicit: true, env: w.env })
  return (await workspace.undo({ session: w.session })).files.map(({ path }) => path)
}

test('[L125] the history of a folder that was moved is that of the new place, and goes on there', async () => {
  await using w = new Fixture()
  const { from, to } = await moved(w)
  expect(lostWorkspaces(w.env).map(({ root }) => root)).toEqual([from])

  await adoptHistory(bytesPath(to), bytesPath(from), w.env)

  expect(lostWorkspaces(w.env)).toEqual([])
  expect(knownWorkspaces(w.env).map(({ root }) => root)).toEqual([to])
  expect(await undoneIn(to, w)).toEqual(['a.txt'])
  renameSync(to, from) // for the fixture to remove
})

test('[L125] taking a history over can be cut off at every call, and done again', async () => {
  for (const call of ['rename', 'syncFolder', 'createFile', 'syncFile'] as const) {
    await using w = new Fixture()
    const { from, to } = await moved(w)
    const failing: Fs = {
      ...nodeFs,
      [call]: () => {
        throw Object.assign(new Error('cut off'), { code: 'EIO' })
      },
    }
    await expect(adoptHistory(bytesPath(to), bytesPath(from), w.env, failing)).rejects.toThrow('cut off')
    await adoptHistory(bytesPath(to), bytesPath(from), w.env)
    expect([call, await undoneIn(to, w)]).toEqual([call, ['a.txt']])
    renameSync(to, from)
  }
})

test('[L125] a history is not taken from a folder that is there, nor given to one that has its own', async () => {
  await using w = new Fixture()
  const { from, to } = await moved(w)
  const adopt = (root: string, old: string) => adoptHistory(bytesPath(root), bytesPath(old), w.env)
  const isRefused = (error: unknown) => isFailure(error, 'workspace-refused')

  expect(await adopt(to, `${from}-never-there`).catch(isRefused)).toBe(true)
  mkdirSync(from)
  expect(await adopt(to, from).catch(isRefused)).toBe(true)
  renameSync(from, `${from}-empty`)
  await (await openWorkspace(to, { explicit: true, env: w.env }))[Symbol.asyncDispose]()
  expect(await adopt(to, from).catch(isRefused)).toBe(true)
  renameSync(to, from)
})
