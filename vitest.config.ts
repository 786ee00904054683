import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: {
    alias: {
      '@unturn/core/text': fileURLToPath(new URL('packages/core/src/text.ts', import.meta.url)),
      '@unturn/core': fileURLToPath(new URL('packages/core/src/index.ts', import.meta.url)),
      '@unturn/client': fileURLToPath(new URL('packages/client/src/index.ts', import.meta.url)),
      '@unturn/server': fileURLToPath(new URL('packages/server/src/index.ts', import.meta.url)),
      '@unturn/agents': fileURLToPath(new URL('packages/agents/src/index.ts', import.meta.url)),
    },
  },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'e2e/**/*.test.ts', 'scripts/**/*.test.ts'],
    // Real agents and a real editor take minutes, and must be installed first: npm run test:agents, npm run test:vscode
    exclude: ['**/node_modules/**', 'e2e/agents/**', 'e2e/vscode/**'],
    pool: 'forks',
    maxWorkers: 2,
    // The long fault runs (`npm run soak`) take as long as they take.
    testTimeout: process.env.UNTURN_SOAK === undefined ? 60_000 : 3_600_000,
    hookTimeout: 60_000,
  },
})
