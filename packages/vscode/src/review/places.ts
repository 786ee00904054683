/** Hunks by place, whatever kind of document they are shown in. */

import * as vscode from 'vscode'
import type { Documents } from './documents.ts'
import { linesOfRange, type PendingHunk } from './hunk.ts'
import type { AllPending, Pending } from './pending.ts'
import { lineStarts } from './ranges.ts'
import { addressOf, type ReviewTexts } from './texts.ts'

export interface HunkPlace {
  readonly pending: Pending
  readonly hunk: PendingHunk
  readonly first: number
  readonly end: number
}

/** In a document that shows a proposal. */
export function proposedPlaces(
  all: AllPending,
  texts: ReviewTexts,
  document: vscode.TextDocument,
): readonly HunkPlace[] {
  const address = addressOf(document.uri)
  const pending = address === undefined ? undefined : all.byFolder(address.folder)
  if (address?.proposal === undefined || pending === undefined) return []
  const proposed = texts.proposedIn(document)
  const starts = lineStarts(proposed?.text ?? '')
  const file = pending
    .proposalsAt(pending.root.uriOf(address.path))
    .find(({ proposal }) => proposal === address.proposal)
  // The text stays the same when a block of it is accepted; the block is not there any more.
  const isOpen = (id: string) => file?.hunks.some((hunk) => hunk.id === id) === true
  const inText = (proposed?.placed ?? []).flatMap(({ hunk, range }): HunkPlace | [] =>
    isOpen(hunk.id) ? { pending, hunk, ...linesOfRange(starts, range) } : [],
  )
  const whole = (file?.hunks ?? []).filter((hunk) => !inText.some((place) => place.hunk.id === hunk.id))
  return [...whole.map((hunk): HunkPlace => ({ pending, hunk, first: 0, end: 0 })), ...inText]
}

export class Places {
  readonly #pending: AllPending
  readonly #documents: Documents
  readonly #texts: ReviewTexts

  constructor(pending: AllPending, documents: Documents, texts: ReviewTexts) {
    this.#pending = pending
    this.#documents = documents
    this.#texts = texts
  }

  in(document: vscode.TextDocument): readonly HunkPlace[] {
    const proposed = proposedPlaces(this.#pending, this.#texts, document)
    return proposed.length > 0 ? proposed : this.#documents.in(document)
  }

  /** Every hunk of the file that a document shows: those without lines as well. */
  ofFile(uri: vscode.Uri): { readonly pending: Pending; readonly hunks: readonly PendingHunk[] } | undefined {
    const address = addressOf(uri)
    const pending = address === undefined ? this.#pending.of(uri) : this.#pending.byFolder(address.folder)
    if (pending === undefined) return undefined
    const file = address === undefined ? uri : pending.root.uriOf(address.path)
    const proposals = pending.proposalsAt(file)
    if (address?.proposal !== undefined)
      return {
        pending,
        hunks: proposals
          .filter(({ proposal }) => proposal === address.proposal)
          .flatMap(({ hunks }) => hunks),
      }
    return { pending, hunks: pending.fileAt(file)?.hunks ?? proposals.flatMap(({ hunks }) => hunks) }
  }

  get isPending(): boolean {
    const editor = vscode.window.activeTextEditor
    return editor !== undefined && this.in(editor.document).length > 0
  }
}
