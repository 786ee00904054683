/** Lines beside the turns that show who follows whom. Newest first: children come before their parents. */

export interface Node {
  readonly id: string
  readonly parent: string | null
}

export interface Line {
  readonly from: number
  readonly to: number
  /** `in`: from the top to the node. `out`: from the node to the bottom. `past`: from top to bottom. */
  readonly way: 'in' | 'out' | 'past'
}

export interface Drawn {
  /** The column of the node; -1 for a row that only lets the lines through. */
  readonly lane: number
  readonly lines: readonly Line[]
  /** How many columns. */
  readonly width: number
}

const mostLanes = 6

/** The head's own path has the first column, whatever was tried beside it. */
export class Graph {
  /** For each column the turn that its line leads down to. */
  #waiting: readonly (string | null)[]
  /** The first column is kept for the head, which was not met yet: nothing is drawn in it. */
  #isKept: boolean

  constructor(head: string | null) {
    this.#waiting = [head]
    this.#isKept = head !== null
  }

  node({ id, parent }: Node): Drawn {
    const before = this.#waiting
    const mine = [...before.keys()].filter((lane) => before[lane] === id && this.#isDrawn(lane))
    const isHead = this.#isKept && before[0] === id
    const lane = isHead ? 0 : (mine[0] ?? this.#free())
    const lines = this.#past(id).concat(mine.map((from) => ({ from, to: lane, way: 'in' })))
    if (isHead) this.#isKept = false

    const next = before.map((one) => (one === id ? null : one))
    while (next.length <= lane) next.push(null)
    if (parent !== null) {
      const there = next.findIndex((one, at) => one === parent && !(at === 0 && this.#isKept))
      if (there < 0) next[lane] = parent
      lines.push({ from: lane, to: there < 0 ? lane : there, way: 'out' })
    }
    while (next.length > 1 && next.at(-1) === null) next.pop()
    this.#waiting = next
    return drawn(lane, lines, Math.max(before.length, next.length, lane + 1))
  }

  /** A row between two turns. */
  between(): Drawn {
    return drawn(-1, this.#past(undefined), this.#waiting.length)
  }

  #isDrawn(lane: number): boolean {
    return !(lane === 0 && this.#isKept)
  }

  #past(id: string | undefined): Line[] {
    return this.#waiting.flatMap((one, at): Line[] =>
      one === null || one === id || !this.#isDrawn(at) ? [] : [{ from: at, to: at, way: 'past' }],
    )
  }

  #free(): number {
    const at = this.#waiting.indexOf(null)
    return at < 0 ? this.#waiting.length : at
  }
}

function drawn(lane: number, lines: readonly Line[], lanes: number): Drawn {
  const fit = (column: number) => Math.min(column, mostLanes - 1)
  return {
    lane: fit(lane),
    lines: lines.map(({ from, to, way }) => ({ from: fit(from), to: fit(to), way })),
    width: Math.min(lanes, mostLanes),
  }
}
