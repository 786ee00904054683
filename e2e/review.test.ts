import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hunksOf, Project, plainIds } from './support.ts'

const ten = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n'
const shouted = ten.replace('two', 'TWO').replace('nine', 'NINE')

test('[U300] review shows what is pending by file, with ids, counts and what to type next', () => {
  using project = new Project({ 'list.txt': ten, 'notes/today.md': 'Buy milk\n' })
  project.turn({ 'list.txt': shouted, 'notes/today.md': null })
  const ran = project.unturn(['review'])
  expect(ran.code).toBe(0)
  expect(ran.stderr).toBe('')
  expect(plainIds(ran.stdout)).toMatchInlineSnapshot(`
    "list.txt  +2 −2
    215cf1  @@ -1,5 +1,5 @@  tester, t1
     one
    -two
    +TWO
     three
     four
     five
    27190b  @@ -6,5 +6,5 @@  tester, t1
     six
     seven
     eight
    -nine
    +NINE
     ten

    notes/today.md  +0 −1
    f9fe4f  deleted  tester, t1
    -Buy milk

    3 hunks in 2 files  +2 −3
    Next: unturn accept or unturn reject, with --hunk ID, --file PATH, --turn ID or --all; one by one: unturn review -i
    "
  `)
})

test('[U300] nothing pending is a plain line, and says where something is', () => {
  using project = new Project({ 'a.txt': 'a\n' })
  const line = 'Nothing is pending: no agent has changed anything that is not accepted or rejected.\n'
  expect(project.unturn(['review'])).toMatchObject({ code: 0, stdout: line })
  expect(project.ask('review')).toEqual({ session: null, pending: 0, files: [], proposals: [], rejected: [] })
  expect(project.ask('proposals')).toEqual({ session: null, proposals: [] })
  project.turn({ 'a.txt': 'b\n' }, { session: 'first' })
  project.turn({}, { session: 'second' })
  expect(project.unturn(['review']).stdout).toBe(
    `${line}1 hunk is pending in session first: unturn review --session first\n`,
  )
  expect(project.unturn(['review', '--session', 'first', '--file', 'other']).stdout).toBe(
    'No pending hunk matches; 1 hunk is pending: unturn review\n',
  )
})

test('[U301] review --json has every field of the contract', () => {
  using project = new Project({ 'list.txt': ten, 'bytes.txt': Buffer.from('x\xff\n', 'latin1') })
  const turn = project.turn({ 'list.txt': shouted, 'bytes.txt': Buffer.from('y\xff\r\n', 'latin1') })
  const review = project.ask('review')
  expect(review).toMatchObject({ session: 's1', pending: 3, proposals: [], rejected: [] })
  expect(review.files[0].hunks[0].lines).toEqual([
    { kind: '-', text: 'x\udcff\n', oldLine: 1 },
    { kind: '+', text: 'y\udcff\r\n', newLine: 1 },
  ])
  expect(review.files[1]).toEqual({
    path: 'list.txt',
    additions: 2,
    deletions: 2,
    hunks: [
      {
        id: expect.stringMatching(/^[0-9a-f]{16}$/),
        kind: 'text',
        contested: false,
        turns: [turn],
        agents: ['tester'],
        additions: 1,
        deletions: 1,
        oldStart: 1,
        oldLines: 5,
        newStart: 1,
        newLines: 5,
        lines: [
          { kind: ' ', text: 'one\n', oldLine: 1, newLine: 1 },
          { kind: '-', text: 'two\n', oldLine: 2 },
          { kind: '+', text: 'TWO\n', newLine: 2 },
          { kind: ' ', text: 'three\n', oldLine: 3, newLine: 3 },
          { kind: ' ', text: 'four\n', oldLine: 4, newLine: 4 },
          { kind: ' ', text: 'five\n', oldLine: 5, newLine: 5 },
        ],
      },
      expect.objectContaining({ kind: 'text', oldStart: 6, newStart: 6 }),
    ],
  })
  project.ask('reject', '--hunk', review.files[1].hunks[0].id, '--comment', 'Not so loud')
  expect(project.ask('review').rejected).toEqual([
    {
      hunk: review.files[1].hunks[0].id,
      path: 'list.txt',
      comment: 'Not so loud',
      turns: [turn],
      removed: 'two\n',
      added: 'TWO\n',
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    },
  ])
})

test('[U302] text and names cannot drive the terminal; changed words are marked where there is colour', () => {
  using project = new Project({
    'a.txt': 'the quick brown fox\n',
    'crlf.txt': 'a\r\nb\r\n',
    'end.txt': 'e\n',
  })
  project.turn({
    'a.txt': 'the quick red fox\n',
    'crlf.txt': 'a\r\nb\n',
    'end.txt': 'e',
    'x\u001b[2J.txt': 'bell\u0007\ttab\n',
    'long.txt': `${'x'.repeat(2_000)}\n`,
  })
  const { stdout } = project.unturn(['review'])
  expect(stdout).not.toMatch(/[\u0000-\u0008\u000b-\u001f]/)
  expect(stdout).toContain('x\\x1b[2J.txt  +1 −0')
  expect(stdout).toContain('+bell\\x07\ttab\n')
  expect(stdout).toContain(' a\\r\n-b\\r\n+b\n')
  expect(stdout).toContain('-e\n+e\n\\ no newline at the end\n')
  expect(stdout).toContain(`+${'x'.repeat(500)}… (1500 more)\n`)
  const coloured = project.unturn(['review', '--file', 'a.txt'], { env: { FORCE_COLOR: '1' } }).stdout
  expect(coloured).toContain('\u001b[31m-the quick \u001b[7mbrown\u001b[27m fox\u001b[39m\n')
  expect(coloured).toContain('\u001b[32m+the quick \u001b[7mred\u001b[27m fox\u001b[39m\n')
})

test('[U303] files that came, went, moved or changed their kind are told in words', () => {
  using project = new Project({ 'b.bin': '\0a', run: 'sh\n', old: ten, gone: 'g\n', f: 'f\n' })
  symlinkSync('a', project.pathOf('l'))
  const { turn } = project.ask('turn', 'begin', '--session', 's1', '--agent', 'tester')
  const { step } = project.ask('step', 'begin', '--turn', turn, '--tool', 'shell')
  project.write({ 'b.bin': '\0b', gone: null, new: 'n\n', 'new.bin': '\0' })
  chmodSync(project.pathOf('run'), 0o755)
  renameSync(project.pathOf('old'), project.pathOf('moved'))
  for (const name of ['l', 'f']) {
    rmSync(project.pathOf(name))
    symlinkSync('b', project.pathOf(name))
  }
  project.ask('step', 'end', '--step', step)
  project.ask('turn', 'end', '--turn', turn)
  const words = project
    .unturn(['review'])
    .stdout.split('\n')
    .filter((line) => /^[0-9a-f]{6} /.test(line))
    .map((line) => line.split('  ')[1])
  expect(words).toEqual([
    'binary content changed',
    'a file became a link, or a link a file',
    'deleted',
    'the link leads elsewhere',
    'renamed from old',
    'created',
    'created (binary or empty)',
    'permissions 644 → 755',
  ])
  const mode = hunksOf(project, '--file', 'run')[0]
  expect(mode).toMatchObject({ kind: 'mode', oldMode: '644', newMode: '755', lines: [] })
  expect(hunksOf(project, '--file', 'new')[0].lines).toEqual([{ kind: '+', text: 'n\n', newLine: 1 }])
  expect(hunksOf(project, '--file', 'moved')[0]).toMatchObject({ kind: 'rename', from: 'old' })
})

test('[U309] review is narrowed by file, turn and agent, and counted by file', () => {
  using project = new Project({ a: ten, 'sub/b': ten })
  const first = project.turn({ a: shouted })
  project.turn({ 'sub/b': 'one\n' })
  expect(project.ask('review', '--turn', first.slice(0, 6)).files).toMatchObject([{ path: 'a' }])
  expect(project.ask('review', '--turn', '@').files).toMatchObject([{ path: 'sub/b' }])
  expect(project.ask('review', '--file', 'sub').files).toMatchObject([{ path: 'sub/b' }])
  expect(project.ask('review', '--agent', 'nobody').pending).toBe(0)
  expect(project.unturn(['review', '--file', 'b', '--stat'], { cwd: project.pathOf('sub') }).stdout).toMatch(
    /^sub\/b {2}\+0 −9 {2}1 hunk\n1 hunk in 1 file {2}\+0 −9; 2 other hunks pending\n/,
  )
})

test('[U320] status counts what is pending, by session and in all', () => {
  using project = new Project({ a: ten, b: ten })
  expect(project.ask('status').pendingHunks).toBe(0)
  project.turn({ a: shouted }, { session: 'first' })
  project.turn({ b: 'one\n' }, { session: 'second' })
  expect(project.ask('status')).toMatchObject({
    pendingHunks: 3,
    sessions: [
      { id: 'second', pendingHunks: 1 },
      { id: 'first', pendingHunks: 2 },
    ],
  })
  expect(project.unturn(['status']).stdout).toContain('2 pending hunks (unturn review)')
  project.ask('accept', '--all', '--session', 'first')
  expect(project.ask('status').pendingHunks).toBe(1)
})

test('[U321] decisions are in the log, with paths as text', () => {
  using project = new Project({ 'ä.txt': ten })
  project.turn({ 'ä.txt': shouted })
  const [hunk] = hunksOf(project)
  project.ask('accept', '--hunk', hunk.id, '--comment', 'good')
  const [operation] = project.ask('log', '--ops').operations
  expect(operation).toMatchObject({
    kind: 'accept',
    decisions: [{ hunk: hunk.id, path: 'ä.txt', comment: 'good' }],
  })
  expect(project.unturn(['show', operation.id]).code).toBe(0)
})

test('[U320] status on a damaged store says that it could not count, and review says why', () => {
  using project = new Project({ a: ten })
  project.turn({ a: shouted })
  const blob = project.storeGit(['hash-object', '--stdin'], ten)
  const objects = join(project.store, 'objects.git/objects')
  const packs = readdirSync(join(objects, 'pack')).filter((name) => name.endsWith('.pack'))
  const bytes = packs.map((name) => readFileSync(join(objects, 'pack', name)))
  rmSync(join(objects, 'pack'), { recursive: true })
  mkdirSync(join(objects, 'pack'), { mode: 0o700 })
  for (const pack of bytes) project.storeGit(['unpack-objects', '-q'], pack)
  rmSync(join(objects, blob.slice(0, 2), blob.slice(2)))

  expect(project.ask('status')).toMatchObject({
    pendingHunks: 0,
    sessions: [{ id: 's1', pendingHunks: null }],
  })
  expect(project.unturn(['status']).stdout).toContain('pending hunks cannot be counted (unturn doctor)')
  expect(project.unturn(['review', '--json'])).toMatchObject({ code: 1, json: { error: {} } })
})
