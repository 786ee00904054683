/** A store that lost something, file by file: a clear error or a correct answer, and never a change of the user's files. */

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Project, type Ran } from './support.ts'

const atFirst = { 'a.txt': 'one\ntwo\nthree\n', 'b.txt': 'b\n', 'c.txt': 'soon gone\n' }
const oldFiles = { 'a.txt': 'one\ntwo\nthree\n', 'b.txt': 'b\n', 'c.txt': 'soon gone\n' }
const newFiles = { 'a.txt': 'one\nTWO\nthree\n', 'b.txt': 'bb\n', 'new.txt': 'new\n' }

/** A project with two turns, the second one in another session, and its store kept aside to be damaged again and again. */
class Kept implements Disposable {
  readonly project = new Project(atFirst)
  readonly copy = mkdtempSync(join(tmpdir(), 'unturn-kept-'))
  readonly turn: string
  readonly files: readonly string[]

  constructor() {
    this.turn = this.project.turn({ 'a.txt': 'one\nTWO\nthree\n', 'c.txt': null, 'new.txt': 'new\n' })
    this.project.turn({ 'b.txt': 'bb\n' }, { session: 's2' })
    execFileSync('cp', ['-a', `${this.project.base}/.`, this.copy])
    this.files = filesBelow(this.project.store, '')
  }

  putBack(): void {
    for (const name of ['store', 'project'])
      rmSync(join(this.project.base, name), { recursive: true, force: true })
    for (const name of ['store', 'project'])
      execFileSync('cp', ['-a', join(this.copy, name), this.project.base])
  }

  [Symbol.dispose](): void {
    this.project[Symbol.dispose]()
    rmSync(this.copy, { recursive: true, force: true })
  }
}

function filesBelow(folder: string, at: string): readonly string[] {
  return readdirSync(join(folder, at), { withFileTypes: true }).flatMap((entry) => {
    const path = join(at, entry.name)
    return entry.isDirectory() ? filesBelow(folder, path) : [path]
  })
}

let kept: Kept
beforeAll(() => {
  kept = new Kept()
})
afterAll(() => kept[Symbol.dispose]())

/** Exit codes and words as the contract has them, whatever happened. */
function expectCalm(ran: Ran, what: string): void {
  expect(ran.signal, what).toBeNull()
  expect([0, 1, 3], `${what}: ${ran.stdout}${ran.stderr}`).toContain(ran.code)
  expect(`${ran.stdout}${ran.stderr}`, what).not.toMatch(/\n\s+at .*\(?.*:\d+:\d+\)?/)
  if (ran.code === 0 || ran.stdout.startsWith('{"ok":')) return
  const { error } = ran.json
  expect(error.code, `${what}: ${error.message}`).not.toBe('internal')
  expect(error.message, what).toMatch(/\.$/)
  expect(error.hint, what).not.toBe('')
}

/** Every path is as it was, or exactly as the undo of the session makes it: no other bytes, nothing gone. */
function expectOldOrNew(project: Project, ran: Ran, what: string): void {
  const undone = { 'a.txt': 'one\ntwo\nthree\n', 'b.txt': 'bb\n', 'c.txt': 'soon gone\n' }
  expect(project.files(), what).toEqual(ran.code === 0 ? undone : newFiles)
}

type Harm = 'flip' | 'cut' | 'delete'

function harm(path: string, how: Harm, salt: number): void {
  chmodSync(path, 0o600)
  if (how === 'delete') return unlinkSync(path)
  const { size } = statSync(path)
  if (how === 'cut') return truncateSync(path, size >> 1)
  const bytes = readFileSync(path)
  const at = (salt * 7919) % Math.max(1, size)
  bytes[at] = (bytes[at] ?? 0) ^ (1 << (salt & 7))
  writeFileSync(path, bytes)
}

const soak = process.env.UNTURN_SOAK !== undefined

describe('every file of the store', () => {
  test.each(['flip', 'cut', 'delete'] as const)(
    '[L60] [K7] [K8] [K9] [N7] %s: undo, status, log, doctor give a clear error or a correct answer, and no file of the user is harmed',
    (how) => {
      const wanted = kept.files.filter(
        (name) => statSync(join(kept.copy, 'store', storeName(), name)).size > 0,
      )
      for (const [at, name] of wanted.entries()) {
        if (!soak && at % 3 !== ['flip', 'cut', 'delete'].indexOf(how)) continue
        const what = `${how} ${name}`
        kept.putBack()
        harm(join(kept.project.store, name), how, at + 1)
        const status = kept.project.unturn(['status', '--json'])
        expectCalm(status, `${what}: status`)
        const undone = kept.project.unturn(['undo', '--session', 's1', '--json'])
        expectCalm(undone, `${what}: undo`)
        expectOldOrNew(kept.project, undone, what)
        const doctor = kept.project.unturn(['doctor', '--json'])
        expectCalm(doctor, `${what}: doctor`)
        if (undone.code === 1 && existsSync(kept.project.base))
          expect(doctor.code, `${what}: doctor finds what stops undo`).toBe(1)
        expectCalm(kept.project.unturn(['log', '--all', '--json']), `${what}: log`)
        expectCalm(kept.project.unturn(['redo', '--session', 's1', '--json']), `${what}: redo`)
      }
    },
    soak ? 3_600_000 : 60_000,
  )

  function storeName(): string {
    return readdirSync(join(kept.project.base, 'store', 'workspaces'))[0] === undefined
      ? ''
      : `workspaces/${readdirSync(join(kept.project.base, 'store', 'workspaces'))[0]}`
  }
})

/** What a program sees of the history: sessions, heads, turns, changes. */
function history(project: Project): unknown {
  const { sessions, operations } = project.ask('status')
  return {
    sessions,
    operations,
    turns: project.ask('log', '--all'),
    changes: project.ask('log', '--all', '--changes'),
  }
}

describe('the query index', () => {
  const harms: readonly (readonly [string, (path: string) => void])[] = [
    ['deleted', (path) => unlinkSync(path)],
    ['emptied', (path) => truncateSync(path, 0)],
    ['cut in half', (path) => truncateSync(path, statSync(path).size >> 1)],
    ['noise', (path) => writeFileSync(path, noise(statSync(path).size))],
    ['noise in its header page', (path) => overwrite(path, 100, noise(3900))],
    ['noise in a page in the middle', (path) => overwrite(path, 4096 * 3, noise(4096))],
    ['noise in every page but the first', (path) => overwrite(path, 4096, noise(statSync(path).size - 4096))],
  ]

  test.each(harms)('[L61] [K6] %s: everything is as before, at once or after doctor --repair', (_, spoil) => {
    kept.putBack()
    const before = history(kept.project)
    kept.putBack()
    spoil(join(kept.project.store, 'index.db'))
    for (const name of ['index.db-wal', 'index.db-shm'])
      rmSync(join(kept.project.store, name), { force: true })
    expectCalm(kept.project.unturn(['log', '--all', '--json']), 'log')
    const repaired = kept.project.unturn(['doctor', '--repair', '--json'])
    expect(repaired.code, repaired.stdout + repaired.stderr).toBe(0)
    expect(history(kept.project)).toEqual(before)
    expect(kept.project.ask('doctor')).toMatchObject({ ok: true, findings: [] })
    kept.project.ask('undo', '--session', 's1')
    expect(kept.project.files()).toEqual({ ...oldFiles, 'b.txt': 'bb\n' })
  })

  test('[L61] [K6] one that is older than the log, as after a crash between the two, is brought up to it', () => {
    kept.putBack()
    const older = readFileSync(join(kept.project.store, 'index.db'))
    kept.project.turn({ 'd.txt': 'd\n' })
    const before = history(kept.project)
    for (const name of ['index.db-wal', 'index.db-shm'])
      rmSync(join(kept.project.store, name), { force: true })
    writeFileSync(join(kept.project.store, 'index.db'), older)
    expect(history(kept.project)).toEqual(before)
    kept.project.ask('undo', '--session', 's1')
    expect(kept.project.files()).toEqual(newFiles)
  })

  test('[L61] [K6] one that is newer than the log is made anew from it', () => {
    kept.putBack()
    const before = history(kept.project)
    const refs = join(kept.project.store, 'objects.git/refs')
    const aside = mkdtempSync(join(tmpdir(), 'unturn-refs-'))
    cpSync(refs, aside, { recursive: true })
    kept.project.turn({ 'd.txt': 'd\n' })
    rmSync(refs, { recursive: true })
    cpSync(aside, refs, { recursive: true })
    rmSync(aside, { recursive: true })
    expect(history(kept.project)).toEqual(before)
    expect(kept.project.ask('doctor').ok).toBe(true)
  })

  test('[L62] [K6] values that somebody changed in it are found by doctor and mended by --repair', () => {
    kept.putBack()
    const before = history(kept.project)
    execFileSync(
      process.execPath,
      [
        '-e',
        `const { DatabaseSync } = require('node:sqlite'); new DatabaseSync(process.argv[1]).exec("update sessions set head_turn = null")`,
        join(kept.project.store, 'index.db'),
      ],
      { stdio: 'ignore' },
    )
    const found = kept.project.unturn(['doctor', '--json'])
    expect(found.code).toBe(1)
    expect(found.json.findings).toMatchObject([{ severity: 'error', what: expect.stringContaining('index') }])
    expect(kept.project.unturn(['doctor', '--repair', '--json']).code).toBe(0)
    expect(history(kept.project)).toEqual(before)
  })
})

function noise(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let at = 0, state = 12345; at < length; at += 1) {
    state = (state * 1103515245 + 12345) & 0x7fffffff
    bytes[at] = state >> 16
  }
  return bytes
}

function overwrite(path: string, at: number, bytes: Buffer): void {
  const all = readFileSync(path)
  bytes.copy(all, at)
  writeFileSync(path, all)
}

/** Takes an object out of its pack: the packs are unpacked, and the one loose object goes. */
function loseObject(project: Project, id: string): void {
  explode(project)
  unlinkSync(loosePath(project, id))
}

function explode(project: Project): void {
  const packs = join(project.store, 'objects.git/objects/pack')
  const aside = join(project.base, 'packs')
  renameSync(packs, aside)
  execFileSync('mkdir', ['-m', '700', packs])
  for (const name of readdirSync(aside).filter((one) => one.endsWith('.pack')))
    project.storeGit(['unpack-objects', '-q'], readFileSync(join(aside, name)))
  rmSync(aside, { recursive: true })
}

function loosePath(project: Project, id: string): string {
  return join(project.store, 'objects.git/objects', id.slice(0, 2), id.slice(2))
}

function opOf(project: Project, kind: string, session = 's1'): string {
  const { operations } = project.ask('log', '--ops', '--all')
  const found = operations.find(
    (one: { kind: string; session?: string }) => one.kind === kind && one.session === session,
  )
  return found.commit
}

describe('objects', () => {
  test('[L63] [K7] [N10] a blob with one flipped bit: undo names it and changes nothing, doctor finds it, what does not need it still works', () => {
    kept.putBack()
    const { project } = kept
    const blob = project.storeGit(['rev-parse', `${opOf(project, 'step')}:before/c.txt`])
    explode(project)
    harm(loosePath(project, blob), 'flip', 20)
    const undone = project.unturn(['undo', '--session', 's1', '--json'])
    expect(undone.code).toBe(1)
    expect(project.unturn(['undo', '--session', 's1', '--dry-run', '--json']).json).toEqual(undone.json)
    expect(undone.json.error.message).toContain('c.txt')
    expect(undone.json.error.data.path).toBe('c.txt')
    expect(project.files()).toEqual(newFiles)
    const doctor = project.unturn(['doctor', '--json'])
    expect(doctor.code).toBe(1)
    expect(JSON.stringify(doctor.json.findings)).toContain('damaged')
    for (const args of [
      ['show', kept.turn],
      ['diff', kept.turn],
    ]) {
      const shown = project.unturn([...args, '--json'])
      expect([args, shown.code, shown.stdout]).toEqual([args, 1, expect.stringContaining('"error"')])
      expectCalm(shown, args.join(' '))
    }
    expect(project.unturn(['rollback', '--turn', kept.turn, '--file', 'a.txt', '--json']).code).toBe(0)
    expect(project.files()).toEqual({ ...newFiles, 'a.txt': 'one\ntwo\nthree\n' })
    expect(project.unturn(['undo', '--session', 's2', '--json']).code).toBe(0)
    expect(project.read('b.txt')).toBe('b\n')
  })

  test.each(['before', 'after'])(
    '[L64] [K8] the tree "%s" of a step is missing: undo is an error, never "the file did not exist"',
    (side) => {
      kept.putBack()
      const { project } = kept
      loseObject(project, project.storeGit(['rev-parse', `${opOf(project, 'step')}:${side}`]))
      const undone = project.unturn(['undo', '--session', 's1', '--json'])
      expect(undone.code).toBe(1)
      expectCalm(undone, 'undo')
      expect(project.files()).toEqual(newFiles)
      expect(project.unturn(['doctor', '--json']).code).toBe(1)
    },
  )

  test('[L64] [K8] [M14] the commit of an operation is missing and the index, too: that session is an error, others go on', () => {
    kept.putBack()
    const { project } = kept
    const commit = opOf(project, 'step')
    loseObject(project, commit)
    rmSync(join(project.store, 'index.db'))
    const undone = project.unturn(['undo', '--session', 's1', '--json'])
    expect(undone.code).toBe(1)
    expectCalm(undone, 'undo')
    expect(project.files()).toEqual(newFiles)
    const doctor = project.unturn(['doctor', '--json'])
    expect(doctor.code).toBe(1)
    expect(project.unturn(['undo', '--session', 's2', '--json']).code).toBe(0)
    expect(project.files()).toEqual({ ...newFiles, 'b.txt': 'b\n' })
    project.turn({ 'more.txt': 'm\n' }, { session: 's3' })
    project.ask('undo', '--session', 's3')
    const status = project.unturn(['status'])
    expect([status.code, status.stderr]).toEqual([0, expect.stringContaining('history')])
  })
})

describe('refs and the whole store', () => {
  test('[L65] [K9] the ref of a session is gone: undo there is an error, others go on, and doctor --repair writes it again', () => {
    kept.putBack()
    const { project } = kept
    unlinkSync(join(project.store, 'objects.git/refs/unturn/sessions/s1'))
    const undone = project.unturn(['undo', '--session', 's1', '--json'])
    expect(undone.code).toBe(1)
    expectCalm(undone, 'undo')
    expect(project.files()).toEqual(newFiles)
    expect(project.unturn(['turn', 'begin', '--session', 's1', '--json']).code).toBe(1)
    expect(project.unturn(['doctor', '--json']).code).toBe(1)
    project.ask('undo', '--session', 's2')
    project.ask('redo', '--session', 's2')
    expect(project.unturn(['doctor', '--repair', '--json']).code).toBe(0)
    project.ask('undo', '--session', 's1')
    expect(project.files()).toEqual({ ...oldFiles, 'b.txt': 'bb\n' })
  })

  test.each(['', 'noise\n', `${'0'.repeat(39)}\n`])(
    '[L65] [K9] a ref that holds %j is an error for its session, and mended by doctor --repair',
    (text) => {
      kept.putBack()
      const { project } = kept
      writeFileSync(join(project.store, 'objects.git/refs/unturn/sessions/s1'), text)
      const undone = project.unturn(['undo', '--session', 's1', '--json'])
      expect(undone.code).toBe(1)
      expectCalm(undone, 'undo')
      expect(project.files()).toEqual(newFiles)
      expect(project.unturn(['doctor', '--json']).code).toBe(1)
      expect(project.unturn(['doctor', '--repair', '--json']).code).toBe(0)
      project.ask('undo', '--session', 's1')
    },
  )

  test('[L65] [K9] ref and index are gone: no empty history that is reported as fine', () => {
    kept.putBack()
    const { project } = kept
    unlinkSync(join(project.store, 'objects.git/refs/unturn/sessions/s1'))
    unlinkSync(join(project.store, 'index.db'))
    expect([1, 3]).toContain(project.unturn(['undo', '--session', 's1', '--json']).code)
    expect(project.files()).toEqual(newFiles)
    expect(project.ask('doctor').findings).toMatchObject([
      { severity: 'warning', what: expect.stringContaining('no session') },
    ])
  })

  test('[L66] [K9] the whole store is gone: nothing to undo, and every file as it was', () => {
    kept.putBack()
    const { project } = kept
    rmSync(join(project.base, 'store'), { recursive: true })
    expect(project.unturn(['undo', '--session', 's1', '--json']).code).toBe(3)
    expect(project.unturn(['redo', '--json']).code).toBe(3)
    expect(project.unturn(['rollback', '--turn', kept.turn, '--json']).code).toBe(3)
    expect(project.files()).toEqual(newFiles)
  })

  test('[L66] [K9] only workspace.json is gone: the history is still there', () => {
    kept.putBack()
    const { project } = kept
    const before = history(project)
    unlinkSync(join(project.store, 'workspace.json'))
    expect(history(project)).toEqual(before)
    project.ask('undo', '--session', 's1')
  })
})
