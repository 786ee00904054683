import type { Session } from '@unturn/client'
import { useState } from 'react'
import { useKeys } from '../lib/keys.ts'
import { count } from '../lib/words.ts'
import { CleanUp } from '../parts/clean-up.tsx'
import { preview } from '../parts/preview.tsx'

/** Turns that are out of the files, and the way back. */
export function RedoBanner({ session }: { readonly session: Session }) {
  const [isCleaning, setCleaning] = useState(false)
  const out = session.reverted.length
  const redo = (all: boolean) => preview({ kind: 'redo', session: session.id, all })
  useKeys('Redo', [{ key: 'y', does: 'redo the last undone turn', run: () => redo(false) }], out > 0)
  if (out === 0) return null
  return (
    <div className="banner" role="status">
      <span className="grow">{out === 1 ? '1 turn is undone' : `${count(out, 'turn')} are undone`}</span>
      <button type="button" onClick={() => redo(false)}>
        Redo
      </button>
      <button type="button" onClick={() => redo(true)}>
        Redo all
      </button>
      <button type="button" className="quiet" onClick={() => setCleaning(true)}>
        Clean up…
      </button>
      {isCleaning ? <CleanUp session={session} onClose={() => setCleaning(false)} /> : null}
    </div>
  )
}
