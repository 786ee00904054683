import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isFailure } from '../errors.ts'
import { bytesPath, locate, refuseTooWide, storeFolder, storeHome } from './locate.ts'
import { nodeFs } from './node-fs.ts'

let base: string
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'unturn-')))
  mkdirSync(join(base, 'repo/.git'), { recursive: true })
  mkdirSync(join(base, 'repo/sub/deep'), { recursive: true })
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

function home() {
  return bytesPath(join(base, 'store'))
}

function rootOf(folder: string, explicit = false): string {
  return locate(nodeFs, bytesPath(join(base, folder)), home(), explicit).root.slice(base.length + 1)
}

function makeStore(folder: string, file: string): void {
  const store = storeFolder(home(), bytesPath(join(base, folder)))
  mkdirSync(join(store, file, '..'), { recursive: true })
  writeFileSync(join(store, file), '{}')
}

test('[L40] the nearest folder with a history or a .git is the workspace', () => {
  expect(rootOf('repo/sub/deep')).toBe('repo')
  expect(rootOf('repo/sub/deep', true)).toBe('repo/sub/deep')
  makeStore('repo/sub', 'workspace.json')
  expect(rootOf('repo/sub/deep')).toBe('repo/sub')
  expect(rootOf('repo/sub/deep', true)).toBe('repo/sub')
})

test('[L66] [K9] a history without workspace.json is a history', () => {
  makeStore('repo/sub', 'objects.git/refs/unturn')
  expect(locate(nodeFs, bytesPath(join(base, 'repo/sub')), home(), true)).toMatchObject({ known: true })
})

test('[L40] reached through a link, it is the same workspace', () => {
  symlinkSync(join(base, 'repo'), join(base, 'link'))
  expect(rootOf('link/sub')).toBe('repo')
})

test('[L46] what is not there, or is no folder, is refused', () => {
  writeFileSync(join(base, 'repo/file'), '')
  for (const folder of ['nowhere', 'repo/file']) {
    const failure = thrownBy(() => rootOf(folder))
    expect(isFailure(failure, 'not-a-workspace')).toBe(true)
  }
})

test('[L45] the home folder, what holds it, and the root are refused; a project in it is not', () => {
  const env = { HOME: join(base, 'repo') }
  for (const folder of [join(base, 'repo'), base, '/'])
    expect(
      isFailure(
        thrownBy(() => refuseTooWide(bytesPath(folder), env)),
        'workspace-refused',
      ),
    ).toBe(true)
  refuseTooWide(bytesPath(join(base, 'repo/sub')), env)
})

test('[L40] the store is where UNTURN_HOME says, else in the folder for data', () => {
  expect(storeHome({ UNTURN_HOME: '/x/y', HOME: '/h' })).toBe('/x/y')
  expect(storeHome({ UNTURN_HOME: '', HOME: '/h', XDG_DATA_HOME: 'relative' })).toContain('/h/')
})

function thrownBy(work: () => unknown): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}
