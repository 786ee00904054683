/** One item: where the head stands, how many turns are undone, how much waits for review, and whether an agent is at work. */

import * as vscode from 'vscode'
import type { Root, Roots } from './root.ts'
import { statusText } from './status-text.ts'
import { chooseRoot } from './turns/commands.ts'
import type { Histories } from './turns/history.ts'

export class StatusBar implements vscode.Disposable {
  readonly #roots: Roots
  readonly #histories: Histories
  readonly #item = vscode.window.createStatusBarItem('unturn.status', vscode.StatusBarAlignment.Left, 40)
  readonly #listening: vscode.Disposable
  #drawing = 0

  constructor(roots: Roots, histories: Histories) {
    this.#roots = roots
    this.#histories = histories
    this.#item.name = 'Unturn'
    this.#item.command = 'unturn.menu'
    const draw = () => void this.#draw()
    this.#listening = vscode.Disposable.from(
      histories.onChange(draw),
      vscode.window.onDidChangeActiveTextEditor(draw),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration('unturn.statusBar')) draw()
      }),
    )
    draw()
  }

  async #draw(): Promise<void> {
    this.#drawing += 1
    const drawing = this.#drawing
    const root = this.#root()
    const isWanted = vscode.workspace.getConfiguration('unturn').get('statusBar.visible', true)
    if (root === undefined || !isWanted) return this.#item.hide()
    const history = this.#histories.of(root)
    const session = history?.status?.sessions.find(({ active }) => active)
    const tree = session === undefined ? undefined : await history?.tree(session.id).catch(() => undefined)
    if (drawing !== this.#drawing) return // somebody asked again meanwhile
    const { text, tooltip, isBad } = statusText({
      state: root.state,
      trouble: root.trouble,
      session,
      head: tree?.turns.find(({ head }) => head)?.prompt ?? undefined,
      pending: history?.status?.pendingHunks ?? 0,
    })
    this.#item.text = text
    this.#item.tooltip = tooltip
    this.#item.backgroundColor = isBad ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined
    this.#item.show()
  }

  #root(): Root | undefined {
    const uri = vscode.window.activeTextEditor?.document.uri
    return (uri === undefined ? undefined : this.#roots.of(uri)) ?? this.#roots.all()[0]
  }

  dispose(): void {
    this.#listening.dispose()
    this.#item.dispose()
  }
}

interface MenuItem extends vscode.QuickPickItem {
  readonly command: string
}

/** What the item offers when it is clicked. */
export async function showMenu(roots: Roots, histories: Histories): Promise<void> {
  const root = await chooseRoot(roots)
  if (root === undefined) return
  const status = histories.of(root)?.status
  const session = status?.sessions.find(({ active }) => active)
  const items: readonly MenuItem[] = [
    ...(root.state === 'offline'
      ? [
          { label: '$(refresh) Connect Again', description: root.trouble ?? '', command: 'unturn.reconnect' },
          { label: '$(output) Show the Log', command: 'unturn.showLog' },
        ]
      : []),
    ...(session === undefined || session.head === null
      ? []
      : [{ label: '$(discard) Undo the Last Turn …', command: 'unturn.undo' }]),
    ...(session === undefined || session.reverted.length === 0
      ? []
      : [
          { label: '$(redo) Redo …', command: 'unturn.redo' },
          { label: '$(redo) Redo Everything …', command: 'unturn.redoAll' },
        ]),
    { label: '$(list-tree) Show the Turns', command: 'unturn.turns.focus' },
    { label: '$(history) History of This File', command: 'unturn.fileHistory.focus' },
    { label: '$(link-external) Open Studio in the Browser', command: 'unturn.openStudio' },
  ]
  const picked = await vscode.window.showQuickPick(items, { title: 'Unturn' })
  if (picked !== undefined) await vscode.commands.executeCommand(picked.command)
}
