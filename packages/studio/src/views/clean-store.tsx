import type { Collected } from '@unturn/client'
import { useState } from 'react'
import { useStudio } from '../lib/studio.ts'
import { count, shortSession, size } from '../lib/words.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/failure.tsx'
import { Shown, When } from '../parts/small.tsx'
import { tell } from '../parts/toast.tsx'

/** What cleaning up would drop, before it does. */
export function CleanStore({ plan, onClose }: { readonly plan: Collected; readonly onClose: () => void }) {
  const { workspace } = useStudio()
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Error>()
  const clean = async () => {
    setBusy(true)
    try {
      const { bytesBefore = 0, bytesAfter = 0 } = await workspace.gc({})
      tell({ text: `Cleaned up: ${size(bytesBefore)} before, ${size(bytesAfter)} now.` })
      onClose()
    } catch (error) {
      if (error instanceof Error) setFailure(error)
      setBusy(false)
    }
  }
  return (
    <Dialog
      title="Clean up the store"
      onClose={onClose}
      footer={
        <>
          <span className="grow" />
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="button" className="primary" disabled={isBusy} onClick={() => void clean()}>
            {isBusy ? 'Cleaning up …' : 'Clean up'}
          </button>
        </>
      }
    >
      {plan.dropped.length === 0 ? (
        <p>No session is old enough to be dropped. What is stored will be packed more tightly.</p>
      ) : (
        <>
          <p>
            {count(plan.dropped.length, 'session')} will be dropped with everything they recorded. Files stay
            as they are.
          </p>
          <ul className="findings">
            {plan.dropped.map(({ session, because, turns, lastAt }) => (
              <li key={session}>
                <span className="mono">
                  <Shown text={shortSession(session)} />
                </span>{' '}
                <span className="muted">
                  {count(turns, 'turn')}, last <When at={lastAt} />: {because}
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
      {failure === undefined ? null : <Failure failure={failure} />}
    </Dialog>
  )
}
