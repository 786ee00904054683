/**
 * While somebody looks at what is planned in an editor: a button in the editor's title and a message do it, or lead back
 * to the list. Closing the editor leaves everything as it is.
 */

import * as vscode from 'vscode'

export interface Opened {
  /** How the label of its tab begins; the editor may add to it how many files there are. */
  readonly label: string
}

export type Decided = 'do' | 'back' | 'leave'

export interface LookWords {
  readonly title: string
  /** What can be done; undefined while conflicts are in the way. */
  readonly action: string | undefined
}

export class PlannedLook implements vscode.Disposable {
  readonly #commands: vscode.Disposable
  #decided: ((decided: Decided) => void) | undefined

  constructor() {
    this.#commands = vscode.Disposable.from(
      vscode.commands.registerCommand('unturn.doPlanned', () => this.#decided?.('do')),
      vscode.commands.registerCommand('unturn.backToPreview', () => this.#decided?.('back')),
    )
  }

  async decide({ label }: Opened, { title, action }: LookWords): Promise<Decided> {
    this.#decided?.('leave') // a second look: the first one is over
    const [listening, decided] = this.#wait(label)
    await setContext(action === undefined ? 'conflict' : 'plan')
    void this.#ask(title, action)
    const answer = await decided
    listening.dispose()
    this.#decided = undefined
    await setContext('')
    await closeTab(label)
    return answer
  }

  #wait(label: string): readonly [vscode.Disposable, Promise<Decided>] {
    let listening: vscode.Disposable = { dispose: () => {} }
    const decided = new Promise<Decided>((resolve) => {
      this.#decided = resolve
      listening = vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
        if (closed.some((tab) => tab.label.startsWith(label))) resolve('leave')
      })
    })
    return [listening, decided]
  }

  async #ask(title: string, action: string | undefined): Promise<void> {
    const mine = this.#decided
    const back = 'Back to the List'
    const answer = await vscode.window.showInformationMessage(
      `${title}: nothing has been changed yet.`,
      ...(action === undefined ? [back] : [action, back]),
    )
    if (answer !== undefined) mine?.(answer === back ? 'back' : 'do')
  }

  dispose(): void {
    this.#decided?.('leave')
    this.#commands.dispose()
  }
}

function setContext(stage: 'plan' | 'conflict' | ''): Thenable<unknown> {
  return vscode.commands.executeCommand('setContext', 'unturn.planned', stage)
}

async function closeTab(label: string): Promise<void> {
  const tabs = vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter((tab) => tab.label.startsWith(label))
  await vscode.window.tabGroups.close(tabs)
}
