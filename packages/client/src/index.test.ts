import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

test('[V127] the client imports nothing at run time, and is small', async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL('index.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    packages: 'external',
    metafile: true,
    outdir: '/out',
  })
  const output = Object.values(metafile.outputs)[0]
  expect(output?.imports).toEqual([])
  const text = outputFiles[0]?.text ?? ''
  expect(text).not.toMatch(/\b(process|Buffer|require|__dirname)\b/)
  expect(text.length).toBeLessThan(20_000)
})
