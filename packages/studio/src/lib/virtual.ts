/** Only the rows that can be seen. Heights are known beforehand, so that ten thousand rows cost one array. */

import { type RefObject, useEffect, useLayoutEffect, useMemo, useState } from 'react'

export interface Window {
  readonly first: number
  /** One behind the last. */
  readonly end: number
  readonly height: number
  readonly topOf: (row: number) => number
}

export function useVirtual(
  scroller: RefObject<HTMLElement | null>,
  rows: number,
  heightOf: (row: number) => number,
): Window {
  const tops = useMemo(() => topsOf(rows, heightOf), [rows, heightOf])
  const [{ top, height }, setView] = useState({ top: 0, height: 800 })
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    const look = () => setView({ top: element.scrollTop, height: element.clientHeight })
    look()
    const observer = new ResizeObserver(look)
    observer.observe(element)
    element.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', look)
    }
  }, [scroller])
  const first = Math.max(0, rowAt(tops, top) - more)
  const end = Math.min(rows, rowAt(tops, top + height) + 1 + more)
  return { first, end, height: tops[rows] ?? 0, topOf: (row) => tops[row] ?? 0 }
}

const more = 8

function topsOf(rows: number, heightOf: (row: number) => number): Float64Array {
  const tops = new Float64Array(rows + 1)
  for (let row = 0; row < rows; row++) tops[row + 1] = (tops[row] ?? 0) + heightOf(row)
  return tops
}

function rowAt(tops: Float64Array, y: number): number {
  let low = 0
  let high = tops.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((tops[middle] ?? 0) <= y) low = middle
    else high = middle - 1
  }
  return low
}

/** Scrolls as little as it takes to see a row. */
export function useInView(
  scroller: RefObject<HTMLElement | null>,
  row: number,
  heightOf: (row: number) => number,
  { topOf }: Window,
): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when another row is chosen; otherwise nobody could scroll away from it.
  useEffect(() => {
    const element = scroller.current
    if (element === null || row < 0) return
    const top = topOf(row)
    const bottom = top + heightOf(row)
    if (top < element.scrollTop) element.scrollTop = top - 8
    else if (bottom > element.scrollTop + element.clientHeight)
      element.scrollTop = bottom - element.clientHeight + 8
  }, [row])
}
