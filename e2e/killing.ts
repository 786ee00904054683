/** What the tests of kill -9 share: a project that is put back, the command killed at a change of the disk, what it left. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Files, Project, type Ran } from './support.ts'

const soak = process.env.UNTURN_SOAK !== undefined
const killAt = fileURLToPath(new URL('kill-at.ts', import.meta.url))

/** A project in a state that is put back before every kill. */
export class Kept implements Disposable {
  readonly project: Project
  readonly #copy = mkdtempSync(join(tmpdir(), 'unturn-kept-'))

  constructor(files: Files) {
    this.project = new Project(files)
  }

  keep(): void {
    execFileSync('cp', ['-a', `${this.project.base}/.`, this.#copy])
  }

  putBack(): void {
    for (const name of ['store', 'project']) {
      rmSync(join(this.project.base, name), { recursive: true, force: true })
      execFileSync('cp', ['-a', join(this.#copy, name), this.project.base])
    }
  }

  [Symbol.dispose](): void {
    this.project[Symbol.dispose]()
    rmSync(this.#copy, { recursive: true, force: true })
  }
}

export function killed(project: Project, args: readonly string[], at: number): Ran {
  return project.unturn(args, {
    env: { NODE_OPTIONS: `--import ${killAt}`, NODE_NO_WARNINGS: '1', KILL_AT: `${at}` },
  })
}

/** How often the command changes the disk when nobody kills it. */
export function changesOf(project: Project, args: readonly string[]): number {
  const ran = killed(project, args, 0)
  if (ran.code !== 0) throw new Error(ran.stdout + ran.stderr)
  return Number(/changes of the disk: (\d+)/.exec(ran.stderr)?.[1])
}

/** The first few, the last few, and some in between, where most of the work is the same again and again. */
export function points(total: number, between: number): readonly number[] {
  if (soak) return Array.from({ length: total }, (_, at) => at + 1)
  const spread = Array.from({ length: between }, (_, at) => Math.round(((at + 0.5) * total) / between))
  return [...new Set([2, ...spread, total - 6, total - 2, total])].filter((at) => at >= 1 && at <= total)
}

export function leftovers(project: Project): readonly string[] {
  const inProject = Object.keys(project.files()).filter((path) => path.includes('.unturn'))
  const inStore = ['journal', 'staging', 'scratch', 'objects.git', 'objects.git/objects/pack'].flatMap(
    (folder) =>
      readdirSync(join(project.store, folder))
        .filter((name) =>
          ['journal', 'staging', 'scratch'].includes(folder)
            ? !name.startsWith('spare-') // kept on purpose, to be used again
            : name.startsWith('tmp'),
        )
        .map((name) => `${folder}/${name}`),
  )
  return [...inProject, ...inStore]
}
