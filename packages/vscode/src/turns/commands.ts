/** What can be done from the palette, the view and the status bar. */

import * as vscode from 'vscode'
import { pastUri } from '../past.ts'
import type { Root, Roots } from '../root.ts'
import { plainLine, promptLine, textOf, withoutIcons } from '../words.ts'
import type { Histories } from './history.ts'
import type { Moves } from './moves.ts'
import {
  type EditNode,
  type FileNode,
  filesOf,
  type Node,
  type SessionNode,
  sidesOf,
  type TurnNode,
} from './nodes.ts'
import type { TurnsView } from './tree-view.ts'
import type { Wish } from './wish.ts'

interface Parts {
  readonly roots: Roots
  readonly histories: Histories
  readonly moves: Moves
  readonly view: TurnsView
}

/** A turn that a link names: of a hover, for instance. */
export interface TurnAddress {
  readonly folder: string
  readonly session: string
  readonly turn: string
}

export function registerTurnCommands(parts: Parts): vscode.Disposable {
  const { roots, moves, view, histories } = parts
  const onRoot = (wish: Wish) => async () => {
    const root = await chooseRoot(roots)
    if (root !== undefined) await moves.carryOut(root, wish)
  }
  const onTurn = (wishOf: (node: TurnNode) => Wish) => async (node?: unknown) => {
    const turn = isTurn(node) ? node : await chooseTurn(parts)
    if (turn !== undefined) await moves.carryOut(turn.history.root, aboutTurn(turn, wishOf(turn)))
  }
  const commands: Readonly<Record<string, (...args: readonly never[]) => unknown>> = {
    'unturn.undo': onRoot({ kind: 'undo' }),
    'unturn.redo': onRoot({ kind: 'redo', all: false }),
    'unturn.redoAll': onRoot({ kind: 'redo', all: true }),
    'unturn.redoSession': ({ history, session }: SessionNode) =>
      moves.carryOut(history.root, { kind: 'redo', session: session.id, all: true }),
    'unturn.undoTo': onTurn(({ session, turn }) => ({ kind: 'undo', session, to: turn.id })),
    'unturn.restoreBefore': onTurn(({ session, turn }) => restore(session, turn.id, 'before')),
    'unturn.restoreAfter': onTurn(({ session, turn }) => restore(session, turn.id, 'after')),
    'unturn.redoTo': onTurn(({ session, turn }) => restore(session, turn.id, 'after')),
    'unturn.rollbackTurn': onTurn(rollbackOf),
    'unturn.rollbackFile': ({ history, path, turn }: FileNode) =>
      turn === undefined
        ? undefined
        : moves.carryOut(history.root, {
            kind: 'rollback',
            selection: { turns: [turn], files: [path] },
            what: `Only This Turn's Changes in ${plainLine(path)}`,
          }),
    'unturn.rollbackEdit': ({ history, edit }: EditNode) =>
      moves.carryOut(history.root, {
        kind: 'rollback',
        selection: { ops: [edit.op] },
        what: 'Only This Edit',
      }),
    'unturn.copyPrompt': async (node?: unknown) => {
      const turn = isTurn(node) ? node : await chooseTurn(parts)
      if (turn !== undefined) await copyPrompt(turn)
    },
    'unturn.openTurnChanges': async (node?: unknown) => {
      const turn = isTurn(node) ? node : await chooseTurn(parts)
      if (turn !== undefined) await openTurnChanges(turn)
    },
    'unturn.openFileChange': openFileChange,
    'unturn.openFileNow': ({ history, path }: FileNode) =>
      vscode.commands.executeCommand('vscode.open', history.root.uriOf(path)),
    'unturn.compareFileWithNow': compareWithNow,
    'unturn.showOlder': (session: string) => view.showOlder(session),
    'unturn.refresh': () => {
      for (const history of histories.workspaces()) history.refresh()
    },
    'unturn.showTurn': (address: TurnAddress) => showTurn(parts, address),
    'unturn.openTurnOf': async (address: TurnAddress) => {
      const turn = await turnAt(parts, address)
      if (turn !== undefined) await openTurnChanges(turn)
    },
    'unturn.rollbackTurnOf': async (address: TurnAddress) => {
      const turn = await turnAt(parts, address)
      if (turn !== undefined) await moves.carryOut(turn.history.root, aboutTurn(turn, rollbackOf(turn)))
    },
  }
  return vscode.Disposable.from(
    ...Object.entries(commands).map(([id, run]) =>
      vscode.commands.registerCommand(id, async (...args: never[]) => {
        try {
          await run(...args)
        } catch (error) {
          void vscode.window.showErrorMessage(textOf(error))
        }
      }),
    ),
  )
}

function restore(session: string, turn: string, side: 'before' | 'after'): Wish {
  return { kind: 'restore', session, turn, side }
}

function aboutTurn({ turn }: TurnNode, wish: Wish): Wish {
  return turn.prompt === null ? wish : { ...wish, about: turn.prompt }
}

function rollbackOf({ turn }: TurnNode): Wish {
  return { kind: 'rollback', selection: { turns: [turn.id] }, what: 'Only This Turn' }
}

async function turnAt(
  { roots, histories }: Parts,
  { folder, turn }: TurnAddress,
): Promise<TurnNode | undefined> {
  const root = roots.all().find((one) => one.folder.uri.toString() === folder)
  const history = root === undefined ? undefined : histories.of(root)
  if (root === undefined || history === undefined) return undefined
  const { turn: whole } = await (await root.client()).turn(turn)
  return { kind: 'turn', history, parent: undefined, session: whole.session, turn: whole, isRunning: false }
}

function isTurn(node: unknown): node is TurnNode {
  return typeof node === 'object' && node !== null && (node as Partial<Node>).kind === 'turn'
}

/** The root of the editor that somebody is in; asked for where that says nothing. */
export async function chooseRoot(roots: Roots): Promise<Root | undefined> {
  const all = roots.all()
  const uri = vscode.window.activeTextEditor?.document.uri
  const near = uri === undefined ? undefined : roots.of(uri)
  if (near !== undefined || all.length === 1) return near ?? all[0]
  if (all.length === 0) {
    void vscode.window.showInformationMessage('Open a folder first: Unturn keeps the history of a folder.')
    return undefined
  }
  const picked = await vscode.window.showQuickPick(
    all.map((root) => ({ label: root.folder.name, description: root.folder.uri.fsPath, root })),
    { title: 'Unturn: in which folder?' },
  )
  return picked?.root
}

/** From the palette, where nothing is selected: the turns of the session last active, newest first. */
async function chooseTurn({ roots, histories }: Parts): Promise<TurnNode | undefined> {
  const root = await chooseRoot(roots)
  if (root === undefined) return undefined
  const client = await root.client() // its message says why there is nothing to choose
  const history = histories.of(root)
  const { session, turns } = await client.tree({ promptLength: 400 })
  if (history === undefined) return undefined
  const picked = await vscode.window.showQuickPick(
    turns.toReversed().map((turn) => ({
      label: `$(${turn.head ? 'circle-filled' : 'circle-outline'}) ${withoutIcons(promptLine(turn.prompt))}`,
      description: `${turn.reverted ? 'undone · ' : ''}+${turn.additions} −${turn.deletions} · ${withoutIcons(plainLine(turn.agent))}`,
      turn,
    })),
    { title: 'Unturn: which turn?', matchOnDescription: true },
  )
  if (picked === undefined) return undefined
  return {
    kind: 'turn',
    history,
    parent: undefined,
    session: session.id,
    turn: picked.turn,
    isRunning: false,
  }
}

async function copyPrompt({ history, turn }: TurnNode): Promise<void> {
  // The view has its beginning only.
  const whole = await (await history.root.client()).turn(turn.id)
  const { prompt } = whole.turn
  if (prompt === null) {
    void vscode.window.showInformationMessage('This turn was recorded without its prompt.')
    return
  }
  await vscode.env.clipboard.writeText(prompt)
  void vscode.window.setStatusBarMessage('$(check) The prompt is in the clipboard.', 4_000)
}

async function openTurnChanges({ history, turn }: TurnNode): Promise<void> {
  const { root } = history
  const detail = await (await root.client()).turn(turn.id)
  const files = filesOf(detail.changes)
  if (files.length === 0) {
    void vscode.window.showInformationMessage('This turn changed no files.')
    return
  }
  const rows = files.map(({ path }) => [
    root.uriOf(path),
    pastUri(root, path, { at: turn.id, side: 'before' }),
    pastUri(root, path, { at: turn.id, side: 'after' }),
  ])
  await vscode.commands.executeCommand('vscode.changes', promptLine(turn.prompt, 40), rows)
}

async function openFileChange(node: FileNode): Promise<void> {
  const [before, after] = sidesOf(node)
  const who = node.turn === undefined ? 'your edit' : 'this turn'
  await vscode.commands.executeCommand('vscode.diff', before, after, `${node.path} (before ↔ after ${who})`)
}

async function compareWithNow(node: FileNode): Promise<void> {
  const [, after] = sidesOf(node)
  const now = node.history.root.uriOf(node.path)
  await vscode.commands.executeCommand('vscode.diff', after, now, `${node.path} (then ↔ now)`)
}

async function showTurn(
  { roots, histories, view }: Parts,
  { folder, session, turn }: TurnAddress,
): Promise<void> {
  const root = roots.all().find((one) => one.folder.uri.toString() === folder)
  const history = root === undefined ? undefined : histories.of(root)
  const node = history === undefined ? undefined : await view.find(history, session, turn)
  await vscode.commands.executeCommand('unturn.turns.focus')
  if (node !== undefined) await view.view.reveal(node, { select: true, focus: true, expand: true })
}
