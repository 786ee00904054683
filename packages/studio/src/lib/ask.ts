/** Asks the server, and asks again when something happened that makes the answer old. */

import type { ServerEvent } from '@unturn/client'
import { useCallback, useEffect, useRef, useState } from 'react'
import type { Live } from './live.ts'

export interface Asked<T> {
  readonly data: T | undefined
  readonly failure: Error | undefined
  readonly isLoading: boolean
  readonly again: () => void
}

interface Known<T> {
  readonly key: string
  readonly data?: T
  readonly failure?: Error
}

// A turn that writes a hundred files tells a hundred things; they are one question.
const patienceMs = 40

/**
 * The answer to a question that is named by `key`. While it is asked again the old answer stays, so that nothing on the
 * screen jumps; with another key it is gone at once.
 */
export function useAsk<T>(
  live: Live | undefined,
  key: string | undefined,
  load: (signal: AbortSignal) => Promise<T>,
  isOld: (event: ServerEvent) => boolean,
): Asked<T> {
  const [known, setKnown] = useState<Known<T>>()
  const [loads, setLoads] = useState(0)
  const latest = useRef({ load, isOld })
  latest.current = { load, isOld }

  // biome-ignore lint/correctness/useExhaustiveDependencies: `loads` counts how often somebody wanted it asked again.
  useEffect(() => {
    if (key === undefined) return
    const ending = new AbortController()
    let isAsking = false
    let isDirty = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async () => {
      isAsking = true
      isDirty = false
      try {
        const data = await latest.current.load(ending.signal)
        if (!ending.signal.aborted) setKnown({ key, data })
      } catch (failure) {
        if (!ending.signal.aborted && failure instanceof Error)
          setKnown((old) => ({ ...(old?.key === key ? old : { key }), failure }))
      }
      isAsking = false
      if (isDirty) askSoon()
    }
    const askSoon = () => {
      if (ending.signal.aborted) return
      if (isAsking) isDirty = true
      else {
        clearTimeout(timer)
        timer = setTimeout(() => void ask(), patienceMs)
      }
    }
    const leave = live?.hear((event) => {
      if (event.type === 'reset' || latest.current.isOld(event)) askSoon()
    })
    void ask()
    return () => {
      ending.abort()
      clearTimeout(timer)
      leave?.()
    }
  }, [live, key, loads])

  const again = useCallback(() => setLoads((count) => count + 1), [])
  const own = known !== undefined && known.key === key ? known : undefined
  return {
    data: own?.data,
    failure: own?.failure,
    isLoading: key !== undefined && own === undefined,
    again,
  }
}

/** For what does not change. */
export const never = (): boolean => false
export const always = (): boolean => true
