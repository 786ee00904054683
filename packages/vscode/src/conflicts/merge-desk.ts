/** Where two versions are made into one by hand. What comes out goes to the engine, or into the unsaved text it is about. */

import type { Conflict } from '@unturn/client'
import * as vscode from 'vscode'
import { putOver } from '../dirty/rebase.ts'
import type { UnsavedTexts } from '../dirty/unsaved.ts'
import { textOnDisk } from '../review/documents.ts'
import { mergeTexts } from '../review/hunk.ts'
import type { Root } from '../root.ts'
import { plainLine, textOf } from '../words.ts'
import { type MergeFiles, mergeScheme } from './merge-files.ts'
import { hasMarkers, startingText, type Versions, versionsOf } from './merge-texts.ts'

/** What a decision or a move is asked again with. */
export interface Settled {
  readonly onConflict?: 'keep' | 'overwrite' | 'markers'
  readonly results?: Record<string, string>
}

interface Merge extends Versions {
  readonly path: string
  readonly yours: string
  readonly old: string
}

export class MergeDesk implements vscode.Disposable {
  readonly #files: MergeFiles
  readonly unsaved: UnsavedTexts
  /** Results that wait for somebody, by their uri. */
  readonly #open = new Map<string, { readonly end: (text: string | undefined) => void; saved?: string }>()
  readonly #listening: vscode.Disposable

  constructor(files: MergeFiles, unsaved: UnsavedTexts) {
    this.#files = files
    this.unsaved = unsaved
    this.#listening = vscode.Disposable.from(
      files.onWrite((uri) => {
        const waiting = this.#open.get(uri.toString())
        if (waiting !== undefined) waiting.saved = Buffer.from(files.readFile(uri)).toString('utf8')
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#closed(uri)),
    )
  }

  /**
   * Asks what to do about conflicts of a decision. `undefined`: nothing.
   */
  async settle(
    root: Root,
    verb: 'accept' | 'reject',
    conflicts: readonly Conflict[],
  ): Promise<Settled | undefined> {
    const texts = conflicts.filter((conflict) => versionsOf(conflict) !== undefined)
    const canMerge = verb === 'reject' && texts.length === conflicts.length
    const take = verb === 'reject' ? 'Take the Old Text' : 'Take What Was Proposed'
    const [merge, both] = ['Merge…', 'Write Both with Markers']
    const buttons = [...(canMerge ? [merge] : []), take, ...(canMerge ? [] : [both])]
    const message = conflicts.map((conflict) => plainLine(conflict.message, 300)).join('\n')
    const chosen = await vscode.window.showWarningMessage(
      message,
      { modal: true, detail: 'Nothing was changed so far. Whatever you choose can be taken back.' },
      ...buttons,
    )
    if (chosen === take) return { onConflict: 'overwrite' }
    if (chosen === both) return { onConflict: 'markers' }
    if (chosen !== merge) return undefined
    const results = await this.resolve(root, conflicts)
    return results === undefined ? undefined : { results }
  }

  /** Merges these by hand, one after the other. `undefined`: somebody closed one without a result. */
  async resolve(root: Root, conflicts: readonly Conflict[]): Promise<Record<string, string> | undefined> {
    const results: Record<string, string> = {}
    for (const conflict of conflicts) {
      const versions = versionsOf(conflict)
      if (versions === undefined) {
        void vscode.window.showWarningMessage(
          `${plainLine(conflict.path)} cannot be merged by hand: it is no text, or too large. Nothing was changed.`,
        )
        return undefined
      }
      const names = { yours: 'Yours, as it is now', old: 'The old version' }
      const text = await this.#merge({ ...versions, ...names, path: conflict.path })
      if (text === undefined) {
        void vscode.window.showInformationMessage(
          `${plainLine(conflict.path)} was not merged, so nothing was changed in ${plainLine(root.folder.name)}.`,
        )
        return undefined
      }
      results[conflict.path] = text
    }
    return results
  }

  /** The unsaved text of a document with the file on disk; `base` is what both came from. */
  async mergeUnsaved(document: vscode.TextDocument, base: string): Promise<void> {
    const disk = await textOnDisk(document)
    const typed = document.getText()
    const path = vscode.workspace.asRelativePath(document.uri)
    if (disk === undefined) return
    const names = { yours: 'Your text, not saved yet', old: 'The file on disk' }
    const text = await this.#merge({ base, ours: typed, theirs: disk, ...names, path })
    if (text === undefined) return
    try {
      // Whoever went on typing meanwhile keeps that, too.
      await putOver(
        document,
        disk,
        (now) => (now === typed ? text : mergeTexts(typed, now, text).text),
        this.unsaved,
      )
    } catch (error) {
      void vscode.window.showErrorMessage(textOf(error))
    }
  }

  async #merge(merge: Merge): Promise<string | undefined> {
    const number = this.#files.next()
    const add = (side: 'base' | 'yours' | 'old' | 'result', text: string | null) =>
      this.#files.add(number, side, merge.path, text ?? '')
    const base = add('base', merge.base)
    const yours = add('yours', merge.ours)
    const old = add('old', merge.theirs)
    const result = add('result', startingText(merge, { theirs: merge.old.toLowerCase() }))
    const ended = new Promise<string | undefined>((end) => this.#open.set(result.toString(), { end }))
    await openEditor({ base, yours, old, result }, merge)
    const text = await ended
    for (const uri of [base, yours, old, result]) this.#files.drop(uri)
    if (text === undefined || !hasMarkers(text)) return text
    void vscode.window.showWarningMessage(
      `The result for ${plainLine(merge.path)} still has conflict markers in it, so it was not used. Nothing was changed.`,
    )
    return undefined
  }

  #closed(uri: vscode.Uri): void {
    const waiting = this.#open.get(uri.toString())
    if (waiting === undefined) return
    this.#open.delete(uri.toString())
    waiting.end(waiting.saved)
  }

  /** Saves the result that is shown, and closes it: that is the word that it is the one. */
  async useResult(uri?: vscode.Uri): Promise<void> {
    const key = (uri?.scheme === mergeScheme ? uri : this.#onlyOpen())?.toString()
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === key)
    const waiting = key === undefined ? undefined : this.#open.get(key)
    if (document === undefined || waiting === undefined) return
    waiting.saved = document.getText()
    await document.save()
    await vscode.commands.executeCommand('workbench.action.closeActiveEditor')
    this.#closed(document.uri)
  }

  #onlyOpen(): vscode.Uri | undefined {
    const [last] = [...this.#open.keys()].slice(-1)
    return last === undefined ? undefined : vscode.Uri.parse(last, true)
  }

  dispose(): void {
    this.#listening.dispose()
    for (const { end } of this.#open.values()) end(undefined)
    this.#open.clear()
  }
}

interface Places {
  readonly base: vscode.Uri
  readonly yours: vscode.Uri
  readonly old: vscode.Uri
  readonly result: vscode.Uri
}

/** The merge editor. It is no part of the API: where it is missing, the result is shown with markers, beside a diff. */
async function openEditor({ base, yours, old, result }: Places, names: Merge): Promise<void> {
  try {
    await vscode.commands.executeCommand('_open.mergeEditor', {
      base,
      input1: { uri: yours, title: names.yours, description: '', detail: '' },
      input2: { uri: old, title: names.old, description: '', detail: '' },
      output: result,
    })
    // It answers before it has opened anything.
    if (await isShown(result)) return
  } catch {
    // An editor without the command, or with other arguments.
  }
  await vscode.commands.executeCommand('vscode.diff', yours, old, `${names.yours} ↔ ${names.old}`)
  await vscode.window.showTextDocument(result, { preview: false, viewColumn: vscode.ViewColumn.Beside })
}

async function isShown(uri: vscode.Uri): Promise<boolean> {
  for (let tries = 0; tries < 60; tries += 1) {
    if (vscode.workspace.textDocuments.some((document) => document.uri.toString() === uri.toString()))
      return true
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return false
}
