/** The real agents that the tests run, and where they are installed: outside the repository, one folder each version. */

import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

export interface Pinned {
  readonly title: string
  readonly package: string
  /** Known from recorded runs. When it is raised, the fixtures are recorded again. */
  readonly version: string
  readonly program: string
}

export const pinned = {
  'claude-code': {
    title: 'Claude Code',
    package: '@anthropic-ai/claude-code',
    version: '2.1.325',
    program: 'claude',
  },
  codex: { title: 'Codex', package: '@openai/codex', version: '0.166.0', program: 'codex' },
  opencode: { title: 'OpenCode', package: 'opencode-ai', version: '1.18.18', program: 'opencode' },
  'gemini-cli': {
    title: 'Gemini CLI',
    package: '@google/gemini-cli',
    version: '0.61.0',
    program: 'gemini',
  },
} as const satisfies Readonly<Record<string, Pinned>>

export type PinnedAgent = keyof typeof pinned

export const pinnedAgents = Object.keys(pinned) as readonly PinnedAgent[]

function cacheFolder(): string {
  const { UNTURN_AGENTS_CACHE, XDG_CACHE_HOME } = process.env
  return UNTURN_AGENTS_CACHE || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'unturn-agents')
}

function folderOf({ program, version }: Pinned): string {
  return join(cacheFolder(), `${program}-${version}`)
}

/** The folder with the agent's program; undefined: it is not installed. */
export function findProgramFolder(agent: PinnedAgent): string | undefined {
  const folder = join(folderOf(pinned[agent]), 'node_modules', '.bin')
  return existsSync(join(folder, pinned[agent].program)) ? folder : undefined
}

/** Installs it, unless it is there. What it says is why that was not possible. */
export async function install(agent: PinnedAgent, withinMs: number): Promise<string | undefined> {
  if (findProgramFolder(agent) !== undefined) return undefined
  if (withinMs <= 0) return 'there was no time left to install it'
  const { package: name, version, program } = pinned[agent]
  clearLeftovers(program)
  const part = `${folderOf(pinned[agent])}.part-${process.pid}`
  mkdirSync(part, { recursive: true })
  writeFileSync(join(part, 'package.json'), '{ "private": true }\n')
  try {
    const args = ['install', '--prefix', part, '--no-audit', '--no-fund', '--loglevel', 'error']
    const failure = await run('npm', [...args, `${name}@${version}`], part, withinMs)
    if (failure !== undefined) return failure
    const works = await run(join(part, 'node_modules/.bin', program), ['--version'], part, 60_000)
    if (works !== undefined) return `it does not start here: ${works}`
    renameSync(part, folderOf(pinned[agent])) // whole or not at all: the next run must not find half an agent
    return undefined
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
}

// Of an installation that was killed; they are hundreds of megabytes.
function clearLeftovers(program: string): void {
  if (!existsSync(cacheFolder())) return
  for (const name of readdirSync(cacheFolder()))
    if (name.startsWith(`${program}-`) && name.includes('.part-'))
      rmSync(join(cacheFolder(), name), { recursive: true, force: true })
}

function run(
  program: string,
  args: readonly string[],
  cwd: string,
  withinMs: number,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    let said = ''
    const child = spawn(program, args, {
      cwd,
      env: withoutNpmRun(process.env),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const timer = setTimeout(() => {
      said = `it took longer than ${Math.round(withinMs / 1_000)} s`
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    }, withinMs)
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
    child.on('error', (error) => resolve(error.message))
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve(code === 0 ? undefined : lastLine(said) || `${program} ended with ${code}`)
    })
  })
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.slice(0, 300) ?? ''
}

// `npm run` tells its child where the repository is, and an npm in there would install into it.
function withoutNpmRun(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => !/^npm_(package|lifecycle|command|execpath|config_local_prefix)/.test(name),
    ),
  )
}
