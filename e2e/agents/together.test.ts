/** Two real agents of different kinds, in one folder at the same time. */

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { findProgramFolder } from './pinned.ts'
import { Place } from './place.ts'

const areThere = [claudeCode, codex].every(({ agent }) => findProgramFolder(agent) !== undefined)
const long = Array.from({ length: 40 }, (_, at) => `line ${at + 1}\n`).join('')

test.runIf(areThere && process.env.UNTURN_TEST_AGENT === 'claude-code')(
  '[A315] Claude Code and Codex at once in one folder, and in one file: each is undone alone',
  async () => {
    await using place = await Place.open(claudeCode, { 'long.txt': long })
    codex.prepare(place)
    // Each waits for the other in a command, so that every edit falls into a call of the other one.
    const mark = (name: string) => `touch ${join(place.base, name)}`
    const wait = (name: string) =>
      `timeout 30 sh -c 'while [ ! -e ${join(place.base, name)} ]; do sleep 0.1; done'`
    const edit = (who: string, line: string) =>
      ({ do: 'edit', path: 'long.txt', old: `${line}\n`, new: `${line} by ${who}\n` }) as const
    place.scene(
      'claude',
      [{ do: 'write', path: 'claude.txt', text: 'claude\n' }],
      [{ do: 'read', path: 'long.txt' }],
      [edit('claude', 'line 5')],
      [{ do: 'shell', command: `${mark('claude-done')}; ${wait('codex-done')}` }],
    )
    place.by(codex, () =>
      place.scene(
        'codex',
        [{ do: 'write', path: 'codex.txt', text: 'codex\n' }],
        [{ do: 'shell', command: wait('claude-done') }],
        [edit('codex', 'line 35')],
        [{ do: 'shell', command: mark('codex-done') }],
      ),
    )
    const first = place.begin('claude')
    const second = place.by(codex, () => place.begin('codex'))
    await Promise.all([first.ended, second.ended])
    const [byClaude, byCodex] = [await place.turnOf('claude'), await place.turnOf('codex')]
    expect([byClaude.agent, byCodex.agent]).toEqual(['claude-code', 'codex'])
    expect(place.turns()).toHaveLength(2)

    place.ask('undo', '--session', byClaude.session)
    const ofCodex = long.replace('line 35\n', 'line 35 by codex\n')
    expect(place.files()).toEqual({ 'codex.txt': 'codex\n', 'long.txt': ofCodex })
    place.ask('redo', '--session', byClaude.session)
    place.ask('undo', '--session', byCodex.session)
    const ofClaude = long.replace('line 5\n', 'line 5 by claude\n')
    expect(place.files()).toEqual({ 'claude.txt': 'claude\n', 'long.txt': ofClaude })
  },
)
