/** Documents that nobody has on disk: a file without what is pending, and a file with what is proposed. */

import * as vscode from 'vscode'
import { type Documents, documentOf } from './documents.ts'
import {
  mergeTexts,
  oldText,
  type PendingFile,
  type Placed,
  placeHunks,
  withoutHunks,
  withProposed,
} from './hunk.ts'
import type { AllPending, Pending } from './pending.ts'

export const reviewScheme = 'unturn-review'

interface Address {
  readonly folder: string
  readonly path: string
  /** Absent: the file without what is pending. */
  readonly proposal?: string
}

function uriOf(pending: Pending, address: Omit<Address, 'folder'>): vscode.Uri {
  const whole: Address = { folder: pending.root.folder.uri.toString(), ...address }
  // The same path as the file: another one would be shown as a rename.
  const { path } = pending.root.uriOf(address.path)
  return vscode.Uri.from({ scheme: reviewScheme, path, query: JSON.stringify(whole) })
}

/** The file as it would be with everything rejected. */
export function baseUri(pending: Pending, path: string): vscode.Uri {
  return uriOf(pending, { path })
}

export function proposalUri(pending: Pending, path: string, proposal: string): vscode.Uri {
  return uriOf(pending, { path, proposal })
}

export function addressOf(uri: vscode.Uri): Address | undefined {
  if (uri.scheme !== reviewScheme || uri.query === '') return undefined
  const { folder, path, proposal } = JSON.parse(uri.query) as Address
  return { folder, path, ...(proposal === undefined ? {} : { proposal }) }
}

/** What a proposal document shows, and where its hunks stand in it. */
export interface ProposedText {
  readonly text: string
  readonly placed: readonly Placed[]
}

const soonMs = 80

export class ReviewTexts implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #pending: AllPending
  readonly #documents: Documents
  readonly #changes = new vscode.EventEmitter<vscode.Uri>()
  readonly #registration: vscode.Disposable
  readonly #waiting = new Map<string, NodeJS.Timeout>()
  readonly #proposed = new Map<string, ProposedText>()

  readonly #placings = new vscode.EventEmitter<void>()

  readonly onDidChange = this.#changes.event
  /** Blocks of a proposal have their places anew. Its text may be the same as before. */
  readonly onPlaced = this.#placings.event

  constructor(pending: AllPending, documents: Documents) {
    this.#pending = pending
    this.#documents = documents
    this.#registration = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(reviewScheme, this),
      pending.onChange((one) => this.#tell((address) => address.folder === one.root.folder.uri.toString())),
      documents.onChange(({ uri }) => this.#tellOf(uri)),
      // A file with proposals only has no blocks of its own that could move.
      vscode.workspace.onDidChangeTextDocument(({ document: { uri } }) => this.#tellOf(uri)),
    )
  }

  #tellOf(uri: vscode.Uri): void {
    if (uri.scheme !== 'file') return
    const path = this.#pending.of(uri)?.root.pathOf(uri)
    if (path !== undefined) this.#tell((address) => address.path === path)
  }

  // Once for a burst of keys: the editor fetches the whole text each time.
  #tell(isMeant: (address: Address) => boolean): void {
    for (const { uri } of vscode.workspace.textDocuments) {
      const address = addressOf(uri)
      const key = uri.toString()
      if (address === undefined || !isMeant(address) || this.#waiting.has(key)) continue
      this.#waiting.set(
        key,
        setTimeout(() => {
          this.#waiting.delete(key)
          this.#changes.fire(uri)
        }, soonMs),
      )
    }
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const address = addressOf(uri)
    const pending = address === undefined ? undefined : this.#pending.byFolder(address.folder)
    if (address === undefined || pending === undefined) return ''
    const file = pending.root.uriOf(address.path)
    if (address.proposal === undefined) return this.#base(pending, file)
    const proposed = await this.#propose(pending, file, address.proposal)
    this.#proposed.set(uri.toString(), proposed)
    this.#placings.fire()
    return proposed.text
  }

  /** As it was handed out last. */
  proposedIn(document: vscode.TextDocument): ProposedText | undefined {
    const proposed = this.#proposed.get(document.uri.toString())
    return proposed?.text === document.getText() ? proposed : undefined
  }

  async #base(pending: Pending, uri: vscode.Uri): Promise<string> {
    const file = pending.fileAt(uri)
    const document = documentOf(uri)
    const shown = document === undefined ? undefined : this.#documents.textOf(document)
    if (document !== undefined && shown !== undefined)
      return withoutHunks(
        shown,
        this.#documents.in(document).map(({ placed }) => placed),
      )
    const deleted = file?.hunks.find(({ kind }) => kind === 'delete')
    if (deleted !== undefined) return oldText(deleted)
    const text = await diskText(uri)
    return withoutHunks(text, placeHunks(file?.hunks ?? [], text, text))
  }

  async #propose(pending: Pending, uri: vscode.Uri, proposal: string): Promise<ProposedText> {
    const disk = await diskText(uri)
    let before = disk
    for (const file of pending.proposalsAt(uri)) {
      const after = proposedText(before, file)
      if (file.proposal !== proposal) before = after
      else return carried(disk, unsavedText(uri) ?? disk, after, file)
    }
    return { text: unsavedText(uri) ?? disk, placed: [] }
  }

  dispose(): void {
    this.#registration.dispose()
    for (const timer of this.#waiting.values()) clearTimeout(timer)
    this.#changes.dispose()
    this.#placings.dispose()
  }
}

// A saved text may be older than the file: the editor reads it anew a moment later.
function unsavedText(uri: vscode.Uri): string | undefined {
  const document = documentOf(uri)
  return document?.isDirty === true ? document.getText() : undefined
}

function proposedText(before: string, { hunks }: PendingFile): string {
  if (hunks.some(({ kind }) => kind === 'delete')) return ''
  return withProposed(before, hunks) ?? before
}

// The other side of the diff is what somebody is typing into: without that text here, it would seem to be taken out.
function carried(disk: string, shown: string, after: string, { hunks }: PendingFile): ProposedText {
  const merged = shown === disk ? after : mergeTexts(disk, after, shown).text
  return { text: merged, placed: placeHunks(hunks, after, merged) }
}

async function diskText(uri: vscode.Uri): Promise<string> {
  try {
    const document = documentOf(uri)
    const bytes = await vscode.workspace.fs.readFile(uri)
    if (document === undefined) return await vscode.workspace.decode(bytes, { uri })
    return await vscode.workspace.decode(bytes, { encoding: document.encoding })
  } catch (error) {
    if (error instanceof vscode.FileSystemError && error.code === 'FileNotFound') return ''
    throw error
  }
}
