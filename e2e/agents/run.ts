/**
 * Installs the pinned agents outside the repository, runs the tests with those that are there, and says plainly which
 * one was left out, and why.
 *
 *   npm run test:agents            all of them; an installation may take ten minutes
 *   npm run test:agents -- codex   one of them
 *   --quick                        as a part of `npm test`: what cannot be installed within a minute and a half is left out
 *   UNTURN_AGENTS=0                leaves all of them out
 */

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { install, type PinnedAgent, pinned, pinnedAgents } from './pinned.ts'

const { values, positionals } = parseArgs({ options: { quick: { type: 'boolean' } }, allowPositionals: true })
const isQuick = values.quick === true
const wanted = pinnedAgents.filter((agent) => positionals.length === 0 || positionals.includes(agent))
const unknown = positionals.filter((name) => !pinnedAgents.some((agent) => agent === name))

if (unknown.length > 0) {
  console.error(`There is no agent ${unknown.join(', ')} here. There are: ${pinnedAgents.join(', ')}`)
  process.exitCode = 2
} else if (process.env.UNTURN_AGENTS === '0')
  console.log('The tests with real agents were left out, because UNTURN_AGENTS is 0.')
else process.exitCode = await main()

async function main(): Promise<number> {
  const leftOut = await installAll()
  const there = wanted.filter((agent) => !leftOut.has(agent))
  for (const line of leftOutLines(leftOut)) console.log(line)
  if (there.length === 0) return isQuick ? 0 : 1
  const code = runTests(there)
  for (const line of leftOutLines(leftOut)) console.log(line)
  return code
}

async function installAll(): Promise<ReadonlyMap<PinnedAgent, string>> {
  const leftOut = new Map<PinnedAgent, string>()
  const until = Date.now() + (isQuick ? 90_000 : 600_000)
  for (const agent of wanted) {
    const why = await install(agent, until - Date.now())
    if (why !== undefined) leftOut.set(agent, why)
  }
  return leftOut
}

function leftOutLines(leftOut: ReadonlyMap<PinnedAgent, string>): readonly string[] {
  return [...leftOut].map(
    ([agent, why]) =>
      `LEFT OUT: ${pinned[agent].title} ${pinned[agent].version} was not tested, because ${why}`,
  )
}

function runTests(agents: readonly PinnedAgent[]): number {
  const names = agents.map((agent) => `${pinned[agent].title} ${pinned[agent].version}`)
  console.log(`Tests with the real ${names.join(', ')}; the model is a script on loopback.`)
  const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))
  const config = fileURLToPath(new URL('vitest.config.ts', import.meta.url))
  const { status } = spawnSync(process.execPath, [vitest, 'run', '--config', config], {
    stdio: 'inherit',
    env: { ...process.env, UNTURN_TEST_AGENTS: agents.join(',') },
  })
  return status ?? 1
}
