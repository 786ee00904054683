/** What the view lists below a session: the line of turns that the head stands on, newest first, and what left it. */

import type { Tree, TreeTurn, UserEdit } from '@unturn/client'

export type Row =
  | { readonly kind: 'turn'; readonly turn: TreeTurn }
  | { readonly kind: 'branch'; readonly id: string; readonly rows: readonly Row[]; readonly turns: number }
  | { readonly kind: 'edit'; readonly edit: UserEdit }
  | { readonly kind: 'older'; readonly count: number }

export interface RowOptions {
  /** So many rows; the rest is one row that says how many there are. */
  readonly limit: number
  readonly userEdits: boolean
}

//   t1 ─┬─ t2 ── t3        Undo twice, then a new prompt: the head's line is t4, t1. What left it stands as a branch
//       └─ t4 (head)       above the turn that it left: t4, branch (t3, t2), t1.
export function rowsOf(
  tree: Pick<Tree, 'session' | 'turns' | 'userEdits'>,
  options: RowOptions,
): readonly Row[] {
  const family = new Family(tree.turns)
  const line = family.lineThrough(tree.session.head)
  const edits = options.userEdits ? tree.userEdits.toSorted((a, b) => a.seq - b.seq) : []
  const rows = [...withEdits(family, line, edits), ...family.branches(null, line[0])]
  if (rows.length <= options.limit) return rows
  return [...rows.slice(0, options.limit), { kind: 'older', count: rows.length - options.limit }]
}

/** The path from the oldest turn to the head, and on to where redo leads. */
class Family {
  readonly #turns: ReadonlyMap<string, TreeTurn>
  readonly #children = new Map<string | null, TreeTurn[]>()

  constructor(turns: readonly TreeTurn[]) {
    this.#turns = new Map(turns.map((turn) => [turn.id, turn]))
    for (const turn of turns) {
      // What a turn began on may have been cleaned up since.
      const parent = turn.parent !== null && this.#turns.has(turn.parent) ? turn.parent : null
      this.#children.set(parent, [...(this.#children.get(parent) ?? []), turn])
    }
    for (const children of this.#children.values()) children.sort((a, b) => b.seq - a.seq)
  }

  lineThrough(head: string | null): readonly TreeTurn[] {
    const past: TreeTurn[] = []
    for (let turn = this.#find(head); turn !== undefined; turn = this.#find(turn.parent)) past.push(turn)
    return [...past.reverse(), ...this.#onwards(past.at(-1)?.id ?? null)]
  }

  #find(id: string | null): TreeTurn | undefined {
    return id === null ? undefined : this.#turns.get(id)
  }

  #onwards(from: string | null): readonly TreeTurn[] {
    const line: TreeTurn[] = []
    for (let next = this.#newestChild(from); next !== undefined; next = this.#newestChild(next.id))
      line.push(next)
    return line
  }

  #newestChild(of: string | null): TreeTurn | undefined {
    return this.#children.get(of)?.[0]
  }

  branches(of: string | null, except: TreeTurn | undefined): readonly Row[] {
    return (this.#children.get(of) ?? [])
      .filter(({ id }) => id !== except?.id)
      .map((first) => {
        const line = [first, ...this.#onwards(first.id)]
        return { kind: 'branch', id: first.id, rows: this.rowsOfLine(line), turns: line.length }
      })
  }

  /** Newest first, each with what left it above. */
  rowsOfLine(line: readonly TreeTurn[]): readonly Row[] {
    return line
      .flatMap((turn, at): readonly Row[] => this.rowsOfTurn(turn, line[at + 1]).toReversed())
      .toReversed()
  }

  rowsOfTurn(turn: TreeTurn, next: TreeTurn | undefined): readonly Row[] {
    return [...this.branches(turn.id, next), { kind: 'turn', turn }]
  }
}

function withEdits(family: Family, line: readonly TreeTurn[], edits: readonly UserEdit[]): readonly Row[] {
  const rows: Row[] = []
  let left = edits.length
  for (const [at, turn] of [...line.entries()].reverse()) {
    for (let edit = edits[left - 1]; edit !== undefined && edit.seq > turn.seq; edit = edits[left - 1]) {
      rows.push({ kind: 'edit', edit })
      left -= 1
    }
    rows.push(...family.rowsOfTurn(turn, line[at + 1]))
  }
  for (const edit of edits.slice(0, left).reverse()) rows.push({ kind: 'edit', edit })
  return rows
}
