/**
 * Which line of the old text is which line of the new one.
 *
 * Lines that both texts have exactly once are the fixed points: they say more than blank lines and braces, and an edit
 * far away does not move them. Between two of them the same again, with what is unique there. Where that is little, the
 * row of lines that is least likely to be common by chance; where it is nothing, the shortest way from one text to the
 * other (Myers' middle snake). All of it is bounded by counts of steps, never by the clock: the same texts always give
 * the same answer.
 */

/** For each old line its place in the new text, or -1. Lines are numbers below `symbols`; equal lines, equal numbers. */
export function alignLines(old: Int32Array, fresh: Int32Array, symbols: number): Int32Array {
  const aligner = new Aligner(old, fresh, symbols)
  aligner.run()
  return aligner.mates
}

/** Lines `a` to `aEnd` of the old text against `b` to `bEnd` of the new one. */
interface Region {
  readonly a: number
  readonly aEnd: number
  readonly b: number
  readonly bEnd: number
}

/** Old lines and the new ones that they are, both rising. */
interface FixedPoints {
  readonly length: number
  readonly old: Int32Array
  readonly fresh: Int32Array
}

const nothingFixed: FixedPoints = { length: 0, old: new Int32Array(0), fresh: new Int32Array(0) }

class Aligner {
  readonly mates: Int32Array
  readonly #old: Int32Array
  readonly #fresh: Int32Array
  readonly #inOld: Int32Array
  readonly #inFresh: Int32Array
  readonly #placeInFresh: Int32Array
  readonly #waiting: Region[] = []
  /** Looks at lines that are left for the search for unique ones: nested regions could be searched for ever. */
  #looks: number

  constructor(old: Int32Array, fresh: Int32Array, symbols: number) {
    this.#old = old
    this.#fresh = fresh
    this.mates = new Int32Array(old.length).fill(-1)
    this.#inOld = new Int32Array(symbols)
    this.#inFresh = new Int32Array(symbols)
    this.#placeInFresh = new Int32Array(symbols)
    this.#looks = 40 * (old.length + fresh.length) + 100_000
  }

  run(): void {
    this.#waiting.push({ a: 0, aEnd: this.#old.length, b: 0, bEnd: this.#fresh.length })
    for (let region = this.#waiting.pop(); region !== undefined; region = this.#waiting.pop()) {
      const rest = this.#withoutEqualEnds(region)
      if (rest.a < rest.aEnd && rest.b < rest.bEnd) this.#divide(rest)
    }
  }

  #withoutEqualEnds({ a, aEnd, b, bEnd }: Region): Region {
    while (a < aEnd && b < bEnd && this.#old[a] === this.#fresh[b]) this.mates[a++] = b++
    while (a < aEnd && b < bEnd && this.#old[aEnd - 1] === this.#fresh[bEnd - 1]) this.mates[--aEnd] = --bEnd
    return { a, aEnd, b, bEnd }
  }

  #divide(region: Region): void {
    this.#looks -= region.aEnd - region.a + region.bEnd - region.b
    this.#count(region, 1)
    const fixed = this.#looks > 0 ? this.#fixedPoints(region) : nothingFixed
    const [a, b] = fixed.length > 0 ? [[], []] : this.#shared(region)
    this.#count(region, 0)
    if (fixed.length > 0) this.#splitAt(fixed, region)
    else if (a.length > 0) this.#shortest(Int32Array.from(a), Int32Array.from(b))
  }

  #count({ a, aEnd, b, bEnd }: Region, by: 0 | 1): void {
    for (let i = a; i < aEnd; i++) {
      const line = this.#old[i] ?? 0
      this.#inOld[line] = by * ((this.#inOld[line] ?? 0) + 1)
    }
    for (let i = b; i < bEnd; i++) {
      const line = this.#fresh[i] ?? 0
      this.#inFresh[line] = by * ((this.#inFresh[line] ?? 0) + 1)
      this.#placeInFresh[line] = i
    }
  }

  #fixedPoints(region: Region): FixedPoints {
    const unique = this.#uniqueLines(region)
    const fewest = Math.min(region.aEnd - region.a, region.bEnd - region.b)
    if (unique.length === 0 || unique.length * 4 >= fewest) return unique
    // A single line that was moved past many that are not unique would tear all of them apart.
    const [run, weight] = this.#heaviestRun(region)
    return weight > this.#weightWithNeighbours(unique, region) ? run : unique
  }

  /** Lines that both sides have once: the longest row of them that is in the same order in both. */
  #uniqueLines({ a, aEnd }: Region): FixedPoints {
    const old = new Int32Array(aEnd - a)
    const fresh = new Int32Array(aEnd - a)
    let count = 0
    for (let i = a; i < aEnd; i++) {
      const line = this.#old[i] ?? 0
      if (this.#inOld[line] !== 1 || this.#inFresh[line] !== 1) continue
      old[count] = i
      fresh[count++] = this.#placeInFresh[line] ?? 0
    }
    const row = longestRising(fresh.subarray(0, count))
    return { length: row.length, old: row.map((at) => old[at] ?? 0), fresh: row.map((at) => fresh[at] ?? 0) }
  }

  /** Of all rows of lines that stand together on both sides, the one that is least likely to be there by chance. */
  #heaviestRun({ a, aEnd, b, bEnd }: Region): readonly [FixedPoints, number] {
    const placesInOld = this.#placesOfRareLines(a, aEnd)
    let [bestA, bestB, length, most] = [a, b, 0, 0]
    for (let j = b; j < bEnd; j++) {
      for (const i of placesInOld.get(this.#fresh[j] ?? 0) ?? []) {
        const line = this.#old[i - 1] ?? -1
        if (i > a && j > b && line === this.#fresh[j - 1] && placesInOld.has(line)) continue // seen with that line
        let [end, weight] = [0, 0]
        while (i + end < aEnd && j + end < bEnd && this.#old[i + end] === this.#fresh[j + end])
          weight += this.#weight(i + end++)
        this.#looks -= end
        if (weight > most) [bestA, bestB, length, most] = [i, j, end, weight]
      }
      if (this.#looks < 0) break
    }
    const from = (start: number) => Int32Array.from({ length }, (_, i) => start + i)
    return [{ length, old: from(bestA), fresh: from(bestB) }, most]
  }

  #placesOfRareLines(a: number, aEnd: number): ReadonlyMap<number, readonly number[]> {
    const places = new Map<number, number[]>()
    for (let i = a; i < aEnd; i++) {
      const line = this.#old[i] ?? 0
      if ((this.#inOld[line] ?? 0) > 16 || this.#inFresh[line] === 0) continue
      const those = places.get(line)
      if (those === undefined) places.set(line, [i])
      else those.push(i)
    }
    return places
  }

  /** A line that both sides have once weighs 1, a brace nothing much. */
  #weight(i: number): number {
    const line = this.#old[i] ?? 0
    return 1 / ((this.#inOld[line] ?? 1) * (this.#inFresh[line] ?? 1))
  }

  #weightWithNeighbours({ length, old, fresh }: FixedPoints, { a, aEnd, b, bEnd }: Region): number {
    let weight = 0
    for (let at = 0; at < length; at++) {
      let [i, j] = [old[at] ?? 0, fresh[at] ?? 0]
      const [untilA, untilB] = at + 1 < length ? [old[at + 1] ?? 0, fresh[at + 1] ?? 0] : [aEnd, bEnd]
      for (let [x, y] = [i - 1, j - 1]; x >= a && y >= b && this.#old[x] === this.#fresh[y]; x--, y--)
        weight += this.#weight(x)
      while (i < untilA && j < untilB && this.#old[i] === this.#fresh[j]) {
        weight += this.#weight(i++)
        j++
      }
      a = i
      b = j
    }
    return weight
  }

  #splitAt({ length, old, fresh }: FixedPoints, { a, aEnd, b, bEnd }: Region): void {
    for (let at = 0; at < length; at++) {
      const [i, j] = [old[at] ?? 0, fresh[at] ?? 0]
      this.mates[i] = j
      if (a < i && b < j) this.#waiting.push({ a, aEnd: i, b, bEnd: j })
      a = i + 1
      b = j + 1
    }
    if (a < aEnd && b < bEnd) this.#waiting.push({ a, aEnd, b, bEnd })
  }

  /** The places of lines that the other side has as well. All others are changed, whatever the way through. */
  #shared({ a, aEnd, b, bEnd }: Region): readonly [readonly number[], readonly number[]] {
    const left: number[] = []
    const right: number[] = []
    for (let i = a; i < aEnd; i++) if ((this.#inFresh[this.#old[i] ?? 0] ?? 0) > 0) left.push(i)
    for (let i = b; i < bEnd; i++) if ((this.#inOld[this.#fresh[i] ?? 0] ?? 0) > 0) right.push(i)
    return [left, right]
  }

  #shortest(aPlaces: Int32Array, bPlaces: Int32Array): void {
    const a = aPlaces.map((place) => this.#old[place] ?? 0)
    const b = bPlaces.map((place) => this.#fresh[place] ?? 0)
    const pair = (i: number, j: number) => {
      this.mates[aPlaces[i] ?? 0] = bPlaces[j] ?? 0
    }
    const search = new MiddleSnake(a, b)
    const waiting: Region[] = [{ a: 0, aEnd: a.length, b: 0, bEnd: b.length }]
    for (let region = waiting.pop(); region !== undefined; region = waiting.pop()) {
      let { a: x, aEnd, b: y, bEnd } = region
      while (x < aEnd && y < bEnd && a[x] === b[y]) pair(x++, y++)
      while (x < aEnd && y < bEnd && a[aEnd - 1] === b[bEnd - 1]) pair(--aEnd, --bEnd)
      if (x === aEnd || y === bEnd) continue
      const [midA, midB] = search.between(x, aEnd, y, bEnd)
      waiting.push({ a: midA, aEnd, b: midB, bEnd }, { a: x, aEnd: midA, b: y, bEnd: midB })
    }
  }
}

/** Indices of the longest row of numbers that only rises. */
function longestRising(numbers: Int32Array): Int32Array {
  const ends = new Int32Array(numbers.length) // ends[n]: the smallest number that ends a row of n + 1, by its index
  const before = new Int32Array(numbers.length)
  let length = 0
  for (let at = 0; at < numbers.length; at++) {
    const number = numbers[at] ?? 0
    let low = 0
    let high = length
    // Mostly the texts are in the same order, and the number goes to the end.
    if (length > 0 && (numbers[ends[length - 1] ?? 0] ?? 0) < number) low = length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((numbers[ends[middle] ?? 0] ?? 0) < number) low = middle + 1
      else high = middle
    }
    before[at] = low === 0 ? -1 : (ends[low - 1] ?? -1)
    ends[low] = at
    if (low === length) length++
  }
  const row = new Int32Array(length)
  for (let i = length - 1, at = ends[i] ?? -1; i >= 0; i--, at = before[at] ?? -1) row[i] = at
  return row
}

/** No way leads here. Far enough below zero that a step from it still shows. */
const nowhere = -2

/** Finds a point in the middle of a shortest way, searching from both ends at once, in space that grows with the lines. */
class MiddleSnake {
  readonly #a: Int32Array
  readonly #b: Int32Array
  readonly #ahead: Int32Array
  readonly #back: Int32Array
  readonly #zero: number
  /** How many edits a search may reach from each end. Its work grows with the square: a bound keeps a rewrite quick. */
  readonly #most: number

  constructor(a: Int32Array, b: Int32Array) {
    this.#a = a
    this.#b = b
    const both = a.length + b.length
    this.#most = Math.min(both, Math.max(64, Math.min(2_000, Math.floor(12_000_000 / both))))
    this.#zero = this.#most + 2
    this.#ahead = new Int32Array(2 * this.#zero + 1)
    this.#back = new Int32Array(2 * this.#zero + 1)
  }

  /** Both sides have lines here, and neither their first nor their last ones are equal. */
  between(a: number, aEnd: number, b: number, bEnd: number): readonly [number, number] {
    const [n, m] = [aEnd - a, bEnd - b]
    const [ahead, back, zero] = [this.#ahead, this.#back, this.#zero]
    const tilt = n - m
    ahead[zero] = 0
    back[zero] = 0
    for (let d = 1; d <= this.#most; d++) {
      const [low, high] = [-d + 2 * Math.max(0, d - m), d - 2 * Math.max(0, d - n)]
      for (let k = low; k <= high; k += 2) {
        const x = this.#step(ahead, k, d, n, m)
        if (x < 0) continue
        let i = x
        let j = x - k
        while (i < n && j < m && this.#a[a + i] === this.#b[b + j]) {
          i++
          j++
        }
        ahead[zero + k] = i
        const across = tilt - k
        if ((tilt & 1) !== 0 && Math.abs(across) < d && i + (back[zero + across] ?? nowhere) >= n)
          return [a + i, b + j]
      }
      for (let k = low; k <= high; k += 2) {
        const x = this.#step(back, k, d, n, m)
        if (x < 0) continue
        let i = x
        let j = x - k
        while (i < n && j < m && this.#a[aEnd - 1 - i] === this.#b[bEnd - 1 - j]) {
          i++
          j++
        }
        back[zero + k] = i
        const across = tilt - k
        if ((tilt & 1) === 0 && Math.abs(across) <= d && i + (ahead[zero + across] ?? nowhere) >= n)
          return [aEnd - i, bEnd - j]
      }
    }
    return this.#furthest(a, b, n, m)
  }

  /** One more edit, to diagonal `k`, from whichever neighbour gets further and stays inside. */
  #step(reached: Int32Array, k: number, d: number, n: number, m: number): number {
    const zero = this.#zero
    let right = k > -d ? (reached[zero + k - 1] ?? nowhere) + 1 : nowhere
    if (right > n) right = nowhere
    let down = k < d ? (reached[zero + k + 1] ?? nowhere) : nowhere
    if (down - k > m) down = nowhere
    const x = Math.max(right, down)
    if (x < 0) reached[zero + k] = nowhere
    return x
  }

  /** The bound is reached: go on from where the way has come furthest. Not the shortest any more, but a way. */
  #furthest(a: number, b: number, n: number, m: number): readonly [number, number] {
    let [best, bestI, bestJ] = [-1, 0, 0]
    const d = this.#most
    for (let k = -d + 2 * Math.max(0, d - m); k <= d - 2 * Math.max(0, d - n); k += 2) {
      const i = this.#ahead[this.#zero + k] ?? nowhere
      if (i < 0 || 2 * i - k <= best) continue
      best = 2 * i - k
      bestI = i
      bestJ = i - k
    }
    return [a + bestI, b + bestJ]
  }
}
