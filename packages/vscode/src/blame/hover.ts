/** Who wrote this line: the turn and its prompt, in a hover. Lines that no agent wrote are left alone. */

import type { BlameLine } from '@unturn/client'
import * as vscode from 'vscode'
import type { Root, Roots, WorkspaceEvent } from '../root.ts'
import type { TurnAddress } from '../turns/commands.ts'
import { plainLine, timeAgo } from '../words.ts'
import { matchLines } from './lines.ts'

const mostKept = 20

export class BlameHover implements vscode.HoverProvider, vscode.Disposable {
  readonly #roots: Roots
  readonly #disposables: vscode.Disposable[] = []
  readonly #listening = new Map<Root, vscode.Disposable>()
  readonly #kept = new Map<string, Promise<readonly BlameLine[]>>()

  constructor(roots: Roots) {
    this.#roots = roots
    this.#disposables.push(
      vscode.languages.registerHoverProvider({ scheme: 'file' }, this),
      roots.onChange(() => this.#follow()),
    )
    this.#follow()
  }

  #follow(): void {
    const roots = new Set(this.#roots.all())
    for (const [root, listening] of this.#listening)
      if (!roots.has(root)) {
        listening.dispose()
        this.#listening.delete(root)
      }
    for (const root of roots)
      if (!this.#listening.has(root))
        this.#listening.set(
          root,
          root.onEvent((event) => this.#hear(event)),
        )
  }

  // Nearly everything that happens changes who wrote what; a turn that merely begins does not.
  #hear(event: WorkspaceEvent): void {
    if (event.type !== 'turn.began' && event.type !== 'step.began') this.#kept.clear()
  }

  async provideHover(
    document: vscode.TextDocument,
    position: vscode.Position,
  ): Promise<vscode.Hover | undefined> {
    if (!vscode.workspace.getConfiguration('unturn').get('blame.hover', true)) return undefined
    const root = this.#roots.of(document.uri)
    const path = root?.pathOf(document.uri)
    if (root === undefined || path === undefined || root.state !== 'connected') return undefined
    const recorded = await this.#blame(root, path)
    const shown = document.getText().split(/\r\n|\r|\n/)
    const map = matchLines(
      recorded.map(({ text }) => text.replace(/[\r\n]+$/, '')),
      shown,
    )
    const at = map[position.line]
    const line = at === undefined ? undefined : recorded[at]
    if (line === undefined || line.by !== 'agent') return undefined
    return new vscode.Hover(wordsOf(root, line), document.lineAt(position.line).range)
  }

  /** Of a file that was never captured: nothing. */
  #blame(root: Root, path: string): Promise<readonly BlameLine[]> {
    const key = `${root.folder.uri}\0${path}`
    const known = this.#kept.get(key)
    if (known !== undefined) return known
    const asked = root
      .client()
      .then((client) => client.blame(path))
      .then(({ lines }) => lines)
      .catch(() => [])
    if (this.#kept.size >= mostKept) this.#kept.clear()
    this.#kept.set(key, asked)
    return asked
  }

  dispose(): void {
    for (const one of [...this.#disposables, ...this.#listening.values()]) one.dispose()
  }
}

function wordsOf(root: Root, { agent, prompt, session, turn, at }: BlameLine): vscode.MarkdownString {
  const text = new vscode.MarkdownString('', true)
  text.isTrusted = { enabledCommands: ['unturn.showTurn', 'unturn.openTurnOf', 'unturn.rollbackTurnOf'] }
  text.appendMarkdown('$(discard) ')
  text.appendText(`${plainLine(agent ?? 'agent')}${at === null ? '' : ` · ${timeAgo(at, Date.now())}`}`)
  text.appendMarkdown('\n\n> ')
  // Text, not Markdown: a prompt must not be able to draw links or pictures here.
  text.appendText(plainLine(prompt ?? '(no prompt)', 300))
  if (turn === null || session === null) return text
  const address: TurnAddress = { folder: root.folder.uri.toString(), session, turn }
  const link = (label: string, command: string) =>
    `[${label}](command:${command}?${encodeURIComponent(JSON.stringify([address]))})`
  text.appendMarkdown(
    `\n\n${link('Show the turn', 'unturn.showTurn')} · ${link('All its changes', 'unturn.openTurnOf')} · ${link('Roll back only this turn …', 'unturn.rollbackTurnOf')}`,
  )
  return text
}
