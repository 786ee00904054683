/** Light or dark: as the system has it, unless somebody said otherwise. */

import { useEffect, useSyncExternalStore } from 'react'
import { usePreferences } from './preferences.ts'

const dark = matchMedia('(prefers-color-scheme: dark)')

function watch(watcher: () => void): () => void {
  dark.addEventListener('change', watcher)
  return () => dark.removeEventListener('change', watcher)
}

export function useTheme(): 'light' | 'dark' {
  const isDark = useSyncExternalStore(watch, () => dark.matches)
  const [{ theme }] = usePreferences()
  const shown = theme === 'system' ? (isDark ? 'dark' : 'light') : theme
  useEffect(() => {
    document.documentElement.dataset.theme = shown
  }, [shown])
  return shown
}
