/** A patch of the engine's as what the diff component draws. The blocks stay as the engine has cut them. */

import {
  type FileDiffMetadata,
  getFiletypeFromFileName,
  parsePatchFiles,
  setLanguageOverride,
} from '@pierre/diffs'
import { visiblePatch } from '../lib/visible.ts'
import { languageWeHave } from './languages.ts'

export interface ParsedFile {
  readonly path: string
  readonly from: string | undefined
  readonly diff: FileDiffMetadata
  /** Nothing to draw line by line: binary, or only its name or mode has changed. */
  readonly isBare: boolean
}

let parses = 0

export function parsed(patch: string): readonly ParsedFile[] {
  if (patch.trim() === '') return []
  parses += 1
  const options = { disableLineMatching: true, cacheKeyPrefix: `patch-${parses}` }
  return parsePatchFiles(visiblePatch(patch), options)
    .flatMap(({ files }) => files)
    .map((diff) => ({
      path: diff.name,
      from: diff.prevName,
      diff: setLanguageOverride(diff, languageOf(diff.name)),
      isBare: diff.hunks.length === 0,
    }))
}

export function languageOf(path: string): string {
  return languageWeHave(getFiletypeFromFileName(path))
}
