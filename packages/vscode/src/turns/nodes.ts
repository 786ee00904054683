/** What the view shows, and how each is drawn. */

import type { Session, Step, TreeTurn, TurnDetail, UserEdit } from '@unturn/client'
import * as vscode from 'vscode'
import { pastUri } from '../past.ts'
import { counted, plainLine, promptLine, shortAge, timeAgo } from '../words.ts'
import type { History } from './history.ts'

interface Base {
  readonly history: History
  readonly parent: Node | undefined
}
export type FolderNode = Base & { readonly kind: 'folder' }
export type SessionNode = Base & { readonly kind: 'session'; readonly session: Session }
export type TurnNode = Base & {
  readonly kind: 'turn'
  readonly session: string
  readonly turn: TreeTurn
  /** Its agent is at work. A turn that was never ended may be open without that. */
  readonly isRunning: boolean
}
export type BranchNode = Base & {
  readonly kind: 'branch'
  readonly session: string
  readonly id: string
  readonly turns: number
  readonly prompt: string | null
  readonly children: (parent: Node) => readonly Node[]
}
export type EditNode = Base & { readonly kind: 'edit'; readonly edit: UserEdit }
export type OlderNode = Base & { readonly kind: 'older'; readonly session: string; readonly count: number }
export type StepNode = Base & { readonly kind: 'step'; readonly session: string; readonly step: Step }
export type FileNode = Base & {
  readonly kind: 'file'
  readonly path: string
  readonly changeKind: string
  readonly additions: number
  readonly deletions: number
  /** The turn or operation whose before and after are compared. */
  readonly at: string
  readonly turn: string | undefined
  readonly isReverted: boolean
}
export type Node =
  | FolderNode
  | SessionNode
  | TurnNode
  | BranchNode
  | EditNode
  | OlderNode
  | StepNode
  | FileNode

export const decorationScheme = 'unturn-row'

export function itemOf(node: Node, now = Date.now()): vscode.TreeItem {
  const item = drawn(node, now)
  // Read aloud is what is seen; otherwise it would be the tooltip.
  item.accessibilityInformation ??= { label: [item.label, item.description].filter(Boolean).join(', ') }
  return item
}

function drawn(node: Node, now: number): vscode.TreeItem {
  switch (node.kind) {
    case 'folder':
      return folderItem(node)
    case 'session':
      return sessionItem(node)
    case 'turn':
      return turnItem(node, now)
    case 'branch':
      return branchItem(node)
    case 'edit':
      return editItem(node, now)
    case 'older':
      return olderItem(node)
    case 'step':
      return stepItem(node)
    case 'file':
      return fileItem(node)
  }
}

const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState

function folderItem({ history }: FolderNode): vscode.TreeItem {
  const { root } = history
  const item = new vscode.TreeItem(root.folder.name, Expanded)
  item.id = `f:${root.folder.uri}`
  item.iconPath = new vscode.ThemeIcon('root-folder')
  item.description = {
    connected: '',
    connecting: 'connecting …',
    empty: 'nothing recorded yet',
    offline: 'offline',
  }[root.state]
  item.tooltip = root.trouble ?? root.folder.uri.fsPath
  item.contextValue = 'folder'
  return item
}

function sessionItem({ history, session }: SessionNode): vscode.TreeItem {
  const item = new vscode.TreeItem(session.agent, session.active ? Expanded : Collapsed)
  item.id = `s:${history.root.folder.uri}:${session.id}`
  item.iconPath = new vscode.ThemeIcon(
    session.running.length > 0 ? 'sync~spin' : 'comment-discussion',
    colourOf(session.agent),
  )
  item.description = [
    counted(session.turns, 'turn'),
    ...(session.reverted.length === 0 ? [] : [`${session.reverted.length} undone`]),
    ...(session.pendingHunks === 0 ? [] : [`${session.pendingHunks} to review`]),
    ...(session.running.length === 0 ? [] : ['running']),
  ].join(' · ')
  item.tooltip = `Session ${plainLine(session.id)}`
  item.contextValue = session.reverted.length > 0 ? 'session.redo' : 'session'
  return item
}

function turnItem(node: TurnNode, now: number): vscode.TreeItem {
  const { history, turn, isRunning } = node
  const item = new vscode.TreeItem(promptLine(turn.prompt), turn.files === 0 ? None : Collapsed)
  item.id = `t:${history.root.folder.uri}:${turn.id}`
  item.iconPath = turnIcon(turn, isRunning)
  item.description = [
    ...(turn.reverted ? ['undone'] : []),
    ...(isRunning
      ? ['running']
      : turn.status === 'ok'
        ? []
        : [turn.status === 'open' ? 'not ended' : turn.status]),
    ...(turn.files > 0 ? [`+${turn.additions} −${turn.deletions}`] : isRunning ? [] : ['no files']),
    shortAge(turn.began, now),
  ].join(' · ')
  item.tooltip = turnTooltip(turn, now)
  item.contextValue = turn.reverted ? 'turn.reverted' : 'turn.done'
  // Only rows that are greyed have an address: the decoration hangs on it.
  if (turn.reverted) item.resourceUri = vscode.Uri.from({ scheme: decorationScheme, path: `/${turn.id}` })
  item.accessibilityInformation = {
    label: `${promptLine(turn.prompt)}, turn of ${turn.agent}${turn.head ? ', where your files stand' : ''}, ${item.description}`,
  }
  return item
}

function turnIcon(turn: TreeTurn, isRunning: boolean): vscode.ThemeIcon {
  if (isRunning) return new vscode.ThemeIcon('sync~spin', colourOf(turn.agent))
  if (turn.reverted)
    return new vscode.ThemeIcon('circle-outline', new vscode.ThemeColor('disabledForeground'))
  if (turn.status === 'failed' || turn.status === 'interrupted')
    return new vscode.ThemeIcon('circle-slash', colourOf(turn.agent))
  return new vscode.ThemeIcon(turn.head ? 'circle-filled' : 'circle-outline', colourOf(turn.agent))
}

const colours = ['charts.blue', 'charts.purple', 'charts.orange', 'charts.green', 'charts.yellow'] as const

/** The same agent has the same colour everywhere. */
function colourOf(agent: string): vscode.ThemeColor {
  let sum = 0
  for (const char of agent) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 9_973
  return new vscode.ThemeColor(colours[sum % colours.length] ?? 'charts.blue')
}

function turnTooltip(turn: TreeTurn, now: number): vscode.MarkdownString {
  const text = new vscode.MarkdownString('', true)
  // The prompt is text of somebody's; as Markdown it could draw links and pictures.
  text.appendText(plainLine(turn.prompt ?? '(no prompt)', 400))
  text.appendMarkdown('\n\n---\n\n$(account) ')
  text.appendText(plainLine(turn.agent))
  text.appendMarkdown(` · $(clock) ${timeAgo(turn.began, now)} · $(files) ${counted(turn.files, 'file')}`)
  if (turn.reverted) text.appendMarkdown('\n\nUndone: its changes are not in your files.')
  if (turn.head) text.appendMarkdown('\n\nYour files stand after this turn.')
  return text
}

function branchItem({ history, id, turns, prompt }: BranchNode): vscode.TreeItem {
  const item = new vscode.TreeItem(`Branch: ${promptLine(prompt)}`, Collapsed)
  item.id = `b:${history.root.folder.uri}:${id}`
  item.iconPath = new vscode.ThemeIcon('git-branch', new vscode.ThemeColor('disabledForeground'))
  item.description = `${counted(turns, 'turn')} · another way that was tried`
  item.resourceUri = vscode.Uri.from({ scheme: decorationScheme, path: `/${id}` })
  item.contextValue = 'branch'
  return item
}

function editItem({ history, edit }: EditNode, now: number): vscode.TreeItem {
  const label = edit.label === null ? `You edited ${counted(edit.files, 'file')}` : plainLine(edit.label)
  const item = new vscode.TreeItem(label, Collapsed)
  item.id = `e:${history.root.folder.uri}:${edit.op}`
  item.iconPath = new vscode.ThemeIcon('edit')
  item.description = `+${edit.additions} −${edit.deletions} · ${shortAge(edit.at, now)}`
  item.contextValue = 'edit'
  return item
}

function olderItem({ history, session, count }: OlderNode): vscode.TreeItem {
  const item = new vscode.TreeItem(`Show ${counted(count, 'older row')}`, None)
  item.id = `o:${history.root.folder.uri}:${session}`
  item.iconPath = new vscode.ThemeIcon('ellipsis')
  item.command = { command: 'unturn.showOlder', title: 'Show Older Turns', arguments: [session] }
  return item
}

function stepItem({ history, step }: StepNode): vscode.TreeItem {
  const item = new vscode.TreeItem(plainLine(step.command ?? step.tool, 80), None)
  item.id = `p:${history.root.folder.uri}:${step.id}`
  item.iconPath = new vscode.ThemeIcon(step.running ? 'sync~spin' : 'terminal')
  item.description = 'command'
  item.tooltip = plainLine(step.command ?? step.tool, 1_000)
  item.contextValue = 'step'
  return item
}

function fileItem(node: FileNode): vscode.TreeItem {
  const { history, path, additions, deletions } = node
  const name = path.split('/').at(-1) ?? path
  const item = new vscode.TreeItem(plainLine(name), None)
  item.id = `x:${history.root.folder.uri}:${node.at}:${path}`
  // Gives the icon of its language; the explorer's own decorations of the file come along.
  item.resourceUri = history.root.uriOf(path)
  item.iconPath = vscode.ThemeIcon.File
  const folder = path.slice(0, Math.max(0, path.length - name.length - 1))
  const kind = node.changeKind === 'modify' ? [] : [node.changeKind]
  item.description = [
    ...(folder === '' ? [] : [plainLine(folder)]),
    `+${additions} −${deletions}`,
    ...kind,
  ].join(' · ')
  item.contextValue = node.turn === undefined ? 'file' : node.isReverted ? 'file.reverted' : 'file.done'
  item.command = { command: 'unturn.openFileChange', title: 'Show What Changed', arguments: [node] }
  return item
}

export interface Changed {
  readonly path: string
  readonly kind: string
  readonly additions: number
  readonly deletions: number
}

/** One row a path: a turn may have changed a file in several steps. */
export function filesOf(changes: readonly Changed[]): readonly Changed[] {
  const files = new Map<string, Changed>()
  for (const change of changes) {
    const known = files.get(change.path)
    if (known === undefined) files.set(change.path, change)
    else
      files.set(change.path, {
        ...known,
        kind: known.kind === change.kind ? known.kind : 'modify',
        additions: known.additions + change.additions,
        deletions: known.deletions + change.deletions,
      })
  }
  return [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

export function commandsOf({ steps }: TurnDetail): readonly Step[] {
  return steps.filter(({ command }) => command !== null)
}

export function sidesOf(node: FileNode): readonly [vscode.Uri, vscode.Uri] {
  const { history, path, at } = node
  return [
    pastUri(history.root, path, { at, side: 'before' }),
    pastUri(history.root, path, { at, side: 'after' }),
  ]
}
