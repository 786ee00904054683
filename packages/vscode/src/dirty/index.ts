/** Files that change on disk below text that is not saved: says so, and offers a merge. */

import * as vscode from 'vscode'
import type { MergeDesk } from '../conflicts/merge-desk.ts'
import { documentOf, textOnDisk } from '../review/documents.ts'
import { mergeTexts, unixText } from '../review/hunk.ts'
import type { Roots } from '../root.ts'
import { plainLine, promptLine, textOf } from '../words.ts'
import { rebase } from './rebase.ts'
import { offerCopies } from './unsaved.ts'

export function registerDirty(
  context: vscode.ExtensionContext,
  roots: Roots,
  merging: MergeDesk,
): vscode.Disposable {
  const guard = new DirtyGuard(roots, merging)
  context.subscriptions.push(
    guard,
    vscode.commands.registerCommand('unturn.dirty.merge', (uri?: unknown) => guard.merge(uri)),
    vscode.commands.registerCommand('unturn.dirty.compare', (uri?: unknown) => compare(uri)),
  )
  void offerCopies(context.storageUri)
  return guard
}

// A writer may need several writes, and the review's own merge comes right after its write.
const settleMs = 700

class DirtyGuard implements vscode.Disposable {
  readonly #roots: Roots
  readonly #merging: MergeDesk
  readonly #listening: vscode.Disposable[] = []
  readonly #waiting = new Map<string, NodeJS.Timeout>()
  /** The text on disk that somebody was told of. */
  readonly #told = new Map<string, string>()

  constructor(roots: Roots, merging: MergeDesk) {
    this.#roots = roots
    this.#merging = merging
    for (const document of vscode.workspace.textDocuments) this.#remember(document)
    this.#listening.push(
      vscode.workspace.onDidOpenTextDocument((document) => this.#remember(document)),
      vscode.workspace.onDidSaveTextDocument((document) => this.#remember(document)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.#rememberLater(document)),
      vscode.workspace.onDidCloseTextDocument(({ uri, isClosed }) => {
        if (isClosed) this.#forget(uri) // otherwise only its language has changed
      }),
      roots.onChange(() => this.#watch()),
    )
    this.#watch()
  }

  #watchers: vscode.Disposable[] = []

  #watch(): void {
    for (const watcher of this.#watchers) watcher.dispose()
    this.#watchers = this.#roots.all().map(({ folder }) => {
      const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(folder, '**/*'))
      watcher.onDidChange((uri) => this.#changed(uri))
      watcher.onDidCreate((uri) => this.#changed(uri))
      return watcher
    })
  }

  #remember(document: vscode.TextDocument): void {
    if (document.uri.scheme !== 'file' || document.isDirty) return
    const key = document.uri.toString()
    this.#merging.unsaved.remember(document, document.getText())
    this.#told.delete(key)
  }

  // The editor tells of an edit before it says that the text is dirty now. Taken for saved, the first letter that
  // somebody typed would be missing from what is his own.
  #rememberLater(document: vscode.TextDocument): void {
    if (document.isDirty || document.uri.scheme !== 'file') return
    const { version } = document
    setTimeout(() => {
      if (document.version === version && !document.isClosed) this.#remember(document)
    }, 100)
  }

  #forget(uri: vscode.Uri): void {
    const key = uri.toString()
    this.#merging.unsaved.forget(uri)
    this.#told.delete(key)
    clearTimeout(this.#waiting.get(key))
    this.#waiting.delete(key)
  }

  #changed(uri: vscode.Uri): void {
    const key = uri.toString()
    if (documentOf(uri)?.isDirty !== true) return
    clearTimeout(this.#waiting.get(key))
    this.#waiting.set(
      key,
      setTimeout(() => {
        this.#waiting.delete(key)
        void this.#tell(uri)
      }, settleMs),
    )
  }

  async #tell(uri: vscode.Uri): Promise<void> {
    const document = documentOf(uri)
    const key = uri.toString()
    if (document?.isDirty !== true || !isWished()) return
    const disk = await textOnDisk(document)
    const base = this.#merging.unsaved.savedOf(document)
    const isSame = (a: string | undefined) => a !== undefined && unixText(a) === unixText(disk ?? '')
    if (disk === undefined || isSame(base) || isSame(document.getText()) || this.#told.get(key) === disk)
      return
    this.#told.set(key, disk)
    const name = plainLine(vscode.workspace.asRelativePath(uri))
    const who = await this.#writer(uri)
    const canMerge = base !== undefined
    const overlaps = canMerge ? mergeTexts(base, document.getText(), disk).overlaps : 0
    const [merge, look] = [overlaps > 0 ? 'Merge by Hand…' : 'Merge', 'Compare']
    const what = overlaps > 0 ? ' Both have changed the same lines.' : ''
    const chosen = await vscode.window.showWarningMessage(
      `${name} was changed on disk${who}, and you have text in it that is not saved. Your text is untouched.${what}`,
      ...(canMerge ? [merge, look] : [look]),
    )
    if (chosen === merge) await this.merge(uri)
    else if (chosen === look) await compare(uri)
  }

  async #writer(uri: vscode.Uri): Promise<string> {
    const root = this.#roots.of(uri)
    const path = root?.pathOf(uri)
    if (root === undefined || path === undefined || root.state !== 'connected') return ''
    try {
      const client = await root.client()
      const { changes, prompts } = await client.changes({ file: [path], limit: 1 })
      const [change] = changes
      const isFresh = change !== undefined && Date.now() - Date.parse(change.at) < 60_000
      if (!isFresh || change.turn === null) return ''
      return ` by ${plainLine(change.actor, 40)} (“${promptLine(prompts[change.turn], 60)}”)`
    } catch {
      return '' // who it was is a courtesy; that it was, is not
    }
  }

  async merge(what: unknown): Promise<void> {
    const uri = what instanceof vscode.Uri ? what : vscode.window.activeTextEditor?.document.uri
    const document = uri === undefined ? undefined : documentOf(uri)
    const base = document === undefined ? undefined : this.#merging.unsaved.savedOf(document)
    if (document === undefined || base === undefined || !document.isDirty) {
      void vscode.window.showInformationMessage(
        'There is no unsaved text here to merge with the file on disk.',
      )
      return
    }
    try {
      const result = await rebase(document, base, this.#merging.unsaved)
      if (result === 'overlaps') await this.#merging.mergeUnsaved(document, base)
      else if (result === 'merged')
        vscode.window.setStatusBarMessage('$(git-merge) Merged; your text is still not saved', 5_000)
    } catch (error) {
      void vscode.window.showErrorMessage(textOf(error))
    }
  }

  dispose(): void {
    for (const one of [...this.#listening, ...this.#watchers]) one.dispose()
    for (const timer of this.#waiting.values()) clearTimeout(timer)
  }
}

function isWished(): boolean {
  return vscode.workspace.getConfiguration('unturn').get('offerMerge', true)
}

/** The file as it is on disk beside the text that is not saved. */
async function compare(what: unknown): Promise<void> {
  const uri = what instanceof vscode.Uri ? what : vscode.window.activeTextEditor?.document.uri
  if (uri === undefined) return
  await vscode.window.showTextDocument(uri)
  await vscode.commands.executeCommand('workbench.files.action.compareWithSaved')
}
