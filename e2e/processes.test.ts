/** Several commands at once, as processes of their own: one store, one lock, one truth. */

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { Project, type Ran } from './support.ts'

const soak = process.env.UNTURN_SOAK !== undefined
const killAt = fileURLToPath(new URL('kill-at.ts', import.meta.url))

function expectSound(project: Project): void {
  expect(project.ask('doctor')).toMatchObject({ ok: true, findings: [] })
}

/** Exit codes; of those that failed also what they said. */
function codes(...ran: readonly Ran[]): readonly (number | string | null)[] {
  return ran.map(({ code, stdout, stderr }) =>
    code === 0 || code === 3 ? code : `${code}: ${stdout}${stderr}`,
  )
}

const lines = Array.from({ length: 40 }, (_, at) => `line ${at}\n`)

function withLine(text: string, at: number, line: string): string {
  return text.split('\n').with(at, line).join('\n')
}

describe('two at once', () => {
  test('[L70] undos of two sessions on one file: both succeed, and both changes are out', async () => {
    using project = new Project({ 'f.txt': lines.join('') })
    project.turn({ 'f.txt': withLine(lines.join(''), 3, 'by the first') }, { session: 's1' })
    project.turn({ 'f.txt': withLine(project.read('f.txt'), 30, 'by the second') }, { session: 's2' })
    const ran = await Promise.all([
      project.start(['undo', '--session', 's1', '--json']).ended,
      project.start(['undo', '--session', 's2', '--json']).ended,
    ])
    expect(codes(...ran)).toEqual([0, 0])
    expect(project.read('f.txt')).toBe(lines.join(''))
    expectSound(project)
  })

  test('[L71] undos of one session: as many turns are out as calls exited 0', async () => {
    using project = new Project({ 'f.txt': '0' })
    for (const at of [1, 2, 3]) project.turn({ 'f.txt': `${at}` })
    const ran = await Promise.all([1, 2, 3, 4, 5].map(() => project.start(['undo', '--json']).ended))
    const done = ran.filter(({ code }) => code === 0)
    expect(codes(...ran).toSorted()).toEqual([0, 0, 0, 3, 3])
    expect(done.flatMap(({ json }) => json.reverted)).toHaveLength(3)
    expect(new Set(done.map(({ json }) => json.reverted[0])).size).toBe(3)
    expect(project.read('f.txt')).toBe('0')
    expectSound(project)
  })

  test('[L72] ten processes record turns in ten sessions: all are there, every seq differs', async () => {
    using project = new Project({ 'f.txt': 'f' })
    const sessions = Array.from({ length: 10 }, (_, at) => `session-${at}`)
    const ran = await Promise.all(
      sessions.map(
        (session) =>
          project.start([
            'run',
            '--session',
            session,
            '--json',
            '--',
            'sh',
            '-c',
            `echo ${session} > ${session}.txt`,
          ]).ended,
      ),
    )
    expect(codes(...ran)).toEqual(sessions.map(() => 0))
    const { turns } = project.ask('log', '--all')
    expect(turns.map((turn: { session: string }) => turn.session).toSorted()).toEqual(sessions)
    const { operations } = project.ask('log', '--ops', '--all')
    const seqs = operations.map((op: { seq: number }) => op.seq)
    expect(new Set(seqs).size).toBe(seqs.length)
    expectSound(project)
    for (const session of sessions) expect(project.read(`${session}.txt`)).toBe(`${session}\n`)
  })

  test('[L73] the holder of the lock is killed: the next command goes ahead at once', async () => {
    using project = new Project({ 'f.txt': 'f' })
    project.turn({ 'f.txt': 'g' })
    const env = { NODE_OPTIONS: `--import ${killAt}`, NODE_NO_WARNINGS: '1', KILL_AT: '3' }
    expect(project.unturn(['capture'], { env: { ...env, KILL_AT: '0' } }).code).toBe(0)
    project.write({ 'f.txt': 'h' })
    expect(project.unturn(['capture'], { env }).signal).toBe('SIGKILL')
    const began = performance.now()
    expect(project.unturn(['capture', '--json']).json.changes).toHaveLength(1)
    expect(performance.now() - began).toBeLessThan(10_000)
    expectSound(project)
  })

  test('[L74] captures during undo and redo see the old or the new tree, and none of our own writes becomes the user’s', async () => {
    const names = Array.from({ length: 150 }, (_, at) => `d/f${at}.txt`)
    using project = new Project(Object.fromEntries(names.map((name) => [name, 'old\n'])))
    project.turn(Object.fromEntries(names.map((name) => [name, 'new\n'])))
    for (const move of ['undo', 'redo', 'undo']) {
      const moving = project.start([move, '--json'])
      const captures: Promise<Ran>[] = []
      for (let at = 0; at < 4; at += 1) {
        captures.push(project.start(['capture', '--json']).ended)
        await setTimeout(40)
      }
      expect((await moving.ended).code).toBe(0)
      for (const ran of await Promise.all(captures)) expect([ran.code, ran.json.changes]).toEqual([0, []])
    }
    const { operations } = project.ask('log', '--ops', '--all')
    expect(operations.filter((op: { kind: string }) => op.kind === 'user-edit')).toEqual([])
    expectSound(project)
  })

  test('[L75] status, log and diff during writes give a consistent answer', async () => {
    using project = new Project({ 'f.txt': '0\n' })
    for (const at of [1, 2]) project.turn({ 'f.txt': `${at}\n` })
    const [first, second] = project
      .ask('log')
      .turns.toReversed()
      .map((turn: { id: string }) => turn.id)
    const writing = (async () => {
      for (let at = 0; at < 4; at += 1) {
        expect(codes(await project.start(['undo', '--json']).ended)).toEqual([0])
        expect(codes(await project.start(['redo', '--json']).ended)).toEqual([0])
      }
    })()
    let over = false
    const ended = writing.finally(() => {
      over = true
    })
    ended.catch(() => {}) // awaited below
    while (!over) {
      const [status, log, diff] = await Promise.all([
        project.start(['status', '--json']).ended,
        project.start(['log', '--json']).ended,
        project.start(['diff', second, '--json']).ended,
      ])
      expect(codes(status, log, diff)).toEqual([0, 0, 0])
      const [session] = status.json.sessions
      expect([first, second]).toContain(session.head)
      expect(session.reverted).toEqual(session.head === second ? [] : [second])
      expect(log.json.turns.filter((turn: { head: boolean }) => turn.head)).toHaveLength(1)
      expect(diff.json.patch).toContain('-1\n+2\n')
    }
    await ended
    expectSound(project)
  })
})

describe('two processes and random commands', () => {
  test(
    '[L76] each session’s own file is what its head says, and nothing is lost',
    async () => {
      using project = new Project({ shared: lines.join('') })
      const until = performance.now() + (soak ? 300_000 : 8_000)
      const seed = Number(process.env.UNTURN_SEED ?? Math.floor(Math.random() * 1e9))
      const workers = ['one', 'two'].map((session, at) => work(project, session, seed + at, until))
      const expected = await Promise.all(workers)
      for (const { session, content, commands } of expected) {
        expect(commands, `seed ${seed}`).toBeGreaterThan(5)
        const found = existsSync(project.pathOf(session)) ? project.read(session) : null
        expect(found, `seed ${seed}, session ${session}`).toBe(content)
        const { sessions } = project.ask('status')
        expect(sessions.some((one: { id: string }) => one.id === session)).toBe(true)
      }
      expect(project.read('shared')).toBe(lines.join(''))
      expectSound(project)
      rmSync(join(project.store, 'index.db'))
      const rebuilt = project.ask('status').sessions
      expect(rebuilt).toHaveLength(2)
      expectSound(project)
    },
    soak ? 600_000 : 60_000,
  )

  /** One agent that writes its own file, and undoes and redoes at will; gives what the file must be in the end. */
  async function work(project: Project, session: string, seed: number, until: number) {
    const random = randomFrom(seed)
    // The file after each turn on the way to the head, and those that a redo would bring back.
    const past: (string | null)[] = [null]
    let future: string[] = []
    let commands = 0
    while (performance.now() < until) {
      commands += 1
      const dice = random()
      if (dice < 0.5) {
        const text = `${session} ${commands}\n`
        const file = project.pathOf(session)
        // A step that names its path: what two open-ended steps change at the same time is shared, and belongs to either.
        const ask = async (...args: string[]) => {
          const ran = await project.start([...args, '--json']).ended
          expect(ran.code, ran.stdout + ran.stderr).toBe(0)
          return ran.json
        }
        const { turn } = await ask('turn', 'begin', '--session', session)
        const { step } = await ask('step', 'begin', '--turn', turn, '--tool', 'edit', '--path', file)
        project.write({ [session]: text })
        await ask('step', 'end', '--step', step)
        await ask('turn', 'end', '--turn', turn)
        past.push(text)
        future = []
      } else if (dice < 0.75) {
        const ran = await project.start(['undo', '--session', session, '--json']).ended
        if (ran.code === 3 || ran.json.error?.code === 'unknown-id') expect(past).toHaveLength(1)
        else {
          expect(ran.code, ran.stdout + ran.stderr).toBe(0)
          future.push(past.pop() ?? '')
        }
      } else {
        const ran = await project.start(['redo', '--session', session, '--json']).ended
        if (ran.code === 3 || ran.json.error?.code === 'unknown-id') expect(future).toEqual([])
        else {
          expect(ran.code, ran.stdout + ran.stderr).toBe(0)
          past.push(future.pop() ?? '')
        }
      }
    }
    return { session, content: past.at(-1) ?? null, commands }
  }
})

function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

describe('two workspaces opened at once', () => {
  test('[L77] the lock file is private, empty, and may be deleted when no process runs', () => {
    using project = new Project({ 'f.txt': 'f' })
    project.turn({ 'f.txt': 'g' })
    const path = join(project.store, 'lock.db')
    expect(readFileSync(path)).toHaveLength(0)
    rmSync(path)
    project.ask('undo')
    expect(project.read('f.txt')).toBe('f')
    writeFileSync(path, 'noise that is no database at all, but long enough to look at'.repeat(20))
    const ran = project.unturn(['redo', '--json'])
    expect([ran.code, ran.json.error.code]).toEqual([1, 'store-damaged'])
    expect(ran.json.error.hint).toContain(path)
    rmSync(path)
    project.ask('redo')
    expect(project.read('f.txt')).toBe('g')
    expectSound(project)
  })
})
