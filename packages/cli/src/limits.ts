/** Limits as people type them: how many, how old (`12h`, `30d`), how large (`500M`, `2GiB`). */

import { UsageError } from './args.ts'

const agesMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

export function parseAge(typed: string): number {
  const [, count, unit = ''] = /^(\d{1,9})([smhdw])$/.exec(typed) ?? []
  if (count === undefined) throw new UsageError(`${JSON.stringify(typed)} is no age; write 12h, 30d or 8w`)
  return Number(count) * (agesMs[unit] ?? 0)
}

const powers: Readonly<Record<string, number>> = { '': 0, k: 1, m: 2, g: 3, t: 4 }

export function parseSize(typed: string): number {
  const [, count, unit = ''] = /^(\d{1,12}(?:\.\d{1,3})?) ?([kmgt]?)(?:i?b)?$/i.exec(typed) ?? []
  if (count === undefined) throw new UsageError(`${JSON.stringify(typed)} is no size; write 500M or 2GiB`)
  return Math.round(Number(count) * 1024 ** (powers[unit.toLowerCase()] ?? 0))
}

export function parseNumber(typed: string, option: string): number {
  if (!/^\d{1,9}$/.test(typed))
    throw new UsageError(`--${option} takes a number, not ${JSON.stringify(typed)}`)
  return Number(typed)
}
