/** For whoever has nothing to see yet: what is missing, and what to do about it. */

import * as vscode from 'vscode'
import type { Roots } from './root.ts'
import type { FolderRoots } from './roots.ts'
import { findServer } from './server-address.ts'
import { chooseRoot } from './turns/commands.ts'
import type { Histories } from './turns/history.ts'
import { textOf } from './words.ts'

/** What the welcome of the view speaks about. */
type Stage = 'no-folder' | 'connecting' | 'no-command' | 'offline' | 'empty' | 'ready'

export function registerHelp(
  roots: FolderRoots,
  histories: Histories,
  log: vscode.LogOutputChannel,
): vscode.Disposable {
  const tellStage = () => {
    const sessions = histories.workspaces().flatMap(({ status }) => status?.sessions ?? [])
    setContext('unturn.stage', stageOf(roots, histories))
    setContext(
      'unturn.canUndo',
      sessions.some(({ active, head }) => active && head !== null),
    )
    setContext(
      'unturn.canRedo',
      sessions.some(({ active, reverted }) => active && reverted.length > 0),
    )
  }
  tellStage()
  return vscode.Disposable.from(
    histories.onChange(tellStage),
    vscode.commands.registerCommand('unturn.reconnect', () => roots.retry()),
    vscode.commands.registerCommand('unturn.showLog', () => log.show()),
    vscode.commands.registerCommand('unturn.connectAgent', connectAgent),
    vscode.commands.registerCommand('unturn.install', install),
    vscode.commands.registerCommand('unturn.openStudio', () => openStudio(roots)),
    vscode.commands.registerCommand('unturn.openWalkthrough', () =>
      vscode.commands.executeCommand('workbench.action.openWalkthrough', 'unturn.unturn-vscode#unturn.start'),
    ),
  )
}

function setContext(name: string, value: unknown): void {
  void vscode.commands.executeCommand('setContext', name, value)
}

function stageOf(roots: Roots, histories: Histories): Stage {
  const all = roots.all()
  if (all.length === 0) return 'no-folder'
  if (histories.workspaces().some(({ status }) => (status?.sessions.length ?? 0) > 0)) return 'ready'
  if (all.some(({ lacksCommand }) => lacksCommand)) return 'no-command'
  const states = all.map(({ state }) => state)
  if (states.includes('offline')) return 'offline'
  return states.includes('connecting') ? 'connecting' : 'empty'
}

// Typed, not run: it changes settings of other programs, so the last key is the user's.
function connectAgent(): void {
  typed('unturn init')
}

function install(): void {
  typed('npm install -g unturn')
}

function typed(line: string): void {
  const terminal = vscode.window.createTerminal({ name: 'Unturn' })
  terminal.show()
  terminal.sendText(line, false)
}

async function openStudio(roots: Roots): Promise<void> {
  const root = await chooseRoot(roots)
  if (root === undefined) return
  try {
    const command = vscode.workspace.getConfiguration('unturn').get('command', 'unturn')
    const { url, token, workspace } = await findServer(command, root.folder.uri.fsPath)
    // The editor of a remote machine makes the port reachable here. The token stands behind the #, and stays in the browser.
    const reachable = await vscode.env.asExternalUri(vscode.Uri.parse(url))
    const place = workspace === null ? '' : `&workspace=${encodeURIComponent(workspace)}`
    await vscode.env.openExternal(reachable.with({ fragment: `token=${token}${place}` }))
  } catch (error) {
    void vscode.window.showErrorMessage(textOf(error))
  }
}
