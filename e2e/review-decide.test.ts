import { spawn, spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { command, hunksOf, node, Project, plainIds } from './support.ts'

const ten = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n'
const shouted = ten.replace('two', 'TWO').replace('nine', 'NINE')

test('[U304] accept and reject take hunks by id, prefix, lines, file, turn, agent, or all', () => {
  using project = new Project({ a: ten, b: ten, c: ten })
  const first = project.turn({ a: shouted })
  project.turn({ b: shouted, c: 'one\n' })
  const [two, nine] = hunksOf(project, '--file', 'a')
  const accepted = project.ask('accept', '--hunk', two.id.slice(0, 6))
  expect(accepted).toEqual({
    op: expect.stringMatching(/^o/),
    ops: [accepted.op],
    hunks: [two.id],
    files: [],
    conflicts: [],
    pending: 4,
  })
  expect(project.ask('reject', '--turn', first)).toMatchObject({
    hunks: [nine.id],
    files: [{ path: 'a', action: 'write', merged: false }],
    pending: 3,
  })
  expect(project.read('a')).toBe(ten.replace('two', 'TWO'))
  const [shout] = hunksOf(project, '--file', 'b')
  expect(project.ask('reject', '--hunk', `${shout.id}:1-2`, '--file', 'b').pending).toBe(2)
  expect(project.ask('accept', '--turn', '@', '--file', 'b').pending).toBe(1)
  expect(project.ask('reject', '--agent', 'tester', '--session', 's1').pending).toBe(0)
  expect(project.files()).toEqual({ a: ten.replace('two', 'TWO'), b: ten.replace('nine', 'NINE'), c: ten })
  project.turn({ a: 'a\n', b: 'b\n' })
  expect(plainIds(project.unturn(['reject', '--all']).stdout)).toMatchInlineSnapshot(`
    "Rejected 2 hunks in 2 files
      wrote    a
      wrote    b
    Nothing more is pending.
    Take this back with: unturn rollback --op o1
    "
  `)
  expect(project.files().b).toBe(ten.replace('nine', 'NINE'))
})

test('[U305] a decision that cannot be carried out changes nothing, and its exit code tells why', () => {
  using project = new Project({ a: ten })
  expect(project.unturn(['accept', '--all']).code).toBe(3)
  project.turn({ a: shouted })
  const stale = hunksOf(project)[0].id
  expect(project.unturn(['accept'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('say what to accept: --hunk'),
  })
  expect(project.unturn(['reject', '--on-conflict', 'maybe', '--all']).code).toBe(2)
  project.turn({ a: shouted.replace('TWO', 'TWO!') })
  expect(project.unturn(['reject', '--hunk', stale, '--json'])).toMatchObject({
    code: 1,
    json: { error: { code: 'hunk-gone', data: { hunks: [stale] } } },
  })
  expect(project.unturn(['accept', '--file', 'other']).code).toBe(3)
  const mine = shouted.replace('TWO', 'TWO! and mine')
  project.write({ a: mine })
  const refused = project.unturn(['reject', '--all'])
  expect(refused.code).toBe(4)
  expect(refused.stderr).toMatchInlineSnapshot(`
    "unturn: You have edited inside of what was to be rejected, in one file. Nothing was changed.
      a: You have edited a inside the hunk, and rejecting it would take your text with it.
        now │ TWO! and mine
        old │ two
    Choose with --on-conflict: keep (leave these hunks pending, reject the rest), overwrite (take the old text; yours stays recoverable), or markers (write both into the file). Accepting such a hunk keeps your text.
    "
  `)
  expect(project.unturn(['reject', '--all', '--json']).json).toMatchObject({
    error: { code: 'conflicts', data: { decision: 'reject', conflicts: [{ path: 'a' }], pending: 2 } },
  })
  expect(project.read('a')).toBe(mine)
  expect(project.unturn(['review', '--stat']).stdout).toContain('a  +2 −2  2 hunks  contested\n')
  const kept = project.ask('reject', '--all', '--on-conflict', 'keep')
  expect(kept).toMatchObject({ pending: 1, conflicts: [{ path: 'a' }] })
  expect(kept.hunks).toHaveLength(1)
  expect(project.read('a')).toBe(ten.replace('two', 'TWO! and mine'))
  expect(project.ask('review').rejected).toMatchObject([{ removed: 'nine\n' }])
  expect(project.ask('reject', '--all', '--on-conflict', 'keep')).toMatchObject({
    ops: [],
    hunks: [],
    pending: 1,
  })
  project.ask('reject', '--all', '--on-conflict', 'overwrite')
  expect(project.read('a')).toBe(ten)
})

test('[U306] a dry run prints the plan, and the same hunks are pending', () => {
  using project = new Project({ a: ten })
  project.turn({ a: shouted })
  const before = project.ask('review')
  const planned = project.ask('reject', '--all', '--dry-run')
  expect(planned).toMatchObject({ ops: [], pending: 0, files: [{ path: 'a', action: 'write' }] })
  expect(planned).not.toHaveProperty('op')
  expect(planned.patch).toContain('-TWO\n+two\n')
  expect(project.unturn(['reject', '--all', '--dry-run']).stdout).toMatch(
    /^Would reject 2 hunks in a\n {2}write /,
  )
  expect(project.unturn(['accept', '--all', '--dry-run']).stdout).toBe(
    'Would accept 2 hunks in a\nNothing more would be pending.\n',
  )
  expect(project.ask('review')).toEqual(before)
  expect(project.read('a')).toBe(shouted)
})

test('[U307] [P7] what a decision printed takes it back', () => {
  using project = new Project({ a: ten })
  project.turn({ a: shouted })
  const before = project.ask('review')
  for (const verb of ['accept', 'reject']) {
    const { stdout } = project.unturn([verb, '--all'])
    expect(project.ask('review').pending).toBe(0)
    const back = /Take this back with: unturn (rollback --op \w+)/.exec(stdout)?.[1] ?? ''
    expect(project.unturn(back.split(' ')).code).toBe(0)
    expect(project.ask('review')).toEqual(before)
    expect(project.read('a')).toBe(shouted)
  }
})

test('[U308] propose offers without writing; proposals lists; accept writes, as a group or not at all', () => {
  using project = new Project({ a: ten, gone: 'g\n' })
  const { turn } = project.ask('turn', 'begin', '--session', 's1', '--agent', 'tester')
  project.write({ '../content': shouted })
  const made = project.ask(
    'propose',
    '--turn',
    turn,
    '--file',
    'a',
    '--content-file',
    '../content',
    '--group',
    'all',
  )
  expect(made).toEqual({
    proposal: expect.stringMatching(/^p/),
    op: expect.stringMatching(/^o/),
    session: 's1',
  })
  const piped = project.unturn(
    ['propose', '--turn', '@', '--file', 'new/run', '--content-file', '-', '--group', 'all', '--executable'],
    { input: 'sh\n' },
  )
  expect(plainIds(piped.stdout)).toBe(
    'Proposed a change of new/run as p1; nothing was written. See it with: unturn review --file new/run\n',
  )
  project.ask('propose', '--turn', turn, '--file', 'gone', '--delete')
  project.ask('turn', 'end', '--turn', turn)
  expect(project.files()).toEqual({ a: ten, gone: 'g\n' })
  for (const wrong of [['--delete', '--content-file', 'x'], [], ['--content-file', 'not-there']])
    expect(project.unturn(['propose', '--turn', turn, '--file', 'a', ...wrong]).code).toBe(2)
  for (const outside of ['../x', '.git/config'])
    expect(project.unturn(['propose', '--turn', turn, '--file', outside, '--delete']).code).toBe(1)

  const { proposals } = project.ask('proposals')
  expect(proposals).toMatchObject([
    { id: made.proposal, path: 'a', action: 'modify', group: 'all', agent: 'tester', turn, additions: 2 },
    { path: 'new/run', action: 'create', group: 'all' },
    { path: 'gone', action: 'delete', contested: false },
  ])
  expect(project.ask('review').proposals).toEqual(proposals)
  expect(plainIds(project.unturn(['review', '--file', 'a']).stdout)).toContain(
    'a  +2 −2  proposed, not on disk (p1, group all)\n',
  )
  expect(project.unturn(['proposals']).stdout).toContain('3 proposals with 4 hunks, not on disk.')

  project.write({ a: ten.replace('two', 'mine') })
  const refused = project.unturn(['accept', '--group', 'all'])
  expect(refused.code).toBe(4)
  expect(refused.stderr).toContain('    now │ mine\n    new │ TWO\n')
  expect(project.files()).toEqual({ a: ten.replace('two', 'mine'), gone: 'g\n' })
  const kept = project.ask('accept', '--group', 'all', '--on-conflict', 'keep')
  expect(kept).toMatchObject({ files: [{ path: 'new/run' }], conflicts: [{ path: 'a' }], pending: 3 })
  expect(kept.hunks).toHaveLength(1)
  project.ask('reject', '--all')
  expect(project.files()).toEqual({ a: ten.replace('two', 'mine'), gone: 'g\n', 'new/run': 'sh\n' })
  expect(project.unturn(['proposals']).stdout).toBe('Nothing is proposed.\n')
})

// ---- on a terminal -------------------------------------------------------------------------------------------------

const hasScript = spawnSync('script', ['--version']).stdout?.toString().includes('util-linux') === true

/** Runs `shell` in a pseudo terminal; each of `typed` is typed, or done, once the text before it has been printed. */
function inTerminal(
  project: Project,
  shell: string,
  typed: readonly (readonly [waitFor: string, answer: string | ((printed: string) => void)])[],
): Promise<string> {
  const child = spawn('script', ['-qec', shell, '/dev/null'], {
    cwd: project.dir,
    env: { ...project.env, TERM: 'xterm', SHELL: '/bin/sh' },
  })
  return new Promise((resolve, reject) => {
    const left = [...typed]
    let printed = ''
    let seen = 0
    child.on('error', reject)
    child.on('close', () => resolve(printed))
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text
      for (let next = left[0]; next !== undefined; next = left[0]) {
        const [waitFor, answer] = next
        const at = printed.indexOf(waitFor, seen)
        if (at < 0) return
        seen = at + waitFor.length
        left.shift()
        if (typeof answer === 'string') child.stdin.write(answer)
        else answer(printed)
      }
    })
  })
}

const walk = `'${node}' '${command}' review -i`

test.skipIf(!hasScript)('[U319] in a real terminal keys decide', async () => {
  using project = new Project({ a: ten })
  project.turn({ a: shouted })
  const printed = await inTerminal(project, walk, [
    ['[y,n,s', 'n'],
    ['[y,n,s', 'y'],
    ['That was the last one', 'q'],
  ])
  expect(printed).toContain('\u001b[32m+NINE\u001b[39m')
  expect(printed).toContain('Accepted 1 hunk, rejected 1; 0 hunks are still pending.')
  expect(project.read('a')).toBe(ten.replace('nine', 'NINE'))
})

test.skipIf(!hasScript)(
  '[U319] the terminal is as it was on every way out: q, Ctrl-C, a signal',
  async () => {
    using project = new Project({ a: ten })
    project.turn({ a: shouted })
    const shell = `stty -g > ../before; sh -c 'echo pid $$; exec ${walk.replaceAll("'", '"')}'; echo "code $?"; stty -g > ../after`
    const kill = (printed: string) => process.kill(Number(/pid (\d+)/.exec(printed)?.[1]), 'SIGTERM')
    for (const [end, code] of [
      ['q', 0],
      ['\u0003', 130],
      [kill, 143],
    ] as const) {
      const printed = await inTerminal(project, shell, [['[y,n,s', end]])
      expect(printed).toContain(`code ${code}`)
      expect(project.read('../before')).not.toBe('')
      expect(project.read('../after')).toBe(project.read('../before'))
    }
    expect(project.read('a')).toBe(shouted)
  },
)

test('[U319] without a terminal review --interactive refuses, and says what to use instead', () => {
  using project = new Project({ a: ten })
  project.turn({ a: shouted })
  for (const flag of ['-i', '--interactive']) {
    const ran = project.unturn(['review', flag])
    expect(ran.code).toBe(2)
    expect(ran.stderr).toContain('unturn review --json')
  }
  expect(project.unturn(['review', '-i', '--json']).json.error.code).toBe('bad-usage')
})
