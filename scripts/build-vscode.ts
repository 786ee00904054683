/** Bundles the extension into one file. Others need it elsewhere: packaging, tests. */

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const packages = fileURLToPath(new URL('../packages', import.meta.url))

export async function buildExtension(outfile = join(packages, 'vscode/dist/extension.cjs')): Promise<string> {
  await build({
    entryPoints: [join(packages, 'vscode/src/extension.ts')],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'cjs',
    // The Node of the oldest editor that the manifest allows.
    target: 'node20.18',
    external: ['vscode'],
    alias: {
      '@unturn/client': join(packages, 'client/src/index.ts'),
      '@unturn/core/text': join(packages, 'core/src/text.ts'),
    },
    logLevel: 'warning',
  })
  return outfile
}

if (import.meta.main) console.log(await buildExtension())
