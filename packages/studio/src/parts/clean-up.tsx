import type { Session } from '@unturn/client'
import { useState } from 'react'
import { useStudio } from '../lib/studio.ts'
import { count } from '../lib/words.ts'
import { Dialog } from './dialog.tsx'
import { Failure } from './failure.tsx'
import { tell } from './toast.tsx'

/** The one thing here that cannot be taken back. */
export function CleanUp({ session, onClose }: { readonly session: Session; readonly onClose: () => void }) {
  const { workspace } = useStudio()
  const [failure, setFailure] = useState<Error>()
  const clean = async () => {
    try {
      const { turns } = await workspace.cleanup(session.id)
      tell({ text: `${count(turns.length, 'undone turn')} removed for good.` })
      onClose()
    } catch (error) {
      if (error instanceof Error) setFailure(error)
    }
  }
  return (
    <Dialog
      title="Remove undone turns for good"
      onClose={onClose}
      footer={
        <>
          <span className="grow" />
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="button" className="danger" onClick={() => void clean()}>
            Remove for good
          </button>
        </>
      }
    >
      <p>
        {count(session.reverted.length, 'turn')} of this session, and what they changed, are removed from the
        history. The files stay as they are now. This cannot be taken back, and redo will not find them any
        more.
      </p>
      {failure === undefined ? null : <Failure failure={failure} />}
    </Dialog>
  )
}
