/** What an edit tool says that it did to a file, where its input has the text before and after. */

import type { Wrote } from './events.ts'
import { anyText, type Fields, fieldsOf, list } from './payload.ts'

/** The words that most agents have for it; those of others are given. */
export interface EditWords {
  readonly was: string
  readonly is: string
  readonly whole: string
  readonly everywhere: string
}

export const snakeWords: EditWords = {
  was: 'old_string',
  is: 'new_string',
  whole: 'content',
  everywhere: 'replace_all',
}

export const camelWords: EditWords = {
  was: 'oldString',
  is: 'newString',
  whole: 'content',
  everywhere: 'replaceAll',
}

export function wroteIn(path: string | undefined, input: Fields, words: EditWords): readonly Wrote[] {
  if (path === undefined) return []
  const whole = anyText(input, words.whole)
  if (whole !== undefined) return [{ path, whole }]
  const edits = [input, ...list(input, 'edits').map(fieldsOf)].filter((edit) => words.is in edit)
  // Of many places one cannot tell which were ours.
  if (edits.some((edit) => edit[words.everywhere] === true)) return []
  const places = edits.map((edit) => ({
    was: anyText(edit, words.was) ?? '',
    is: anyText(edit, words.is) ?? '',
  }))
  return places.length === 0 ? [] : [{ path, places }]
}
