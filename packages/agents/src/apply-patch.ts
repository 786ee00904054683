/** The paths that a patch in the form of `apply_patch` touches. The patch is not applied, and not judged. */

import type { NamedPath, Wrote } from './events.ts'

const header = /^\*\*\* (Add File|Update File|Delete File|Move to): (.*)$/

/**
 * A line of a file's content always begins with a blank, `+`, `-` or `@@`, so a line that begins with `***` is a header,
 * whatever the content says.
 */
export function pathsOfPatch(patch: string): readonly NamedPath[] {
  const paths: NamedPath[] = []
  for (const line of patch.split('\n')) {
    const [, what, typed = ''] = header.exec(line.replace(/\r$/, '')) ?? []
    const path = typed.trim()
    if (what === undefined || path === '') continue
    if (what === 'Move to') noteMove(paths, path)
    else paths.push({ path, op: opOf(what) })
  }
  return paths
}

function opOf(what: string): 'create' | 'modify' | 'delete' {
  return what === 'Add File' ? 'create' : what === 'Delete File' ? 'delete' : 'modify'
}

// `Move to` belongs to the update right before it. Without one it names a file all the same, and that is what counts.
function noteMove(paths: NamedPath[], path: string): void {
  const last = paths.at(-1)
  if (last?.op !== 'modify') paths.push({ path, op: 'create' })
  else paths[paths.length - 1] = { path, op: 'move', from: last.path }
}

/** Both ends of every move: each is a path that the tool writes to. */
export function touchedPaths(paths: readonly NamedPath[]): readonly string[] {
  return [...new Set(paths.flatMap(({ path, from }) => (from === undefined ? [path] : [from, path])))]
}

/** What the patch does to files that it updates, place by place: the lines before, and the lines after. */
export function wroteByPatch(patch: string): readonly Wrote[] {
  return pathsOfPatch(patch)
    .filter(({ op }) => op === 'modify')
    .map(({ path }) => ({ path, places: placesIn(sectionOf(patch, path)) }))
}

function sectionOf(patch: string, path: string): readonly string[] {
  const lines = patch.split('\n')
  const start = lines.findIndex((line) => header.exec(line)?.[2]?.trim() === path) + 1
  const length = lines.slice(start).findIndex((line) => line.startsWith('*** '))
  return lines.slice(start, length < 0 ? undefined : start + length)
}

function placesIn(lines: readonly string[]): readonly { readonly was: string; readonly is: string }[] {
  const places: { was: string; is: string }[] = []
  for (const line of lines) {
    if (line.startsWith('@@') || places.length === 0) places.push({ was: '', is: '' })
    const place = places.at(-1)
    if (place === undefined || line.startsWith('@@')) continue
    if (line.startsWith(' ') || line.startsWith('-')) place.was += `${line.slice(1)}\n`
    if (line.startsWith(' ') || line.startsWith('+')) place.is += `${line.slice(1)}\n`
  }
  return places.filter(({ was, is }) => was !== is)
}
