/** The folders that are open, each with its connection. */

import * as vscode from 'vscode'
import { Connection } from './connection.ts'
import type { Root, Roots } from './root.ts'

export class FolderRoots implements Roots, vscode.Disposable {
  readonly #connections = new Map<string, Connection>()
  readonly #changes = new vscode.EventEmitter<void>()
  readonly #listening: vscode.Disposable
  readonly #log: (line: string) => void

  readonly onChange = this.#changes.event

  constructor(log: (line: string) => void) {
    this.#log = log
    this.#listening = vscode.Disposable.from(
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.#follow()),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration('unturn.command')) this.retry()
      }),
    )
    this.#follow()
  }

  all(): readonly Root[] {
    return [...this.#connections.values()]
  }

  of(uri: vscode.Uri): Root | undefined {
    const folder = vscode.workspace.getWorkspaceFolder(uri)
    return folder === undefined ? undefined : this.#connections.get(folder.uri.toString())
  }

  retry(): void {
    for (const connection of this.#connections.values()) connection.retry()
  }

  #follow(): void {
    const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === 'file')
    const open = new Set(folders.map(({ uri }) => uri.toString()))
    for (const [key, connection] of this.#connections)
      if (!open.has(key)) {
        connection.dispose()
        this.#connections.delete(key)
      }
    for (const folder of folders) {
      const key = folder.uri.toString()
      if (this.#connections.has(key)) continue
      this.#connections.set(key, new Connection({ folder, command, log: this.#log }))
    }
    this.#changes.fire()
  }

  dispose(): void {
    this.#listening.dispose()
    for (const connection of this.#connections.values()) connection.dispose()
    this.#connections.clear()
    this.#changes.dispose()
  }
}

function command(): string {
  return vscode.workspace.getConfiguration('unturn').get('command', 'unturn').trim() || 'unturn'
}
