import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Desk, Editor, eventually } from './editor.ts'
import { answer, choose, offered, toast } from './screen.ts'

let editor: Editor

beforeAll(async () => {
  editor = await Editor.start()
})

afterAll(async () => {
  await editor?.[Symbol.asyncDispose]()
})

const old = 'one\ntwo\nthree\nfour\nfive\n'
const agents = old.replace('two', 'TWO')

async function open(): Promise<Desk> {
  const desk = await editor.open(
    { 'list.txt': old },
    {
      prepare: async (agent) => {
        await agent.userEdits({})
        await agent.turn('Shout', { 'list.txt': agents })
      },
    },
  )
  await desk.openFile('list.txt')
  await desk.page.locator('.codelens-decoration a').filter({ hasText: 'Reject' }).first().waitFor()
  return desk
}

/** What the editor has, saved or not; whichever document is in front. */
const text = (desk: Desk) =>
  desk.host((api) =>
    api.workspace.textDocuments
      .find(({ uri }) => uri.scheme === 'file' && uri.path.endsWith('/list.txt'))
      ?.getText(),
  )

function setText(desk: Desk, typed: string): Promise<unknown> {
  return desk.host(async (api, wanted: string) => {
    const active = api.window.activeTextEditor
    return active?.edit((edit) => {
      edit.replace(new api.Range(0, 0, active.document.lineCount, 0), wanted)
    })
  }, typed)
}

/** Writes the result that the merge editor shows. */
function setResult(desk: Desk, result: string): Promise<unknown> {
  return desk.host(async (api, wanted: string) => {
    const document = api.workspace.textDocuments.find(({ uri }) => /^\/\d+\/result\//.test(uri.path))
    if (document === undefined) return false
    const edit = new api.WorkspaceEdit()
    edit.replace(document.uri, new api.Range(0, 0, document.lineCount, 0), wanted)
    return api.workspace.applyEdit(edit)
  }, result)
}

async function seesMergeEditor(desk: Desk): Promise<void> {
  await desk.page.locator('.merge-editor').waitFor()
  await desk.page.locator('.merge-editor').getByText('Result').first().waitFor()
}

test('[X250] [X251] a block with saved edits of yours inside is merged in the merge editor, and the result is applied by the engine', async () => {
  await using desk = await open()
  const { page, project } = desk
  await setText(desk, old.replace('two', 'TWO, mine'))
  await desk.run('workbench.action.files.save')
  await desk.page.waitForTimeout(1_500)
  await page.locator('.codelens-decoration a').filter({ hasText: 'Reject' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('You have edited list.txt inside the hunk').waitFor()
  await desk.shot('contested')
  await dialog.getByRole('button', { name: 'Merge…' }).click()
  await seesMergeEditor(desk)
  await desk.shot('merge-editor')
  expect(await page.locator('.merge-editor').textContent()).toContain('Yours, as it is now')

  const result = old.replace('two', 'two, mine')
  expect(await setResult(desk, result)).toBe(true)
  await page.getByRole('button', { name: 'Use This Result' }).first().click()
  await eventually(
    () => project.read('list.txt'),
    (now) => now === result,
  )
  await eventually(
    () => project.ask('review').pending,
    (count) => count === 0,
  )
})

test('[X252] an undo that meets newer edits is merged in the merge editor, shown again, and done as shown', async () => {
  await using desk = await open()
  const { page, project } = desk
  await setText(desk, old.replace('two', 'TWO, mine'))
  await desk.run('workbench.action.files.save')
  await desk.begin('unturn.undo')
  await offered(page, 'Undo the Last Turn')
  await desk.shot('undo-conflict')
  await choose(page, /[Mm]erge/)
  await seesMergeEditor(desk)
  const result = old.replace('two', 'two, mine')
  expect(await setResult(desk, result)).toBe(true)
  await page.getByRole('button', { name: 'Use This Result' }).first().click()
  await offered(page, 'Undo the Last Turn')
  await desk.shot('undo-merged')
  expect(project.read('list.txt')).toBe(old.replace('two', 'TWO, mine'))
  await page.keyboard.press('Enter')
  await eventually(
    () => project.read('list.txt'),
    (now) => now === result,
  )
  expect(project.ask('status').sessions[0].reverted).toHaveLength(1)
})

test('[X253] a merge that is closed without a result changes nothing', async () => {
  await using desk = await open()
  const { page, project } = desk
  await setText(desk, old.replace('two', 'TWO, mine'))
  await desk.run('workbench.action.files.save')
  await desk.page.waitForTimeout(1_500)
  await page.locator('.codelens-decoration a').filter({ hasText: 'Reject' }).first().click()
  await page.getByRole('dialog').getByRole('button', { name: 'Merge…' }).click()
  await seesMergeEditor(desk)
  await desk.begin('workbench.action.revertAndCloseActiveEditor')
  await toast(page, 'list.txt was not merged, so nothing was changed').waitFor()
  expect(project.read('list.txt')).toBe(old.replace('two', 'TWO, mine'))
  expect(project.ask('review').pending).toBe(1)
})

test('[X260] [X261] a file that changes on disk below unsaved text: it is said, and merged; then it is saved without a question', async () => {
  await using desk = await open()
  const { page, project, agent } = desk
  await setText(desk, `mine\n${agents}`)
  await agent.turn('Shout more', { 'list.txt': agents.replace('five', 'FIVE') })
  const message =
    /list.txt was changed on disk by claude \(“Shout more”\), and you have text in it that is not saved/
  await toast(page, message).waitFor()
  await desk.shot('dirty-offer')
  expect(await text(desk)).toBe(`mine\n${agents}`)
  await answer(page, message, 'Merge')
  const merged = `mine\n${agents.replace('five', 'FIVE')}`
  await eventually(
    () => text(desk),
    (now) => now === merged,
  )
  expect(project.read('list.txt')).toBe(agents.replace('five', 'FIVE'))
  await desk.run('workbench.action.files.save')
  await eventually(
    () => project.read('list.txt'),
    (now) => now === merged,
  )
  expect(await toast(page, 'newer').count()).toBe(0)
})

test('[X262] where both have changed the same lines the merge is made by hand, and the result is unsaved text again', async () => {
  await using desk = await open()
  const { page, project, agent } = desk
  await setText(desk, agents.replace('five', 'five, mine'))
  await agent.turn('Shout more', { 'list.txt': agents.replace('five', 'FIVE') })
  const message = /Both have changed the same lines/
  await toast(page, message).waitFor()
  await answer(page, message, 'Merge by Hand…')
  await seesMergeEditor(desk)
  await desk.shot('dirty-merge')
  const result = agents.replace('five', 'FIVE, mine')
  expect(await setResult(desk, result)).toBe(true)
  await page.getByRole('button', { name: 'Use This Result' }).first().click()
  await eventually(
    () => text(desk),
    (now) => now === result,
  )
  expect(project.read('list.txt')).toBe(agents.replace('five', 'FIVE'))
  await desk.run('workbench.action.files.save')
  await eventually(
    () => project.read('list.txt'),
    (now) => now === result,
  )
})

test('[X263] unsaved text that an editor had in its hands when it ended is found again', async () => {
  await using desk = await open()
  const { project, agent } = desk
  await setText(desk, `mine\n${agents}`)
  await agent.turn('Shout more', { 'list.txt': agents.replace('five', 'FIVE') })
  await eventually(
    async () => {
      await desk.run('unturn.dirty.merge')
      return text(desk)
    },
    (now) => now === `mine\n${agents.replace('five', 'FIVE')}`,
  )
  const storages = join(editor.base, 'data/User/workspaceStorage')
  const own = readdirSync(storages, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('unturn.unturn-vscode/unsaved'),
  )
  // The copy of the merge that went well is gone. This is one that did not get that far.
  expect(own.flatMap((name) => readdirSync(join(storages, name)))).toEqual([])
  for (const name of own) {
    mkdirSync(join(storages, name, 'abc'))
    writeFileSync(join(storages, name, 'abc/list.txt'), 'never saved\n')
  }

  await desk.page.close()
  const again = await editor.openFolder(project, agent)
  await answer(again.page, 'unsaved text of list.txt. The text was kept.', 'Open')
  await eventually(
    () => again.host((api) => api.workspace.textDocuments.map((document) => document.getText())),
    (texts) => texts.includes('never saved\n'),
  )
  await again.page.close()
})
