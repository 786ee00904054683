/** The turns of a session, kept up to date by events: what changed is fetched alone, not ten thousand turns again. */

import type {
  Operation,
  ServerEvent,
  Session,
  Tree,
  TreeTurn,
  Turn,
  UserEdit,
  WorkspaceClient,
} from '@unturn/client'

export type Known = Pick<Tree, 'session' | 'turns' | 'userEdits'>

export function withTurn(tree: Known, turn: Turn): Known {
  const { commits: _, session: __, ...row } = turn
  const at = tree.turns.findIndex(({ id }) => id === turn.id)
  const turns = at < 0 ? [...tree.turns, row] : tree.turns.with(at, row)
  return { ...tree, turns: turns.sort((a, b) => a.seq - b.seq) }
}

/** As far as the event tells; the server is asked for the rest, and the time and the place in the tree come with that. */
export function withBegun(tree: Known, event: Extract<ServerEvent, { type: 'turn.began' }>): Known {
  if (tree.turns.some(({ id }) => id === event.turn)) return tree
  const row: TreeTurn = {
    id: event.turn,
    parent: tree.session.head,
    parentBefore: null,
    agent: event.agent,
    prompt: event.prompt ?? null,
    message: event.message ?? null,
    status: 'open',
    seq: Number.MAX_SAFE_INTEGER,
    endSeq: null,
    began: '',
    ended: null,
    head: false,
    reverted: false,
    depth: 0,
    files: 0,
    additions: 0,
    deletions: 0,
  }
  return { ...tree, turns: [...tree.turns, row] }
}

/** The server has said where the head stands, and which turns are out. */
export function withHead(tree: Known, told: Pick<Session, 'head' | 'turns' | 'reverted'>): Known {
  const out = new Set(told.reverted)
  const turns = tree.turns.map((turn) => {
    const [head, reverted] = [turn.id === told.head, out.has(turn.id)]
    return turn.head === head && turn.reverted === reverted ? turn : { ...turn, head, reverted }
  })
  return { ...tree, turns, session: { ...tree.session, ...told } }
}

export function withEdits(tree: Known, operations: readonly Operation[]): Known {
  const known = new Set(tree.userEdits.map(({ op }) => op))
  const fresh = operations.filter(({ id }) => !known.has(id)).map(editOf)
  if (fresh.length === 0) return tree
  return { ...tree, userEdits: [...tree.userEdits, ...fresh].sort((a, b) => a.seq - b.seq) }
}

function editOf({ id, seq, at, label, files, additions, deletions }: Operation): UserEdit {
  return { op: id, seq, at, label: label ?? null, files, additions, deletions }
}

/** What an event asks of the tree: nothing, some of it again, or all of it. */
export type Need =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'all' }
  | { readonly kind: 'turn'; readonly turn: string }
  | { readonly kind: 'edits' }
  | { readonly kind: 'head'; readonly told: Pick<Session, 'head' | 'turns' | 'reverted'> }

export function needOf(event: ServerEvent, session: string): Need {
  switch (event.type) {
    case 'reset':
    case 'gc':
      return { kind: 'all' }
    case 'change': {
      const { change } = event
      if (change.actor === 'user') return { kind: 'edits' }
      return change.session === session && change.turn !== null
        ? { kind: 'turn', turn: change.turn }
        : { kind: 'nothing' }
    }
    case 'message.removed':
    case 'part.removed':
      return event.session === session ? { kind: 'all' } : { kind: 'nothing' }
    case 'session.updated':
      return event.session === session ? { kind: 'head', told: event } : { kind: 'nothing' }
    case 'turn.began':
    case 'turn.ended':
    case 'step.began':
    case 'step.ended':
      return event.session === session ? { kind: 'turn', turn: event.turn } : { kind: 'nothing' }
    default:
      return { kind: 'nothing' }
  }
}

const patienceMs = 25

/** A tree that follows the events; tells whenever it has changed. */
export class FollowedTree {
  readonly #workspace: WorkspaceClient
  readonly #session: string
  readonly #tell: (tree: Known | undefined, failure: Error | undefined) => void
  #early: Promise<Tree | undefined> | undefined
  #tree: Known | undefined
  #needsAll = true
  #turns = new Set<string>()
  #needsEdits = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #isAsking = false
  #isEnded = false

  constructor(
    workspace: WorkspaceClient,
    session: string,
    early: Promise<Tree | undefined>,
    tell: (tree: Known | undefined, failure: Error | undefined) => void,
  ) {
    this.#workspace = workspace
    this.#session = session
    this.#tell = tell
    this.#early = early
    void this.#ask()
  }

  end(): void {
    this.#isEnded = true
    clearTimeout(this.#timer)
  }

  hear(event: ServerEvent): void {
    const need = needOf(event, this.#session)
    if (event.type === 'turn.began' && event.session === this.#session && this.#tree !== undefined)
      this.#set(withBegun(this.#tree, event))
    if (need.kind === 'all') this.#needsAll = true
    else if (need.kind === 'turn') this.#turns.add(need.turn)
    else if (need.kind === 'edits') this.#needsEdits = true
    else if (need.kind === 'head') this.#headMoved(need.told)
    else return
    this.#soon()
  }

  #headMoved(told: Pick<Session, 'head' | 'turns' | 'reverted'>): void {
    const { head, turns, reverted } = told
    if (this.#tree === undefined) return
    const isNew = head !== null && !this.#tree.turns.some(({ id }) => id === head)
    if (isNew) this.#turns.add(head)
    this.#set(withHead(this.#tree, { head, turns, reverted }))
  }

  #set(tree: Known): void {
    this.#tree = tree
    if (!this.#isEnded) this.#tell(tree, undefined)
  }

  #soon(): void {
    if (this.#isAsking || this.#isEnded) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      void this.#ask()
    }, patienceMs)
  }

  async #ask(): Promise<void> {
    this.#isAsking = true
    try {
      await this.#askWhatIsNeeded()
    } catch (error) {
      if (!this.#isEnded && error instanceof Error) this.#tell(this.#tree, error)
    }
    this.#isAsking = false
    if (this.#needsAll || this.#needsEdits || this.#turns.size > 0) this.#soon()
  }

  async #askWhatIsNeeded(): Promise<void> {
    const all = this.#needsAll || this.#tree === undefined
    const turns = [...this.#turns]
    const edits = this.#needsEdits
    this.#needsAll = false
    this.#needsEdits = false
    this.#turns = new Set()
    if (all) {
      const early = await this.#early
      this.#early = undefined
      return this.#set(early ?? (await this.#workspace.tree({ session: this.#session })))
    }
    for (const turn of turns) {
      const detail = await this.#workspace.turn(turn)
      if (this.#tree !== undefined) this.#set(withTurn(this.#tree, detail.turn))
    }
    if (!edits) return
    const { operations } = await this.#workspace.operations({ kind: 'user-edit', limit: 20 })
    if (this.#tree !== undefined) this.#set(withEdits(this.#tree, operations))
  }
}

export type { TreeTurn }
