/** What the store says when bytes are missing or not what they should be. */

import { UnturnError } from '../errors.ts'

export function storeDamaged(what: string, id?: string, cause?: unknown): UnturnError<'store-damaged'> {
  const text = {
    message: `The store is damaged: ${what}. Nothing was changed because of it.`,
    hint: 'Run "unturn doctor" to see what else is affected.',
  }
  return new UnturnError('store-damaged', id === undefined ? { what } : { what, id }, withCause(text, cause))
}

/** A caller of ours broke a rule; no state of the disk leads here. */
export function internalError(
  message: string,
  data: { readonly [key: string]: unknown } = {},
): UnturnError<'internal'> {
  return new UnturnError('internal', data, {
    message: `${message} Nothing was changed because of it.`,
    hint: 'This is a fault in Unturn itself: please report it.',
  })
}

function withCause<Text extends object>(text: Text, cause: unknown): Text | (Text & { cause: unknown }) {
  return cause === undefined ? text : { ...text, cause }
}
