#!/usr/bin/env node
/** The way in: says its version at once, refuses a Node that is too old, and loads the rest only when needed. */

import { isTooOld } from './node-version.ts'

declare const UNTURN_VERSION: string

const version = typeof UNTURN_VERSION === 'string' ? UNTURN_VERSION : '0.0.0-source'

const isHook = process.argv[2] === 'hook' && !process.argv.includes('--help') && !process.argv.includes('-h')

// An empty HOME is none. Node takes it for the answer, and the home would be wherever the command is called.
if (process.env.HOME === '') delete process.env.HOME

if (isTooOld(process.versions.node)) {
  process.stderr.write(
    `Unturn needs Node 22.13 or later; this is Node ${process.versions.node}. Nothing was changed.\nInstall a newer Node, or run unturn with one that is already there.\n`,
  )
  process.exitCode = isHook ? 0 : 1
} else if (isHook) {
  const { keepCompiled } = await import('./compiled.ts')
  keepCompiled(process.env)
  const { runHook } = await import('./hook.ts')
  await runHook(process.argv.slice(3), process.env)
  process.exit(0) // at once: work that came too late may still be under way
} else if (process.argv.length === 3 && (process.argv[2] === '--version' || process.argv[2] === '-V')) {
  process.stdout.write(`${version}\n`)
} else {
  const { keepCompiled } = await import('./compiled.ts')
  keepCompiled(process.env)
  const { main } = await import('./run.ts')
  // Idle helpers do not keep a process alive. Without this one could end in the middle of an error, waiting for git.
  const alive = setInterval(() => {}, 60_000)
  process.exitCode = await main(version)
  clearInterval(alive)
}
