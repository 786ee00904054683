import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'
import { fitDiffs } from './build/fit-diffs.ts'

/** Everything comes from our own server, as files: its policy allows neither inline scripts nor inline style sheets. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  resolve: {
    alias: { '@unturn/client': fileURLToPath(new URL('../client/src/index.ts', import.meta.url)) },
  },
  esbuild: { jsx: 'automatic', legalComments: 'none' },
  plugins: [fitDiffs('page')],
  worker: { format: 'es', plugins: () => [fitDiffs('worker')] },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 4_000,
  },
  logLevel: 'warn',
})
