/** Sessions and turns of each root, as fresh as the events: asked for again when something happened, not more often. */

import type { Status, Tree } from '@unturn/client'
import * as vscode from 'vscode'
import type { Root, Roots, WorkspaceEvent } from '../root.ts'

const patienceMs = 80

export class Histories implements vscode.Disposable {
  readonly #roots: Roots
  readonly #all = new Map<Root, History>()
  readonly #changes = new vscode.EventEmitter<Root | undefined>()
  readonly #listening: vscode.Disposable
  readonly #log: (line: string) => void

  /** Of one root, or (undefined) of all. */
  readonly onChange = this.#changes.event

  constructor(roots: Roots, log: (line: string) => void) {
    this.#roots = roots
    this.#log = log
    this.#listening = roots.onChange(() => this.#follow())
    this.#follow()
  }

  of(root: Root): History | undefined {
    return this.#all.get(root)
  }

  /** Each workspace once, also where two open folders belong to the same one. */
  workspaces(): readonly History[] {
    const seen = new Set<string>()
    return [...this.#all.values()].filter(({ root }) => {
      if (root.workspace === undefined) return true
      if (seen.has(root.workspace)) return false
      seen.add(root.workspace)
      return true
    })
  }

  #follow(): void {
    const roots = new Set(this.#roots.all())
    for (const [root, history] of this.#all)
      if (!roots.has(root)) {
        history.dispose()
        this.#all.delete(root)
      }
    for (const root of roots)
      if (!this.#all.has(root))
        this.#all.set(root, new History(root, () => this.#changes.fire(root), this.#log))
    this.#changes.fire(undefined)
  }

  dispose(): void {
    this.#listening.dispose()
    for (const history of this.#all.values()) history.dispose()
    this.#changes.dispose()
  }
}

export class History implements vscode.Disposable {
  readonly root: Root
  readonly #tell: () => void
  readonly #log: (line: string) => void
  readonly #listening: vscode.Disposable
  readonly #trees = new Map<string, Promise<Tree>>()
  #status: Status | undefined
  #timer: NodeJS.Timeout | undefined
  #isAsking = false
  #isStale = false
  #isEnded = false
  #lastTookMs = 0

  constructor(root: Root, tell: () => void, log: (line: string) => void) {
    this.root = root
    this.#tell = tell
    this.#log = log
    this.#listening = vscode.Disposable.from(
      root.onEvent((event) => this.#hear(event)),
      root.onState((state) => (state === 'connected' ? this.refresh() : tell())),
    )
    if (root.state === 'connected') this.refresh()
  }

  /** As of the last answer; undefined until there was one. */
  get status(): Status | undefined {
    return this.#status
  }

  /** All turns of a session; asked for once, until something happens in it. */
  tree(session: string): Promise<Tree> {
    const known = this.#trees.get(session)
    if (known !== undefined) return known
    const asked = this.#askTree(session)
    this.#trees.set(session, asked)
    asked.catch(() => this.#trees.delete(session))
    return asked
  }

  async #askTree(session: string): Promise<Tree> {
    const began = performance.now()
    const tree = await (await this.root.client()).tree({ session, promptLength: 400 })
    this.#lastTookMs = performance.now() - began
    return tree
  }

  refresh(): void {
    this.#trees.clear()
    this.#soon()
  }

  #hear(event: WorkspaceEvent): void {
    const session = sessionOf(event)
    if (session === undefined) this.#trees.clear()
    else this.#trees.delete(session)
    this.#soon()
  }

  // A session of ten thousand turns takes a while to ask for: an agent at work must not keep us asking all the time.
  #soon(): void {
    this.#isStale = true
    if (this.#isAsking || this.#isEnded) return
    this.#timer ??= setTimeout(() => void this.#ask(), Math.max(patienceMs, 4 * this.#lastTookMs))
  }

  async #ask(): Promise<void> {
    this.#timer = undefined
    this.#isAsking = true
    this.#isStale = false
    try {
      this.#status = await (await this.root.client()).status()
    } catch (error) {
      // Offline: the root says so, and asks again once it is back.
      this.#log(`${this.root.folder.name}: ${error instanceof Error ? error.message : String(error)}`)
    }
    this.#isAsking = false
    if (this.#isEnded) return
    this.#tell()
    if (this.#isStale) this.#soon()
  }

  dispose(): void {
    this.#isEnded = true
    clearTimeout(this.#timer)
    this.#listening.dispose()
  }
}

/** The one session that an event is about; undefined: it may be any. */
function sessionOf(event: WorkspaceEvent): string | undefined {
  if (event.type === 'change') return event.change.session ?? undefined
  return 'session' in event ? (event.session ?? undefined) : undefined
}
