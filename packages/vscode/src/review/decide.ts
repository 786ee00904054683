/** Accepting and rejecting. What is decided is what somebody saw: by the ids of hunks, which are of their content. */

import { type Decision, type HunkSelection, UnturnRequestError } from '@unturn/client'
import * as vscode from 'vscode'
import type { MergeDesk } from '../conflicts/merge-desk.ts'
import { rebase } from '../dirty/rebase.ts'
import { counted, plainLine, textOf } from '../words.ts'
import { type Documents, documentOf, textOnDisk } from './documents.ts'
import { hasLines, mergeTexts, type PendingFile, type PendingHunk, withProposed } from './hunk.ts'
import type { Pending } from './pending.ts'

export type Verb = 'accept' | 'reject'

/** Hunks of one folder that are decided together. */
export interface Wish {
  readonly pending: Pending
  readonly hunks: readonly PendingHunk[]
  /** Only what this turn made of them. */
  readonly turn?: string
}

interface Unsaved {
  readonly document: vscode.TextDocument
  /** The file on disk before the decision. */
  readonly saved: string
}

type Refusal = { readonly message: string; readonly document?: vscode.TextDocument }

export interface Last {
  readonly pending: Pending
  readonly session: string
  readonly ops: readonly string[]
  readonly words: string
}

export class Decider {
  readonly #documents: Documents
  readonly #merging: MergeDesk
  #last: Last | undefined
  #working: Promise<unknown> = Promise.resolve()

  constructor(documents: Documents, merging: MergeDesk) {
    this.#documents = documents
    this.#merging = merging
  }

  /** One after the other: two quick clicks are two decisions, and the second one sees what the first has done. */
  decide(verb: Verb, wish: Wish): Promise<boolean> {
    const done = this.#working.then(() => this.#decide(verb, wish))
    this.#working = done.catch(() => {})
    return done
  }

  async #decide(verb: Verb, wish: Wish): Promise<boolean> {
    const { pending } = wish
    if (!pending.root.trusted()) {
      void vscode.window.showWarningMessage(
        `Unturn does not ${verb} anything in a folder that you have not trusted. Nothing was changed.`,
      )
      return false
    }
    // As they are known now: the list may have been fetched anew since the button was drawn.
    const hunks = wish.hunks.flatMap(({ session, id }) => pending.find({ session, hunk: id })?.hunk ?? [])
    if (hunks.length === 0 || hunks.length < wish.hunks.length) return this.#stale(pending)
    const unsaved = await this.#unsaved(verb, { pending, hunks })
    if ('message' in unsaved) return this.#refuse(unsaved)
    try {
      let isDone = true
      for (const [session, those] of bySession(hunks))
        isDone = (await this.#ask(verb, { ...wish, hunks: those }, session)) && isDone
      await this.#carryOver(unsaved)
      return isDone
    } catch (error) {
      if (error instanceof UnturnRequestError && error.code === 'hunk-gone') return this.#stale(pending)
      void vscode.window.showErrorMessage(textOf(error))
      return false
    } finally {
      pending.refresh()
      await pending.settled()
    }
  }

  #stale(pending: Pending): boolean {
    pending.look()
    void vscode.window.showWarningMessage(
      'That block has changed since it was drawn, or was decided elsewhere. Nothing was changed, and it is drawn anew.',
    )
    return false
  }

  async #refuse({ message, document }: Refusal): Promise<boolean> {
    const show = 'Show It'
    const buttons = document === undefined ? [] : [show]
    const chosen = vscode.window.showWarningMessage(message, ...buttons)
    void chosen.then((button) => {
      if (button === show && document !== undefined) void vscode.window.showTextDocument(document)
    })
    return false
  }

  // ---- text that is not saved ----------------------------------------------------------------------------------------

  /** The unsaved documents that a decision is about to write below; or why it must not. */
  async #unsaved(verb: Verb, { pending, hunks }: Wish): Promise<readonly Unsaved[] | Refusal> {
    const unsaved: Unsaved[] = []
    for (const file of filesWith(pending, hunks)) {
      const document = documentOf(pending.root.uriOf(file.path))
      const isWritten = verb === 'reject' ? file.proposal === undefined : file.proposal !== undefined
      if (document?.isDirty !== true || !isWritten) continue
      const saved = await textOnDisk(document)
      const chosen = file.hunks.filter((hunk) => hunks.includes(hunk))
      const why =
        verb === 'reject'
          ? this.#whyNotRejected(document, chosen)
          : whyNotWritten(document, saved ?? '', chosen)
      if (why !== undefined) return why
      if (saved !== undefined) unsaved.push({ document, saved })
    }
    return unsaved
  }

  #whyNotRejected(document: vscode.TextDocument, hunks: readonly PendingHunk[]): Refusal | undefined {
    const shown = this.#documents.in(document)
    for (const { id, kind } of hunks) {
      const place = shown.find(({ hunk }) => hunk.id === id)
      if (kind === 'mode' || (kind === 'text' && place?.untouched === true)) continue
      const name = plainLine(vscode.workspace.asRelativePath(document.uri))
      const what =
        kind === 'text'
          ? `You have typed inside this block of ${name} and not saved it, so rejecting it would take your text with it.`
          : `${name} has text that is not saved, and rejecting this is about the whole file.`
      return {
        message: `${what} Nothing was changed. Save the file first, then reject; or accept the block, which leaves your text alone.`,
        document,
      }
    }
    return undefined
  }

  async #carryOver(unsaved: readonly Unsaved[]): Promise<void> {
    for (const { document, saved } of unsaved) {
      const disk = await textOnDisk(document)
      if (disk === undefined || disk === saved) continue
      const result = await rebase(document, saved, this.#merging.unsaved)
      if (result === 'overlaps') void this.#merging.mergeUnsaved(document, saved)
    }
  }

  // ---- asking the server ---------------------------------------------------------------------------------------------

  async #ask(verb: Verb, wish: Wish, session: string): Promise<boolean> {
    const { pending, hunks, turn } = wish
    const selection: HunkSelection = {
      hunks: hunks.map(({ id }) => id),
      ...(turn === undefined ? {} : { turns: [turn] }),
    }
    const client = await pending.root.client()
    const decision = await client[verb]({ session, selection, sides: true })
    if (decision.kind !== 'conflicts') return this.#done(verb, wish, session, decision)
    const settled = await this.#merging.settle(pending.root, verb, decision.conflicts)
    if (settled === undefined) return false
    const again = await client[verb]({ session, selection, ...settled })
    return this.#done(verb, wish, session, again)
  }

  #done(verb: Verb, { pending, hunks }: Wish, session: string, decision: Decision): boolean {
    if (decision.kind !== 'done') return false
    const [first] = filesWith(pending, hunks)
    const where = hunks.length === 1 && first !== undefined ? ` in ${plainLine(first.path, 60)}` : ''
    const words = `${verb === 'accept' ? 'Accepted' : 'Rejected'} ${counted(hunks.length, 'block')}${where}`
    if (decision.ops.length > 0) this.#last = { pending, session, ops: decision.ops, words }
    vscode.window.setStatusBarMessage(`$(check) ${words}`, 4_000)
    return true
  }

  /** The last decision of this window goes back: the same hunks are pending again. */
  async takeBack(): Promise<void> {
    const last = this.#last
    if (last === undefined) {
      void vscode.window.showInformationMessage('Nothing was accepted or rejected in this window yet.')
      return
    }
    try {
      const client = await last.pending.root.client()
      const unsaved = await unsavedIn(last.pending)
      const result = await client.rollback({ session: last.session, selection: { ops: [...last.ops] } })
      await this.#carryOver(unsaved)
      if (result.kind === 'done') {
        this.#last = undefined
        vscode.window.setStatusBarMessage(`$(discard) Taken back: ${last.words}`, 4_000)
      } else
        void vscode.window.showWarningMessage(
          `${result.conflicts[0]?.message ?? result.message ?? 'It cannot be taken back any more.'} Nothing was changed.`,
        )
    } catch (error) {
      void vscode.window.showErrorMessage(textOf(error))
    }
    last.pending.refresh()
    await last.pending.settled()
  }
}

async function unsavedIn({ root }: Pending): Promise<readonly Unsaved[]> {
  const unsaved: Unsaved[] = []
  for (const document of vscode.workspace.textDocuments) {
    if (!document.isDirty || root.pathOf(document.uri) === undefined) continue
    const saved = await textOnDisk(document)
    if (saved !== undefined) unsaved.push({ document, saved })
  }
  return unsaved
}

function bySession(hunks: readonly PendingHunk[]): ReadonlyMap<string, readonly PendingHunk[]> {
  const groups = new Map<string, PendingHunk[]>()
  for (const hunk of hunks) {
    const group = groups.get(hunk.session)
    if (group === undefined) groups.set(hunk.session, [hunk])
    else group.push(hunk)
  }
  return groups
}

function filesWith(pending: Pending, hunks: readonly PendingHunk[]): readonly PendingFile[] {
  return pending.files.filter((file) => file.hunks.some((hunk) => hunks.includes(hunk)))
}

function whyNotWritten(
  document: vscode.TextDocument,
  saved: string,
  hunks: readonly PendingHunk[],
): Refusal | undefined {
  const name = plainLine(vscode.workspace.asRelativePath(document.uri))
  const proposed = hunks.every(hasLines) ? withProposed(saved, hunks) : undefined
  const isFine = proposed !== undefined && mergeTexts(saved, document.getText(), proposed).overlaps === 0
  if (isFine && !hunks.some(({ kind }) => kind === 'delete')) return undefined
  return {
    message: `You have typed into ${name}, in the lines that this proposal changes, and not saved it. Nothing was written. Save the file first; then the proposal is shown over your text.`,
    document,
  }
}
