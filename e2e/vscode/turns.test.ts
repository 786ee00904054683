import type { Locator } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Desk, Editor, eventually } from './editor.ts'
import { answer, choose, leave, offered, press, row, rowsOf, statusBar, toast } from './screen.ts'

let editor: Editor

beforeAll(async () => {
  editor = await Editor.start()
})

afterAll(async () => {
  await editor?.[Symbol.asyncDispose]()
})

const start = {
  'cart.py':
    'def total(prices):\n    sum = 0\n    for price in prices:\n        sum += price\n    return sum\n',
  'README.md': '# Shop\n\nA shop.\n\nOpen daily.\n',
}
const shorter = 'def total(prices):\n    return sum(prices)\n'

async function seesRows(desk: Desk, holds: (rows: readonly string[]) => boolean): Promise<readonly string[]> {
  return eventually(() => rowsOf(desk.page), holds)
}

function colourOf(place: Locator): Promise<string> {
  return place.locator('.label-name').evaluate((label) => {
    const page = globalThis as unknown as { getComputedStyle(of: unknown): { readonly color: string } }
    return page.getComputedStyle(label).color
  })
}

test('[X100] [X101] [X102] [X103] [X104] [X105] turns appear as they are made, undo and redo do what was shown, and a new turn leaves a branch', async () => {
  await using desk = await editor.open(start)
  const { page, project, agent } = desk
  await desk.run('unturn.turns.focus')
  await page.getByText('No agent has worked here yet').waitFor()

  await agent.turn('Sum up in one line', { 'cart.py': shorter })
  await row(page, 'Sum up in one line').waitFor()
  await agent.userEdits({ 'notes.txt': 'mine\n' })
  await row(page, 'You edited 1 file').waitFor()
  await agent.turn('Write a French README', [
    { files: { 'README.md': '# Boutique\n\nA shop.\n\nOpen daily.\n' } },
    { files: { 'built.txt': 'ok\n' }, command: 'npm run build' },
  ])
  await row(page, 'Write a French README').waitFor()
  await eventually(
    () => statusBar(page).textContent(),
    (text) => /Write a French README · \d to review/.test(text ?? ''),
  )
  await row(page, 'Write a French README').click()
  await row(page, 'README.md').waitFor()
  await desk.shot('turns')
  await row(page, 'README.md').click()
  await page.getByRole('tab', { name: /README.md \(before ↔ after this turn\)/ }).waitFor()
  await desk.shot('file-change')

  await desk.begin('unturn.undo')
  const list = await offered(page, 'Undo the Last Turn')
  expect(list.join('\n')).toMatch(
    /takes 1 turn out, changes 2 files[\s\S]*README.md.*written[\s\S]*built.txt.*deleted/,
  )
  expect(list.join('\n')).toMatch(/npm run build.*what this command did outside of the captured files stays/)
  await desk.shot('undo-preview')
  await leave(page)
  expect(project.read('README.md')).toContain('Boutique')

  await desk.begin('unturn.undo')
  await offered(page, 'Undo the Last Turn')
  await page.keyboard.press('Enter')
  await toast(page, 'Undone: 1 turn, 2 files.').waitFor()
  expect(project.files()).toEqual({ ...start, 'cart.py': shorter, 'notes.txt': 'mine\n' })
  await row(page, /Write a French README.*undone/).waitFor()
  await eventually(
    () => statusBar(page).textContent(),
    (text) => text?.includes('Sum up in one line · 1 undone') === true,
  )
  await desk.shot('undone')
  await eventually(
    async () => [await colourOf(row(page, /Write a French README/)), await colourOf(row(page, /Sum up/))],
    ([undone, done]) => undone !== done,
  )

  await answer(page, 'Undone: 1 turn', 'Take Back')
  await offered(page, 'Roll Back What Was Just Done')
  await page.keyboard.press('Enter')
  await toast(page, 'Rolled back').waitFor()
  expect(project.read('README.md')).toContain('Boutique')
  await desk.run('notifications.clearAll')

  await seesRows(desk, (rows) => rows.every((text) => !text.includes('undone')))
  await press(page, /Sum up in one line/, 'Undo to Here …')
  await offered(page, 'Undo to Here')
  await page.keyboard.press('Enter')
  await toast(page, 'Undone: 2 turns').waitFor()
  expect(project.files()).toEqual({ ...start, 'notes.txt': 'mine\n' })

  await row(page, /Sum up in one line.*undone/).waitFor()
  await press(page, /Sum up in one line/, 'Copy the Prompt')
  await eventually(
    () => desk.host((api) => api.env.clipboard.readText()),
    (text) => text === 'Sum up in one line',
  )

  await press(page, /Sum up in one line.*undone/, 'Redo to Here …')
  await offered(page, 'Restore to After This Turn')
  await page.keyboard.press('Enter')
  await toast(page, 'Restored: 1 turn, 1 file.').waitFor()
  expect(project.files()).toEqual({ ...start, 'cart.py': shorter, 'notes.txt': 'mine\n' })

  await agent.turn('Write a German README', { 'README.md': '# Laden\n\nA shop.\n\nOpen daily.\n' })
  await row(page, /Branch: Write a French README/).waitFor()
  await desk.run('notifications.clearAll')
  await row(page, /Branch: Write a French README/).click()
  await row(page, /^Write a French README.*undone/).waitFor()
  await desk.shot('branch')
  await press(page, /^Write a French README.*undone/, 'Redo to Here …')
  await offered(page, 'Restore to After This Turn')
  await page.keyboard.press('Enter')
  await toast(page, 'Restored: 2 turns').waitFor()
  expect(project.read('README.md')).toContain('Boutique')
})

test('[X102] [X103] [X107] [X116] roll back takes one turn out and keeps later work, also what is not saved yet', async () => {
  await using desk = await editor.open(start, {
    prepare: async (agent) => {
      await agent.turn('Rename the shop', { 'README.md': start['README.md'].replace('# Shop', '# Store') })
      await agent.turn('Shorter', { 'cart.py': shorter })
    },
  })
  const { page, project } = desk
  await desk.run('unturn.turns.focus')
  await row(page, /Rename the shop/).waitFor()
  await desk.openFile('README.md')
  await desk.host(async (api) => {
    const editor = api.window.activeTextEditor
    await editor?.edit((edit) => edit.insert(new api.Position(5, 0), 'Typed, not saved.\n'))
  })
  await press(page, /Rename the shop/, 'Roll Back Only This …')
  const list = await offered(page, 'Roll Back Only This Turn')
  expect(list.join('\n')).toMatch(/README.md.*has edits that are not saved/)
  await desk.shot('rollback-dirty')
  await choose(page, 'Save 1 open file first')
  await eventually(
    () => offered(page, 'Roll Back Only This Turn'),
    (rows) => rows.some((text) => /README.md.*merged: later edits are kept/.test(text)),
  )
  await choose(page, 'Look at the changes first')
  await page.getByRole('tab', { name: /Planned: Roll Back Only This Turn/ }).waitFor()
  await page.locator('.multiDiffEditor').getByText('# Shop').first().waitFor()
  await desk.shot('rollback-look')
  expect(project.read('README.md')).toContain('# Store')
  await answer(page, 'nothing has been changed yet', 'Back to the List')
  await offered(page, 'Roll Back Only This Turn')
  await choose(page, 'Look at the changes first')
  await page.getByRole('button', { name: 'Do What Is Planned' }).click()
  await toast(page, 'Rolled back: 1 file.').waitFor()
  expect(project.files()).toEqual({
    'README.md': `${start['README.md']}Typed, not saved.\n`,
    'cart.py': shorter,
  })
})

test('[X106] while a turn is running, undo waits for its end, or goes ahead', async () => {
  await using desk = await editor.open(start, {
    prepare: async (agent) => {
      await agent.turn('Shorter', { 'cart.py': shorter })
    },
  })
  const { page, project, agent } = desk
  await desk.run('unturn.turns.focus')
  await row(page, 'Shorter').waitFor()
  const session = await agent.session()
  const running = await session.begin({ prompt: 'Take a while', pid: process.pid })
  await row(page, /Take a while.*running/).waitFor()
  await eventually(
    () => statusBar(page).locator('.codicon-sync').count(),
    (count) => count === 1,
  )
  await desk.begin('unturn.undo')
  const list = await offered(page, 'an agent is at work')
  expect(list.join('\n')).toMatch(/Wait until the turn has ended[\s\S]*Go ahead now/)
  await desk.shot('running')
  await choose(page, 'Wait until the turn has ended')
  await toast(page, 'Waiting until the agent has ended its turn').waitFor()
  await running.step({ tool: 'Edit', paths: ['late.txt'] }, () => project.write({ 'late.txt': 'late\n' }))
  await running.end()
  const planned = await offered(page, 'Undo the Last Turn')
  expect(planned.join('\n')).toMatch(/late.txt.*deleted/)
  await page.keyboard.press('Enter')
  await toast(page, 'Undone: 1 turn, 1 file.').waitFor()
  expect(project.files()).toEqual({ ...start, 'cart.py': shorter })

  await session.begin({ prompt: 'Never ends', pid: process.pid })
  await row(page, /Never ends.*running/).waitFor()
  await desk.begin('unturn.undo')
  await offered(page, 'an agent is at work')
  await choose(page, 'Go ahead now')
  await offered(page, 'Undo the Last Turn')
  await leave(page)
})

test('[X115] a conflict changes nothing before somebody has chosen', async () => {
  await using desk = await editor.open(start, {
    prepare: async (agent) => {
      await agent.turn('Rename the shop', {
        'README.md': start['README.md'].replace('# Shop', '# Store'),
        'new.txt': 'new\n',
      })
      await agent.userEdits({ 'README.md': start['README.md'].replace('# Shop', '# My store') })
    },
  })
  const { page, project } = desk
  await desk.run('unturn.turns.focus')
  await row(page, /Rename the shop/).waitFor()
  await desk.begin('unturn.undo')
  const list = await offered(page, 'Undo the Last Turn')
  expect(list.join('\n')).toMatch(/README.md.*edited since by you/)
  expect(list.join('\n')).not.toContain('takes 1 turn out')
  await desk.shot('conflict')
  await choose(page, 'Leave these files as they are')
  await eventually(
    () => offered(page, 'Undo the Last Turn'),
    (rows) => rows.some((text) => text.includes('takes 1 turn out, changes 1 file')),
  )
  expect(project.files()['new.txt']).toBe('new\n')
  await page.keyboard.press('Enter')
  await toast(page, 'Undone: 1 turn, 1 file.').waitFor()
  expect(project.files()).toEqual({
    ...start,
    'README.md': start['README.md'].replace('# Shop', '# My store'),
  })
})

test('[X124] a commit stays, unless somebody asks in the preview to move the branch back over it', async () => {
  await using desk = await editor.open(start, {
    prepare: async (agent, project) => {
      project.git('init', '-q', '-b', 'main')
      project.git('add', '.')
      project.git('commit', '-q', '-m', 'Open the shop')
      const turn = await (await agent.session()).begin({ prompt: 'Shorter, and commit it' })
      await turn.step({ tool: 'Bash', paths: [], command: 'git commit -am Shorter' }, () => {
        project.write({ 'cart.py': shorter })
        project.git('commit', '-q', '-am', 'Shorter')
      })
      await turn.end()
    },
  })
  const { page, project } = desk
  await desk.run('unturn.turns.focus')
  await row(page, /Shorter, and commit it/).waitFor()
  await desk.begin('unturn.undo')
  const list = await offered(page, 'Undo the Last Turn')
  expect(list.join('\n')).toMatch(/[0-9a-f]{9} Shorter.*the commit stays in your repository/)
  await desk.shot('commit')
  await choose(page, 'Also move the branch back')
  await eventually(
    () => offered(page, 'Undo the Last Turn'),
    (rows) => rows.some((text) => text.includes('It moves back over these commits')),
  )
  expect(project.git('log', '--format=%s')).toBe('Shorter\nOpen the shop')
  await page.keyboard.press('Enter')
  await toast(page, 'Undone: 1 turn, 1 file. The branch main was moved back.').waitFor()
  expect(project.git('log', '--format=%s')).toBe('Open the shop')
  expect(project.files()).toEqual(start)
})
