/** `unturn acp` between a scripted editor and the real agents that speak ACP. */

import { describe, expect, test } from 'vitest'
import { Editor } from './editor.ts'
import { geminiCli } from './gemini-cli.ts'
import { opencode } from './opencode.ts'
import { findProgramFolder, pinned, pinnedAgents } from './pinned.ts'
import { descendantsOf, endTree, Place, promptOf } from './place.ts'

const speaking = {
  opencode: { driver: opencode, args: ['acp'] },
  'gemini-cli': { driver: geminiCli, args: ['--acp'] },
} as const
const agent = pinnedAgents.find((name) => name === process.env.UNTURN_TEST_AGENT)
const spoken = agent === 'opencode' || agent === 'gemini-cli' ? speaking[agent] : undefined

describe.skipIf(agent === undefined || spoken === undefined || findProgramFolder(agent) === undefined)(
  `${agent === undefined ? '' : pinned[agent].title} behind the proxy`,
  () => {
    const { driver, args } = spoken ?? speaking.opencode

    /** `hooked`: our hooks are installed as well. */
    const opened = (hooked: boolean) =>
      Place.open(driver, { 'a.txt': 'one\n', 'gone.txt': 'bye\n' }, { alone: !hooked })

    for (const hooked of [false, true])
      test(`[A350] [A351] [A352] a turn is recorded once, undone and redone, and the agent is told once ${hooked ? 'though its hooks are there, too' : 'without any hook'}`, async () => {
        await using place = await opened(hooked)
        const before = place.files()
        place.scene(
          'mixed',
          [{ do: 'write', path: 'new.txt', text: 'new\n' }],
          [{ do: 'read', path: 'a.txt' }],
          [{ do: 'edit', path: 'a.txt', old: 'one', new: 'ONE' }],
          [{ do: 'shell', command: 'echo two >> a.txt; rm gone.txt' }],
        )
        const [editor, session] = await Editor.open(place, args)
        expect(await editor.prompt(session, promptOf('mixed'))).toMatchObject({ stopReason: 'end_turn' })
        const turn = await place.turnOf('mixed')
        expect(place.turns()).toHaveLength(1)
        expect(turn).toMatchObject({ agent: driver.agent, session, status: 'ok', prompt: promptOf('mixed') })
        const paths = place.changesOf(turn).map(({ path, kind }) => `${path} ${kind}`)
        expect([...new Set(paths)].sort()).toEqual(['a.txt modify', 'gone.txt delete', 'new.txt add'])
        const after = place.files()
        const undone = place.ask('undo')
        expect(undone.notUndone.commands).toEqual(['echo two >> a.txt; rm gone.txt'])
        expect(place.files()).toEqual(before)
        place.ask('redo')
        expect(place.files()).toEqual(after)
        place.ask('undo')

        for (const scene of ['told', 'quiet']) {
          place.scene(scene, [{ do: 'write', path: `${scene}.txt`, text: 'x\n' }])
          await editor.prompt(session, promptOf(scene))
          await place.turnOf(scene)
        }
        const heard = place.model.askedIn('told')[0]?.body ?? ''
        expect(heard.split('Note from Unturn').length - 1).toBe(1)
        expect(heard).toContain('the user took back 1 turn of yours')
        expect(place.model.askedIn('quiet')[0]?.body.split('Note from Unturn').length).toBeLessThan(3)
        expect(place.turns()).toHaveLength(3)
        expect(await editor.close()).toBe(0)

        // Taken up again, a session is told all that happened in it: that makes no turn.
        const later = await takenUp(place, args, session)
        if (later === undefined) return
        place.scene('later', [{ do: 'write', path: 'later.txt', text: 'x\n' }])
        await later.prompt(session, promptOf('later'))
        expect(await place.turnOf('later')).toMatchObject({ session, files: 1 })
        expect(place.turns()).toHaveLength(4)
        await later.close()
      })

    test('[A353] a turn that the editor cancels, and one whose agent is killed, is closed as interrupted with what it changed', async () => {
      await using place = await opened(false)
      place.scene(
        'cancelled',
        [{ do: 'write', path: 'half.txt', text: 'half\n' }],
        [{ do: 'shell', command: 'echo begun >> a.txt; sleep 60' }],
      )
      const [editor, session] = await Editor.open(place, args)
      const cancelled = editor.prompt(session, promptOf('cancelled'))
      await until(() => place.read('a.txt').includes('begun'))
      editor.say({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: session } })
      expect(await cancelled).toMatchObject({ stopReason: 'cancelled' })
      const turn = await place.turnOf('cancelled')
      expect(turn.status).toBe('interrupted')
      place.ask('undo')
      expect(place.files()).toEqual({ 'a.txt': 'one\n', 'gone.txt': 'bye\n' })

      place.scene('killed', [{ do: 'shell', command: 'echo killed >> a.txt; sleep 60' }])
      const killed = editor.prompt(session, promptOf('killed')).catch(() => 'gone')
      await until(() => place.read('a.txt').includes('killed'))
      const ended = new Promise((resolve) => editor.child.once('exit', resolve))
      for (const pid of descendantsOf(editor.child.pid ?? 0)) endTree({ pid })
      await Promise.all([killed, ended])
      expect(await place.turnOf('killed')).toMatchObject({ status: 'interrupted', files: 1 })
      place.ask('undo')
      expect(place.read('a.txt')).toBe('one\n')
    })
  },
)

/** Undefined, and said: Gemini CLI does not always find a conversation again that ended a moment ago. */
async function takenUp(place: Place, args: readonly string[], session: string): Promise<Editor | undefined> {
  try {
    const [editor] = await Editor.open(place, args, session)
    return editor
  } catch (error) {
    if (!String(error).includes('No previous sessions found')) throw error
    console.log('LEFT OUT: the agent did not find its own conversation again, so it was not taken up.')
    return undefined
  }
}

async function until(holds: () => boolean): Promise<void> {
  const end = Date.now() + 60_000
  while (!holds()) {
    if (Date.now() > end) throw new Error('waited in vain')
    await new Promise((next) => setTimeout(next, 50))
  }
}
