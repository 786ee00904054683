/** Each file starts an editor and a browser: one after the other, since the machine has to carry them all. */

import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  resolve: {
    alias: {
      '@unturn/core': fileURLToPath(new URL('../../packages/core/src/index.ts', import.meta.url)),
    },
  },
  test: {
    include: ['e2e/vscode/*.test.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 120_000,
    // A click may fall on what the editor is just drawing anew.
    retry: 1,
    hookTimeout: 90_000,
  },
})
