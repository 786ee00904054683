/** Undo, redo, restore and roll back: planned, shown, and done exactly as shown. */

import { type Conflict, type MoveResult, UnturnRequestError } from '@unturn/client'
import * as vscode from 'vscode'
import type { PlannedTexts } from '../past.ts'
import type { Root } from '../root.ts'
import { textOf } from '../words.ts'
import type { PlannedLook } from './planned-look.ts'
import { type Choice, plan, saveDirty, showPreview } from './preview.ts'
import { doneLine, type How, needsLook, titleOf, type Wish } from './wish.ts'

/** Files that somebody merged by hand; undefined: not all of them, so nothing is to be done. */
export type MergeByHand = (
  root: Root,
  conflicts: readonly Conflict[],
) => Promise<Readonly<Record<string, string>> | undefined>

export class Moves {
  readonly #texts: PlannedTexts
  readonly #look: PlannedLook
  readonly #mergeByHand: MergeByHand

  constructor(texts: PlannedTexts, look: PlannedLook, mergeByHand: MergeByHand) {
    this.#texts = texts
    this.#look = look
    this.#mergeByHand = mergeByHand
  }

  /** Never throws: what went wrong is told to the user. */
  async carryOut(root: Root, wish: Wish): Promise<void> {
    if (!root.trusted()) return tellUntrusted(titleOf(wish))
    try {
      await this.#carryOut(root, wish, {})
    } catch (error) {
      void vscode.window.showErrorMessage(textOf(error))
    }
  }

  async #carryOut(root: Root, wish: Wish, how: How): Promise<void> {
    const planned = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: 'Unturn: working out what would change …' },
      () => plan(root, wish, how),
    )
    if (planned.kind === 'running') {
      const answer = await askAboutRunning(root, wish, planned.message)
      if (answer === 'again') return this.#carryOut(root, wish, how)
      if (answer === 'force') return this.#carryOut(root, wish, { ...how, force: true })
      return
    }
    const { result } = planned
    if (result.kind === 'nothing') {
      void vscode.window.showInformationMessage(result.message ?? 'There is nothing to do.')
      return
    }
    await this.#follow(root, wish, how, result, await this.#choose(root, wish, how, result))
  }

  #choose(root: Root, wish: Wish, how: How, result: MoveResult): Promise<Choice> {
    const when = vscode.workspace.getConfiguration('unturn').get<string>('preview', 'always')
    if (when === 'whenNeeded' && result.plan !== null && !needsLook(result))
      return Promise.resolve({ kind: 'do', plan: result.plan })
    return showPreview({ root, wish, how, result, texts: this.#texts, look: this.#look })
  }

  async #follow(root: Root, wish: Wish, how: How, result: MoveResult, choice: Choice): Promise<void> {
    switch (choice.kind) {
      case 'leave':
        return
      case 'how':
        return this.#carryOut(root, wish, choice.how)
      case 'save':
        await saveDirty(root, result)
        return this.#carryOut(root, wish, how)
      case 'merge': {
        const results = await this.#mergeByHand(root, result.conflicts)
        return results === undefined ? undefined : this.#carryOut(root, wish, { ...how, results })
      }
      case 'do':
        return this.#apply(root, wish, how, choice.plan)
    }
  }

  async #apply(root: Root, wish: Wish, how: How, id: string): Promise<void> {
    try {
      const done = await (await root.client()).applyPlan(id)
      await this.#tellDone(root, wish, done)
    } catch (error) {
      if (!(error instanceof UnturnRequestError) || error.code !== 'plan-stale') throw error
      // Something was written since it was shown. What is done must be what was seen, so it is shown again.
      void vscode.window.showWarningMessage(textOf(error))
      await this.#carryOut(root, wish, how)
    }
  }

  async #tellDone(root: Root, wish: Wish, done: MoveResult): Promise<void> {
    const { op, prompt } = done
    const back = op === null ? [] : ['Take Back']
    const copy = prompt === undefined ? [] : ['Copy the Prompt']
    const answer = await vscode.window.showInformationMessage(doneLine(wish, done), ...back, ...copy)
    if (answer === 'Copy the Prompt') await vscode.env.clipboard.writeText(prompt ?? '')
    if (answer !== 'Take Back' || op === null) return
    await this.carryOut(root, { kind: 'rollback', selection: { ops: [op] }, what: 'What Was Just Done' })
  }
}

type RunningAnswer = 'again' | 'force' | 'leave'

async function askAboutRunning(root: Root, wish: Wish, message: string): Promise<RunningAnswer> {
  const wait: vscode.QuickPickItem = {
    label: '$(watch) Wait until the turn has ended',
    description: 'then show what would change',
  }
  const force: vscode.QuickPickItem = {
    label: '$(debug-stop) Go ahead now',
    description: 'the turn is closed as interrupted; an agent that goes on writes on',
  }
  const answer = await vscode.window.showQuickPick([wait, force], {
    title: `${titleOf(wish)}: an agent is at work`,
    placeHolder: message,
    ignoreFocusOut: true,
  })
  if (answer === force) return 'force'
  if (answer !== wait) return 'leave'
  return (await turnEnded(root, wish.session)) ? 'again' : 'leave'
}

const lookMs = 2_000

/** False: somebody stopped waiting. */
async function turnEnded(root: Root, session: string | undefined): Promise<boolean> {
  return vscode.window.withProgress(
    {
      location: vscode.ProgressLocation.Notification,
      title: 'Waiting until the agent has ended its turn …',
      cancellable: true,
    },
    async (_, token) => {
      while (!token.isCancellationRequested) {
        const { sessions } = await (await root.client()).sessions()
        const meant = sessions.find(({ id, active }) => (session === undefined ? active : id === session))
        if ((meant?.running.length ?? 0) === 0) return true
        await eventOrPause(root, token)
      }
      return false
    },
  )
}

// An agent that was killed ends its turn without an event: hence the look every now and then.
function eventOrPause(root: Root, token: vscode.CancellationToken): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      listening.dispose()
      resolve()
    }
    const timer = setTimeout(done, lookMs)
    const listening = vscode.Disposable.from(
      root.onEvent((event) => {
        if (event.type === 'turn.ended') done()
      }),
      token.onCancellationRequested(done),
    )
  })
}

/** Looking is for everybody; writing needs trust. */
export async function tellUntrusted(what: string): Promise<void> {
  const answer = await vscode.window.showWarningMessage(
    `${what} writes files, and this workspace is not trusted. Nothing was changed.`,
    'Manage Workspace Trust',
  )
  if (answer !== undefined) await vscode.commands.executeCommand('workbench.trust.manage')
}
