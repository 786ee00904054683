import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { command, node, Project } from './support.ts'

const idPattern = /^[tsoc][0-9a-z.]+$/

test('[U2] a turn with steps, told as the contract says', () => {
  using project = new Project({ 'a.txt': 'one\n', 'b.txt': 'b\n' })
  const begun = project.ask('turn', 'begin', '--session', 'chat-1', '--agent', 'tester', '--prompt', 'Shout')
  expect(begun).toEqual({
    session: 'chat-1',
    turn: expect.stringMatching(idPattern),
    seq: expect.any(Number),
  })
  const { step } = project.ask(
    'step',
    'begin',
    '--turn',
    begun.turn,
    '--tool',
    'Edit',
    '--path',
    'a.txt',
    '--part',
    'p1',
  )
  expect(
    project.ask('step', 'begin', '--turn', begun.turn, '--tool', 'Edit', '--path', 'a.txt', '--part', 'p1'),
  ).toEqual({ step })
  project.write({ 'a.txt': 'ONE\n' })
  const ended = project.ask('step', 'end', '--step', step)
  expect(ended).toEqual({
    step,
    changes: [
      {
        id: expect.stringMatching(idPattern),
        path: 'a.txt',
        kind: 'modify',
        additions: 1,
        deletions: 1,
        binary: false,
        certainty: 'exact',
        actor: 'tester',
        session: 'chat-1',
        turn: begun.turn,
        step,
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      },
    ],
  })
  const turnEnd = project.ask('turn', 'end', '--turn', begun.turn)
  expect(turnEnd).toEqual({ turn: begun.turn, changes: ended.changes, skipped: [] })

  expect(project.ask('undo')).toEqual({
    op: expect.stringMatching(idPattern),
    head: null,
    files: [{ path: 'a.txt', action: 'write', merged: false }],
    conflicts: [],
    reverted: [begun.turn],
    prompt: 'Shout',
    notUndone: { commands: [], commits: [], skipped: [] },
  })
  expect(project.read('a.txt')).toBe('one\n')
  expect(project.ask('redo')).toMatchObject({ head: begun.turn, reverted: [], redone: [begun.turn] })
  expect(project.ask('status')).toMatchObject({
    sessions: [{ id: 'chat-1', head: begun.turn, turns: 1, reverted: [] }],
  })
})

test('[U2] capture tells the snapshot, the user’s changes and what was left out', () => {
  using project = new Project({ 'a.txt': 'one\n' })
  project.ask('capture')
  project.write({ 'a.txt': 'two\n', 'node_modules/x.js': '1' })
  const captured = project.ask('capture', '--label', 'mine')
  expect(captured.snapshot).toMatch(/^[0-9a-f]{40}$/)
  expect(captured.changes).toMatchObject([{ path: 'a.txt', actor: 'user', session: null, turn: null }])
  expect(captured.skipped).toEqual([{ path: 'node_modules', reason: 'ignored' }])
})

test('[U3] wrong usage ends with 2 and says what is wrong', () => {
  using project = new Project({ 'a.txt': '1' })
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [['nope'], /no command "nope"/],
    [['undo', '--turns', '0'], /--turns takes a number/],
    [['undo', '--turns'], /--turns needs a value/],
    [['undo', '--frobnicate'], /--frobnicate is not known/],
    [['undo', 'extra'], /one word too many/],
    [['undo', '--on-conflict', 'maybe'], /one of abort, keep, overwrite, markers/],
    [['restore'], /name the turn/],
    [['rollback'], /say what to roll back/],
    [['turn'], /begin, end/],
    [['turn', 'end'], /--turn is missing/],
    [['run'], /behind --/],
    [['run', '--', ''], /behind --/],
    [['log', '--since', 'yesterdayish'], /is no time/],
  ]
  // Also where nothing was ever captured.
  for (const option of [
    ['--limit', '0'],
    ['--since', 'yesterdayish'],
    ['--until', '5x', '--json'],
  ])
    expect(project.unturn(['log', ...option]).code).toBe(2)
  project.ask('capture')
  for (const [args, message] of wrong) {
    const ran = project.unturn(args)
    expect({ args, code: ran.code, stdout: ran.stdout }).toEqual({ args, code: 2, stdout: '' })
    expect(ran.stderr).toMatch(message)
    expect(project.unturn([...args.slice(0, 1), '--json', ...args.slice(1)]).json.error).toMatchObject({
      code: 'bad-usage',
    })
  }
})

test('[U4] [U5] nothing to do, conflicts and a running turn have their own exit codes', () => {
  using project = new Project({ 'a.txt': 'one\n' })
  expect(project.unturn(['undo', '--json'])).toMatchObject({
    code: 3,
    json: { error: { code: 'nothing-to-undo' } },
  })
  project.turn({ 'a.txt': 'two\n' })
  expect(project.unturn(['redo'])).toMatchObject({ code: 3, stdout: '' })
  project.write({ 'a.txt': 'mine\n' })

  const conflict = project.unturn(['undo'])
  expect(conflict).toMatchObject({ code: 4, stdout: '' })
  expect(conflict.stderr).toBe(
    [
      'unturn: One file was changed again where the old version would go. Nothing was changed.',
      '  a.txt: Both sides changed the same lines of a.txt, or lines next to each other. Since then it was changed by you.',
      '    now │ mine',
      '    old │ one',
      'Choose with --on-conflict: keep (leave these files, undo the rest), overwrite (take the old version; the newer one stays recoverable), or markers (write both into the file).',
      '',
    ].join('\n'),
  )
  expect(project.unturn(['undo', '--json']).json.error).toMatchObject({
    code: 'conflicts',
    hint: expect.any(String),
    data: { conflicts: [{ path: 'a.txt', kind: 'content', ours: 'mine', theirs: 'one' }] },
  })
  expect(project.read('a.txt')).toBe('mine\n')
  const fate = (choice: string) =>
    project.unturn(['undo', '--dry-run', '--on-conflict', choice]).stdout.match(/^In conflict, .*:$/m)?.[0]
  expect(['keep', 'overwrite', 'markers'].map(fate)).toEqual([
    'In conflict, would stay as they are:',
    'In conflict, would get the old version (the newer one stays recoverable):',
    'In conflict, would get both versions, between markers:',
  ])

  const { turn } = project.ask('turn', 'begin', '--pid', String(process.pid))
  expect(project.unturn(['undo', '--json'])).toMatchObject({
    code: 5,
    json: { error: { code: 'turn-running', data: { turn } } },
  })
  expect(project.unturn(['undo', '--force']).code).toBe(0)
})

test('[U6] run passes everything through and records it', () => {
  using project = new Project({ 'a.txt': 'one\n' })
  const failed = project.unturn(['run', '--', 'sh', '-c', 'echo two > a.txt; echo out; echo err >&2; exit 7'])
  expect(failed).toMatchObject({ code: 7, stdout: 'out\n' })
  expect(failed.stderr).toMatch(/^err\nunturn: turn \w+ changed 1 path\. Take it back with: unturn undo\n$/)
  const told = project.unturn(['run', '--json', '--', 'sh', '-c', 'echo three > a.txt; echo loud'])
  expect(told.json).toMatchObject({ exitCode: 0, changes: [{ path: 'a.txt', certainty: 'inferred' }] })
  expect(told.stderr).toBe('loud\n')
  const missing = project.unturn(['run', '--', 'no-such-program-here'])
  expect(missing.code).toBe(127)
  expect(missing.stderr).toMatch(
    /^unturn: no-such-program-here cannot be started \(ENOENT\)\. Nothing was run;/,
  )
  expect(project.ask('undo', '--turns', '3')).toMatchObject({ reverted: { length: 3 } })
  expect(project.read('a.txt')).toBe('one\n')
  expect(project.ask('log').turns.map((turn: { status: string }) => turn.status)).toEqual([
    'failed',
    'ok',
    'failed',
  ])
})

test('[U7] ids may be shortened, and @ is the head', () => {
  using project = new Project({ 'a.txt': '0\n' })
  const first = project.turn({ 'a.txt': '1\n' })
  const second = project.turn({ 'a.txt': '2\n' })
  expect(project.ask('show', '@').changes).toEqual(project.ask('show', second).changes)
  expect(project.ask('show', '@-1').changes).toEqual(project.ask('show', first.slice(0, 6)).changes)
  expect(project.unturn(['show', '@-2', '--json'])).toMatchObject({
    code: 1,
    json: { error: { code: 'unknown-id' } },
  })
  expect(project.unturn(['show', '@-2']).stderr).toMatch(
    /^unturn: The session stands behind 2 turns: "@-2" names/,
  )
  expect(project.unturn(['show', 't', '--json'])).toMatchObject({
    code: 1,
    json: { error: { code: 'ambiguous-id' } },
  })
  expect(project.unturn(['undo', '--to', 't000', '--json'])).toMatchObject({
    code: 1,
    json: { error: { code: 'unknown-id' } },
  })
  project.ask('undo', '--turns', '2')
  expect(project.unturn(['diff']).stderr).toMatch(/^unturn: The session stands before its first turn/)
})

test('[U8] paths are read against the current folder, and undo in a subfolder takes the whole turn', () => {
  using project = new Project({ 'sub/a.txt': 'a\n', 'b.txt': 'b\n' })
  project.ask('capture')
  const cwd = project.pathOf('sub')
  const { turn } = project.unturn(['turn', 'begin', '--json'], { cwd }).json
  const begun = project.unturn(
    ['step', 'begin', '--turn', turn, '--tool', 'Edit', '--path', 'a.txt', '--path', '../b.txt', '--json'],
    { cwd },
  )
  project.write({ 'sub/a.txt': 'A\n', 'b.txt': 'B\n' })
  expect(
    project.unturn(['step', 'end', '--step', begun.json.step, '--json'], { cwd }).json.changes,
  ).toMatchObject([
    { path: 'b.txt', certainty: 'exact' },
    { path: 'sub/a.txt', certainty: 'exact' },
  ])
  expect(project.unturn(['undo'], { cwd }).code).toBe(0)
  expect(project.files()).toEqual({ 'sub/a.txt': 'a\n', 'b.txt': 'b\n' })
  for (const path of ['../../x', '/etc/passwd', '.git/config', '../.git/config']) {
    const refused = project.unturn(
      ['step', 'begin', '--turn', turn, '--tool', 'Edit', '--path', path, '--json'],
      { cwd },
    )
    expect(refused).toMatchObject({ code: 1, json: { error: { code: 'bad-path' } } })
  }
  const whole = project.unturn(['step', 'begin', '--turn', turn, '--tool', 'Edit', '--path', '.'])
  expect(whole.stderr).toMatch(/^unturn: The path \. cannot be used: it is the workspace itself\./)
})

test('[U9] version and help work anywhere', () => {
  using project = new Project()
  const version = (
    JSON.parse(readFileSync(new URL('../packages/cli/package.json', import.meta.url), 'utf8')) as {
      version: string
    }
  ).version
  expect(project.unturn(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' })
  const help = project.unturn(['help']).stdout
  for (const name of ['turn begin', 'undo', 'redo', 'restore', 'rollback', 'status', 'log', 'doctor', 'gc']) {
    expect(help).toContain(`  ${name}`)
    expect(project.unturn([...name.split(' '), '--help']).stdout).toContain(`Usage: unturn ${name}`)
  }
  expect(project.unturn([]).stdout).toBe(help)
})

test('[U10] questions leave no store behind', () => {
  using project = new Project({ 'a.txt': '1' })
  for (const args of [
    ['status'],
    ['log'],
    ['store'],
    ['doctor'],
    ['cleanup'],
    ['undo'],
    ['redo'],
    ['show', '@'],
    ['gc'],
  ])
    project.unturn(args)
  expect(existsSync(join(project.base, 'store'))).toBe(false)
  expect(project.files()).toEqual({ 'a.txt': '1' })
})

test('[U16] a reader that stops reading is no failure, and an answer that cannot be written is one', () => {
  using project = new Project({ 'a.txt': '0\n' })
  project.unturn(['run', '--', 'sh', '-c', 'seq 100000 > a.txt'])
  const piped = (line: string) =>
    spawnSync('bash', ['-c', `set -o pipefail; ${line}`, 'sh', node, command], {
      cwd: project.dir,
      env: project.env,
      encoding: 'utf8',
    })
  expect(piped('"$1" "$2" diff | true')).toMatchObject({ status: 0, stderr: '' })
  expect(piped('"$1" "$2" show @ --json | head -c 1')).toMatchObject({ status: 0, stdout: '{', stderr: '' })
  if (!existsSync('/dev/full')) return
  const full = piped('"$1" "$2" undo > /dev/full')
  expect(full.status).toBe(1)
  expect(full.stderr).toMatch(/^unturn: The answer could not be written \(.*\)\. The command itself came to/)
  expect(project.files()).toEqual({ 'a.txt': '0\n' })
})

test('[U17] a folder with a name that is not UTF-8 is a workspace; a deleted one is told as that', () => {
  using project = new Project()
  const called = (script: string) =>
    spawnSync('sh', ['-c', script, 'sh', node, command], {
      cwd: project.dir,
      env: project.env,
      encoding: 'utf8',
    })
  const gone = called('mkdir gone && cd gone && rmdir ../gone && "$1" "$2" status')
  expect(gone).toMatchObject({ status: 1, stdout: '' })
  expect(gone.stderr).toMatch(/^unturn: The current folder is not there any more\. Nothing was changed\./)
  if (process.platform !== 'linux') return // elsewhere such a folder cannot be made, or not be asked for
  const odd = called(
    'd="$(printf "od\\377d")" && mkdir "$d" && cd "$d" && echo 1 > a && "$1" "$2" run -- sh -c "echo 2 > a" && "$1" "$2" undo && "$1" "$2" log --file a && cat a; cd .. && rm -r "$d"',
  )
  expect(odd).toMatchObject({ status: 0 })
  expect(odd.stdout).toMatch(/1\n$/)
})

test('[U18] an empty HOME leaves nothing where the command is called', () => {
  using project = new Project({ 'a.txt': '1' })
  for (const args of [['status'], ['capture']]) {
    // Nothing compiled is kept either: it would go to the home folder of whoever runs the tests.
    const ran = project.unturn(args, { env: { HOME: '', NODE_DISABLE_COMPILE_CACHE: '1' } })
    expect(ran).toMatchObject({ code: 0, stderr: '' })
  }
  expect(readdirSync(project.dir)).toEqual(['a.txt'])
})

test('[U1] log draws the tree, shows changes and operations', () => {
  using project = new Project({ 'a.txt': '0\n' })
  const first = project.turn({ 'a.txt': '1\n' }, { prompt: 'first' })
  const second = project.turn({ 'a.txt': '2\n' }, { prompt: 'second' })
  project.ask('undo')
  const third = project.turn({ 'b.txt': 'b\n' }, { prompt: 'third' })
  expect(project.unturn(['log', '--tree']).stdout.replace(/\d+ min ago/g, 'just now')).toBe(
    [
      `o ${first}  first  1 file +1 −1  tester, just now`,
      `├─× ${second}  second  1 file +1 −1  tester, just now reverted`,
      `└─@ ${third}  third  1 file +1 −0  tester, just now`,
      '',
    ].join('\n'),
  )
  expect(project.ask('log', '--changes', '--file', 'b.txt').changes).toMatchObject([
    { path: 'b.txt', turn: third },
  ])
  expect(project.ask('log', '--ops', '--limit', '2').operations).toMatchObject([
    { kind: 'turn-end' },
    { kind: 'step' },
  ])
  expect(project.unturn(['diff', second]).stdout).toContain('-1\n+2\n')
  expect(project.unturn(['diff', first, 'now', '--stat']).stdout).toContain('a.txt')
  expect(project.unturn(['show', third]).stdout).toContain('+b\n')
})

test('[U14] completion names every command', () => {
  using project = new Project()
  for (const shell of ['bash', 'zsh', 'fish']) {
    const script = project.unturn(['completion', shell]).stdout
    for (const name of ['undo', 'redo', 'rollback', 'doctor', '--on-conflict'.slice(2)])
      expect(script).toContain(name)
  }
})
