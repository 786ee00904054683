/** Accept, Reject and Why above every hunk, in files and in proposals. */

import * as vscode from 'vscode'
import type { UnsavedTexts } from '../dirty/unsaved.ts'
import type { Documents } from './documents.ts'
import { editOf, hasLines, lineThrough, type PendingHunk } from './hunk.ts'
import type { AllPending, Pending } from './pending.ts'
import { proposedPlaces } from './places.ts'
import { type ReviewTexts, reviewScheme } from './texts.ts'
import { hunkTitle, whyLine } from './words.ts'

export class Lenses implements vscode.CodeLensProvider, vscode.Disposable {
  readonly #pending: AllPending
  readonly #documents: Documents
  readonly #texts: ReviewTexts
  readonly #unsaved: UnsavedTexts
  readonly #changes = new vscode.EventEmitter<void>()
  readonly #registration: vscode.Disposable

  readonly onDidChangeCodeLenses = this.#changes.event

  constructor(pending: AllPending, documents: Documents, texts: ReviewTexts, unsaved: UnsavedTexts) {
    this.#pending = pending
    this.#documents = documents
    this.#texts = texts
    this.#unsaved = unsaved
    this.#registration = vscode.Disposable.from(
      vscode.languages.registerCodeLensProvider([{ scheme: 'file' }, { scheme: reviewScheme }], this),
      documents.onChange(() => this.#changes.fire()),
      pending.onChange(() => this.#changes.fire()),
      texts.onPlaced(() => this.#changes.fire()),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration('unturn.review')) this.#changes.fire()
      }),
    )
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    if (!vscode.workspace.getConfiguration('unturn.review').get('codeLens', true)) return []
    if (document.uri.scheme === reviewScheme) return this.#ofProposal(document)
    return [...this.#ofFile(document), ...this.#proposedFor(document)]
  }

  #ofFile(document: vscode.TextDocument): readonly vscode.CodeLens[] {
    const pending = this.#pending.of(document.uri)
    if (pending === undefined) return []
    const shown = this.#documents.in(document)
    const inText = shown.flatMap(({ first, hunk }) => lensesOf(pending, hunk, lineIn(document, first)))
    const whole = (pending.fileAt(document.uri)?.hunks ?? []).filter((hunk) => !hasLines(hunk))
    return [...whole.flatMap((hunk) => lensesOf(pending, hunk, 0)), ...inText]
  }

  /** In the file itself: where something is proposed, and what can be done about it. */
  #proposedFor(document: vscode.TextDocument): readonly vscode.CodeLens[] {
    const pending = this.#pending.of(document.uri)
    if (pending === undefined) return []
    const saved = this.#unsaved.savedOf(document) ?? document.getText()
    return pending.proposalsAt(document.uri).flatMap((file) =>
      file.hunks.flatMap((hunk) => {
        const line = lineIn(document, lineThrough(saved, document.getText(), placeOf(hunk)))
        const range = new vscode.Range(line, 0, line, 0)
        const see = {
          title: `$(lightbulb) Proposed ${hunkTitle(hunk)}: See`,
          command: 'unturn.review.openProposal',
          arguments: [pending.refOf(hunk)],
        }
        return [new vscode.CodeLens(range, see), ...lensesOf(pending, hunk, range.start.line)]
      }),
    )
  }

  #ofProposal(document: vscode.TextDocument): vscode.CodeLens[] {
    const places = proposedPlaces(this.#pending, this.#texts, document)
    return places.flatMap(({ pending, hunk, first }) => lensesOf(pending, hunk, lineIn(document, first)))
  }

  dispose(): void {
    this.#registration.dispose()
    this.#changes.dispose()
  }
}

function placeOf(hunk: PendingHunk): number {
  return hasLines(hunk) ? editOf(hunk).start : 0
}

function lineIn({ lineCount }: vscode.TextDocument, line: number): number {
  return Math.min(Math.max(0, line), lineCount - 1)
}

function lensesOf(pending: Pending, hunk: PendingHunk, line: number): readonly vscode.CodeLens[] {
  const range = new vscode.Range(line, 0, line, 0)
  const ref = pending.refOf(hunk)
  const [turn] = hunk.turns
  const title = hasLines(hunk) && hunk.kind === 'text' ? '' : `${hunkTitle(hunk)}: `
  const lens = (text: string, command: string, tooltip: string) =>
    new vscode.CodeLens(range, { title: text, command, tooltip, arguments: [ref] })
  return [
    lens(`$(check) ${title}Accept`, 'unturn.review.acceptHunk', 'Take this block as it is'),
    lens('$(discard) Reject', 'unturn.review.rejectHunk', 'Put back what stood here; your own edits stay'),
    lens(
      whyLine(turn === undefined ? undefined : pending.originOf(turn), hunk.turns.length - 1),
      'unturn.review.why',
      'Which turn wrote this, and what it was asked for',
    ),
  ]
}
