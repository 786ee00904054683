import { useEffect, useState } from 'react'

const patienceMs = 90

/** A value once it has stopped changing: a slider passes a hundred moments on its way to one. */
export function useSettled<T>(value: T, key: string): T {
  const [settled, setSettled] = useState({ value, key })
  useEffect(() => {
    if (settled.key === key) return
    const timer = setTimeout(() => setSettled({ value, key }), patienceMs)
    return () => clearTimeout(timer)
  }, [settled.key, value, key])
  return settled.value
}
