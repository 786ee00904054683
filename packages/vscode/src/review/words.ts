/** What the review says about hunks. Pure. */

import { counted, plainLine, promptLine } from '../words.ts'
import type { PendingFile, PendingHunk } from './hunk.ts'

export interface Who {
  readonly agent: string
  readonly prompt: string | null
}

/** For the line above a hunk. */
export function whyLine(who: Who | undefined, others: number): string {
  if (who === undefined) return 'Why'
  const more = others > 0 ? ` and ${counted(others, 'other turn')}` : ''
  return `Why: ${plainLine(who.agent, 30)}, “${promptLine(who.prompt, 60)}”${more}`
}

/** What a hunk does, where its lines do not say it. */
export function hunkTitle(hunk: PendingHunk): string {
  switch (hunk.kind) {
    case 'create':
      return 'New file'
    case 'delete':
      return 'Deleted file'
    case 'rename':
      return `Renamed from ${plainLine(hunk.from ?? '', 80)}`
    case 'mode':
      return `Permissions ${hunk.oldMode ?? '?'} → ${hunk.newMode ?? '?'}`
    case 'binary':
      return 'Binary file changed'
    case 'link':
      return 'Link changed'
    case 'type':
      return 'Became another kind of file'
    case 'text':
      return [
        ...(hunk.additions > 0 ? [`+${hunk.additions}`] : []),
        ...(hunk.deletions > 0 ? [`−${hunk.deletions}`] : []),
      ].join(' ')
  }
}

/** A badge has room for two characters. */
export function badgeOf(count: number): string {
  return count > 9 ? '9+' : String(count)
}

export function fileTooltip({ hunks, proposal }: Pick<PendingFile, 'hunks' | 'proposal'>): string {
  const what = proposal === undefined ? 'block' : 'proposed block'
  return `${counted(hunks.length, what)} waiting for your word`
}

export interface Removed {
  /** Which line of the hunk it is shown at; counted from 0. -1: the line above the hunk. */
  readonly line: number
  readonly text: string
}

const mostText = 100

/**
 * Removed lines, each beside the line that came for it; what is left over is counted. A hunk without new lines is told
 * at the line above.
 */
export function removedBeside(hunk: PendingHunk, lines: number): readonly Removed[] {
  const removed = hunk.lines.flatMap(({ kind, text }) => (kind === '-' ? plainLine(text, mostText) : []))
  if (removed.length === 0) return []
  const shown = removed.slice(0, Math.max(1, lines))
  const rest = removed.length - shown.length
  return shown.map((text, at) => {
    const more = rest > 0 && at === shown.length - 1 ? `  (and ${counted(rest, 'more removed line')})` : ''
    return { line: lines === 0 ? -1 : at, text: `− ${text === '' ? '(empty line)' : text}${more}` }
  })
}

/** The hunk as a diff, for somebody who points at it. */
export function hunkDiff({ lines }: PendingHunk, most = 60): string {
  const changed = lines.filter(({ kind }) => kind !== ' ')
  const shown = changed.slice(0, most).map(({ kind, text }) => `${kind}${text.replace(/\r?\n$/, '')}`)
  const rest = changed.length - shown.length
  return [...shown, ...(rest > 0 ? [` … and ${counted(rest, 'more line')}`] : [])].join('\n')
}

/** The hunk to go to from a line; around the end to the first one. */
export function nextOf<Place extends { readonly first: number }>(
  places: readonly Place[],
  line: number,
  way: 1 | -1,
): Place | undefined {
  const sorted = places.toSorted((a, b) => a.first - b.first)
  if (way === 1) return sorted.find(({ first }) => first > line) ?? sorted[0]
  return sorted.findLast(({ first }) => first < line) ?? sorted.at(-1)
}

/** The hunk that a line is in; a place where something was removed is the line below it, and the one above. */
export function hunkAt<Place extends { readonly first: number; readonly end: number }>(
  places: readonly Place[],
  line: number,
): Place | undefined {
  const inside = places.find(({ first, end }) => first <= line && line < Math.max(end, first + 1))
  return inside ?? places.find(({ first, end }) => first === end && line === first - 1)
}
