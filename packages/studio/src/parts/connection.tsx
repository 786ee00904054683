import { useSyncExternalStore } from 'react'
import type { LiveState } from '../lib/live.ts'
import { useStudio } from '../lib/studio.ts'

export function useConnection(): LiveState {
  const { live } = useStudio()
  return useSyncExternalStore(live.watch, () => live.state)
}

/** Says when the page no longer hears of anything. */
export function Connection() {
  const { live } = useStudio()
  const state = useConnection()
  if (state === 'lost')
    return (
      <div className="connection" role="status">
        The connection to the server is lost. What you see may be old; trying again …
      </div>
    )
  if (state === 'refused')
    return (
      <div className="connection bad" role="alert">
        {live.refusal?.code === 'unauthorized'
          ? 'The server was started anew and has another key. Run "unturn studio" in a terminal: this page then goes on by itself.'
          : (live.refusal?.message ?? 'The server refuses this page.')}
      </div>
    )
  return null
}
