/** Hunks in the text itself: new lines tinted, removed ones readable beside what came for them. */

import * as vscode from 'vscode'
import type { Documents, ShownHunk } from './documents.ts'
import { hunkDiff, removedBeside } from './words.ts'

export class Decorations implements vscode.Disposable {
  readonly #documents: Documents
  readonly #listening: vscode.Disposable
  readonly #added = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('unturn.addedLineBackground'),
    overviewRulerColor: new vscode.ThemeColor('unturn.pendingForeground'),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  })
  readonly #touched = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('unturn.touchedLineBackground'),
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  })
  readonly #removed = vscode.window.createTextEditorDecorationType({
    after: {
      color: new vscode.ThemeColor('unturn.removedTextForeground'),
      fontStyle: 'italic',
      margin: '0 0 0 3em',
    },
    overviewRulerColor: new vscode.ThemeColor('unturn.removedTextForeground'),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  })

  constructor(documents: Documents) {
    this.#documents = documents
    this.#listening = vscode.Disposable.from(
      documents.onChange((document) => this.#draw(document)),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#drawAll()),
      vscode.window.tabGroups.onDidChangeTabs(() => this.#drawAll()),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration('unturn.review')) this.#drawAll()
      }),
    )
    this.#drawAll()
  }

  #drawAll(): void {
    for (const editor of vscode.window.visibleTextEditors) this.#drawIn(editor)
  }

  #draw(document: vscode.TextDocument): void {
    for (const editor of vscode.window.visibleTextEditors)
      if (editor.document === document) this.#drawIn(editor)
  }

  #drawIn(editor: vscode.TextEditor): void {
    const { document } = editor
    if (document.uri.scheme !== 'file') return
    const shown = this.#documents.in(document)
    const lines = shown.filter(({ first, end }) => first < end)
    editor.setDecorations(
      this.#added,
      lines
        .filter(({ untouched }) => untouched)
        .map((hunk) => ({ range: rangeOf(document, hunk), hoverMessage: hoverOf(hunk) })),
    )
    editor.setDecorations(
      this.#touched,
      lines
        .filter(({ untouched }) => !untouched)
        .map((hunk) => ({ range: rangeOf(document, hunk), hoverMessage: hoverOf(hunk) })),
    )
    const isWished = vscode.workspace.getConfiguration('unturn.review').get('showRemovedLines', true)
    const isWanted = isWished && isAlone(editor)
    editor.setDecorations(this.#removed, isWanted ? shown.flatMap((hunk) => removedIn(document, hunk)) : [])
  }

  dispose(): void {
    this.#listening.dispose()
    for (const type of [this.#added, this.#touched, this.#removed]) type.dispose()
  }
}

/** Not in a diff, and not in the change peek: there the removed lines are to be seen anyway. */
function isAlone(editor: vscode.TextEditor): boolean {
  const key = editor.document.uri.toString()
  return vscode.window.tabGroups.all.some(
    ({ viewColumn, activeTab }) =>
      viewColumn === editor.viewColumn &&
      activeTab?.input instanceof vscode.TabInputText &&
      activeTab.input.uri.toString() === key,
  )
}

export function rangeOf(document: vscode.TextDocument, { first, end }: ShownHunk): vscode.Range {
  const last = Math.min(Math.max(first, end - 1), document.lineCount - 1)
  return new vscode.Range(Math.min(first, last), 0, last, document.lineAt(last).text.length)
}

function removedIn(document: vscode.TextDocument, shown: ShownHunk): readonly vscode.DecorationOptions[] {
  const { first, end, hunk } = shown
  return removedBeside(hunk, end - first).map(({ line, text }) => {
    const at = Math.min(Math.max(0, first + line), document.lineCount - 1)
    const place = document.lineAt(at).range.end
    return {
      range: new vscode.Range(place, place),
      hoverMessage: hoverOf(shown),
      renderOptions: { after: { contentText: text } },
    }
  })
}

function hoverOf({ hunk, pending }: ShownHunk): vscode.MarkdownString {
  const text = new vscode.MarkdownString(undefined, true)
  text.appendCodeblock(hunkDiff(hunk), 'diff')
  const prompt = hunk.turns.map((turn) => pending.originOf(turn)?.prompt).find((one) => one !== undefined)
  if (prompt !== undefined && prompt !== null) text.appendText(`\n${prompt.slice(0, 500)}`)
  return text
}
