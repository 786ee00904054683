/** Review in the editor: what waits for somebody's word, where it stands, and the commands to give it. */

import * as vscode from 'vscode'
import type { MergeDesk } from '../conflicts/merge-desk.ts'
import type { Roots } from '../root.ts'
import { counted, plainLine, promptLine, textOf } from '../words.ts'
import { registerActions } from './actions.ts'
import { Decider, type Verb, type Wish } from './decide.ts'
import { Decorations } from './decorate.ts'
import { Documents } from './documents.ts'
import { FileMarks } from './file-marks.ts'
import type { PendingFile, PendingHunk } from './hunk.ts'
import { Lenses } from './lenses.ts'
import { AllPending, type HunkRef, type Located, type Pending } from './pending.ts'
import { Places } from './places.ts'
import { type PendingGroup, type PendingState, SourceControls } from './scm.ts'
import { baseUri, proposalUri, ReviewTexts } from './texts.ts'
import { hunkAt, nextOf } from './words.ts'

export { AllPending } from './pending.ts'

export function registerReview(
  context: vscode.ExtensionContext,
  roots: Roots,
  merging: MergeDesk,
  log: (line: string) => void = () => {},
): AllPending {
  const pending = new AllPending(roots, log)
  const documents = new Documents(pending)
  const texts = new ReviewTexts(pending, documents)
  const places = new Places(pending, documents, texts)
  const decider = new Decider(documents, merging)
  const controls = new SourceControls(pending)
  const commands = new Commands(pending, places, decider, controls)
  context.subscriptions.push(
    pending,
    documents,
    texts,
    controls,
    new Decorations(documents),
    new Lenses(pending, documents, texts, merging.unsaved),
    new FileMarks(pending),
    registerActions(places, pending),
    commands.register(),
    tellKeys(places, documents, pending),
  )
  return pending
}

/** Keys for hunks are bound only where there is one. */
function tellKeys(places: Places, documents: Documents, pending: AllPending): vscode.Disposable {
  const tell = () => {
    void vscode.commands.executeCommand('setContext', 'unturn.hunksInEditor', places.isPending)
    void vscode.commands.executeCommand(
      'setContext',
      'unturn.pending',
      pending.all.some(({ count }) => count > 0),
    )
  }
  tell()
  return vscode.Disposable.from(
    vscode.window.onDidChangeActiveTextEditor(tell),
    documents.onChange(tell),
    pending.onChange(tell),
  )
}

class Commands {
  readonly #pending: AllPending
  readonly #places: Places
  readonly #decider: Decider
  readonly #controls: SourceControls

  constructor(pending: AllPending, places: Places, decider: Decider, controls: SourceControls) {
    this.#pending = pending
    this.#places = places
    this.#decider = decider
    this.#controls = controls
  }

  register(): vscode.Disposable {
    const all: Readonly<Record<string, (...args: readonly unknown[]) => unknown>> = {
      'unturn.review.acceptHunk': (ref) => this.#decideHunk('accept', ref),
      'unturn.review.rejectHunk': (ref) => this.#decideHunk('reject', ref),
      'unturn.review.acceptFile': (what) => this.#decideFile('accept', what),
      'unturn.review.rejectFile': (what) => this.#decideFile('reject', what),
      'unturn.review.acceptTurn': (what) => this.#decideTurn('accept', what),
      'unturn.review.rejectTurn': (what) => this.#decideTurn('reject', what),
      'unturn.review.acceptAll': (what) => this.#decideAll('accept', what),
      'unturn.review.rejectAll': (what) => this.#decideAll('reject', what),
      'unturn.review.acceptChange': (uri, changes, index) =>
        this.#decideChange('accept', uri, changes, index),
      'unturn.review.rejectChange': (uri, changes, index) =>
        this.#decideChange('reject', uri, changes, index),
      'unturn.review.nextHunk': () => this.#go(1),
      'unturn.review.previousHunk': () => this.#go(-1),
      'unturn.review.takeBack': () => this.#decider.takeBack(),
      'unturn.review.why': (ref) => this.#why(ref),
      'unturn.review.all': () => this.#reviewAll(),
      'unturn.review.openChanges': (what) => this.#openChanges(what),
      'unturn.review.openProposal': (ref) => this.#openChanges(ref),
      'unturn.review.refresh': () => this.#refresh(),
    }
    return vscode.Disposable.from(
      ...Object.entries(all).map(([id, run]) =>
        vscode.commands.registerCommand(id, async (...args: unknown[]) => {
          try {
            return await run(...args)
          } catch (error) {
            void vscode.window.showErrorMessage(textOf(error))
            return undefined
          }
        }),
      ),
    )
  }

  // ---- deciding ------------------------------------------------------------------------------------------------------

  async #decideHunk(verb: Verb, what: unknown): Promise<boolean> {
    if (isRef(what)) return this.#decideRef(verb, what)
    const place = this.#here()
    if (place === undefined) return this.#nothingHere()
    const isDone = await this.#decider.decide(verb, { pending: place.pending, hunks: [place.hunk] })
    if (isDone) await this.#go(1, 'if there is one')
    return isDone
  }

  #decideRef(verb: Verb, ref: HunkRef): Promise<boolean> {
    const located = this.#pending.find(ref)
    const pending = located?.pending ?? this.#pending.byFolder(ref.folder)
    if (pending === undefined) return Promise.resolve(false)
    return this.#decider.decide(verb, { pending, hunks: located === undefined ? [] : [located.hunk] })
  }

  #decideFile(verb: Verb, what: unknown): Promise<boolean> {
    if (isState(what)) return this.#decideAlone(verb, what)
    const uri = what instanceof vscode.Uri ? what : vscode.window.activeTextEditor?.document.uri
    const wish = uri === undefined ? undefined : this.#places.ofFile(uri)
    if (wish === undefined || wish.hunks.length === 0) return this.#nothingHere()
    return this.#decider.decide(verb, wish)
  }

  #decideAlone(verb: Verb, { pending, hunks, turn }: PendingState): Promise<boolean> {
    const isShared = hunks.some(({ turns }) => turns.length > 1)
    return this.#decider.decide(verb, { pending, hunks, ...(isShared && turn !== undefined ? { turn } : {}) })
  }

  async #decideTurn(verb: Verb, what: unknown): Promise<boolean> {
    const { pending, turn } = (what ?? {}) as PendingGroup
    if (pending === undefined || turn === undefined) return this.#nothingHere()
    const hunks = hunksOf(pending.files).filter(({ turns }) => turns.includes(turn))
    const isShared = hunks.some(({ turns }) => turns.length > 1)
    return this.#decider.decide(verb, { pending, hunks, ...(isShared ? { turn } : {}) })
  }

  async #decideAll(verb: Verb, what: unknown): Promise<boolean> {
    const one = this.#controls.pendingOf(what as vscode.SourceControl | undefined)
    const wishes = (one === undefined ? this.#pending.all : [one])
      .map((pending): Wish => ({ pending, hunks: hunksOf(pending.files) }))
      .filter(({ hunks }) => hunks.length > 0)
    if (wishes.length === 0) return this.#nothingHere()
    const count = wishes.reduce((sum, { hunks }) => sum + hunks.length, 0)
    if (verb === 'reject' && !(await isSure(count))) return false
    let isDone = true
    for (const wish of wishes) isDone = (await this.#decider.decide(verb, wish)) && isDone
    return isDone
  }

  /** From the change peek: the change is a diff of the editor's own, and may be more than one hunk, or a part of one. */
  async #decideChange(verb: Verb, uri: unknown, changes: unknown, index: unknown): Promise<boolean> {
    const change = Array.isArray(changes) ? (changes[Number(index)] as LineChange | undefined) : undefined
    if (!(uri instanceof vscode.Uri) || change === undefined) return false
    const document = await vscode.workspace.openTextDocument(uri)
    const { from, to } = linesOf(change)
    const touched = this.#places.in(document).filter(({ first, end }) => first <= to && from <= end)
    const [place] = touched
    if (place === undefined) return this.#nothingHere()
    const hunks = touched.map(({ hunk }) => hunk)
    await vscode.commands.executeCommand('closeReferenceSearch') // the peek, whose change is gone now
    return this.#decider.decide(verb, { pending: place.pending, hunks })
  }

  #here(): ReturnType<Places['in']>[number] | undefined {
    const editor = vscode.window.activeTextEditor
    return editor === undefined
      ? undefined
      : hunkAt(this.#places.in(editor.document), editor.selection.active.line)
  }

  async #nothingHere(): Promise<false> {
    void vscode.window.showInformationMessage('Nothing is waiting for your word here.')
    return false
  }

  // ---- looking -------------------------------------------------------------------------------------------------------

  async #go(way: 1 | -1, mode: 'always' | 'if there is one' = 'always'): Promise<void> {
    const editor = vscode.window.activeTextEditor
    const places = editor === undefined ? [] : this.#places.in(editor.document)
    const { line = 0 } = editor?.selection.active ?? {}
    const next = nextOf(places, line, way)
    if (editor !== undefined && next !== undefined) return show(editor, next.first)
    if (mode === 'always') await this.#goElsewhere()
  }

  async #goElsewhere(): Promise<void> {
    const [pending] = this.#pending.all.filter(({ count }) => count > 0)
    const [file] = pending?.files ?? []
    if (pending === undefined || file === undefined) return void (await this.#nothingHere())
    const [hunk] = file.hunks
    if (hunk !== undefined) await this.#open({ pending, file, hunk }, 'plain')
  }

  async #openChanges(what: unknown): Promise<void> {
    if (isRef(what)) {
      const located = this.#pending.find(what)
      if (located !== undefined) return this.#open(located, 'diff')
      const pending = this.#pending.byFolder(what.folder)
      pending?.look()
      return void (await this.#nothingHere())
    }
    const uri = isState(what) ? what.resourceUri : (what ?? vscode.window.activeTextEditor?.document.uri)
    if (!(uri instanceof vscode.Uri)) return
    const pending = this.#pending.of(uri)
    const file = pending?.fileAt(uri) ?? pending?.proposalsAt(uri)[0]
    const hunk = file?.hunks[0]
    if (pending === undefined || file === undefined || hunk === undefined)
      return void (await this.#nothingHere())
    await this.#open({ pending, file, hunk }, 'diff')
  }

  async #open({ pending, file, hunk }: Located, how: 'diff' | 'plain'): Promise<void> {
    const { left, right, title } = sidesOf(pending, file)
    if (how === 'plain' && file.proposal === undefined && right !== undefined) {
      const editor = await vscode.window.showTextDocument(right)
      const place = this.#places.in(editor.document).find((one) => one.hunk.id === hunk.id)
      if (place !== undefined) show(editor, place.first)
      return
    }
    const nothing = baseUri(pending, file.path).with({ query: '' })
    await vscode.commands.executeCommand('vscode.diff', left ?? nothing, right ?? nothing, title)
  }

  async #reviewAll(): Promise<void> {
    const files = this.#pending.all.flatMap((pending) => pending.files.map((file) => ({ pending, file })))
    if (files.length === 0) return void (await this.#nothingHere())
    const count = files.reduce((sum, { file }) => sum + file.hunks.length, 0)
    const sides = files.map(({ pending, file }) => {
      const { left, right } = sidesOf(pending, file)
      return [pending.root.uriOf(file.path), left, right]
    })
    await vscode.commands.executeCommand(
      'vscode.changes',
      `Unturn: ${counted(count, 'pending block')}`,
      sides,
    )
  }

  async #why(ref: unknown): Promise<void> {
    const located = isRef(ref) ? this.#pending.find(ref) : this.#here()
    const turn = located?.hunk.turns[0]
    if (located === undefined || turn === undefined) return void (await this.#nothingHere())
    const origin = located.pending.originOf(turn)
    const { prompt = null, agent = 'an agent' } = origin ?? {}
    const copy = { label: '$(copy) Copy the prompt', run: () => vscode.env.clipboard.writeText(prompt ?? '') }
    const whole = { label: '$(diff) Show all that this turn did', run: () => showTurn(located.pending, turn) }
    const chosen = await vscode.window.showQuickPick([whole, ...(prompt === null ? [] : [copy])], {
      title: `${plainLine(agent, 40)}: ${promptLine(prompt, 200)}`,
      placeHolder: `Turn ${turn}`,
    })
    await chosen?.run()
  }

  async #refresh(): Promise<void> {
    for (const pending of this.#pending.all) {
      pending.look()
      await pending.settled()
    }
  }
}

interface LineChange {
  readonly modifiedStartLineNumber: number
  readonly modifiedEndLineNumber: number
}

// Counted from 1; where lines were only removed, the end is 0 and the start is the line before.
function linesOf({ modifiedStartLineNumber: start, modifiedEndLineNumber: end }: LineChange) {
  return end === 0 ? { from: start, to: start } : { from: start - 1, to: end - 1 }
}

function show(editor: vscode.TextEditor, line: number): void {
  const at = new vscode.Position(Math.min(line, editor.document.lineCount - 1), 0)
  editor.selection = new vscode.Selection(at, at)
  editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport)
}

/** Both sides of a diff; undefined: not there. */
function sidesOf(pending: Pending, file: PendingFile) {
  const uri = pending.root.uriOf(file.path)
  const name = plainLine(file.path.split('/').at(-1) ?? file.path, 60)
  const has = (kind: PendingHunk['kind']) => file.hunks.some((hunk) => hunk.kind === kind)
  if (file.proposal === undefined) {
    const left = has('create') ? undefined : baseUri(pending, file.path)
    return { left, right: has('delete') ? undefined : uri, title: `${name} (pending)` }
  }
  const right = has('delete') ? undefined : proposalUri(pending, file.path, file.proposal)
  return { left: has('create') ? undefined : uri, right, title: `${name} (proposed)` }
}

async function showTurn(pending: Pending, turn: string): Promise<void> {
  const client = await pending.root.client()
  const { patch } = await client.show(turn)
  const content = `${patch.trimEnd()}\n`
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content, language: 'diff' }))
}

function hunksOf(files: readonly PendingFile[]): readonly PendingHunk[] {
  return files.flatMap(({ hunks }) => hunks)
}

function isRef(value: unknown): value is HunkRef {
  return (
    typeof value === 'object' &&
    value !== null &&
    'hunk' in value &&
    typeof value.hunk === 'string' &&
    'folder' in value
  )
}

function isState(value: unknown): value is PendingState {
  return typeof value === 'object' && value !== null && 'resourceUri' in value && 'hunks' in value
}

async function isSure(count: number): Promise<boolean> {
  const yes = 'Reject All'
  const chosen = await vscode.window.showWarningMessage(
    `Reject ${counted(count, 'pending block')}?`,
    {
      modal: true,
      detail: 'The old text comes back in their place. Your own edits stay, and it can be taken back.',
    },
    yes,
  )
  return chosen === yes
}
