/**
 * Carrying a plan out, and back. What a file was before is kept beside the stores: as long as nobody else has changed it
 * since, taking Unturn out gives it back byte for byte, and removes what was not there.
 */

import {
  chmodSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { privateFolder, readJson, replaceFile } from './desk.ts'
import type { FileEdit } from './install.ts'
import { fieldsOf, list } from './payload.ts'
import { readText } from './settings/text-file.ts'

interface Kept {
  readonly before: string | null
  readonly after: string
  /** Folders that were made for the file. */
  readonly folders: readonly string[]
}

function keptPath(desk: string): string {
  return join(desk, 'installed.json')
}

function readKept(desk: string): Record<string, Kept> {
  const files = fieldsOf(fieldsOf(readJson(keptPath(desk))).files)
  return Object.fromEntries(
    Object.entries(files).flatMap(([path, value]) => {
      const fields = fieldsOf(value)
      const { before, after } = fields
      if (typeof after !== 'string' || (before !== null && typeof before !== 'string')) return []
      const folders = list(fields, 'folders').filter((one): one is string => typeof one === 'string')
      return [[path, { before, after, folders }]]
    }),
  )
}

function writeKept(desk: string, files: Readonly<Record<string, Kept>>): void {
  privateFolder(desk)
  replaceFile(keptPath(desk), `${JSON.stringify({ version: 1, files })}\n`)
}

/** `remaining`: the file without what is ours, for one that was changed by others since it was first written. */
export function carryOut(
  desk: string,
  edits: readonly FileEdit[],
  remaining: (edit: FileEdit) => string | undefined,
): void {
  const kept = readKept(desk)
  for (const edit of edits) {
    if (edit.after === undefined) continue
    const known = kept[edit.path]
    const isStill = known !== undefined && known.after === edit.before
    const before = isStill ? known.before : (remaining(edit) ?? null)
    const folders = [...(isStill ? known.folders : []), ...missingFolders(dirname(edit.path))]
    kept[edit.path] = { before, after: edit.after, folders }
    writeKept(desk, kept) // first: a crash in between must not cost the way back
    writeText(edit.path, edit.after, edit.isExecutable === true)
  }
}

/** The way back for these files, where they still are as we left them; else the planned one. */
export function planWayBack(
  desk: string,
  paths: readonly string[],
  planned: readonly FileEdit[],
): readonly FileEdit[] {
  const kept = readKept(desk)
  return paths.flatMap((path) => {
    const known = kept[path]
    const now = readText(path)
    if (known !== undefined && now === known.after)
      return [{ path, before: now, after: known.before ?? undefined }]
    return planned.filter((edit) => edit.path === path)
  })
}

export function carryBack(desk: string, edits: readonly FileEdit[]): void {
  const kept = readKept(desk)
  const folders: string[] = []
  for (const { path, after } of edits) {
    if (after === undefined) {
      rmSync(path, { force: true })
      folders.push(...(kept[path]?.folders ?? []))
    } else writeText(path, after, false)
    delete kept[path]
    writeKept(desk, kept)
  }
  removeEmpty(folders)
}

// Whole or not at all, with the mode it had: an agent that reads it meanwhile must not find half of its settings.
function writeText(path: string, text: string, isExecutable: boolean): void {
  mkdirSync(dirname(path), { recursive: true })
  const target = realTarget(path)
  const mode = statSync(target, { throwIfNoEntry: false })?.mode
  const temporary = `${target}.unturn-${process.pid}`
  writeFileSync(temporary, text)
  if (mode !== undefined) chmodSync(temporary, mode & 0o777)
  else if (isExecutable) chmodSync(temporary, 0o755)
  renameSync(temporary, target)
}

// Settings are often links into a folder of dotfiles; a rename over the link would cut it.
function realTarget(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path // not there yet
  }
}

function missingFolders(folder: string): readonly string[] {
  const missing: string[] = []
  for (let at = folder; statSync(at, { throwIfNoEntry: false }) === undefined; at = dirname(at))
    missing.push(at)
  return missing
}

// Deepest first, and only what is empty: whatever else is in there is not ours.
function removeEmpty(folders: readonly string[]): void {
  for (const folder of [...folders].sort((a, b) => b.length - a.length)) {
    try {
      rmdirSync(folder)
    } catch {
      // not empty, or gone already
    }
  }
}
