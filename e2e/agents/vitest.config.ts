/** One project for each agent: the same tests, each with another one of them. */

import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { pinnedAgents } from './pinned.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const wanted = process.env.UNTURN_TEST_AGENTS?.split(',')

export default defineConfig({
  root,
  test: {
    pool: 'forks',
    maxWorkers: 2,
    projects: pinnedAgents
      .filter((agent) => wanted === undefined || wanted.includes(agent))
      .map((agent) => ({
        root,
        test: {
          name: agent,
          include: ['e2e/agents/*.test.ts'],
          env: { UNTURN_TEST_AGENT: agent },
          testTimeout: 240_000,
          // A hook has a budget: on a busy machine it may be told late, which is judged with more care. And the agents
          // themselves are not always as quick as they say.
          retry: 1,
          hookTimeout: 60_000,
        },
      })),
  },
})
