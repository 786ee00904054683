import type { Decision } from '@unturn/client'
import { useEffect, useState } from 'react'
import { Diff } from '../diff/lazy.tsx'
import { useStudio } from '../lib/studio.ts'
import type { How } from '../lib/wish.ts'
import { count } from '../lib/words.ts'
import { Conflicts } from '../parts/conflicts.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { DiffSwitches } from '../parts/diff-switches.tsx'
import { Failure } from '../parts/failure.tsx'
import type { Undecided } from './decide.tsx'

interface Props {
  readonly session: string
  readonly contested: Undecided & { readonly decision: Decision }
  readonly onClose: () => void
  readonly onDone: (decision: Decision) => void
}

/** Somebody has edited inside hunks: four choices for each file, and what they would write. */
export function ContestedDialog({ session, contested, onClose, onDone }: Props) {
  const { workspace } = useStudio()
  const { word, selection, comment, decision } = contested
  const [how, setHow] = useState<How>({})
  const [planned, setPlanned] = useState<Decision>()
  const [failure, setFailure] = useState<Error>()
  const choices = how.choices ?? {}
  const open = new Set(decision.conflicts.map(({ path }) => path).filter((path) => isOpen(choices[path])))
  const wish = { session, selection, choices, ...(comment === undefined ? {} : { comment }) }
  const ask = (dryRun: boolean) => workspace[word]({ ...wish, dryRun })

  // biome-ignore lint/correctness/useExhaustiveDependencies: only another choice asks again.
  useEffect(() => {
    let isOld = false
    setPlanned(undefined)
    if (open.size > 0) return
    ask(true).then(
      (plan) => isOld || setPlanned(plan),
      (error: Error) => isOld || setFailure(error),
    )
    return () => {
      isOld = true
    }
  }, [how])

  const apply = async () => {
    try {
      onDone(await ask(false))
    } catch (error) {
      if (error instanceof Error) setFailure(error)
    }
  }
  const patch = planned?.patch ?? ''
  return (
    <Dialog
      title={word === 'reject' ? 'Reject contested hunks' : 'Accept contested proposals'}
      size="large"
      onClose={onClose}
      footer={
        <>
          <span className="grow muted">
            {open.size > 0
              ? `Nothing happens before every file has a choice: ${count(open.size, 'file')} to go.`
              : 'You can take it back afterwards.'}
          </span>
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
      <div className="preview">
        <div className="preview-facts">
          <Conflicts
            conflicts={decision.conflicts}
            isSettled={planned !== undefined}
            how={how}
            onHow={setHow}
          />
          {failure === undefined ? null : <Failure failure={failure} />}
        </div>
        {patch === '' ? null : (
          <div className="preview-diff">
            <div className="bar">
              <h3 className="grow">What would be written</h3>
              <DiffSwitches />
            </div>
            <div className="preview-patch">
              <Diff patch={patch} label="What would be written" />
            </div>
          </div>
        )}
      </div>
    </Dialog>
  )
}

function isOpen(choice: string | undefined): boolean {
  return choice === undefined || choice === 'abort'
}
