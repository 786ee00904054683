/** Changes that fit the filters, page by page, and the newest as they are made. */

import type { Change, ChangePage } from '@unturn/client'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useStudio } from './studio.ts'

export type Filters = Readonly<Record<string, string>>

interface Answer {
  readonly key: string
  readonly changes: readonly Change[]
  /** How the prompts of their turns begin. */
  readonly prompts: ChangePage['prompts']
  readonly next: string | null
  readonly failure?: Error
}

export interface Changes {
  readonly changes: readonly Change[]
  readonly prompts: ChangePage['prompts']
  readonly failure: Error | undefined
  /** There are no more. */
  readonly isComplete: boolean
  readonly more: () => void
  readonly again: () => void
}

const patienceMs = 150
const pageSize = 300

export function useChanges(filters: Filters): Changes {
  const { workspace, live } = useStudio()
  const query = queryOf(filters)
  const key = JSON.stringify(query)
  const [answer, setAnswer] = useState<Answer>()
  const [loads, setLoads] = useState(0)
  const isAsking = useRef(false)
  const own = answer?.key === key ? answer : undefined

  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` is the query.
  useEffect(() => {
    let isOld = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const first = async () => {
      try {
        const page = await workspace.changes({ ...query, limit: pageSize })
        if (!isOld) setAnswer((old) => withNewest(old, key, page))
      } catch (failure) {
        if (!isOld && failure instanceof Error)
          setAnswer({ key, changes: [], prompts: {}, next: null, failure })
      }
    }
    const leave = live.hear(({ type }) => {
      if (type !== 'change' && type !== 'reset') return
      clearTimeout(timer)
      timer = setTimeout(() => void first(), patienceMs)
    })
    void first()
    return () => {
      isOld = true
      clearTimeout(timer)
      leave()
    }
  }, [workspace, live, key, loads])

  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` is the query.
  const more = useCallback(async () => {
    const before = own?.next
    if (before === null || before === undefined || isAsking.current) return
    isAsking.current = true
    try {
      const page = await workspace.changes({ ...query, limit: pageSize, before })
      setAnswer((old) =>
        old?.key === key
          ? {
              key,
              changes: [...old.changes, ...page.changes],
              prompts: { ...old.prompts, ...page.prompts },
              next: page.next,
            }
          : old,
      )
    } finally {
      isAsking.current = false
    }
  }, [workspace, key, own?.next])

  return {
    changes: own?.changes ?? [],
    prompts: own?.prompts ?? {},
    failure: own?.failure,
    isComplete: own !== undefined && own.next === null,
    more: useCallback(() => void more(), [more]),
    again: () => setLoads((count) => count + 1),
  }
}

/** New ones in front of those that are known already, so that nobody is thrown back to the first page. */
function withNewest(old: Answer | undefined, key: string, page: ChangePage): Answer {
  const fresh = { key, changes: page.changes, prompts: page.prompts, next: page.next }
  if (old?.key !== key || old.failure !== undefined) return fresh
  const last = page.changes.at(-1)
  const at = last === undefined ? -1 : old.changes.findIndex(({ id }) => id === last.id)
  if (at < 0) return fresh
  const changes = [...page.changes, ...old.changes.slice(at + 1)]
  return { key, changes, prompts: { ...old.prompts, ...page.prompts }, next: old.next }
}

function queryOf(filters: Filters) {
  const { file, agent, turn, since, until, text, session } = filters
  const time = (value: string | undefined) =>
    value === undefined ? undefined : new Date(value).toISOString()
  const all = {
    file,
    agent,
    turn,
    since: time(since),
    until: time(until),
    text,
    session,
    everybody: 'true' as const,
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined && value !== ''))
}
