/**
 * The load test: 50 clients on the events of one workspace, 8 agents writing turns at once, for a minute, against the
 * built command. Fails where an event or a change is lost, or the memory of the server grows.
 *
 *   npm run load            npm run load -- --seconds 10 --clients 20 --agents 4
 */

import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Unturn } from '../packages/client/src/index.ts'
import { load } from '../packages/server/src/testing/load.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    clients: { type: 'string', default: '50' },
    agents: { type: 'string', default: '8' },
  },
})
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

// With gigabytes to spare Node lets garbage lie, and its size says nothing. In a small heap whatever is kept shows.
const smallHeap = ['--max-old-space-size=96', '--max-semi-space-size=2']
const server = spawn(process.execPath, [...smallHeap, command, 'serve'], {
  cwd: dir,
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const { url, token } = await addressOf(server.stdout)
  const memory: number[] = []
  const sampling = setInterval(() => memory.push(megabytesOf(server.pid ?? 0)), 1_000)
  const report = await load({
    unturn: new Unturn({ url, token }),
    workspace: readdirSync(join(base, 'store', 'workspaces'))[0] ?? '',
    dir,
    clients: Number(values.clients),
    agents: Number(values.agents),
    ms: Number(values.seconds) * 1_000,
  })
  clearInterval(sampling)
  const { problems, ...numbers } = report
  console.log({ ...numbers, memory: memoryReport(memory) })
  const all = [...problems, ...growth(memory)]
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

function addressOf(output: NodeJS.ReadableStream): Promise<{ readonly url: string; readonly token: string }> {
  return new Promise((resolve) => {
    let text = ''
    output.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const [, url, token] = /(http:\S+)\/#token=([\w-]+)/.exec(text) ?? []
      if (url !== undefined && token !== undefined) resolve({ url, token })
    })
  })
}

function megabytesOf(pid: number): number {
  if (!existsSync('/proc')) return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) / 1024
  const [, kilobytes = '0'] =
    /VmRSS:\s+(\d+)/.exec(execFileSync('cat', [`/proc/${pid}/status`], { encoding: 'utf8' })) ?? []
  return Number(kilobytes) / 1024
}

function memoryReport(memory: readonly number[]): string {
  const at = (part: number) =>
    memory[Math.min(memory.length - 1, Math.floor(memory.length * part))]?.toFixed(0)
  return `${at(0.1)} MB at the beginning, ${at(0.5)} in the middle, ${at(1)} at the end, ${Math.max(...memory).toFixed(0)} at most`
}

// A heap breathes. What counts is whether the second half of the run needs more than the first, after the start.
function growth(memory: readonly number[]): readonly string[] {
  if (memory.length < 20) return []
  const mean = (part: readonly number[]) => part.reduce((sum, one) => sum + one, 0) / part.length
  const third = Math.floor(memory.length / 3)
  const [middle, last] = [mean(memory.slice(third, 2 * third)), mean(memory.slice(2 * third))]
  return last > middle * 1.25 + 10
    ? [`the server's memory grew from ${middle.toFixed(0)} to ${last.toFixed(0)} MB`]
    : []
}
