/** The rows of the timeline: sessions, their turns newest first, the user's edits between them, and steps of open turns. */

import type { Session, Step, UserEdit } from '@unturn/client'
import { type Drawn, Graph } from './graph.ts'
import type { Known, TreeTurn } from './tree.ts'

export type Row =
  | { readonly kind: 'session'; readonly key: string; readonly session: Session; readonly isOpen: boolean }
  | {
      readonly kind: 'turn'
      readonly key: string
      readonly turn: TreeTurn
      readonly drawn: Drawn
      readonly isOpen: boolean
    }
  | {
      readonly kind: 'step'
      readonly key: string
      readonly step: Step
      readonly turn: string
      readonly drawn: Drawn
    }
  | { readonly kind: 'edit'; readonly key: string; readonly edit: UserEdit; readonly drawn: Drawn }
  | { readonly kind: 'note'; readonly key: string; readonly text: string }

export const rowHeights: Readonly<Record<Row['kind'], number>> = {
  session: 34,
  turn: 46,
  step: 26,
  edit: 28,
  note: 34,
}

export interface Opened {
  readonly session: string | undefined
  readonly tree: Known | undefined
  readonly turns: ReadonlySet<string>
  /** Steps of turns that are open, as far as they are known. */
  readonly steps: ReadonlyMap<string, readonly Step[]>
}

export function rowsOf(sessions: readonly Session[], opened: Opened): readonly Row[] {
  return sessions.flatMap((session): readonly Row[] => {
    const isOpen = session.id === opened.session
    const row: Row = { kind: 'session', key: `s:${session.id}`, session, isOpen }
    if (!isOpen) return [row]
    if (opened.tree === undefined) return [row, { kind: 'note', key: 'loading', text: 'Loading …' }]
    return [row, ...rowsOfTree(opened.tree, opened)]
  })
}

function rowsOfTree(tree: Known, opened: Opened): readonly Row[] {
  const rows: Row[] = []
  const graph = new Graph(tree.session.head)
  const edits = [...tree.userEdits]
  const editsSince = (seq: number) => {
    for (let edit = edits.at(-1); edit !== undefined && edit.seq > seq; edit = edits.at(-1)) {
      edits.pop()
      rows.push({ kind: 'edit', key: `e:${edit.op}`, edit, drawn: graph.between() })
    }
  }
  for (const turn of tree.turns.toReversed()) {
    editsSince(turn.seq)
    const isOpen = opened.turns.has(turn.id)
    const drawn = graph.node(turn)
    rows.push({ kind: 'turn', key: `t:${turn.id}`, turn, drawn, isOpen })
    if (isOpen) rows.push(...rowsOfSteps(turn.id, opened, graph.between()))
  }
  editsSince(-1)
  return rows
}

function rowsOfSteps(turn: string, opened: Opened, drawn: Drawn): readonly Row[] {
  const steps = opened.steps.get(turn)
  if (steps === undefined) return [{ kind: 'note', key: `n:${turn}`, text: 'Loading …' }]
  if (steps.length === 0)
    return [{ kind: 'note', key: `n:${turn}`, text: 'No steps were recorded in this turn.' }]
  return steps.map((step) => ({ kind: 'step', key: `p:${step.id}`, step, turn, drawn }))
}
