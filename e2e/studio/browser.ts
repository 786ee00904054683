/** A browser of the system's. None is downloaded: where there is none, the tests that need one are left out and say so. */

import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const names = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'microsoft-edge',
  'chrome',
]
const elsewhere = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
  'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
]

/** Undefined: there is none. `UNTURN_BROWSER` names another one. */
export function findBrowser(): string | undefined {
  const named = process.env.UNTURN_BROWSER
  if (named !== undefined) return named
  const folders = (process.env.PATH ?? '').split(delimiter)
  const candidates = names.flatMap((name) => folders.map((folder) => join(folder, name)))
  return [...candidates, ...elsewhere].find((path) => existsSync(path))
}

export function launch(executablePath: string): Promise<Browser> {
  const args = [
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
    // Whoever the page asked outside of this machine would not be found.
    '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  ]
  const isRoot = process.getuid?.() === 0
  return chromium.launch({ executablePath, args: isRoot ? [...args, '--no-sandbox'] : args })
}
