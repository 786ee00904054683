/**
 * The history of the file in the editor: every change of it with turn and prompt. A view of our own below the explorer's
 * Timeline, since only the editor's makers may add entries there (the API for it is proposed).
 */

import type { Change } from '@unturn/client'
import * as vscode from 'vscode'
import type { Root, Roots } from '../root.ts'
import type { Histories, History } from '../turns/history.ts'
import type { FileNode } from '../turns/nodes.ts'
import { plainLine, promptLine, shortAge } from '../words.ts'

const most = 200

/** One row: what one turn, or one edit of the user's, did to the file. */
export interface FileEntry extends FileNode {
  readonly prompt: string | null
  readonly actor: string
  readonly date: string
}

export class FileHistory implements vscode.TreeDataProvider<FileEntry>, vscode.Disposable {
  readonly #roots: Roots
  readonly #histories: Histories
  readonly #changes = new vscode.EventEmitter<undefined>()
  readonly #disposables: vscode.Disposable
  readonly #view: vscode.TreeView<FileEntry>
  #file: vscode.Uri | undefined

  readonly onDidChangeTreeData = this.#changes.event

  constructor(roots: Roots, histories: Histories) {
    this.#roots = roots
    this.#histories = histories
    this.#view = vscode.window.createTreeView('unturn.fileHistory', { treeDataProvider: this })
    this.#disposables = vscode.Disposable.from(
      this.#view,
      this.#changes,
      vscode.window.onDidChangeActiveTextEditor((editor) => this.#show(editor?.document.uri)),
      histories.onChange(() => this.#changes.fire(undefined)),
    )
    this.#show(vscode.window.activeTextEditor?.document.uri)
  }

  // An editor without a file of ours (a diff, the output) leaves the file that was there before.
  #show(uri: vscode.Uri | undefined): void {
    if (uri === undefined || this.#roots.of(uri) === undefined) return
    if (uri.toString() === this.#file?.toString()) return
    this.#file = uri
    this.#view.description = uri.path.split('/').at(-1) ?? ''
    this.#changes.fire(undefined)
  }

  getTreeItem(entry: FileEntry): vscode.TreeItem {
    return itemOf(entry)
  }

  async getChildren(entry?: FileEntry): Promise<FileEntry[]> {
    if (entry !== undefined || this.#file === undefined) return []
    const root = this.#roots.of(this.#file)
    const path = root?.pathOf(this.#file)
    const history = root === undefined ? undefined : this.#histories.of(root)
    this.#view.message = ''
    if (root === undefined || path === undefined || history === undefined || root.state !== 'connected')
      return []
    const entries = await entriesOf(root, history, path)
    if (entries.length === 0) this.#view.message = 'No change of this file has been recorded.'
    return entries
  }

  dispose(): void {
    this.#disposables.dispose()
  }
}

async function entriesOf(root: Root, history: History, path: string): Promise<FileEntry[]> {
  const client = await root.client()
  const { changes, prompts } = await client.changes({ file: path, everybody: true, limit: most })
  return joined(changes).map((change) => ({
    kind: 'file',
    history,
    parent: undefined,
    path: change.path,
    changeKind: change.kind,
    additions: change.additions,
    deletions: change.deletions,
    at: change.turn ?? change.id,
    turn: change.turn ?? undefined,
    isReverted: false,
    prompt: change.turn === null ? null : (prompts[change.turn] ?? null),
    actor: change.actor,
    date: change.at,
  }))
}

/** Several steps of one turn are one row. */
function joined(changes: readonly Change[]): readonly Change[] {
  const rows: Change[] = []
  for (const change of changes) {
    const at = change.turn === null ? -1 : rows.findIndex(({ turn }) => turn === change.turn)
    const known = rows[at]
    if (known === undefined) rows.push(change)
    else
      rows[at] = {
        ...known,
        additions: known.additions + change.additions,
        deletions: known.deletions + change.deletions,
      }
  }
  return rows
}

function itemOf(entry: FileEntry): vscode.TreeItem {
  const { actor, prompt, additions, deletions, date, turn } = entry
  const byTurn = turn !== undefined
  const label = byTurn ? promptLine(prompt) : actor === 'user' ? 'You' : 'Undo, redo or review'
  const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.None)
  item.iconPath = new vscode.ThemeIcon(byTurn ? 'discard' : actor === 'user' ? 'edit' : 'history')
  item.description = [
    `+${additions} −${deletions}`,
    ...(byTurn ? [plainLine(actor)] : []),
    shortAge(date, Date.now()),
  ].join(' · ')
  item.tooltip = byTurn ? plainLine(prompt ?? '(no prompt)', 400) : label
  item.contextValue = byTurn ? 'file.done' : 'file'
  item.command = { command: 'unturn.openFileChange', title: 'Show What Changed', arguments: [entry] }
  return item
}
