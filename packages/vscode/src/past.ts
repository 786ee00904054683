/** Files as they were at any point of the history, as documents that can be read and compared. */

import { UnturnRequestError } from '@unturn/client'
import * as vscode from 'vscode'
import type { Root, Roots } from './root.ts'

const scheme = 'unturn'

export interface Point {
  /** A turn, step, change or operation. */
  readonly at: string
  readonly side: 'before' | 'after'
}

interface Address extends Point {
  readonly folder: string
  readonly path: string
}

/** A document with the file as it was; empty where it was not there. */
export function pastUri(root: Root, path: string, { at, side }: Point): vscode.Uri {
  const address: Address = { folder: root.folder.uri.toString(), path, at, side }
  // The whole path, as the file itself has it: a diff of the two would otherwise be drawn as a rename.
  return vscode.Uri.from({ scheme, path: root.uriOf(path).path, query: JSON.stringify(address) })
}

/** Which file of which root a document shows; undefined for documents of others. */
export function pastOf(uri: vscode.Uri): Address | undefined {
  if (uri.scheme !== scheme) return undefined
  return JSON.parse(uri.query) as Address
}

export function registerPast(roots: Roots): vscode.Disposable {
  return vscode.workspace.registerTextDocumentContentProvider(scheme, {
    provideTextDocumentContent: async (uri) => {
      const address = pastOf(uri)
      const root = roots.all().find(({ folder }) => folder.uri.toString() === address?.folder)
      return root === undefined || address === undefined ? '' : readPast(root, address)
    },
  })
}

async function readPast(root: Root, { path, at, side }: Omit<Address, 'folder'>): Promise<string> {
  const client = await root.client()
  try {
    const file = await client.file({ path, at, side })
    if (file.text !== undefined) return file.text
    if (file.tooLarge) return `This version has ${file.size} bytes: too many to show here.\n`
    return `This version is no text. It has ${file.size} bytes.\n`
  } catch (error) {
    if (error instanceof UnturnRequestError && error.status === 404) return '' // it was not there
    throw error
  }
}

/** A text that was made for a look at a plan. It goes with the window. */
export class PlannedTexts implements vscode.Disposable {
  readonly #texts = new Map<string, string>()
  readonly #registration = vscode.workspace.registerTextDocumentContentProvider('unturn-plan', {
    provideTextDocumentContent: (uri) => this.#texts.get(uri.toString()) ?? '',
  })
  #count = 0

  /** `file` gives it name and language. */
  add(file: vscode.Uri, text: string): vscode.Uri {
    this.#count += 1
    const uri = vscode.Uri.from({ scheme: 'unturn-plan', path: file.path, query: String(this.#count) })
    this.#texts.set(uri.toString(), text)
    return uri
  }

  dispose(): void {
    this.#registration.dispose()
    this.#texts.clear()
  }
}
