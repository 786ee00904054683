/** What is pending in a folder, over all of its sessions, kept up to date. */

import type { Review, Session, Tree } from '@unturn/client'
import * as vscode from 'vscode'
import type { Client, Root, Roots, WorkspaceEvent } from '../root.ts'
import type { PendingFile, PendingHunk } from './hunk.ts'

/** Which hunk is meant, in a form that a command can carry. Its id is of its content: a stale one names nothing. */
export interface HunkRef {
  readonly folder: string
  readonly session: string
  readonly hunk: string
}

/** Who wrote a hunk, and what for. */
export interface Origin {
  readonly turn: string
  readonly session: string
  readonly agent: string
  readonly prompt: string | null
  /** ISO 8601. */
  readonly began: string
}

const news: ReadonlySet<WorkspaceEvent['type']> = new Set([
  'change',
  'undo',
  'redo',
  'restore',
  'rollback',
  'accept',
  'reject',
  'propose',
  'turn.ended',
  'session.updated',
  'reset',
] as const)

const soonMs = 60

export class Pending implements vscode.Disposable {
  readonly root: Root
  readonly #roots: Roots
  readonly #changes = new vscode.EventEmitter<void>()
  readonly #listening: vscode.Disposable
  readonly #log: (line: string) => void
  #files: readonly PendingFile[] = []
  #origins = new Map<string, Origin>()
  #isRunning = false
  #wanted: 'known' | 'look' | undefined
  #timer: NodeJS.Timeout | undefined
  #working: Promise<void> | undefined
  #ended = false

  /** What is pending has changed, or was asked for anew. */
  readonly onChange = this.#changes.event

  constructor(root: Root, roots: Roots, log: (line: string) => void) {
    this.root = root
    this.#roots = roots
    this.#log = log
    this.#listening = vscode.Disposable.from(
      root.onEvent((event) => {
        if (news.has(event.type)) this.refresh()
      }),
      root.onState((state) => {
        if (state === 'connected') this.look()
      }),
    )
    if (root.state === 'connected') this.look()
  }

  get files(): readonly PendingFile[] {
    return this.#files
  }

  get count(): number {
    return this.#files.reduce((count, { hunks }) => count + hunks.length, 0)
  }

  /** What is on disk of a file and pending; not its proposals. */
  fileAt(uri: vscode.Uri): PendingFile | undefined {
    return this.#at(uri).find(({ proposal }) => proposal === undefined)
  }

  /** What is proposed for a file, in the order in which it goes on top of each other. */
  proposalsAt(uri: vscode.Uri): readonly PendingFile[] {
    return this.#at(uri).filter(({ proposal }) => proposal !== undefined)
  }

  #at(uri: vscode.Uri): readonly PendingFile[] {
    const key = uri.toString()
    return this.#files.filter(({ path }) => this.root.uriOf(path).toString() === key)
  }

  find({ session, hunk: id }: Omit<HunkRef, 'folder'>): Located | undefined {
    for (const file of this.#files) {
      const hunk = file.hunks.find((one) => one.id === id && one.session === session)
      if (hunk !== undefined) return { pending: this, file, hunk }
    }
    return undefined
  }

  originOf(turn: string): Origin | undefined {
    return this.#origins.get(turn)
  }

  refOf({ session, id }: PendingHunk): HunkRef {
    return { folder: this.root.folder.uri.toString(), session, hunk: id }
  }

  /** As of the last capture. */
  refresh(): void {
    this.#wish('known')
  }

  /** After a look at the files; not while an agent is at work, whose half-done step would be taken for the user's. */
  look(): void {
    this.#wish('look')
  }

  /** All that was wished for so far is done. */
  async settled(): Promise<void> {
    for (
      let rounds = 0;
      rounds < 20 && (this.#wanted !== undefined || this.#working !== undefined);
      rounds++
    ) {
      clearTimeout(this.#timer)
      this.#run()
      await this.#working
    }
  }

  #wish(kind: 'known' | 'look'): void {
    if (this.#ended) return
    this.#wanted = this.#wanted === 'look' ? 'look' : kind
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#run(), soonMs)
  }

  #run(): void {
    if (this.#working !== undefined || this.#wanted === undefined || this.#ended) return
    const kind = this.#wanted
    this.#wanted = undefined
    this.#working = this.#fetch(kind)
      .catch((error: unknown) => {
        // Not connected, or the server went away in the middle: what is shown stays, and the next connection asks again.
        this.#log(`review: ${error instanceof Error ? error.message : String(error)}`)
      })
      .finally(() => {
        this.#working = undefined
        this.#run()
      })
  }

  async #fetch(kind: 'known' | 'look'): Promise<void> {
    const client = await this.root.client()
    const { sessions } = await client.sessions()
    this.#isRunning = sessions.some(({ running }) => running.length > 0)
    const reviews = await this.#reviews(client, sessions, kind === 'look' && this.#mayLook())
    const files = filesOf(reviews).filter(({ path }) => this.#isOurs(this.root.uriOf(path)))
    await this.#learnOrigins(client, files)
    if (this.#ended) return
    this.#files = files
    this.#changes.fire()
  }

  #mayLook(): boolean {
    return this.root.trusted() && !this.#isRunning
  }

  async #reviews(
    client: Client,
    sessions: readonly Session[],
    withLook: boolean,
  ): Promise<readonly Review[]> {
    const active = sessions.find((session) => session.active)?.id
    const looked = withLook && active !== undefined ? await client.lookReview({ session: active }) : undefined
    const reviews: Review[] = looked === undefined ? [] : [looked]
    for (const { id, pendingHunks } of sessions) {
      if (pendingHunks === 0 || id === looked?.session) continue
      reviews.push(await client.review({ session: id }))
    }
    return reviews
  }

  // Two folders of one repository have the same workspace: each shows its own files, and the first one what is in none.
  #isOurs(uri: vscode.Uri): boolean {
    const owner = this.#roots.of(uri)
    if (owner !== undefined) return owner === this.root
    const [first] = this.#roots.all().filter(({ workspace }) => workspace === this.root.workspace)
    return first === this.root
  }

  async #learnOrigins(client: Client, files: readonly PendingFile[]): Promise<void> {
    const unknown = new Set<string>()
    for (const { hunks } of files)
      for (const { turns, session } of hunks)
        if (turns.some((turn) => !this.#origins.has(turn))) unknown.add(session)
    for (const session of unknown) {
      const { turns }: Tree = await client.tree({ session })
      for (const { id, agent, prompt, began } of turns)
        this.#origins.set(id, { turn: id, session, agent, prompt, began })
    }
  }

  dispose(): void {
    this.#ended = true
    clearTimeout(this.#timer)
    this.#listening.dispose()
    this.#changes.dispose()
  }
}

export interface Located {
  readonly pending: Pending
  readonly file: PendingFile
  readonly hunk: PendingHunk
}

/** The files of all sessions in one list: one entry for what is on disk of a file, and one for each proposal. */
function filesOf(reviews: readonly Review[]): readonly PendingFile[] {
  const files = new Map<string, PendingFile>()
  for (const { session, files: those } of reviews) {
    if (session === null) continue
    for (const { hunks, ...file } of those) {
      const key = `${file.path}\0${file.proposal ?? ''}`
      const known = files.get(key)
      const own = hunks.map((hunk): PendingHunk => ({ ...hunk, session }))
      if (known === undefined) files.set(key, { ...file, hunks: own })
      else
        files.set(key, {
          ...known,
          additions: known.additions + file.additions,
          deletions: known.deletions + file.deletions,
          hunks: [...known.hunks, ...own],
        })
    }
  }
  return [...files.values()]
}

/** What is pending in all folders that are open. */
export class AllPending implements vscode.Disposable {
  readonly #roots: Roots
  readonly #log: (line: string) => void
  readonly #changes = new vscode.EventEmitter<Pending>()
  readonly #arrivals = new vscode.EventEmitter<void>()
  readonly #listening: vscode.Disposable
  #all: { readonly pending: Pending; readonly listening: vscode.Disposable }[] = []

  readonly onChange = this.#changes.event
  /** Folders came or went. */
  readonly onFolders = this.#arrivals.event

  constructor(roots: Roots, log: (line: string) => void) {
    this.#roots = roots
    this.#log = log
    this.#listening = roots.onChange(() => this.#follow())
    this.#follow()
  }

  get all(): readonly Pending[] {
    return this.#all.map(({ pending }) => pending)
  }

  of(uri: vscode.Uri): Pending | undefined {
    const owner = this.#roots.of(uri)
    if (owner !== undefined) return this.all.find(({ root }) => root === owner)
    return this.all.find(
      (pending) => pending.fileAt(uri) !== undefined || pending.proposalsAt(uri).length > 0,
    )
  }

  byFolder(folder: string): Pending | undefined {
    return this.all.find(({ root }) => root.folder.uri.toString() === folder)
  }

  find(ref: HunkRef): Located | undefined {
    return this.byFolder(ref.folder)?.find(ref)
  }

  #follow(): void {
    const open = new Set(this.#roots.all())
    for (const one of this.#all) if (!open.has(one.pending.root)) this.#drop(one)
    this.#all = this.#all.filter(({ pending }) => open.has(pending.root))
    for (const root of open) {
      if (this.#all.some(({ pending }) => pending.root === root)) continue
      const pending = new Pending(root, this.#roots, this.#log)
      this.#all.push({ pending, listening: pending.onChange(() => this.#changes.fire(pending)) })
    }
    this.#arrivals.fire()
  }

  #drop({ pending, listening }: { readonly pending: Pending; readonly listening: vscode.Disposable }): void {
    listening.dispose()
    pending.dispose()
  }

  dispose(): void {
    this.#listening.dispose()
    for (const one of this.#all) this.#drop(one)
    this.#changes.dispose()
    this.#arrivals.dispose()
  }
}
