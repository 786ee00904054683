/** The light bulb on a line with something pending. */

import * as vscode from 'vscode'
import type { AllPending } from './pending.ts'
import type { Places } from './places.ts'
import { reviewScheme } from './texts.ts'
import { hunkAt } from './words.ts'

const kind = vscode.CodeActionKind.QuickFix

export function registerActions(places: Places, pending: AllPending): vscode.Disposable {
  return vscode.languages.registerCodeActionsProvider(
    [{ scheme: 'file' }, { scheme: reviewScheme }],
    {
      provideCodeActions: (document, range) => {
        const place = hunkAt(places.in(document), range.start.line)
        if (place === undefined) return []
        const ref = place.pending.refOf(place.hunk)
        const count = pending.all.reduce((sum, one) => sum + one.count, 0)
        return [
          action('Accept this block', 'unturn.review.acceptHunk', ref),
          action('Reject this block', 'unturn.review.rejectHunk', ref),
          action('Why is this here?', 'unturn.review.why', ref),
          action('Accept all blocks of this file', 'unturn.review.acceptFile', document.uri),
          action('Reject all blocks of this file', 'unturn.review.rejectFile', document.uri),
          ...(count > 1 ? [action(`Review all ${count} pending blocks`, 'unturn.review.all')] : []),
        ]
      },
    },
    { providedCodeActionKinds: [kind] },
  )
}

function action(title: string, command: string, ...args: readonly unknown[]): vscode.CodeAction {
  const made = new vscode.CodeAction(`Unturn: ${title}`, kind)
  made.command = { title, command, arguments: [...args] }
  return made
}
