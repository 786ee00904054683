/** Where hunks stand in the documents that are open, saved or not. They go along while somebody types. */

import * as vscode from 'vscode'
import { isUntouched, linesOfRange, type PendingHunk, type Placed, placeHunks } from './hunk.ts'
import type { AllPending, Pending } from './pending.ts'
import { lineStarts, moveRanges } from './ranges.ts'

interface Tracked {
  readonly text: string
  readonly placed: readonly Placed[]
  /** Worked out once for a text: every key has a handful of asking parties. */
  shown?: readonly ShownHunk[]
}

/** A hunk in a document. */
export interface ShownHunk {
  readonly pending: Pending
  readonly hunk: PendingHunk
  readonly placed: Placed
  /** Lines of the document; the same number twice where something was removed between two lines. */
  readonly first: number
  readonly end: number
  /** As the agent wrote it; somebody may have typed inside. */
  readonly untouched: boolean
}

const staleAfterMs = 1_200
const soonMs = 300

export class Documents implements vscode.Disposable {
  readonly #pending: AllPending
  readonly #tracked = new Map<string, Tracked>()
  readonly #changes = new vscode.EventEmitter<vscode.TextDocument>()
  readonly #listening: vscode.Disposable
  readonly #doubts = new Map<string, NodeJS.Timeout>()
  readonly #soon = new Map<string, NodeJS.Timeout>()
  /** The texts that a look at the files did not help with: looking again would not, either. */
  readonly #inVain = new Map<string, string>()

  /** Hunks came, went or moved in a document. */
  readonly onChange = this.#changes.event

  constructor(pending: AllPending) {
    this.#pending = pending
    this.#listening = vscode.Disposable.from(
      vscode.workspace.onDidOpenTextDocument((document) => void this.#place(document)),
      vscode.workspace.onDidCloseTextDocument((document) => this.#forget(document)),
      vscode.workspace.onDidChangeTextDocument((event) => this.#follow(event)),
      vscode.workspace.onDidSaveTextDocument((document) => {
        if (this.#tracked.has(document.uri.toString())) this.#pending.of(document.uri)?.look()
      }),
      pending.onChange((one) => this.#placeAll(one)),
    )
    for (const document of vscode.workspace.textDocuments) void this.#place(document)
  }

  in(document: vscode.TextDocument): readonly ShownHunk[] {
    const tracked = this.#tracked.get(document.uri.toString())
    const pending = this.#pending.of(document.uri)
    if (tracked === undefined || pending === undefined) return []
    tracked.shown ??= shownIn(tracked, pending)
    return tracked.shown
  }

  /** The text that the places are of; the same as the document's, but for the moment of a change. */
  textOf(document: vscode.TextDocument): string | undefined {
    return this.#tracked.get(document.uri.toString())?.text
  }

  #placeAll(pending: Pending): void {
    for (const document of vscode.workspace.textDocuments)
      if (this.#pending.of(document.uri) === pending) void this.#place(document)
  }

  async #place(document: vscode.TextDocument): Promise<void> {
    if (document.uri.scheme !== 'file') return
    const key = document.uri.toString()
    const pending = this.#pending.of(document.uri)
    const file = pending?.fileAt(document.uri)
    if (pending === undefined || file === undefined) {
      if (this.#tracked.delete(key)) this.#changes.fire(document)
      return
    }
    // Not the document's own text, even where it seems to be saved: the editor tells of an edit before it says that the
    // text is dirty now.
    const saved = await textOnDisk(document)
    if (saved === undefined || document.isClosed) return
    const text = document.getText()
    const found = placeHunks(file.hunks, saved, text)
    this.#tracked.set(key, { text, placed: this.#kept(key, document, file.hunks, found) })
    const lines = file.hunks.filter(({ kind }) => kind === 'text' || kind === 'create').length
    if (found.length < lines) this.#doubt(document, pending, saved)
    else this.#settle(key)
    this.#changes.fire(document)
  }

  // In an unsaved text a hunk that was followed edit by edit is better placed than one that was looked for.
  #kept(
    key: string,
    document: vscode.TextDocument,
    hunks: readonly PendingHunk[],
    found: readonly Placed[],
  ): readonly Placed[] {
    const known = this.#tracked.get(key)
    if (!document.isDirty || known === undefined || known.text !== document.getText()) return found
    const placed = hunks.flatMap((hunk): Placed | [] => {
      const isSame = (one: Placed) => one.hunk.id === hunk.id
      const [followed, again] = [known.placed.find(isSame), found.find(isSame)]
      // An edit over half of the text touches every block in it, also those that it left as they were.
      const isBetter = again !== undefined && isUntouched(again, known.text)
      const range = (followed === undefined || isBetter ? again : followed)?.range
      return range === undefined ? [] : { hunk, range }
    })
    return placed.sort((a, b) => a.range.start - b.range.start || a.range.end - b.range.end)
  }

  // The editor has not read the new file yet, or somebody wrote it past the server. In a moment it is clear which.
  #doubt(document: vscode.TextDocument, pending: Pending, saved: string): void {
    const key = document.uri.toString()
    if (this.#doubts.has(key) || this.#inVain.get(key) === saved) return
    this.#doubts.set(
      key,
      setTimeout(() => {
        this.#doubts.delete(key)
        this.#inVain.set(key, saved)
        pending.look()
      }, staleAfterMs),
    )
  }

  #settle(key: string): void {
    clearTimeout(this.#doubts.get(key))
    this.#doubts.delete(key)
    this.#inVain.delete(key)
  }

  #follow({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const key = document.uri.toString()
    const tracked = this.#tracked.get(key)
    if (tracked === undefined || contentChanges.length === 0) return
    let { text } = tracked
    let ranges = tracked.placed.map(({ range }) => range)
    for (const { rangeOffset: offset, rangeLength: length, text: typed } of contentChanges) {
      ranges = [...moveRanges(ranges, { offset, length, text: typed }, text)]
      text = text.slice(0, offset) + typed + text.slice(offset + length)
    }
    // Off by anything, places would be wrong from here on.
    if (text !== document.getText()) return void this.#place(document)
    const placed = tracked.placed.flatMap(({ hunk }, at): Placed | [] => {
      const range = ranges[at]
      return range === undefined ? [] : { hunk, range }
    })
    this.#tracked.set(key, { text, placed })
    this.#changes.fire(document)
    // Seems to be saved: the editor may have read a new file, and then the hunks have their places anew.
    if (!document.isDirty) void this.#place(document)
    else if (placed.some((one) => !isUntouched(one, text))) this.#placeSoon(document)
  }

  #placeSoon(document: vscode.TextDocument): void {
    const key = document.uri.toString()
    clearTimeout(this.#soon.get(key))
    this.#soon.set(
      key,
      setTimeout(() => {
        this.#soon.delete(key)
        void this.#place(document)
      }, soonMs),
    )
  }

  #forget(document: vscode.TextDocument): void {
    if (!document.isClosed) return // only its language has changed
    const key = document.uri.toString()
    this.#tracked.delete(key)
    this.#settle(key)
  }

  dispose(): void {
    this.#listening.dispose()
    for (const timer of [...this.#doubts.values(), ...this.#soon.values()]) clearTimeout(timer)
    this.#changes.dispose()
  }
}

function shownIn({ text, placed: all }: Tracked, pending: Pending): readonly ShownHunk[] {
  const starts = lineStarts(text)
  return all.map((placed): ShownHunk => {
    const { first, end } = linesOfRange(starts, placed.range)
    return { pending, hunk: placed.hunk, placed, first, end, untouched: isUntouched(placed, text) }
  })
}

/** The file as it is on disk, read as the document was; undefined where there is none. */
export async function textOnDisk(document: vscode.TextDocument): Promise<string | undefined> {
  try {
    const bytes = await vscode.workspace.fs.readFile(document.uri)
    return await vscode.workspace.decode(bytes, { encoding: document.encoding })
  } catch (error) {
    if (error instanceof vscode.FileSystemError && error.code === 'FileNotFound') return undefined
    throw error
  }
}

/** The open document of a file. */
export function documentOf(uri: vscode.Uri): vscode.TextDocument | undefined {
  const key = uri.toString()
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === key)
}
