/** Times as people type them: ISO 8601, or how long ago (`10m`, `2h`, `3d`). */

import { UsageError } from './args.ts'

const unitsMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

export function parseTime(typed: string, nowMs: number): number {
  const relative = /^(\d{1,9})([smhdw])$/.exec(typed)
  if (relative !== null) return nowMs - Number(relative[1]) * (unitsMs[relative[2] ?? ''] ?? 0)
  const isIso = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(
    typed,
  )
  const clock = /^\d{1,2}:\d{2}(?::\d{2})?$/.test(typed)
    ? `${new Date(nowMs).toDateString()} ${typed}`
    : undefined
  const ms = isIso ? Date.parse(typed) : clock === undefined ? Number.NaN : Date.parse(clock)
  if (Number.isNaN(ms))
    throw new UsageError(`${JSON.stringify(typed)} is no time; write 2026-01-31T10:00, 10:00, or 10m, 2h, 3d`)
  return ms
}
