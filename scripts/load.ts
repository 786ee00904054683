/**
 * The load test: 50 clients on the events of one workspace, 8 agents writing turns at once, for a minute, against the
 * built command. Fails where an event or a change is lost, or where the server holds more at the end, all garbage
 * collected, than after the first quarter.
 *
 *   npm run load            npm run load -- --seconds 10 --clients 20 --agents 4
 */

import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Unturn } from '../packages/client/src/index.ts'
import { load } from '../packages/server/src/testing/load.ts'
import type { Memory } from '../packages/server/src/testing/memory-probe.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    clients: { type: 'string', default: '50' },
    agents: { type: 'string', default: '8' },
  },
})
// What a server may still take in after its first quarter: caches that have a limit fill up. Histories have none, and a
// server that keeps a little of everything that ever happened is over this in a minute.
const mostGrowth = { heapUsed: 4, external: 4, rss: 24 }
const mostResident = 220

const command =
  process.env.UNTURN_COMMAND ?? fileURLToPath(new URL('../packages/cli/dist/unturn.js', import.meta.url))
const base = mkdtempSync(join(tmpdir(), 'unturn-load-'))
const dir = join(base, 'project')
mkdirSync(dir)
mkdirSync(join(base, 'home'))
writeFileSync(join(dir, 'a.txt'), 'one\n')
const env = {
  PATH: process.env.PATH,
  HOME: join(base, 'home'),
  UNTURN_HOME: join(base, 'store'),
  GIT_CONFIG_NOSYSTEM: '1',
  UNTURN_AUTO_GC: '0',
}
execFileSync(process.execPath, [command, 'capture'], { cwd: dir, env, stdio: 'ignore' })

// A small heap, so that whatever is kept shows; the probe is asked after a full collection, so that nothing else does.
const server = spawn(
  process.execPath,
  [
    '--max-old-space-size=96',
    '--max-semi-space-size=2',
    '--expose-gc',
    '--import',
    new URL('../packages/server/src/testing/memory-probe.ts', import.meta.url).href,
    command,
    'serve',
  ],
  { cwd: dir, env, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
)
try {
  const { url, token } = await addressOf(server.stdout)
  const ms = Number(values.seconds) * 1_000
  const samples: Memory[] = []
  const sampling = setInterval(() => void ask().then((memory) => samples.push(memory)), ms / 40)
  const report = await load({
    unturn: new Unturn({ url, token }),
    workspace: readdirSync(join(base, 'store', 'workspaces'))[0] ?? '',
    dir,
    clients: Number(values.clients),
    agents: Number(values.agents),
    ms,
    onWorked: () => clearInterval(sampling),
  })
  const { problems, ...numbers } = report
  console.log({ ...numbers, ...memoryReport(samples) })
  const all = [...problems, ...growth(samples)]
  for (const problem of all.slice(0, 20)) console.error(problem)
  console.log(
    all.length === 0 ? 'No event and no change was lost; memory is flat.' : `${all.length} problems`,
  )
  process.exitCode = all.length === 0 ? 0 : 1
} finally {
  server.kill('SIGTERM')
  await new Promise((resolve) => server.once('close', resolve))
  rmSync(base, { recursive: true, force: true, maxRetries: 3 })
}

function ask(): Promise<Memory> {
  return new Promise((resolve) => {
    server.once('message', (memory) => resolve(memory as Memory))
    server.send('memory')
  })
}

function addressOf(output: Readable | null): Promise<{ readonly url: string; readonly token: string }> {
  return new Promise((resolve) => {
    let text = ''
    output?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const [, url, token] = /(http:\S+)\/#token=([\w-]+)/.exec(text) ?? []
      if (url !== undefined && token !== undefined) resolve({ url, token })
    })
  })
}

function memoryReport(samples: readonly Memory[]): Readonly<Record<string, string>> {
  const line = (key: keyof Memory) =>
    [0, 0.25, 0.5, 0.75, 1].map((part) => megabytes(around(samples, part, key)).toFixed(1)).join(' → ')
  return {
    'heap, MB': line('heapUsed'),
    'beside the heap, MB': line('external'),
    'resident, MB': line('rss'),
  }
}

/** Of three samples the one in the middle: a request may be under way in one of them. */
function around(samples: readonly Memory[], part: number, key: keyof Memory): number {
  const at = Math.max(0, Math.min(samples.length - 3, Math.round(samples.length * part) - 1))
  return (
    samples
      .slice(at, at + 3)
      .map((sample) => sample[key])
      .toSorted((a, b) => a - b)[1] ?? 0
  )
}

function megabytes(bytes: number): number {
  return bytes / 1024 / 1024
}

function growth(samples: readonly Memory[]): readonly string[] {
  if (samples.length < 12) return ['the run was too short to tell whether memory grows']
  const problems = Object.entries(mostGrowth).flatMap(([name, most]) => {
    const key = name as keyof Memory
    const [from, to] = [around(samples, 0.25, key), around(samples, 1, key)].map(megabytes)
    if (from === undefined || to === undefined || to - from <= most) return []
    return [
      `${name} grew from ${from.toFixed(1)} to ${to.toFixed(1)} MB between the first quarter and the end`,
    ]
  })
  const resident = megabytes(Math.max(...samples.map(({ rss }) => rss)))
  return resident > mostResident ? [...problems, `the server took ${resident.toFixed(0)} MB`] : problems
}
