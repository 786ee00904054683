/** What the tests of the agents share: recordings, and a project with a home of its own. */

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findWorkspace, type Workspace } from '@unturn/core'
import type { AgentName, Environment } from '../events.ts'

/** The folder that stands in the recordings. */
export const recordedProject = '/home/dev/project'

function fixtureFolder(agent: AgentName): string {
  return fileURLToPath(new URL(`../${agent}/fixtures/`, import.meta.url))
}

export function fixture(agent: AgentName, name: string): unknown {
  return JSON.parse(readFileSync(join(fixtureFolder(agent), `${name}.json`), 'utf8'))
}

export function fixtureNames(agent: AgentName): readonly string[] {
  return readdirSync(fixtureFolder(agent))
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
}

/** A whole recording, moved into another project folder. */
export function recording(agent: AgentName, project: string): readonly unknown[] {
  return readFileSync(join(fixtureFolder(agent), 'session.jsonl'), 'utf8')
    .replaceAll(recordedProject, project)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
}

export type Files = Readonly<Record<string, string | null>>

export class Place implements AsyncDisposable {
  readonly base = mkdtempSync(join(tmpdir(), 'unturn-agents-'))
  readonly dir = join(this.base, 'project')
  readonly env: Environment = {
    PATH: process.env.PATH,
    HOME: join(this.base, 'home'),
    UNTURN_HOME: join(this.base, 'store'),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    TZ: 'UTC',
    LC_ALL: 'C',
  }
  readonly desk = join(this.base, 'store', 'agents')
  readonly #opened: Workspace[] = []

  constructor(files: Files = {}) {
    mkdirSync(join(this.base, 'home'))
    mkdirSync(this.dir)
    this.write(files)
  }

  write(files: Files, folder = this.dir): void {
    for (const [name, content] of Object.entries(files)) {
      const path = join(folder, name)
      mkdirSync(dirname(path), { recursive: true })
      if (content === null) rmSync(path, { force: true })
      else writeFileSync(path, content)
    }
  }

  read(name: string, folder = this.dir): string | undefined {
    try {
      return readFileSync(join(folder, name), 'utf8')
    } catch {
      return undefined
    }
  }

  /** Every file with its text. */
  files(folder = this.dir): Record<string, string> {
    const found = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.includes('/.git'))
      .map((entry) => join(entry.parentPath, entry.name))
    return Object.fromEntries(
      found.sort().map((path) => [relative(folder, path), readFileSync(path, 'utf8')]),
    )
  }

  shell(command: string, cwd = this.dir): void {
    try {
      execFileSync('sh', ['-c', command], { cwd, stdio: 'ignore', env: this.env })
    } catch {
      // a command that fails has often written before
    }
  }

  git(folder: string, ...args: string[]): void {
    const names = ['-c', 'user.name=u', '-c', 'user.email=u@example.org', '-c', 'init.defaultBranch=main']
    execFileSync('git', [...names, ...args], { cwd: folder, env: this.env, stdio: 'ignore' })
  }

  /** A fresh look at what was recorded. */
  async workspace(folder = this.dir): Promise<Workspace> {
    const workspace = await findWorkspace(folder, { env: this.env })
    if (workspace === undefined) throw new Error(`nothing was recorded in ${folder}`)
    this.#opened.push(workspace)
    return workspace
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const workspace of this.#opened) await workspace[Symbol.asyncDispose]()
    rmSync(this.base, { recursive: true, force: true, maxRetries: 3 })
  }
}
