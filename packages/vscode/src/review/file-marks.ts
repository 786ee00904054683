/** Files with something pending, marked in the explorer and on tabs. */

import * as vscode from 'vscode'
import type { AllPending } from './pending.ts'
import { badgeOf, fileTooltip } from './words.ts'

export class FileMarks implements vscode.FileDecorationProvider, vscode.Disposable {
  readonly #pending: AllPending
  readonly #changes = new vscode.EventEmitter<vscode.Uri[]>()
  readonly #registration: vscode.Disposable
  #marked = new Map<string, vscode.Uri>()

  readonly onDidChangeFileDecorations = this.#changes.event

  constructor(pending: AllPending) {
    this.#pending = pending
    this.#registration = vscode.Disposable.from(
      vscode.window.registerFileDecorationProvider(this),
      pending.onChange(() => this.#draw()),
      pending.onFolders(() => this.#draw()),
    )
  }

  // Also those that were marked: theirs has to go.
  #draw(): void {
    const now = new Map<string, vscode.Uri>()
    for (const { root, files } of this.#pending.all)
      for (const { path } of files) {
        const uri = root.uriOf(path)
        now.set(uri.toString(), uri)
      }
    const all = new Map([...this.#marked, ...now])
    this.#marked = now
    if (all.size > 0) this.#changes.fire([...all.values()])
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    if (uri.scheme !== 'file') return undefined
    const pending = this.#pending.of(uri)
    const file = pending?.fileAt(uri)
    const hunks = [...(file?.hunks ?? []), ...(pending?.proposalsAt(uri) ?? []).flatMap((one) => one.hunks)]
    if (hunks.length === 0) return undefined
    const decoration = new vscode.FileDecoration(
      badgeOf(hunks.length),
      fileTooltip({ hunks }),
      new vscode.ThemeColor('unturn.pendingForeground'),
    )
    decoration.propagate = true
    return decoration
  }

  dispose(): void {
    this.#registration.dispose()
    this.#changes.dispose()
  }
}
