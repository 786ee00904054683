import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Files, Fixture, type FixtureOptions, workspace } from '../testing/workspace.ts'
import type { TurnId } from '../values.ts'
import type { Outcome } from './outcome.ts'

const isDone = (outcome: Outcome) => expect(outcome).toMatchObject({ kind: 'done', conflicts: [] })

const pathsOf = (list: readonly { readonly path: string }[]) => list.map(({ path }) => path)

/** A repository with one commit, or as `prepare` leaves it, that was captured once after that. */
async function repository(
  files: Files,
  prepare: (w: Fixture) => void = () => {},
  options: FixtureOptions = {},
): Promise<Fixture> {
  const w = new Fixture(options)
  w.git('init', '-q', '-b', 'main')
  w.userWrites(files)
  prepare(w)
  await w.open()
  await w.workspace.capture()
  return w
}

function commitAll(w: Fixture, message = 'first'): string {
  w.git('add', '-A')
  w.git('commit', '-q', '--allow-empty', '-m', message)
  return w.git('rev-parse', 'HEAD')
}

/** Everything packed, and an index that vouches for every file: the first capture can borrow all of it. */
function commitCleanly(w: Fixture): void {
  commitAll(w)
  w.git('repack', '-adq')
  const old = new Date('2020-01-01T00:00:00Z')
  for (const name of w.git('ls-files', '-z').split('\0').filter(Boolean))
    if (existsSync(w.pathOf(name))) utimesSync(w.pathOf(name), old, old)
  w.git('status', '--porcelain')
  w.git('update-index', '-q', '--refresh')
}

/** Whether the store took over a pack of the user's. */
function hasBorrowed(w: Fixture): boolean {
  const packs = readdirSync(`${w.workspace.engine.folders.objects}/objects/pack`)
  return packs.some((name) => name.endsWith('.keep'))
}

/** Every file and folder with bytes, mode and time. */
function imprint(folder: string): Record<string, string> {
  const found: Record<string, string> = {}
  const note = (path: string): void => {
    const stat = lstatSync(path, { bigint: true })
    const bytes = stat.isSymbolicLink() ? readlinkSync(path) : stat.isFile() ? readFileSync(path) : ''
    const hash = createHash('sha1').update(bytes).digest('hex')
    found[path] = `${stat.mode.toString(8)} ${stat.mtimeNs} ${stat.ino} ${hash}`
    if (stat.isDirectory()) for (const name of readdirSync(path)) note(join(path, name))
  }
  note(folder)
  return found
}

const gitImprint = (w: Fixture) => imprint(w.pathOf('.git'))

describe('with and without a repository', () => {
  test('[H130] [I1] without any git, turns, undo, redo, restore and rollback work', async () => {
    await using w = await workspace({ 'a.txt': '1\n' })
    const first = await w.turn('Two', { 'a.txt': '2\n', 'b.txt': 'b\n' })
    await w.turn('Three', { 'a.txt': '3\n' })
    isDone(await w.undo())
    expect(w.files()).toEqual({ 'a.txt': '2\n', 'b.txt': 'b\n' })
    isDone(await w.redo())
    isDone(await w.restore(first.turn))
    expect(w.files()).toEqual({ 'a.txt': '1\n' })
    isDone(await w.redo({ all: true }))
    expect(w.files()).toEqual({ 'a.txt': '3\n', 'b.txt': 'b\n' })
    isDone(await w.rollback({ paths: ['b.txt' as never] }))
    expect(w.files()).toEqual({ 'a.txt': '3\n' })
    expect(await w.undo({ git: true })).toMatchObject({ git: { moved: false } })
  })

  test('[H131] [I2] [reading R12] git init in the middle of a session does not make it another workspace', async () => {
    await using w = await workspace({ 'a.txt': '1\n' })
    await w.turn('Two', { 'a.txt': '2\n' })
    await w.turn('Init', () => {
      w.git('init', '-q', '-b', 'main')
    })
    await w.turn('Commit', () => {
      w.userWrites({ 'a.txt': '3\n' })
      commitAll(w)
    })
    await w.reopen()
    isDone(await w.undo({ turns: 3 }))
    expect(w.files()).toEqual({ 'a.txt': '1\n' })
  })

  test('[H131] [I2] a repository without a commit, then with one by the agent', async () => {
    await using w = await repository({ 'a.txt': '1\n' })
    const { turn } = await w.turn('Commit', () => {
      w.userWrites({ 'a.txt': '2\n' })
      commitAll(w, 'the first one')
    })
    const outcome = await w.undo({ git: true })
    expect(outcome).toMatchObject({ kind: 'done', reverted: [turn], git: { moved: false } })
    expect(outcome.notUndone.commits).toMatchObject([{ subject: 'the first one' }])
    expect(w.files()).toEqual({ 'a.txt': '1\n' })
  })

  test('[H131] [I2] a detached HEAD', async () => {
    await using w = await repository({ 'a.txt': '1\n' }, (one) => {
      commitAll(one)
      one.git('checkout', '-q', '--detach')
    })
    await w.turn('Edit', { 'a.txt': '2\n' })
    isDone(await w.undo())
    expect(w.files()).toEqual({ 'a.txt': '1\n' })
  })
})

describe('a repository in the middle of something', () => {
  test('[H132] [P5] [I3] a stale index.lock stops nothing and stays', async () => {
    await using w = await repository({ 'a.txt': '1\n' }, (one) => {
      commitAll(one)
      one.userWrites({ '.git/index.lock': '' })
    })
    await w.turn('Edit', { 'a.txt': '2\n' })
    const git = gitImprint(w)
    isDone(await w.undo())
    expect(w.files()).toEqual({ 'a.txt': '1\n' })
    expect(gitImprint(w)).toEqual(git)
  })

  test.each(['merge', 'rebase'] as const)(
    '[H132] [P5] [I3] a %s with unmerged paths goes on as if nothing had happened',
    async (kind) => {
      await using w = await repository({ 'a.txt': 'base\n', 'b.txt': 'b\n' }, (one) => {
        commitAll(one)
        one.git('checkout', '-qb', 'side')
        one.userWrites({ 'a.txt': 'side\n' })
        commitAll(one, 'side')
        one.git('checkout', '-q', 'main')
        one.userWrites({ 'a.txt': 'main\n' })
        commitAll(one, 'main')
        expect(() => one.git(kind, 'side')).toThrow()
      })
      const conflicted = w.files()
      expect(w.git('ls-files', '-u')).not.toBe('')
      const git = gitImprint(w)
      await w.turn('Resolve', { 'a.txt': 'resolved\n', 'b.txt': null })
      isDone(await w.undo())
      expect(w.files()).toEqual(conflicted)
      isDone(await w.redo())
      expect(w.files()).toEqual({ 'a.txt': 'resolved\n' })
      expect(gitImprint(w)).toEqual(git)
    },
  )

  test('[H133] [P5] [I4] staged and unstaged edits of one file: the index is byte-identical throughout', async () => {
    await using w = await repository({ 'a.txt': 'committed\n' }, (one) => {
      commitAll(one)
      one.userWrites({ 'a.txt': 'staged\n' })
      one.git('add', 'a.txt')
      one.userWrites({ 'a.txt': 'unstaged\n' })
    })
    const git = gitImprint(w)
    await w.turn('Edit', { 'a.txt': 'agent\n' })
    isDone(await w.undo())
    expect(w.files()).toEqual({ 'a.txt': 'unstaged\n' })
    isDone(await w.redo())
    isDone(await w.undo())
    expect(gitImprint(w)).toEqual(git)
    expect(w.git('show', ':a.txt')).toBe('staged')
  })

  test('[H134] [I5] with a sparse checkout absent paths are no deletions and do not come onto the disk', async () => {
    await using w = await repository({ 'in/a.txt': 'a\n', 'out/b.txt': 'b\n', 'root.txt': 'r\n' }, (one) => {
      commitAll(one)
      one.git('sparse-checkout', 'set', 'in')
    })
    expect(w.files()).toEqual({ 'in/a.txt': 'a\n', 'root.txt': 'r\n' })
    const { changes } = await w.turn('Edit', { 'in/a.txt': 'agent\n', 'in/new.txt': 'new\n' })
    expect(pathsOf(changes)).toEqual(['in/a.txt', 'in/new.txt'])
    isDone(await w.undo())
    expect(w.files()).toEqual({ 'in/a.txt': 'a\n', 'root.txt': 'r\n' })
  })

  test('[H137] [I8] files marked assume-unchanged or skip-worktree are seen all the same', async () => {
    await using w = await repository({ 'assumed.txt': '1\n', 'skipped.txt': '1\n' }, (one) => {
      commitCleanly(one)
      one.git('update-index', '--assume-unchanged', 'assumed.txt')
      one.git('update-index', '--skip-worktree', 'skipped.txt')
      one.userWrites({ 'assumed.txt': '2\n', 'skipped.txt': '2\n' })
    })
    const { changes } = await w.turn('Edit', { 'assumed.txt': '3\n', 'skipped.txt': '3\n' })
    expect(pathsOf(changes)).toEqual(['assumed.txt', 'skipped.txt'])
    isDone(await w.undo())
    expect(w.files()).toEqual({ 'assumed.txt': '2\n', 'skipped.txt': '2\n' })
  })
})

/** As if by smudge: turns letters by 13 places, so that the size stays the same. */
const rot13 = (text: string) =>
  text.replace(/[a-z]/g, (letter) => String.fromCharCode(((letter.charCodeAt(0) - 97 + 13) % 26) + 97))

describe('conversions', () => {
  const converting: Files = {
    '.gitattributes':
      'auto.txt text=auto\ncrlf.txt text eol=crlf\nlf.txt text eol=lf\nid.c ident\nwide.txt working-tree-encoding=UTF-16LE text eol=lf\n*.rot filter=rot -text\n',
    'auto.txt': 'one\r\ntwo\r\n',
    'mixed.txt': 'one\r\ntwo\nthree\r',
    'crlf.txt': 'one\ntwo\n',
    'lf.txt': 'one\ntwo\n',
    'id.c': '$Id$\nmain\n',
    'wide.txt': Buffer.from('wide text\n', 'utf16le'),
    'word.rot': 'secret words\n',
  }

  function convert(w: Fixture): void {
    w.git('config', 'core.autocrlf', 'true')
    const filter = `sh -c 'touch "${w.base}/filter-ran"; tr a-z n-za-m'`
    w.git('config', 'filter.rot.clean', filter)
    w.git('config', 'filter.rot.smudge', filter)
    commitAll(w)
    // Checked out anew, the disk has what git makes of the blobs.
    for (const name of w.git('ls-files', '-z').split('\0').filter(Boolean))
      if (!name.endsWith('.gitattributes')) rmSync(w.pathOf(name))
    w.git('checkout', '-q', '--', '.')
    w.git('repack', '-adq')
    const old = new Date('2020-01-01T00:00:00Z')
    for (const name of w.git('ls-files', '-z').split('\0').filter(Boolean))
      utimesSync(w.pathOf(name), old, old)
    w.git('update-index', '-q', '--refresh')
  }

  test.each(['edits', 'deletes'] as const)(
    '[H135] [H136] [P6] [P10] [I6] [I7] the agent %s files that git converts: the bytes that were on disk come back, and no filter runs',
    async (how) => {
      await using w = await repository(converting, (one) => {
        convert(one)
        rmSync(`${one.base}/filter-ran`)
      })
      const before = w.files()
      expect(before).toMatchObject({
        'auto.txt': 'one\r\ntwo\r\n',
        'crlf.txt': 'one\r\ntwo\r\n',
        'word.rot': 'secret words\n',
      })
      expect(before['id.c']).toMatch(/^\$Id: [0-9a-f]{40} \$\r?\nmain\r?\n$/)
      expect(w.git('cat-file', 'blob', ':word.rot')).toBe(rot13('secret words'))
      rmSync(`${w.base}/filter-ran`, { force: true })
      const names = Object.keys(converting).filter((name) => name !== '.gitattributes')
      await w.turn(
        'Touch them all',
        Object.fromEntries(names.map((name) => [name, how === 'edits' ? 'new\n' : null])),
      )
      isDone(await w.undo())
      expect(w.files()).toEqual(before)
      isDone(await w.redo())
      isDone(await w.undo())
      expect(w.files()).toEqual(before)
      expect(existsSync(`${w.base}/filter-ran`)).toBe(false)
    },
  )

  test.each([
    ['in .gitattributes', () => {}],
    ['in .gitattributes, which is missing on disk', (w: Fixture) => rmSync(w.pathOf('sub/.gitattributes'))],
    [
      'in an ignored .gitattributes',
      (w: Fixture) => {
        w.git('rm', '-q', '--cached', 'sub/.gitattributes')
        w.git('commit', '-qm', 'untracked attributes')
        w.userWrites({ '.git/info/exclude': '.gitattributes\n' })
      },
    ],
    [
      'in info/attributes',
      (w: Fixture) => {
        w.userWrites({ '.git/info/attributes': '*.rot filter=rot -text\n' })
        w.git('rm', '-qf', 'sub/.gitattributes')
        w.git('commit', '-qm', 'none')
      },
    ],
  ] as const)(
    '[H136] [P6] [I7] at a first capture that borrows, a filter that keeps the size and stands %s is noticed',
    async (_, prepare) => {
      const files = {
        'sub/.gitattributes': '*.rot filter=rot -text\n',
        'sub/word.rot': 'secret words\n',
        'plain.bin': Buffer.from([0, 1, 2, 3]),
      }
      await using w = await repository(files, (one) => {
        convert(one)
        prepare(one)
      })
      expect(hasBorrowed(w)).toBe(true)
      expect(w.git('cat-file', 'blob', ':sub/word.rot')).toBe(rot13('secret words'))
      await w.turn('Delete', { 'sub/word.rot': null, 'plain.bin': null })
      isDone(await w.undo())
      expect(readFileSync(w.pathOf('sub/word.rot'), 'utf8')).toBe('secret words\n')
      expect(readFileSync(w.pathOf('plain.bin'))).toEqual(Buffer.from([0, 1, 2, 3]))
    },
  )
})

describe('commits and branches', () => {
  async function committed(): Promise<{ w: Fixture; base: string; tip: string; turn: TurnId }> {
    const w = await repository({ 'a.txt': '1\n' }, (one) => void commitAll(one))
    const base = w.git('rev-parse', 'HEAD')
    const { turn } = await w.turn('Commit twice', () => {
      w.userWrites({ 'a.txt': '2\n' })
      commitAll(w, 'second')
      w.userWrites({ 'b.txt': 'b\n' })
      commitAll(w, 'third')
    })
    return { w, base, tip: w.git('rev-parse', 'HEAD'), turn }
  }

  test('[H138] [P5] [I9] commits of the agent are told, and HEAD, branch and index stay', async () => {
    const { w: made, tip } = await committed()
    await using w = made
    const git = gitImprint(w)
    const outcome = await w.undo()
    isDone(outcome)
    expect(w.files()).toEqual({ 'a.txt': '1\n' })
    expect(outcome.notUndone.commits.map(({ subject }) => subject)).toEqual(['third', 'second'])
    expect(outcome.notUndone.commits[0]?.id).toBe(tip)
    expect(gitImprint(w)).toEqual(git)
  })

  test('[H139] [I10] undo --git moves the branch back to the commit before the turn, and nothing else', async () => {
    const { w: made, base, tip } = await committed()
    await using w = made
    const index = readFileSync(w.pathOf('.git/index'))
    const outcome = await w.undo({ git: true })
    isDone(outcome)
    expect(outcome.git).toEqual({ moved: true, branch: 'refs/heads/main', from: tip, to: base })
    expect(w.git('rev-parse', 'HEAD')).toBe(base)
    expect(w.git('symbolic-ref', 'HEAD')).toBe('refs/heads/main')
    expect(readFileSync(w.pathOf('.git/index'))).toEqual(index)
    expect(w.files()).toEqual({ 'a.txt': '1\n' })
    expect(w.git('cat-file', '-t', tip)).toBe('commit')
    expect(w.git('reflog', '-1', '--format=%gs', 'main')).toMatch(/unturn/)
  })

  const interventions: readonly (readonly [string, (w: Fixture) => void, RegExp])[] = [
    ['a commit of the user on top', (w: Fixture) => void commitAll(w, 'mine'), /moved on/],
    [
      'a push',
      (w: Fixture) => {
        w.git('init', '-q', '--bare', `${w.base}/remote`)
        w.git('remote', 'add', 'origin', `${w.base}/remote`)
        w.git('push', '-q', 'origin', 'main')
      },
      /pushed/,
    ],
    ['a detached HEAD', (w: Fixture) => w.git('checkout', '-q', '--detach'), /not checked out/],
    ['another branch', (w: Fixture) => w.git('checkout', '-qb', 'other'), /not checked out/],
    [
      'a merge in progress',
      (w: Fixture) => w.userWrites({ '.git/MERGE_HEAD': `${w.git('rev-parse', 'HEAD')}\n` }),
      /merge/,
    ],
    [
      'a rebase in progress',
      (w: Fixture) => w.userWrites({ '.git/rebase-merge/head-name': 'x\n' }),
      /rebase/,
    ],
    ['an amended commit', (w: Fixture) => w.git('commit', '-q', '--amend', '-m', 'amended'), /moved on/],
  ]

  test.each(interventions)(
    '[H139] [P5] [I10] undo --git after %s: the files go back, the branch stays, and why is said',
    async (_, meanwhile, reason) => {
      const { w: made } = await committed()
      await using w = made
      meanwhile(w)
      const git = gitImprint(w)
      const outcome = await w.undo({ git: true })
      isDone(outcome)
      expect(outcome.git).toEqual({ moved: false, reason: expect.stringMatching(reason) })
      expect(gitImprint(w)).toEqual(git)
      expect(w.files()).toEqual({ 'a.txt': '1\n' })
    },
  )

  test('[H139] [P10] [I10] moving the branch runs no hook of the repository', async () => {
    const { w: made, base } = await committed()
    await using w = made
    const hook = `#!/bin/sh\ntouch "${w.base}/hook-ran"\n`
    mkdirSync(w.pathOf('.git/hooks'), { recursive: true })
    writeFileSync(w.pathOf('.git/hooks/reference-transaction'), hook, { mode: 0o755 })
    const outcome = await w.undo({ git: true })
    expect(outcome.git).toMatchObject({ moved: true })
    expect(existsSync(`${w.base}/hook-ran`)).toBe(false)
    expect(w.git('-c', 'core.hooksPath=/dev/null', 'rev-parse', 'HEAD')).toBe(base)
  })

  test('[H139] [P5] [I10] a commit of the user between two undone turns keeps the branch where it is', async () => {
    const { w: made } = await committed()
    await using w = made
    w.userWrites({ 'mine.txt': 'mine\n' })
    commitAll(w, 'mine')
    await w.turn('Commit again', () => {
      w.userWrites({ 'a.txt': '3\n' })
      commitAll(w, 'fourth')
    })
    const git = gitImprint(w)
    const outcome = await w.undo({ turns: 2, git: true })
    isDone(outcome)
    expect(outcome.git).toEqual({ moved: false, reason: expect.stringMatching(/in between/) })
    expect(gitImprint(w)).toEqual(git)
    expect(w.files()).toEqual({ 'a.txt': '1\n', 'mine.txt': 'mine\n' })
  })

  test('[H139] [I10] two turns in a row: the branch goes back over the commits of both', async () => {
    const { w: made, base } = await committed()
    await using w = made
    await w.turn('Commit again', () => {
      w.userWrites({ 'a.txt': '3\n' })
      commitAll(w, 'fourth')
    })
    const outcome = await w.undo({ turns: 2, git: true })
    expect(outcome.git).toMatchObject({ moved: true, to: base })
    expect(w.git('rev-parse', 'main')).toBe(base)
  })

  test('[H139] [P5] [I10] [I11] a branch that the turn only switched to keeps its commits', async () => {
    await using w = await repository({ 'a.txt': '1\n' }, (one) => {
      commitAll(one)
      one.git('checkout', '-qb', 'other')
      one.userWrites({ 'a.txt': 'other\n' })
      commitAll(one, 'other')
      one.git('checkout', '-q', 'main')
    })
    await w.turn('Switch', () => {
      w.git('checkout', '-q', 'other')
    })
    const git = gitImprint(w)
    const outcome = await w.undo({ git: true })
    isDone(outcome)
    expect(outcome.git).toMatchObject({ moved: false })
    expect(gitImprint(w)).toEqual(git)
  })

  test('[H139] [N1] a dry run with --git moves no branch', async () => {
    const { w: made } = await committed()
    await using w = made
    const git = gitImprint(w)
    expect(await w.undo({ git: true, dryRun: true })).toMatchObject({ kind: 'planned' })
    expect(gitImprint(w)).toEqual(git)
  })

  test.each([
    ['created', (w: Fixture) => w.git('checkout', '-qb', 'feature'), 'refs/heads/feature'],
    ['detached', (w: Fixture) => w.git('checkout', '-q', '--detach'), null],
  ] as const)(
    '[H140] [P5] [I11] the agent switched to what it %s: files back, HEAD not moved, and said so',
    async (_, change, to) => {
      await using w = await repository({ 'a.txt': '1\n' }, (one) => void commitAll(one))
      await w.turn('Switch', () => {
        change(w)
        w.userWrites({ 'a.txt': '2\n' })
      })
      const git = gitImprint(w)
      const outcome = await w.undo()
      isDone(outcome)
      expect(w.files()).toEqual({ 'a.txt': '1\n' })
      expect(gitImprint(w)).toEqual(git)
      expect(outcome.notUndone.branch).toEqual({ from: 'refs/heads/main', to })
    },
  )

  test('[H140] [P5] [I11] the agent switched to a branch with other files', async () => {
    await using w = await repository({ 'a.txt': '1\n', 'main.txt': 'm\n' }, (one) => {
      commitAll(one)
      one.git('checkout', '-qb', 'other')
      one.userWrites({ 'a.txt': 'other\n', 'main.txt': null, 'other.txt': 'o\n' })
      commitAll(one, 'other')
      one.git('checkout', '-q', 'main')
    })
    await w.turn('Switch', () => {
      w.git('checkout', '-q', 'other')
    })
    const outcome = await w.undo()
    isDone(outcome)
    expect(w.files()).toEqual({ 'a.txt': '1\n', 'main.txt': 'm\n' })
    expect(w.git('symbolic-ref', 'HEAD')).toBe('refs/heads/other')
    expect(outcome.notUndone.branch).toEqual({ from: 'refs/heads/main', to: 'refs/heads/other' })
    expect(outcome.notUndone.commits).toEqual([])
  })

  test('[H138] [I9] [I11] commits on a branch that the turn switched to, or came back to, are told; older ones are not', async () => {
    await using w = await repository({ 'a.txt': '1\n' }, (one) => {
      commitAll(one)
      one.git('checkout', '-qb', 'other')
      commitAll(one, 'not of the turn')
      one.git('checkout', '-q', 'main')
    })
    await w.turn('Switch and commit', () => {
      w.git('checkout', '-q', 'other')
      w.userWrites({ 'a.txt': '2\n' })
      commitAll(w, 'of the turn')
      w.git('checkout', '-q', 'main')
      w.git('checkout', '-q', 'other')
    })
    const outcome = await w.undo()
    expect(outcome.notUndone.commits.map(({ subject }) => subject)).toEqual(['of the turn'])
  })

  test('[H141] [P1] [I12] uncommitted work that git reset and git clean destroyed is back', async () => {
    await using w = await repository({ 'a.txt': 'committed\n', 'b.txt': 'b\n' }, (one) => void commitAll(one))
    w.userWrites({
      'a.txt': 'my work\n',
      'new/draft.txt': 'draft\n',
      'b.txt': null,
      'staged.txt': 'staged\n',
    })
    w.git('add', 'staged.txt')
    const before = w.files()
    await w.turn('Clean up', () => {
      w.git('reset', '-q', '--hard')
      w.git('clean', '-fdq')
    })
    expect(w.files()).toEqual({ 'a.txt': 'committed\n', 'b.txt': 'b\n' })
    isDone(await w.undo())
    expect(w.files()).toEqual(before)
  })
})

describe('we own what we reference', () => {
  const files = { 'src/a.ts': 'a\n'.repeat(50), 'src/b.ts': 'b\n'.repeat(50), 'c.txt': 'c\n' }

  test('[H142] [P1] [I13] [reading R12] the agent deleted .git together with sources: they are back, and history goes on', async () => {
    await using w = await repository(files, commitCleanly)
    expect(hasBorrowed(w)).toBe(true)
    await w.turn('Edit', { 'c.txt': 'edited\n' })
    await w.turn('Delete everything', { '.git': null, src: null })
    await w.reopen()
    isDone(await w.undo())
    expect(w.files()).toEqual({ ...files, 'c.txt': 'edited\n' })
    expect(existsSync(w.pathOf('.git'))).toBe(false)
    isDone(await w.undo())
    expect(w.files()).toEqual(files)
    expect(await w.workspace.doctor()).toEqual([])
  })

  test('[H143] [P1] [I14] history rewritten, pruned and repacked after the capture takes nothing', async () => {
    await using w = await repository(files, commitCleanly)
    expect(hasBorrowed(w)).toBe(true)
    await w.turn('Rewrite all', { 'src/a.ts': 'new\n', 'src/b.ts': null, 'c.txt': 'new\n' })
    w.git('add', '-A')
    w.git('commit', '-q', '--amend', '-m', 'amended')
    w.git('reflog', 'expire', '--expire=now', '--all')
    w.git('gc', '-q', '--prune=now', '--aggressive')
    expect(() => w.git('cat-file', '-e', 'HEAD:src/b.ts')).toThrow()
    await w.reopen()
    isDone(await w.undo())
    expect(w.files()).toEqual(files)
    expect(await w.workspace.doctor()).toEqual([])
    await w.workspace.gc()
    isDone(await w.redo())
    isDone(await w.undo())
    expect(w.files()).toEqual(files)
  })

  test('[H144] [P5] [I15] no command but --git changes anything in .git: bytes, modes, times', async () => {
    await using w = new Fixture({ honest: false })
    w.git('init', '-q', '-b', 'main')
    w.userWrites(files)
    commitCleanly(w)
    w.userWrites({ 'loose.txt': 'loose\n' })
    w.git('add', 'loose.txt')
    const git = gitImprint(w)
    const unchanged = (what: string) => expect(gitImprint(w), what).toEqual(git)
    const workspace = await w.open()
    unchanged('open')
    await workspace.capture()
    expect(hasBorrowed(w)).toBe(true)
    unchanged('first capture')
    const one = await w.turn('Edit', { 'c.txt': 'new\n', 'src/a.ts': null })
    await w.turn('More', { 'd.txt': 'd\n' })
    unchanged('turns')
    await w.undo()
    unchanged('undo')
    await w.redo()
    unchanged('redo')
    await w.restore(one.turn)
    unchanged('restore')
    await w.restore(one.turn, 'before', { exact: true })
    unchanged('restore --exact')
    await w.redo({ all: true })
    await w.rollback({ turns: [one.turn] })
    unchanged('rollback')
    await workspace.cleanup(w.session)
    await workspace.doctor({ repair: true })
    unchanged('doctor')
    await workspace.gc()
    unchanged('gc')
    await w.reopen()
    await w.workspace.capture()
    unchanged('reopen')
    await w.close()
    rmSync(`${w.base}/store`, { recursive: true })
    unchanged('the store deleted')
    expect(w.git('fsck', '--full', '--no-dangling')).toBe('')
  })
})

describe('odd repositories', () => {
  test('[H145] [I16] a partial clone: nothing is fetched, files are captured from disk', async () => {
    await using w = new Fixture()
    const source = `${w.base}/source`
    mkdirSync(source)
    w.git('init', '-q', '-b', 'main', source)
    w.git('-C', source, 'config', 'uploadpack.allowFilter', 'true')
    for (const text of ['old\n', 'new\n']) {
      writeFileSync(`${source}/a.txt`, text)
      w.git('-C', source, 'add', '.')
      w.git('-C', source, 'commit', '-qm', text.trim())
    }
    w.git('clone', '-q', '--filter=blob:none', `file://${source}`, '.')
    w.git('config', 'protocol.ext.allow', 'always')
    w.git('config', 'remote.origin.url', `ext::sh -c "touch% ${w.base}/fetched"`)
    const git = gitImprint(w)
    await w.open()
    await w.workspace.capture()
    await w.turn('Edit', { 'a.txt': 'agent\n' })
    isDone(await w.undo())
    expect(w.files()).toEqual({ 'a.txt': 'new\n' })
    expect(await w.undo().catch((error) => error.code)).toBe('nothing-to-undo')
    expect(existsSync(`${w.base}/fetched`)).toBe(false)
    expect(gitImprint(w)).toEqual(git)
  })

  test('[H145] [I16] a SHA-256 repository', async () => {
    await using w = new Fixture()
    w.git('init', '-q', '-b', 'main', '--object-format=sha256')
    w.userWrites({ 'a.txt': '1\n', 'dist/kept.txt': '1\n' })
    commitCleanly(w)
    const git = gitImprint(w)
    await w.open()
    await w.workspace.capture()
    await w.turn('Edit', { 'a.txt': '2\n' })
    isDone(await w.undo())
    expect(w.files()).toMatchObject({ 'a.txt': '1\n' })
    expect(gitImprint(w)).toEqual(git)
    const { turn } = await w.turn('Commit', () => {
      w.userWrites({ 'a.txt': '3\n' })
      commitAll(w, 'second')
    })
    const outcome = await w.undo({ git: true })
    expect(outcome).toMatchObject({ kind: 'done', reverted: [turn], git: { moved: expect.any(Boolean) } })
    expect(outcome.notUndone.commits).toHaveLength(1)
    expect(w.files()).toMatchObject({ 'a.txt': '1\n' })
  })

  test.each([
    ['a .git file that points nowhere', 'gitdir: /nowhere/at/all\n'],
    ['a .git file with noise in it', '\0\xff noise'],
    ['an empty .git file', ''],
  ])('[H145] [I16] %s', async (_, text) => {
    await using w = await workspace({ '.git': text, 'a.txt': '1\n' })
    await w.turn('Edit', { 'a.txt': '2\n' })
    isDone(await w.undo())
    expect(w.files()).toEqual({ 'a.txt': '1\n' })
    expect(readFileSync(w.pathOf('.git'), 'utf8')).toBe(Buffer.from(text).toString())
  })

  test('[H145] [I16] an index full of noise, and none at all', async () => {
    await using w = await repository({ 'a.txt': '1\n' }, (one) => void commitAll(one))
    for (const spoil of [
      () => w.userWrites({ '.git/index': 'noise' }),
      () => w.userWrites({ '.git/index': null }),
    ]) {
      spoil()
      await w.turn('Edit', { 'a.txt': '2\n' })
      isDone(await w.undo())
      expect(w.files()).toEqual({ 'a.txt': '1\n' })
    }
  })

  test('[H145] [I16] a linked worktree borrows from the repository it belongs to', async () => {
    await using w = new Fixture()
    const main = `${w.base}/main`
    mkdirSync(main)
    const git = (...args: string[]) => execFileSync('git', args, { cwd: main, env: { ...w.env, ...who } })
    git('init', '-q', '-b', 'main')
    writeFileSync(`${main}/a.txt`, 'a\n'.repeat(100))
    git('add', '.')
    git('commit', '-qm', 'first')
    git('repack', '-adq')
    rmSync(w.dir, { recursive: true })
    git('worktree', 'add', '-q', '-b', 'linked', w.dir)
    utimesSync(w.pathOf('a.txt'), 1_600_000_000, 1_600_000_000)
    w.git('update-index', '-q', '--refresh')
    const before = imprint(`${main}/.git`)
    await w.open()
    await w.workspace.capture()
    expect(hasBorrowed(w)).toBe(true)
    await w.turn('Delete', { 'a.txt': null })
    isDone(await w.undo())
    expect(w.files()).toEqual({ 'a.txt': 'a\n'.repeat(100) })
    expect(imprint(`${main}/.git`)).toEqual(before)
  })
})

const who = {
  GIT_AUTHOR_NAME: 'u',
  GIT_AUTHOR_EMAIL: 'u@x',
  GIT_COMMITTER_NAME: 'u',
  GIT_COMMITTER_EMAIL: 'u@x',
}
