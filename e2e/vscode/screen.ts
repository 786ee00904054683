/** What somebody sees in the window, and does there. */

import type { Locator, Page } from 'playwright-core'

/** Rows of the view, as they are read out. */
export function rowsOf(page: Page): Promise<readonly string[]> {
  return page
    .locator('.part.sidebar [role=treeitem]')
    .evaluateAll((rows) => rows.map((row) => row.getAttribute('aria-label') ?? ''))
}

export function row(page: Page, text: string | RegExp): Locator {
  return page.locator('.part.sidebar').getByRole('treeitem', { name: text }).first()
}

/** One of the buttons that a row has while somebody points at it. */
export async function press(page: Page, rowText: string | RegExp, button: string): Promise<void> {
  const place = row(page, rowText)
  await place.hover()
  await place.getByRole('button', { name: button }).click()
}

/** What the list in the middle offers, with its headings. */
export async function offered(page: Page, title: string): Promise<readonly string[]> {
  await page.locator('.quick-input-title', { hasText: title }).waitFor()
  return page
    .locator('.quick-input-list .monaco-list-row')
    .evaluateAll((rows) => rows.map((row) => row.getAttribute('aria-label') ?? ''))
}

export async function choose(page: Page, text: string | RegExp): Promise<void> {
  await page.locator('.quick-input-list .monaco-list-row').filter({ hasText: text }).first().click()
}

/** Escape: nothing is done. */
export async function leave(page: Page): Promise<void> {
  await page.locator('.quick-input-widget input').first().press('Escape')
  await page.locator('.quick-input-widget').waitFor({ state: 'hidden' })
}

export function toast(page: Page, text: string | RegExp): Locator {
  return page.locator('.notification-list-item', { hasText: text }).first()
}

export async function answer(page: Page, text: string | RegExp, button: string): Promise<void> {
  await toast(page, text).getByRole('button', { name: button }).click()
}

export function statusBar(page: Page): Locator {
  return page.locator('[id="unturn.unturn-vscode.unturn.status"]')
}
