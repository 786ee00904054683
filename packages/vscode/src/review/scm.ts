/** The Source Control view: pending files by turn, with bars in the gutter and the change peek through quick diff. */

import * as vscode from 'vscode'
import { plainLine, promptLine } from '../words.ts'
import type { PendingFile, PendingHunk } from './hunk.ts'
import type { AllPending, Pending } from './pending.ts'
import { baseUri } from './texts.ts'
import { fileTooltip, hunkTitle } from './words.ts'

/** A file in a group of the view, as the commands of its menu get it. */
export interface PendingState extends vscode.SourceControlResourceState {
  readonly pending: Pending
  readonly hunks: readonly PendingHunk[]
  readonly turn: string | undefined
}

export interface PendingGroup extends vscode.SourceControlResourceGroup {
  pending?: Pending
  turn?: string
}

export class SourceControls implements vscode.Disposable {
  readonly #pending: AllPending
  readonly #controls = new Map<Pending, RootControl>()
  readonly #listening: vscode.Disposable

  constructor(pending: AllPending) {
    this.#pending = pending
    this.#listening = vscode.Disposable.from(
      pending.onFolders(() => this.#follow()),
      pending.onChange((one) => this.#controls.get(one)?.draw()),
    )
    this.#follow()
  }

  #follow(): void {
    for (const [pending, control] of this.#controls)
      if (!this.#pending.all.includes(pending)) {
        control.dispose()
        this.#controls.delete(pending)
      }
    for (const pending of this.#pending.all)
      if (!this.#controls.has(pending)) this.#controls.set(pending, new RootControl(pending))
  }

  pendingOf(control: vscode.SourceControl | undefined): Pending | undefined {
    for (const [pending, own] of this.#controls) if (own.control === control) return pending
    return undefined
  }

  dispose(): void {
    this.#listening.dispose()
    for (const control of this.#controls.values()) control.dispose()
  }
}

class RootControl implements vscode.Disposable {
  readonly control: vscode.SourceControl
  readonly #pending: Pending
  readonly #groups = new Map<string, PendingGroup>()
  #asked: string | undefined

  constructor(pending: Pending) {
    this.#pending = pending
    const { folder } = pending.root
    this.control = vscode.scm.createSourceControl('unturn', 'Unturn', folder.uri)
    this.control.inputBox.visible = false
    this.draw()
  }

  readonly #quickDiff: vscode.QuickDiffProvider = {
    provideOriginalResource: (uri) => {
      const path = this.#pending.root.pathOf(uri)
      const isPending = path !== undefined && this.#pending.fileAt(uri) !== undefined
      return isPending ? baseUri(this.#pending, path) : undefined
    },
  }

  draw(): void {
    const { count } = this.#pending
    this.control.count = count
    this.control.statusBarCommands = []
    const turns = turnsOf(this.#pending)
    for (const [turn, group] of this.#groups)
      if (!turns.has(turn)) {
        group.dispose()
        this.#groups.delete(turn)
      }
    for (const [turn, files] of turns) {
      const label = labelOf(this.#pending, turn)
      const group: PendingGroup = this.#groups.get(turn) ?? this.control.createResourceGroup(turn, label)
      this.#groups.set(turn, group)
      group.label = label
      group.hideWhenEmpty = true
      group.pending = this.#pending
      group.turn = turn
      group.resourceStates = files.map((file) => stateOf(this.#pending, file, turn))
    }
    this.#drawGutter()
  }

  // The editor asks once whether a file has a base, and keeps the answer. A provider that comes anew is asked anew.
  #drawGutter(): void {
    const now = this.#pending.files.map(({ path }) => path).join('\0')
    if (now === this.#asked) return
    this.#asked = now
    Object.assign(this.control, { quickDiffProvider: undefined })
    this.control.quickDiffProvider = this.#quickDiff
  }

  dispose(): void {
    this.control.dispose()
  }
}

/** Files by the turn that made their hunks, the oldest turn first. */
function turnsOf(pending: Pending): ReadonlyMap<string, readonly PendingFile[]> {
  const turns = new Map<string, PendingFile[]>()
  for (const file of pending.files)
    for (const turn of new Set(file.hunks.flatMap((hunk) => hunk.turns))) {
      const own = { ...file, hunks: file.hunks.filter((hunk) => hunk.turns.includes(turn)) }
      const files = turns.get(turn)
      if (files === undefined) turns.set(turn, [own])
      else files.push(own)
    }
  const began = (turn: string) => pending.originOf(turn)?.began ?? ''
  return new Map([...turns].sort(([a], [b]) => (began(a) < began(b) ? -1 : 1)))
}

function labelOf(pending: Pending, turn: string): string {
  const origin = pending.originOf(turn)
  return origin === undefined ? turn : `${promptLine(origin.prompt, 60)} · ${plainLine(origin.agent, 30)}`
}

function stateOf(pending: Pending, file: PendingFile, turn: string): PendingState {
  const isGone = file.hunks.some(({ kind }) => kind === 'delete')
  const title = file.hunks.map(hunkTitle).join(', ')
  return {
    resourceUri: pending.root.uriOf(file.path),
    contextValue: file.proposal === undefined ? 'file' : 'proposal',
    decorations: {
      strikeThrough: isGone,
      tooltip: `${fileTooltip(file)}: ${title}`,
      ...(file.proposal === undefined ? {} : { iconPath: new vscode.ThemeIcon('lightbulb') }),
    },
    command: {
      title: 'Open',
      command: 'unturn.review.openChanges',
      arguments: [pending.refOf(file.hunks[0] as PendingHunk)],
    },
    pending,
    hunks: file.hunks,
    turn,
  }
}
