/**
 * Names for hunks that survive what happens around them, and name nothing else. An id that is refused costs a second
 * look; one that names another block costs somebody's work.
 */

import { hash } from 'node:crypto'
import type { TextHunk } from './hunks.ts'
import type { Edit } from './lines.ts'

export const fingerprintLength = 16

/** One of several hunks of a file that are alike, or one that was: its number stays taken. */
export interface Known {
  readonly fingerprint: string
  readonly ordinal: number
  /** Where it was: hashes of the lines around, and its line. A minus before it: it is gone. */
  readonly context: string
}

/**
 * Ids for the hunks of one file, in their order. A hunk that is like no other is named by its fingerprint. Those that
 * are alike get numbers, so that an id from the time when there was only one names none of them. A number comes from
 * the lines around, and stays with its hunk while that can be told from its likes beyond doubt, although these lines
 * have changed; otherwise the hunk gets a new one.
 */
export function identify(
  hunks: readonly TextHunk[],
  old: readonly string[],
  fresh: readonly string[],
  known: readonly Known[],
): { readonly ids: readonly string[]; readonly known: readonly Known[] } {
  const ids = hunks.map(({ fingerprint }) => fingerprint)
  const living: Known[] = []
  const knownOf = Map.groupBy(known, ({ fingerprint }) => fingerprint)
  for (const [fingerprint, places] of Map.groupBy(hunks.keys(), (place) => ids[place] ?? '')) {
    const entries = knownOf.get(fingerprint) ?? []
    if (places.length === 1 && entries.length === 0) continue
    const contexts = places.map((place) => contextOf(hunks[place]?.edit, old, fresh))
    for (const [i, ordinal] of ordinalsOf(contexts, entries).entries()) {
      ids[places[i] ?? 0] = idOf(fingerprint, ordinal)
      living.push({ fingerprint, ordinal, context: contexts[i] ?? '' })
    }
  }
  return { ids, known: [...retired(known, living), ...living] }
}

/** What is known after the hunk with this id was decided: its number is not given to another one. */
export function withoutKnown(known: readonly Known[], id: string): readonly Known[] {
  return known.map((entry) => (idOf(entry.fingerprint, entry.ordinal) === id ? gone(entry) : entry))
}

/** Whether this is an id, or the beginning of one. A whole fingerprint is no abbreviation: it named a lone hunk once. */
export function isShortFor(typed: string, id: string): boolean {
  return typed === id || (typed !== '' && typed.length < fingerprintLength && id.startsWith(typed))
}

export function digest(text: string, length: number): string {
  return hash('sha256', text, 'hex').slice(0, length)
}

function idOf(fingerprint: string, ordinal: number): string {
  return ordinal === 0 ? fingerprint : `${fingerprint}-${ordinal}`
}

/** More than anybody has open in a window; without a bound a long session would carry all of them along. */
const mostRetired = 200

function retired(before: readonly Known[], living: readonly Known[]): readonly Known[] {
  const alive = new Set(living.map(({ fingerprint, ordinal }) => idOf(fingerprint, ordinal)))
  return before
    .filter(({ fingerprint, ordinal }) => !alive.has(idOf(fingerprint, ordinal)))
    .map(gone)
    .slice(-mostRetired)
}

function gone(entry: Known): Known {
  return isGone(entry) ? entry : { ...entry, context: `-${entry.context}` }
}

function isGone({ context }: Known): boolean {
  return context.startsWith('-')
}

function ordinalsOf(contexts: readonly string[], entries: readonly Known[]): readonly number[] {
  const mates = matesOf(
    contexts,
    entries.filter((entry) => !isGone(entry)),
  )
  // A decision that was taken back: the same lines, around the same lines, in the same place.
  const before = new Map(entries.filter(isGone).map(({ context, ordinal }) => [context, ordinal]))
  const fallback = numbersOf(contexts)
  const taken = new Set(entries.map(({ ordinal }) => ordinal))
  return contexts.map((context, i) => {
    const known = mates[i]?.ordinal ?? before.get(`-${context}`)
    if (known !== undefined) return known
    let ordinal = fallback[i] ?? 1
    while (taken.has(ordinal)) ordinal++
    taken.add(ordinal)
    return ordinal
  })
}

/**
 * Numbers from the lines around, so that a hunk has the same one although nothing is known of an earlier look. Where
 * these are the same for several, the place in the old text tells them apart.
 */
function numbersOf(contexts: readonly string[]): readonly number[] {
  const total = new Map<string, number>()
  for (const context of contexts) total.set(around(context), (total.get(around(context)) ?? 0) + 1)
  return contexts.map((context) => {
    const place = total.get(around(context)) === 1 ? around(context) : context
    return 1 + (Number.parseInt(digest(place, 12), 16) % 999_999)
  })
}

/** Which of the known ones each hunk is, where that is beyond doubt. */
function matesOf(contexts: readonly string[], living: readonly Known[]): readonly (Known | undefined)[] {
  const here = contexts.map(around)
  const then = living.map(({ context }) => around(context))
  const equal = matesByLines(here, then)
  const inOrder = equal.every((mate, i) => mate === undefined || mate === i)
  const mates =
    here.length === then.length && inOrder ? withEdited(equal, here, then) : withoutDoubtful(equal, here)
  return mates.map((mate) => (mate === undefined ? undefined : living[mate]))
}

/** Equal surroundings; where several have the same ones, their order counts, as long as all of them are there. */
function matesByLines(here: readonly string[], then: readonly string[]): readonly (number | undefined)[] {
  const knownIn = Map.groupBy(then.keys(), (at) => then[at] ?? '')
  const mates = new Array<number | undefined>(here.length).fill(undefined)
  for (const [lines, places] of Map.groupBy(here.keys(), (at) => here[at] ?? '')) {
    const those = knownIn.get(lines) ?? []
    if (those.length !== places.length) continue
    for (const [i, place] of places.entries()) mates[place] = those[i]
  }
  return mates
}

/** As many as before, and in order: one whose surroundings were edited in part is still the same one. */
function withEdited(
  mates: readonly (number | undefined)[],
  here: readonly string[],
  then: readonly string[],
): readonly (number | undefined)[] {
  const [allHere, allThen] = [new Set(here), new Set(then)]
  return mates.map((mate, i) => {
    const [now = '', before = ''] = [here[i], then[i]]
    if (mate !== undefined || allThen.has(now) || allHere.has(before)) return mate
    const halves = new Set(halvesOf(before))
    return halvesOf(now).some((half) => halves.has(half)) ? i : undefined
  })
}

/**
 * A new hunk may have just the surroundings that a known one had, while those of the known one were edited. So a match
 * is in doubt as long as an unknown hunk looks much like the same one.
 */
function withoutDoubtful(
  mates: readonly (number | undefined)[],
  here: readonly string[],
): readonly (number | undefined)[] {
  const unknown = new Set(here.flatMap((lines, i) => (mates[i] === undefined ? halvesOf(lines) : [])))
  return mates.map((mate, i) =>
    halvesOf(here[i] ?? '').some((half) => unknown.has(half)) ? undefined : mate,
  )
}

/**
 * Any two of the four parts. An edit above leaves both that are below as they were, and a decision about a neighbour
 * leaves three: who has a half in common may be the same one.
 */
function halvesOf(lines: string): readonly string[] {
  const parts = lines.split('.').map((part, i) => `${i}${part}`)
  return parts.flatMap((one, i) => parts.slice(i + 1).map((other) => one + other))
}

/** The hashes alone. */
function around(context: string): string {
  return context.slice(0, context.indexOf('@'))
}

const contextLines = 3

/** Hashes of the lines above and below, in the old text and in the new one, and the line in the old one. */
function contextOf(edit: Edit | undefined, old: readonly string[], fresh: readonly string[]): string {
  const { start, end, from, to } = edit ?? { start: 0, end: 0, from: 0, to: 0 }
  const above = (lines: readonly string[], at: number) => lines.slice(Math.max(0, at - contextLines), at)
  const below = (lines: readonly string[], at: number) => lines.slice(at, at + contextLines)
  const parts = [above(old, start), below(old, end), above(fresh, from), below(fresh, to)]
  return `${parts.map((lines) => digest(lines.join(''), 8)).join('.')}@${start}`
}
