/** What apply relies on in the port over the real disk. */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { errorCode } from '../fs.ts'
import { type AbsPath, absPathUnchecked, joinAbs } from '../values.ts'
import { nodeFs } from './node-fs.ts'

let temp: AbsPath

beforeEach(() => {
  temp = absPathUnchecked(mkdtempSync(join(tmpdir(), 'unturn-fs-')))
})

afterEach(() => {
  rmSync(temp, { recursive: true, force: true })
})

function codeOf(work: () => unknown): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return errorCode(error)
  }
}

function write(name: string, text: string, perm = 0o644): AbsPath {
  const path = joinAbs(temp, name)
  nodeFs.createFile(path, [Buffer.from(text)], perm)
  return path
}

test('[W55] names are bytes, also where they are not UTF-8', () => {
  const path = write('caf\xe9 \xff\n', 'x')
  expect(nodeFs.readFolder(temp)).toEqual(['caf\xe9 \xff\n'])
  nodeFs.createLink(joinAbs(temp, 'l'), 'to\xfe')
  expect(nodeFs.readLink(joinAbs(temp, 'l'))).toBe('to\xfe')
  expect(nodeFs.lstat(path)).toMatchObject({ kind: 'file', size: 1 })
  expect(nodeFs.lstat(joinAbs(path, 'below'))).toBeUndefined()
})

test.each([0o000, 0o200, 0o444, 0o600, 0o777])(
  '[W55] a new file has exactly mode %o, whatever the umask',
  (perm) => {
    const umask = process.umask(0o077)
    try {
      const path = write('f', 'text', perm)
      nodeFs.createFolder(joinAbs(temp, 'd'), perm)
      expect([nodeFs.lstat(path)?.perm, nodeFs.lstat(joinAbs(temp, 'd'))?.perm]).toEqual([perm, perm])
    } finally {
      process.umask(umask)
    }
  },
)

test('[W55] a new file is never readable by more than its mode on the way', () => {
  const path = joinAbs(temp, 'secret')
  const seen: number[] = []
  const chunks = function* () {
    yield Buffer.from('one')
    seen.push(statSync(path).mode & 0o777)
    yield Buffer.from('two')
  }
  nodeFs.createFile(path, chunks(), 0o440)
  expect(seen).toEqual([0o400])
  expect(nodeFs.readFile(path).toString()).toBe('onetwo')
})

test('[W55] a file that could not be written whole is not there', () => {
  const path = joinAbs(temp, 'half')
  const chunks = function* () {
    yield Buffer.from('one')
    throw new Error('no more')
  }
  expect(() => nodeFs.createFile(path, chunks(), 0o644)).toThrow(/no more/)
  expect(nodeFs.lstat(path)).toBeUndefined()
})

test('[W55] nothing is created over something, and no link is followed', () => {
  const file = write('f', 'theirs')
  const link = joinAbs(temp, 'l')
  nodeFs.createLink(link, 'f')
  expect(codeOf(() => nodeFs.createFile(file, [], 0o644))).toBe('EEXIST')
  expect(codeOf(() => nodeFs.createFile(link, [], 0o644))).toBe('EEXIST')
  expect(codeOf(() => nodeFs.createLink(file, 'x'))).toBe('EEXIST')
  expect(codeOf(() => nodeFs.hardLink(file, link))).toBe('EEXIST')
  expect(codeOf(() => nodeFs.createFolder(link, 0o755))).toBe('EEXIST')
  expect(codeOf(() => nodeFs.readFile(link))).toBe('ELOOP')
  expect(codeOf(() => nodeFs.chmod(link, 0o777))).toBe('ELOOP')
  expect(nodeFs.lstat(file)?.perm).toBe(0o644)
})

test('[W55] a named pipe in the place of a file does not hang', () => {
  const pipe = joinAbs(temp, 'pipe')
  execFileSync('mkfifo', [pipe])
  expect(nodeFs.lstat(pipe)?.kind).toBe('special')
  expect(() => nodeFs.readPart(pipe, 0, 10)).not.toThrow(/timeout/)
})

test('[W55] parts of a file, syncs and modes of files and folders', () => {
  const file = write('f', '0123456789', 0o400)
  expect(nodeFs.readPart(file, 7, 10).toString()).toBe('789')
  nodeFs.syncFile(file)
  nodeFs.syncFolder(temp)
  nodeFs.chmod(file, 0o604)
  nodeFs.chmod(temp, 0o750)
  expect([nodeFs.lstat(file)?.perm, nodeFs.lstat(temp)?.perm]).toEqual([0o604, 0o750])
  expect(nodeFs.freeBytes(temp)).toBeGreaterThan(0)
})

test('[W56] two folders of one volume are told from those of two, and nothing is changed by asking', () => {
  const folder = joinAbs(temp, 'd')
  nodeFs.createFolder(folder, 0o755)
  const then = nodeFs.lstat(folder)
  expect(nodeFs.sameVolume(temp, folder)).toBe(true)
  expect(nodeFs.lstat(folder)).toEqual(then)
  const other = absPathUnchecked('/proc')
  if (existsSync(other)) expect(nodeFs.sameVolume(temp, other)).toBe(false)
})

test('[W56] two mounts of one disk count as two volumes', (context) => {
  const [one, other] = ['one', 'other'].map((name) => joinAbs(temp, name))
  if (one === undefined || other === undefined) return
  nodeFs.createFolder(one, 0o755)
  nodeFs.createFolder(other, 0o755)
  try {
    execFileSync('mount', ['--bind', one, other], { stdio: 'ignore' })
  } catch {
    context.skip('this machine does not let tests mount')
  }
  try {
    expect(nodeFs.lstat(one)?.dev).toBe(nodeFs.lstat(other)?.dev)
    expect(nodeFs.sameVolume(one, other)).toBe(false)
  } finally {
    execFileSync('umount', [other])
  }
})
