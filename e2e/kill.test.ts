/** kill -9 of the real command, at the n-th change of the disk and at random moments; then the next command. */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { changesOf, Kept, killed, leftovers, points } from './killing.ts'
import type { Files } from './support.ts'

const soak = process.env.UNTURN_SOAK !== undefined
const patience = soak ? 3_600_000 : 180_000

const count = 200
const atFirst = many((at) => `file ${at}\n`)

function many(text: (at: number) => string | null): Files {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`d${at % 7}/f${at}.txt`, text(at)]))
}

// Edited, deleted, and new ones beside them.
const byTheAgent: Files = {
  ...many((at) => (at % 5 === 0 ? null : `file ${at}\nand more\n`)),
  ...Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`new/n${at}.txt`, `new ${at}\n`])),
}

describe('moves', () => {
  let kept: Kept
  let old: Record<string, string>
  beforeAll(() => {
    kept = new Kept(atFirst)
    old = kept.project.files()
    kept.project.turn(byTheAgent)
    kept.keep()
  })
  afterAll(() => kept[Symbol.dispose]())

  function expectOneSide(what: string, done: boolean): void {
    const { project } = kept
    const next = project.unturn(['status', '--json'])
    expect(next.code, `${what}: ${next.stdout}${next.stderr}`).toBe(0)
    const head = next.json.sessions[0].head
    expect(project.files(), what).toEqual(head === null ? old : { ...byTheAgentOnDisk })
    if (done) expect(head, what).toBeNull()
    expect(project.ask('doctor'), what).toMatchObject({ ok: true, findings: [] })
    expect(leftovers(project), what).toEqual([])
    expect(
      project.ask('log', '--ops').operations.filter((op: { kind: string }) => op.kind === 'user-edit'),
      what,
    ).toEqual([])
    project.ask(head === null ? 'redo' : 'undo')
    expect(project.files(), what).toEqual(head === null ? byTheAgentOnDisk : old)
  }

  const byTheAgentOnDisk = Object.fromEntries(
    Object.entries(byTheAgent).filter(([, text]) => text !== null),
  ) as Record<string, string>

  test(
    '[L52] [K1] undo of 200 files, killed at its n-th change of the disk: all paths are old or all new, nothing is left behind, undo and redo still work',
    () => {
      kept.putBack()
      const total = changesOf(kept.project, ['undo'])
      expect(total).toBeGreaterThan(count)
      const sides = new Set<boolean>()
      for (const at of points(total, 3)) {
        kept.putBack()
        expect(killed(kept.project, ['undo'], at).signal).toBe('SIGKILL')
        sides.add(Object.keys(kept.project.files()).some((path) => path.startsWith('new/')))
        expectOneSide(`killed at change ${at} of ${total}`, false)
      }
      expect(sides.size).toBe(2)
    },
    patience,
  )

  test(
    '[L52] [K1] undo of 200 files, killed at any moment',
    async () => {
      kept.putBack()
      const began = performance.now()
      kept.project.ask('undo')
      const durationMs = performance.now() - began
      for (let run = 0; run < (soak ? 300 : 3); run += 1) {
        kept.putBack()
        const { child, ended } = kept.project.start(['undo', '--json'])
        await setTimeout(durationMs * Math.random() * 1.2)
        child.kill('SIGKILL')
        const ran = await ended
        expectOneSide(`run ${run}`, ran.code === 0)
      }
    },
    patience,
  )

  test('[L53] [K10] recovery is killed again and again, and at last it comes through', () => {
    kept.putBack()
    const total = changesOf(kept.project, ['undo'])
    kept.putBack()
    killed(kept.project, ['undo'], Math.round(total * 0.7))
    for (const at of [1, 3, 20, 60, 90]) killed(kept.project, ['status'], at)
    expectOneSide('killed six times', false)
    expectOneSide('and asked once more', false)
  })
})

describe('recording', () => {
  test.each([
    ['step end', (ids: Ids) => ['step', 'end', '--step', ids.step]],
    ['turn end', (ids: Ids) => ['turn', 'end', '--turn', ids.turn]],
    ['capture', () => ['capture']],
  ] as const)(
    '[L54] [K5] %s, killed at its n-th change of the disk: the next command finds no lock and no half operation, and the changes are captured then',
    (_, argsOf) => {
      using kept = new Kept({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
      const { project } = kept
      const old = project.files()
      const { turn } = project.ask('turn', 'begin', '--session', 's1')
      const { step } = project.ask('step', 'begin', '--turn', turn, '--tool', 'shell')
      project.write({ 'a.txt': 'A\n', 'new.txt': 'new\n' })
      const now = project.files()
      kept.keep()
      const args = argsOf({ turn, step })
      const total = changesOf(project, args)
      for (const at of points(total, 2)) {
        const what = `killed at change ${at} of ${total}`
        kept.putBack()
        expect(killed(project, args, at).signal, what).toBe('SIGKILL')
        expect(project.files(), what).toEqual(now)
        project.ask('turn', 'end', '--turn', turn)
        const { changes } = project.ask('log', '--changes')
        expect(
          changes.map((change: { path: string }) => change.path),
          what,
        ).toEqual(['a.txt', 'new.txt'])
        expect(project.ask('doctor'), what).toMatchObject({ ok: true, findings: [] })
        expect(leftovers(project), what).toEqual([])
        project.ask('undo')
        expect(project.files(), what).toEqual(old)
      }
    },
    patience,
  )

  test(
    '[L55] [K5] the very first capture, killed at its n-th change of the disk: the next one begins anew',
    () => {
      using kept = new Kept({ 'a.txt': 'a\n', 'd/b.txt': 'b\n' })
      const { project } = kept
      const args = ['capture', '--json']
      const total = changesOf(project, args)
      const old = project.files()
      for (const at of points(total, 3)) {
        rmSync(join(project.base, 'store'), { recursive: true, force: true })
        expect(killed(project, args, at).signal).toBe('SIGKILL')
        const what = `killed at change ${at} of ${total}`
        expect(project.unturn(['status', '--json']).code, what).toBe(0)
        expect(project.unturn(['undo', '--json']).code, what).toBe(3)
        project.turn({ 'a.txt': 'A\n' })
        project.ask('undo')
        expect(project.files(), what).toEqual(old)
        expect(project.ask('doctor'), what).toMatchObject({ ok: true, findings: [] })
        expect(leftovers(project), what).toEqual([])
      }
    },
    patience,
  )
})

interface Ids {
  readonly turn: string
  readonly step: string
}
