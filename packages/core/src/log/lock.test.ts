import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { isFailure } from '../errors.ts'
import type { Fs } from '../fs.ts'
import { absPathUnchecked } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'
import { StoreLock } from './lock.ts'

function place() {
  const folder = mkdtempSync(join(tmpdir(), 'unturn-lock-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = absPathUnchecked(join(folder, 'holder'))
  const lockOf = (fs: Fs = nodeFs) => {
    const lock = new StoreLock(absPathUnchecked(join(folder, 'lock.db')), { holder: { fs, path } })
    onTestFinished(() => lock[Symbol.dispose]())
    return lock
  }
  return { path, lockOf }
}

const wasAlone = (lock: StoreLock) => lock.exclusive(async () => lock.wasAlone)

test('[L122] one is alone from the second time on, until somebody else has held the lock', async () => {
  const { lockOf } = place()
  const [one, two] = [lockOf(), lockOf()]
  expect(await wasAlone(one)).toBe(false)
  expect(await wasAlone(one)).toBe(true)
  expect(await wasAlone(two)).toBe(false)
  expect(await wasAlone(one)).toBe(false)
  expect(await wasAlone(one)).toBe(true)
})

test('[L122] work that failed, and a name that somebody removed, change nothing about it', async () => {
  const { path, lockOf } = place()
  const lock = lockOf()
  await expect(lock.exclusive(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  expect(await wasAlone(lock)).toBe(true)
  rmSync(path)
  expect(await wasAlone(lock)).toBe(false)
  expect(await wasAlone(lock)).toBe(true)
})

test('[L123] who cannot leave his name takes the old one away, and is refused the lock where he cannot do that', async () => {
  const { path, lockOf } = place()
  const full = () => {
    throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' })
  }
  const one = lockOf()
  const withoutRoom = lockOf({ ...nodeFs, overwrite: full, createFile: full })
  const stuck = lockOf({ ...nodeFs, overwrite: full, createFile: full, unlink: full })
  expect(await wasAlone(one)).toBe(false)
  const refused = await wasAlone(stuck).catch((error: unknown) => error)
  expect(isFailure(refused, 'store-unwritable')).toBe(true)
  expect(await wasAlone(one)).toBe(true) // nobody else held it
  expect(await wasAlone(withoutRoom)).toBe(false)
  expect(() => readFileSync(path)).toThrow('ENOENT')
  expect(await wasAlone(one)).toBe(false)
})
