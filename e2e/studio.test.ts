import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { violations } from './studio/axe.ts'
import { findBrowser, launch } from './studio/browser.ts'
import { buildBoth, type Files, Place } from './studio/place.ts'

const executable = findBrowser()
if (executable === undefined)
  console.warn(
    'Studio was not tested: no Chromium, Chrome or Edge is installed here. UNTURN_BROWSER can name one.',
  )

const cart = {
  before:
    'export function total(prices) {\n  let sum = 0\n  for (const price of prices) sum += price\n  return sum\n}\n',
  after: 'export function total(prices) {\n  return prices.reduce((a, b) => a + b, 0)\n}\n',
}
const start: Files = {
  'README.md': '# Shop\n\nA shop.\n',
  'src/cart.js': cart.before,
  'notes.txt': 'one\ntwo\nthree\nfour\nfive\nsix\n',
}

describe.skipIf(executable === undefined)('Studio in a browser', () => {
  let browser: Browser
  let built = ''

  beforeAll(async () => {
    built = await buildBoth()
    browser = await launch(executable ?? '')
  }, 240_000)

  afterAll(async () => {
    await browser?.close()
    if (built !== '') rmSync(built, { recursive: true, force: true })
  })

  const place = (files: Files = start) => new Place(built, browser, files).open()

  test('[D100] [D101] [D103] [D125] turns, steps and edits of the user appear as they are made, undone ones are greyed and counted, and a new turn branches off', async () => {
    await using s = await place()
    mkdirSync(join(s.env.HOME, '.claude'))
    const page = await s.page()
    await page.getByRole('heading', { name: 'No agent has worked here yet' }).waitFor()
    const agents = page.getByRole('region', { name: 'Agents' })
    await agents.getByText('unturn init claude-code').waitFor()
    expect(await page.getByText('unturn init', { exact: true }).count()).toBe(1)

    await s.turn('Sum up in one line', [
      { files: { 'src/cart.js': cart.after } },
      { files: { 'out.txt': 'ok\n' }, command: 'npm test' },
    ])
    await rowOf(page, 'Sum up in one line').waitFor()
    await s.edit({ 'notes.txt': 'one\ntwo\n' })
    await page.getByRole('treeitem', { name: 'you edited 1 file' }).waitFor()
    await s.turn('Write a French README', [{ files: { 'README.md': '# Boutique\n' } }], 'codex')
    const french = rowOf(page, 'French')
    await french.waitFor()
    const colours = [await colourOf(french), await colourOf(rowOf(page, 'Sum up'))]
    expect(colours[0]).toContain('--agent-')
    expect(colours[0]).not.toBe(colours[1])

    await rowOf(page, 'Sum up').getByRole('button', { name: 'Show steps' }).click()
    await page.getByRole('treeitem', { name: 'Bash npm test' }).waitFor()

    await s.workspace.session('chat-1', { agent: 'claude' }).undo()
    await french.getByText('undone').waitFor()
    await page.getByText('1 turn is undone').waitFor()
    await s.turn('Write a German README', [{ files: { 'README.md': '# Laden\n' } }], 'codex')
    const german = rowOf(page, 'German')
    await german.getByText('now').waitFor()
    expect(await laneOf(german)).toBe(await laneOf(rowOf(page, 'Sum up')))
    expect(await laneOf(french)).toBeGreaterThan(await laneOf(german))
    expect(s.complaints).toEqual([])
  })

  test('[D102] [D104] nothing happens before the preview was seen, undo and redo and a rollback do exactly that, and the message takes it back', async () => {
    await using s = await place()
    await s.turn('Sum up', [
      { files: { 'src/cart.js': cart.after } },
      { files: { 'out.txt': 'ok\n' }, command: 'npm test' },
    ])
    await s.turn('Name the file', [{ files: { 'README.md': '# Shop two\n\nA shop.\n' } }])
    const page = await s.page()
    await rowOf(page, 'Sum up').click()
    await page.getByText('npm test').first().waitFor()

    await page.getByRole('button', { name: 'Roll back only this…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Not undone').waitFor()
    expect(await dialog.getByText('npm test').count()).toBe(1)
    await dialog.getByRole('listitem').filter({ hasText: 'cart.js' }).first().waitFor()
    expect(s.read('src/cart.js')).toBe(cart.after)
    await dialog.getByRole('button', { name: 'Roll back only this turn' }).click()
    await page.getByText('Rolled back: 2 paths.').waitFor()
    expect([s.read('src/cart.js'), s.read('out.txt')]).toEqual([cart.before, null])
    expect(s.read('README.md')).toBe('# Shop two\n\nA shop.\n')
    await page.getByRole('region', { name: 'Messages' }).getByRole('button', { name: 'Undo' }).click()
    await expect.poll(() => s.read('src/cart.js')).toBe(cart.after)

    await page.keyboard.press('u')
    await dialog.getByText('The prompt comes back for editing').waitFor()
    expect(s.read('README.md')).toContain('two')
    await dialog.getByRole('button', { name: 'Undo to here' }).click()
    await page.getByText(/^Undone: 2 turns/).waitFor()
    expect([s.read('src/cart.js'), s.read('README.md')]).toEqual([cart.before, '# Shop\n\nA shop.\n'])
    await page.getByText('2 turns are undone').waitFor()

    await page.getByRole('button', { name: 'Redo all' }).click()
    await dialog.getByRole('button', { name: 'Redo everything' }).click()
    await page.getByText(/^Redone: 2 turns/).waitFor()
    expect([s.read('src/cart.js'), s.read('out.txt')]).toEqual([cart.after, 'ok\n'])
    expect(s.complaints).toEqual([])
  })

  test('[D105] a conflict shows base, yours and the old version, takes a choice for each file, and shows the result before it is written', async () => {
    await using s = await place({ 'a.txt': 'one\n', 'b.txt': 'one\n' })
    await s.turn('Shout', [{ files: { 'a.txt': 'ONE\n', 'b.txt': 'ONE\n' } }])
    await s.edit({ 'a.txt': 'ONE, mine\n', 'b.txt': 'ONE, mine too\n' })
    const page = await s.page()
    await rowOf(page, 'Shout').click()
    await page.getByRole('button', { name: 'Undo to here…' }).click()
    const dialog = page.getByRole('dialog')
    const [a, b] = [
      dialog.getByRole('group', { name: 'a.txt' }),
      dialog.getByRole('group', { name: 'b.txt' }),
    ]
    await a.waitFor()
    for (const [name, text] of [
      ['Base', 'ONE'],
      ['Yours', 'ONE, mine'],
      ['Old', 'one'],
    ] as const)
      expect((await a.getByLabel(new RegExp(`^${name}:`)).textContent())?.trim()).toBe(text)
    const go = dialog.getByRole('button', { name: 'Undo to here' })
    expect(await go.isDisabled()).toBe(true)

    await a.getByRole('radio', { name: /Take the old one/ }).check()
    await b.getByRole('radio', { name: /Write both/ }).check()
    await dialog.getByText('What would be written').waitFor()
    await dialog.getByText('<<<<<<<').waitFor()
    expect(s.read('a.txt')).toBe('ONE, mine\n')
    await go.click()
    await page.getByText(/^Undone: 1 turn/).waitFor()
    expect(s.read('a.txt')).toBe('one\n')
    expect(s.read('b.txt')).toMatch(/^<{7} .*ONE, mine too.*={7}.*one.*>{7} /s)
    expect(s.complaints).toEqual([])
  })

  test('[D106] [D107] hunks are accepted and rejected by keys, with a comment, files and all at once; contested ones are marked, and viewed marks go when the file changes', async () => {
    const long = Array.from({ length: 30 }, (_, at) => `line ${at}`)
    const changed = (...at: number[]) =>
      `${long.map((line, i) => (at.includes(i) ? line.toUpperCase() : line)).join('\n')}\n`
    await using s = await place({ 'a.txt': changed(), 'b.txt': 'b\n' })
    await s.turn('Shout', [{ files: { 'a.txt': changed(2, 14, 26), 'b.txt': 'B\n', 'c.txt': 'new\n' } }])
    const page = await s.page({}, 'Review')
    const status = page.getByRole('status').filter({ hasText: 'pending' })
    await status.getByText('5 hunks').waitFor()
    await page.locator('.hunk-bar.current').waitFor()

    await page.keyboard.press('a')
    await status.getByText('4 hunks').waitFor()
    expect(s.read('a.txt')).toBe(changed(2, 14, 26))
    await page.keyboard.press('j')
    await page.keyboard.press('r')
    await status.getByText('3 hunks').waitFor()
    expect(s.read('a.txt')).toBe(changed(2, 14))
    await page.getByRole('region', { name: 'Messages' }).getByRole('button', { name: 'Undo' }).last().click()
    await status.getByText('4 hunks').waitFor()
    expect(s.read('a.txt')).toBe(changed(2, 14, 26))

    await page.getByRole('checkbox', { name: 'Viewed a.txt' }).check()
    await s.edit({ 'a.txt': changed(2, 14, 26).replace('LINE 14', 'LINE 14 of mine') })
    await page.getByText('contested').first().waitFor()
    expect(await page.getByRole('checkbox', { name: 'Viewed a.txt' }).isChecked()).toBe(false)

    await page.getByRole('button', { name: 'b.txt' }).first().click()
    await page.keyboard.press('c')
    await page.getByRole('textbox').fill('Not so loud')
    await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click()
    await expect.poll(() => s.read('b.txt')).toBe('b\n')
    await page.getByRole('button', { name: 'Reject c.txt' }).click()
    await expect.poll(() => s.read('c.txt')).toBe(null)
    await page.getByRole('button', { name: 'Accept all' }).click()
    await page.getByRole('heading', { name: 'Everything is reviewed' }).waitFor()
    const { rejections } = await s.workspace.review('chat-1' as never)
    expect(rejections.map(({ comment }) => comment)).toContain('Not so loud')
    expect(s.complaints).toEqual([])
  })

  test('[D124] [D105] pending images stand side by side, and each contested file has a choice of its own and shows its base', async () => {
    await using s = await place({ 'logo.png': png(12), 'a.txt': 'one\n', 'b.txt': 'one\n', 'z.txt': 'z\n' })
    const bytes = new Uint8Array([0, 7, 7])
    await s.turn('Shout', [
      {
        files: { 'logo.png': png(200), 'new.bin': bytes, 'a.txt': 'ONE\n', 'b.txt': 'ONE\n', 'z.txt': 'Z\n' },
      },
    ])
    await s.edit({ 'a.txt': 'ONE, mine\n', 'b.txt': 'ONE, mine too\n' })
    const page = await s.page({}, 'Review')
    const status = page.getByRole('status').filter({ hasText: 'pending' })
    await status.getByText('5 hunks').waitFor()
    await expect
      .poll(() => page.evaluate("[...document.querySelectorAll('.side img')].map((one) => one.naturalWidth)"))
      .toEqual([8, 8])
    await page.getByRole('region', { name: 'new.bin' }).getByText('After · 3 bytes').waitFor()
    const logo = page.getByRole('region', { name: 'logo.png' })
    await logo.getByRole('button', { name: /^Accept/ }).click()
    await status.getByText('4 hunks').waitFor()
    await logo.waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Reject all' }).click()
    const dialog = page.getByRole('dialog')
    const [a, b] = ['a.txt', 'b.txt'].map((name) => dialog.getByRole('group', { name }))
    expect((await a?.getByLabel(/^Base:/).textContent())?.trim()).toBe('ONE')
    await a?.getByRole('radio', { name: /Take the old one/ }).check()
    const go = dialog.getByRole('button', { name: 'Reject', exact: true })
    expect(await go.isDisabled()).toBe(true)
    await b?.getByRole('radio', { name: /Keep yours/ }).check()
    await dialog.getByText('What would be written').waitFor()
    expect(s.read('a.txt')).toBe('ONE, mine\n')
    await go.click()
    await page.getByText(/^Rejected: 3 hunks/).waitFor()
    expect([s.read('a.txt'), s.read('b.txt'), s.read('z.txt')]).toEqual(['one\n', 'ONE, mine too\n', 'z\n'])
    expect(s.read('new.bin')).toBe(null)
    await page.getByRole('region', { name: 'Messages' }).getByRole('button', { name: 'Undo' }).last().click()
    await expect.poll(() => s.read('a.txt')).toBe('ONE, mine\n')
    expect(s.complaints).toEqual([])
  })

  test('[D108] [D109] [D110] [D112] past files, all changes, blame and the store are there to look at, and looking changes nothing', async () => {
    await using s = await place()
    await s.turn('Sum up', [{ files: { 'src/cart.js': cart.after } }])
    await s.turn('French', [{ files: { 'README.md': '# Boutique\n' } }], 'codex')
    const page = await s.page()
    await rowOf(page, 'French').waitFor()
    await page.keyboard.press('[')
    await page.getByRole('button', { name: 'README.md' }).click()
    await page.getByRole('region', { name: 'README.md as it was' }).getByText('A shop.').waitFor()
    expect(s.read('README.md')).toBe('# Boutique\n')
    await page.getByRole('button', { name: 'Back to now' }).click()

    await page.keyboard.press('2')
    const changes = page.getByRole('region', { name: 'Changes' })
    await changes.getByText('cart.js').waitFor()
    await page.getByRole('searchbox', { name: 'Text in path, prompt or command' }).fill('French')
    await changes.getByText('cart.js').waitFor({ state: 'detached' })
    await page.getByLabel('group by').selectOption('file')
    await changes.getByRole('button', { name: 'Roll back this file…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back this file' }).click()
    await page.getByText('Rolled back: 1 path.').waitFor()
    expect(s.read('README.md')).toBe('# Shop\n\nA shop.\n')

    await page.keyboard.press('4')
    await page.getByRole('button', { name: 'src' }).click()
    await page.getByRole('button', { name: 'cart.js' }).click()
    const lines = page.getByRole('region', { name: 'Lines' })
    await lines.getByText('before the first capture').first().waitFor()
    await lines.getByRole('button', { name: /claude.*Sum up/ }).click()
    await page.getByRole('heading', { name: 'Sum up' }).waitFor()

    await page.keyboard.press('5')
    await page.getByRole('button', { name: 'Pin' }).first().click()
    await page.getByRole('button', { name: 'Pinned' }).waitFor()
    await page.getByRole('button', { name: 'Check the store' }).click()
    await page.getByText('Nothing is missing or damaged.').waitFor()
    expect(s.complaints).toEqual([])
  })

  test('[D111] [D123] the page says that the server is gone, what to do once another one is there, and goes on by itself when that was done', async () => {
    await using s = await place()
    await s.turn('First', [{ files: { 'a.txt': 'a\n' } }])
    const page = await s.page()
    await rowOf(page, 'First').click()
    await page.locator('diffs-container').first().waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    await s.killServer()
    await page.getByText('The connection to the server is lost.').waitFor()
    await s.turn('While nobody listened', [{ files: { 'b.txt': 'b\n' } }])
    await s.startServer()
    const alert = page.getByRole('alert').filter({ hasText: 'unturn studio' })
    await alert.waitFor()
    expect(await rowOf(page, 'While nobody listened').count()).toBe(0)
    const opened = await s.pageIn(page.context())
    await rowOf(opened, 'While nobody listened').waitFor()
    await opened.close()
    await rowOf(page, 'While nobody listened').waitFor()
    await alert.waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: 'First' }).waitFor()
    await s.turn('And on', [{ files: { 'c.txt': 'c\n' } }])
    await rowOf(page, 'And on').waitFor()
    await page.reload()
    await rowOf(page, 'And on').waitFor()
  })

  test('[D113] the token leaves the address at once, and a page without it, or with an old one, says what to do', async () => {
    await using s = await place()
    await s.turn('First', [{ files: { 'a.txt': 'a\n' } }])
    const page = await s.page()
    expect(page.url()).not.toContain(s.token)
    await page.reload()
    await rowOf(page, 'First').waitFor()
    const another = await page.context().browser()?.newContext()
    const bare = await another?.newPage()
    if (another === undefined || bare === undefined) throw new Error('the browser is gone')
    await bare.goto(s.url)
    await bare.getByText('unturn studio', { exact: true }).waitFor()
    await bare.goto(`${s.url}/#token=old`)
    await bare.reload()
    await bare.getByText('Run "unturn studio" to open the page').waitFor()
    await rowOf(await s.pageIn(another), 'First').waitFor()
    await rowOf(bare, 'First').waitFor()
  })

  test('[D114] [D115] images stand side by side, what would hide is visible, and whitespace, split and unified can be switched', async () => {
    await using s = await place({
      'logo.png': png(12),
      'data.bin': new Uint8Array([0, 1, 2]),
      'odd.js': 'a()\n',
      'space.txt': 'a\nb\n',
    })
    await s.turn('Odd', [
      {
        files: {
          'logo.png': png(200),
          'data.bin': new Uint8Array([0, 9]),
          'odd.js': 'a() // \u202ex\u2066\n',
          'space.txt': '  a\nb!\n',
        },
      },
    ])
    const page = await s.page()
    await rowOf(page, 'Odd').click()
    const diff = page.getByRole('region', { name: 'What it changed' })
    await diff.getByText('⟦U+202E⟧').first().waitFor()
    await expect.poll(() => page.getByRole('img', { name: /logo.png/ }).count()).toBe(2)
    await expect
      .poll(() => page.evaluate("[...document.querySelectorAll('.side img')].map((one) => one.naturalWidth)"))
      .toEqual([8, 8])
    const data = page.getByRole('region', { name: 'data.bin' })
    await data.getByText('Before · 3 bytes').waitFor()
    await data.getByRole('button', { name: 'Roll back…' }).click()
    await page.getByRole('dialog').getByRole('listitem').filter({ hasText: 'data.bin' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const columns = () =>
      page
        .locator('diffs-container')
        .last()
        .evaluate((one) => one.shadowRoot?.querySelectorAll('code').length)
    await expect.poll(columns).toBe(2)
    await page.keyboard.press('s')
    await expect.poll(columns).toBe(1)
    await page.keyboard.press('w')
    await page.getByRole('button', { name: 'Ignore whitespace', pressed: true }).waitFor()
    await expect
      .poll(
        async () =>
          (await page
            .locator('diffs-container')
            .last()
            .evaluate((one) => one.shadowRoot?.querySelectorAll('[data-line-type^="change"]').length)) ?? 0,
      )
      .toBeLessThan(8)
    expect(s.complaints).toEqual([])
  })

  test('[D116] [D117] long histories and large diffs keep only what can be seen in the page, and keys reach everything', async () => {
    await using s = await place()
    for (let at = 0; at < 44; at += 1) await s.turn(`Turn ${at}`, [{ files: { 'a.txt': `${at}\n` } }])
    const lines = Array.from({ length: 20_000 }, (_, at) => `const value${at} = ${at}\n`).join('')
    await s.turn('A large file', [{ files: { 'large.js': lines } }])
    const page = await s.page()
    await rowOf(page, 'A large file').click()
    await page.locator('diffs-container').first().waitFor()
    await expect
      .poll(() =>
        page
          .locator('diffs-container')
          .first()
          .evaluate((one) => one.shadowRoot?.textContent?.includes('value3')),
      )
      .toBe(true)
    const drawn = await page
      .locator('diffs-container')
      .first()
      .evaluate((one) => one.shadowRoot?.querySelectorAll('[data-line]').length ?? 0)
    expect(drawn).toBeGreaterThan(10)
    expect(drawn).toBeLessThan(1_000)
    expect(await page.getByRole('treeitem').count()).toBeLessThan(40)

    await page.keyboard.press('j')
    await page.getByRole('heading', { name: 'Turn 43' }).waitFor()
    await page.keyboard.press('?')
    const dialog = page.getByRole('dialog', { name: 'Keys' })
    await dialog.getByText('undo to here').waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    const tree = page.getByRole('tree')
    await tree.focus()
    await page.keyboard.press('End')
    await rowOf(page, 'Turn 0').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Turn 0' }).waitFor()
  })

  test('[D118] [D119] axe finds nothing to complain about, in light and dark, on a desk and on a phone, and nothing is asked outside of this machine', async () => {
    await using s = await place()
    await s.turn('Sum up', [
      { files: { 'src/cart.js': cart.after } },
      { files: { 'out.txt': 'ok\n' }, command: 'npm test' },
    ])
    await s.edit({ 'notes.txt': 'one\n' })
    await s.turn('French', [{ files: { 'README.md': '# Boutique\n' } }], 'codex')
    await s.workspace.session('chat-1', { agent: 'claude' }).undo()
    const found: string[] = []
    const everything = [
      ['2', 'group by'],
      ['4', 'Who wrote this?'],
      ['5', 'Sessions by size'],
      ['3', 'Reject with comment'],
    ] as const
    for (const [options, views] of [
      [{}, everything],
      [{ colorScheme: 'dark' as const }, everything.slice(-1)],
    ] as const) {
      const page = await s.page(options)
      await rowOf(page, 'Sum up').click()
      await page.locator('diffs-container').first().waitFor()
      found.push(...(await violations(page)))
      for (const [key, ready] of views) {
        await page.keyboard.press(key)
        await page.getByText(ready).first().waitFor()
        found.push(...(await violations(page)))
      }
      await page.context().close()
    }
    const page = await s.page()
    await rowOf(page, 'Sum up').click()
    await page.getByRole('button', { name: /^Undo to here/ }).waitFor()
    await page.keyboard.press('u')
    await page.getByRole('dialog').getByText('Not undone').waitFor()
    found.push(...(await violations(page)))
    const phone = await s.page({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true })
    await rowOf(phone, 'Sum up').tap()
    await phone.getByRole('button', { name: '‹ Timeline' }).waitFor()
    found.push(...(await violations(phone)))
    expect(found).toEqual([])
    expect(await phone.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    await phone.getByRole('button', { name: '‹ Timeline' }).tap()
    await rowOf(phone, 'French').waitFor()
    expect(s.complaints).toEqual([])
  })
})

function rowOf(page: Page, text: string): Locator {
  return page.getByRole('treeitem').filter({ hasText: new RegExp(`${text}(?!\\d)`) })
}

function colourOf(row: Locator): Promise<string | null> {
  return row.locator('.agent').getAttribute('style')
}

function laneOf(row: Locator): Promise<number> {
  return row
    .locator('circle')
    .last()
    .evaluate((element) => Number(element.getAttribute('cx')))
}

/** A picture of eight by eight. */
function png(shade: number): Uint8Array {
  const chunk = (name: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(name), data])
    const ends = Buffer.alloc(8)
    ends.writeUInt32BE(data.length, 0)
    ends.writeUInt32BE(crc32(body), 4)
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)])
  }
  const head = Buffer.from([0, 0, 0, 8, 0, 0, 0, 8, 8, 0, 0, 0, 0])
  const rows = Buffer.concat(Array.from({ length: 8 }, () => Buffer.from([0, ...Array(8).fill(shade)])))
  const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10])
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}
