/**
 * The real agents, each with a model that plays scenes. Unturn is installed by `unturn init --yes` and nothing else.
 * Run by `npm run test:agents`, one project of vitest for each agent.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Json } from '../support.ts'
import { claudeCode } from './claude-code.ts'
import { ClaudeTerminal, hasTerminal, rewindFiles, rewindingClaude } from './claude-rewind.ts'
import { codex } from './codex.ts'
import type { Driver } from './driver.ts'
import { geminiCli } from './gemini-cli.ts'
import { askOpencode, opencode, opencodeWith } from './opencode.ts'
import { findProgramFolder, pinned, pinnedAgents } from './pinned.ts'
import { endTree, Place, running } from './place.ts'

const drivers: readonly Driver[] = [claudeCode, codex, opencode, geminiCli]
const agent = pinnedAgents.find((name) => name === process.env.UNTURN_TEST_AGENT)
const driver = drivers.find((one) => one.agent === agent)

if (agent === undefined || driver === undefined) throw new Error('say which agent: UNTURN_TEST_AGENT=codex')

const { title } = pinned[agent]
const isInstalled = findProgramFolder(agent) !== undefined
const long = Array.from({ length: 40 }, (_, at) => `line ${at + 1}`).join('\n')

function occurrences(text: string, of: string): number {
  return text.split(of).length - 1
}

/** As a command. No substitutions in it: Gemini CLI refuses those. */
function waitFor(file: string): string {
  return `timeout 30 sh -c 'while [ ! -e ${file} ]; do sleep 0.1; done'`
}

function healthOf(place: Place): Json {
  return place.ask('doctor').agents.find((one: Json) => one.agent === place.driver.agent)
}

async function until(holds: () => boolean, what: string): Promise<void> {
  const end = Date.now() + 90_000
  while (!holds()) {
    if (Date.now() > end) throw new Error(`waited in vain for: ${what}`)
    await new Promise((next) => setTimeout(next, 50))
  }
}

describe.skipIf(!isInstalled)(title, () => {
  test('[A300] [A301] [A309] a turn of edit tools, shell commands and a deletion is recorded, undone and redone; the agent is told once; the hooks go out again', async () => {
    await using place = await Place.open(driver, {
      'a.txt': 'one\n',
      'gone.txt': 'bye\n',
      'run.sh': 'echo\n',
      'keep/b.txt': 'b\n',
    })
    const before = place.files()
    place.scene(
      'mixed',
      [{ do: 'write', path: 'new.txt', text: 'new\n' }],
      [{ do: 'read', path: 'a.txt' }],
      [{ do: 'edit', path: 'a.txt', old: 'one', new: 'ONE' }],
      [{ do: 'shell', command: 'echo two >> a.txt; rm gone.txt; mkdir d; mv run.sh d/; chmod 755 d/run.sh' }],
      [{ do: 'shell', command: 'echo half > half.txt; exit 3' }],
    )
    const turn = await place.play('mixed')
    expect(place.turns()).toHaveLength(1)
    expect(turn).toMatchObject({ agent: driver.agent, status: 'ok', prompt: 'Please do it. scene:mixed' })
    const certainties = place
      .changesOf(turn)
      .map(({ path, kind, certainty }) => `${path} ${kind} ${certainty}`)
    expect(certainties.sort()).toEqual([
      'a.txt modify exact',
      'a.txt modify inferred',
      'd/run.sh rename inferred',
      'gone.txt delete inferred',
      'half.txt add inferred',
      'new.txt add exact',
    ])
    expect(healthOf(place)).toMatchObject({ installed: 'user', lastFailure: null, problems: [] })

    const after = place.files()
    expect(place.ask('undo').notUndone.commands).toEqual([
      'echo two >> a.txt; rm gone.txt; mkdir d; mv run.sh d/; chmod 755 d/run.sh',
      'echo half > half.txt; exit 3',
    ])
    expect(place.files()).toEqual(before)
    expect(statSync(place.pathOf('run.sh')).mode & 0o777).not.toBe(0o755)
    place.ask('redo')
    expect(place.files()).toEqual(after)
    expect(statSync(place.pathOf('d/run.sh')).mode & 0o777).toBe(0o755)
    place.ask('undo')

    place.scene('told', [{ do: 'write', path: 'told.txt', text: 'x\n' }])
    place.scene('quiet', [{ do: 'write', path: 'quiet.txt', text: 'x\n' }])
    await place.play('told', turn.session)
    const heard = place.model.askedIn('told')[0]?.body ?? ''
    expect(occurrences(heard, 'Note from Unturn')).toBe(1)
    expect(heard).toContain('the user took back 1 turn of yours')
    expect(heard).toContain('new.txt: is no longer there')
    await place.play('quiet', turn.session)
    expect(occurrences(place.model.askedIn('quiet')[0]?.body ?? '', 'Note from Unturn')).toBeLessThan(2)

    expect(place.unturn(['init', agent, '--yes']).stdout).toContain('in place already')
    expect(place.unturn(['init', agent, '--remove', '--yes']).code).toBe(0)
    const file = join(place.home, settingsFile[agent])
    expect(existsSync(file) ? readFileSync(file, 'utf8') : '').not.toContain('unturn')
    expect(healthOf(place)).toMatchObject({ installed: null })
  })

  test('[A302] the middle turn of three is taken out; the others, and what the user wrote before, between and during them, stay', async () => {
    await using place = await Place.open(driver, { 'long.txt': `${long}\n`, 'mine.txt': 'mine\n' })
    for (const [scene, line] of [
      ['first', 'line 5'],
      ['second', 'line 15'],
      ['third', 'line 25'],
    ] as const)
      place.scene(
        scene,
        [{ do: 'read', path: 'long.txt' }],
        [{ do: 'edit', path: 'long.txt', old: `${line}\n`, new: `${line} by ${scene}\n` }],
        [
          { do: 'user', files: { [`during-${scene}.txt`]: 'typed\n' } },
          { do: 'shell', command: `echo ${scene} > ${scene}.txt` },
        ],
      )
    const first = await place.play('first')
    place.write({ 'mine.txt': 'mine, later\n' })
    const second = await place.play('second', first.session)
    place.write({ 'long.txt': place.read('long.txt').replace('line 35', 'line 35 by me') })
    const third = await place.play('third', first.session)
    expect([second.session, third.session]).toEqual([first.session, first.session])
    expect([second.parent, third.parent]).toEqual([first.id, second.id])

    place.ask('rollback', '--turn', second.id)

    const text = place.read('long.txt')
    expect(text).toBe(
      `${long}\n`
        .replace('line 5\n', 'line 5 by first\n')
        .replace('line 25\n', 'line 25 by third\n')
        .replace('line 35', 'line 35 by me'),
    )
    expect(Object.keys(place.files()).sort()).toEqual([
      'during-first.txt',
      'during-second.txt',
      'during-third.txt',
      'first.txt',
      'long.txt',
      'mine.txt',
      'third.txt',
    ])
    expect(place.read('mine.txt')).toBe('mine, later\n')
  })

  test('[A303] what a subagent did is in the turn of its parent and goes with it, and can be taken out alone', async () => {
    await using place = await Place.open(driver, { 'a.txt': 'one\n' })
    const own = { do: 'shell', command: 'echo own > own.txt' } as const
    // A subagent of Codex works beside its parent, which has to wait for it.
    const wait = { do: 'shell', command: waitFor('done.txt') } as const
    place.scene(
      'delegate',
      [own],
      [{ do: 'delegate', scene: 'part' }],
      ...(agent === 'codex' ? [[wait]] : []),
    )
    place.scene(
      'part',
      [{ do: 'shell', command: 'echo part > part.txt' }],
      [{ do: 'shell', command: 'echo done > done.txt' }],
      [{ do: 'report' }],
    )
    const turn = await place.play('delegate')
    expect(place.turns()).toHaveLength(1)
    const changes = place.changesOf(turn)
    expect(changes.map(({ path }) => path).sort()).toEqual(['done.txt', 'own.txt', 'part.txt'])
    const { actor, agentId } = changes.find(({ path }) => path === 'part.txt')
    expect(actor).toBe(driver.agent)
    expect(agentId).toEqual(expect.any(String))
    place.ask('undo')
    expect(Object.keys(place.files())).toEqual(['a.txt'])
    place.ask('redo')
    place.ask('rollback', '--agent-id', agentId)
    expect(Object.keys(place.files()).sort()).toEqual(['a.txt', 'own.txt'])
  })

  test('[A304] an agent that is killed in the middle leaves an interrupted turn; the next one closes it, and it can be undone', async () => {
    await using place = await Place.open(driver, { 'a.txt': 'one\n' })
    place.scene(
      'killed',
      [{ do: 'write', path: 'half.txt', text: 'half\n' }],
      [{ do: 'shell', command: 'echo begun >> a.txt; sleep 60; echo ended >> a.txt' }],
    )
    const { pid, ended } = place.begin('killed')
    await until(() => place.read('a.txt').includes('begun'), 'the command to begin')
    endTree({ pid })
    await ended
    place.scene('next', [{ do: 'write', path: 'next.txt', text: 'next\n' }])
    await place.play('next')
    const killed = await place.turnOf('killed')
    expect(killed.status).toBe('interrupted')
    expect(
      place
        .changesOf(killed)
        .map(({ path }) => path)
        .sort(),
    ).toEqual(['a.txt', 'half.txt'])
    place.ask('rollback', '--turn', killed.id)
    expect(place.files()).toEqual({ 'a.txt': 'one\n', 'next.txt': 'next\n' })
  })

  test('[A305] two sessions at once in one folder are two turns, and each is undone alone', async () => {
    await using place = await Place.open(driver, { 'long.txt': `${long}\n` })
    // Each waits for the other in a command, so that every edit falls into a call of the other session.
    const mark = (name: string) => `touch ${join(place.base, name)}`
    const wait = (name: string) => waitFor(join(place.base, name))
    const edit = (scene: string, line: string) =>
      ({ do: 'edit', path: 'long.txt', old: `${line}\n`, new: `${line} by ${scene}\n` }) as const
    place.scene(
      'left',
      [{ do: 'write', path: 'left.txt', text: 'left\n' }],
      [{ do: 'read', path: 'long.txt' }],
      [edit('left', 'line 5')],
      [{ do: 'shell', command: `${mark('left-done')}; ${wait('right-done')}` }],
    )
    place.scene(
      'right',
      [{ do: 'write', path: 'right.txt', text: 'right\n' }],
      [{ do: 'shell', command: wait('left-done') }],
      [{ do: 'read', path: 'long.txt' }],
      [edit('right', 'line 35')],
      [{ do: 'shell', command: mark('right-done') }],
    )
    await Promise.all([place.begin('left').ended, place.begin('right').ended])
    const [left, right] = [await place.turnOf('left'), await place.turnOf('right')]
    expect(left.session).not.toBe(right.session)
    expect(place.turns()).toHaveLength(2)
    place.ask('undo', '--session', left.session)
    expect(place.files()).toEqual({
      'long.txt': `${long}\n`.replace('line 35\n', 'line 35 by right\n'),
      'right.txt': 'right\n',
    })
  })

  test('[A306] what a background job writes, within the turn and after it, is undone with the turn; what the user writes meanwhile stays', async () => {
    await using place = await Place.open(driver, { 'a.txt': 'one\n' })
    const go = join(place.base, 'go')
    const job = `echo early > early.txt; ${waitFor(go)}; echo late > late.txt`
    place.scene(
      'background',
      [{ do: 'background', command: job }],
      [{ do: 'shell', command: waitFor('early.txt') }],
    )
    const { ended } = place.begin('background')
    await place.turnOf('background')
    place.write({ 'mine.txt': 'mine\n' })
    writeFileSync(go, '')
    await ended
    // Codex ends what still runs when it ends itself.
    if (agent !== 'codex') await until(() => existsSync(place.pathOf('late.txt')), 'the background job')
    place.ask('undo')
    expect(place.files()).toEqual({ 'a.txt': 'one\n', 'mine.txt': 'mine\n' })
  })

  test('[A307] a second workspace that is touched from the first has its own history, and each is undone where it is', async () => {
    await using place = await Place.open(driver, { 'a.txt': 'one\n' })
    const other = join(place.base, 'other')
    mkdirSync(other)
    place.git('init', '-q', other)
    place.scene(
      'both',
      [{ do: 'write', path: 'here.txt', text: 'here\n' }],
      [{ do: 'write', path: join(other, 'there.txt'), text: 'there\n' }],
      [{ do: 'shell', command: `cd ${other}; echo shell > shell.txt` }],
      [{ do: 'read', path: 'a.txt' }],
      [{ do: 'edit', path: 'a.txt', old: 'one', new: 'ONE' }],
    )
    await place.play('both')
    const there = place.unturn(['log', '--all', '--json', '-C', other]).json.turns
    expect(there).toMatchObject([{ agent: driver.agent, prompt: 'Please do it. scene:both', files: 2 }])
    expect(place.ask('undo').files.map(({ path }: { path: string }) => path)).toEqual(['a.txt', 'here.txt'])
    expect(readFileSync(join(other, 'there.txt'), 'utf8')).toBe('there\n')
    expect(place.unturn(['undo', '-C', other]).code).toBe(0)
    expect(readdirSync(other)).toEqual(['.git'])
  })

  test('[A308] hooks that fire twice, for this agent and for another one, make no second turn and no second step', async () => {
    await using place = await Place.open(driver, { 'a.txt': 'one\n' })
    hookTwice(place)
    place.scene(
      'twice',
      [{ do: 'write', path: 'new.txt', text: 'new\n' }],
      [{ do: 'shell', command: 'echo shell > shell.txt' }],
    )
    const turn = await place.play('twice')
    expect(place.turns()).toHaveLength(1)
    expect(turn).toMatchObject({ agent: driver.agent, status: 'ok', files: 2 })
    expect(place.changesOf(turn).map(({ path, certainty }) => `${path} ${certainty}`)).toEqual([
      'shell.txt inferred',
      'new.txt exact',
    ])
    place.ask('undo')
    expect(place.files()).toEqual({ 'a.txt': 'one\n' })
  })

  test('[A313] with the attendant that the first hook starts, a turn is recorded the same, and no hook but the first opens the store', async () => {
    const attended = { UNTURN_HOOK_BACKGROUND: '1', UNTURN_HOOK_IDLE_MS: '20000' }
    const withAttendant = { ...driver, env: (place: Place) => ({ ...driver.env(place), ...attended }) }
    await using place = await Place.open(withAttendant, { 'a.txt': 'one\n' })
    const desk = join(place.base, 'store/agents')
    const wait = { do: 'shell', command: waitFor(join(desk, 'hook.pid')) } as const
    place.scene(
      'attended',
      [wait],
      [{ do: 'read', path: 'a.txt' }],
      [{ do: 'edit', path: 'a.txt', old: 'one', new: 'ONE' }],
      [{ do: 'shell', command: 'echo shell > shell.txt' }],
    )
    const turn = await place.play('attended')
    const changes = place.changesOf(turn).map(({ path, certainty }) => `${path} ${certainty}`)
    expect(changes.sort()).toEqual(['a.txt exact', 'shell.txt inferred'])
    const attendant = Number(readFileSync(join(desk, 'hook.pid'), 'utf8'))
    const fired = readdirSync(join(desk, 'fired')).filter((name) =>
      /PostToolUse\.|AfterTool|after/.test(name),
    )
    expect(fired.map((name) => JSON.parse(readFileSync(join(desk, 'fired', name), 'utf8')).pid)).toEqual([
      attendant,
    ])
    place.ask('undo')
    expect(place.files()).toEqual({ 'a.txt': 'one\n' })
  })

  test.runIf(agent === 'opencode')(
    '[A310] the own revert of OpenCode is a turn of its own, and not an edit of the user; it can be undone',
    async () => {
      const itsOwn = opencodeWith({ snapshots: true, indexes: false })
      await using place = await Place.open(itsOwn, { 'a.txt': 'one\n' })
      place.scene('written', [{ do: 'write', path: 'new.txt', text: 'new\n' }])
      const turn = await place.play('written')
      await askOpencode(place, `/session/${turn.session}/revert`, { messageID: turn.message })
      expect(existsSync(place.pathOf('new.txt'))).toBe(false)
      await until(() => place.turns().length === 2, 'the revert to be recorded')
      const revert = await place.turnOf('written') // waits until nothing is open
      expect(revert.id).toBe(turn.id)
      const [newest] = place.turns()
      expect(newest).toMatchObject({ agent: 'opencode', session: turn.session, files: 1 })
      expect(newest.prompt).toContain('reverted')
      place.ask('undo')
      expect(place.read('new.txt')).toBe('new\n')
    },
  )

  test.runIf(agent === 'claude-code')(
    '[A314] with init --http the tool calls of Claude Code come over HTTP, and are exact',
    async () => {
      const attended = { UNTURN_HOOK_BACKGROUND: '1', UNTURN_HOOK_IDLE_MS: '20000' }
      const withAttendant = { ...driver, env: (place: Place) => ({ ...driver.env(place), ...attended }) }
      await using place = await Place.open(withAttendant, { 'a.txt': 'one\n' })
      expect(place.unturn(['init', 'claude-code', '--http', '--yes']).code).toBe(0)
      const desk = join(place.base, 'store/agents')
      place.scene('first', [{ do: 'shell', command: waitFor(join(desk, 'hook.pid')) }])
      const { session } = await place.play('first')
      place.scene(
        'http',
        [{ do: 'read', path: 'a.txt' }],
        [{ do: 'edit', path: 'a.txt', old: 'one', new: 'ONE' }],
        [{ do: 'shell', command: 'echo shell > shell.txt' }],
      )
      const turn = await place.play('http', session)
      const changes = place.changesOf(turn).map(({ path, certainty }) => `${path} ${certainty}`)
      expect(changes.sort()).toEqual(['a.txt exact', 'shell.txt inferred'])
      expect(healthOf(place).fired.PostToolUse).toMatchObject({ outcome: 'delivered' })
      place.ask('undo')
      expect(place.files()).toEqual({ 'a.txt': 'one\n' })
    },
  )

  test.runIf(agent === 'claude-code')(
    '[A312] the own rewind of Claude Code, from the command line, is a turn of its own; an edit of the user beside it stays the user’s',
    async () => {
      await using place = await Place.open(rewindingClaude, { 'a.txt': 'one\n', 'mine.txt': 'mine\n' })
      place.scene(
        'first',
        [{ do: 'read', path: 'a.txt' }],
        [{ do: 'edit', path: 'a.txt', old: 'one', new: 'ONE' }],
        [{ do: 'write', path: 'new.txt', text: 'new\n' }],
      )
      const first = await place.play('first')
      place.write({ 'mine.txt': 'mine, later\n' })
      await rewindFiles(place, first.session)
      expect(place.files()).toEqual({ 'a.txt': 'one\n', 'mine.txt': 'mine, later\n' })
      const [rewind] = place.turns()
      expect(rewind).toMatchObject({ agent: 'claude-code', session: first.session, files: 2 })
      expect(rewind.prompt).toContain(`went back to before ${first.id}`)
      place.ask('undo')
      expect(place.files()).toEqual({ 'a.txt': 'ONE\n', 'mine.txt': 'mine, later\n', 'new.txt': 'new\n' })
    },
  )

  test.runIf(agent === 'claude-code' && hasTerminal())(
    '[A312] a rewind in the terminal of Claude Code is noticed with the next prompt, and is a turn of its own',
    async () => {
      await using place = await Place.open(rewindingClaude, { 'a.txt': 'one\n', 'mine.txt': 'mine\n' })
      place.scene(
        'first',
        [{ do: 'read', path: 'a.txt' }],
        [{ do: 'edit', path: 'a.txt', old: 'one', new: 'ONE' }],
        [{ do: 'write', path: 'new.txt', text: 'new\n' }],
      )
      place.scene('second', [{ do: 'write', path: 'second.txt', text: '2\n' }])
      const terminal = new ClaudeTerminal(place)
      await terminal.type('Please do it. scene:first')
      const first = await place.turnOf('first')
      await terminal.rewindCode()
      await until(() => place.read('a.txt') === 'one\n', 'the rewind')
      place.write({ 'mine.txt': 'mine, later\n' })
      await terminal.type('Please do it. scene:second')
      await place.turnOf('second')
      expect(place.turns().map(({ prompt }) => prompt)).toEqual([
        'Please do it. scene:second',
        expect.stringContaining(`went back to before ${first.id}`),
        'Please do it. scene:first',
      ])
      const rewind = place.turns()[1]
      expect(
        place
          .changesOf(rewind)
          .map(({ path, kind }) => `${path} ${kind}`)
          .sort(),
      ).toEqual(['a.txt modify', 'new.txt delete'])
      place.ask('undo', '--turns', '2')
      expect(place.files()).toEqual({ 'a.txt': 'ONE\n', 'mine.txt': 'mine, later\n', 'new.txt': 'new\n' })
    },
  )

  test.runIf(agent === 'codex')(
    '[A311] Codex leaves hooks out that it does not trust, and doctor says so',
    async () => {
      await using place = await Place.open(driver, { 'a.txt': 'one\n' })
      place.scene('untrusted', [{ do: 'write', path: 'new.txt', text: 'new\n' }])
      const child = place.spawnAgent(['exec', '--json', '-C', place.dir, 'Go. scene:untrusted'])
      await running(child).ended
      expect(place.read('new.txt')).toBe('new\n')
      expect(place.turns()).toEqual([])
      expect(healthOf(place)).toMatchObject({ installed: 'user', trusted: 'no', fired: {} })
      expect(healthOf(place).problems.join(' ')).toContain('trust')
    },
  )
})

const settingsFile = {
  'claude-code': '.claude/settings.json',
  codex: '.codex/hooks.json',
  opencode: '.config/opencode/plugins/unturn.js',
  'gemini-cli': '.gemini/settings.json',
} as const

/** As where an agent reads the settings of another one too: every event is told by two hooks at once. */
function hookTwice(place: Place): void {
  const file = settingsFile[place.driver.agent]
  const text = readFileSync(join(place.home, file), 'utf8')
  if (place.driver.agent === 'opencode') {
    place.writeHome('.config/opencode/plugins/again.js', text)
    return
  }
  const other = place.driver.agent === 'codex' ? 'claude-code' : 'codex'
  const settings = JSON.parse(text)
  for (const groups of Object.values<object[]>(settings.hooks))
    groups.push(
      ...JSON.parse(JSON.stringify(groups).replaceAll(` hook ${place.driver.agent} `, ` hook ${other} `)),
    )
  place.writeHome(file, JSON.stringify(settings))
}
