/**
 * Unsaved text over a file that has changed on disk. The editor would refuse to save it ("the content of the file is
 * newer") for as long as it has not read the new file, and reading it would drop the unsaved text. Here both are merged:
 * the editor reads the file, and gets the unsaved edits back on top of it.
 */

import { diffLines, splitLines } from '@unturn/core/text'
import * as vscode from 'vscode'
import { textOnDisk } from '../review/documents.ts'
import { mergeTexts, unixText } from '../review/hunk.ts'
import type { UnsavedTexts } from './unsaved.ts'

/** `overlaps`: both have changed the same lines; nothing was done. `gone`: there is no file any more. */
export type Rebased = 'merged' | 'overlaps' | 'gone' | 'clean'

/** `base` is the text that the document was saved with, or read from, before somebody typed. */
export async function rebase(
  document: vscode.TextDocument,
  base: string,
  unsaved: UnsavedTexts,
): Promise<Rebased> {
  if (!document.isDirty) return 'clean'
  const disk = await textOnDisk(document)
  if (disk === undefined) return 'gone'
  if (mergeTexts(base, document.getText(), disk).overlaps > 0) return 'overlaps'
  await putOver(document, disk, (typed) => mergeTexts(base, typed, disk).text, unsaved)
  return 'merged'
}

/** The editor reads the file anew, and then has what `make` makes of the text that was typed, unsaved. */
export async function putOver(
  document: vscode.TextDocument,
  disk: string,
  make: (typed: string) => string,
  unsaved: UnsavedTexts,
): Promise<void> {
  const before = vscode.window.activeTextEditor
  const copy = await unsaved.keep(document)
  const editor = await vscode.window.showTextDocument(document, { preview: false, preserveFocus: false })
  // The command is about the editor that is active. Were it another one, its unsaved text would go.
  if (vscode.window.activeTextEditor?.document !== document)
    throw new Error(`${document.fileName} could not be brought to the front. Your text is as it was.`)
  const { selections, visibleRanges } = editor
  const others = textsOfOthers(document)
  const typed = await readAnew(document, disk)
  await bringBack(others)
  unsaved.remember(document, disk)
  await replaceText(document, withLate(disk, document.getText(), make(typed)))
  await copy.drop()
  editor.selections = selections
  const [top] = visibleRanges
  if (top !== undefined) editor.revealRange(top, vscode.TextEditorRevealType.AtTop)
  if (before !== undefined && before.document !== document)
    await vscode.window.showTextDocument(before.document, { viewColumn: before.viewColumn ?? 1 })
}

interface OtherText {
  readonly other: vscode.TextDocument
  readonly text: string
}

function textsOfOthers(document: vscode.TextDocument): readonly OtherText[] {
  const others = vscode.workspace.textDocuments.filter((one) => one !== document && one.isDirty)
  return others.map((other) => ({ other, text: other.getText() }))
}

// Whoever went to another editor in this very moment had that one read anew. Its text was not ours to drop.
async function bringBack(others: readonly OtherText[]): Promise<void> {
  for (const { other, text } of others)
    if (!other.isDirty && !other.isClosed && other.getText() !== text) await replaceText(other, text)
}

// A key that was pressed after the editor had read the file is in the document already, and nowhere else.
function withLate(disk: string, now: string, wanted: string): string {
  if (unixText(now) === unixText(disk)) return wanted
  const { text, overlaps } = mergeTexts(disk, now, wanted)
  return overlaps === 0 ? text : wanted
}

const readWithinMs = 5_000

/**
 * Drops the unsaved text, and returns the last of it: somebody may be typing while the editor is asked to. Comes back
 * once the document is the file: the command is done before this process hears of it, and an edit made in between would
 * be made in the old text, and go with it.
 */
async function readAnew(document: vscode.TextDocument, disk: string): Promise<string> {
  let typed = document.getText()
  const isRead = () => unixText(document.getText()) === unixText(disk)
  let heard = () => {}
  const listening = vscode.workspace.onDidChangeTextDocument((event) => {
    if (event.document !== document) return
    if (isRead()) heard()
    else typed = document.getText()
  })
  try {
    const read = new Promise<void>((resolve) => {
      heard = resolve
    })
    await vscode.commands.executeCommand('workbench.action.files.revert')
    if (!isRead()) await Promise.race([read, new Promise((resolve) => setTimeout(resolve, readWithinMs))])
    if (!isRead() && document.isDirty)
      throw new Error(
        `The editor did not read ${document.fileName} anew. Your text is as it was, and not saved.`,
      )
  } finally {
    listening.dispose()
  }
  return typed
}

/** Only the lines that differ are replaced: the cursor, and whoever follows the text, stay where they are. */
export async function replaceText(document: vscode.TextDocument, text: string): Promise<void> {
  const ending = document.eol === vscode.EndOfLine.CRLF ? '\r\n' : '\n'
  const old = splitLines(unixText(document.getText()))
  const fresh = splitLines(unixText(text))
  const edit = new vscode.WorkspaceEdit()
  const last = document.lineAt(document.lineCount - 1).range.end
  const at = (line: number) => (line < old.length ? new vscode.Position(line, 0) : last)
  for (const { start, end, from, to } of diffLines(old, fresh))
    edit.replace(
      document.uri,
      new vscode.Range(at(start), at(end)),
      fresh.slice(from, to).join('').replaceAll('\n', ending),
    )
  if (edit.size > 0 && !(await vscode.workspace.applyEdit(edit)))
    throw new Error(`The editor did not take the merged text of ${document.fileName}`)
}
