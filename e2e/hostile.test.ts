/** Crafted stores, odd names, absurd arguments, folders that cannot be used: refused in plain words, and nothing harmed. */

import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { command, type Json, node, Project, type Ran } from './support.ts'

const killAt = fileURLToPath(new URL('kill-at.ts', import.meta.url))
const soak = process.env.UNTURN_SOAK !== undefined
const isRoot = process.getuid?.() === 0
const nobody = 65534

/** A failure as the contract has it: a code that is not "internal", what happened, what to do next; and no stack. */
function expectFailure(ran: Ran, code: number): Json {
  expect(ran.code, ran.stdout + ran.stderr).toBe(code)
  expect(`${ran.stdout}${ran.stderr}`).not.toMatch(/\n\s+at .*:\d+:\d+/)
  const { error } = ran.json
  expect(error, JSON.stringify(error)).toMatchObject({
    code: expect.any(String),
    message: expect.stringMatching(/\.$/),
  })
  expect(error.code).not.toBe('internal')
  expect(error.hint).not.toBe('')
  expect(error.data).toBeTypeOf('object')
  return error
}

// ---- crafted stores ------------------------------------------------------------------------------------------------

interface Entry {
  readonly mode: string
  readonly name: string
  readonly id: string
}

function writeTree(project: Project, entries: readonly Entry[]): string {
  const bytes = Buffer.concat(
    entries.flatMap(({ mode, name, id }) => [
      Buffer.from(`${mode} ${name}\0`, 'latin1'),
      Buffer.from(id, 'hex'),
    ]),
  )
  return project.storeGit(['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'], bytes)
}

function writeBlob(project: Project, text: string): string {
  return project.storeGit(['hash-object', '-w', '--stdin'], text)
}

/** Puts another operation in the place of the session's step, and takes the index away. */
function craft(project: Project, replace: (step: string) => Readonly<Record<string, string>>): void {
  const { operations } = project.ask('log', '--ops', '--all')
  const step = operations.find((op: Json) => op.kind === 'step' && op.session === 's1').commit
  const replaced = replace(step)
  const entries = project
    .storeGit(['ls-tree', step])
    .split('\n')
    .map((line) => /^0?(\d+) \w+ (\w+)\t(.+)$/.exec(line) ?? [])
    .map(([, mode = '', id = '', name = '']) => ({ mode, name, id: replaced[name] ?? id }))
  const parent = project.storeGit(['rev-parse', `${step}^`])
  const commit = project.storeGit(['commit-tree', writeTree(project, entries), '-p', parent, '-m', 'crafted'])
  writeFileSync(join(project.store, 'objects.git/refs/unturn/sessions/s1'), `${commit}\n`)
  for (const name of ['index.db', 'index.db-wal', 'index.db-shm'])
    rmSync(join(project.store, name), { force: true })
}

function twoSessions(): Project {
  const project = new Project({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  project.turn({ 'a.txt': 'A\n' }, { session: 's1' })
  project.turn({ 'b.txt': 'B\n' }, { session: 's2' })
  return project
}

describe('crafted stores', () => {
  const evil = soak
    ? ['..', '.', '.git', '.GIT', '.Git ', 'git~1', '../out.txt', '/etc/out.txt', 'd/../../out.txt', '']
    : ['..', '.GIT', '/etc/out.txt']
  test.each(evil)('[L67] [M2] a tree with the name %j: undo is refused, and nothing is written', (name) => {
    using project = twoSessions()
    const blob = writeBlob(project, 'evil\n')
    const folder = writeTree(project, [{ mode: '100644', name: 'config', id: blob }])
    const isFolder = !name.includes('out.txt') && name !== ''
    craft(project, (step) => {
      const a = project.storeGit(['rev-parse', `${step}:before/a.txt`])
      const entries = [
        isFolder ? { mode: '40000', name, id: folder } : { mode: '100644', name, id: blob },
        { mode: '100644', name: 'a.txt', id: a },
      ]
      return {
        before: writeTree(
          project,
          entries.toSorted((x, y) => (x.name < y.name ? -1 : 1)),
        ),
      }
    })
    const before = project.files()
    expectFailure(project.unturn(['undo', '--session', 's1', '--json']), 1)
    expect(project.files()).toEqual(before)
    expect(existsSync(join(project.base, 'out.txt'))).toBe(false)
    expect(existsSync(join(project.base, 'config'))).toBe(false)
    expect(existsSync(project.pathOf('.git'))).toBe(false)
    expect(project.unturn(['doctor', '--json']).code).toBe(1)
    project.ask('undo', '--session', 's2')
    expect(project.read('b.txt')).toBe('b\n')
  })

  test('[L67] [M2] a tree that has a name twice is refused', () => {
    using project = twoSessions()
    craft(project, () => {
      const [one, two] = [writeBlob(project, '1'), writeBlob(project, '2')]
      return {
        before: writeTree(
          project,
          [one, two].map((id) => ({ mode: '100644', name: 'a.txt', id })),
        ),
      }
    })
    expectFailure(project.unturn(['undo', '--session', 's1', '--json']), 1)
    expect(project.read('a.txt')).toBe('A\n')
  })

  const records: readonly (readonly [string, (json: Json) => string])[] = [
    ['an unknown version', (json) => JSON.stringify({ ...json, version: 99 })],
    ['an unknown kind', (json) => JSON.stringify({ ...json, kind: 'surprise' })],
    ['broken JSON', (json) => JSON.stringify(json).slice(0, 60)],
    ['no JSON at all', () => '\0\0\0'],
    ['an absurd number', (json) => JSON.stringify({ ...json, seq: 1e300 })],
    ['a negative number', (json) => JSON.stringify({ ...json, seq: -1 })],
    ['an absurd time', (json) => JSON.stringify({ ...json, atMs: 1e300 })],
    ['a path that leads out', (json) => JSON.stringify({ ...json, paths: ['../../out.txt'] })],
    ['a session of another name', (json) => JSON.stringify({ ...json, session: 's2' })],
    ['texts where lists should be', (json) => JSON.stringify({ ...json, paths: 'a.txt', missed: 7 })],
    [
      'a prompt of 20 million letters',
      (json) =>
        `{"version":1,"x":"${'x'.repeat(20_000_000)}",${JSON.stringify({ ...json, kind: 'no' }).slice(1)}`,
    ],
  ]
  test.each(soak ? records : records.filter((_, at) => at % 3 === 0))(
    '[L68] [M14] a record with %s is an error for its session; the others stay usable',
    (_, made) => {
      using project = twoSessions()
      craft(project, (step) => {
        const json = JSON.parse(project.storeGit(['show', `${step}:op.json`]))
        return { 'op.json': writeBlob(project, made(json)) }
      })
      const error = expectFailure(project.unturn(['undo', '--session', 's1', '--json']), 1)
      expect(error.message.length).toBeLessThan(500)
      expect(project.files()).toEqual({ 'a.txt': 'A\n', 'b.txt': 'B\n' })
      const status = project.unturn(['status', '--json'])
      expect([status.code, status.stderr]).toEqual([0, expect.stringContaining('cannot be read')])
      expect(project.unturn(['doctor', '--json']).code).toBe(1)
      project.ask('undo', '--session', 's2')
      project.turn({ 'c.txt': 'c\n' }, { session: 's3' })
      project.ask('undo', '--session', 's3')
      expect(project.files()).toEqual({ 'a.txt': 'A\n', 'b.txt': 'b\n' })
      expect(project.unturn(['log', '--all', '--json']).code).toBe(0)
    },
  )

  test('[L69] [M14] a store of a newer format is refused, and stays as it is', () => {
    using project = twoSessions()
    const path = join(project.store, 'workspace.json')
    const facts = JSON.parse(readFileSync(path, 'utf8'))
    writeFileSync(path, JSON.stringify({ ...facts, format: 99 }))
    const before = readdirSync(project.store)
    for (const args of [['status'], ['undo'], ['turn', 'begin'], ['doctor', '--repair']]) {
      const error = expectFailure(project.unturn([...args, '--json']), 1)
      expect(error).toMatchObject({ code: 'store-newer', data: { found: 99 } })
      expect(error.hint).toContain('Upgrade')
    }
    expect(readdirSync(project.store)).toEqual(before)
    writeFileSync(path, '{"format":')
    expect(expectFailure(project.unturn(['undo', '--json']), 1).code).toBe('store-damaged')
  })
})

// ---- journals -----------------------------------------------------------------------------------------------------

/** An undo of twenty files, killed with a part of them in place. */
function cutUndo(): Project {
  const names = Array.from({ length: 20 }, (_, at) => `f${at}.txt`)
  const project = new Project(Object.fromEntries(names.map((name) => [name, 'old\n'])))
  project.turn(Object.fromEntries(names.map((name) => [name, 'new\n'])))
  const env = { NODE_OPTIONS: `--import ${killAt}`, NODE_NO_WARNINGS: '1' }
  for (let at = 110; ; at -= 4) {
    expect(project.unturn(['undo'], { env: { ...env, KILL_AT: `${at}` } }).signal).toBe('SIGKILL')
    const texts = new Set(Object.values(project.files()))
    if (texts.size > 1 && existsSync(join(project.store, 'journal/current'))) return project
    project.ask('status')
    if (project.ask('status').sessions[0].head === null) project.ask('redo')
  }
}

describe('journals', () => {
  const harms: readonly (readonly [string, (path: string) => void])[] = [
    ['cut short', (path) => truncateSync(path, statSync(path).size >> 1)],
    ['emptied', (path) => truncateSync(path, 0)],
    ['noise', (path) => writeFileSync(path, Buffer.alloc(500, 7))],
    [
      'made to lead out',
      (path) => writeFileSync(path, readFileSync(path, 'latin1').replaceAll('f3.txt', '../x.txt'), 'latin1'),
    ],
    [
      'made to lead into .git',
      (path) =>
        writeFileSync(path, readFileSync(path, 'latin1').replaceAll('f3.txt', '.GIT/config'), 'latin1'),
    ],
  ]
  test.each(soak ? harms : harms.filter((_, at) => at % 3 === 0))(
    '[L56] [K11] [M2] a journal that is %s: nothing is applied from it, and it is reported',
    (_, spoil) => {
      using project = cutUndo()
      const before = project.files()
      spoil(join(project.store, 'journal/current'))
      const ran = project.unturn(['status'])
      expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('damaged')])
      expect(project.files()).toEqual(before)
      expect(existsSync(join(project.base, 'x.txt'))).toBe(false)
      expect(readdirSync(join(project.store, 'journal'))).toContain('damaged-1')
      expect(existsSync(join(project.store, 'journal/current'))).toBe(false)
      // Nothing is lost: what the undo had replaced is in the store, and the turn can be undone.
      project.ask('undo', '--on-conflict', 'overwrite')
      expect(new Set(Object.values(project.files()))).toEqual(new Set(['old\n']))
      expect(project.ask('doctor').ok).toBe(true)
    },
  )

  test('[L57] [K12] a path that the user saved after the kill is left as saved, and reported', () => {
    using project = cutUndo()
    project.write({ 'f0.txt': 'mine\n', 'f19.txt': 'mine, too\n' })
    const ran = project.unturn(['status'])
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringMatching(/finished|taken back/)])
    expect(ran.stderr).toContain('left as they are')
    expect([project.read('f0.txt'), project.read('f19.txt')]).toEqual(['mine\n', 'mine, too\n'])
    const others = Object.entries(project.files()).filter(([name]) => !['f0.txt', 'f19.txt'].includes(name))
    expect(new Set(others.map(([, text]) => text)).size).toBe(1)
    expect(project.ask('doctor').ok).toBe(true)
  })
})

// ---- folders that cannot be used -------------------------------------------------------------------------------------

function bitsBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    const perm = lstatSync(path).mode & 0o777
    const wide = (perm & 0o077) === 0 ? [] : [`${perm.toString(8)} ${path.slice(folder.length)}`]
    return entry.isDirectory() ? [...wide, ...bitsBelow(path)] : wide
  })
}

describe('permissions', () => {
  test('[L41] [M7] with umask 000 every folder and file of the store is private', () => {
    using project = new Project({ 'a.txt': 'a\n' })
    const script =
      'umask 000; "$0" "$1" run -- sh -c "echo b > a.txt"; "$0" "$1" undo; "$0" "$1" gc; "$0" "$1" turn begin'
    spawnSync('sh', ['-c', script, node, command], {
      cwd: project.dir,
      env: { ...project.env },
      stdio: 'ignore',
    })
    expect(project.read('a.txt')).toBe('a\n')
    expect(lstatSync(join(project.base, 'store')).mode & 0o777).toBe(0o700)
    expect(bitsBelow(join(project.base, 'store'))).toEqual([])
  })

  test('[L42] [M7] a store that was widened is refused', () => {
    using project = twoSessions()
    for (const path of [project.store, join(project.store, 'objects.git')]) {
      chmodSync(path, 0o755)
      const error = expectFailure(project.unturn(['undo', '--json']), 1)
      expect(error.code).toBe('store-unsafe')
      expect(error.hint).toContain('chmod 700')
      chmodSync(path, 0o700)
    }
    project.ask('undo')
  })

  test.runIf(isRoot)('[L42] [M7] a store of somebody else is refused', () => {
    using project = twoSessions()
    chownSync(project.store, nobody, nobody)
    expect(expectFailure(project.unturn(['undo', '--json']), 1).code).toBe('store-unsafe')
    expect(project.files()).toEqual({ 'a.txt': 'A\n', 'b.txt': 'B\n' })
  })

  /** A project of a user whom permissions hold back. */
  function ofNobody(files: Record<string, string>): {
    readonly project: Project
    readonly as: { readonly uid?: number }
  } {
    const project = new Project(files)
    chmodSync(project.base, 0o755)
    if (isRoot) execFileSync('chown', ['-R', `${nobody}:${nobody}`, project.base])
    return { project, as: isRoot ? { uid: nobody } : {} }
  }

  test('[L43] [K13] the store cannot be made: turn begin fails, says why, and claims no snapshot', () => {
    const { project, as } = ofNobody({ 'a.txt': 'a\n' })
    using _ = project
    chmodSync(project.base, 0o555)
    const error = expectFailure(project.unturn(['turn', 'begin', '--json'], as), 1)
    expect(error.code).toBe('store-unwritable')
    expect(error.message).toContain('Nothing was captured')
    expect(project.unturn(['undo', '--json'], as).code).toBe(3)
    expect(project.files()).toEqual({ 'a.txt': 'a\n' })
  })

  test.each(
    soak
      ? ['objects.git/objects/pack', 'objects.git/refs/unturn/sessions', 'objects.git', 'flights']
      : ['objects.git/objects/pack', 'objects.git'],
  )(
    '[L43] [K13] %s cannot be written any more: step end fails, the next one succeeds, and undo takes all of it out',
    (folder) => {
      const { project, as } = ofNobody({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
      using _ = project
      const ask = (...args: string[]) => {
        const ran = project.unturn([...args, '--json'], as)
        expect(ran.code, ran.stdout + ran.stderr).toBe(0)
        return ran.json
      }
      const { turn } = ask('turn', 'begin', '--session', 's1')
      const { step } = ask('step', 'begin', '--turn', turn, '--tool', 'shell')
      project.write({ 'a.txt': 'A\n', 'new.txt': 'new\n', 'b.txt': null })
      const path = join(project.store, folder)
      chmodSync(path, 0o500)
      expectFailure(project.unturn(['step', 'end', '--step', step, '--json'], as), 1)
      chmodSync(path, 0o700)
      ask('step', 'end', '--step', step)
      const { changes } = ask('turn', 'end', '--turn', turn)
      expect(changes.map((change: Json) => change.path)).toEqual(['a.txt', 'b.txt', 'new.txt'])
      ask('undo')
      expect(project.files()).toEqual({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
      expect(ask('doctor')).toMatchObject({ ok: true, findings: [] })
    },
  )

  test('[L44] [K13] the workspace cannot be listed: step end fails, and nothing unseen counts as deleted, then or later', () => {
    const { project, as } = ofNobody({ 'a.txt': 'a\n', 'd/b.txt': 'b\n' })
    using _ = project
    const { turn } = project.unturn(['turn', 'begin', '--session', 's1', '--json'], as).json
    const { step } = project.unturn(['step', 'begin', '--turn', turn, '--tool', 'shell', '--json'], as).json
    project.write({ 'a.txt': 'A\n' })
    chmodSync(project.dir, 0o300)
    const error = expectFailure(project.unturn(['step', 'end', '--step', step, '--json'], as), 1)
    expect(error.code).toBe('workspace-unreadable')
    chmodSync(project.dir, 0o755)
    const { changes } = project.unturn(['turn', 'end', '--turn', turn, '--json'], as).json
    expect(changes.map((change: Json) => [change.path, change.kind])).toEqual([['a.txt', 'modify']])
    expect(project.unturn(['undo', '--json'], as).code).toBe(0)
    expect(project.files()).toEqual({ 'a.txt': 'a\n', 'd/b.txt': 'b\n' })
  })
})

describe('places', () => {
  test('[L45] the home folder, a folder above it and the root are refused with a hint, and no store is made', () => {
    using project = new Project()
    const home = join(project.base, 'home')
    for (const folder of [home, project.base, '/']) {
      const error = expectFailure(project.unturn(['capture', '-C', folder, '--json']), 1)
      expect(error.code).toBe('workspace-refused')
      expect(error.hint).toContain('-C')
    }
    expect(existsSync(join(project.base, 'store'))).toBe(false)
  })

  test('[L46] a folder that is not there is refused; a workspace that vanished keeps its history', () => {
    using project = twoSessions()
    expect(expectFailure(project.unturn(['status', '-C', 'nowhere', '--json']), 1).code).toBe(
      'not-a-workspace',
    )
    expect(expectFailure(project.unturn(['status', '-C', 'a.txt', '--json']), 1).code).toBe('not-a-workspace')
    const { turns } = project.ask('log', '--all')
    renameSync(project.dir, `${project.dir}-gone`)
    const gone = project.unturn(['undo', '-C', project.dir, '--json'], { cwd: project.base })
    expect(expectFailure(gone, 1).hint).toContain('history')
    mkdirSync(project.dir)
    expect(project.ask('log', '--all').turns).toEqual(turns)
    project.ask('capture')
    project.ask('restore', turns[1].id, '--before', '--exact', '--session', 's1')
    expect(project.files()).toEqual({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  })
})

// ---- words ---------------------------------------------------------------------------------------------------------

const moreSessions = ['a/b', '..', '.', 'refs/heads/x', '-x', ' ', '@{1}']
const nasty = 'a\u001b[31mb\u0007c\rd\u009be\nf\u202eg'

describe('names and prompts', () => {
  test('[L47] [M8] control characters in file names, prompts, agents, sessions and commands are escaped in plain output and round-trip in JSON', () => {
    using project = new Project({ 'a.txt': 'a\n' })
    const session = `s-${nasty}`
    const { turn } = project.ask(
      'turn',
      'begin',
      '--session',
      session,
      '--agent',
      nasty,
      '--agent-id',
      nasty,
      '--prompt',
      nasty,
    )
    const { step } = project.ask('step', 'begin', '--turn', turn, '--tool', nasty, '--command', nasty)
    project.write({ [nasty]: 'x\n', 'a.txt': 'b\n' })
    const plain: string[] = []
    const say = (...args: string[]) => {
      const ran = project.unturn(args)
      plain.push(`${ran.stdout}${ran.stderr}`)
      return ran
    }
    say('step', 'end', '--step', step)
    say('turn', 'end', '--turn', turn)
    say('capture', '--label', nasty)
    for (const args of [
      ['status'],
      ['log'],
      ['log', '--tree'],
      ['log', '--changes'],
      ['log', '--ops', '--all'],
      ['show', turn],
      ['diff'],
      ['diff', '--stat'],
      ['undo', '--dry-run'],
      ['undo'],
      ['redo'],
      ['rollback', '--turn', turn],
      ['show', nasty],
      ['undo', '--session', nasty],
      ['undo', '-C', nasty],
      [nasty],
      [`--${nasty}`],
      ['rollback', '--file', nasty],
    ])
      say(...args)
    for (const text of plain) expect(text).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/)
    expect(plain.join('\n')).toContain('a\\x1b[31mb\\x07c\\rd\\x9be\\nf\\u202eg')
    const { turns } = project.ask('log')
    expect(turns[0]).toMatchObject({ prompt: nasty, agent: nasty, session })
    const { changes } = project.ask('log', '--changes')
    expect(changes.map((change: Json) => change.path)).toEqual([nasty, 'a.txt'])
  })

  test('[L48] [M9] a prompt may begin with --', () => {
    using project = new Project({ 'a.txt': 'a\n' })
    project.turn({ 'a.txt': 'b\n' }, { prompt: '--json --force' })
    expect(project.ask('log').turns[0].prompt).toBe('--json --force')
    expect(project.ask('undo').prompt).toBe('--json --force')
  })

  const sessions = [
    '../../../etc',
    'a\nb',
    'UPPER',
    'user',
    '--json',
    'ä',
    'x'.repeat(500),
    'a.lock',
    ...(soak ? moreSessions : []),
  ]
  test('[L48] [M9] a session id is data, whatever it is: no file or ref outside the name space, and undo finds it again', () => {
    using project = new Project({ 'a.txt': '0\n' })
    sessions.forEach((session, at) => {
      project.ask('run', `--session=${session}`, '--json', '--', 'sh', '-c', `echo ${at + 1} > a.txt`)
    })
    const refs = readdirSync(join(project.store, 'objects.git/refs/unturn/sessions'))
    expect(refs).toHaveLength(sessions.length + 1)
    for (const ref of refs) expect(ref).toMatch(/^(user|x-[0-9a-f]{40})$/)
    expect(readdirSync(join(project.store, 'objects.git/refs')).toSorted()).toEqual(['heads', 'unturn'])
    expect(
      project
        .ask('log', '--all')
        .turns.map((turn: Json) => turn.session)
        .toReversed(),
    ).toEqual(sessions)
    for (const [at, session] of [...sessions.entries()].toReversed()) {
      project.ask('undo', `--session=${session}`)
      expect(project.read('a.txt')).toBe(`${at}\n`)
    }
    expect(project.ask('doctor').ok).toBe(true)
  })

  test('[L48] [M9] a session id of 10,000 characters, and an empty one, are refused', () => {
    using project = new Project({ 'a.txt': '0\n' })
    for (const session of ['x'.repeat(10_000), ''])
      expect(expectFailure(project.unturn(['turn', 'begin', '--session', session, '--json']), 2).code).toBe(
        'bad-usage',
      )
  })
})

// ---- honest answers ----------------------------------------------------------------------------------------------------

describe('answers', () => {
  test('[L49] [N7] [N8] every command with --json prints exactly one document, and failures say what happened and what to do next', () => {
    using project = new Project({ 'a.txt': 'a\n' })
    const empty = [
      ['status'],
      ['log'],
      ['log', '--changes'],
      ['log', '--ops'],
      ['store'],
      ['gc'],
      ['doctor'],
      ['doctor', '--repair'],
    ]
    for (const args of empty)
      expect(project.unturn([...args, '--json']).json, args.join(' ')).toBeTypeOf('object')
    const turn = project.turn({ 'a.txt': 'b\n' })
    const good = [
      ...empty,
      ['capture'],
      ['show', turn],
      ['diff'],
      ['undo', '--dry-run'],
      ['undo'],
      ['redo'],
      ['rollback', '--turn', turn],
      ['restore', turn],
      ['cleanup'],
      ['run', '--', 'echo', 'noise'],
    ]
    for (const args of good) {
      const ran = project.unturn([...args.slice(0, 1), '--json', ...args.slice(1)], {
        env: { FORCE_COLOR: undefined },
      })
      expect(ran.code, `${args.join(' ')}: ${ran.stdout}${ran.stderr}`).toBe(0)
      expect(ran.json, args.join(' ')).toBeTypeOf('object')
      expect(ran.stdout + ran.stderr).not.toContain('\u001b')
    }
    const bad: readonly (readonly [number, readonly string[]])[] = [
      [2, ['nonsense']],
      [2, ['undo', '--nonsense']],
      [2, ['undo', '--turns', 'many']],
      [2, ['undo', '--turns']],
      [2, ['log', '--since', 'whenever']],
      [2, ['step', 'end']],
      [2, ['undo', '--on-conflict', 'pray']],
      [2, ['status', 'word']],
      [1, ['show', 'nothing']],
      [1, ['restore', 'nothing']],
      [1, ['undo', '--session', 'nobody']],
      [1, ['step', 'end', '--step', 'nothing']],
      [1, ['turn', 'end', '--turn', 'nothing']],
      [1, ['step', 'begin', '--turn', '@', '--tool', 'x', '--path', '../out']],
      [1, ['turn', 'begin', '--prompt-file', 'not-there']],
      [3, ['redo']],
      [3, ['rollback', '--file', 'not-there']],
    ]
    for (const [code, args] of bad) {
      const ran = project.unturn([...args, '--json'])
      expect(ran.code, `${args.join(' ')}: ${ran.stdout}${ran.stderr}`).toBe(code)
      expectFailure(ran, code)
      const plain = project.unturn(args)
      expect([plain.code, plain.stdout], args.join(' ')).toEqual([code, ''])
      expect(plain.stderr, args.join(' ')).toMatch(/^unturn: .+\.\n.+\n$/)
    }
  })

  test('[L49] [N8] warnings and progress go to stderr', () => {
    using project = cutUndo()
    const ran = project.unturn(['log', '--json'])
    expect(ran.json).toHaveProperty('turns')
    expect(ran.stderr).toContain('interrupted')
  })

  test('[L49] [N10] additions and deletions are what git counts', () => {
    const lines = Array.from({ length: 60 }, (_, at) => `line ${at}\n`)
    using project = new Project({
      'a.txt': lines.join(''),
      'gone.txt': 'x\ny\n',
      bin: '\0\u0001',
      'end.txt': 'no newline',
    })
    const edited = lines.toSpliced(3, 2, 'three\n').toSpliced(40, 0, 'new\n', 'new\n').toReversed().join('')
    project.turn({
      'a.txt': edited,
      'gone.txt': null,
      'new.txt': '1\n2\n3',
      bin: '\0\u0002',
      'end.txt': 'no newline\n',
    })
    const step = project.ask('log', '--ops').operations.find((op: Json) => op.kind === 'step').commit
    const counted = project.storeGit(['diff', '--numstat', '--no-renames', `${step}:before`, `${step}:after`])
    const { changes } = project.ask('log', '--changes')
    const ours = changes.map((one: Json) =>
      one.binary ? `-\t-\t${one.path}` : `${one.additions}\t${one.deletions}\t${one.path}`,
    )
    expect(ours.toSorted()).toEqual(counted.split('\n').toSorted())
  })
})
