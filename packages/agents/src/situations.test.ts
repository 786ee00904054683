import { spawn } from 'node:child_process'
import { mkdirSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionId, Workspace } from '@unturn/core'
import { expect, test } from 'vitest'
import { catchUp } from './hear.ts'
import { sessionsWithEndedJobs, sessionsWithJobs } from './memory.ts'
import { Claude } from './testing/claude-talk.ts'
import { Place } from './testing/place.ts'
import { tell } from './testing/player.ts'

/** Who changed what, oldest first. */
function changes(workspace: Workspace): readonly string[] {
  return workspace.index
    .operationsSince(0)
    .flatMap(({ record }) => workspace.index.changesOfOperation(record.seq))
    .map(({ actor, kind, path, certainty }) => `${actor} ${kind} ${path} ${certainty}`)
}

function turns(workspace: Workspace): readonly string[] {
  return workspace.index
    .sessions()
    .flatMap(({ id }) => workspace.index.turns(id))
    .sort((a, b) => a.beginSeq - b.beginSeq)
    .map(({ session, status, prompt }) => `${session} ${status} ${prompt ?? '(none)'}`)
}

test('[A114] [scenario A3] [scenario A4] what the user writes before a turn and between two steps is the user’s, and stays', async () => {
  await using place = new Place({ 'a.txt': 'one\n', 'b.txt': 'b\n' })
  const claude = new Claude(place)
  await claude.tell('SessionStart', { source: 'startup' })
  place.write({ 'b.txt': 'mine\n' })
  await claude.prompt('Go')
  await claude.write('a.txt', 'two\n')
  place.write({ 'mine.txt': 'mine\n' })
  await claude.bash('echo shell > shell.txt')
  await claude.stop()
  const workspace = await place.workspace()
  expect(changes(workspace)).toEqual([
    'user modify b.txt exact',
    'claude-code modify a.txt exact',
    'user add mine.txt exact',
    'claude-code add shell.txt inferred',
  ])
  await workspace.undo({ session: claude.session as SessionId })
  expect(place.files()).toEqual({ 'a.txt': 'one\n', 'b.txt': 'mine\n', 'mine.txt': 'mine\n' })
})

test('[A111] shell changes of every kind belong to their step, and come back', async () => {
  await using place = new Place({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n', 'run.sh': '#!/bin/sh\n' })
  const claude = new Claude(place)
  await claude.prompt('Go')
  await claude.bash(
    'echo more >> a.txt; rm b.txt; mv c.txt d.txt; chmod +x run.sh; mkdir -p x && echo n > x/n.txt',
  )
  await claude.bash('echo half > half.txt; exit 3')
  await claude.stop()
  const workspace = await place.workspace()
  expect(changes(workspace)).toEqual([
    'claude-code modify a.txt inferred',
    'claude-code delete b.txt inferred',
    'claude-code rename d.txt inferred',
    'claude-code mode run.sh inferred',
    'claude-code add x/n.txt inferred',
    'claude-code add half.txt inferred',
  ])
  const undone = await workspace.undo({ session: claude.session as SessionId })
  expect(place.files()).toEqual({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n', 'run.sh': '#!/bin/sh\n' })
  expect(undone.notUndone.commands).toHaveLength(2)
})

test('[A112] [scenario A11] a turn that never ended is closed by the next prompt, with all that it changed', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  const claude = new Claude(place)
  await claude.prompt('First')
  await claude.pre('Bash', { command: 'slow' })
  place.write({ 'half.txt': 'half\n' })
  await claude.prompt('Second')
  await claude.write('a.txt', 'two\n')
  await claude.stop()
  const workspace = await place.workspace()
  expect(turns(workspace)).toEqual(['claude-1 interrupted First', 'claude-1 ok Second'])
  expect(changes(workspace)).toEqual(['claude-code add half.txt inferred', 'claude-code modify a.txt exact'])
})

test('[A112] a session that was killed is closed when another one begins, and when it is resumed', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  const gone = new Claude(place, {
    session: 'gone',
    env: { CLAUDE_CODE_SESSION_ID: 'gone', CLAUDE_PID: '2147483000' },
  })
  await gone.prompt('Killed')
  await gone.pre('Bash', { command: 'slow' })
  place.write({ 'half.txt': 'half\n' })
  const next = new Claude(place, { session: 'next' })
  await next.tell('SessionStart', { source: 'startup' })
  expect(turns(await place.workspace())).toEqual(['gone interrupted Killed'])

  await next.prompt('Cut')
  await next.pre('Bash', { command: 'slow' })
  place.write({ 'more.txt': 'more\n' })
  await next.tell('SessionStart', { source: 'resume' })
  const workspace = await place.workspace()
  expect(turns(workspace)).toEqual(['gone interrupted Killed', 'next interrupted Cut'])
  expect(changes(workspace)).toEqual([
    'claude-code add half.txt inferred',
    'claude-code add more.txt inferred',
  ])
})

test('[A112] compaction in the middle of a turn ends nothing', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  const claude = new Claude(place)
  await claude.prompt('Long')
  await claude.tell('SessionStart', { source: 'compact' })
  await claude.write('a.txt', 'two\n')
  await claude.stop()
  expect(turns(await place.workspace())).toEqual(['claude-1 ok Long'])
})

test('[A115] [scenario A12] every event told twice makes no turn and no step twice', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  const claude = new Claude(place)
  const twice = async (event: string, fields: object, work = () => {}) => {
    await claude.tell(event, fields)
    await claude.tell(event, fields)
    work()
  }
  const call = { prompt_id: 'p', tool_use_id: 'c', tool_name: 'Bash', tool_input: { command: 'x' } }
  await twice('UserPromptSubmit', { prompt_id: 'p', prompt: 'Go' })
  await twice('PreToolUse', call, () => place.write({ 'a.txt': 'two\n' }))
  await twice('PostToolUse', call)
  await twice('Stop', { prompt_id: 'p' })
  const workspace = await place.workspace()
  expect(turns(workspace)).toEqual(['claude-1 ok Go'])
  expect(
    workspace.index.steps(workspace.index.turns('claude-1' as SessionId)[0]?.id ?? ('' as never)),
  ).toHaveLength(1)
})

test('[A115] prompts without ids: the same at once is one turn', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  const payload = {
    session_id: 'g',
    cwd: place.dir,
    hook_event_name: 'BeforeAgent',
    timestamp: '2026-01-01T09:00:00Z',
    prompt: 'Go',
  }
  await tell(place, 'gemini-cli', 'BeforeAgent', payload)
  await tell(place, 'gemini-cli', 'BeforeAgent', { ...payload, timestamp: '2026-01-01T09:00:00.1Z' })
  expect(turns(await place.workspace())).toEqual(['g open Go'])
})

test('[A115] an agent that runs another’s hooks is recorded under its own name, once', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  const base = {
    session_id: 'codex-1',
    turn_id: 't1',
    cwd: place.dir,
    model: 'm',
    permission_mode: 'default',
  }
  const prompt = { ...base, hook_event_name: 'UserPromptSubmit', prompt: 'Go' }
  await tell(place, 'claude-code', 'UserPromptSubmit', prompt) // Claude's settings, run by Codex
  await tell(place, 'codex', 'UserPromptSubmit', prompt)
  const workspace = await place.workspace()
  expect(turns(workspace)).toEqual(['codex-1 open Go'])
  expect(workspace.index.sessions().map(({ agent }) => agent)).toEqual(['codex'])
})

test('[A116] a call whose beginning was lost is recorded late: its changes are the agent’s, inferred', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  const claude = new Claude(place)
  await claude.prompt('Go')
  await claude.write('a.txt', 'two\n')
  place.write({ 'b.txt': 'new\n' })
  await claude.post('Write', { file_path: join(place.dir, 'b.txt') }, { tool_use_id: 'lost' })
  await claude.stop()
  expect(changes(await place.workspace())).toEqual([
    'claude-code modify a.txt exact',
    'claude-code add b.txt inferred',
  ])
})

test('[A116] a turn whose prompt was lost is a turn without a prompt; its id tells it from the one before', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  const claude = new Claude(place)
  await claude.prompt('First')
  const call = { prompt_id: 'lost', tool_use_id: 'c9', tool_name: 'Bash', tool_input: { command: 'x' } }
  await claude.tell('PreToolUse', call)
  place.write({ 'a.txt': 'two\n' })
  await claude.tell('PostToolUse', call)
  const workspace = await place.workspace()
  expect(turns(workspace)).toEqual(['claude-1 interrupted First', 'claude-1 open (none)'])
  expect(changes(workspace)).toEqual(['claude-code modify a.txt inferred'])
})

test('[A117] [scenario A13] what a background command says it writes is the turn’s, also after its end; what else changes is the user’s, with a note', async () => {
  await using place = new Place({ 'a.txt': 'one\n', 'server.js': 's\n' })
  const claude = new Claude(place)
  await claude.prompt('Start it')
  const input = { command: 'sleep 1; echo late > late.txt; node server.js', run_in_background: true }
  await claude.pre('Bash', input)
  await claude.post('Bash', input, { tool_response: { backgroundTaskId: 'b1' } })
  place.write({ 'within.txt': 'in the turn\n' })
  await claude.stop({ background_tasks: [{ id: 'b1', status: 'running', command: input.command }] })
  place.write({ 'late.txt': 'late\n', 'mine.txt': 'mine\n', 'server.js': 'by me\n' })
  await claude.tell('UserPromptSubmit', {
    prompt_id: 'm1',
    prompt: '<task-notification>\n<task-id>b1</task-id>',
  })
  await claude.tell('Stop', { prompt_id: 'm1', background_tasks: [] })
  const workspace = await place.workspace()
  expect(turns(workspace)).toEqual(['claude-1 ok Start it'])
  expect(changes(workspace)).toEqual([
    'claude-code add within.txt inferred',
    'claude-code add late.txt inferred',
    'user add mine.txt exact',
    'user modify server.js exact',
  ])
  expect(workspace.index.operationsOfUser().map(({ record }) => 'label' in record && record.label)).toContain(
    'beside background work of claude-code: sleep 1; echo late > late.txt; node server.js',
  )
  await workspace.undo({ session: claude.session as SessionId })
  expect(place.files()).toEqual({ 'a.txt': 'one\n', 'mine.txt': 'mine\n', 'server.js': 'by me\n' })
})

test('[A117] without a sign that a job was running, what a command named is the user’s after the turn', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  const claude = new Claude(place)
  await claude.prompt('Once')
  await claude.bash('echo x > late.txt')
  await claude.stop()
  place.write({ 'late.txt': 'mine\n' })
  await claude.prompt('Next')
  const workspace = await place.workspace()
  expect(changes(workspace)).toEqual(['claude-code add late.txt inferred', 'user modify late.txt exact'])
})

test.runIf(process.platform === 'linux')(
  '[A117] a job that a plain command left running is found by what the agent gives to its commands, and looked after until it ends',
  async () => {
    await using place = new Place({ 'a.txt': 'one\n' })
    const claude = new Claude(place)
    await claude.prompt('Start it')
    await claude.pre('Bash', { command: '(while [ ! -e go ]; do sleep 0.1; done; echo late > late.txt) &' })
    const job = spawn('sh', ['-c', 'while [ ! -e go ]; do sleep 0.1; done; echo late > late.txt'], {
      cwd: place.dir,
      env: { PATH: process.env.PATH, CLAUDE_CODE_SESSION_ID: claude.session },
    })
    await claude.post('Bash', { command: '(while [ ! -e go ]; do sleep 0.1; done; echo late > late.txt) &' })
    await claude.stop()
    expect(sessionsWithJobs(place.desk)).toEqual([claude.session])
    const { desk, env } = place
    await catchUp({ desk, env, patienceMs: 10_000 })
    expect(sessionsWithJobs(desk)).toEqual([claude.session])
    const ended = new Promise((resolve) => job.once('exit', resolve))
    place.write({ go: 'mine\n' })
    await ended
    expect(sessionsWithEndedJobs(desk)).toEqual([claude.session])
    await catchUp({ desk, env, patienceMs: 10_000 })
    expect(sessionsWithJobs(desk)).toEqual([])
    const workspace = await place.workspace()
    expect(changes(workspace)).toEqual(['claude-code add late.txt inferred', 'user add go exact'])
    await workspace.undo({ session: claude.session as SessionId })
    expect(place.files()).toEqual({ 'a.txt': 'one\n', go: 'mine\n' })
  },
)

test('[A117] what the agent does when it wakes up for a background task belongs to the same turn', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  const claude = new Claude(place)
  await claude.prompt('Start it')
  await claude.stop({ background_tasks: [{ id: 'b1', status: 'running', command: 'x' }] })
  await claude.tell('UserPromptSubmit', { prompt_id: 'm1', prompt: '<task-notification>done' })
  const call = {
    prompt_id: 'm1',
    tool_use_id: 'w',
    tool_name: 'Write',
    tool_input: { file_path: join(place.dir, 'a.txt') },
  }
  await claude.tell('PreToolUse', call)
  place.write({ 'a.txt': 'two\n' })
  await claude.tell('PostToolUse', call)
  await claude.tell('Stop', { prompt_id: 'm1', background_tasks: [] })
  const workspace = await place.workspace()
  expect(turns(workspace)).toEqual(['claude-1 ok Start it'])
  await workspace.undo({ session: claude.session as SessionId })
  expect(place.files()).toEqual({ 'a.txt': 'one\n' })
})

/** Two files by edit tools, in two turns; the copies that Claude Code keeps for its rewind. */
async function twoTurns(place: Place): Promise<{ claude: Claude; backup: string }> {
  const claude = new Claude(place)
  await claude.prompt('First')
  await claude.write('a.txt', 'two\n')
  await claude.stop()
  await claude.prompt('Second')
  await claude.write('a.txt', 'three\n')
  await claude.write('new.txt', 'new\n')
  await claude.stop()
  const backup = join(place.env.HOME ?? '', '.claude', 'file-history', claude.session, 'copy@v1')
  place.write({ [backup]: 'two\n' }, '/')
  utimesSync(backup, 1, 2)
  return { claude, backup }
}

function read(backup: string): void {
  utimesSync(backup, new Date(Date.now() + 1000), statSync(backup).mtime)
}

test('[A122] a rewind of Claude Code’s is its own turn, and what the user wrote beside it is the user’s', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  const { claude, backup } = await twoTurns(place)
  place.write({ 'a.txt': 'two\n', 'new.txt': null, 'mine.txt': 'mine\n' })
  read(backup)
  await claude.prompt('Third')
  const workspace = await place.workspace()
  const second = workspace.index.turns(claude.session as SessionId)[1]?.id
  expect(turns(workspace)).toEqual([
    'claude-1 ok First',
    'claude-1 ok Second',
    `claude-1 ok (claude-code went back to before ${second} by itself)`,
    'claude-1 open Third',
  ])
  expect(changes(workspace).slice(3)).toEqual([
    'claude-code modify a.txt inferred',
    'claude-code delete new.txt inferred',
    'user add mine.txt exact',
  ])
})

test('[A122] the same state without a trace of a rewind, and a part of it with one, are the user’s', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  const { claude, backup } = await twoTurns(place)
  place.write({ 'a.txt': 'two\n', 'new.txt': null })
  await claude.prompt('Third')
  place.write({ 'a.txt': 'four\n' })
  read(backup)
  await claude.stop()
  await claude.prompt('Fourth')
  const workspace = await place.workspace()
  expect(turns(workspace).map((turn) => turn.split(' ').at(-1))).toEqual([
    'First',
    'Second',
    'Third',
    'Fourth',
  ])
})

test('[A122] what goes back while Claude Code runs without a prompt was its rewind; what was changed before that was not', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  const { claude } = await twoTurns(place)
  await claude.tell('SessionEnd', { reason: 'other' })
  place.write({ 'new.txt': 'by me\n' })
  await claude.tell('SessionStart', { source: 'resume' })
  place.write({ 'a.txt': 'one\n', 'new.txt': null })
  await claude.tell('SessionEnd', { reason: 'other' })
  const workspace = await place.workspace()
  expect(turns(workspace)).toHaveLength(3)
  expect(turns(workspace)[2]).toContain('went back to before')
  expect(changes(workspace).slice(3)).toEqual([
    'user modify new.txt exact',
    'claude-code modify a.txt inferred',
    'claude-code delete new.txt inferred',
  ])
})

test('[A118] a file of another workspace belongs to that one; undo in each takes back its own', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  const other = join(place.base, 'other')
  place.write({ 'o.txt': 'other\n' }, other)
  place.git(other, 'init')
  const claude = new Claude(place)
  await claude.prompt('Both')
  await claude.write('a.txt', 'two\n')
  await claude.write(join(other, 'o.txt'), 'changed\n')
  await claude.bash(`echo shell > ${join(other, 's.txt')}; echo shell > s.txt`)
  await claude.stop()
  const here = await place.workspace()
  const there = await place.workspace(other)
  expect(turns(here)).toEqual(['claude-1 ok Both'])
  expect(turns(there)).toEqual(['claude-1 ok Both'])
  expect(changes(here)).toEqual(['claude-code modify a.txt exact', 'claude-code add s.txt inferred'])
  expect(changes(there)).toEqual(['claude-code modify o.txt exact', 'claude-code add s.txt inferred'])
  await there.undo({ session: claude.session as SessionId })
  expect(place.files(other)).toEqual({ 'o.txt': 'other\n' })
  expect(place.files()).toEqual({ 'a.txt': 'two\n', 's.txt': 'shell\n' })
})

test('[A118] a folder that the agent has gone into changes nothing about where its files belong', async () => {
  await using place = new Place({ 'a.txt': 'one\n', 'sub/b.txt': 'b\n' })
  const env = { CLAUDE_CODE_SESSION_ID: 'claude-1', CLAUDE_PROJECT_DIR: place.dir }
  const claude = new Claude(place, { env, cwd: join(place.dir, 'sub') })
  await claude.prompt('Go')
  await claude.bash('echo x > inside.txt; echo y > ../outside.txt')
  await claude.stop()
  expect(changes(await place.workspace())).toEqual([
    'claude-code add outside.txt inferred',
    'claude-code add sub/inside.txt inferred',
  ])
})

test('[A118] the agent’s own worktree is a workspace of its own; a plain repository inside is not', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  place.git(place.dir, 'init')
  place.git(place.dir, 'add', '-A')
  place.git(place.dir, 'commit', '-m', 'start')
  const tree = join(place.dir, '.claude/worktrees/agent-1')
  place.git(place.dir, 'worktree', 'add', tree)
  const inner = join(place.dir, 'inner')
  mkdirSync(inner)
  place.git(inner, 'init')
  const claude = new Claude(place)
  await claude.prompt('Go')
  await claude.write(join(tree, 'a.txt'), 'in the worktree\n', { agent_id: 'sub-1' })
  await claude.write(join(inner, 'i.txt'), 'plain\n')
  await claude.stop()
  expect(changes(await place.workspace(tree))).toEqual(['claude-code modify a.txt exact'])
  expect(changes(await place.workspace()).filter((line) => line.startsWith('claude-code'))).toEqual([
    'claude-code add inner/i.txt exact',
  ])
})

test('[A118] a place that nobody watches over, and the inside of a .git, are left out and do no harm', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  place.git(place.dir, 'init')
  const claude = new Claude(place)
  await claude.prompt('Go')
  await claude.write(join(place.base, 'loose.txt'), 'x\n')
  await claude.write(join(place.dir, '.git/notes'), 'x\n')
  await claude.write('a.txt', 'two\n')
  await claude.stop()
  expect(changes(await place.workspace())).toEqual(['claude-code modify a.txt exact'])
})

test('[A119] a formatter that writes right after the edit is the agent’s; the user, later, is not', async () => {
  await using place = new Place({ 'a.txt': 'one\n', 'b.txt': 'b\n' })
  const claude = new Claude(place)
  await claude.prompt('Go')
  await claude.write('a.txt', 'two  \n')
  place.write({ 'a.txt': 'two\n' })
  const soon = Date.now() / 1000 + 1
  utimesSync(join(place.dir, 'a.txt'), soon, soon)
  await claude.write('b.txt', 'c\n')
  place.write({ 'b.txt': 'mine\n' })
  const later = Date.now() / 1000 + 60
  utimesSync(join(place.dir, 'b.txt'), later, later)
  await claude.stop()
  expect(changes(await place.workspace())).toEqual([
    'claude-code modify a.txt exact',
    'claude-code modify a.txt inferred',
    'claude-code modify b.txt exact',
    'user modify b.txt exact',
  ])
})

test('[A120] two agents of different kinds in one folder: each is undone alone', async () => {
  await using place = new Place({ 'a.txt': '1\n2\n3\n4\n5\n6\n7\n8\n9\n' })
  const claude = new Claude(place)
  const codex = {
    session_id: 'codex-1',
    turn_id: 't1',
    cwd: place.dir,
    model: 'm',
    permission_mode: 'default',
  }
  const patch =
    '*** Begin Patch\n*** Update File: a.txt\n@@\n-9\n+nine\n*** Add File: x.txt\n+x\n*** End Patch\n'
  const call = { ...codex, tool_name: 'apply_patch', tool_input: { command: patch }, tool_use_id: 'c1' }
  await claude.prompt('Up')
  await tell(place, 'codex', 'UserPromptSubmit', {
    ...codex,
    hook_event_name: 'UserPromptSubmit',
    prompt: 'Down',
  })
  await claude.write('a.txt', 'one\n2\n3\n4\n5\n6\n7\n8\n9\n')
  await tell(place, 'codex', 'PreToolUse', { ...call, hook_event_name: 'PreToolUse' })
  place.write({ 'a.txt': 'one\n2\n3\n4\n5\n6\n7\n8\nnine\n', 'x.txt': 'x\n' })
  await tell(place, 'codex', 'PostToolUse', { ...call, hook_event_name: 'PostToolUse', tool_response: '' })
  await claude.stop()
  await tell(place, 'codex', 'Stop', { ...codex, hook_event_name: 'Stop' })
  const workspace = await place.workspace()
  expect(
    workspace.index
      .sessions()
      .map(({ agent }) => agent)
      .sort(),
  ).toEqual(['claude-code', 'codex'])
  await workspace.undo({ session: claude.session as SessionId })
  expect(place.files()).toEqual({ 'a.txt': '1\n2\n3\n4\n5\n6\n7\n8\nnine\n', 'x.txt': 'x\n' })
  await workspace.undo({ session: 'codex-1' as SessionId })
  expect(place.files()).toEqual({ 'a.txt': '1\n2\n3\n4\n5\n6\n7\n8\n9\n' })
})

const nine = '1\n2\n3\n4\n5\n6\n7\n8\n9\n'
const both = nine.replace('1\n', 'one\n').replace('9\n', 'nine\n')

/** Claude Code edits the first line and Codex the last, and both have begun when the first of them writes. */
async function atOnce(
  place: Place,
  ends: readonly ('claude' | 'codex')[],
): Promise<{ workspace: Workspace; claude: Claude }> {
  const claude = new Claude(place)
  const codex = {
    session_id: 'codex-1',
    turn_id: 't1',
    cwd: place.dir,
    model: 'm',
    permission_mode: 'default',
  }
  const patch = '*** Begin Patch\n*** Update File: a.txt\n@@\n 8\n-9\n+nine\n*** End Patch\n'
  const call = { ...codex, tool_name: 'apply_patch', tool_input: { command: patch }, tool_use_id: 'c1' }
  const tellCodex = (event: string, fields: object) =>
    tell(place, 'codex', event, { ...call, ...fields, hook_event_name: event })
  const edit = { file_path: join(place.dir, 'a.txt'), old_string: '1\n', new_string: 'one\n' }
  await claude.prompt('Up')
  await tellCodex('UserPromptSubmit', { prompt: 'Down' })
  await claude.pre('Edit', edit)
  await tellCodex('PreToolUse', {})
  place.write({ 'a.txt': both })
  for (const end of ends)
    await (end === 'claude' ? claude.post('Edit', edit) : tellCodex('PostToolUse', { tool_response: '' }))
  await claude.stop()
  await tellCodex('Stop', {})
  return { workspace: await place.workspace(), claude }
}

test.each([[['claude', 'codex']], [['codex', 'claude']]] as const)(
  '[A123] two agents that edit one file at the same time have each their own part of it, whoever ends first: %s',
  async (ends) => {
    await using place = new Place({ 'a.txt': nine })
    const { workspace, claude } = await atOnce(place, ends)
    expect(changes(workspace).toSorted()).toEqual([
      'claude-code modify a.txt exact',
      'codex modify a.txt exact',
    ])
    await workspace.undo({ session: claude.session as SessionId })
    expect(place.files()).toEqual({ 'a.txt': nine.replace('9\n', 'nine\n') })
    await workspace.redo({ session: claude.session as SessionId })
    await workspace.undo({ session: 'codex-1' as SessionId })
    expect(place.files()).toEqual({ 'a.txt': nine.replace('1\n', 'one\n') })
  },
)

test('[A123] an edit while another session’s command runs is the edit’s alone, and what the command did to the file is the command’s', async () => {
  await using place = new Place({ 'a.txt': nine })
  const [left, right] = [new Claude(place), new Claude(place, { session: 'claude-2' })]
  const edit = { file_path: join(place.dir, 'a.txt'), old_string: '1\n', new_string: 'one\n' }
  await left.prompt('Edit')
  await right.prompt('Run')
  await right.pre('Bash', { command: 'sed' })
  await left.pre('Edit', edit)
  place.write({ 'a.txt': both })
  await left.post('Edit', edit)
  await right.post('Bash', { command: 'sed' })
  await left.stop()
  await right.stop()
  const workspace = await place.workspace()
  await workspace.undo({ session: 'claude-1' as SessionId })
  expect(place.files()).toEqual({ 'a.txt': nine.replace('9\n', 'nine\n') })
  await workspace.undo({ session: 'claude-2' as SessionId })
  expect(place.files()).toEqual({ 'a.txt': nine })
})

test('[A113] OpenCode’s own revert is recorded as its own, not as the user’s, and can be undone', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  const base = { directory: place.dir, rootSession: 'ses_1' }
  const say = (hook: string, input: object, output: object = {}) =>
    tell(place, 'opencode', hook, { hook, input, output, ...base })
  const call = { tool: 'write', sessionID: 'ses_1', callID: 'c1' }
  const args = { filePath: join(place.dir, 'a.txt') }
  await say(
    'chat.message',
    { sessionID: 'ses_1' },
    { message: { id: 'msg_1' }, parts: [{ type: 'text', text: 'Go' }] },
  )
  await say('tool.execute.before', call, { args })
  place.write({ 'a.txt': 'two\n' })
  await say('tool.execute.after', { ...call, args }, { metadata: {} })
  await say('event', { type: 'session.status', properties: { sessionID: 'ses_1', status: { type: 'idle' } } })
  place.write({ 'a.txt': 'one\n' })
  const revert = {
    type: 'session.updated',
    properties: { info: { id: 'ses_1', revert: { messageID: 'msg_1' } } },
  }
  await say('event', revert)
  await say('event', revert)
  const workspace = await place.workspace()
  expect(turns(workspace)).toEqual(['ses_1 ok Go', 'ses_1 ok (opencode reverted to before msg_1)'])
  expect(changes(workspace)).toEqual(['opencode modify a.txt exact', 'opencode modify a.txt inferred'])
  await workspace.undo({ session: 'ses_1' as SessionId })
  expect(place.files()).toEqual({ 'a.txt': 'two\n' })
})

test('[A121] Cline’s new file, empty before its call is announced, is not taken for the user’s', async () => {
  await using place = new Place({ 'a.txt': 'one\n' })
  const base = { clineVersion: '3', taskId: '17', workspaceRoots: [place.dir] }
  const use = { toolName: 'write_to_file', parameters: { path: 'new.txt' } }
  await tell(place, 'cline', 'UserPromptSubmit', {
    ...base,
    hookName: 'UserPromptSubmit',
    userPromptSubmit: { prompt: 'Go' },
  })
  place.write({ 'new.txt': '' })
  await tell(place, 'cline', 'PreToolUse', { ...base, hookName: 'PreToolUse', preToolUse: use })
  place.write({ 'new.txt': 'hello\n' })
  await tell(place, 'cline', 'PostToolUse', {
    ...base,
    hookName: 'PostToolUse',
    postToolUse: { ...use, success: true },
  })
  await tell(place, 'cline', 'TaskComplete', { ...base, hookName: 'TaskComplete' })
  const workspace = await place.workspace()
  expect(changes(workspace)).toEqual(['cline add new.txt inferred'])
  await workspace.undo({ session: '17' as SessionId })
  expect(place.files()).toEqual({ 'a.txt': 'one\n' })
})
