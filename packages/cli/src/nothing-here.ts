/** What is told in a folder without a history: perhaps it was moved, and the history is where the folder was. */

import { basename } from 'node:path'
import { lostWorkspaces, shown, textOfBytes, workspaceAt } from '@unturn/core'
import type { Context } from './command.ts'

const most = 3

export function nothingHere(context: Context, next?: string): readonly string[] {
  const nothing = 'Nothing has been captured here yet.'
  return [next === undefined ? nothing : `${nothing} ${next}`, ...lostLines(context)]
}

/** Those of the same name alone, if there are any: the others were moved elsewhere, or deleted. */
function lostLines(context: Context): readonly string[] {
  const lost = lostWorkspaces()
  if (lost.length === 0) return []
  const { root: here } = workspaceAt(context.folder, { explicit: context.args.has('C') })
  const alike = lost.filter(({ root }) => basename(textOfBytes(root)) === basename(textOfBytes(here)))
  const newestFirst = (alike.length > 0 ? alike : lost).toSorted((a, b) => b.createdMs - a.createdMs)
  return newestFirst
    .slice(0, most)
    .map(({ root }) => `If this folder was ${shown(root)} before: unturn store --adopt ${shown(root)}`)
}
