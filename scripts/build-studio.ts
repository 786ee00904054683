/** Builds the page, unless what it is made of is the same as last time: the tests of the command line build, too. */

import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'

const sources = ['packages/studio', 'packages/client/src', 'scripts/build-studio.ts']
const libraries = ['@pierre/diffs', 'react', 'react-dom', 'vite']

/** Into packages/studio/dist, and beside the command, where it looks for the page once it is installed. */
export async function buildStudio(root: string, besideCommand: string): Promise<void> {
  const dist = join(root, 'packages/studio/dist')
  const stamp = stampOf(root)
  if (!isBuilt(dist, stamp)) await build(root, dist, stamp)
  mkdirSync(besideCommand, { recursive: true })
  cpSync(dist, besideCommand, { recursive: true })
}

function isBuilt(dist: string, stamp: string): boolean {
  const path = join(dist, 'stamp')
  return existsSync(path) && readFileSync(path, 'utf8') === stamp
}

async function build(root: string, dist: string, stamp: string): Promise<void> {
  const { build } = await import('vite')
  const fresh = `${dist}.new`
  rmSync(fresh, { recursive: true, force: true })
  await build({
    configFile: join(root, 'packages/studio/vite.config.ts'),
    build: { outDir: fresh, emptyOutDir: true },
  })
  writeFileSync(join(fresh, 'stamp'), stamp)
  // A server that runs meanwhile serves the old page or the new one, never half of each.
  rmSync(dist, { recursive: true, force: true })
  renameSync(fresh, dist)
}

function stampOf(root: string): string {
  const hash = createHash('sha256')
  for (const path of sources.flatMap((source) => filesBelow(join(root, source)))) {
    hash.update(`${relative(root, path)}\0`)
    hash.update(readFileSync(path))
  }
  for (const library of libraries) hash.update(versionOf(root, library))
  return hash.digest('hex')
}

function versionOf(root: string, library: string): string {
  const path = join(root, 'node_modules', library, 'package.json')
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
}

function filesBelow(path: string): readonly string[] {
  if (path.endsWith('.ts')) return [path]
  return readdirSync(path, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const below = join(path, entry.name)
      if (entry.isDirectory())
        return /^(dist(\.new)?|node_modules)$/.test(entry.name) ? [] : filesBelow(below)
      return /\.(md|test\.ts)$/.test(entry.name) ? [] : [below]
    })
}
