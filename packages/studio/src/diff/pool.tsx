/** Highlighting happens in workers: on the page's own thread a diff of 50,000 lines would hang it. */

import './adopted-style.ts'
import { registerCustomTheme } from '@pierre/diffs'
import { WorkerPoolContext } from '@pierre/diffs/react'
import { getOrCreateWorkerPoolSingleton } from '@pierre/diffs/worker'
import DiffWorker from '@pierre/diffs/worker/worker.js?worker'
import type { ReactNode } from 'react'
import { themeOf, themes } from './themes.ts'

for (const type of ['light', 'dark'] as const) registerCustomTheme(themes[type], async () => themeOf(type))

const poolOptions = {
  workerFactory: () => new DiffWorker(),
  poolSize: Math.max(1, Math.min(3, navigator.hardwareConcurrency - 1)),
}
const highlighterOptions = { theme: themes, lineDiffType: 'word-alt', maxLineDiffLength: 2_000 } as const

/** One pool for the life of the page: ended with each view, it would start anew with the next one. */
export function DiffPool({ children }: { readonly children: ReactNode }) {
  const pool = getOrCreateWorkerPoolSingleton({ poolOptions, highlighterOptions })
  return <WorkerPoolContext.Provider value={pool}>{children}</WorkerPoolContext.Provider>
}
