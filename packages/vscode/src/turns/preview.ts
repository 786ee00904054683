/**
 * Before anything is written: which files, what is merged, what is in conflict, what cannot be undone. A list: Enter
 * on its first row does it, other rows open what they are about, Escape leaves everything as it is.
 */

import { type Conflict, type MoveResult, UnturnRequestError } from '@unturn/client'
import * as vscode from 'vscode'
import type { PlannedTexts } from '../past.ts'
import type { Root } from '../root.ts'
import { counted, plainLine, promptLine, withoutIcons } from '../words.ts'
import { hunksByPath, patched } from './patch.ts'
import type { Opened, PlannedLook } from './planned-look.ts'
import {
  actionOf,
  conflictLine,
  dryRun,
  fileLine,
  type How,
  notUndoneLines,
  type OnConflict,
  titleOf,
  type Wish,
  wholeTitleOf,
} from './wish.ts'

/** What somebody chose in the list. */
export type Choice =
  | { readonly kind: 'do'; readonly plan: string }
  | { readonly kind: 'how'; readonly how: How }
  | { readonly kind: 'save' }
  | { readonly kind: 'merge' }
  | { readonly kind: 'leave' }

interface Item extends vscode.QuickPickItem {
  readonly choose?: Choice
  /** Opens an editor, and closes the list, which would lie over it. */
  readonly open?: () => Promise<Opened>
  /** Done at once; the list stays. */
  readonly run?: () => Promise<void>
}

export interface PreviewOptions {
  readonly root: Root
  readonly wish: Wish
  readonly how: How
  readonly result: MoveResult
  readonly texts: PlannedTexts
  readonly look: PlannedLook
}

/** Until somebody has decided: in the list, or beside what it opened. */
export async function showPreview(options: PreviewOptions): Promise<Choice> {
  const { wish, result, look } = options
  for (;;) {
    const picked = await pickFrom(options)
    if (picked?.choose !== undefined) return picked.choose
    if (picked?.open === undefined) return { kind: 'leave' }
    const decided = await look.decide(await picked.open(), {
      title: wholeTitleOf(wish, result),
      action: result.plan === null ? undefined : actionOf(wish, result),
    })
    if (decided === 'do' && result.plan !== null) return { kind: 'do', plan: result.plan }
    if (decided === 'leave') return { kind: 'leave' }
  }
}

function pickFrom(options: PreviewOptions): Promise<Item | undefined> {
  const { wish, result } = options
  const pick = vscode.window.createQuickPick<Item>()
  pick.title = wholeTitleOf(wish, result)
  pick.placeholder =
    result.kind === 'conflicts'
      ? 'Nothing has been changed. Choose what happens where newer edits overlap'
      : 'Nothing has been changed yet. Enter does it, Escape leaves everything as it is'
  pick.items = itemsOf(options)
  pick.matchOnDescription = true
  return new Promise((resolve) => {
    let picked: Item | undefined
    pick.onDidAccept(async () => {
      const [item] = pick.activeItems
      if (item?.run !== undefined) return item.run()
      if (item?.choose === undefined && item?.open === undefined) return
      picked = item
      pick.hide()
    })
    pick.onDidHide(() => {
      pick.dispose()
      resolve(picked)
    })
    pick.show()
  })
}

function itemsOf(options: PreviewOptions): readonly Item[] {
  const { wish, result, how } = options
  const offersGit = wish.kind !== 'rollback' && how.git !== true && result.notUndone.commits.length > 0
  return [
    ...doItems(options),
    ...conflictItems(options),
    ...fileItems(options),
    ...promptItems(result),
    ...section('Cannot be undone', notUndoneItems(result)),
    ...(offersGit ? [gitItem(how)] : []),
    ...section('Your branch', gitLine(how)),
  ]
}

function section(title: string, items: readonly Item[]): readonly Item[] {
  if (items.length === 0) return []
  return [{ label: title, kind: vscode.QuickPickItemKind.Separator }, ...items]
}

function doItems(options: PreviewOptions): readonly Item[] {
  const { root, wish, result, texts } = options
  if (result.kind !== 'planned' || result.plan === null) return []
  const dirty = dirtyFiles(root, result)
  return [
    {
      label: `$(check) ${actionOf(wish, result)}`,
      description: 'it can be taken back afterwards',
      choose: { kind: 'do', plan: result.plan },
    },
    ...(result.files.length === 0
      ? []
      : [
          {
            label: '$(diff-multiple) Look at the changes first',
            description: 'as a diff of all files',
            open: () => lookAtAll(root, wish, result, texts),
          },
        ]),
    ...(dirty.length === 0
      ? []
      : [
          {
            label: `$(save) Save ${counted(dirty.length, 'open file')} first, and plan again`,
            description: 'what you typed is then merged, and kept',
            choose: { kind: 'save' } as const,
          },
        ]),
  ]
}

function fileItems({ root, wish, result, texts }: PreviewOptions): readonly Item[] {
  const dirty = new Set(dirtyFiles(root, result))
  const title = result.kind === 'conflicts' ? 'Files without a conflict' : 'Files'
  return section(
    title,
    result.files.map((file) => ({
      label: `$(${file.merged ? 'git-merge' : file.action === 'delete' ? 'trash' : 'file'}) ${shown(file.path)}`,
      description: withoutIcons(fileLine(file, dirty.has(file.path))),
      open: () => lookAtOne(root, wish, result, texts, file.path),
    })),
  )
}

function shown(path: string): string {
  return withoutIcons(plainLine(path))
}

function dirtyFiles(root: Root, { files, conflicts }: MoveResult): readonly string[] {
  const open = new Set(
    vscode.workspace.textDocuments.filter(({ isDirty }) => isDirty).map(({ uri }) => uri.toString()),
  )
  return [...files, ...conflicts]
    .map(({ path }) => path)
    .filter((path) => open.has(root.uriOf(path).toString()))
}

/** Those documents are written to the disk, where the next plan sees them. */
export async function saveDirty(root: Root, result: MoveResult): Promise<void> {
  const wanted = new Set(dirtyFiles(root, result).map((path) => root.uriOf(path).toString()))
  for (const document of vscode.workspace.textDocuments)
    if (wanted.has(document.uri.toString())) await document.save()
}

function promptItems({ prompt }: MoveResult): readonly Item[] {
  if (prompt === undefined) return []
  return section('The prompt comes back', [
    {
      label: `$(copy) ${withoutIcons(promptLine(prompt))}`,
      description: 'copy it now',
      run: async () => {
        await vscode.env.clipboard.writeText(prompt)
        void vscode.window.setStatusBarMessage('The prompt is in the clipboard.', 3_000)
      },
    },
  ])
}

function notUndoneItems(result: MoveResult): readonly Item[] {
  return notUndoneLines(result).map(({ icon, text, why }) => ({
    label: `$(${icon}) ${withoutIcons(text)}`,
    description: why,
  }))
}

/** Whether it can be moved is seen when it is done; the message then says so. */
function gitLine({ git }: How): readonly Item[] {
  if (git !== true) return []
  return [
    { label: '$(git-branch) It moves back over these commits', description: 'if it still points there' },
  ]
}

function gitItem(how: How): Item {
  return {
    label: '$(git-branch) Also move the branch back over these commits',
    description: 'only if it still points there',
    choose: { kind: 'how', how: { ...how, git: true } },
  }
}

// ---- conflicts -------------------------------------------------------------------------------------------------------

const answers: readonly { readonly choice: OnConflict; readonly icon: string; readonly label: string }[] = [
  { choice: 'keep', icon: 'shield', label: 'Leave these files as they are, do the rest' },
  {
    choice: 'overwrite',
    icon: 'replace-all',
    label: 'Take the old versions; the newer ones stay recoverable',
  },
  { choice: 'markers', icon: 'git-merge', label: 'Write conflict markers into these files' },
]

function conflictItems(options: PreviewOptions): readonly Item[] {
  const { root, result, how, texts } = options
  const { conflicts } = result
  if (conflicts.length === 0) return []
  const settled = result.kind === 'planned'
  return [
    ...section(
      settled ? 'Conflicts, as you chose' : `${counted(conflicts.length, 'conflict')}: newer edits overlap`,
      conflicts.map((conflict) => ({
        label: `$(warning) ${shown(conflict.path)}`,
        description: withoutIcons(conflictLine(conflict)),
        open: () => lookAtConflict(root, texts, conflict),
      })),
    ),
    ...section(settled ? 'Choose differently' : 'Choose', [
      {
        label: '$(combine) Merge them by hand …',
        description: 'in the merge editor: base, yours, and the old version',
        choose: { kind: 'merge' },
      },
      ...answers.map(({ choice, icon, label }) => ({
        label: `$(${icon}) ${label}`,
        choose: { kind: 'how', how: { ...how, onConflict: choice } } as const,
      })),
    ]),
  ]
}

async function lookAtConflict(root: Root, texts: PlannedTexts, conflict: Conflict): Promise<Opened> {
  const { path, versions } = conflict
  const side = (text: string | null | undefined) => texts.add(root.uriOf(path), text ?? '')
  return openDiff(side(versions?.ours), side(versions?.theirs), `${path}: yours ↔ the old version`)
}

// ---- looking at what is planned --------------------------------------------------------------------------------------

interface Sides {
  readonly path: string
  readonly before: vscode.Uri
  readonly after: vscode.Uri
}

async function sidesOf(root: Root, result: MoveResult, texts: PlannedTexts): Promise<readonly Sides[]> {
  const hunks = hunksByPath(result.patch ?? '')
  const sides = result.files.map(async ({ path, from, action }) => {
    const before = await textOnDisk(root.uriOf(from ?? path))
    const after = action === 'delete' ? '' : patched(before ?? '', hunks.get(path) ?? [])
    // Both are copies: on the file itself the buttons of review would stand, and mean something else.
    return {
      path,
      before: texts.add(root.uriOf(from ?? path), before ?? ''),
      after: texts.add(
        root.uriOf(path),
        after ?? 'This file has changed since it was planned, or is no text.\n',
      ),
    }
  })
  return Promise.all(sides)
}

/** Undefined: it is not there, or no text. */
async function textOnDisk(uri: vscode.Uri): Promise<string | undefined> {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      await vscode.workspace.fs.readFile(uri),
    )
  } catch {
    return undefined
  }
}

async function lookAtAll(root: Root, wish: Wish, result: MoveResult, texts: PlannedTexts): Promise<Opened> {
  const sides = await sidesOf(root, result, texts)
  const rows = sides.map(({ path, before, after }) => [root.uriOf(path), before, after])
  const label = `Planned: ${titleOf(wish)}`
  await vscode.commands.executeCommand('vscode.changes', label, rows)
  return { label }
}

async function lookAtOne(
  root: Root,
  wish: Wish,
  result: MoveResult,
  texts: PlannedTexts,
  path: string,
): Promise<Opened> {
  const one = (await sidesOf(root, result, texts)).find((side) => side.path === path)
  if (one === undefined) throw new Error(`${path} is not among the planned files`)
  return openDiff(one.before, one.after, `${path}: now ↔ after "${titleOf(wish)}"`)
}

async function openDiff(left: vscode.Uri, right: vscode.Uri, label: string): Promise<Opened> {
  await vscode.commands.executeCommand('vscode.diff', left, right, label, { preview: true })
  return { label }
}

// ---- agents at work --------------------------------------------------------------------------------------------------

export type Planned =
  | { readonly kind: 'result'; readonly result: MoveResult }
  | { readonly kind: 'running'; readonly message: string }

/** The plan; or that a turn is running, which is somebody's decision and no failure. */
export async function plan(root: Root, wish: Wish, how: How): Promise<Planned> {
  try {
    return { kind: 'result', result: await dryRun(await root.client(), wish, how) }
  } catch (error) {
    if (error instanceof UnturnRequestError && error.code === 'turn-running')
      return { kind: 'running', message: error.message }
    throw error
  }
}
