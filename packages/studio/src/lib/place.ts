/** The place in the address, as state of the page. */

import { useCallback, useSyncExternalStore } from 'react'
import { hashOf, type Place, readPlace, type View } from './address.ts'

let known = ''
let place: Place = readPlace('')

function current(): Place {
  if (location.hash !== known) {
    known = location.hash
    place = readPlace(known)
  }
  return place
}

function onChange(listener: () => void): () => void {
  addEventListener('hashchange', listener)
  addEventListener(moved, listener)
  return () => {
    removeEventListener('hashchange', listener)
    removeEventListener(moved, listener)
  }
}

const moved = 'unturn-moved'

export function usePlace(): Place {
  return useSyncExternalStore(onChange, current)
}

export type Where = Readonly<Record<string, string | undefined>>

/** Goes to a view; `undefined` takes a mark of the place away. `replace`: without an entry for the back button. */
export function goTo(view: View, at: Where, how: 'push' | 'replace' = 'push'): void {
  const kept = Object.entries(at).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const hash = hashOf({ workspace: current().workspace, view, at: Object.fromEntries(kept) })
  if (hash === location.hash) return
  if (how === 'push') history.pushState(null, '', hash)
  else history.replaceState(null, '', hash)
  dispatchEvent(new Event(moved))
}

export function openWorkspaceAt(workspace: string): void {
  history.pushState(null, '', hashOf({ workspace, view: 'history', at: {} }))
  dispatchEvent(new Event(moved))
}

/** Changes some marks of the place and keeps the others. */
export function useMarks(): readonly [Place['at'], (marks: Where, how?: 'push' | 'replace') => void] {
  const { at } = usePlace()
  const change = useCallback((marks: Where, how: 'push' | 'replace' = 'push') => {
    const now = current()
    goTo(now.view, { ...now.at, ...marks }, how)
  }, [])
  return [at, change]
}
