import type { Locator } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Desk, Editor, eventually } from './editor.ts'
import { row, toast } from './screen.ts'

let editor: Editor

beforeAll(async () => {
  editor = await Editor.start()
})

afterAll(async () => {
  await editor?.[Symbol.asyncDispose]()
})

const old = `export function total(prices) {
  let sum = 0
  for (const price of prices) sum += price
  return sum
}

export function tax(amount) {
  return amount * 0.19
}

export function greet(name) {
  return 'Hello ' + name
}
`
const total = [
  '  let sum = 0\n  for (const price of prices) sum += price\n  return sum\n',
  '  return prices.reduce((sum, price) => sum + price, 0)\n',
] as const
const greeting = ["'Hello ' + name", '`Hello ' + '$' + '{name}!`'] as const
const withTotal = old.replace(...total)
const both = withTotal.replace(...greeting)

async function open(files: Readonly<Record<string, string>> = { 'shop.js': both }): Promise<Desk> {
  const desk = await editor.open(
    { 'shop.js': old, 'notes.md': '# Notes\n' },
    {
      prepare: async (agent) => {
        await agent.userEdits({})
        await agent.turn('Make the shop nicer', files)
      },
    },
  )
  await desk.openFile('shop.js')
  await lens(desk, 'Accept').waitFor()
  return desk
}

/** In a diff only the new side counts; the other one may be the same file. */
const newSide = '.editor-instance .codelens-decoration:not(.editor.original .codelens-decoration) a'

function lens(desk: Desk, text: string, at = 0): Locator {
  return desk.page.locator(newSide).filter({ hasText: text }).nth(at)
}

function seesBlocks(desk: Desk, count: number): Promise<number> {
  return eventually(
    () => desk.page.locator(newSide).filter({ hasText: 'Reject' }).count(),
    (found) => found === count,
    40_000,
  )
}

const text = (desk: Desk) => desk.host((api) => api.window.activeTextEditor?.document.getText())
const isDirty = (desk: Desk) => desk.host((api) => api.window.activeTextEditor?.document.isDirty)

/** Types without the keyboard's help: brackets are not closed, lines are not indented. */
function type(desk: Desk, line: number, character: number, typed: string): Promise<unknown> {
  return desk.host(
    async (api, at: { readonly line: number; readonly character: number; readonly typed: string }) => {
      const active = api.window.activeTextEditor
      return active?.edit((edit) => edit.insert(new api.Position(at.line, at.character), at.typed))
    },
    { line, character, typed },
  )
}

function goTo(desk: Desk, line: number): Promise<void> {
  return desk.host((api, at: number) => {
    const active = api.window.activeTextEditor
    if (active !== undefined) active.selection = new api.Selection(at, 0, at, 0)
  }, line)
}

/** What stands behind these and is no text of theirs. */
async function beside(places: Locator): Promise<readonly string[]> {
  const texts = await places.evaluateAll((all) =>
    all.map((one) => {
      const page = globalThis as unknown as {
        getComputedStyle(of: unknown, part: string): { readonly content: string }
      }
      return page.getComputedStyle(one, '::after').content
    }),
  )
  return texts.map((line) => line.replace(/\s+/g, ' '))
}

/** As `press`, for rows that are drawn anew under the pointer. */
async function pressIn(desk: Desk, rowText: RegExp, button: string): Promise<void> {
  const place = row(desk.page, rowText)
  for (let tries = 0; tries < 20; tries += 1) {
    await desk.page.mouse.move(700, 700)
    await place.hover()
    const target = place.getByRole('button', { name: button })
    const isPressed = await target.click({ timeout: 1_500 }).then(
      () => true,
      () => false,
    )
    if (isPressed) return
  }
  throw new Error(`${button} could not be pressed`)
}

const cursorLine = (desk: Desk) => desk.host((api) => api.window.activeTextEditor?.selection.active.line)

test('[X210] [X211] [X212] [X213] blocks are tinted, have bars and the old text beside them, and are accepted and rejected where they stand', async () => {
  await using desk = await open()
  const { page, project } = desk
  await seesBlocks(desk, 2)
  await lens(desk, 'Why: claude, “Make the shop nicer”').waitFor()
  await page.locator('.dirty-diff-glyph, .dirty-diff-modified').first().waitFor()
  await desk.shot('review-inline')
  await eventually(
    () => beside(page.locator('.editor-instance .view-line span')),
    (lines) => lines.some((line) => line.includes('− let sum = 0 (and 2 more removed lines)')),
  )
  expect(
    await page
      .locator('.part.activitybar')
      .getByRole('tab', { name: /Source Control.*2/ })
      .count(),
  ).toBe(1)
  const mark = page.getByRole('treeitem', { name: 'shop.js' }).first().locator('.monaco-icon-label')
  expect(await beside(mark)).toEqual(['"2"'])
  await desk.shot('review-inline')

  await lens(desk, 'Accept').click()
  await seesBlocks(desk, 1)
  expect(project.read('shop.js')).toBe(both)

  await desk.run('editor.action.dirtydiff.next')
  const peek = page.locator('.peekview-widget')
  await peek.getByText('1 of 1 change').waitFor()
  await desk.shot('review-peek')
  await peek.locator('.codicon-discard').click()
  await seesBlocks(desk, 0)
  expect(project.read('shop.js')).toBe(withTotal)
  await eventually(
    () => text(desk),
    (now) => now === withTotal,
  )
  expect(await isDirty(desk)).toBe(false)

  await desk.run('unturn.review.takeBack')
  await seesBlocks(desk, 1)
  expect(project.read('shop.js')).toBe(both)
})

test('[X214] [X215] keys go from block to block and decide on block, file and all; the light bulb does, too', async () => {
  await using desk = await open({ 'shop.js': both, 'notes.md': '# Notes\n\nNew.\n', 'more.txt': 'more\n' })
  const { page, project } = desk
  await page.locator('.editor-instance .view-line').first().click()
  await goTo(desk, 0)
  await page.keyboard.press('Alt+F5')
  await eventually(
    () => cursorLine(desk),
    (line) => line === 1,
  )
  await page.keyboard.press('Alt+F5')
  await eventually(
    () => cursorLine(desk),
    (line) => line === 9,
  )
  await page.keyboard.press('Shift+Alt+F5')
  await eventually(
    () => cursorLine(desk),
    (line) => line === 1,
  )
  await page.keyboard.press('Control+Alt+n')
  await seesBlocks(desk, 1)
  expect(project.read('shop.js')).toBe(old.replace(...greeting))
  const actions = await desk.host(async (api) => {
    const active = api.window.activeTextEditor
    if (active === undefined) return []
    const range = new api.Range(11, 2, 11, 2)
    const found = await api.commands.executeCommand<readonly { readonly title: string }[]>(
      'vscode.executeCodeActionProvider',
      active.document.uri,
      range,
    )
    return found.map(({ title }) => title).filter((title) => title.startsWith('Unturn'))
  })
  expect(actions).toContain('Unturn: Reject this block')
  await page.keyboard.press('Control+Shift+Alt+y')
  await seesBlocks(desk, 0)
  expect(project.read('shop.js')).toBe(old.replace(...greeting))

  await desk.openFile('notes.md')
  await seesBlocks(desk, 1)
  await page.keyboard.press('Control+k')
  await page.keyboard.press('Control+Alt+n')
  await page.getByRole('dialog').getByRole('button', { name: 'Reject All' }).click()
  await seesBlocks(desk, 0)
  await eventually(
    () => project.files(),
    (files) => files['notes.md'] === '# Notes\n' && files['more.txt'] === undefined,
  )
})

test('[X220] [X221] in an unsaved text blocks go along, a reject changes only its block, and saving asks nothing', async () => {
  await using desk = await open()
  const { page, project } = desk
  await type(desk, 0, 0, '// mine, above\n')
  await type(desk, 7, 0, '// mine, between\n')
  expect(await isDirty(desk)).toBe(true)
  await seesBlocks(desk, 2)
  await desk.shot('dirty-before')
  await lens(desk, 'Reject', 1).click()
  await seesBlocks(desk, 1)

  expect(project.read('shop.js')).toBe(withTotal)
  const lines = withTotal.split('\n')
  const expected = ['// mine, above', ...lines.slice(0, 6), '// mine, between', ...lines.slice(6)].join('\n')
  await eventually(
    () => text(desk),
    (now) => now === expected,
  )
  expect(await isDirty(desk)).toBe(true)
  await desk.shot('dirty-rejected')

  await desk.run('workbench.action.files.save')
  await eventually(
    () => project.read('shop.js'),
    (now) => now === expected,
  )
  expect(await isDirty(desk)).toBe(false)
  expect(await toast(page, 'newer').count()).toBe(0)
  await seesBlocks(desk, 1)
  await lens(desk, 'Reject').click()
  await eventually(
    () => project.read('shop.js'),
    (now) => now === expected.replace(total[1], total[0]),
  )
})

test('[X222] a block that somebody has typed into and not saved is not rejected; accepted, it leaves the text alone', async () => {
  await using desk = await open()
  const { page, project } = desk
  await type(desk, 1, 2, 'mine ')
  await seesBlocks(desk, 2)
  const typed = await text(desk)
  await lens(desk, 'Reject').click()
  await toast(page, 'You have typed inside this block of shop.js and not saved it').waitFor()
  await desk.shot('dirty-refused')
  expect(await text(desk)).toBe(typed)
  expect(project.read('shop.js')).toBe(both)

  await lens(desk, 'Accept').click()
  await seesBlocks(desk, 1)
  expect(await text(desk)).toBe(typed)
  expect(await isDirty(desk)).toBe(true)
})

test('[X223] a word on a block that has changed since is refused, and it is drawn anew', async () => {
  await using desk = await open()
  const { page, project, agent } = desk
  const ref = await desk.host(async (api) => {
    const uri = api.window.activeTextEditor?.document.uri
    const found = await api.commands.executeCommand<
      readonly { readonly command?: { readonly arguments?: unknown[] } }[]
    >('vscode.executeCodeLensProvider', uri)
    return found[0]?.command?.arguments?.[0]
  })
  const louder = both.replace('sum + price, 0', 'sum + price, 0.0')
  await agent.turn('Louder', { 'shop.js': louder })
  await lens(desk, 'other turn').waitFor()
  await desk.run('unturn.review.rejectHunk', ref)
  await toast(page, 'That block has changed since it was drawn').waitFor()
  await desk.shot('stale')
  expect(project.read('shop.js')).toBe(louder)
  await seesBlocks(desk, 2)
})

test('[X230] [X231] what is proposed is shown as a diff, written block by block when accepted, and leaves no trace when rejected', async () => {
  await using desk = await open()
  const { page, project, agent } = desk
  await lens(desk, 'Reject').waitFor()
  await desk.run('unturn.review.acceptAll')
  await seesBlocks(desk, 0)

  const turn = await (await agent.session()).begin({ prompt: 'Suggest a discount' })
  const offered = both.replace('0.19', '0.07').replace(/\n}\n$/, '\n}\n\nexport const discount = 0.1\n')
  await turn.propose({ path: 'shop.js', content: offered })
  await turn.propose({ path: 'idea.txt', content: 'an idea\n' })
  await turn.end()
  await lens(desk, 'Proposed +1 −1: See').waitFor()
  expect(project.read('shop.js')).toBe(both)
  await desk.shot('proposal-in-file')
  await lens(desk, 'Proposed +1 −1: See').click()
  await page.getByRole('tab', { name: /shop.js \(proposed\)/ }).waitFor()
  await seesBlocks(desk, 2)
  await desk.shot('proposal-diff')

  await lens(desk, 'Accept').click()
  await eventually(
    () => project.read('shop.js'),
    (now) => now === both.replace('0.19', '0.07'),
  )
  await seesBlocks(desk, 1)
  await lens(desk, 'Reject').click()
  await seesBlocks(desk, 0)
  expect(project.read('shop.js')).toBe(both.replace('0.19', '0.07'))

  await desk.run('workbench.view.scm')
  await pressIn(desk, /idea.txt/, 'Reject All Blocks of This File')
  await eventually(
    () => project.ask('review').pending,
    (count) => count === 0,
  )
  expect(Object.keys(project.files()).sort()).toEqual(['notes.md', 'shop.js'])
})

test('[X232] a proposal goes into an unsaved text beside what was typed, and not over it', async () => {
  await using desk = await open()
  const { page, project, agent } = desk
  await desk.run('unturn.review.acceptAll')
  await seesBlocks(desk, 0)
  await type(desk, 0, 0, '// mine\n')
  const turn = await (await agent.session()).begin({ prompt: 'Suggest a discount' })
  await turn.propose({ path: 'shop.js', content: both.replace('0.19', '0.07') })
  await turn.end()
  await lens(desk, 'Accept').click()
  await eventually(
    () => project.read('shop.js'),
    (now) => now === both.replace('0.19', '0.07'),
  )
  await eventually(
    () => text(desk),
    (now) => now === `// mine\n${both.replace('0.19', '0.07')}`,
  )
  expect(await isDirty(desk)).toBe(true)

  const next = await (await agent.session()).begin({ prompt: 'Rename it' })
  await next.propose({ path: 'shop.js', content: both.replace('0.19', '0.07').replace('greet', 'hello') })
  await next.end()
  await lens(desk, 'Rename it').waitFor()
  await type(desk, 9, 0, '/* mine */ ')
  const typed = await text(desk)
  await lens(desk, 'Accept').click()
  await toast(page, 'in the lines that this proposal changes, and not saved it').waitFor()
  expect(await text(desk)).toBe(typed)
})

test('[X240] [X241] all that is pending is one diff, and files and turns are decided on in the view', async () => {
  await using desk = await open({ 'shop.js': both, 'notes.md': '# Notes\n\nNew.\n' })
  const { page, project, agent } = desk
  await agent.turn('Add a licence', { LICENSE: 'Yours.\n' })
  await desk.run('workbench.view.scm')
  await row(page, /Make the shop nicer · claude/).waitFor()
  await row(page, /Add a licence · claude/).waitFor()
  await desk.run('unturn.review.all')
  await page.getByRole('tab', { name: /Unturn: 4 pending blocks/ }).waitFor()
  await seesBlocks(desk, 4)
  await desk.shot('review-all')

  await pressIn(desk, /notes.md/, 'Reject All Blocks of This File')
  await eventually(
    () => project.read('notes.md'),
    (now) => now === '# Notes\n',
  )
  await pressIn(desk, /Add a licence · claude/, 'Accept All Blocks of This Turn')
  await eventually(
    () => project.ask('review').pending,
    (count) => count === 2,
  )
  await pressIn(desk, /Make the shop nicer · claude/, 'Reject All Blocks of This Turn')
  await eventually(
    () => project.read('shop.js'),
    (now) => now === old,
  )
  expect(project.read('LICENSE')).toBe('Yours.\n')
  expect(
    await page
      .locator('.part.activitybar')
      .getByRole('tab', { name: /Source Control.*\d/ })
      .count(),
  ).toBe(0)
})
