/** Changes in groups. Nothing is added up: a group shows what the server has listed, in its order. */

import type { Change } from '@unturn/client'
import type { Preferences } from './preferences.ts'

export type By = Preferences['groupBy']

export type GroupRow =
  | { readonly kind: 'group'; readonly key: string; readonly by: By; readonly first: Change }
  | { readonly kind: 'change'; readonly key: string; readonly by: By; readonly change: Change }

export function groupsOf(changes: readonly Change[], by: By): readonly GroupRow[] {
  const row = (change: Change): GroupRow => ({ kind: 'change', key: change.id, by, change })
  if (by === 'none') return changes.map(row)
  return [...Map.groupBy(changes, (change) => keyOf(change, by))].flatMap(([key, group]) => {
    const first = group[0]
    if (first === undefined) return []
    return [{ kind: 'group' as const, key: `group ${key}`, by, first }, ...group.map(row)]
  })
}

function keyOf(change: Change, by: By): string {
  switch (by) {
    case 'file':
      return change.path
    case 'agent':
      return change.actor
    case 'turn':
      return change.turn ?? change.actor
    default:
      return new Date(change.at).toDateString()
  }
}
