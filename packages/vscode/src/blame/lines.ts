/** Which line of a recorded file a line of the editor is: what was typed since moves lines, and is nobody's yet. */

/** For each line of the editor the index of the recorded one; undefined: it is new or changed. */
export function matchLines(
  recorded: readonly string[],
  shown: readonly string[],
): readonly (number | undefined)[] {
  const map: (number | undefined)[] = new Array(shown.length).fill(undefined)
  matchBetween(recorded, shown, { recorded: [0, recorded.length], shown: [0, shown.length] }, map)
  return map
}

interface Window {
  readonly recorded: readonly [number, number]
  readonly shown: readonly [number, number]
}

// Equal ends first, then lines that are unique on both sides and in the same order, and between those again.
function matchBetween(
  recorded: readonly string[],
  shown: readonly string[],
  window: Window,
  map: (number | undefined)[],
): void {
  let [r, rEnd] = window.recorded
  let [s, sEnd] = window.shown
  while (r < rEnd && s < sEnd && recorded[r] === shown[s]) {
    map[s] = r
    r += 1
    s += 1
  }
  while (r < rEnd && s < sEnd && recorded[rEnd - 1] === shown[sEnd - 1]) {
    rEnd -= 1
    sEnd -= 1
    map[sEnd] = rEnd
  }
  if (r === rEnd || s === sEnd) return
  const anchors = rising(uniquePairs(recorded, shown, { recorded: [r, rEnd], shown: [s, sEnd] }))
  if (anchors.length === 0) return
  for (const [anchorR, anchorS] of anchors) {
    matchBetween(recorded, shown, { recorded: [r, anchorR], shown: [s, anchorS] }, map)
    map[anchorS] = anchorR
    r = anchorR + 1
    s = anchorS + 1
  }
  matchBetween(recorded, shown, { recorded: [r, rEnd], shown: [s, sEnd] }, map)
}

type Pair = readonly [recorded: number, shown: number]

function uniquePairs(recorded: readonly string[], shown: readonly string[], window: Window): readonly Pair[] {
  const places = new Map<string, { r: number; s: number; count: number }>()
  for (let r = window.recorded[0]; r < window.recorded[1]; r += 1) {
    const line = recorded[r] ?? ''
    const place = places.get(line)
    if (place === undefined) places.set(line, { r, s: -1, count: 1 })
    else place.count = 3
  }
  for (let s = window.shown[0]; s < window.shown[1]; s += 1) {
    const place = places.get(shown[s] ?? '')
    if (place === undefined) continue
    place.s = s
    place.count += 1
  }
  return [...places.values()]
    .filter(({ count }) => count === 2)
    .filter(({ s }) => s >= 0)
    .map(({ r, s }): Pair => [r, s])
    .sort((a, b) => a[0] - b[0])
}

/** The longest part that rises on both sides; by patience. */
function rising(pairs: readonly Pair[]): readonly Pair[] {
  const tops: { readonly pair: Pair; readonly before: number | undefined }[] = []
  const piles: number[] = []
  for (const pair of pairs) {
    let low = 0
    let high = piles.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((tops[piles[middle] ?? 0]?.pair[1] ?? 0) < pair[1]) low = middle + 1
      else high = middle
    }
    tops.push({ pair, before: low === 0 ? undefined : piles[low - 1] })
    piles[low] = tops.length - 1
  }
  const line: Pair[] = []
  for (let at = piles.at(-1); at !== undefined; at = tops[at]?.before) {
    const top = tops[at]
    if (top !== undefined) line.push(top.pair)
  }
  return line.reverse()
}
