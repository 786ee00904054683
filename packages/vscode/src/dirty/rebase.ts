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
  const typed = await readAnew(document, disk)
  unsaved.remember(document, disk)
  // A key that was pressed in between is in the document already, and nowhere else.
  await replaceText(document, mergeTexts(disk, document.getText(), make(typed)).text)
  await copy.drop()
  editor.selections = selections
  const [top] = visibleRanges
  if (top !== undefined) editor.revealRange(top, vscode.TextEditorRevealType.AtTop)
  if (before !== undefined && before.document !== document)
    await vscode.window.showTextDocument(before.document, { viewColumn: before.viewColumn ?? 1 })
}

/** Drops the unsaved text, and returns the last of it: somebody may be typing while the editor is asked to. */
async function readAnew(document: vscode.TextDocument, disk: string): Promise<string> {
  let typed = document.getText()
  const listening = vscode.workspace.onDidChangeTextDocument((event) => {
    const isRead = unixText(document.getText()) === unixText(disk)
    if (event.document === document && !isRead) typed = document.getText()
  })
  try {
    await vscode.commands.executeCommand('workbench.action.files.revert')
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
