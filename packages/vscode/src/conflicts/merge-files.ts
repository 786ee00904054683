/** Files in memory for the merge editor: three to look at, and one to write. */

import * as vscode from 'vscode'

export const mergeScheme = 'unturn-merge'

interface MemoryFile {
  bytes: Uint8Array
  mtime: number
  readonly isResult: boolean
}

export class MergeFiles implements vscode.FileSystemProvider, vscode.Disposable {
  readonly #files = new Map<string, MemoryFile>()
  readonly #changes = new vscode.EventEmitter<vscode.FileChangeEvent[]>()
  readonly #writes = new vscode.EventEmitter<vscode.Uri>()
  #count = 0

  readonly onDidChangeFile = this.#changes.event
  /** Somebody saved a result. */
  readonly onWrite = this.#writes.event

  // Behind the events: whoever is handed a provider asks for them at once.
  readonly #registration = vscode.workspace.registerFileSystemProvider(mergeScheme, this, {
    isCaseSensitive: true,
  })

  /** A place of its own for every merge. */
  next(): number {
    this.#count += 1
    return this.#count
  }

  add(merge: number, side: 'base' | 'yours' | 'old' | 'result', path: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: mergeScheme, path: `/${merge}/${side}/${path}` })
    this.#files.set(uri.path, { bytes: Buffer.from(text), mtime: Date.now(), isResult: side === 'result' })
    return uri
  }

  drop(uri: vscode.Uri): void {
    this.#files.delete(uri.path)
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => {})
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const { bytes, mtime, isResult } = this.#at(uri)
    const stat = { type: vscode.FileType.File, ctime: 0, mtime, size: bytes.length }
    return isResult ? stat : { ...stat, permissions: vscode.FilePermission.Readonly }
  }

  readFile(uri: vscode.Uri): Uint8Array {
    return this.#at(uri).bytes
  }

  writeFile(uri: vscode.Uri, content: Uint8Array): void {
    const file = this.#at(uri)
    if (!file.isResult) throw vscode.FileSystemError.NoPermissions(uri)
    file.bytes = content
    file.mtime = Date.now()
    this.#changes.fire([{ type: vscode.FileChangeType.Changed, uri }])
    this.#writes.fire(uri)
  }

  #at(uri: vscode.Uri): MemoryFile {
    const file = this.#files.get(uri.path)
    if (file === undefined) throw vscode.FileSystemError.FileNotFound(uri)
    return file
  }

  readDirectory(): [string, vscode.FileType][] {
    return []
  }

  createDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri)
  }

  delete(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri)
  }

  rename(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri)
  }

  dispose(): void {
    this.#registration.dispose()
    this.#changes.dispose()
    this.#writes.dispose()
  }
}
