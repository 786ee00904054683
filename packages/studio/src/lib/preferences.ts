/** How somebody likes to look at things; kept in this browser. */

import { useCallback, useSyncExternalStore } from 'react'

export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark'
  readonly diffStyle: 'split' | 'unified'
  readonly whitespace: 'show' | 'ignore'
  readonly wrap: boolean
  readonly groupBy: 'none' | 'file' | 'agent' | 'turn' | 'day'
}

const usual: Preferences = {
  theme: 'system',
  diffStyle: 'split',
  whitespace: 'show',
  wrap: false,
  groupBy: 'turn',
}
const key = 'unturn.preferences'
const watchers = new Set<() => void>()
let known: Preferences = read()

function read(): Preferences {
  try {
    return { ...usual, ...(JSON.parse(localStorage.getItem(key) ?? '{}') as Partial<Preferences>) }
  } catch {
    return usual // what stands there is not ours, or storage is off
  }
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

export function usePreferences(): readonly [Preferences, (changes: Partial<Preferences>) => void] {
  const preferences = useSyncExternalStore(watch, () => known)
  const change = useCallback((changes: Partial<Preferences>) => {
    known = { ...known, ...changes }
    localStorage.setItem(key, JSON.stringify(known))
    for (const watcher of watchers) watcher()
  }, [])
  return [preferences, change]
}
