/** Files that somebody has looked at. A mark holds for what was seen: when the file changes, it is gone. */

import { useCallback, useState } from 'react'

export interface Viewed {
  readonly isViewed: (path: string, seen: string) => boolean
  readonly mark: (path: string, seen: string | undefined) => void
}

const most = 2_000

export function useViewed(name: string): Viewed {
  const key = `unturn.viewed.${name}`
  const [marks, setMarks] = useState(() => read(key))
  const mark = useCallback(
    (path: string, seen: string | undefined) =>
      setMarks((old) => {
        const next = new Map(old)
        next.delete(path)
        if (seen !== undefined) next.set(path, seen)
        localStorage.setItem(key, JSON.stringify([...next].slice(-most)))
        return next
      }),
    [key],
  )
  return { isViewed: (path, seen) => marks.get(path) === seen, mark }
}

function read(key: string): ReadonlyMap<string, string> {
  try {
    return new Map(JSON.parse(localStorage.getItem(key) ?? '[]') as [string, string][])
  } catch {
    return new Map() // not ours, or storage is off
  }
}
