import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { bytesOfText } from '../errors.ts'
import type { Fs } from '../fs.ts'
import { changeJson, outcomeJson } from '../json.ts'
import { describeFolder } from '../testing/file-kinds.ts'
import { emptyFolder, type Fixture, linkTo, withMode, workspace } from '../testing/workspace.ts'
import { nodeFs } from '../workspace/node-fs.ts'
import { openWorkspace } from '../workspace.ts'
import type { Outcome } from './outcome.ts'

const kindsOf = (changes: readonly { readonly path: string; readonly kind: string }[]) =>
  Object.fromEntries(changes.map(({ path, kind }) => [path, kind]))

const pathsOf = (list: readonly { readonly path: string }[]) => list.map(({ path }) => path)

const isDone = (outcome: Outcome) => expect(outcome).toMatchObject({ kind: 'done', conflicts: [] })

/** The agent's usual way to save: a new file is renamed over the old one. */
function replace(w: Fixture, name: string, text: string): void {
  writeFileSync(w.pathOf(`${name}.tmp`), text, { mode: 0o644 })
  renameSync(w.pathOf(`${name}.tmp`), w.pathOf(name))
}

/** Everything below the workspace, `.git` included, names as bytes. */
const everything = (w: Fixture) => describeFolder(w.dir)

async function thereAndBack(w: Fixture, act: () => void): Promise<void> {
  const before = everything(w)
  await w.turn('Act', act)
  const after = everything(w)
  isDone(await w.undo())
  expect(everything(w)).toEqual(before)
  isDone(await w.redo())
  expect(everything(w)).toEqual(after)
  expect((await w.workspace.capture()).changes).toEqual([])
}

describe('content', () => {
  test('[H102] [G1] an empty file, one without final newline and one of CRs only come back byte for byte', async () => {
    await using w = await workspace({ empty: '', open: 'no newline', cr: '\r\r\r', full: 'text\n' })
    await thereAndBack(w, () => w.userWrites({ empty: 'x', open: 'no newline\n', cr: '\r\n\r', full: '' }))
  })

  test('[H102] [G9] a binary with NUL bytes is exact, says so, and is never merged', async () => {
    const old = Buffer.from([0, 1, 2, 255, 0, 10, 13])
    await using w = await workspace({ 'image.bin': old })
    const { changes } = await w.turn('Draw', { 'image.bin': Buffer.from([0, 9, 9, 255]) })
    expect(changes).toMatchObject([{ path: 'image.bin', kind: 'modify', binary: true }])
    await w.undo()
    expect(readFileSync(w.pathOf('image.bin'))).toEqual(old)

    await w.redo()
    const byUser = Buffer.from([0, 9, 9, 255, 7])
    w.userWrites({ 'image.bin': byUser })
    expect(await w.undo()).toMatchObject({ kind: 'conflicts', conflicts: [{ path: 'image.bin' }] })
    expect(readFileSync(w.pathOf('image.bin'))).toEqual(byUser)
  })
})

describe('permission bits', () => {
  test('[H103] [G2] a turn that only made a file executable says `mode`, and undo does not rewrite the content', async () => {
    await using w = await workspace({ 'run.sh': withMode('#!/bin/sh\n', 0o644) })
    const { changes } = await w.turn('Make it run', () => chmodSync(w.pathOf('run.sh'), 0o755))
    expect(kindsOf(changes)).toEqual({ 'run.sh': 'mode' })
    const { ino } = lstatSync(w.pathOf('run.sh'))
    expect((await w.undo()).files).toEqual([{ path: 'run.sh', action: 'mode', merged: false }])
    expect(lstatSync(w.pathOf('run.sh'))).toMatchObject({ ino })
    expect(w.files({ modes: true })).toEqual({ 'run.sh': '644 #!/bin/sh\n' })
  })

  test.each([0o600, 0o640, 0o444, 0o755])(
    '[H103] [G4] content by the agent, then mode %o by the user: the old content with the mode of the user',
    async (mode) => {
      await using w = await workspace({ 'a.txt': withMode('old\n', 0o644) })
      await w.turn('Edit', { 'a.txt': 'new\n' })
      chmodSync(w.pathOf('a.txt'), mode)
      isDone(await w.undo())
      expect(w.files({ modes: true })).toEqual({ 'a.txt': `${mode.toString(8)} old\n` })
    },
  )

  test('[H104] [P6] [G3] files replaced by temp-and-rename get their bytes and modes back, and no staged copy is wider', async () => {
    const created: string[] = []
    const watching: Fs = {
      ...nodeFs,
      createFile: (path, chunks, perm) => {
        nodeFs.createFile(path, chunks, perm)
        created.push(`${nodeFs.readFile(path).toString('latin1')} ${nodeFs.lstat(path)?.perm.toString(8)}`)
      },
    }
    await using w = await workspace(
      { 'secret.txt': withMode('secret\n', 0o600), 'fixed.txt': withMode('fixed\n', 0o444) },
      { fs: watching },
    )
    const before = w.files({ modes: true })
    await w.turn('Replace both', () => {
      replace(w, 'secret.txt', 'told\n')
      replace(w, 'fixed.txt', 'loose\n')
    })
    created.length = 0
    isDone(await w.undo())
    expect(w.files({ modes: true })).toEqual(before)
    expect(created).toContain('secret\n 600')
    const texts = created.filter((one) => /^(secret|fixed)\n/.test(one))
    expect(texts.filter((one) => !/ (600|400|444)$/.test(one) || one === 'secret\n 444')).toEqual([])
  })
})

describe('links', () => {
  test('[H105] [G5] retargeted, dangling, circular and folder links get their old targets, and nothing is read through them', async () => {
    await using w = await workspace({
      'target/inside.txt': 'inside\n',
      changed: linkTo('target/inside.txt'),
      dangling: linkTo('nowhere'),
      circle: linkTo('circle'),
      folder: linkTo('target'),
      outside: linkTo('../home'),
    })
    await thereAndBack(w, () =>
      w.userWrites({
        changed: linkTo('elsewhere'),
        dangling: linkTo('still-nowhere'),
        circle: linkTo('./circle'),
        folder: linkTo('.'),
        outside: linkTo('/'),
      }),
    )
  })

  test('[H105] [G6] a file that became a link is a file again, and the target of the link is unchanged', async () => {
    await using w = await workspace({ 'a.txt': 'a\n', 'target.txt': 'target\n' })
    const { changes } = await w.turn('Link', { 'a.txt': linkTo('target.txt') })
    expect(kindsOf(changes)).toEqual({ 'a.txt': 'type' })
    const target = statSync(w.pathOf('target.txt'))
    isDone(await w.undo())
    expect(w.files()).toEqual({ 'a.txt': 'a\n', 'target.txt': 'target\n' })
    expect(statSync(w.pathOf('target.txt'))).toMatchObject({ ino: target.ino, mtimeMs: target.mtimeMs })
  })

  test('[H105] [P4] [G7] a link to a folder that became a real folder is a link again, and nothing below its target went', async () => {
    await using w = await workspace({ 'real/a.txt': 'a\n', 'real/b.txt': 'b\n', current: linkTo('real') })
    const before = w.files()
    await w.turn('Copy', () => {
      unlinkSync(w.pathOf('current'))
      mkdirSync(w.pathOf('current'))
      for (const name of ['a.txt', 'b.txt']) writeFileSync(w.pathOf(`current/${name}`), 'copy\n')
    })
    const after = w.files()
    isDone(await w.undo())
    expect(w.files()).toEqual(before)
    isDone(await w.redo())
    expect(w.files()).toEqual(after)
  })

  test.each([{ git: true }, { git: false }])(
    '[H105] [P4] [G8] a captured folder became a link: captures go on, undo brings the folder back (git: $git)',
    async ({ git }) => {
      await using w = await workspace({ 'lib/a.txt': 'a\n', 'other.txt': 'o\n' }, { git })
      const outside = `${w.base}/outside`
      mkdirSync(outside)
      writeFileSync(`${outside}/a.txt`, 'outside\n')
      if (git) {
        w.git('add', '.')
        w.git('commit', '-qm', 'first')
      }
      const { changes } = await w.turn('Link', () => {
        rmSync(w.pathOf('lib'), { recursive: true })
        symlinkSync(outside, w.pathOf('lib'))
      })
      expect(kindsOf(changes)).toEqual({ lib: 'add', 'lib/a.txt': 'delete' })
      w.userWrites({ 'other.txt': 'changed\n' })
      const seen = await w.workspace.capture()
      expect(kindsOf(seen.changes)).toEqual({ 'other.txt': 'modify' })
      isDone(await w.undo())
      expect(w.files()).toEqual({ 'lib/a.txt': 'a\n', 'other.txt': 'changed\n' })
      expect(readFileSync(`${outside}/a.txt`, 'utf8')).toBe('outside\n')
      isDone(await w.redo())
      expect(readlinkSync(w.pathOf('lib'))).toBe(outside)
      expect(readFileSync(`${outside}/a.txt`, 'utf8')).toBe('outside\n')
    },
  )
})

describe('size', () => {
  const limit = { maxUntrackedFileSize: 100 }
  const bytes = (count: number, letter = 'x') => letter.repeat(count)

  test('[H106] [G10] one byte over the limit is skipped with its size; exactly at the limit is captured', async () => {
    await using w = await workspace({ at: bytes(100), over: bytes(101) }, limit)
    const { skipped } = await w.workspace.capture()
    expect(skipped).toEqual([{ path: 'over', reason: 'too-large', size: 101 }])
    const { changes } = await w.turn('Edit', { at: bytes(100, 'y') })
    expect(pathsOf(changes)).toEqual(['at'])
  })

  test('[H106] [G11] a captured file that grows past the limit is still captured', async () => {
    await using w = await workspace({ grows: bytes(90) }, limit)
    await w.turn('Grow', { grows: bytes(5000, 'y') })
    isDone(await w.undo())
    expect(w.files()).toEqual({ grows: bytes(90) })
    isDone(await w.redo())
    expect(w.files()).toEqual({ grows: bytes(5000, 'y') })
  })

  test('[H106] [P4] [P9] [G12] what was never captured is neither deleted nor emptied, and is listed', async () => {
    await using w = await workspace(
      { 'old.bin': bytes(200), 'untouched.bin': bytes(150), shrinks: bytes(300) },
      limit,
    )
    const { skipped } = await w.turn('Write large files', {
      'new.bin': bytes(400),
      'old.bin': bytes(200, 'y'),
      shrinks: 'small',
      'a.txt': 'a\n',
    })
    expect(pathsOf(skipped)).toEqual(['new.bin', 'old.bin', 'untouched.bin'])
    const undone = await w.undo()
    expect(w.files()).toEqual({
      'new.bin': bytes(400),
      'old.bin': bytes(200, 'y'),
      'untouched.bin': bytes(150),
      shrinks: 'small',
    })
    expect(undone.notUndone.skipped).toEqual([
      { path: 'new.bin', reason: 'too-large', size: 400 },
      { path: 'old.bin', reason: 'too-large', size: 200 },
      { path: 'shrinks', reason: 'too-large', size: 300 },
    ])
  })

  test('[H106] [G12] a large file that the agent deleted cannot come back, and is listed', async () => {
    await using w = await workspace({ 'old.bin': bytes(200), 'a.txt': 'a\n' }, limit)
    await w.turn('Tidy', { 'old.bin': null, 'a.txt': 'b\n' })
    const undone = await w.undo()
    expect(w.files()).toEqual({ 'a.txt': 'a\n' })
    expect(undone.notUndone.skipped).toEqual([{ path: 'old.bin', reason: 'too-large', size: 200 }])
  })
})

describe('size of named paths', () => {
  test('[H106] [reading R10] [G12] a path that a tool names is captured at any size', async () => {
    await using w = await workspace({ 'large.bin': 'x'.repeat(500) }, { maxUntrackedFileSize: 100 })
    const turn = await w.beginTurn('Edit')
    await w.step(turn, { 'large.bin': 'y'.repeat(600) }, { paths: ['large.bin'] })
    await w.step(turn, { 'new.bin': 'z'.repeat(600) }, { paths: ['new.bin'] })
    await w.workspace.endTurn(turn)
    const undone = await w.undo()
    isDone(undone)
    expect(w.files()).toEqual({ 'large.bin': 'x'.repeat(500) })
    expect(undone.notUndone.skipped).toEqual([])
  })
})

describe('folders', () => {
  test('[H107] [G13] an empty folder that got a file from the agent is empty again, and still there', async () => {
    await using w = await workspace({ 'empty/': emptyFolder, 'a.txt': 'a\n' })
    const before = everything(w)
    await w.turn('Fill', { 'empty/new.txt': 'new\n', 'made/deep/new.txt': 'new\n' })
    isDone(await w.undo())
    expect(everything(w)).toEqual(before)
  })

  test('[H107] [G13] a folder that had a file before stays, also if the user deletes that file', async () => {
    await using w = await workspace({ 'dir/users.txt': 'u\n' })
    await w.turn('Add', { 'dir/agents.txt': 'a\n' })
    w.userWrites({ 'dir/users.txt': null })
    isDone(await w.undo())
    expect(w.files()).toEqual({ dir: '/' })
  })

  test('[H107] [P6] [G14] removed folders come back, the empty one and the private one with its mode', async () => {
    await using w = await workspace({
      'a.txt': 'a\n',
      empty: emptyFolder,
      'private/key': withMode('key\n', 0o600),
    })
    chmodSync(w.pathOf('private'), 0o700)
    await w.workspace.capture()
    await thereAndBack(w, () => {
      rmdirSync(w.pathOf('empty'))
      rmSync(w.pathOf('private'), { recursive: true })
    })
  })

  test('[H107] [G14] a mode of a folder that the agent changed goes back', async () => {
    await using w = await workspace({ 'dir/a.txt': 'a\n', empty: emptyFolder })
    await thereAndBack(w, () => {
      chmodSync(w.pathOf('dir'), 0o700)
      chmodSync(w.pathOf('empty'), 0o711)
    })
  })
})

describe('names', () => {
  const odd = [
    ' space ',
    'tab\there',
    'new\nline',
    'quo"te',
    "quo'te",
    'back\\slash',
    '-rf',
    ':(top)x',
    '#hash',
    '!not',
  ]

  test('[H108] [P6] [G15] names that a shell or git would take for something else are plain names', async () => {
    const files = Object.fromEntries(odd.map((name) => [name, `${name}\n`.repeat(3)]))
    await using w = await workspace(files)
    await thereAndBack(w, () => w.userWrites(Object.fromEntries(odd.map((name) => [name, 'edited\n']))))
    await thereAndBack(w, () => w.userWrites(Object.fromEntries(odd.map((name) => [name, null]))))
    await thereAndBack(w, () => w.userWrites(Object.fromEntries(odd.map((name) => [`new/${name}`, 'new\n']))))
  })

  test('[H108] [P11] [G16] a name with a star means itself only', async () => {
    await using w = await workspace({ 'star.txt': 'user\n', 'str.txt': 'user\n' })
    await w.turn('Add', { 'st*r.txt': 'agent\n', '[a-z].txt': 'agent\n', 's?r.txt': 'agent\n' })
    const undone = await w.undo()
    expect(pathsOf(undone.files)).toEqual(['[a-z].txt', 's?r.txt', 'st*r.txt'])
    expect(w.files()).toEqual({ 'star.txt': 'user\n', 'str.txt': 'user\n' })
  })

  test('[H108] [P6] [G17] names that are not UTF-8, and normal forms of one name, stay what they are', async () => {
    const names = ['caf\xe9', 'a\xffb/\xfe', '\xc3\xa9', 'e\xcc\x81', '\xf0\x9f\x98\x80', '\xed\xa0\x80']
    await using w = await workspace({ 'a.txt': 'a\n' })
    const at = (name: string) => Buffer.from(`${w.dir}/${name}`, 'latin1')
    mkdirSync(at('a\xffb'))
    for (const name of names) writeFileSync(at(name), `old ${name}\n`, 'latin1')
    await w.workspace.capture()
    const before = everything(w)
    const { changes } = await w.turn('Edit', () => {
      for (const name of names) writeFileSync(at(name), `new ${name}\n`, 'latin1')
    })
    expect(pathsOf(changes)).toEqual([...names].sort())
    const undone = await w.undo()
    expect(everything(w)).toEqual(before)

    const json = JSON.parse(JSON.stringify({ changes: changes.map(changeJson), ...outcomeJson(undone) }))
    expect(json.changes.map((change: { path: string }) => bytesOfText(change.path))).toEqual(
      [...names].sort(),
    )
    expect(json.files.map((file: { path: string }) => bytesOfText(file.path))).toEqual([...names].sort())
    expect(new Set(json.files.map((file: { path: string }) => file.path)).size).toBe(names.length)

    await thereAndBack(w, () => {
      for (const name of names) rmSync(at(name))
      rmdirSync(at('a\xffb'))
    })
  })

  test('[H108] [G17] an edit tool can name a path that is not UTF-8', async () => {
    await using w = await workspace({ 'a.txt': 'a\n' })
    const place = Buffer.from(`${w.dir}/caf\xe9`, 'latin1')
    writeFileSync(place, 'old\n')
    await w.workspace.capture()
    const turn = await w.beginTurn('Edit')
    const changes = await w.step(turn, () => writeFileSync(place, 'new\n'), { paths: ['caf\xe9'] })
    expect(changes).toMatchObject([{ path: 'caf\xe9', certainty: 'exact', kind: 'modify' }])
    await w.workspace.endTurn(turn)
    await w.reopen()
    isDone(await w.undo())
    expect(readFileSync(place, 'utf8')).toBe('old\n')
  })

  test('[H108] [G18] a name of 255 bytes and a path of more than 1,000 characters', async () => {
    const longest = 'n'.repeat(255)
    const deep = Array.from({ length: 9 }, (_, i) => `${i}`.repeat(120)).join('/')
    await using w = await workspace({ [longest]: 'old\n', [`${deep}/${longest}`]: 'old\n' })
    await thereAndBack(w, () => w.userWrites({ [longest]: 'new\n', [`${deep}/${longest}`]: 'new\n' }))
    await thereAndBack(w, () => w.userWrites({ [longest]: null, [`${deep}/${longest}`]: null }))
  })
})

describe('repositories inside', () => {
  const gitIn = (w: Fixture, folder: string, ...args: string[]) => w.git('-C', folder, ...args)

  test.each([{ commits: 0 }, { commits: 1 }])(
    '[H109] [P5] [G19] a nested repository with $commits commits is a plain folder, and its .git is never written',
    async ({ commits }) => {
      await using w = await workspace({ 'a.txt': 'a\n' }, { git: true })
      w.userWrites({ 'nested/f.txt': 'old\n', 'nested/deep/g.txt': 'old\n' })
      gitIn(w, 'nested', 'init', '-q', '-b', 'main')
      if (commits > 0) {
        gitIn(w, 'nested', 'add', '.')
        gitIn(w, 'nested', 'commit', '-qm', 'first')
      }
      const { skipped } = await w.workspace.capture()
      expect(skipped).toEqual([{ path: 'nested/.git', reason: 'nested-git' }])
      const before = everything(w)
      const { changes } = await w.turn('Edit', {
        'nested/f.txt': 'new\n',
        'nested/deep/g.txt': null,
        'nested/h.txt': 'h\n',
      })
      expect(kindsOf(changes)).toEqual({
        'nested/f.txt': 'modify',
        'nested/deep/g.txt': 'delete',
        'nested/h.txt': 'add',
      })
      isDone(await w.undo())
      expect(everything(w)).toEqual(before)
    },
  )

  test('[H109] [P4] [P9] [G20] a repository that the agent cloned goes, the file of the user and the .git in it stay', async () => {
    await using w = await workspace({ 'a.txt': 'a\n' })
    const source = `${w.base}/source`
    mkdirSync(source)
    w.git('init', '-q', '-b', 'main', source)
    writeFileSync(`${source}/theirs.txt`, 'theirs\n')
    w.git('-C', source, 'add', '.')
    w.git('-C', source, 'commit', '-qm', 'first')
    const { skipped } = await w.turn('Clone', () => void w.git('clone', '-q', source, 'clone'))
    expect(skipped).toEqual([{ path: 'clone/.git', reason: 'nested-git' }])
    const git = describeFolder(w.pathOf('clone/.git'))
    w.userWrites({ 'clone/mine.txt': 'mine\n' })
    const undone = await w.undo()
    isDone(undone)
    expect(w.files()).toEqual({ 'a.txt': 'a\n', 'clone/mine.txt': 'mine\n' })
    expect(describeFolder(w.pathOf('clone/.git'))).toEqual(git)
    expect(undone.notUndone.skipped).toEqual([{ path: 'clone/.git', reason: 'nested-git' }])
    expect((await w.workspace.capture()).changes).toEqual([])
  })

  test('[H109] [P5] [G21] in a submodule the file goes back and HEAD is not moved', async () => {
    await using w = await workspace({ 'a.txt': 'a\n' }, { git: true })
    const source = `${w.base}/source`
    mkdirSync(source)
    w.git('init', '-q', '-b', 'main', source)
    writeFileSync(`${source}/sub.txt`, 'old\n')
    w.git('-C', source, 'add', '.')
    w.git('-C', source, 'commit', '-qm', 'first')
    w.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', source, 'sub')
    w.git('add', '.')
    w.git('commit', '-qm', 'with submodule')
    await w.turn('Commit inside', () => {
      w.userWrites({ 'sub/sub.txt': 'new\n' })
      gitIn(w, 'sub', 'commit', '-qam', 'inside')
    })
    const head = gitIn(w, 'sub', 'rev-parse', 'HEAD')
    isDone(await w.undo())
    expect(w.files()).toMatchObject({ 'sub/sub.txt': 'old\n' })
    expect(gitIn(w, 'sub', 'rev-parse', 'HEAD')).toBe(head)
    isDone(await w.redo())
    expect(w.files()).toMatchObject({ 'sub/sub.txt': 'new\n' })
  })

  test('[H110] [P5] [P11] [G22] undo in one of two linked worktrees leaves the other one and its history alone', async () => {
    await using w = await workspace({ 'a.txt': 'main\n' }, { git: true })
    w.git('add', '.')
    w.git('commit', '-qm', 'first')
    const other = `${w.base}/other`
    w.git('worktree', 'add', '-q', other)
    await using second = await openWorkspace(other, { explicit: true, env: w.env })
    await second.capture()
    const session = w.session
    const { turn } = await second.beginTurn({ session, agent: 'other' })
    writeFileSync(`${other}/a.txt`, 'other\n')
    await second.endTurn(turn)
    await w.turn('Edit', { 'a.txt': 'agent\n' })
    const git = describeFolder(w.pathOf('.git'))

    isDone(await w.undo())

    expect(w.files()).toEqual({ 'a.txt': 'main\n' })
    expect(readFileSync(`${other}/a.txt`, 'utf8')).toBe('other\n')
    expect(describeFolder(w.pathOf('.git'))).toEqual(git)
    expect(second.index.findSession(session)?.head).toEqual({ turn })
    expect(await second.undo({ session })).toMatchObject({ kind: 'done', reverted: [turn] })
    expect(readFileSync(`${other}/a.txt`, 'utf8')).toBe('main\n')
  })
})

describe('changes of place and kind', () => {
  test('[H111] [G23] a change of case only goes back to the old spelling', async () => {
    await using w = await workspace({ 'Readme.md': 'text\n', 'Dir/a.txt': 'a\n' })
    await thereAndBack(w, () => {
      renameSync(w.pathOf('Readme.md'), w.pathOf('README.md'))
      renameSync(w.pathOf('Dir'), w.pathOf('dir'))
    })
  })

  test('[H112] [G24] in one turn a file becomes a folder and a folder a file', async () => {
    await using w = await workspace({ one: 'one\n', 'two/a.txt': 'a\n', 'two/deep/b.txt': 'b\n' })
    await thereAndBack(w, () => {
      w.userWrites({ one: null, two: null })
      w.userWrites({ 'one/new.txt': 'new\n', two: 'two\n' })
    })
  })

  test('[H112] [P3] [G24] with a file of the user in the new folder nothing is changed', async () => {
    await using w = await workspace({ one: 'one\n', 'two/a.txt': 'a\n' })
    await w.turn('Swap', () => {
      w.userWrites({ one: null, two: null })
      w.userWrites({ 'one/new.txt': 'new\n', two: 'two\n' })
    })
    w.userWrites({ 'one/mine.txt': 'mine\n' })
    const before = everything(w)
    expect(await w.undo()).toMatchObject({ kind: 'conflicts' })
    expect(everything(w)).toEqual(before)
  })

  test('[H113] [G25] of two hard-linked names, edited in place through one, both get their old bytes', async () => {
    await using w = await workspace({ 'one.txt': 'old\n' })
    linkSync(w.pathOf('one.txt'), w.pathOf('two.txt'))
    await w.workspace.capture()
    const { changes } = await w.turn('Edit', () => writeFileSync(w.pathOf('one.txt'), 'new\n'))
    expect(pathsOf(changes)).toEqual(['one.txt', 'two.txt'])
    isDone(await w.undo())
    expect(w.files()).toEqual({ 'one.txt': 'old\n', 'two.txt': 'old\n' })
  })

  test('[H115] [G27] swapped names, a chain of renames and a rename over a file are put back', async () => {
    const text = (word: string) => `${word}\n`.repeat(20)
    await using w = await workspace({
      a: text('a'),
      b: text('b'),
      c1: text('c1'),
      c2: text('c2'),
      c3: text('c3'),
      over: text('over'),
      under: text('under'),
    })
    const move = (from: string, to: string) => renameSync(w.pathOf(from), w.pathOf(to))
    await thereAndBack(w, () => {
      move('a', 'tmp')
      move('b', 'a')
      move('tmp', 'b')
      move('c3', 'c4')
      move('c2', 'c3')
      move('c1', 'c2')
      move('over', 'under')
    })
  })
})

describe('special files', () => {
  test('[H114] [P4] [P9] [G26] a pipe, a socket and a device are listed, never opened, never deleted', {
    timeout: 15_000,
  }, async () => {
    await using w = await workspace({ 'a.txt': 'a\n', gone: 'was a file\n' })
    await using _ = await listening(w.pathOf('socket'))
    execFileSync('mkfifo', [w.pathOf('pipe')])
    const hasDevice = process.getuid?.() === 0
    if (hasDevice) execFileSync('mknod', [w.pathOf('device'), 'c', '1', '3'])
    const special = ['pipe', 'socket', ...(hasDevice ? ['device'] : [])].sort()
    const { skipped, changes } = await w.workspace.capture()
    expect(changes).toEqual([])
    expect(skipped).toEqual(special.map((path) => ({ path, reason: 'special' })))

    await w.turn('Work', () => {
      w.userWrites({ 'a.txt': 'b\n', gone: null })
      execFileSync('mkfifo', [w.pathOf('gone'), w.pathOf('new-pipe')])
    })
    const turn = await w.beginTurn('Name it')
    await w.step(turn, { 'a.txt': 'c\n' }, { paths: ['pipe', 'a.txt'] })
    await w.workspace.endTurn(turn)
    isDone(await w.undo())
    const refused = await w.undo()
    expect(refused).toMatchObject({ kind: 'conflicts', conflicts: [{ path: 'gone', kind: 'uncaptured' }] })
    const kept = await w.undo({ onConflict: 'keep' })
    expect(pathsOf(kept.notUndone.skipped)).toEqual(['gone', 'new-pipe'])
    for (const path of [...special, 'gone', 'new-pipe']) expect(existsSync(w.pathOf(path)), path).toBe(true)
    expect(readFileSync(w.pathOf('a.txt'), 'utf8')).toBe('a\n')
  })

  test('[H114] [G26] overwriting does not delete a pipe either', { timeout: 15_000 }, async () => {
    await using w = await workspace({ 'a.txt': 'a\n' })
    await w.turn('Replace', () => {
      w.userWrites({ 'a.txt': null })
      execFileSync('mkfifo', [w.pathOf('a.txt')])
    })
    const outcome = await w.undo({ onConflict: 'overwrite' })
    expect(outcome.conflicts).toMatchObject([{ path: 'a.txt', kind: 'uncaptured' }])
    expect(lstatSync(w.pathOf('a.txt')).isFIFO()).toBe(true)
  })
})

async function listening(path: string): Promise<AsyncDisposable> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(path, resolve))
  return { [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) }
}
