/** Keys of the page. Each part registers its own; the list of keys that `?` shows is made of what is registered. */

import { useEffect, useRef, useSyncExternalStore } from 'react'

export interface Key {
  readonly key: string
  /** For the list. */
  readonly does: string
  readonly run: () => void
}

interface Registered {
  readonly part: string
  readonly keys: () => readonly Key[]
}

let registered: readonly Registered[] = []
const watchers = new Set<() => void>()

function change(next: readonly Registered[]): void {
  registered = next
  for (const watcher of watchers) watcher()
}

export function useKeys(part: string, keys: readonly Key[], isOn = true): void {
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    if (!isOn) return
    const own = { part, keys: () => latest.current }
    change([...registered, own])
    return () => change(registered.filter((one) => one !== own))
  }, [part, isOn])
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

export function useAllKeys(): readonly { readonly part: string; readonly keys: readonly Key[] }[] {
  const all = useSyncExternalStore(watch, () => registered)
  return all.map(({ part, keys }) => ({ part, keys: keys() }))
}

/** What was registered last comes first: a dialog's keys go before those of the view behind it. */
export function pressed(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
    return
  if (document.querySelector('dialog[open]') !== null) return
  for (const { keys } of registered.toReversed()) {
    const found = keys().find(({ key }) => key === event.key)
    if (found === undefined) continue
    event.preventDefault()
    found.run()
    return
  }
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
    !(target instanceof HTMLInputElement && /^(checkbox|radio|range|button)$/.test(target.type))
  )
}
