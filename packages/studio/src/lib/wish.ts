/** What somebody wants done to the files. Asked for dry first: nothing happens before it was seen. */

import type { MoveResult, Selection, WorkspaceClient } from '@unturn/client'

export type OnConflict = 'abort' | 'keep' | 'overwrite' | 'markers'

export type Wish =
  | { readonly kind: 'undo'; readonly session: string; readonly to: string }
  | { readonly kind: 'redo'; readonly session: string; readonly all: boolean }
  | {
      readonly kind: 'restore'
      readonly session: string
      readonly turn: string
      readonly step?: string
      readonly side: 'before' | 'after'
    }
  | {
      readonly kind: 'rollback'
      readonly session?: string
      readonly selection: Selection
      readonly what: string
    }

export interface How {
  readonly onConflict?: OnConflict
  /** For single files. */
  readonly choices?: Readonly<Record<string, OnConflict>>
  readonly force?: boolean
  readonly git?: boolean
}

export function dryRun(workspace: WorkspaceClient, wish: Wish, how: How): Promise<MoveResult> {
  const { choices, ...rest } = how
  const move = {
    ...rest,
    dryRun: true,
    sides: true,
    ...(choices === undefined || Object.keys(choices).length === 0 ? {} : { choices }),
    ...(wish.session === undefined ? {} : { session: wish.session }),
  }
  switch (wish.kind) {
    case 'undo':
      return workspace.undo({ ...move, to: wish.to })
    case 'redo':
      return workspace.redo({ ...move, ...(wish.all ? { all: true } : {}) })
    case 'restore': {
      const { turn, side, step } = wish
      return workspace.restore({ ...move, turn, side, ...(step === undefined ? {} : { step }) })
    }
    case 'rollback': {
      const { git: _, force: __, ...plain } = move
      return workspace.rollback({ ...plain, selection: wish.selection })
    }
  }
}

export function titleOf(wish: Wish): string {
  switch (wish.kind) {
    case 'undo':
      return 'Undo to here'
    case 'redo':
      return wish.all ? 'Redo everything' : 'Redo'
    case 'restore':
      return wish.side === 'before' ? 'Restore to before this' : 'Restore to after this'
    case 'rollback':
      return `Roll back ${wish.what}`
  }
}

/** For the message afterwards. */
export function doneWords(wish: Wish): string {
  switch (wish.kind) {
    case 'undo':
      return 'Undone'
    case 'redo':
      return 'Redone'
    case 'restore':
      return 'Restored'
    case 'rollback':
      return 'Rolled back'
  }
}
