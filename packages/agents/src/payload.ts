/** Looking into what an agent sent. Data is `unknown` until one of these has looked at it. */

import { createHash } from 'node:crypto'

export type Fields = Readonly<Record<string, unknown>>

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

/** A text that is there and not empty. */
export function text(fields: Fields, key: string): string | undefined {
  const value = fields[key]
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function texts(fields: Fields, ...keys: readonly string[]): readonly string[] {
  return keys.flatMap((key) => text(fields, key) ?? [])
}

export function list(fields: Fields, key: string): readonly unknown[] {
  const value = fields[key]
  return Array.isArray(value) ? value : []
}

/** A text that is there, though it may be empty. */
export function anyText(fields: Fields, key: string): string | undefined {
  const value = fields[key]
  return typeof value === 'string' ? value : undefined
}

/** A field, where there is a value for it: an absent field is not the same as an undefined one. */
export function optional<Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): { readonly [K in Key]?: Value } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [K in Key]?: Value }
}

/** An object, also where it comes as JSON in a text: one agent's documentation has it both ways. */
export function objectOrJson(value: unknown): Fields {
  if (typeof value !== 'string') return fieldsOf(value)
  try {
    return fieldsOf(JSON.parse(value))
  } catch {
    return {}
  }
}

/** Short, and the same for the same value; the order of keys does not matter. */
export function likenessOf(value: unknown): string {
  return createHash('sha256').update(sorted(value)).digest('hex').slice(0, 16)
}

function sorted(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? ''
  )
}

export function processId(value: string | number | undefined): number | undefined {
  const pid = typeof value === 'number' ? value : value === undefined ? Number.NaN : Number(value)
  return Number.isInteger(pid) && pid > 1 && pid < 2 ** 31 ? pid : undefined
}
