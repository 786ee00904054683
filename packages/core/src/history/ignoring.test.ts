import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { listTree } from '../store/trees.ts'
import { describeFolder } from '../testing/file-kinds.ts'
import { unprivilegedFixture, withoutRoot } from '../testing/unprivileged.ts'
import { type Fixture, linkTo, withMode, workspace } from '../testing/workspace.ts'
import type { Outcome } from './outcome.ts'

const isDone = (outcome: Outcome) => expect(outcome).toMatchObject({ kind: 'done', conflicts: [] })

const pathsOf = (list: readonly { readonly path: string }[]) => list.map(({ path }) => path)

/** What a capture takes in, and what it leaves out. */
async function look(w: Fixture) {
  const { snapshot, skipped } = await w.workspace.capture()
  const captured = [...listTree(w.workspace.engine.objects, snapshot)].map(([path]) => path as string).sort()
  return { captured, skipped }
}

describe('rules', () => {
  test('[H120] [scenario H1] nested rules, info/exclude and global excludes give the verdicts of git', async () => {
    await using w = await workspace({}, { git: true, heavyFolders: [], protect: [] })
    w.userWrites({
      '.gitignore':
        '*.log\n!keep.log\n/top-only\nbuild/\n\\#literal\n**/deep/*.tmp\nignored-dir/*\n!ignored-dir/kept\n',
      'sub/.gitignore': '!wanted.log\nlocal.txt\n',
      '.git/info/exclude': 'excluded.txt\n!global.txt\n',
      '../home/.config/git/ignore': 'global.txt\nglobal-only.txt\n',
      'a.log': '',
      'keep.log': '',
      'top-only': '',
      'sub/top-only': '',
      'build/x': '',
      'sub/build/y': '',
      '#literal': '',
      'a/deep/b.tmp': '',
      'a/deep/c.txt': '',
      'ignored-dir/kept': '',
      'ignored-dir/lost': '',
      'sub/wanted.log': '',
      'sub/other.log': '',
      'sub/local.txt': '',
      'local.txt': '',
      'excluded.txt': '',
      'global.txt': '',
      'global-only.txt': '',
      'sub/global-only.txt': '',
    })
    const { captured, skipped } = await look(w)
    const asGit = w.git('ls-files', '-coz', '--exclude-standard').split('\0').filter(Boolean).sort()
    expect(captured).toEqual(asGit)
    const left = w.git('ls-files', '-oiz', '--exclude-standard', '--directory').split('\0').filter(Boolean)
    expect(skipped).toEqual(
      left
        .map((path) => ({ path: path.replace(/\/$/, ''), reason: 'ignored' }))
        .sort((a, b) => (a.path < b.path ? -1 : 1)),
    )
  })

  test('[H121] [scenario H2] tracked files are captured whatever the rules say, also inside an ignored folder', async () => {
    await using w = await workspace(
      { 'kept.log': 'old\n', 'out/kept.txt': 'old\n', 'out/other.txt': 'other\n' },
      { git: true },
    )
    w.git('add', 'kept.log', 'out/kept.txt')
    w.userWrites({ '.gitignore': '*.log\nout/\n' })
    w.git('add', '-f', '.gitignore')
    await w.reopen()
    const { changes } = await w.turn('Edit', { 'kept.log': 'new\n', 'out/kept.txt': null })
    expect(pathsOf(changes)).toEqual(['kept.log', 'out/kept.txt'])
    isDone(await w.undo())
    expect(w.files()).toMatchObject({
      'kept.log': 'old\n',
      'out/kept.txt': 'old\n',
      'out/other.txt': 'other\n',
    })
  })

  test('[H121] [scenario H2] the first capture of a repository takes tracked files in ignored and heavy folders', async () => {
    const w0 = {
      '.gitignore': 'out/\n',
      'out/kept.txt': 'old\n',
      'out/other.txt': 'x\n',
      'dist/app.js': 'old\n',
      'dist/new.js': 'x\n',
    }
    await using w = await workspace({}, { git: true })
    await w.close()
    w.userWrites(w0)
    w.git('add', '-f', 'out/kept.txt', 'dist/app.js', '.gitignore')
    rmSync(`${w.base}/store`, { recursive: true })
    await w.open()
    const { captured, skipped } = await look(w)
    expect(captured).toEqual(['.gitignore', 'dist/app.js', 'out/kept.txt'])
    expect(pathsOf(skipped)).toEqual(['dist/new.js', 'out/other.txt'])
  })

  test.each([true, false])(
    '[H122] [scenario H3] the agent adds a rule that covers a captured file and edits that file: both go back (git: %s)',
    async (git) => {
      await using w = await workspace({ 'notes.txt': 'old\n', 'docs/a.md': 'old\n', 'a.txt': 'a\n' }, { git })
      const before = w.files()
      const { changes } = await w.turn('Hide', {
        '.gitignore': 'notes.txt\ndocs/\n',
        'notes.txt': 'new\n',
        'docs/a.md': null,
        'docs/b.md': 'hidden and new\n',
      })
      expect(pathsOf(changes)).toEqual(['.gitignore', 'docs/a.md', 'notes.txt'])
      const undone = await w.undo()
      isDone(undone)
      expect(w.files()).toEqual({ ...before, 'docs/b.md': 'hidden and new\n' })
      expect(undone.notUndone.skipped).toEqual([{ path: 'docs/b.md', reason: 'ignored' }])
      isDone(await w.redo())
      expect(w.files()).toMatchObject({ 'notes.txt': 'new\n', '.gitignore': 'notes.txt\ndocs/\n' })
    },
  )

  test.each([true, false])(
    '[H123] [P4] [scenario H4] the agent drops a rule: what became visible is nobody’s change, and stays (git: %s)',
    async (git) => {
      await using w = await workspace(
        {
          '.gitignore': '*.log\ncache/\n',
          'old.log': 'old\n',
          'cache/a': 'a\n',
          'cache/deep/b': 'b\n',
          'a.txt': 'a\n',
        },
        { git },
      )
      const before = w.files()
      const stats = ['old.log', 'cache/a', 'cache/deep/b'].map((name) => statSync(w.pathOf(name)))
      const { changes } = await w.turn('Show all', { '.gitignore': '\n', 'a.txt': 'b\n', 'new.log': 'new\n' })
      expect(pathsOf(changes)).toEqual(['.gitignore', 'a.txt', 'new.log'])
      const undone = await w.undo()
      isDone(undone)
      expect(w.files()).toEqual(before)
      expect(undone.notUndone.skipped).toEqual([{ path: 'cache', reason: 'ignored' }])
      const after = ['old.log', 'cache/a', 'cache/deep/b'].map((name) => statSync(w.pathOf(name)))
      expect(after.map(({ ino, mtimeMs }) => ({ ino, mtimeMs }))).toEqual(
        stats.map(({ ino, mtimeMs }) => ({ ino, mtimeMs })),
      )
      isDone(await w.redo())
      expect(w.files()).toEqual({ ...before, '.gitignore': '\n', 'a.txt': 'b\n', 'new.log': 'new\n' })
    },
  )

  test('[H123] [P9] [scenario H4] a file that the step changed and made visible has no before: it stays and is listed', async () => {
    await using w = await workspace({ '.gitignore': '*.log\n', 'old.log': 'old\n', 'same.log': 'same\n' })
    await w.turn('Show and change', { '.gitignore': '\n', 'old.log': 'changed\n' })
    const undone = await w.undo()
    expect(w.files()).toEqual({ '.gitignore': '*.log\n', 'old.log': 'changed\n', 'same.log': 'same\n' })
    expect(undone.notUndone.skipped).toEqual([{ path: 'old.log', reason: 'ignored' }])
  })
})

describe('paths that are named or protected', () => {
  test('[H124] [scenario H5] a tool that names an ignored path is undone; a shell step that changes another one is listed', async () => {
    await using w = await workspace({
      '.gitignore': '*.cfg\n',
      'named.cfg': withMode('old\n', 0o600),
      'other.cfg': 'old\n',
      'quiet.cfg': 'quiet\n',
    })
    const turn = await w.beginTurn('Configure')
    const changes = await w.step(turn, { 'named.cfg': 'new\n' }, { paths: ['named.cfg'] })
    expect(changes).toMatchObject([{ path: 'named.cfg', kind: 'modify', certainty: 'exact' }])
    await w.step(turn, { 'other.cfg': 'new\n', 'fresh.cfg': 'fresh\n' }, { command: 'configure' })
    await w.workspace.endTurn(turn)
    const undone = await w.undo()
    isDone(undone)
    expect(w.files({ modes: true })).toMatchObject({ 'named.cfg': '600 old\n' })
    expect(w.files()).toMatchObject({ 'other.cfg': 'new\n', 'fresh.cfg': 'fresh\n' })
    expect(pathsOf(undone.notUndone.skipped)).toEqual(['fresh.cfg', 'other.cfg'])
    expect(undone.notUndone.commands).toEqual(['configure'])
  })

  test('[H124] [scenario H5] a named path inside an ignored folder, new or old, goes back; its neighbours are left alone', async () => {
    await using w = await workspace({ '.gitignore': 'gen/\n', 'gen/a.ts': 'old\n', 'gen/b.ts': 'b\n' })
    const turn = await w.beginTurn('Generate')
    await w.step(turn, { 'gen/a.ts': 'new\n' }, { paths: ['gen/a.ts'] })
    await w.step(turn, { 'gen/new.ts': 'new\n' }, { paths: ['gen/new.ts'] })
    await w.workspace.endTurn(turn)
    isDone(await w.undo())
    expect(w.files()).toEqual({ '.gitignore': 'gen/\n', 'gen/a.ts': 'old\n', 'gen/b.ts': 'b\n' })
    isDone(await w.redo())
    expect(w.files()).toEqual({
      '.gitignore': 'gen/\n',
      'gen/a.ts': 'new\n',
      'gen/b.ts': 'b\n',
      'gen/new.ts': 'new\n',
    })
  })

  test('[H125] [P6] [scenario H6] an ignored .env.local that a shell step rewrites gets its bytes and mode back', async () => {
    await using w = await workspace({ '.gitignore': '.env*\n', '.env.local': withMode('KEY=1\n', 0o600) })
    const { changes } = await w.turn('Reset', () => {
      writeFileSync(w.pathOf('tmp'), 'KEY=\n', { mode: 0o644 })
      renameSync(w.pathOf('tmp'), w.pathOf('.env.local'))
    })
    expect(pathsOf(changes)).toEqual(['.env.local'])
    isDone(await w.undo())
    expect(w.files({ modes: true })).toMatchObject({ '.env.local': '600 KEY=1\n' })
  })

  test('[H126] [P4] [scenario H7] churn in an untracked node_modules is not captured, is listed, and nothing of it is deleted', async () => {
    await using w = await workspace({
      'index.js': 'old\n',
      'node_modules/a/index.js': 'a1\n',
      'node_modules/b/index.js': 'b1\n',
    })
    expect((await look(w)).skipped).toEqual([{ path: 'node_modules', reason: 'ignored' }])
    const { changes, skipped } = await w.turn('Install', {
      'index.js': 'new\n',
      'node_modules/a/index.js': 'a2\n',
      'node_modules/b': null,
      'node_modules/c/index.js': 'c1\n',
    })
    expect(pathsOf(changes)).toEqual(['index.js'])
    expect(skipped).toEqual([{ path: 'node_modules', reason: 'ignored' }])
    const undone = await w.undo()
    isDone(undone)
    expect(w.files()).toEqual({
      'index.js': 'old\n',
      'node_modules/a/index.js': 'a2\n',
      'node_modules/c/index.js': 'c1\n',
    })
    expect(undone.notUndone.skipped).toEqual([{ path: 'node_modules', reason: 'ignored' }])
  })

  test('[H126] [scenario H7] an edit tool that names its path has touched no ignored folder: none is listed', async () => {
    await using w = await workspace({ 'index.js': 'old\n', 'node_modules/a/index.js': 'a1\n' })
    const turn = await w.beginTurn('Edit')
    await w.step(turn, { 'index.js': 'new\n' }, { paths: ['index.js'] })
    await w.workspace.endTurn(turn)
    expect((await w.undo()).notUndone.skipped).toEqual([])
  })

  test('[H126] [scenario H7] a tracked dist/ is captured', async () => {
    await using w = await workspace({ 'dist/app.js': 'old\n' }, { git: true })
    w.git('add', 'dist/app.js')
    const { changes } = await w.turn('Build', { 'dist/app.js': 'new\n', 'dist/app.js.map': 'map\n' })
    expect(pathsOf(changes)).toEqual(['dist/app.js'])
    isDone(await w.undo())
    expect(w.files()).toEqual({ 'dist/app.js': 'old\n', 'dist/app.js.map': 'map\n' })
  })
})

describe('in the way', () => {
  test.each([true, false])(
    '[H127] [P3] [P4] [scenario H8] an ignored file stands where a deleted one would come back: nothing is changed (git: %s)',
    async (git) => {
      await using w = await workspace({ 'data.db': 'old\n', 'a.txt': 'a\n' }, { git })
      if (git) {
        w.git('add', '.')
        w.git('commit', '-qm', 'first')
      }
      await w.turn('Delete', { 'data.db': null, 'a.txt': 'b\n' })
      if (git) w.git('rm', '-q', '--cached', 'data.db')
      w.userWrites({ '.gitignore': '*.db\n', 'data.db': 'mine\n' })
      const before = describeFolder(w.dir)

      expect(await w.undo()).toMatchObject({ kind: 'conflicts', conflicts: [{ path: 'data.db' }] })

      expect(describeFolder(w.dir)).toEqual(before)
      isDone({ ...(await w.undo({ onConflict: 'overwrite' })), conflicts: [] })
      expect(w.files()).toMatchObject({ 'data.db': 'old\n', 'a.txt': 'a\n' })
      const op = w.workspace.index.lastOperation()?.record.id
      if (op === undefined) throw new Error('no operation')
      isDone(await w.rollback({ ops: [op] }))
      expect(w.files()).toMatchObject({ 'data.db': 'mine\n', 'a.txt': 'b\n' })
    },
  )

  test('[H127] [P4] [scenario H8] an ignored folder stands where a file would come back: nothing is changed', async () => {
    await using w = await workspace({ cache: 'a file\n', '.gitignore': 'cache/\n' })
    await w.turn('Make room', () => {
      rmSync(w.pathOf('cache'))
      mkdirSync(w.pathOf('cache'))
      writeFileSync(w.pathOf('cache/data'), 'data\n')
    })
    const before = describeFolder(w.dir)
    expect(await w.undo()).toMatchObject({ kind: 'conflicts', conflicts: [{ path: 'cache' }] })
    expect(describeFolder(w.dir)).toEqual(before)
  })
})

describe('what was not captured', () => {
  test('[H128] [P9] [N4] each reason is told at the end of the turn, and undo says which ones it would have needed', async () => {
    using _ = withoutRoot()
    await using w = unprivilegedFixture({ maxUntrackedFileSize: 10 })
    w.userWrites({
      '.gitignore': 'ignored\n',
      ignored: 'x\n',
      'large.bin': 'x'.repeat(11),
      secret: withMode('secret\n', 0o000),
      'nested/.git/HEAD': 'ref: refs/heads/main\n',
      'a.txt': 'a\n',
    })
    await w.open()
    await w.workspace.capture()
    const { skipped } = await w.turn('Work', { 'a.txt': 'b\n', ignored: 'y\n' })
    expect(skipped).toEqual([
      { path: 'ignored', reason: 'ignored' },
      { path: 'large.bin', reason: 'too-large', size: 11 },
      { path: 'nested/.git', reason: 'nested-git' },
      { path: 'secret', reason: 'unreadable' },
    ])
    const undone = await w.undo()
    isDone(undone)
    expect(undone.notUndone.skipped).toEqual([
      { path: 'ignored', reason: 'ignored' },
      { path: 'nested/.git', reason: 'nested-git' },
      { path: 'secret', reason: 'unreadable' },
    ])
    chmodSync(w.pathOf('secret'), 0o600)
  })

  test('[H128] [N4] what the user did to an ignored file, before the turn or between steps, is not the agent’s', async () => {
    await using w = await workspace({
      '.gitignore': '*.log\n',
      'a.log': '1\n',
      'b.log': '1\n',
      'c.log': '1\n',
    })
    w.userWrites({ 'a.log': '2\n' })
    const turn = await w.beginTurn('Work')
    await w.step(turn, { 'x.txt': 'x\n' })
    w.userWrites({ 'b.log': '2\n' })
    await w.step(turn, { 'c.log': '2\n' })
    w.userWrites({ 'a.log': '3\n' })
    await w.workspace.endTurn(turn)
    expect((await w.undo()).notUndone.skipped).toEqual([{ path: 'c.log', reason: 'ignored' }])
  })

  test('[H128] [N4] a turn without steps tells of the ignored files it changed', async () => {
    await using w = await workspace({ '.gitignore': '*.log\n', 'a.log': '1\n', 'b.log': '1\n' })
    w.userWrites({ 'b.log': '2\n' })
    const turn = await w.beginTurn('Work')
    w.userWrites({ 'a.log': '2\n', 'gone.txt': 'x\n' })
    await w.workspace.endTurn(turn)
    expect((await w.undo()).notUndone.skipped).toEqual([{ path: 'a.log', reason: 'ignored' }])
  })

  test('[H129] [P8] [N5] what lies in a folder that became unreadable is never taken for deleted', async () => {
    using _ = withoutRoot()
    await using w = unprivilegedFixture()
    w.userWrites({
      'closed/a.txt': 'a\n',
      'closed/deep/b.txt': 'b\n',
      'open.txt': 'o\n',
      'closed/link': linkTo('a.txt'),
    })
    await w.open()
    await w.workspace.capture()
    const before = describeFolder(w.dir)
    chmodSync(w.pathOf('closed'), 0o000)
    const seen = await w.workspace.capture()
    expect(seen.skipped).toEqual([{ path: 'closed', reason: 'unreadable' }])
    const { changes } = await w.turn('Work', { 'open.txt': 'changed\n' })
    expect(pathsOf(changes)).toEqual(['open.txt'])
    isDone(await w.undo())
    chmodSync(w.pathOf('closed'), 0o755)
    expect(describeFolder(w.dir)).toEqual(before)
    expect((await w.workspace.capture()).changes.filter(({ kind }) => kind !== 'mode')).toEqual([])
    isDone(await w.redo())
    expect(readFileSync(w.pathOf('closed/a.txt'), 'utf8')).toBe('a\n')
    await w.turn('Edit inside', { 'closed/a.txt': 'new\n' })
    isDone(await w.undo())
    expect(readFileSync(w.pathOf('closed/a.txt'), 'utf8')).toBe('a\n')
  })

  test('[H129] [P8] [N5] the same when a process without any memory finds it closed', async () => {
    using _ = withoutRoot()
    await using w = unprivilegedFixture()
    w.userWrites({ 'closed/a.txt': 'a\n', 'open.txt': 'o\n' })
    await w.open()
    await w.workspace.capture()
    chmodSync(w.pathOf('closed'), 0o000)
    const { statCache } = w.workspace.engine.folders
    await w.close()
    rmSync(statCache, { force: true })
    await w.open()
    const { changes, skipped } = await w.workspace.capture()
    chmodSync(w.pathOf('closed'), 0o755)
    expect({ changes: changes.map(({ kind }) => kind), skipped }).toEqual({
      changes: ['mode'],
      skipped: [{ path: 'closed', reason: 'unreadable' }],
    })
  })

  test('[H129] [N5] a file that the step made unreadable keeps its last captured bytes in the history', async () => {
    using _ = withoutRoot()
    await using w = unprivilegedFixture()
    w.userWrites({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
    await w.open()
    await w.workspace.capture()
    const { changes, skipped } = await w.turn('Close', () => {
      chmodSync(w.pathOf('a.txt'), 0o000)
      w.userWrites({ 'b.txt': 'changed\n' })
    })
    expect(pathsOf(changes)).toEqual(['b.txt'])
    expect(skipped).toEqual([{ path: 'a.txt', reason: 'unreadable' }])
    const undone = await w.undo()
    isDone(undone)
    expect(undone.notUndone.skipped).toEqual([{ path: 'a.txt', reason: 'unreadable' }])
    chmodSync(w.pathOf('a.txt'), 0o644)
    expect(w.files()).toEqual({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
    expect((await w.workspace.capture()).changes).toEqual([])
  })
})
