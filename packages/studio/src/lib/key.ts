/**
 * The token of this page. Every start of the server has another one, and only the command line knows it: it opens a page
 * with it, and that page hands it to those that are open already.
 */

import { useEffect, useRef, useSyncExternalStore } from 'react'
import { takeTokenFromAddress } from './address.ts'

const tokenKey = 'unturn.token'
const channel = new BroadcastChannel('unturn.token')
const watchers = new Set<() => void>()
let current: string | undefined

/** From the address, or in a tab that was loaded again from before. */
export function takeKey(): void {
  const given = takeTokenFromAddress()
  keep(given ?? sessionStorage.getItem(tokenKey) ?? undefined)
  if (given !== undefined) channel.postMessage(given)
  channel.onmessage = ({ data }) => keep(typeof data === 'string' ? data : current)
}

function keep(token: string | undefined): void {
  if (token === undefined || token === current) return
  current = token
  sessionStorage.setItem(tokenKey, token)
  for (const watch of watchers) watch()
}

export function keyNow(): string {
  return current ?? ''
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

export function useKey(): string | undefined {
  return useSyncExternalStore(watch, () => current)
}

/** Runs when the page was handed another key than it had. */
export function useNewKey(run: () => void): void {
  const key = useKey()
  const before = useRef(key)
  const latest = useRef(run)
  latest.current = run
  useEffect(() => {
    if (before.current === key) return
    before.current = key
    latest.current()
  }, [key])
}
