/** Opens the page in the browser without handing the token to the command line of another program, where every user sees it. */

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const keptMs = 5_000

/** A file that only the user may read leads the browser to the address. It goes again after a moment. */
export async function openPage(url: string, privateFolder: string, forMs = keptMs): Promise<void> {
  const file = join(privateFolder, `open-${randomBytes(8).toString('hex')}.html`)
  writeFileSync(file, leadingTo(url), { mode: 0o600, flag: 'wx' })
  try {
    const [program, ...args] = opener(process.platform)
    const child = spawn(program, [...args, pathToFileURL(file).href], { stdio: 'ignore', detached: true })
    child.on('error', () => {}) // no browser here: the address was printed
    child.unref()
    await new Promise((resolve) => setTimeout(resolve, forMs))
  } finally {
    rmSync(file, { force: true })
  }
}

export function leadingTo(url: string): string {
  const text = JSON.stringify(url).replaceAll('<', '\\u003c')
  return `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Unturn</title><script>location.replace(${text})</script>\n`
}

function opener(platform: NodeJS.Platform): readonly [string, ...string[]] {
  if (process.env.BROWSER !== undefined && process.env.BROWSER !== '') return [process.env.BROWSER]
  if (platform === 'darwin') return ['open']
  return platform === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler'] : ['xdg-open']
}
