/** Texts that are not saved: what they came from, and a copy on disk for the moment in which they are nowhere else. */

import { createHash } from 'node:crypto'
import * as vscode from 'vscode'

export class UnsavedTexts {
  readonly #storage: vscode.Uri | undefined
  /** What every open document was when it was last the same as its file. */
  readonly #saved = new Map<string, string>()

  /** `storage`: where extensions keep what belongs to a workspace. Without one there is no folder, and nothing to merge. */
  constructor(storage: vscode.Uri | undefined) {
    this.#storage = storage
  }

  /** The text that a document was saved with, or read from; undefined for one that was unsaved from the start. */
  savedOf({ uri }: vscode.TextDocument): string | undefined {
    return this.#saved.get(uri.toString())
  }

  remember({ uri }: vscode.TextDocument, saved: string): void {
    this.#saved.set(uri.toString(), saved)
  }

  forget(uri: vscode.Uri): void {
    this.#saved.delete(uri.toString())
  }

  /** Until `drop` is called: should this process die in between, the text is found again. */
  async keep(document: vscode.TextDocument): Promise<{ readonly drop: () => Promise<void> }> {
    if (this.#storage === undefined) return { drop: async () => {} }
    const place = copyOf(this.#storage, document)
    await vscode.workspace.fs.createDirectory(vscode.Uri.joinPath(place, '..'))
    await vscode.workspace.fs.writeFile(place, Buffer.from(document.getText()))
    return { drop: () => dropped(place) }
  }
}

function copyOf(storage: vscode.Uri, { uri }: vscode.TextDocument): vscode.Uri {
  const name = createHash('sha256').update(uri.toString()).digest('hex').slice(0, 12)
  return vscode.Uri.joinPath(storage, 'unsaved', name, uri.path.split('/').at(-1) ?? 'text')
}

async function dropped(place: vscode.Uri): Promise<void> {
  await vscode.workspace.fs.delete(vscode.Uri.joinPath(place, '..'), { recursive: true })
}

/** What a process that died has left. */
export async function offerCopies(storage: vscode.Uri | undefined): Promise<void> {
  if (storage === undefined) return
  const folder = vscode.Uri.joinPath(storage, 'unsaved')
  const places = await copiesBelow(folder)
  if (places.length === 0) return
  const names = places.map((place) => place.path.split('/').at(-1)).join(', ')
  const open = 'Open'
  const chosen = await vscode.window.showWarningMessage(
    `The editor ended while Unturn merged unsaved text of ${names}. The text was kept.`,
    open,
    'Delete',
  )
  if (chosen === undefined) return
  for (const place of places) {
    if (chosen === open) await vscode.window.showTextDocument(await untitledWith(place), { preview: false })
    await dropped(place)
  }
}

async function copiesBelow(folder: vscode.Uri): Promise<readonly vscode.Uri[]> {
  try {
    const places: vscode.Uri[] = []
    for (const [name] of await vscode.workspace.fs.readDirectory(folder)) {
      const inside = vscode.Uri.joinPath(folder, name)
      for (const [file] of await vscode.workspace.fs.readDirectory(inside))
        places.push(vscode.Uri.joinPath(inside, file))
    }
    return places
  } catch (error) {
    if (error instanceof vscode.FileSystemError) return [] // none was ever kept
    throw error
  }
}

async function untitledWith(place: vscode.Uri): Promise<vscode.TextDocument> {
  const content = Buffer.from(await vscode.workspace.fs.readFile(place)).toString('utf8')
  return vscode.workspace.openTextDocument({ content })
}
