/**
 * Installs the pinned editor outside the repository, and runs the tests in it; says plainly when it cannot be had.
 *
 *   npm run test:vscode            everything; an installation may take ten minutes
 *   npm run test:vscode -- turns   the files whose name has that
 *   --quick                        as a part of `npm test`: a few tests; left out, and said so, where the editor is
 *                                  not there within a minute and a half
 *   UNTURN_VSCODE=0                leaves them out
 */

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { findBrowser } from '../studio/browser.ts'
import { installEditor, version } from './pinned.ts'

const { values, positionals } = parseArgs({ options: { quick: { type: 'boolean' } }, allowPositionals: true })
const isQuick = values.quick === true

/** One test each of turns, of the server that comes and goes, and of review: the whole way through, and a minute long. */
const quickRules = ['X100', 'X112', 'X210']

if (process.env.UNTURN_VSCODE === '0')
  console.log('LEFT OUT: the extension was not tested in an editor, because UNTURN_VSCODE is 0.')
else process.exitCode = await main()

async function main(): Promise<number> {
  const why = await whatIsMissing()
  if (why !== undefined) {
    console.log(`LEFT OUT: the extension was not tested in code-server ${version}, because ${why}`)
    return isQuick ? 0 : 1
  }
  console.log(`Tests of the extension in code-server ${version}.`)
  const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))
  const config = fileURLToPath(new URL('vitest.config.ts', import.meta.url))
  const which = isQuick ? ['-t', `\\[(${quickRules.join('|')})\\]`] : []
  const { status } = spawnSync(
    process.execPath,
    [vitest, 'run', '--config', config, ...which, ...positionals],
    {
      stdio: 'inherit',
    },
  )
  return status ?? 1
}

async function whatIsMissing(): Promise<string | undefined> {
  if (findBrowser() === undefined)
    return 'no Chromium, Chrome or Edge is installed here. UNTURN_BROWSER can name one.'
  return installEditor(isQuick ? 90_000 : 600_000)
}
