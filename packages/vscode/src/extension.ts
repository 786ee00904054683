/** What the editor calls when the extension begins. Everything is made here, and goes with the context. */

import * as vscode from 'vscode'
import { BlameHover } from './blame/hover.ts'
import { registerConflicts } from './conflicts/index.ts'
import { registerDirty } from './dirty/index.ts'
import { registerHelp } from './help.ts'
import { FileHistory } from './history/file-history.ts'
import { PlannedTexts, registerPast } from './past.ts'
import { registerReview } from './review/index.ts'
import { FolderRoots } from './roots.ts'
import { StatusBar, showMenu } from './status-bar.ts'
import { registerTurnCommands } from './turns/commands.ts'
import { Histories } from './turns/history.ts'
import { Moves } from './turns/moves.ts'
import { PlannedLook } from './turns/planned-look.ts'
import { TurnsView } from './turns/tree-view.ts'

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Unturn', { log: true })
  const write = (line: string) => log.info(line)
  const roots = new FolderRoots(write)
  const histories = new Histories(roots, write)
  const texts = new PlannedTexts()
  const look = new PlannedLook()
  const merging = registerConflicts(context)
  const moves = new Moves(texts, look, (root, conflicts) => merging.resolve(root, conflicts))
  const view = new TurnsView(histories)
  context.subscriptions.push(
    log,
    registerPast(roots),
    texts,
    look,
    view,
    registerTurnCommands({ roots, histories, moves, view }),
    vscode.commands.registerCommand('unturn.menu', () => showMenu(roots, histories)),
    new StatusBar(roots, histories),
    new FileHistory(roots, histories),
    new BlameHover(roots),
    registerHelp(roots, histories, log),
    histories,
    roots,
  )
  registerReview(context, roots, merging, write)
  registerDirty(context, roots, merging)
}

export function deactivate(): void {}
