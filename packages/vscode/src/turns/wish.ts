/** What somebody wants done to the files. It is asked for dry first: nothing happens before it could be seen. */

import type { Conflict, MoveResult, Selection, Skipped, WorkspaceClient } from '@unturn/client'
import { counted, plainLine, promptLine } from '../words.ts'

export type OnConflict = 'abort' | 'keep' | 'overwrite' | 'markers'

export type Wish = {
  /** The prompt of the turn that was pointed at. */
  readonly about?: string
} & (
  | { readonly kind: 'undo'; readonly session?: string; readonly to?: string }
  | { readonly kind: 'redo'; readonly session?: string; readonly all: boolean }
  | {
      readonly kind: 'restore'
      readonly session?: string
      readonly turn: string
      readonly side: 'before' | 'after'
    }
  | {
      readonly kind: 'rollback'
      readonly session?: string
      readonly selection: Selection
      /** For the title: what is rolled back. */
      readonly what: string
    }
)

export interface How {
  readonly onConflict?: OnConflict
  /** For single files. */
  readonly choices?: Readonly<Record<string, OnConflict>>
  /** Files that somebody has merged by hand. */
  readonly results?: Readonly<Record<string, string>>
  readonly force?: boolean
  readonly git?: boolean
}

export function dryRun(workspace: WorkspaceClient, wish: Wish, how: How): Promise<MoveResult> {
  const session = wish.session === undefined ? {} : { session: wish.session }
  const move = { ...how, ...session, dryRun: true, sides: true }
  switch (wish.kind) {
    case 'undo':
      return workspace.undo({ ...move, ...(wish.to === undefined ? {} : { to: wish.to }) })
    case 'redo':
      return workspace.redo({ ...move, ...(wish.all ? { all: true } : {}) })
    case 'restore':
      return workspace.restore({ ...move, turn: wish.turn, side: wish.side })
    case 'rollback': {
      const { git: _, force: __, ...plain } = move
      return workspace.rollback({ ...plain, selection: wish.selection })
    }
  }
}

export function titleOf(wish: Wish): string {
  switch (wish.kind) {
    case 'undo':
      return wish.to === undefined ? 'Undo the Last Turn' : 'Undo to Here'
    case 'redo':
      return wish.all ? 'Redo Everything' : 'Redo'
    case 'restore':
      return wish.side === 'before' ? 'Restore to Before This Turn' : 'Restore to After This Turn'
    case 'rollback':
      return `Roll Back ${wish.what}`
  }
}

/** With the beginning of the prompt that it is about. */
export function wholeTitleOf(wish: Wish, { prompt }: Pick<MoveResult, 'prompt'>): string {
  const about = wish.about ?? prompt
  return about === undefined ? titleOf(wish) : `${titleOf(wish)}: ${promptLine(about, 60)}`
}

/** For the button: what it does, and to how much. */
export function actionOf(wish: Wish, { files, reverted, redone }: MoveResult): string {
  const turns = [
    ...(reverted.length === 0 ? [] : [`takes ${counted(reverted.length, 'turn')} out`]),
    ...(redone.length === 0 ? [] : [`brings ${counted(redone.length, 'turn')} back`]),
  ]
  const changed = files.length === 0 ? 'no file changes' : `changes ${counted(files.length, 'file')}`
  const verb = { undo: 'Undo', redo: 'Redo', restore: 'Restore', rollback: 'Roll back' }[wish.kind]
  return `${verb}: ${[...turns, changed].join(', ')}`
}

export function doneLine(wish: Wish, { files, reverted, redone, git }: MoveResult): string {
  const verb = { undo: 'Undone', redo: 'Redone', restore: 'Restored', rollback: 'Rolled back' }[wish.kind]
  const turns = reverted.length + redone.length
  const parts = [...(turns === 0 ? [] : [counted(turns, 'turn')]), counted(files.length, 'file')]
  return `${verb}: ${parts.join(', ')}.${branchLine(git)}`
}

function branchLine(git: MoveResult['git']): string {
  if (git === undefined) return ''
  return git.moved
    ? ` The branch ${plainLine(git.branch.replace(/^refs\/heads\//, ''))} was moved back.`
    : ` Your branch was left alone: ${plainLine(git.reason)}`
}

/** Somebody should look before this happens, even who does not want to be asked every time. */
export function needsLook({ kind, files, notUndone }: MoveResult): boolean {
  const { commands, commits, skipped, branch } = notUndone
  const isWhole = commands.length + commits.length + skipped.length === 0 && branch === undefined
  return kind !== 'planned' || !isWhole || files.some(({ merged }) => merged)
}

export interface NotUndoneLine {
  readonly icon: 'terminal' | 'git-commit' | 'git-branch' | 'circle-slash'
  readonly text: string
  readonly why: string
}

const reasons: Readonly<Record<Skipped['reason'], string>> = {
  ignored: 'it is ignored',
  'too-large': 'it is too large',
  unreadable: 'it could not be read',
  special: 'it is a special file',
  'nested-git': 'it is in the .git of a nested repository',
  purged: 'it was purged',
}

/** What this cannot take back, honestly. */
export function notUndoneLines({ notUndone }: MoveResult): readonly NotUndoneLine[] {
  const { commands, commits, skipped, branch } = notUndone
  return [
    ...commands.map((command) => ({
      icon: 'terminal' as const,
      text: plainLine(command),
      why: 'what this command did outside of the captured files stays',
    })),
    ...commits.map(({ id, subject }) => ({
      icon: 'git-commit' as const,
      text: plainLine(`${id.slice(0, 9)} ${subject}`),
      why: 'the commit stays in your repository',
    })),
    ...(branch === undefined
      ? []
      : [
          {
            icon: 'git-branch' as const,
            text: plainLine(`${branch.from ?? 'no branch'} → ${branch.to ?? 'no branch'}`),
            why: 'the switch to another branch stays',
          },
        ]),
    ...skipped.map(({ path, reason }) => ({
      icon: 'circle-slash' as const,
      text: plainLine(path),
      why: `it was not captured, because ${reasons[reason]}`,
    })),
  ]
}

const actions = { write: 'written', delete: 'deleted', rename: 'renamed', mode: 'mode changed' } as const

export function fileLine({ action, from, merged }: MoveResult['files'][number], isDirty: boolean): string {
  return [
    from === undefined ? actions[action] : `renamed from ${plainLine(from)}`,
    ...(merged ? ['merged: later edits are kept'] : []),
    ...(isDirty ? ['has edits that are not saved'] : []),
  ].join(' · ')
}

export function conflictLine({ later, message }: Conflict): string {
  const who = [...new Set(later.map(({ actor }) => (actor === 'user' ? 'you' : actor)))]
  return who.length === 0 ? plainLine(message) : `edited since by ${who.join(', ')}`
}
