import { useState } from 'react'
import { Dialog } from '../parts/dialog.tsx'

interface Props {
  readonly onClose: () => void
  readonly onComment: (comment: string) => void
}

export function CommentDialog({ onClose, onComment }: Props) {
  const [text, setText] = useState('')
  return (
    <Dialog
      title="Reject, and say why"
      onClose={onClose}
      footer={
        <>
          <span className="grow" />
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            className="primary"
            disabled={text.trim() === ''}
            onClick={() => onComment(text.trim())}
          >
            Reject
          </button>
        </>
      }
    >
      <label className="comment">
        <span className="muted">The agent can read this with its next turn.</span>
        <textarea rows={4} value={text} onChange={(event) => setText(event.target.value)} />
      </label>
    </Dialog>
  )
}
