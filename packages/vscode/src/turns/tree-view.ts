/** The view: roots (where there are several), sessions, turns, branches, the user's own edits, and files. */

import type { TreeTurn } from '@unturn/client'
import * as vscode from 'vscode'
import type { Histories, History } from './history.ts'
import {
  type BranchNode,
  type Changed,
  commandsOf,
  decorationScheme,
  type FileNode,
  filesOf,
  itemOf,
  type Node,
  type SessionNode,
  type StepNode,
} from './nodes.ts'
import { type Row, rowsOf } from './rows.ts'

const firstLimit = 200

export class TurnsView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly #histories: Histories
  readonly #changes = new vscode.EventEmitter<Node | undefined>()
  readonly #limits = new Map<string, number>()
  readonly #disposables: vscode.Disposable
  readonly view: vscode.TreeView<Node>

  readonly onDidChangeTreeData = this.#changes.event

  constructor(histories: Histories) {
    this.#histories = histories
    this.view = vscode.window.createTreeView('unturn.turns', {
      treeDataProvider: this,
      showCollapseAll: true,
    })
    this.#disposables = vscode.Disposable.from(
      this.view,
      this.#changes,
      histories.onChange(() => this.refresh()),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration('unturn.turns')) this.refresh()
      }),
      vscode.window.registerFileDecorationProvider({
        provideFileDecoration: (uri) =>
          uri.scheme === decorationScheme
            ? { color: new vscode.ThemeColor('disabledForeground'), tooltip: 'undone' }
            : undefined,
      }),
    )
  }

  refresh(): void {
    const histories = this.#histories.workspaces()
    // Above the rows only: where there are none, a message would take the place of the welcome and its buttons.
    const hasRows = histories.some(({ status }) => (status?.sessions.length ?? 0) > 0)
    const troubles = hasRows ? histories.flatMap(({ root }) => root.trouble ?? []) : []
    this.view.message = [...new Set(troubles)].join('\n')
    this.#changes.fire(undefined)
  }

  showOlder(session: string): void {
    this.#limits.set(session, (this.#limits.get(session) ?? firstLimit) * 5)
    this.refresh()
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return itemOf(node)
  }

  getParent(node: Node): Node | undefined {
    return node.parent
  }

  async getChildren(node?: Node): Promise<Node[]> {
    return [...(node === undefined ? this.#top() : await this.#below(node))]
  }

  #below(node: Node): readonly Node[] | Promise<readonly Node[]> {
    switch (node.kind) {
      case 'folder':
        return sessionsOf(node.history, node)
      case 'session':
        return this.#turnsOf(node)
      case 'branch':
        return node.children(node)
      case 'turn':
        return partsOfTurn(node.history, node.turn, node)
      case 'edit':
        return partsOfEdit(node.history, node.edit.op, node)
      default:
        return []
    }
  }

  /** A single folder needs no row of its own. Nothing at all is the welcome's turn to speak. */
  #top(): readonly Node[] {
    const histories = this.#histories.workspaces()
    const [only] = histories
    if (only === undefined) return []
    if (histories.length === 1) return sessionsOf(only, undefined)
    return histories.map((history) => ({ kind: 'folder', history, parent: undefined }))
  }

  async #turnsOf(node: SessionNode): Promise<readonly Node[]> {
    const { history, session } = node
    const tree = await history.tree(session.id)
    const rows = rowsOf(tree, {
      limit: this.#limits.get(session.id) ?? firstLimit,
      userEdits: vscode.workspace.getConfiguration('unturn').get('turns.showYourEdits', true),
    })
    return rows.map((row) =>
      nodeOf(row, { history, session: session.id, parent: node, running: tree.session.running }),
    )
  }

  /** The node of a turn, with its parents, so that the view can show it. */
  async find(history: History, session: string, turn: string): Promise<Node | undefined> {
    for (const top of await this.getChildren()) {
      const sessions = top.kind === 'folder' ? await this.getChildren(top) : [top]
      for (const node of sessions)
        if (node.kind === 'session' && isSame(node.history, history) && node.session.id === session)
          return this.#findBelow(node, turn)
    }
    return undefined
  }

  async #findBelow(node: Node, turn: string): Promise<Node | undefined> {
    for (const child of await this.getChildren(node)) {
      if (child.kind === 'turn' && child.turn.id === turn) return child
      const found = child.kind === 'branch' ? await this.#findBelow(child, turn) : undefined
      if (found !== undefined) return found
    }
    return undefined
  }

  dispose(): void {
    this.#disposables.dispose()
  }
}

/** Two open folders of one repository have one history, and one place in the view. */
function isSame(one: History, other: History): boolean {
  return one === other || (one.root.workspace !== undefined && one.root.workspace === other.root.workspace)
}

function sessionsOf(history: History, parent: Node | undefined): readonly Node[] {
  return [...(history.status?.sessions ?? [])]
    .filter(({ turns, reverted }) => turns + reverted.length > 0)
    .sort((a, b) => b.lastSeq - a.lastSeq)
    .map((session) => ({ kind: 'session', history, session, parent }))
}

interface Place {
  readonly history: History
  readonly session: string
  readonly parent: Node
  readonly running: readonly string[]
}

function nodeOf(row: Row, place: Place): Node {
  switch (row.kind) {
    case 'turn':
      return { ...place, kind: 'turn', turn: row.turn, isRunning: place.running.includes(row.turn.id) }
    case 'edit':
      return { ...place, kind: 'edit', edit: row.edit }
    case 'older':
      return { ...place, kind: 'older', count: row.count }
    case 'branch':
      return branchNode(row, place)
  }
}

function branchNode(row: Extract<Row, { kind: 'branch' }>, place: Place): BranchNode {
  const first = row.rows.findLast((one) => one.kind === 'turn')
  return {
    ...place,
    kind: 'branch',
    id: row.id,
    turns: row.turns,
    prompt: first?.kind === 'turn' ? first.turn.prompt : null,
    children: (parent) => row.rows.map((one) => nodeOf(one, { ...place, parent })),
  }
}

async function partsOfTurn(history: History, turn: TreeTurn, parent: Node): Promise<readonly Node[]> {
  const detail = await (await history.root.client()).turn(turn.id)
  const steps = commandsOf(detail).map(
    (step): StepNode => ({ kind: 'step', history, parent, session: detail.turn.session, step }),
  )
  const files = filesOf(detail.changes).map((file) =>
    fileNode(file, { history, parent, at: turn.id, turn: turn.id, isReverted: turn.reverted }),
  )
  return [...files, ...steps]
}

async function partsOfEdit(history: History, op: string, parent: Node): Promise<readonly Node[]> {
  const { changes } = await (await history.root.client()).show(op, { stat: true })
  return filesOf(changes).map((file) =>
    fileNode(file, { history, parent, at: op, turn: undefined, isReverted: false }),
  )
}

function fileNode(
  { path, kind: changeKind, additions, deletions }: Changed,
  base: Pick<FileNode, 'history' | 'parent' | 'at' | 'turn' | 'isReverted'>,
): FileNode {
  return { ...base, kind: 'file', path, changeKind, additions, deletions }
}
