import type { Decision, HunkSelection } from '@unturn/client'
import { type ReactNode, useState } from 'react'
import { useStudio } from '../lib/studio.ts'
import { count } from '../lib/words.ts'
import { tell } from '../parts/toast.tsx'
import { CommentDialog } from './comment-dialog.tsx'
import { ContestedDialog } from './contested-dialog.tsx'

export type Word = 'accept' | 'reject'

export interface Undecided {
  readonly word: Word
  readonly selection: HunkSelection
  readonly comment?: string
}

export interface Deciding {
  readonly decide: (word: Word, selection: HunkSelection, withComment?: boolean) => Promise<void>
  /** A question that has to be answered first. */
  readonly asking: ReactNode
}

/** Somebody's word on hunks, and the way to take it back. */
export function useDecide(session: string): Deciding {
  const { workspace } = useStudio()
  const [toComment, setToComment] = useState<Undecided>()
  const [contested, setContested] = useState<Undecided & { readonly decision: Decision }>()

  const takeBack = async (ops: readonly string[]) => {
    try {
      for (const op of ops.toReversed()) await workspace.rollback({ session, selection: { ops: [op] } })
      tell({ text: 'Taken back: the same hunks are pending again.' })
    } catch (error) {
      if (error instanceof Error) tell({ text: error.message, isBad: true })
    }
  }
  const done = ({ word }: Undecided, { hunks, ops }: Decision) =>
    tell({
      text: `${word === 'accept' ? 'Accepted' : 'Rejected'}: ${count(hunks.length, 'hunk')}.`,
      action: { label: 'Undo', run: () => void takeBack(ops) },
    })
  const send = async (wish: Undecided) => {
    const { word, selection, comment } = wish
    try {
      const decision = await workspace[word]({
        session,
        selection,
        sides: true,
        ...(comment === undefined ? {} : { comment }),
      })
      if (decision.kind === 'conflicts') setContested({ ...wish, decision })
      else done(wish, decision)
    } catch (error) {
      if (error instanceof Error) tell({ text: error.message, isBad: true })
    }
  }
  const decide: Deciding['decide'] = async (word, selection, withComment = false) => {
    if (withComment) setToComment({ word, selection })
    else await send({ word, selection })
  }
  const asking = (
    <>
      {toComment === undefined ? null : (
        <CommentDialog
          onClose={() => setToComment(undefined)}
          onComment={(comment) => {
            setToComment(undefined)
            void send({ ...toComment, comment })
          }}
        />
      )}
      {contested === undefined ? null : (
        <ContestedDialog
          session={session}
          contested={contested}
          onClose={() => setContested(undefined)}
          onDone={(decision) => {
            setContested(undefined)
            done(contested, decision)
          }}
        />
      )}
    </>
  )
  return { decide, asking }
}
