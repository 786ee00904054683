import type { Decision } from '@unturn/client'
import { useState } from 'react'
import { Diff } from '../diff/lazy.tsx'
import { useStudio } from '../lib/studio.ts'
import type { How, OnConflict } from '../lib/wish.ts'
import { Conflicts } from '../parts/conflicts.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/failure.tsx'
import type { Undecided } from './decide.tsx'

interface Props {
  readonly session: string
  readonly contested: Undecided & { readonly decision: Decision }
  readonly onClose: () => void
  readonly onDone: (decision: Decision) => void
}

/** Somebody has edited inside the hunk: the four choices, and what each would write. */
export function ContestedDialog({ session, contested, onClose, onDone }: Props) {
  const { workspace } = useStudio()
  const { word, selection, comment, decision } = contested
  const [choice, setChoice] = useState<OnConflict>('abort')
  const [planned, setPlanned] = useState<Decision>()
  const [failure, setFailure] = useState<Error>()
  const ask = (onConflict: OnConflict, dryRun: boolean) =>
    workspace[word]({ session, selection, onConflict, dryRun, ...(comment === undefined ? {} : { comment }) })
  const choose = async (how: How) => {
    const wanted = Object.values(how.choices ?? {}).findLast((one) => one !== choice) ?? choice
    setChoice(wanted)
    setPlanned(undefined)
    if (wanted === 'abort') return
    try {
      setPlanned(await ask(wanted, true))
    } catch (error) {
      if (error instanceof Error) setFailure(error)
    }
  }
  const apply = async () => {
    try {
      onDone(await ask(choice, false))
    } catch (error) {
      if (error instanceof Error) setFailure(error)
    }
  }
  const choices = Object.fromEntries(decision.conflicts.map(({ path }) => [path, choice]))
  return (
    <Dialog
      title={word === 'reject' ? 'Reject a contested hunk' : 'Accept a contested proposal'}
      size="large"
      onClose={onClose}
      footer={
        <>
          <span className="grow muted">One choice for all of these. Nothing happens before you say so.</span>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            className="primary"
            disabled={planned === undefined}
            onClick={() => void apply()}
          >
            {word === 'reject' ? 'Reject' : 'Accept'}
          </button>
        </>
      }
    >
      <div className={planned?.patch === undefined ? 'preview alone' : 'preview'}>
        <div className="preview-facts">
          <Conflicts
            conflicts={decision.conflicts}
            isSettled={planned !== undefined}
            how={{ choices }}
            onHow={(how) => void choose(how)}
          />
          {failure === undefined ? null : <Failure failure={failure} />}
        </div>
        {planned?.patch === undefined ? null : (
          <div className="preview-diff">
            <div className="preview-patch">
              <Diff patch={planned.patch} label="What would be written" />
            </div>
          </div>
        )}
      </div>
    </Dialog>
  )
}
