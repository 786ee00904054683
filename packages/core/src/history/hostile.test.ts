import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { delimiter } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isFailure } from '../errors.ts'
import { describeFolder } from '../testing/file-kinds.ts'
import { type Files, Fixture, workspace } from '../testing/workspace.ts'
import { absPathUnchecked, type RelPath } from '../values.ts'
import { bytesPath, relPathFrom } from '../workspace/locate.ts'
import type { Outcome } from './outcome.ts'

const isDone = (outcome: Outcome) => expect(outcome).toMatchObject({ kind: 'done', conflicts: [] })

function commitAll(w: Fixture): void {
  w.git('add', '-A')
  w.git('commit', '-qm', 'first')
}

/** One of everything that Unturn can be asked to do. */
async function everyCommand(w: Fixture): Promise<void> {
  await w.open()
  await w.workspace.capture()
  const one = await w.turn('Edit', { 'a.txt': 'one\ntwo\nTHREE\n', 'b.txt': 'b\n' })
  w.userWrites({ 'a.txt': 'ONE\ntwo\nTHREE\n' })
  const undone = await w.undo()
  expect(undone).toMatchObject({ kind: 'done', files: [{ path: 'a.txt', merged: true }, { path: 'b.txt' }] })
  isDone(await w.redo())
  isDone(await w.restore(one.turn))
  isDone(await w.redo())
  isDone(await w.rollback({ turns: [one.turn] }))
  await w.workspace.cleanup(w.session)
  await w.workspace.doctor({ repair: true })
  await w.turn('Commit', () => {
    // By plumbing and by hand: the porcelain of this test would run the traps itself.
    const commit = w.git('commit-tree', 'HEAD^{tree}', '-p', 'HEAD', '-m', 'second')
    w.userWrites({ 'a.txt': 'committed\n', '.git/refs/heads/main': `${commit}\n` })
  })
  expect(await w.undo({ git: true })).toMatchObject({ kind: 'done', git: { moved: true } })
  await w.reopen()
  await w.workspace.capture()
}

describe('paths', () => {
  const outside: readonly string[] = [
    '../outside.txt',
    'sub/../../outside.txt',
    '..',
    '/etc/hostname',
    'sub/..//../outside.txt',
  ]
  const inGit: readonly string[] = [
    '.git/config',
    '.GIT/config',
    'sub/.git/hooks/pre-commit',
    '.git',
    'git~1/config',
  ]

  test.each([...outside, ...inGit])('[H150] [M1] %j is no path of the workspace', async (typed) => {
    await using w = await workspace({ 'sub/a.txt': 'a\n' }, { git: true })
    const root = absPathUnchecked(bytesPath(w.dir))
    const refused = () => relPathFrom(root, root, typed)
    expect(refused).toThrow(expect.objectContaining({ code: 'bad-path' }))
  })

  test.each(['../outside.txt', 'sub/../../outside.txt', '..', '/outside.txt'])(
    '[H150] [P5] [M1] a step that names %j all the same is refused, and nothing is read or written there',
    async (typed) => {
      await using w = await workspace({ 'sub/a.txt': 'a\n' }, { git: true })
      writeFileSync(`${w.base}/outside.txt`, 'outside\n')
      const turn = await w.beginTurn('Escape')
      const step = w.workspace.beginStep({ turn, tool: 'edit', paths: [typed as RelPath] })
      await expect(step).rejects.toMatchObject({ code: 'bad-path' })
      await w.workspace.endTurn(turn)
      isDone(await w.undo())
      expect(readFileSync(`${w.base}/outside.txt`, 'utf8')).toBe('outside\n')
    },
  )

  test('[H150] [P5] [M1] a step that names a path below .git captures nothing of it', async () => {
    await using w = await workspace({ 'a.txt': 'a\n' }, { git: true })
    const before = readFileSync(w.pathOf('.git/config'), 'utf8')
    const turn = await w.beginTurn('Configure')
    const work = w.step(turn, { '.git/config': `${before}# changed\n` }, { paths: ['.git/config'] })
    const changes = await work.catch((error) => {
      if (!isFailure(error, 'bad-path')) throw error
      return []
    })
    expect(changes).toEqual([])
    w.userWrites({ '.git/config': `${before}# changed\n` })
    await w.workspace.endTurn(turn)
    isDone(await w.undo())
    expect(readFileSync(w.pathOf('.git/config'), 'utf8')).toContain('# changed')
  })

  test('[H150] [M1] a rollback of a path outside finds nothing', async () => {
    await using w = await workspace({ 'a.txt': 'a\n' })
    await w.turn('Edit', { 'a.txt': 'b\n' })
    await expect(w.rollback({ paths: ['../a.txt' as RelPath] })).rejects.toMatchObject({
      code: 'nothing-to-roll-back',
    })
  })
})

describe('links on the way', () => {
  test.each(['abort', 'keep', 'overwrite', 'markers'] as const)(
    '[H151] [P4] [M3] a folder that was swapped for a link to the outside: undo and redo with %s touch nothing behind it',
    async (onConflict) => {
      await using w = await workspace({
        'dir/edited.txt': 'old\n',
        'dir/deleted.txt': 'old\n',
        'a.txt': 'a\n',
      })
      await w.turn('Work', {
        'dir/edited.txt': 'new\n',
        'dir/deleted.txt': null,
        'dir/added.txt': 'new\n',
        'a.txt': 'b\n',
      })
      const trap = `${w.base}/trap`
      mkdirSync(trap)
      for (const name of ['edited.txt', 'added.txt']) writeFileSync(`${trap}/${name}`, 'new\n')
      const swap = () => {
        rmSync(w.pathOf('dir'), { recursive: true, force: true })
        symlinkSync(trap, w.pathOf('dir'))
      }
      swap()
      const before = describeFolder(trap)
      await w.undo({ onConflict })
      expect(describeFolder(trap)).toEqual(before)
      swap()
      await w.redo({ onConflict }).catch((error) => {
        if (!isFailure(error, 'nothing-to-redo')) throw error
      })
      expect(describeFolder(trap)).toEqual(before)
    },
  )

  test('[H151] [P4] [M3] restore --exact does not write through a link either', async () => {
    await using w = await workspace({ 'dir/a.txt': 'old\n' })
    const { turn } = await w.turn('Work', { 'dir/a.txt': 'new\n' })
    const trap = `${w.base}/trap`
    renameSync(w.pathOf('dir'), trap)
    symlinkSync(trap, w.pathOf('dir'))
    const before = describeFolder(trap)
    isDone(await w.restore(turn, 'before', { exact: true }))
    expect(describeFolder(trap)).toEqual(before)
    expect(w.files()).toEqual({ 'dir/a.txt': 'old\n' })
    expect(lstatSync(w.pathOf('dir')).isDirectory()).toBe(true)
  })
})

describe('code of the workspace', () => {
  /** Every setting of git that names a program, and a program that leaves a mark. */
  function trap(w: Fixture): string {
    const mark = `${w.base}/mark`
    const program = `${w.base}/home/trap.sh`
    writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> "${mark}"\ncat\nexit 0\n`, { mode: 0o755 })
    const settings = [
      'core.fsmonitor',
      'core.editor',
      'core.pager',
      'core.sshCommand',
      'core.gitProxy',
      'core.askPass',
      'core.alternateRefsCommand',
      'credential.helper',
      'diff.external',
      'diff.trap.command',
      'diff.trap.textconv',
      'merge.trap.driver',
      'filter.trap.clean',
      'filter.trap.smudge',
      'filter.trap.process',
      'gpg.program',
      'sequence.editor',
      'uploadpack.packObjectsHook',
      'pager.log',
      'pager.diff',
      'interactive.diffFilter',
      'trailer.trap.command',
    ]
    for (const name of settings) w.git('config', name, program)
    for (const name of ['cat-file', 'merge-tree', 'rev-list', 'diff-tree', 'update-ref', 'rev-parse'])
      w.git('config', `alias.${name}`, `!${program}`)
    w.git('config', 'core.hooksPath', `${w.base}/home/hooks`)
    w.git('config', 'core.attributesFile', `${w.base}/home/attributes`)
    w.git('config', 'include.path', `${w.base}/home/included`)
    writeFileSync(`${w.base}/home/attributes`, '* filter=trap diff=trap merge=trap\n')
    writeFileSync(`${w.base}/home/included`, `[core]\n\tfsmonitor = ${program}\n`)
    for (const folder of [`${w.base}/home/hooks`, w.pathOf('.git/hooks')]) {
      mkdirSync(folder, { recursive: true })
      for (const hook of [
        'reference-transaction',
        'post-index-change',
        'pre-auto-gc',
        'post-checkout',
        'pre-commit',
      ])
        writeFileSync(`${folder}/${hook}`, readFileSync(program), { mode: 0o755 })
    }
    return mark
  }

  test('[H152] [P10] [M4] in a booby-trapped repository no command runs anything', {
    timeout: 60_000,
  }, async () => {
    await using w = new Fixture()
    w.git('init', '-q', '-b', 'main')
    w.userWrites({
      'a.txt': 'one\ntwo\nthree\n',
      'lib.txt': 'lib\n'.repeat(40),
      '.gitattributes': '* filter=trap diff=trap merge=trap\n',
    })
    commitAll(w)
    w.git('repack', '-adq')
    const mark = trap(w)
    execFileSync('cp', [w.pathOf('.git/config'), `${w.base}/home/.gitconfig`])
    rmSync(mark, { force: true })
    expect(() => w.git('add', 'a.txt')).not.toThrow()
    w.git('hash-object', 'a.txt')
    expect(existsSync(mark), 'the trap itself works').toBe(true)
    rmSync(mark)
    await everyCommand(w)
    expect(existsSync(mark) ? readFileSync(mark, 'utf8') : '').toBe('')
  })

  test('[H152] [P10] [M4] a git that lies in the workspace is never started', async () => {
    await using w = new Fixture()
    const mark = `${w.base}/mark`
    const fake = `#!/bin/sh\ntouch "${mark}"\nexit 1\n`
    for (const folder of ['', 'node_modules/.bin', 'bin']) {
      mkdirSync(w.pathOf(folder), { recursive: true })
      writeFileSync(w.pathOf(`${folder}/git`), fake, { mode: 0o755 })
    }
    w.userWrites({ 'a.txt': 'one\ntwo\nthree\n' })
    const cwd = process.cwd()
    const PATH = ['.', '', w.dir, w.pathOf('node_modules/.bin'), w.pathOf('bin'), process.env.PATH].join(
      delimiter,
    )
    process.chdir(w.dir)
    try {
      await w.open({ env: { ...w.env, PATH } })
      await w.workspace.capture()
      await w.turn('Edit', { 'a.txt': 'one\ntwo\nTHREE\n' })
      w.userWrites({ 'a.txt': 'ONE\ntwo\nTHREE\n' })
      isDone(await w.undo())
    } finally {
      process.chdir(cwd)
    }
    expect(w.files()).toMatchObject({ 'a.txt': 'ONE\ntwo\nthree\n' })
    expect(existsSync(mark)).toBe(false)
  })

  describe.each([
    'merge=union',
    'merge=binary',
    '-merge',
    'merge=ours',
    '-text',
    'binary',
    'conflict-marker-size=3',
  ])('an attribute %s', (attribute) => {
    test('[H153] [P3] [M5] an overlap is a conflict, and distant edits merge, as without it', async () => {
      const lines = (first: string, last: string) => `${first}\n2\n3\n4\n5\n6\n${last}\n`
      const files: Files = {
        '.gitattributes': `* ${attribute}\n`,
        'same.txt': lines('1', '7'),
        'apart.txt': lines('1', '7'),
      }
      await using w = await workspace(files, { git: true })
      w.userWrites({ '.git/info/attributes': `* ${attribute}\n` })
      await w.turn('Edit one', { 'apart.txt': lines('ONE', '7') })
      w.userWrites({ 'apart.txt': lines('ONE', 'SEVEN') })
      const merged = await w.undo()
      expect(merged).toMatchObject({ kind: 'done', files: [{ path: 'apart.txt', merged: true }] })
      expect(w.files()).toMatchObject({ 'apart.txt': lines('1', 'SEVEN') })

      await w.turn('Edit the other', { 'same.txt': lines('ONE', '7') })
      w.userWrites({ 'same.txt': lines('EINS', '7') })
      expect(await w.undo()).toMatchObject({
        kind: 'conflicts',
        conflicts: [{ path: 'same.txt', kind: 'content' }],
      })
      expect(w.files()).toMatchObject({ 'same.txt': lines('EINS', '7') })
    })
  })

  test('[H154] [P5] [M6] variables of git that leak in from a hook lead nowhere', async () => {
    await using w = new Fixture()
    const victim = `${w.base}/victim`
    mkdirSync(victim)
    w.git('init', '-q', '-b', 'main', victim)
    w.git('init', '-q', '-b', 'main')
    w.userWrites({ 'a.txt': 'one\ntwo\nthree\n' })
    commitAll(w)
    writeFileSync(`${victim}/v.txt`, 'v\n')
    w.git('-C', victim, 'add', '.')
    w.git('-C', victim, 'commit', '-qm', 'first')
    const before = describeFolder(victim)
    const mark = `${w.base}/mark`
    const leaked = {
      GIT_DIR: `${victim}/.git`,
      GIT_WORK_TREE: victim,
      GIT_INDEX_FILE: `${victim}/.git/index`,
      GIT_OBJECT_DIRECTORY: `${victim}/.git/objects`,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: `${victim}/.git/objects`,
      GIT_COMMON_DIR: `${victim}/.git`,
      GIT_NAMESPACE: 'elsewhere',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'core.fsmonitor',
      GIT_CONFIG_VALUE_0: `touch ${mark}`,
      GIT_CONFIG_PARAMETERS: `'core.fsmonitor=touch ${mark}'`,
      GIT_EXTERNAL_DIFF: `touch ${mark}`,
      GIT_EXEC_PATH: `${victim}`,
      GIT_TRACE: mark,
      GIT_TEMPLATE_DIR: victim,
      GIT_QUARANTINE_PATH: victim,
    }
    const saved = { ...process.env }
    Object.assign(process.env, leaked)
    try {
      await w.open({ env: { ...w.env, ...leaked } })
      await w.workspace.capture()
      const { turn } = await w.turn('Edit', { 'a.txt': 'one\ntwo\nTHREE\n', 'b.txt': 'b\n' })
      w.userWrites({ 'a.txt': 'ONE\ntwo\nTHREE\n' })
      isDone(await w.undo())
      isDone(await w.redo())
      isDone(await w.restore(turn))
      expect(await w.workspace.doctor()).toEqual([])
    } finally {
      for (const name of Object.keys(leaked)) delete process.env[name]
      Object.assign(process.env, saved)
    }
    expect(w.files()).toEqual({ 'a.txt': 'ONE\ntwo\nthree\n' })
    expect(describeFolder(victim)).toEqual(before)
    expect(existsSync(mark)).toBe(false)
  })
})

describe('bits and places', () => {
  test('[H155] [reading R8] [M10] a setuid file that the agent replaced gets its bytes and nine bits back, no setuid bit', async () => {
    await using w = await workspace({ 'tool.sh': 'old\n', 'folder/a.txt': 'a\n' })
    chmodSync(w.pathOf('tool.sh'), 0o6755)
    chmodSync(w.pathOf('folder'), 0o3775)
    await w.workspace.capture()
    await w.turn('Replace', () => {
      writeFileSync(w.pathOf('tmp'), 'new\n', { mode: 0o644 })
      renameSync(w.pathOf('tmp'), w.pathOf('tool.sh'))
      rmSync(w.pathOf('folder'), { recursive: true })
    })
    isDone(await w.undo())
    expect(readFileSync(w.pathOf('tool.sh'), 'utf8')).toBe('old\n')
    expect((lstatSync(w.pathOf('tool.sh')).mode & 0o7777).toString(8)).toBe('755')
    expect((lstatSync(w.pathOf('folder')).mode & 0o7777).toString(8)).toBe('775')
  })

  test.each(['.unturn', 'deep/in/here'])(
    '[H156] [M11] a store at %s inside the workspace neither captures nor changes itself',
    async (place) => {
      await using w = new Fixture({ honest: false })
      const env = { ...w.env, UNTURN_HOME: w.pathOf(place) }
      w.userWrites({ 'a.txt': '1\n', 'deep/b.txt': 'b\n' })
      await w.open({ env })
      const { skipped } = await w.workspace.capture()
      expect(skipped).toEqual([])
      const { changes, turn } = await w.turn('Edit', { 'a.txt': '2\n', 'new.txt': 'new\n' })
      expect(changes.map(({ path }) => path)).toEqual(['a.txt', 'new.txt'])
      isDone(await w.undo())
      isDone(await w.redo())
      w.userWrites({ 'mine.txt': 'mine\n' })
      const exact = await w.restore(turn, 'before', { exact: true })
      expect(exact.files.map(({ path }) => path)).toEqual(['a.txt', 'mine.txt', 'new.txt'])
      await w.reopen({ env })
      expect((await w.workspace.capture()).changes).toEqual([])
      expect(await w.workspace.doctor()).toEqual([])
      expect(w.files()).toMatchObject({ 'a.txt': '1\n', 'deep/b.txt': 'b\n' })
      isDone(await w.redo())
      expect(w.files()).toMatchObject({ 'a.txt': '2\n', 'new.txt': 'new\n' })
    },
  )
})
