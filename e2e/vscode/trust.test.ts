import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Editor } from './editor.ts'
import { press, row, toast } from './screen.ts'

const start = { 'notes.txt': 'one\ntwo\n' }

test('[X110] [X113] where nobody trusts the workspace it is looked at and not written, and without the command it says what to do', async () => {
  await using editor = await Editor.start({
    untrusted: true,
    settings: { 'unturn.command': 'unturn-is-missing' },
  })
  await using desk = await editor.open(start, {
    prepare: async (agent) => {
      await agent.turn('Shout', { 'notes.txt': 'ONE\ntwo\n' })
    },
  })
  const { page, project } = desk
  await desk.run('unturn.turns.focus')
  await page.getByText('The command "unturn" was not found').waitFor()
  await page.getByRole('button', { name: 'Where Is the Command?' }).waitFor()
  await desk.shot('offline')
  await desk.host(
    async (api, command: string) => {
      await api.workspace
        .getConfiguration('unturn')
        .update('command', command, api.ConfigurationTarget.Global)
    },
    join(editor.base, 'bin/unturn'),
  )
  await row(page, 'Shout').waitFor()
  expect(await desk.host((api) => api.workspace.isTrusted)).toBe(false)
  await row(page, 'Shout').click()
  await row(page, 'notes.txt').waitFor()
  await row(page, 'Shout').hover()
  await desk.shot('untrusted')
  await desk.begin('unturn.undo')
  await toast(page, 'this workspace is not trusted. Nothing was changed.').waitFor()
  await press(page, 'Shout', 'Show All Changes of This Turn')
  await page.getByRole('tab', { name: /Shout/ }).waitFor()
  expect(project.files()).toEqual({ 'notes.txt': 'ONE\ntwo\n' })
})
