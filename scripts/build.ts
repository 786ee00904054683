/** Builds what is published: one bundle for the command, one for the library, the library's types, and the page. */

import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import { buildStudio } from './build-studio.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const cli = join(root, 'packages/cli')
const core = join(root, 'packages/core')
const version = (JSON.parse(readFileSync(join(cli, 'package.json'), 'utf8')) as { version: string }).version

const common: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node22.13',
  logLevel: 'warning',
  alias: {
    '@unturn/core': join(core, 'src/index.ts'),
    '@unturn/agents': join(root, 'packages/agents/src/index.ts'),
    '@unturn/server/ask': join(root, 'packages/server/src/ask.ts'),
    '@unturn/server/whereabouts': join(root, 'packages/server/src/whereabouts.ts'),
    '@unturn/server': join(root, 'packages/server/src/index.ts'),
  },
  // Native, and of every platform its own: it is installed beside the command, or not at all.
  external: ['@parcel/watcher'],
  define: { UNTURN_VERSION: JSON.stringify(version) },
}

// Importing a module of Node's runs all of it, and the import itself asks `node:fs` for its streams: a fifth of what
// `status` takes. Here each is loaded when something of it is first called, and those that are there anyway are not imported.
const loadedWhenUsed: Plugin = {
  name: 'loaded-when-used',
  setup({ onResolve, onLoad }) {
    // What others wrote extends classes of Node's, and asks what is an instance of them. Only the server loads it.
    onResolve({ filter: /^node:/ }, ({ path, importer }) =>
      importer.includes('node_modules') ? { path, external: true } : { path, namespace: 'node' },
    )
    onLoad({ filter: /.*/, namespace: 'node' }, ({ path }) => ({ contents: moduleOfNode(path) }))
  },
}

const loadedAnyway = new Set(['node:fs', 'node:os', 'node:path', 'node:url'])

function moduleOfNode(path: string): string {
  const exported = process.getBuiltinModule(path) as unknown as Readonly<Record<string, unknown>>
  const names = Object.getOwnPropertyNames(exported).filter((name) => name !== 'default')
  const isCalled = (name: string) => !loadedAnyway.has(path) && isFunction(exported, name)
  return [
    `const load = () => process.getBuiltinModule('${path}')`,
    'const pick = (name) => load()[name]',
    ...names.map((name) =>
      isCalled(name)
        ? `export function ${name}(...args) { return ${/^[A-Z]/.test(name) ? 'new ' : ''}(load().${name})(...args) }`
        : `export const ${name} = /* @__PURE__ */ pick('${name}')`,
    ),
  ].join('\n')
}

function isFunction(exported: Readonly<Record<string, unknown>>, name: string): boolean {
  return typeof Object.getOwnPropertyDescriptor(exported, name)?.value === 'function'
}

for (const folder of [join(cli, 'dist'), join(core, 'dist')]) rmSync(folder, { recursive: true, force: true })

/**
 * A command takes the engine whole. Each would otherwise get just the parts that it needs, in as many small files as
 * there are different needs, and to find and link a file takes Node longer than to read one that is larger.
 */
const engineInOnePiece: Plugin = {
  name: 'engine-in-one-piece',
  setup({ onResolve }) {
    onResolve({ filter: /^@unturn\/core$/ }, () => ({ path: './core.js', external: true }))
  },
}
const { '@unturn/core': _, ...besideCore } = common.alias ?? {}

/** Hooks run with every tool call of an agent, and load only what they need: a bundle of their own, beside the other. */
const hookApart: Plugin = {
  name: 'hook-apart',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/hook\.ts$/ }, ({ importer }) =>
      importer.endsWith('main.ts') ? { path: './hook.js', external: true } : undefined,
    )
  },
}

// The scanner's second thread finds its file beside the others.
const small = { ...common, outdir: join(cli, 'dist'), minifySyntax: true, minifyWhitespace: true }
await build({
  ...small,
  entryPoints: { 'scan-worker': join(core, 'src/workspace/scan-worker.ts') },
  plugins: [loadedWhenUsed],
})
await build({
  ...small,
  entryPoints: { core: join(core, 'src/index.ts') },
  chunkNames: 'core-[name]-[hash]',
  splitting: true,
  plugins: [loadedWhenUsed],
})
// Split, so that a command loads only what it needs.
await build({
  ...small,
  alias: besideCore,
  entryPoints: { unturn: join(cli, 'src/main.ts') },
  splitting: true,
  plugins: [hookApart, engineInOnePiece, loadedWhenUsed],
})
await build({
  ...small,
  entryPoints: { hook: join(cli, 'src/hook.ts') },
  chunkNames: 'hook-[name]-[hash]',
  splitting: true,
  plugins: [loadedWhenUsed],
})
chmodSync(join(cli, 'dist/unturn.js'), 0o755)
// Windows has no pipes with names in its file system, and starts Node.
copyFileSync(join(cli, 'src/unturn-hook.sh'), join(cli, 'dist/unturn-hook.sh'))

// Each with what it needs: a thread that loads the engine's parts as well starts a fifth later.
for (const entryPoints of [
  { index: join(core, 'src/index.ts') },
  { 'scan-worker': join(core, 'src/workspace/scan-worker.ts') },
])
  await build({ ...common, entryPoints, outdir: join(core, 'dist'), splitting: true })
const tsc = join(createRequire(import.meta.url).resolve('typescript/package.json'), '../bin/tsc')
execFileSync(process.execPath, [tsc, '-p', join(core, 'tsconfig.json')], { stdio: 'inherit' })

await buildStudio(root, join(cli, 'dist/studio'))
