/** The real editor that the tests drive, and where it is installed: outside the repository, one folder each version. */

import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { node } from '../support.ts'

/** VS Code 1.139 with a real extension host, in a browser. */
export const version = '4.139.1'

function cacheFolder(): string {
  const { UNTURN_VSCODE_CACHE, XDG_CACHE_HOME } = process.env
  return UNTURN_VSCODE_CACHE || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'unturn-vscode')
}

const folder = () => join(cacheFolder(), `code-server-${version}`)
const programIn = (place: string) => join(place, 'node_modules/code-server/out/node/entry.js')

/** Undefined: it is not installed. `UNTURN_EDITOR` names the entry of another code-server, to try an older editor. */
export function findEditor(): string | undefined {
  const named = process.env.UNTURN_EDITOR
  if (named !== undefined) return named
  return existsSync(programIn(folder())) ? programIn(folder()) : undefined
}

/** Installs it, unless it is there. What it says is why that was not possible. */
export async function installEditor(withinMs: number): Promise<string | undefined> {
  if (findEditor() !== undefined) return undefined
  if (withinMs <= 0) return 'there was no time left to install it'
  clearLeftovers()
  const until = Date.now() + withinMs
  const part = `${folder()}.part-${process.pid}`
  mkdirSync(part, { recursive: true })
  writeFileSync(join(part, 'package.json'), '{ "private": true }\n')
  try {
    const editor = join(part, 'node_modules/code-server/lib/vscode')
    // No scripts: they would compile what nothing here needs. So each level is installed by itself.
    const failure =
      (await npm(part, ['--no-package-lock', `code-server@${version}`], until)) ??
      (await npm(editor, ['--omit=dev'], until)) ??
      (await npm(join(editor, 'extensions'), ['--omit=dev'], until))
    if (failure !== undefined) return failure
    symlinkSync('node_modules', join(editor, 'node_modules.asar'), 'junction')
    const works = await run(
      node,
      [programIn(part), '--config', join(part, 'config'), '--version'],
      part,
      60_000,
    )
    if (works !== undefined) return `it does not start here: ${works}`
    renameSync(part, folder()) // whole or not at all: the next run must not find half an editor
    return undefined
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
}

// Of an installation that was killed; they are hundreds of megabytes.
function clearLeftovers(): void {
  if (!existsSync(cacheFolder())) return
  for (const name of readdirSync(cacheFolder()))
    if (name.includes('.part-')) rmSync(join(cacheFolder(), name), { recursive: true, force: true })
}

function npm(cwd: string, args: readonly string[], until: number): Promise<string | undefined> {
  const usual = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error']
  return run('npm', [...usual, ...args], cwd, until - Date.now())
}

function run(
  program: string,
  args: readonly string[],
  cwd: string,
  withinMs: number,
): Promise<string | undefined> {
  if (withinMs <= 0) return Promise.resolve('there was no time left to install it')
  return new Promise((resolve) => {
    let said = ''
    const child = spawn(program, args, {
      cwd,
      env: installingEnv(process.env),
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
      resolve(code === 0 ? undefined : reasonIn(said) || `${program} ended with ${code}`)
    })
  })
}

/** The line that says why; npm's last one says only where its log is. */
function reasonIn(text: string): string {
  const lines = text
    .trim()
    .split('\n')
    .filter((line) => !line.includes('complete log of this run'))
  return (lines.find((line) => /reason|failed|ENOSPC| 40\d /.test(line)) ?? lines.at(-1) ?? '').slice(0, 300)
}

// `npm run` tells its child where the repository is, and an npm in there would install into it. The editor's own
// packages ask for the Node that they will run with.
function installingEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(
    ([name]) => !/^npm_(package|lifecycle|command|execpath|config_local_prefix)/.test(name),
  )
  return { ...Object.fromEntries(kept), PATH: `${dirname(node)}${delimiter}${env.PATH ?? ''}` }
}
