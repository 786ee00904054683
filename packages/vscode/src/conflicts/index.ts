/** Conflicts: two versions of a file, made into one by hand. */

import * as vscode from 'vscode'
import { UnsavedTexts } from '../dirty/unsaved.ts'
import { MergeDesk } from './merge-desk.ts'
import { MergeFiles } from './merge-files.ts'

export type { MergeDesk, Settled } from './merge-desk.ts'

/** The desk is handed on to whoever meets a conflict: review, unsaved texts, undo and its like. */
export function registerConflicts(context: vscode.ExtensionContext): MergeDesk {
  const files = new MergeFiles()
  const desk = new MergeDesk(files, new UnsavedTexts(context.storageUri))
  context.subscriptions.push(
    files,
    desk,
    vscode.commands.registerCommand('unturn.conflicts.useResult', (uri?: unknown) =>
      desk.useResult(uri instanceof vscode.Uri ? uri : undefined),
    ),
  )
  return desk
}
